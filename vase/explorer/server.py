"""A local web application that only the person who started it can use: its own files, its own answers, nothing else.

It listens on 127.0.0.1. Every address begins with a secret token, requests must name this server as their Host, and
pages of other origins are refused. Files are looked up in a fixed table, never in a folder. `local_app` makes such an
application, `serve` runs it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ADDRESS = "127.0.0.1"
NAMES = (ADDRESS, "localhost")
CONNECTIONS = 2_048  # at the same time; more are answered with 503
BACKLOG = 2_048
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(self), microphone=(), geolocation=()",
}
_IMPORTS = json.dumps({"imports": {"vase/": "./modules/"}})
"""The page's modules name each other `vase/NAME.js`."""
_TYPES = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml", "png": "image/png"}


class Refused(Exception):
    """A request that gets an error status and one sentence."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True)
class Page:
    """The document and the files of an application; `<!--MODULES-->` in the document becomes its import map."""

    document: str
    files: Mapping[str, str]
    """Text by the path that the document uses, e.g. "modules/chart.js" or "style.css"."""


def new_token() -> str:
    """A secret that cannot be guessed and needs no quoting in an address."""
    return secrets.token_urlsafe(24)


def local_app(page: Page, routes: Sequence[BaseRoute], token: str) -> Starlette:
    """The application: the page at /TOKEN/, its files beside it, and routes for what the page asks.

    A route that raises ValueError answers 400 with the message as JSON {"error": ...}; `Refused` gives its own status.
    """
    served = {path: Response(text, media_type=_media_type(path)) for path, text in page.files.items()}
    document = Response(page.document.replace("<!--MODULES-->", _IMPORTS), media_type="text/html")

    async def file(request: Request) -> Response:
        path = request.path_params["path"]
        found = served.get(path) if path else document
        if found is None:
            raise Refused(404, f"there is no {path!r} here.")
        return found

    inner = Mount(f"/{token}", routes=[*routes, Route("/{path:path}", file)])
    return Starlette(
        routes=[inner],
        middleware=[Middleware(Guard, token=token)],
        exception_handlers={Refused: _refused, ValueError: _wrong, ClientDisconnect: _gone},
    )


class Guard:
    """Refuses requests without the token, for another Host or from another Origin; adds protective headers."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app, self.token = app, token
        self.headers = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
        self.headers.append((b"content-security-policy", _policy().encode()))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or pass on one request; web sockets are not spoken here."""
        if scope["type"] != "http":
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *self.headers]
            await send(message)

        reason = self.objection(scope)
        answer: ASGIApp = self.app if reason is None else PlainTextResponse(f"{reason}\n", 403)
        await answer(scope, receive, guarded)

    def objection(self, scope: Scope) -> str | None:
        """Why a request is refused; None for one that is not."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        hosts = {f"{name}:{scope['server'][1]}" for name in NAMES}
        if len([name for name, _ in scope["headers"] if name == b"host"]) != 1 or headers.get(b"host") not in hosts:
            return "This server answers to its own address only."
        origin = headers.get(b"origin")
        if origin is not None and origin.removeprefix("http://") not in hosts:
            return "Pages of other origins are refused."
        if headers.get(b"sec-fetch-site", "none") not in ("none", "same-origin"):
            return "Pages of other sites are refused."
        given = scope["path"].removeprefix("/").partition("/")[0]
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            return "The token is missing: open the address that was printed when the server started."
        return None


async def read_body(request: Request, most: int) -> bytes:
    """The body of a request; one that is larger than `most` bytes is refused before it is read into memory."""
    told = request.headers.get("content-length", "")
    if told.isdecimal() and int(told) > most:
        raise Refused(413, f"{int(told):,} bytes: at most {most:,} are taken.")
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise Refused(413, f"more than {most:,} bytes: at most these are taken.")
        parts.append(part)
    return b"".join(parts)


async def read_json(request: Request, most: int) -> dict[str, Any]:
    """The JSON object in the body of a request."""
    try:
        value = json.loads(await read_body(request, most))
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"not JSON ({error}).") from error
    if not isinstance(value, dict):
        raise Refused(400, f"a {type(value).__name__} where an object belongs.")
    return value


def open_socket(port: int = 0) -> socket.socket:
    """A socket on 127.0.0.1; port 0 takes a free one.

    Its protocol is named, or asyncio would leave Nagle's algorithm on, and all answers but the first would wait 40 ms.
    """
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((ADDRESS, port))
    except (OSError, OverflowError) as error:
        made.close()
        reason = getattr(error, "strerror", None) or error
        raise OSError(f"port {port} cannot be used ({reason}); choose another with --port.") from error
    return made


def address_of(bound: socket.socket, token: str) -> str:
    """The address to open in a browser."""
    return f"http://{ADDRESS}:{bound.getsockname()[1]}/{token}/"


def make_server(app: Starlette) -> uvicorn.Server:
    """A server for `.run(sockets=[...])`; `.should_exit = True` ends it, from another thread too."""
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS,
        backlog=BACKLOG,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)


def serve(app: Starlette, token: str, *, port: int = 0, ready: Callable[[str], None] = print) -> None:
    """Serve until Ctrl-C; `ready` is called with the address once connections are accepted."""
    bound = open_socket(port)
    with bound:
        bound.listen(BACKLOG)
        ready(address_of(bound, token))
        make_server(app).run(sockets=[bound])


def _policy() -> str:
    imports = base64.b64encode(hashlib.sha256(_IMPORTS.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'self' 'sha256-{imports}'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _media_type(path: str) -> str:
    return _TYPES[path.rpartition(".")[2]]


def _refused(request: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, Refused) else 400
    hang_up = {"Connection": "close"} if status == 413 else None  # what was not read is not waited for
    return JSONResponse({"error": str(error)}, status, hang_up)


def _wrong(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 400)


def _gone(request: Request, error: Exception) -> Response:
    return Response(status_code=400)
