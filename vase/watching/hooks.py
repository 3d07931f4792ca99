"""What happens at a switch outside this process: a command is run, a record is posted to an address."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

from vase.watching.camera import without_password
from vase.watching.observer import Observer
from vase.watching.records import Watched, heading

COMMAND_TIMEOUT, POST_TIMEOUT = 60.0, 10.0
"""Seconds."""
ATTEMPTS = 3
"""Of a webhook; the waits between them are 1 and 2 seconds."""
MAX_WAITING = 100
"""Calls that wait for an earlier one to end; more are given up."""
VARIABLES = (
    *("step", "previous", "environment", "is_new", "heading", "sentence"),
    *("source", "frame", "time", "since", "since_time", "snapshot"),
)
"""Facts of a record that a command also finds in its environment."""
Deliver = Callable[[dict[str, Any]], None]
"""Hands over one record, or raises OSError with the reason."""


def change_record(seen: Watched, source: str) -> dict[str, Any]:
    """The `Change` of a switch without its images, and where in the source it was found."""
    assert seen.change is not None
    return {
        **seen.change.to_dict(),
        "heading": heading(seen.change),
        "findings": list(seen.change.findings),
        "reasons": list(seen.reasons),
        "source": source,
        "frame": seen.label,
        "time": seen.time,
        "since": seen.since,
        "since_time": seen.since_time,
        "frames": seen.frames,
        "snapshot": None if seen.snapshot is None else str(seen.snapshot),
    }


class Hook(Observer):
    """Delivers the record of every switch, in the background and in order; a failure is told and does not stop."""

    def __init__(self, name: str, deliver: Deliver, note: Callable[[str], None]) -> None:
        self.name, self._deliver, self._note = name, deliver, note
        self._source, self._waiting = "", 0
        self._worker = ThreadPoolExecutor(1, f"vase {name}")

    def on_start(self, source: str, step: int) -> None:
        """Remember where the frames come from."""
        self._source = source

    def on_step(self, seen: Watched) -> None:
        """Deliver the record of a switch."""
        if seen.change is None:
            return
        if self._waiting >= MAX_WAITING:
            self._note(f"{self.name}: {MAX_WAITING} calls are waiting already; {heading(seen.change)} is not delivered")
            return
        self._waiting += 1
        self._worker.submit(self._call, change_record(seen, self._source))

    def _call(self, record: dict[str, Any]) -> None:
        try:
            self._deliver(record)
        except OSError as error:
            self._note(f"{self.name} failed at {record['heading']}: {error}")
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Wait for the calls that are under way."""
        self._worker.shutdown()


def command(text: str) -> Deliver:
    """Run a command with the record as JSON on its standard input and the key facts in its environment.

    The command is split into words here and run without a shell, so that nothing that a file or a camera is called can
    become a command.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"on_switch={text!r}: {error}; close the quotes.") from None
    if not words or shutil.which(words[0]) is None:
        raise ValueError(f"on_switch={text!r}: no such command; name a program, with its arguments if it has any.")

    def deliver(record: dict[str, Any]) -> None:
        environment = {**os.environ, **variables(record)}
        try:
            done = subprocess.run(
                words,
                input=json.dumps(record, allow_nan=False).encode(),
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=COMMAND_TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise OSError(f"{words[0]} was stopped after {COMMAND_TIMEOUT:.0f} seconds") from None
        if done.returncode:
            last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2][:200]
            raise OSError(f"{words[0]} ended with code {done.returncode}" + (f": {last}" if last else ""))

    return deliver


def variables(record: dict[str, Any]) -> dict[str, str]:
    """The key facts of a record as environment variables.

    >>> variables({"step": 7, "is_new": True, "snapshot": None, "sentence": "darker"})
    {'VASE_STEP': '7', 'VASE_IS_NEW': '1', 'VASE_SENTENCE': 'darker', 'VASE_SNAPSHOT': ''}
    """
    return {f"VASE_{name.upper()}": _word(record[name]) for name in VARIABLES if name in record}


def _word(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "1" if value else ("" if value is None else "0")
    return str(value).replace("\0", "")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments: Any, **options: Any) -> None:
        """A redirected POST would become a GET without the record: refused."""


def webhook(url: str, wait: Callable[[float], object] = time.sleep) -> Deliver:
    """Post the record as JSON to an address; tried again if it does not answer, or answers that it is at fault."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"webhook={url!r}: must be an address such as https://example.org/hook.")
    opener, shown = urllib.request.build_opener(_NoRedirect), without_password(f"{parts.scheme}://{parts.netloc}")

    def deliver(record: dict[str, Any]) -> None:
        body = json.dumps(record, allow_nan=False).encode()
        for attempt in range(ATTEMPTS):
            if attempt:
                wait(2.0 ** (attempt - 1))
            request = urllib.request.Request(url, body, {"Content-Type": "application/json", "User-Agent": "vase"})
            try:
                with opener.open(request, timeout=POST_TIMEOUT):
                    return
            except urllib.error.HTTPError as error:
                error.close()
                reason = f"{shown} answered {error.code} {error.reason}"
                if error.code < 500 and error.code != 429:
                    break
            except OSError as error:
                reason = f"{shown} does not answer ({getattr(error, 'reason', error)})"
        raise OSError(reason)

    return deliver
