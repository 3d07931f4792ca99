"""What happens outside at a switch: the record reaches a command and an address, and no name becomes a command."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from films import DAY, NIGHT, film, noise

from vase.watching.hooks import Hook, command, webhook
from vase.watching.session import watch
from vase.watching.settings import WatchSettings

SETTINGS = WatchSettings(learner="monitor", size=16, batch_size=16, overrides={"environments.patience": 3})
SAVE = """import json, os, sys
record = json.load(sys.stdin)
names = sorted(name for name in os.environ if name.startswith("VASE_"))
facts = {name: os.environ[name] for name in names}
open(sys.argv[1], "a").write(json.dumps({"record": record, "facts": facts}) + "\\n")
"""


def script(tmp_path: Path, text: str) -> str:
    path = tmp_path / "hook.py"
    path.write_text(text)
    return f"'{sys.executable}' '{path}'"


def test_the_command_gets_the_record_of_each_switch(tmp_path: Path) -> None:
    notes: list[str] = []
    saved = tmp_path / "saved file.jsonl"
    hook = Hook("hook", command(f"{script(tmp_path, SAVE)} '{saved}'"), notes.append)
    list(watch(film((DAY, 192), (NIGHT, 96)), out=tmp_path / "out", settings=SETTINGS, observers=[hook]))
    (line,) = [json.loads(line) for line in saved.read_text().splitlines()]
    record, facts = line["record"], line["facts"]
    assert (record["step"], record["previous"], record["environment"], record["is_new"]) == (15, 0, 1, True)
    assert record["sentence"].startswith("darker")
    assert (record["source"], record["frame"], record["frames"]) == ("arrays", "frame 240", 240)
    assert record["since"] == facts["VASE_SINCE"] == "frame 193"  # the first of the three batches before the verdict
    assert Path(record["snapshot"]).exists()
    assert "before" not in record  # images stay here
    assert {name: facts[f"VASE_{name}"] for name in ("STEP", "PREVIOUS", "ENVIRONMENT", "IS_NEW")} == {
        "STEP": "15",
        "PREVIOUS": "0",
        "ENVIRONMENT": "1",
        "IS_NEW": "1",
    }
    assert facts["VASE_SENTENCE"] == record["sentence"]
    assert facts["VASE_SNAPSHOT"] == record["snapshot"]
    assert notes == []


def test_no_shell_reads_the_command_or_the_names_of_files(tmp_path: Path) -> None:
    """Neither a semicolon of the command nor a file called $(touch ...) starts anything."""
    saved, trap = tmp_path / "saved", tmp_path / "trap"
    deliver = command(f"{script(tmp_path, SAVE)} '{saved}' ; touch '{trap}'")
    deliver({"step": 1, "frame": f"$(touch {trap});`touch {trap}`\0.png", "sentence": "x"})
    assert json.loads(saved.read_text())["facts"]["VASE_FRAME"] == f"$(touch {trap});`touch {trap}`.png"
    assert not trap.exists()


def test_a_command_that_fails_is_told_of_and_watching_goes_on(tmp_path: Path) -> None:
    notes: list[str] = []
    hook = Hook("hook", command(script(tmp_path, "raise SystemExit('no battery')")), notes.append)
    steps = list(watch(film((DAY, 192), (NIGHT, 96)), settings=SETTINGS, observers=[hook]))
    assert len(steps) == 18
    (note,) = notes
    assert "hook failed at batch 15" in note
    assert "ended with code 1: no battery" in note


@pytest.mark.parametrize("text", ["", "no-such-program-anywhere --x", "'unclosed"])
def test_a_command_that_cannot_run_is_refused_at_once(text: str) -> None:
    with pytest.raises(ValueError, match="on_switch="):
        command(text)


@pytest.fixture
def server() -> Iterator[tuple[str, list[int], list[dict[str, Any]]]]:
    """An address, the answers that it will give, and the records that it got."""
    answers: list[int] = []
    got: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(answers.pop(0))
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            pass

    found = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=found.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{found.server_port}/hook", answers, got
    found.shutdown()
    thread.join()
    found.server_close()


def test_the_webhook_gets_the_record(server: tuple[str, list[int], list[dict[str, Any]]]) -> None:
    url, answers, got = server
    answers.append(200)
    notes: list[str] = []
    hook = Hook("webhook", webhook(url), notes.append)
    list(watch(film((DAY, 192), (NIGHT, 96)), settings=SETTINGS, observers=[hook]))
    assert [(record["step"], record["environment"]) for record in got] == [(15, 1)]
    assert notes == []


def test_a_webhook_is_tried_again_after_a_fault_of_the_server(
    server: tuple[str, list[int], list[dict[str, Any]]],
) -> None:
    url, answers, got = server
    waits: list[float] = []
    answers += [503, 500, 200]
    webhook(url, waits.append)({"step": 1})
    assert (len(got), waits) == (3, [1, 2])


@pytest.mark.parametrize("code", [404, 302])
def test_a_webhook_is_not_tried_again_after_a_refusal_and_follows_nobody(
    server: tuple[str, list[int], list[dict[str, Any]]], code: int
) -> None:
    url, answers, got = server
    answers.append(code)
    with pytest.raises(OSError, match=f"answered {code}"):
        webhook(url)({"step": 1})
    assert len(got) == 1


def test_nobody_listens() -> None:
    with pytest.raises(OSError, match=r"http://127\.0\.0\.1:9 does not answer"):
        webhook("http://127.0.0.1:9/hook", lambda seconds: None)({"step": 1})


@pytest.mark.parametrize("url", ["file:///etc/passwd", "example.org/hook", "ftp://example.org", "https://"])
def test_addresses_are_checked(url: str) -> None:
    with pytest.raises(ValueError, match="must be an address such as"):
        webhook(url)


def test_nothing_is_called_without_a_switch(tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    hook = Hook("hook", command(f"{script(tmp_path, SAVE)} '{saved}'"), print)
    list(watch(noise(DAY, 256), settings=SETTINGS, observers=[hook]))
    assert not saved.exists()
