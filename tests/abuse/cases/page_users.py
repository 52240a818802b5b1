#!/usr/bin/env python3
"""Two users have pages of one daemon open: no page, form or stream of the one shows or changes what
is in the memory of the other, whatever id is asked for, and a stream ends with its sign-in."""

import http.client
import json
import re
import socket
import urllib.parse

from abuse import Home, within

WORDS = {"ada": "harbourmaster", "bob": "zeppelinworks"}


class Page:
    """A browser of one user."""

    def __init__(self, home, user):
        link = home.done("open", "--print", "--user", user)
        port, path = re.search(r"http://127\.0\.0\.1:(\d+)(/enter/\w+)", link).groups()
        self.port = int(port)
        self.cookie = None
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("GET", path)
        self.cookie = connection.getresponse().getheader("set-cookie").split(";")[0]

    def ask(self, method, path, form=None):
        headers = {"Cookie": self.cookie, "Origin": f"http://127.0.0.1:{self.port}"}
        if form is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            form = urllib.parse.urlencode(form)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request(method, path, form, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(errors="replace")

    def listen(self):
        stream = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        lines = ["GET /live HTTP/1.1", f"Host: 127.0.0.1:{self.port}", f"Cookie: {self.cookie}",
                 "Connection: close"]
        stream.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        assert b"event-stream" in stream.recv(65_536)
        stream.setblocking(False)
        return stream


def heard(stream):
    """What came since, and whether the stream has ended."""
    said = b""
    while True:
        try:
            part = stream.recv(65_536)
        except BlockingIOError:
            return said, False
        if not part:
            return said, True
        said += part


with Home() as home:
    home.serve("--idle-exit", "600")

    def learn(user, text):
        status, said = home.local("POST", f"/v1/users/{user}/tools/learn", {"text": text})
        assert status == 200, said

    ids = {}
    for user, word in WORDS.items():
        for number in range(3):
            learn(user, f"{word} number {number} is closed in winter")
        prompt = {"session": word, "project": word, "deadline_ms": 20_000,
                  "text": f"what of {word} in winter, please?"}
        home.local("POST", f"/v1/users/{user}/hooks/user-prompt", prompt)
        lines = home.done("export", "--user", user).splitlines()
        ids[user] = [json.loads(line)["id"] for line in lines]
    ada, bob = Page(home, "ada"), Page(home, "bob")
    paths = ["/", "/needs", "/timeline", "/knowledge", "/projects", "/search?q=winter", "/prompts",
             "/agents", "/activity", "/learning", "/done", "/knowledge/review", "/knowledge/tidy",
             "/care", "/care/backups", "/care/access", "/care/configuration", "/care/audit", "/users",
             "/care/backup", "/care/restore", "/care/restore?file=bob", "/new", "/forgotten/0", "/forgotten/1"]
    paths += [path + more for path in ["/", "/timeline", "/search"]
              for more in ["?user=bob", "?user=bob&q=winter", "?as=bob"]]
    for id in ids["bob"]:
        paths += [f"/records/{id}", f"/records/{id}/forget", f"/records/{id}/publish",
                  f"/prompts/{id}", f"/timeline?at={id}", f"/search?q={id}"]
    for path in paths:
        status, said = ada.ask("GET", path)
        assert WORDS["bob"] not in said, f"ada's page {path} shows bob's memory"
        assert status < 500, f"{path}: {status}"
    _, own = ada.ask("GET", f"/records/{ids['ada'][0]}")
    assert WORDS["ada"] in own, "ada's page does not show her own memory"
    token = re.search(r'name="form_token" value="(\w+)"', own)[1]
    theirs = home.done("export", "--user", "bob")
    id, mine = ids["bob"][0], ids["ada"][0]
    for path, form in [
        (f"/records/{id}/correct", {"text": "taken over"}), (f"/records/{id}/tags", {"tags": "x"}),
        (f"/records/{id}/forget", {}), (f"/records/{id}/standing", {"retention": "ephemeral"}),
        (f"/records/{id}/link", {"to": mine, "relation": "x"}),
        (f"/records/{mine}/link", {"to": id, "relation": "x"}), (f"/records/{id}/publish", {}),
        ("/many", {"id": id, "act": "forget"}), ("/switch", {"user": "bob"}),
        ("/erase", {"user": "bob", "name": "bob"}), ("/undo", {"number": "0"}),
    ]:
        status, said = ada.ask("POST", path, {"form_token": token, **form})
        assert WORDS["bob"] not in said and status < 500, f"{path}: {status}"
        # A token of another page's form.
        status, _ = bob.ask("POST", path, {"form_token": token, **form})
        assert status == 403, f"bob's page took ada's form {path}: {status}"
    assert home.done("export", "--user", "bob") == theirs, "ada's forms changed bob's memory"

    streams = {"ada": ada.listen(), "bob": bob.listen()}
    learn("bob", "zeppelinworks opens on friday")
    within(10, lambda: b"event: change" in heard(streams["bob"])[0], "bob's page hears of nothing")
    said, ended = heard(streams["ada"])
    assert b"event: change" not in said and not ended, f"ada's stream heard of bob: {said}"
    status, _ = ada.ask("POST", "/sign-out", {"form_token": token})
    assert status == 200, status
    learn("ada", "harbourmaster rests on friday")
    rest = []

    def over():
        said, ended = heard(streams["ada"])
        rest.append(said)
        return ended

    within(10, over, "a stream goes on after its sign-in has ended")
    assert b"event: change" not in b"".join(rest), "after the sign-out it tells of changes"
    reader = home.token("reader", "--user", "ada")
    for path in ["changes", "export", "backup", "records"]:
        status, said = home.http("GET", f"/v1/users/bob/{path}", token=reader)
        assert status == 403, f"a token of ada's reads bob's {path}: {status}"
