#!/usr/bin/env python3
"""What a page on a stranger's name can send once that name leads to this machine, byte by byte: with
a Host or Origin that is not the daemon's own no memory is read and nothing changed, not even by
the cookie of a person who is signed in."""

import re
import socket

from abuse import Home


def ask(port, *lines, body=""):
    """The whole answer to a request that is sent as it is written here."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        head = [*lines, "Connection: close", f"Content-Length: {len(body)}"]
        connection.sendall(("\r\n".join(head) + "\r\n\r\n" + body).encode())
        answer = b""
        while part := connection.recv(65_536):
            answer += part
    return answer


def strangers(port):
    """Hosts that a name or a trick may bring; the last are spellings of this very machine."""
    yield from [
        f"evil.example:{port}", "evil.example", f"localhost.evil.example:{port}",
        f"127.0.0.1.nip.example:{port}", f"127.0.0.1:{port}@evil.example",
        f"evil@127.0.0.1:{port}", f"127.0.0.1:{port}, evil.example", "127.0.0.1:1", "",
        f"0.0.0.0:{port}", f"2130706433:{port}", f"127.1:{port}", f"localhost.:{port}",
    ]


with Home() as home:
    word = "harbourmaster"
    home.done("learn", "--user", "ada", f"the {word} sleeps in winter")
    home.serve()
    link = home.done("open", "--print", "--user", "ada")
    page, path = re.search(r"http://127\.0\.0\.1:(\d+)(/enter/\w+)", link).groups()
    page, http = int(page), home.port
    own = f"127.0.0.1:{page}"
    entered = ask(page, f"GET {path} HTTP/1.1", f"Host: {own}").decode()
    cookie = "Cookie: " + re.search(r"(?i)set-cookie: ([^;]+)", entered)[1]
    for needed in ["SameSite=Strict", "HttpOnly", "same-origin"]:
        assert needed in entered, f"the cookie is not {needed}"
    seen = ask(page, "GET /timeline HTTP/1.1", f"Host: {own}", cookie).decode()
    assert word in seen, "its own page does not show it"
    assert "access-control-allow-origin" not in seen.lower(), "a page of another origin may read it"
    form = re.search(r'name="(form_token)" value="(\w+)"', seen)
    memory = "/v1/users/ada/records?limit=5"
    tried = 0

    def refused(what, answer):
        global tried
        tried += 1
        status = int(answer.split(None, 2)[1])
        assert 400 <= status < 500 and word.encode() not in answer, f"{what}: {answer[:200]!r}"

    for host in strangers(page):
        for path in ["/", "/timeline", "/live", "/care/backup", "/search?q=winter"]:
            said = ask(page, f"GET {path} HTTP/1.1", f"Host: {host}", cookie)
            refused(f"page {path} as `{host}`", said)
        said = ask(page, "POST /sign-out HTTP/1.1", f"Host: {host}", cookie, body="x=1")
        refused(f"page POST as `{host}`", said)
    for host in strangers(http):
        for path in [memory, "/openapi.json", "/health/live", "/v1/status", "/metrics"]:
            refused(f"{path} as `{host}`", ask(http, f"GET {path} HTTP/1.1", f"Host: {host}"))
        for path in ["/mcp", "/v1/shutdown", "/v1/users/ada/tools/recall", "/oauth/device"]:
            said = ask(http, f"POST {path} HTTP/1.1", f"Host: {host}", body="{}")
            refused(f"POST {path} as `{host}`", said)
    for port in [page, http]:
        own, evil = f"127.0.0.1:{port}", f"evil.example:{port}"
        for hosts in [(own, evil), (evil, own), (evil, evil)]:
            lines = [f"Host: {host}" for host in hosts]
            refused(f"two hosts {hosts}", ask(port, f"GET {memory} HTTP/1.1", *lines, cookie))
        said = ask(port, f"GET http://{own}/timeline HTTP/1.1", f"Host: {evil}", cookie)
        refused("another host than that of its address", said)
        refused("no host", ask(port, "GET /timeline HTTP/1.0", cookie))
        both = [f"Origin: http://{own}", "Origin: http://evil.example"]
        refused("two origins", ask(port, "GET /timeline HTTP/1.1", f"Host: {own}", *both, cookie))
    own = f"127.0.0.1:{page}"
    for origin in [
        "http://evil.example", f"http://evil.example:{page}", "null", f"https://{own}",
        "http://127.0.0.1:1", f"http://{own}.evil.example", "",
    ]:
        lines = [f"Host: {own}", f"Origin: {origin}", cookie,
                 "Content-Type: application/x-www-form-urlencoded"]
        body = f"{form[1]}={form[2]}" if form else ""
        said = ask(page, "POST /sign-out HTTP/1.1", *lines, body=body)
        refused(f"a form of `{origin}`", said)
    assert word in ask(page, "GET /timeline HTTP/1.1", f"Host: {own}", cookie).decode()
    assert tried > 150, f"only {tried} were tried"
