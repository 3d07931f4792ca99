"""The local server under requests that nobody should send: refused or served, and it goes on."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest
from local_server import Local, running
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from vase.explorer.server import Page, local_app, new_token, open_socket, read_body, read_json

LARGEST = 10_000
TOKEN = "a-token_of-the-test"


async def size(request: Request) -> Response:
    return JSONResponse({"size": len(await read_body(request, LARGEST))})


async def echo(request: Request) -> Response:
    return JSONResponse(await read_json(request, LARGEST))


async def fail(request: Request) -> Response:
    raise ValueError("the value 3 is wrong; use 4.")


async def crash(request: Request) -> Response:
    raise RuntimeError("something that nobody thought of")


@pytest.fixture(scope="module")
def local() -> Iterator[Local]:
    routes = [Route(f"/{made.__name__}", made, methods=["POST"]) for made in (size, echo, fail, crash)]
    page = Page("<title>x</title><!--MODULES-->", {"modules/a.js": "export {};", "style.css": "p {}"})
    with running(local_app(page, routes, TOKEN), TOKEN) as server:
        yield server


def test_the_owner_sees_the_page_and_its_files(local: Local) -> None:
    page = local.ask("")
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert page.body.decode() == '<title>x</title>{"imports": {"vase/": "./modules/"}}'
    assert local.ask("modules/a.js").headers["content-type"] == "text/javascript; charset=utf-8"
    assert local.ask("style.css").body == b"p {}"
    assert local.ask("style.css", method="POST").status == 405


def test_every_answer_has_protective_headers(local: Local) -> None:
    for answer in (local.ask(""), local.ask("nothing"), local.ask("/"), local.ask("fail", {})):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "server" not in answer.headers


@pytest.mark.parametrize("path", ["/", "/style.css", "/wrong/", "/wrong/style.css", f"/{TOKEN}x/", f"/{TOKEN[:-1]}/"])
def test_without_the_token_nothing_is_served(local: Local, path: str) -> None:
    answer = local.ask(path)
    assert answer.status == 403
    assert b"open the address" in answer.body


def test_tokens_differ_and_are_long() -> None:
    made = {new_token() for _ in range(50)}
    assert len(made) == 50
    assert min(map(len, made)) >= 32


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "[::1]:{port}"]
)
def test_a_foreign_host_is_refused(local: Local, host: str) -> None:
    assert local.ask("", Host=host.format(port=local.port)).status == 403


def test_no_host_or_two_hosts_are_refused(local: Local) -> None:
    own = f"Host: 127.0.0.1:{local.port}\r\n"
    for hosts in ("", own + "Host: evil.example\r\n"):
        answer = local.raw(f"GET {local.root} HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n".encode())
        assert answer.split()[1] in (b"400", b"403")


def test_localhost_is_another_name_of_the_server(local: Local) -> None:
    assert local.ask("", Host=f"localhost:{local.port}").status == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "https://127.0.0.1:{port}", "null", "http://127.0.0.1:1"])
def test_a_foreign_origin_is_refused(local: Local, origin: str) -> None:
    assert local.ask("echo", {}, Origin=origin.format(port=local.port)).status == 403


def test_the_own_origin_is_served(local: Local) -> None:
    assert local.ask("echo", {"a": 1}, Origin=f"http://127.0.0.1:{local.port}").json == {"a": 1}


def test_other_sites_are_refused_even_without_an_origin(local: Local) -> None:
    assert local.ask("", Sec_Fetch_Site="cross-site").status == 403
    assert local.ask("", Sec_Fetch_Site="same-site").status == 403
    assert local.ask("", Sec_Fetch_Site="same-origin").status == 200


@pytest.mark.parametrize(
    "path",
    [
        "../../../../etc/passwd",
        "..%2f..%2f..%2fetc%2fpasswd",
        "%2e%2e/%2e%2e/etc/passwd",
        "modules/../../server.py",
        "modules/..%5cserver.py",
        "//etc/passwd",
        "/etc/passwd",
        "modules/%00",
        "modules/a.js%00.css",
        "modules/",
    ],
)
def test_no_path_leads_out_of_the_table(local: Local, path: str) -> None:
    request = f"GET {local.root}{path} HTTP/1.1\r\nHost: 127.0.0.1:{local.port}\r\nConnection: close\r\n\r\n"
    assert local.raw(request.encode()).split()[1] in (b"404", b"400")


def test_a_body_that_is_too_large_is_refused_before_it_is_read(local: Local) -> None:
    assert local.ask("size", b"x" * LARGEST).json == {"size": LARGEST}
    head = f"POST {local.root}size HTTP/1.1\r\nHost: 127.0.0.1:{local.port}\r\nContent-Length: {100 * 2**20}\r\n\r\n"
    answer = local.raw(head.encode())  # of 100 MB, not one byte was sent
    assert answer.split()[1] == b"413"
    assert b"at most 10,000" in answer


def test_a_body_without_a_length_is_counted(local: Local) -> None:
    head = f"POST {local.root}size HTTP/1.1\r\nHost: 127.0.0.1:{local.port}\r\nTransfer-Encoding: chunked\r\n"
    head += "Connection: close\r\n\r\n"
    chunk = b"1000\r\n" + b"x" * 4096 + b"\r\n"
    assert local.raw(head.encode() + 2 * chunk + b"0\r\n\r\n").endswith(b'{"size":8192}')
    assert local.raw(head.encode() + 3 * chunk + b"0\r\n\r\n").split()[1] == b"413"


def test_a_body_that_never_comes_is_no_crash(local: Local) -> None:
    head = f"POST {local.root}size HTTP/1.1\r\nHost: 127.0.0.1:{local.port}\r\nContent-Length: 100\r\n\r\n"
    local.raw(head.encode() + b"ten bytes.", leave=True)
    assert local.ask("").status == 200


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b"3", b"\xff\xfe", b'{"a":1}x', b"[" * 9_000, b"NaN"])
def test_malformed_json_is_refused(local: Local, body: bytes) -> None:
    answer = local.ask("echo", body)
    assert answer.status == 400
    assert "error" in answer.json


@pytest.mark.parametrize("text", [b"\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00", b"A" * 200_000])
def test_what_is_no_http_is_no_crash(local: Local, text: bytes) -> None:
    with suppress(OSError):  # the server hung up
        local.raw(text, leave=True)
    assert local.ask("").status == 200


def test_errors_are_sentences_and_the_server_goes_on(local: Local) -> None:
    wrong = local.ask("fail", {})
    assert (wrong.status, wrong.json) == (400, {"error": "the value 3 is wrong; use 4."})
    assert local.ask("crash", {}).status == 500
    assert local.ask("").status == 200


def test_a_thousand_requests_at_once_are_answered_or_refused(local: Local) -> None:
    found = local.ask_at_once("echo", [{"i": i} for i in range(1_000)])
    assert {answer.status for answer in found} <= {200, 503}
    assert all(answer.json == {"i": i} for i, answer in enumerate(found) if answer.status == 200)
    assert local.ask("").status == 200


def test_answers_are_sent_at_once():
    """asyncio switches Nagle's algorithm off only for sockets whose protocol is named."""
    with open_socket() as bound:
        assert bound.proto == socket.IPPROTO_TCP


def test_a_port_in_use_is_named() -> None:
    with open_socket() as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=rf"port {port} cannot be used .* --port"):
            open_socket(port)
