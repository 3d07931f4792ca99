"""The live page of a watch: its timeline in a browser, served to the person who started it only."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from vase.explorer.server import BACKLOG, Page, address_of, local_app, make_server, new_token, open_socket
from vase.metrics.record import Record
from vase.plots.style import world_colour
from vase.report.bundle import source
from vase.report.timeline import timeline
from vase.rows import Row
from vase.training.row_file import read_rows
from vase.watching.observer import Observer
from vase.watching.records import Watched
from vase.watching.terminal import status

MODULES = ("chart", "elements", "heatmap", "lines", "moment", "stages", "timeline")
"""Modules of the report that the timeline needs."""
STYLES = ("base", "timeline")
MAX_ROWS = 20_000
"""Rows of batches that are kept for the page; of more, every other one is dropped."""


class LivePage(Observer):
    """Collects rows, and serves them to a page until the watch ends."""

    def __init__(self, directory: Path, port: int = 0, ready: Callable[[str], None] = print) -> None:
        self.directory, self.ready = directory, ready
        self._rows: list[Row] = []
        self._count = 0
        self._status = "waiting for the first batch"
        self._source = ""
        self._guard = threading.Lock()
        token = new_token()
        self._server = make_server(page_app(self.news, token))
        self._socket = open_socket(port)
        self._socket.listen(BACKLOG)
        self.address = address_of(self._socket, token)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)

    def on_start(self, source: str, step: int) -> None:
        """Show what was recorded before, if the watch is resumed, and say where the page is."""
        self._source = source
        if step:
            for row in read_rows(self.directory / "rows.jsonl"):
                self.on_row(row)
        self._thread.start()
        self.ready(f"live page: {self.address}")

    def on_row(self, row: Row) -> None:
        """Keep a row for the page."""
        with self._guard:
            self._rows.append(row)
            self._count += 1
            if len(self._rows) > MAX_ROWS:
                self._rows = thinned(self._rows)

    def on_step(self, seen: Watched) -> None:
        """Keep the numbers of the last batch."""
        self._status = status(seen)

    def close(self) -> None:
        """End the server."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(5)
        self._socket.close()

    def news(self, after: int) -> dict[str, Any] | None:
        """What the page shows; None if nothing was recorded since it had `after` rows."""
        with self._guard:
            rows, count = list(self._rows), self._count
        if count == after:
            return None
        return {**page_data(rows, self._source), "status": self._status, "rows": count}


def thinned(rows: Sequence[Row]) -> list[Row]:
    """Every other row of a batch, and all other rows."""
    steps = 0
    kept = []
    for row in rows:
        steps += row["kind"] == "step"
        if row["kind"] != "step" or steps % 2:
            kept.append(row)
    return kept


def page_data(rows: Sequence[Row], source: str) -> dict[str, Any]:
    """Everything that the timeline shows, ready for JSON."""
    steps = [row for row in rows if row["kind"] == "step"]
    if not steps:
        return {"title": f"Watching {source}", "timeline": None}
    ends = [list(group)[-1] for _, group in groupby(steps, key=lambda row: row["stage"])]
    starts = [0, *(row["step"] for row in ends)]
    stages = tuple((row["world"], row["step"] - start) for row, start in zip(ends, starts, strict=False))
    record = Record(stages, tuple(rows))
    count = 1 + max(row["environment"] for row in rows if "environment" in row)
    return {
        "title": f"Watching {source}",
        "worlds": {name: {"title": Path(name).name or name, "colour": "gray"} for name in record.worlds},
        "environments": [{"label": f"environment {s}", "colour": world_colour(s)} for s in range(count)],
        "latents": {"count": len(steps[-1]["mask"]), "names": {}},
        "timeline": timeline(record),
    }


def page_app(news: Callable[[int], dict[str, Any] | None], token: str) -> Starlette:
    """The application: the page, its modules, and the answer to what is new."""

    def answer(request: Request) -> Response:
        found = news(int(request.query_params.get("after", "-1")[:12]))
        return Response(status_code=204) if found is None else JSONResponse(found)

    own = files("vase.watching").joinpath("page")
    modules = {f"modules/{name}.js": source(f"{name}.js") for name in MODULES}
    modules["modules/watch.js"] = own.joinpath("watch.js").read_text(encoding="utf-8")
    modules["style.css"] = "\n".join(source(f"{name}.css") for name in STYLES)
    document = own.joinpath("watch.html").read_text(encoding="utf-8")
    return local_app(Page(document, modules), [Route("/news", answer)], token)
