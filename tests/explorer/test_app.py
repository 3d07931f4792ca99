"""The explorer's own answers over HTTP, and the attacks that concern them."""

from __future__ import annotations

import io
import json
import resource
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
import pytest
from local_server import Local
from PIL import Image

from vase.explorer.app import LARGEST_PICTURE
from vase.explorer.models import Model
from vase.explorer.page import PACKAGE, SCRIPTS, STYLES, explorer_page
from vase.report.bundle import SCRIPTS as REPORT_SCRIPTS
from vase.training import RunDirectory

NEWEST = "0@120"
PAGE = Path(__file__).parents[2] / "vase" / "explorer" / "page"


def png(side: int, mode: str = "L") -> bytes:
    file = io.BytesIO()
    Image.new(mode, (side, side)).save(file, "PNG")
    return file.getvalue()


def test_every_file_of_the_page_is_served_once() -> None:
    own = {path.name for path in PAGE.iterdir()}
    assert own == {*(f"{name}.js" for name in SCRIPTS), *(f"{name}.css" for name in STYLES), "explorer.html"}
    assert set(SCRIPTS).isdisjoint(REPORT_SCRIPTS)
    assert len(explorer_page().files) == len(SCRIPTS) + len(REPORT_SCRIPTS) + 1
    assert PACKAGE == "vase.explorer"


def test_modules_import_only_what_is_served(explorer: Local) -> None:
    files = explorer_page().files
    for path, text in files.items():
        wanted = {line.split('"')[1] for line in text.splitlines() if line.startswith("import ")}
        assert {f"modules/{name.removeprefix('vase/')}" for name in wanted} <= set(files), path


def test_checkpoints_and_their_pages(explorer: Local) -> None:
    assert [choice["id"] for choice in explorer.ask("models").json] == ["0@60", "0@120"]
    data = explorer.ask("model?id=0@120").json
    assert data["title"] == "moving digits → inverse digits"
    assert explorer.ask("model?id=9@9").status == 400
    assert explorer.ask("model").status == 400


def test_a_picture_is_encoded_and_explained(explorer: Local, model: Model) -> None:
    found = explorer.ask(f"picture?model={NEWEST}", png(100)).json
    assert len(found["code"]) == model.learner.n_latents
    assert len(found["as"]) == 2
    assert len(found["posterior"]) == 3
    again = explorer.ask("about", {"model": NEWEST, "image": found["picture"]}).json
    assert again == found


def test_a_mixture_and_its_context(explorer: Local, model: Model) -> None:
    first, second = (model.data["live"]["images"][i]["picture"] for i in (0, -1))
    question = {"model": NEWEST, "first": first, "second": second, "share": 0.5, "context": 8}
    assert set(explorer.ask("mix", question).json["among"]) == {"0", "1"}
    assert explorer.ask("mix", {**question, "context": 33}).status == 400
    assert explorer.ask("mix", {**question, "share": 2}).json == {"error": "share = 2: must be a number from 0 to 1."}


def test_codes_become_bytes_and_animations(explorer: Local, model: Model) -> None:
    n = model.learner.n_latents
    question = {"model": NEWEST, "codes": np.eye(n)[:6].tolist(), "environments": [0, 1] * 3}
    assert len(explorer.ask("decode", question).body) == 6 * 32 * 32
    made = explorer.ask("animate", {**question, "tiles": 2, "columns": 2})
    assert made.headers["content-type"] == "image/gif"
    assert Image.open(io.BytesIO(made.body)).size == (4 * 65, 4 * 32)
    assert explorer.ask("animate", {**question, "tiles": 4, "columns": 2}).status == 400


def test_names_are_kept_with_the_run(explorer: Local, run: RunDirectory) -> None:
    saved = explorer.ask("names", {"model": NEWEST, "names": {"2": "slant <b>"}})
    assert saved.json == {"names": {"2": "slant <b>"}}
    assert json.loads((run.path / "latents.json").read_text()) == {"names": {"2": "slant <b>"}}
    assert run.latent_names() == {2: "slant <b>"}
    assert explorer.ask("model?id=0@120").json["latents"]["own"] == {"2": "slant <b>"}
    assert explorer.ask("names", {"model": NEWEST, "names": {"99": "x"}}).status == 400
    assert run.latent_names() == {2: "slant <b>"}
    explorer.ask("names", {"model": NEWEST, "names": {}})
    assert run.latent_names() == {}


def test_names_that_cannot_be_saved_are_refused_with_the_reason(
    explorer: Local, run: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: RunDirectory, names: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(RunDirectory, "write_latent_names", refuse)
    answer = explorer.ask("names", {"model": NEWEST, "names": {"2": "slant"}})
    assert answer.status == 409
    assert answer.json == {"error": "The names cannot be saved: Read-only file system"}
    assert explorer.ask("model?id=0@120").json["latents"]["own"] == {}


def peak() -> int:
    """The most memory that this process, with its server, has ever had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def test_an_upload_of_100_mb_is_refused_without_being_kept(explorer: Local) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(1_600):
            yield bytes(65_536)

    before = peak()
    connection = HTTPConnection("127.0.0.1", explorer.port, timeout=60)
    with suppress(BrokenPipeError, ConnectionResetError):  # the server hangs up while most is still to come
        connection.request("POST", f"{explorer.root}picture?model={NEWEST}", chunks(), encode_chunked=True)
        assert connection.getresponse().status == 413
    connection.close()
    assert peak() - before < 2 * LARGEST_PICTURE // 2**20 + 16
    assert explorer.ask("models").status == 200


def test_a_decompression_bomb_is_refused(explorer: Local) -> None:
    before = peak()
    answer = explorer.ask(f"picture?model={NEWEST}", png(6_000, "1"))
    assert answer.status == 400
    assert "more than 25,000,000; shrink it" in answer.json["error"]
    assert peak() - before < 16


@pytest.mark.parametrize("path", ["about", "mix", "decode", "animate", "names"])
@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"{}", b'{"model":"0@120"}', b'{"model":"0@120","codes":[[1e999]]}']
)
def test_malformed_questions_are_refused(explorer: Local, path: str, body: bytes) -> None:
    answer = explorer.ask(path, body)
    assert answer.status == 400
    assert answer.json["error"]


def test_a_thousand_questions_at_once(explorer: Local, model: Model) -> None:
    question = {"model": NEWEST, "codes": [[0.0] * model.learner.n_latents], "environments": 0}
    before = peak()
    found = explorer.ask_at_once("decode", [question] * 1_000)
    assert {answer.status for answer in found} <= {200, 503}
    assert len({answer.body for answer in found if answer.status == 200}) == 1
    assert peak() - before < 256
    assert explorer.ask("decode", question).status == 200
