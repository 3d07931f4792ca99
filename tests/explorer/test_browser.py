"""The explorer in a real browser: everything answers, and nothing leaves the machine."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from local_server import Local
from page_checks import flaws
from PIL import Image
from visits import Visit

from vase.explorer.models import Model
from vase.images import as_bytes
from vase.training import RunDirectory

USED = ".latent[data-state='used']"
DROP = """(bytes) => {
  const carried = new DataTransfer();
  carried.items.add(new File([Uint8Array.from(bytes)], "a.png", { type: "image/png" }));
  return carried;
}"""
DECODE = """async ({ model, live, codes, environments }) => {
  const { ServerPainter } = await import("vase/server-painter.js");
  const pictures = await new ServerPainter(model, live).decode(codes, environments);
  return pictures.map((pixels) => Array.from(pixels));
}"""
LATEST = """async () => {
  const { Latest } = await import("vase/asking.js");
  const done = [];
  const latest = new Latest();
  for (let i = 0; i < 100; i++) latest.run(() => new Promise((next) => setTimeout(() => next(done.push(i)), 5)));
  while (!done.includes(99)) await new Promise((next) => setTimeout(next, 10));
  return done;
}"""


@pytest.fixture(scope="module")
def visit(chromium: Any, explorer: Local) -> Iterator[Visit]:
    """The explorer in a browser; nothing may be complained about or asked elsewhere."""
    visit = Visit(chromium, explorer.address)
    visit.page.locator("#origin .verdict").wait_for()
    visit.until(lambda: visit.page.locator(".answer").get_attribute("aria-label") is not None)
    yield visit
    visit.page.close()
    assert visit.complaints == []
    assert [url for url in visit.requests if not url.startswith((explorer.address, "data:", "blob:"))] == []


def png(pixels: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


def drop(visit: Visit, data: bytes) -> None:
    carried = visit.page.evaluate_handle(DROP, list(data))
    visit.page.dispatch_event("main", "drop", {"dataTransfer": carried})


def test_the_page_shows_what_pytorch_decodes(visit: Visit, model: Model) -> None:
    codes = np.random.default_rng(0).standard_normal((20, model.learner.n_latents)).round(4)
    for s in (0, 1):
        live = {name: model.data["live"][name] for name in ("shape", "latents", "seen")}
        argument = {"model": "0@120", "live": live, "codes": codes.tolist(), "environments": s}
        found = np.array(visit.page.evaluate(DECODE, argument)) * 255
        wanted = as_bytes(model.answers.decode(codes, environment=s))
        assert np.abs(found.reshape(wanted.shape) - wanted).max() < 1.01


def test_a_slider_that_is_dragged_changes_the_picture(visit: Visit) -> None:
    before = visit.picture()
    slider = visit.page.locator(f"{USED} input[type=range]").first
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    visit.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    visit.page.mouse.down()
    visit.page.mouse.move(box["x"] + box["width"] - 8, box["y"] + box["height"] / 2, steps=6)
    visit.page.mouse.up()
    assert float(slider.input_value()) > 2
    visit.until(lambda: visit.picture() != before)
    visit.page.get_by_role("button", name="Put back").click()
    visit.until(lambda: visit.picture() == before)


def test_of_a_hundred_wishes_the_first_and_the_last_are_asked(visit: Visit) -> None:
    assert visit.page.evaluate(LATEST) == [0, 99]


def test_the_environment_changes_under_the_same_code(visit: Visit) -> None:
    before, code = visit.picture(), visit.page.locator(f"{USED} output").all_inner_texts()
    other = next(s for s in range(2) if not visit.page.locator("input[name=environment]").nth(s).is_checked())
    visit.page.locator(".choice").nth(other).click()
    visit.until(lambda: visit.picture() != before)
    visit.page.locator(".choice").nth(1 - other).click()
    visit.until(lambda: visit.picture() == before)
    assert visit.page.locator(f"{USED} output").all_inner_texts() == code


def test_a_dropped_picture_is_encoded_explained_and_offered(visit: Visit) -> None:
    drop(visit, png(np.full((40, 60, 3), 255, np.uint8)))
    own = visit.page.locator(".own .thumbs button").last
    own.wait_for()
    visit.until(lambda: own.get_attribute("aria-pressed") == "true")
    picture = own.locator("img").get_attribute("src")
    visit.until(lambda: visit.page.locator("#origin .asked").get_attribute("src") == picture)
    assert visit.text("#origin .verdict").startswith("It fits")
    assert visit.page.locator("#origin .outcome").count() == 3
    assert visit.page.locator("#origin .outcome.chosen").count() == 1
    assert visit.page.locator("#origin .reasons li").count() > 0
    name = own.get_attribute("aria-label")
    assert visit.page.get_by_role("button", name=f"{name}, for the slot").count() == 1
    assert visit.text(".source figcaption") == "image"


def test_what_is_no_picture_is_said(visit: Visit) -> None:
    drop(visit, b"not a picture")
    visit.page.locator(".told.wrong").wait_for()
    assert "cannot be read" in visit.text(".told")
    assert ["400" in complaint for complaint in visit.complaints] == [True]  # the browser's own note of the refusal
    visit.complaints.clear()


def test_the_webcam_takes_pictures(visit: Visit) -> None:
    before = visit.page.locator(".own .thumbs button").count()
    visit.page.get_by_role("button", name="Webcam").click()
    video = visit.page.locator(".webcam video")
    video.wait_for()
    visit.until(lambda: video.evaluate("(video) => video.videoWidth") > 0)
    visit.page.get_by_role("button", name="Take picture").click()
    visit.until(lambda: visit.page.locator(".own .thumbs button").count() == before + 1)
    visit.page.get_by_role("button", name="Close").click()
    visit.page.locator(".webcam").wait_for(state="detached")  # a dialog tells that it was closed in a task of its own


def test_two_images_are_mixed_and_interpolated(visit: Visit) -> None:
    blend, alone = visit.page.locator("#two .mixture img"), visit.page.locator("#two .guesses .stacked").first
    visit.until(lambda: blend.get_attribute("src") is not None)
    share = visit.page.get_by_role("slider", name="From image A to image B")
    between = "document.querySelector('.between canvas').toDataURL()"
    before = blend.get_attribute("src"), alone.get_attribute("aria-label"), visit.page.evaluate(between)
    share.press("Home")
    first = visit.page.locator(".slot img").first.get_attribute("src")
    visit.until(lambda: blend.get_attribute("src") == first)  # nothing of B
    visit.until(lambda: visit.page.evaluate(between) != before[2])
    assert alone.get_attribute("aria-label") != before[1]
    visit.page.get_by_role("button", name="image 2 of moving digits, for the slot").click()
    assert visit.page.locator(".slot img").first.get_attribute("src") != first
    visit.until(lambda: blend.get_attribute("src") != first)
    assert visit.page.locator(".slot button").nth(1).get_attribute("aria-pressed") == "true"
    visit.page.locator("#context").press("End")
    assert visit.text("output[for=context]") == "32"


@pytest.mark.parametrize(
    ("said", "decision", "guess"),
    [
        (
            {"verdict": "environment 1", "environment": 1, "posterior": [0.1, 0.9, 0], "probabilities": [0.3, 0.7]},
            "It fits 1 inverse digits",
            "Alone: 1 inverse digits; they agree",
        ),
        (
            {"verdict": "environment 1", "environment": 1, "posterior": [0.1, 0.9, 0], "probabilities": [0.8, 0.2]},
            "It fits 1 inverse digits",
            "Alone: 0 moving digits; they disagree",
        ),
        (
            {"verdict": "new environment", "environment": 0, "posterior": [0, 0, 1], "probabilities": [0.8, 0.2]},
            "It fits no environment that the learner knows; the nearest is 0 moving digits",
            "Alone: 0 moving digits; it cannot say “new”",
        ),
    ],
)
def test_decision_and_guess_about_a_mixture_are_told_apart(
    visit: Visit, said: dict[str, Any], decision: str, guess: str
) -> None:
    visit.page.route("**/mix", lambda route: route.fulfill(json=route.fetch().json() | said))
    visit.page.get_by_role("slider", name="From image A to image B").press("ArrowRight")
    visit.until(lambda: (visit.text(".decision .verdict"), visit.text(".guesses .verdict")) == (decision, guess))
    shown = [
        visit.page.locator(f"{part} .stacked").first.get_attribute("aria-label") for part in (".decision", ".guesses")
    ]
    names = ("moving digits", "inverse digits", "a new environment")
    for label, shares in zip(shown, (said["posterior"], said["probabilities"]), strict=True):
        parts = [
            f"{name} {100 * share:.{0 if share in (0, 1) else 1}f} %"
            for name, share in zip(names, shares, strict=False)
        ]
        assert label == ", ".join(parts)
    visit.page.unroute("**/mix")


def test_latents_are_sorted_and_named(visit: Visit, run: RunDirectory) -> None:
    for by in ("KL", "atypicality"):
        visit.page.get_by_label("Sort by").select_option(by)
        values = [float(re.sub(r"^(KL|α) ", "", text)) for text in visit.page.locator(".measure").all_inner_texts()]
        assert values == sorted(values, reverse=True)
    visit.page.get_by_label("Sort by").select_option("number")
    assert visit.page.locator(".latent label").first.inner_text().startswith("z0")
    visit.page.get_by_role("button", name="name latent 0").click()
    visit.page.get_by_label("name of latent 0").fill("slant")
    visit.page.get_by_label("name of latent 0").press("Enter")
    visit.until(lambda: run.latent_names() == {0: "slant"})
    visit.until(lambda: "slant" in visit.page.locator(".latent label").first.inner_text())
    visit.page.reload()
    visit.page.locator("#origin .verdict").wait_for()
    assert "slant" in visit.page.locator("label[for=z0]").inner_text()


def test_figures_are_exported(visit: Visit) -> None:
    visit.page.wait_for_timeout(1_000)
    saved = {}
    for kind in ("PNG", "SVG", "GIF"):
        with visit.page.expect_download() as download:
            visit.page.get_by_role("button", name=f"save latents as {kind}").click()
        saved[kind] = download.value.path().read_bytes()
    assert Image.open(io.BytesIO(saved["PNG"])).width > 500
    assert saved["SVG"].count(b"<image") == 10
    assert b"data:image/png;base64," in saved["SVG"]
    assert Image.open(io.BytesIO(saved["GIF"])).n_frames > 5
    with visit.page.expect_download() as download:
        visit.page.get_by_role("button", name="save interpolation as GIF").click()
    assert download.value.suggested_filename == "interpolation.gif"


@pytest.fixture(scope="session")
def five_worlds() -> dict[str, Any]:
    """Heading and sentences of the run of five worlds of the gallery, which are the longest."""
    text = (Path(__file__).parents[2] / "docs" / "gallery" / "five-worlds.html").read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    data = json.loads(found[1])
    return {name: data[name] for name in ("title", "subtitle", "sentences")}


@pytest.mark.parametrize("many", [False, True], ids=["two worlds", "five worlds"])
def test_on_a_phone_the_first_screen_has_a_latent_to_drag(
    chromium: Any, explorer: Local, five_worlds: dict[str, Any], many: bool
) -> None:
    page = chromium.new_page(viewport={"width": 390, "height": 844}, has_touch=True)  # a thumb for a finger is larger
    page.route(
        "**/model?id=*",
        lambda route: route.fulfill(json=route.fetch().json() | (five_worlds if many else {})),
    )
    page.goto(explorer.address)
    page.locator("#origin .verdict").wait_for()
    assert page.evaluate("scrollY") == 0
    assert (page.locator("h1").inner_text().count("→") == 4) is many
    slider = page.locator(f"{USED} input[type=range]").first.bounding_box()
    assert slider["y"] + slider["height"] <= 844
    save, last = (page.locator(one).last.bounding_box() for one in (".sliders > .export", ".sliders .track:visible"))
    assert save["y"] > last["y"]  # what is done last comes last
    assert page.get_by_label("Sort by").bounding_box()["y"] < slider["y"]
    page.set_viewport_size({"width": 1400, "height": 900})
    page.locator(".title-row .export").wait_for()
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1400])
def test_it_fits_and_can_be_read(visit: Visit, scheme: str, width: int) -> None:
    visit.page.set_viewport_size({"width": width, "height": 900})
    visit.page.emulate_media(color_scheme=scheme)
    assert flaws(visit.page) == {}


def test_two_checkpoints_are_compared(visit: Visit) -> None:
    visit.page.locator("#compare .side .verdict").nth(1).wait_for()
    assert visit.page.locator("#compare h3:not(.dot)").all_inner_texts() == ["run, step 120", "run, step 60"]
    assert visit.page.locator("#compare .side").nth(0).locator(".outcome").count() == 3
    assert visit.page.locator("#compare .side").nth(1).locator(".outcome").count() == 2
    visit.page.get_by_label("Latent", exact=True).select_option("4")
    visit.until(lambda: visit.text("#compare .side .note") == "z4 from end to end")
    visit.page.get_by_label("Run", exact=True).select_option("run, step 60")
    visit.page.wait_for_url("**/#0%4060")
    visit.page.locator("#compare .side .verdict").nth(1).wait_for()
    assert visit.page.locator("#compare h3:not(.dot)").all_inner_texts() == ["run, step 60", "run, step 120"]
    assert visit.page.locator(".choice").count() == 1
