"""The report in a real browser, opened from a file: everything answers, and nothing leaves the machine."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_checks import flaws
from stop_at import StopAt
from visits import Visit

from vase import VASE, VASEConfig
from vase.report import bundle
from vase.report.build import write_report
from vase.report.decoder import export_decoder
from vase.training import RunDirectory, RunSettings, train

DECODE = """async ({ data, codes, environment }) => {
  const { Decoder } = await import("vase/decoder.js");
  const decoder = new Decoder(data);
  return codes.map((code) => Array.from(decoder.decode(code, environment)));
}"""
USED = ".latent[data-state='used'] input"


def assert_decodes_alike(page: Any, learner: Any, codes: np.ndarray) -> None:
    """Within 1e-3 of PyTorch, in every environment."""
    for environment in range(len(learner.environments)):
        argument = {"data": export_decoder(learner), "codes": codes.tolist(), "environment": environment}
        wanted = learner.decode(codes, environment=environment)
        depth, height, width = wanted.shape[1:]
        found = np.array(page.evaluate(DECODE, argument)).reshape(len(codes), height, width, depth)
        assert np.abs(np.moveaxis(found, -1, 1) - wanted).max() < 1e-3


def test_the_page_decodes_as_pytorch_does(visit: Any, run: RunDirectory) -> None:
    learner = run.learner("cpu")
    assert_decodes_alike(visit.page, learner, np.random.default_rng(0).standard_normal((100, learner.n_latents)))


@pytest.mark.parametrize("likelihood", ["bernoulli", "gaussian"])
@pytest.mark.parametrize("decoder", ["broadcast", "transposed"])
@pytest.mark.parametrize("channels", [1, 3])
def test_every_decoder_of_the_package_runs_in_the_page(
    visit: Any, decoder: str, likelihood: str, channels: int
) -> None:
    values = {"network.decoder": decoder, "network.likelihood": likelihood}
    learner = VASE(VASEConfig.smoke(image_shape=(channels, 32, 48)).with_values(values), seed=0, device="cpu")
    rng = np.random.default_rng(1)
    for _ in range(3):
        learner.partial_fit(rng.integers(0, 256, (8, channels, 32, 48), np.uint8))
    assert_decodes_alike(visit.page, learner, rng.standard_normal((20, learner.n_latents)))


def test_a_slider_that_is_dragged_changes_the_picture(visit: Any) -> None:
    before = visit.picture()
    slider = visit.page.locator(USED).first
    box = slider.bounding_box()
    visit.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    visit.page.mouse.down()
    visit.page.mouse.move(box["x"] + box["width"] - 8, box["y"] + box["height"] / 2, steps=4)
    visit.page.mouse.up()
    dragged = visit.picture()
    assert float(slider.input_value()) > 2
    assert dragged != before
    visit.page.get_by_role("button", name="Put back").click()
    assert visit.picture() == before


def test_keys_and_strips_move_a_latent_too(visit: Any) -> None:
    slider = visit.page.locator(USED).first
    start = float(slider.input_value())
    slider.press("ArrowRight")
    assert float(slider.input_value()) == pytest.approx(start + 0.05, abs=0.051)
    strip = visit.page.locator(".latent[data-state='used'] .strip").first
    box = strip.bounding_box()
    strip.click(position={"x": box["width"] / 18, "y": 10})  # the middle of the first frame
    assert float(slider.input_value()) == float(slider.get_attribute("min"))


def test_tab_passes_the_images_as_one_and_arrows_move_among_them(visit: Any) -> None:
    at = "document.activeElement.getAttribute('aria-label') ?? document.activeElement.id"
    first, second = (visit.page.locator(".gallery .thumbs button").nth(i) for i in (0, 1))
    picked = visit.page.locator(".gallery [aria-pressed=true]").get_attribute("aria-label")
    visit.page.locator(".choice input:checked").focus()
    visit.page.keyboard.press("Tab")
    assert visit.page.evaluate(at) == picked
    visit.page.keyboard.press("Tab")
    assert re.fullmatch(r"z\d+", visit.page.evaluate(at))
    visit.page.keyboard.press("Shift+Tab")
    first.focus()
    visit.page.keyboard.press("ArrowRight")
    assert visit.page.evaluate(at) == second.get_attribute("aria-label")
    visit.page.keyboard.press("Enter")
    assert second.get_attribute("aria-pressed") == "true"


def test_the_environment_changes_under_the_same_code(visit: Any, run: RunDirectory) -> None:
    before, code = visit.picture(), [slider.input_value() for slider in sliders(visit)]
    others = [s for s in range(2) if not visit.page.locator("input[name=environment]").nth(s).is_checked()]
    visit.page.locator(".choice").nth(others[0]).click()
    assert visit.picture() != before
    assert [slider.input_value() for slider in sliders(visit)] == code
    seen = export_decoder(run.learner("cpu"))["seen"][others[0]]
    assert [slider.is_enabled() for slider in sliders(visit)] == seen
    assert visit.page.locator(".latent.unseen").count() == seen.count(False)


def sliders(visit: Any) -> list[Any]:
    """The sliders by the number of their latent."""
    count = visit.page.locator(".latent").count()
    return [visit.page.locator(f"#z{n}") for n in range(count)]


def test_dreams_at_a_press(visit: Any) -> None:
    before = visit.picture()
    visit.page.get_by_role("button", name="Dream", exact=True).click()
    dreams = visit.page.get_by_role("button", name="dream ", exact=False).filter(has=visit.page.locator("img"))
    assert dreams.count() == 8
    assert visit.picture() != before
    assert visit.page.locator("[aria-pressed=true]").count() == 1
    visit.page.get_by_role("button", name="image 1 of").first.click()
    assert visit.text(".source figcaption") == "image"


def test_the_timeline_is_scrubbed_by_mouse_and_keys(visit: Any) -> None:
    tracks = visit.page.locator(".tracks")
    tracks.evaluate("(tracks) => tracks.scrollIntoView()")
    box = tracks.bounding_box()
    visit.page.mouse.move(box["x"] + 60, box["y"] + 200)
    visit.page.mouse.down()
    visit.page.mouse.move(box["x"] + box["width"] - 11, box["y"] + 200, steps=3)
    visit.page.mouse.up()
    assert visit.text(".moment h3") == "Step 120"
    assert "inverse digits" in visit.text(".moment dl")
    scrub = visit.page.get_by_role("slider", name="Step", exact=True)
    scrub.press("ArrowLeft")
    assert visit.text(".moment h3") == "Step 119"
    assert scrub.get_attribute("aria-valuetext") == "step 119"


def test_zoom_is_linked_and_the_switch_shows_its_images(visit: Any) -> None:
    axis = visit.page.locator(".stages .axis")
    whole = axis.all_inner_texts()
    visit.page.get_by_role("button", name="← switch").click()
    assert visit.page.locator(".moment .tiles img").count() == 8
    assert "Switch at step" in visit.text(".moment h4")
    paths = visit.page.locator(".curve path")
    before = paths.first.get_attribute("d")
    visit.page.get_by_role("button", name="Zoom in").click()
    assert axis.all_inner_texts() != whole
    assert paths.first.get_attribute("d") != before
    visit.page.get_by_role("button", name="Show the whole run").click()
    assert axis.all_inner_texts() == whole
    assert paths.first.get_attribute("d") == before


def test_tables_sort_in_both_directions(visit: Any) -> None:
    table = visit.page.get_by_role("table", name="Environments")
    head = table.get_by_role("columnheader", name="number")
    column = table.locator("tbody td:first-child")
    head.get_by_role("button").click()
    assert column.all_inner_texts() == ["1", "0"]
    assert head.get_attribute("aria-sort") == "descending"
    head.get_by_role("button").click()
    assert column.all_inner_texts() == ["0", "1"]


def test_the_map_leads_to_the_latent(visit: Any) -> None:
    visit.page.get_by_role("button", name="show latent 3").click()
    assert visit.page.evaluate("document.activeElement.id") in ("z3", "")
    assert visit.page.locator(".use .cell").count() == 2 * 10


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(390, 844), (1400, 900)])
def test_it_fits_and_can_be_read(visit: Any, size: tuple[int, int], scheme: str) -> None:
    visit.page.set_viewport_size({"width": size[0], "height": size[1]})
    visit.page.emulate_media(color_scheme=scheme)
    visit.picture()  # the tracks are drawn for their new width
    assert flaws(visit.page) == {}


@pytest.fixture(scope="session")
def five_worlds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of five worlds of the gallery, shown by the present page."""
    text = (Path(__file__).parents[2] / "docs" / "gallery" / "five-worlds.html").read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    data = json.loads(found[1])
    path = tmp_path_factory.mktemp("gallery") / "five-worlds.html"
    path.write_text(bundle.page(data["title"], data), encoding="utf-8")
    return path


