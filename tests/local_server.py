"""A local server in a thread, and requests to it as strangers would write them."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette

from vase.explorer.server import address_of, make_server, open_socket


@dataclass(frozen=True)
class Answer:
    """Status, headers and body."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Local:
    """A server that runs, and the address that its owner opens."""

    address: str

    @property
    def port(self) -> int:
        return int(urlsplit(self.address).port or 0)

    @property
    def root(self) -> str:
        """The path that begins with the token."""
        return urlsplit(self.address).path

    def ask(self, path: str, body: Any = None, *, method: str | None = None, **headers: str) -> Answer:
        """One request to a path below the root, or to an absolute one; anything but bytes is sent as JSON."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            target = path if path.startswith("/") else self.root + path
            connection.request(method or ("GET" if data is None else "POST"), target, data, named)
            found = connection.getresponse()
            return Answer(found.status, {k.lower(): v for k, v in found.getheaders()}, found.read())
        finally:
            connection.close()

    def raw(self, text: bytes, *, leave: bool = False) -> bytes:
        """Whatever the server says to these bytes before it closes the connection; `leave` says that none follow."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as stream:
            stream.sendall(text)
            if leave:
                stream.shutdown(socket.SHUT_WR)
            parts = []
            while part := stream.recv(65536):
                parts.append(part)
        return b"".join(parts)


@contextmanager
def running(app: Starlette, token: str) -> Iterator[Local]:
    """Serve an application in a thread for as long as the context lasts."""
    server = make_server(app)
    with open_socket() as bound:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        try:
            yield Local(address_of(bound, token))
        finally:
            server.should_exit = True
            thread.join()