@pytest.mark.parametrize("worlds", ["report", "five_worlds"])
@pytest.mark.parametrize("size", [(390, 844), (1400, 900)])
def test_the_first_screen_has_an_image_and_a_latent_to_drag(
    chromium: Any, request: pytest.FixtureRequest, size: tuple[int, int], worlds: str
) -> None:
    opened = Visit(
        chromium,
        request.getfixturevalue(worlds),
        viewport={"width": size[0], "height": size[1]},
        has_touch=size[0] < 400,  # a thumb for a finger is larger
    )
    picked = opened.page.locator(".gallery [aria-pressed=true]").bounding_box()
    slider = opened.page.locator(USED).first.bounding_box()
    assert opened.page.evaluate("scrollY") == 0
    assert slider["y"] + slider["height"] <= size[1]
    assert 0 <= picked["x"] <= picked["x"] + picked["width"] <= size[0]
    original = opened.page.locator(".original").bounding_box()
    assert original["y"] + original["height"] <= size[1]
    chosen, row = (opened.page.locator(one).bounding_box() for one in (".choice:has(:checked)", ".chooser"))
    assert row["x"] <= chosen["x"] <= chosen["x"] + chosen["width"] <= row["x"] + row["width"]
    assert flaws(opened.page) == {}
    opened.page.close()


def test_on_a_phone_the_step_is_told_below_the_stages(chromium: Any, report: Path) -> None:
    opened = Visit(chromium, report, viewport={"width": 390, "height": 844})
    boxes = [opened.page.locator(kind).bounding_box() for kind in (".stages", ".moment", ".moment + div .track-head")]
    for above, below in pairwise(boxes):  # no gap in which a piece of the cursor would show
        assert above["y"] + above["height"] == pytest.approx(below["y"], abs=0.5)
    opened.page.get_by_role("slider", name="Step", exact=True).press("Home")
    assert opened.text(".moment h3") == "Step 0"
    opened.page.get_by_role("button", name="switch →").click()
    assert opened.page.locator(".moment .tiles img").count() == 8
    opened.page.set_viewport_size({"width": 1400, "height": 900})
    opened.until(lambda: opened.page.locator(".tracks .moment").count() == 0)
    assert opened.page.locator(".moment").count() == 1
    opened.page.close()


def test_a_learner_that_can_do_less_has_a_shorter_page(
    chromium: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "training"))
    settings = RunSettings.of("smoke", stream="digits", steps=20, learner="random_projection:RandomProjection")
    train(tmp_path / "run", settings)
    opened = Visit(chromium, write_report(tmp_path / "run"))
    hidden = {name: opened.page.locator(f"#{name}").is_hidden() for name in ("live", "timeline", "usage", "tables")}
    assert hidden == {"live": True, "timeline": False, "usage": True, "tables": False}
    assert opened.text(".summary").endswith("It does not infer environments.")
    assert "Loss" in opened.page.locator(".track-head h3").all_inner_texts()[0]
    assert opened.complaints == []
    opened.page.close()


def test_a_run_that_was_stopped_early_has_a_page(chromium: Any, tmp_path: Path) -> None:
    settings = RunSettings.of("smoke", stream="digits,glyphs", steps=30, probes="none", device="cpu")
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "run", settings, callbacks=[StopAt(20)])
    opened = Visit(chromium, write_report(tmp_path / "run"))
    assert "batch 20 of 60" in opened.text(".subtitle")
    assert "so far" in opened.text(".summary")
    assert opened.complaints == []
    opened.page.close()
