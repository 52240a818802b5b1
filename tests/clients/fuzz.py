"""Bad input at every door: JSON-RPC over stdio and POST /mcp, raw HTTP on the socket and on TCP.

python3 fuzz.py PATH/TO/reprise [SEED [MUTATIONS]] starts a daemon of its own in a temporary folder
(without a model) and needs nothing else. After each case the daemon answers, nothing but JSON-RPC
is on stdout, nothing panicked and no token is in the log; what does not hold is printed, and the
exit code is 1.
"""

import json
import os
import random
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

PATIENCE = 15.0
FAULTS = []
CASES = 0


def hold(truth, sentence):
    global CASES
    CASES += 1
    if not truth:
        FAULTS.append(sentence)
        print(f"DOES NOT HOLD: {sentence}", flush=True)


class Daemon:
    """A daemon of this run: both doors, two tokens."""

    def __init__(self, reprise):
        self.folder = tempfile.mkdtemp()
        run = f"{self.folder}/run"
        os.mkdir(run, 0o700)
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": run}
        self.base = [reprise, "--data-dir", f"{self.folder}/data", "--no-model"]
        self.token = self.told("serve", "token", "add", "all")
        self.ada = self.told("serve", "token", "add", "ada", "--user", "ada")
        self.log = f"{self.folder}/log"
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen(
            [*self.base, "serve", "--http", f"127.0.0.1:{self.port}"],
            stdout=subprocess.DEVNULL,
            stderr=open(self.log, "wb"),
            env={**self.environment, "REPRISE_LOG": "debug"},
        )
        while not self.lives():
            time.sleep(0.05)
        status = json.loads(self.ask("GET", "/v1/status")[2])
        self.socket = status["socket"]

    def told(self, *words):
        said = subprocess.run([*self.base, *words], capture_output=True, text=True, env=self.environment)
        return said.stdout.strip()

    def connect(self, tcp=True):
        if tcp:
            return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        stream = socket.socket(socket.AF_UNIX)
        stream.settimeout(PATIENCE)
        stream.connect(self.socket)
        return stream

    def raw(self, text, tcp=True, half=False):
        """Status, head and body of what is answered to these bytes; status 0 where nothing is."""
        with self.connect(tcp) as stream:
            try:
                stream.sendall(text)
                if half:
                    stream.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # It may answer and close before it has read everything.
            return answer_of(stream)

    def ask(self, method, path, body=None, headers=(), token=None, tcp=True):
        body = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        names = {name.lower() for name, _ in headers}
        head = [f"{method} {path} HTTP/1.1", "Connection: close", f"Content-Length: {len(body)}"]
        if "host" not in names:
            head.append(f"Host: 127.0.0.1:{self.port}")
        if "authorization" not in names:
            head.append(f"Authorization: Bearer {token or self.token}")
        head += [f"{name}: {value}" for name, value in headers]
        return self.raw("\r\n".join([*head, "", ""]).encode("utf-8", "surrogateescape") + body, tcp)

    def lives(self):
        try:
            return self.raw(f"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nConnection: close\r\n\r\n".encode())[0] == 200
        except OSError:
            return False

    def resident(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

    def end(self):
        began = time.monotonic()
        self.told("serve", "stop")
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            hold(False, "the daemon ends when told to")
            self.process.kill()
        log = open(self.log, errors="replace").read()
        hold("a request was refused" in log, "what is refused is logged")
        hold("panicked" not in log, f"nothing panics:\n{log[-2000:]}")
        for token in (self.token, self.ada):
            hold(token not in log, "no token is in the log")
            hold(token.split("_")[-1] not in log, "no part of a token is in the log")
        shutil.rmtree(self.folder)
        return time.monotonic() - began


def answer_of(stream):
    """One answer, read to its end."""
    text = b""
    try:
        while chunk := stream.recv(65536):
            text += chunk
            head, found, body = text.partition(b"\r\n\r\n")
            lines = head.lower().split(b"\r\n")
            length = [int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length:")]
            if found and length and len(body) >= length[0]:
                break
    except (TimeoutError, ConnectionError):
        pass
    head, _, body = text.partition(b"\r\n\r\n")
    first = head.split(b" ")
    status = int(first[1]) if len(first) > 1 and first[1].isdigit() else 0
    return status, head.decode("latin-1").lower(), body


def nested(depth):
    return b'{"query":' + b"[" * depth + b"]" * depth + b"}"


def http_cases(daemon):
    """Whole requests that are refused, each with its status."""
    host = ("Host", f"127.0.0.1:{daemon.port}")
    own = "/v1/users/ada"
    daemon.ask("POST", f"{own}/records", {"text": "ada has a memory"})
    ok = {"query": "a"}
    refused = [
        ("nothing where JSON belongs", "POST", f"{own}/recall", b"", (), {400}),
        ("half of an object", "POST", f"{own}/recall", b'{"query": "a', (), {400}),
        ("nested 10,000 deep", "POST", f"{own}/recall", nested(10_000), (), {400}),
        ("nested a million deep", "POST", f"{own}/tools/learn", nested(1_000_000), (), {400}),
        ("a record nested 10,000 deep", "POST", f"{own}/records", nested(10_000), (), {400}),
        ("a list for an object", "POST", f"{own}/learning", b'["on"]', (), {400}),
        ("bytes that are no UTF-8", "POST", f"{own}/recall", b'{"query": "\xff\xfe"}', (), {400}),
        ("half a surrogate pair", "POST", f"{own}/recall", b'{"query": "\\ud800"}', (), {400}),
        ("a number that is none", "POST", f"{own}/outcome", b'{"query": "a", "quality": NaN}', (), {400}),
        ("a number beyond all", "POST", f"{own}/outcome", b'{"query": "a", "quality": 1e999}', (), {400}),
        ("a quality of two", "POST", f"{own}/outcome", b'{"query": "a", "quality": 2}', (), {400}),
        ("a negative count", "POST", f"{own}/recall", b'{"query": "a", "top_k": -1}', (), {400}),
        ("a year that is none", "POST", f"{own}/recall", b'{"query": "a", "as_of": "+999999-01-01T00:00:00Z"}', (), {400}),
        ("33 MiB", "POST", f"{own}/recall", b'{"query": "' + b"a" * (33 << 20) + b'"}', (), {413}),
        ("10,001 records", "POST", f"{own}/records", b"[" + b",".join([b'{"text":""}'] * 10_001) + b"]", (), {400}),
        ("no such route", "GET", "/v1/nowhere", None, (), {404}),
        ("no such method", "PUT", f"{own}/recall", ok, (), {405}),
        ("a method of its own", "FROBNICATE", f"{own}/recall", ok, (), {405}),
        ("no such tool", "POST", f"{own}/tools/nothing", {}, (), {404}),
        ("no such moment", "POST", f"{own}/hooks/nothing", {}, (), {404}),
        ("no such record", "GET", f"{own}/records/01J0000000000000000000000Z", None, (), {404}),
        ("an id of a megabyte", "GET", f"{own}/records/" + "a" * (1 << 20), None, (), {414, 431}),
        ("a query that is no number", "GET", "/api/memory/search?q=a&k=x", None, (), {400}),
        ("two users", "GET", "/api/memory/stats?user=ada&user=bob", None, (), {400}),
        ("a user that cannot be read", "GET", "/api/memory/stats", None, [("X-Reprise-User", "\udcff\udcfe")], {400}),
        ("a verbatim record over TCP", "POST", f"{own}/records?verbatim=true", {"text": "a"}, (), {403}),
        ("the end over TCP", "POST", "/v1/shutdown", None, (), {403}),
        ("a key of 129 characters", "POST", f"{own}/records", {"text": "a"}, [("Idempotency-Key", "k" * 129)], {400}),
        ("no token", "GET", f"{own}/stats", None, [("Authorization", "")], {401}),
        ("a wrong token", "GET", f"{own}/stats", None, [("Authorization", "Bearer " + "x" * 40)], {401}),
        ("a token of 60 KiB", "GET", f"{own}/stats", None, [("Authorization", "Bearer " + "x" * 60_000)], {401, 431}),
        ("half a token", "GET", f"{own}/stats", None, [("Authorization", f"Bearer {daemon.token[:-4]}")], {401}),
        ("a token by another scheme", "GET", f"{own}/stats", None, [("Authorization", f"Basic {daemon.token}")], {401}),
        ("a token in the query", "GET", f"{own}/stats?token={daemon.token}", None, [("Authorization", "")], {401}),
    ]
    for user in ("..", ".", "%2e%2e", "..%2f..%2fetc", "%2fetc", "a%00b", "a%0ab", "a%20b", ".reprise", "a" * 129, "%ff", "%c3%bc"):
        refused.append((f"the user `{user[:20]}`", "GET", f"/v1/users/{user}/stats", None, (), {400, 404}))
        refused.append((f"the user `{user[:20]}` in the query", "GET", f"/api/memory/stats?user={user}", None, (), {400}))
    for record in ("..", "%2e%2e", "..%2f..%2fmemory.rvf", "%00", "%ff", "a" * 8_000):
        refused.append((f"the record `{record[:20]}`", "GET", f"{own}/records/{record}", None, (), {400, 404}))
        refused.append((f"the record `{record[:20]}`, deleted", "DELETE", f"{own}/records/{record}", None, (), {400, 404}))
    for other in ("evil.example", f"evil.example:{daemon.port}", "127.0.0.1", f"127.0.0.1.evil.example:{daemon.port}", f"localhost.evil.example:{daemon.port}", f"0.0.0.0:{daemon.port}", ""):
        refused.append((f"the host `{other}`", "GET", f"{own}/stats", None, [("Host", other)], {400, 403}))
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{daemon.port}", f"http://127.0.0.1:{daemon.port + 1}", "http://localhost", "file://"):
        refused.append((f"the origin `{origin}`", "POST", f"{own}/forget", {"session": "s"}, [("Origin", origin)], {403}))
        plain = [("Origin", origin), ("Content-Type", "text/plain"), ("Authorization", "")]
        refused.append((f"a simple form from `{origin}`", "POST", f"{own}/forget", {"session": "s"}, plain, {403}))
    for name, method, path, body, headers, statuses in refused:
        status, head, said = daemon.ask(method, path, body, headers)
        hold(status in statuses, f"{name} is refused with {sorted(statuses)}: {status} {said[:200]!r}")
        if status in (400, 401, 403, 404, 405, 413) and said:
            hold("application/problem+json" in head, f"{name} gets a problem: {head!r} {said[:120]!r}")
        hold(daemon.token.encode() not in said, f"{name} is not answered with the token")
        hold(daemon.lives(), f"the daemon lives after {name}")
    hold(not os.path.exists(f"{daemon.folder}/etc"), "no path leaves the data directory")
    no_host = f"GET {own}/stats HTTP/1.1\r\nAuthorization: Bearer {daemon.token}\r\n\r\n".encode()
    hold(daemon.raw(no_host)[0] in (400, 403), "a request without a host is refused")
    two_hosts = f"GET {own}/stats HTTP/1.1\r\nHost: evil.example\r\nHost: {host[1]}\r\nAuthorization: Bearer {daemon.token}\r\n\r\n".encode()
    hold(daemon.raw(two_hosts)[0] in (400, 403), "a request with two hosts is refused")
    far = f"GET http://evil.example/v1/users/ada/stats HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer {daemon.token}\r\n\r\n".encode()
    hold(daemon.raw(far)[0] in (400, 403), "an absolute target of another host is refused")


def scope_cases(daemon):
    """A token for one user opens nobody else's memory, by whatever way it is named."""
    daemon.ask("POST", "/v1/users/bob/records", {"text": "bob's own", "external_id": "b1"})
    ids = json.loads(daemon.ask("POST", "/v1/users/bob/records", {"text": "another"})[2])["outcomes"]
    bob = ids[0]["id"]
    hold(daemon.ask("GET", "/v1/users/ada/stats", token=daemon.ada)[0] == 200, "ada's token opens ada's memory")
    for method, path, body in (
        ("GET", "/v1/users/bob/stats", None),
        ("GET", "/v1/users/bob/export", None),
        ("GET", "/v1/users/bob/changes", None),
        ("POST", "/v1/users/bob/recall", {"query": "own"}),
        ("POST", "/v1/users/bob/tools/recall", {"query": "own"}),
        ("POST", "/v1/users/bob/hooks/user-prompt", {"text": "own"}),
        ("DELETE", "/v1/users/bob/records/b1", None),
        ("GET", "/v1/users/%62ob/stats", None),
        ("GET", "/api/memory/stats?user=bob", None),
        ("POST", "/mcp?user=bob", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "tags", "arguments": {}}}),
    ):
        headers = [("Accept", "application/json, text/event-stream"), ("Content-Type", "application/json")]
        status, _, said = daemon.ask(method, path, body, headers, token=daemon.ada)
        hold(status == 403 or (status == 200 and b'"error"' in said), f"{method} {path} with ada's token is refused: {status} {said[:200]!r}")
        hold(b"bob's own" not in said, f"{method} {path} tells nothing of bob's")
    status, _, _ = daemon.ask("GET", "/api/memory/stats", headers=[("X-Reprise-User", "bob")], token=daemon.ada)
    hold(status == 403, f"the header for another user is refused: {status}")
    for method in ("GET", "DELETE"):
        status = daemon.ask(method, f"/v1/users/ada/records/{bob}", token=daemon.ada)[0]
        hold(status == 404, f"{method} of bob's id in ada's memory finds nothing: {status}")
    live = json.loads(daemon.ask("GET", "/v1/users/bob/stats")[2])["live"]
    hold(live == 2, f"bob's records are all there: {live}")


def wire_cases(daemon):
    """Requests that are no requests, or never end."""
    good = f"Host: 127.0.0.1:{daemon.port}\r\nAuthorization: Bearer {daemon.token}\r\n".encode()
    recall = b"POST /v1/users/ada/recall HTTP/1.1\r\n" + good
    for name, text in (
        ("noise", os.urandom(4096)),
        ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200)),
        ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(64)),
        ("HTTP/0.9", b"GET /\r\n\r\n"),
        ("null bytes in the path", b"GET /v1/\x00 HTTP/1.1\r\n" + good + b"\r\n"),
        ("null bytes in a header", b"GET /health/live HTTP/1.1\r\nX: a\x00b\r\n" + good + b"\r\n"),
        ("10,000 headers", recall + b"".join(b"X-%d: y\r\n" % n for n in range(10_000)) + b"\r\n"),
        ("a head of 8 MiB", b"GET /health/live HTTP/1.1\r\nX: " + b"y" * (8 << 20)),
        ("two lengths", recall + b"Content-Length: 4\r\nContent-Length: 40\r\n\r\nabcd"),
        ("a length that is none", recall + b"Content-Length: -1\r\n\r\n{}"),
        ("a length beyond all", recall + b"Content-Length: 99999999999999999999\r\n\r\n{}"),
        ("length and chunks", recall + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n\r\n"),
        ("a chunk that is none", recall + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n"),
        ("a chunk of 16 EiB", recall + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\nabc\r\n"),
    ):
        for tcp in (True, False):
            for half in (False, True):
                status = daemon.raw(text, tcp, half)[0]
                hold(status == 0 or 400 <= status < 500, f"{name} is refused: {status}")
        hold(daemon.lives(), f"the daemon lives after {name}")
    chunks = recall + b"Transfer-Encoding: chunked\r\n\r\n"
    body = b'{"query":"a"}'
    whole = chunks + b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
    hold(daemon.raw(whole)[0] == 200, "a body in chunks of a byte is read")
    big = chunks + b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
    hold(daemon.raw(big + (b"100000\r\n" + b" " * (1 << 20) + b"\r\n") * 40)[0] == 413, "chunks beyond 32 MiB are refused")
    hold(daemon.raw(chunks + b"5\r\nabc", half=True)[0] in (0, 400), "a body that breaks off in a chunk is refused")
    hold(daemon.raw(recall + b"Content-Length: 99\r\n\r\n{", half=True)[0] in (0, 400), "a body that breaks off is refused")
    two = (recall + b"Content-Length: 13\r\n\r\n" + body) * 2
    hold(daemon.raw(two)[0] == 200, "two requests at once are answered")
    hold(daemon.raw(two[: len(two) // 2], half=True)[0] == 200, "a client that has closed its side is answered")


def slow_cases(daemon):
    """Clients that stop in the middle: the rest is served meanwhile, and they are let go."""
    good = f"Host: 127.0.0.1:{daemon.port}\r\nAuthorization: Bearer {daemon.token}\r\n".encode()
    for name, start, within in (
        ("300 heads that stop", b"GET /health/live HTTP/1.1\r\nHost: 127", 25.0),
        ("300 bodies that stop", b"POST /v1/users/ada/recall HTTP/1.1\r\n" + good + b"Content-Length: 99\r\n\r\n{", 60.0),
        ("300 chunked bodies that stop", b"POST /v1/users/ada/recall HTTP/1.1\r\n" + good + b"Transfer-Encoding: chunked\r\n\r\n5\r\nabc", 60.0),
    ):
        open_ones = []
        for _ in range(300):
            stream = daemon.connect()
            stream.sendall(start)
            open_ones.append(stream)
        time.sleep(0.5)
        hold(daemon.lives(), f"the daemon lives under {name}")
        status = daemon.ask("POST", "/v1/users/ada/recall", {"query": "a"})[0]
        hold(status == 200, f"others are served under {name}: {status}")
        until = time.monotonic() + within
        waiting = list(open_ones)
        while waiting and time.monotonic() < until:
            ready, _, _ = select.select(waiting, [], [], 1.0)
            for stream in ready:
                try:
                    over = stream.recv(65536) == b""
                except OSError:
                    over = True
                if over:
                    waiting.remove(stream)
        hold(not waiting, f"{name} are let go within {within:.0f} s: {len(waiting)} hang")
        for stream in open_ones:
            stream.close()


def unread_cases(daemon):
    """Readers that take nothing of a long answer: others are served meanwhile."""
    good = f"Host: 127.0.0.1:{daemon.port}\r\nAuthorization: Bearer {daemon.token}\r\n\r\n".encode()
    for _ in range(3):
        daemon.ask("POST", "/v1/users/long/records", [{"text": f"{n} " + "x" * 60_000} for n in range(150)])
    open_ones = []
    for _ in range(530):
        stream = daemon.connect()
        stream.sendall(b"GET /v1/users/long/export HTTP/1.1\r\n" + good)
        open_ones.append(stream)
    time.sleep(2)
    status, _, said = daemon.ask("POST", "/v1/users/ada/recall", {"query": "race"})
    hold(status == 200, f"others are served under 530 exports that nobody reads: {status} {said[:200]!r}")
    for stream in open_ones:
        stream.close()


class Session:
    """`reprise mcp` on its own pipes."""

    def __init__(self, daemon, *words):
        self.process = subprocess.Popen(
            [*daemon.base, "mcp", "--user", "ada", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=daemon.environment,
        )
        self.said, self.told = [], threading.Condition()
        self.error = b""
        threading.Thread(target=self.listen, daemon=True).start()
        threading.Thread(target=self.overhear, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            try:
                message = json.loads(line)
                pure = isinstance(message, dict) and message.get("jsonrpc") == "2.0"
            except ValueError:
                message, pure = {}, False
            hold(pure, f"only JSON-RPC is on stdout: {line[:200]!r}")
            with self.told:
                self.said.append(message)
                self.told.notify_all()

    def overhear(self):
        self.error = self.process.stderr.read()

    def send(self, message):
        text = message if isinstance(message, bytes) else json.dumps(message).encode()
        try:
            self.process.stdin.write(text + b"\n")
            self.process.stdin.flush()
        except OSError:
            pass

    def answer(self, wanted, patience=PATIENCE):
        def found():
            return next((said for said in self.said if "id" in said and said["id"] == wanted and type(said["id"]) is type(wanted)), None)

        with self.told:
            self.told.wait_for(found, patience)
            return found()

    def begin(self, version="2025-11-25"):
        self.send({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "fuzz", "version": "0"}}})
        answer = self.answer("hello")
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def lives(self, name):
        self.send({"jsonrpc": "2.0", "id": name, "method": "ping"})
        answer = self.answer(name)
        hold(answer and "result" in answer, f"the session answers after {name}: {answer}")

    def end(self):
        self.process.stdin.close()
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = None
        hold(code == 0, f"the session ends with its input: {code} {self.error[-300:]!r}")
        hold(b"panicked" not in self.error, f"nothing panics: {self.error[-500:]!r}")


def call(number, method, params=None, **more):
    return {"jsonrpc": "2.0", "id": number, "method": method, **({} if params is None else {"params": params}), **more}


def tool(number, name, arguments):
    return call(number, "tools/call", {"name": name, "arguments": arguments})


def rpc_cases():
    """Name, message, and what must come back for its id: `result`, `error`, or None for either."""
    deep = b"[" * 10_000 + b"]" * 10_000
    cases = [
        ("an unknown method", call(1, "no/such"), "error"),
        ("an empty method", call(2, ""), "error"),
        ("a method that is a number", call(3, 7), None),
        ("an unknown tool", tool(4, "nothing", {}), "error"),
        ("a tool without arguments", call(5, "tools/call", {"name": "tags"}), "result"),
        ("a tool without a name", call(6, "tools/call", {}), "error"),
        ("arguments that are a list", tool(7, "recall", ["a"]), "error"),
        ("an argument of another type", tool(8, "recall", {"query": 7}), "result"),
        ("an argument that nobody knows", tool(9, "recall", {"query": "a", "x": 1}), "result"),
        ("a resource that is none", call(10, "resources/read", {"uri": "memory://../../etc/passwd"}), "error"),
        ("a resource of another scheme", call(11, "resources/read", {"uri": "file:///etc/passwd"}), "error"),
        ("a prompt that is none", call(12, "prompts/get", {"name": "nothing"}), "error"),
        ("a cursor that is none", call(13, "tools/list", {"cursor": "x"}), None),
        ("params that are a list", call(14, "tools/list", []), None),
        ("another JSON-RPC", {"jsonrpc": "1.0", "id": 15, "method": "ping"}, None),
        ("no JSON-RPC", {"id": 16, "method": "ping"}, None),
        ("a second handshake", call(17, "initialize", {"protocolVersion": "1999-01-01", "capabilities": {}, "clientInfo": {"name": "x", "version": "0"}}), None),
        ("a handshake without params", call(18, "initialize"), None),
        ("a text of 2 MiB", tool(19, "learn", {"title": "long", "content": "word " * 400_000}), "result"),
        ("a query of 2 MiB", tool(20, "recall", {"query": "word " * 400_000}), "result"),
        ("a text with null bytes", tool(21, "learn", {"title": "a\0b", "content": "\0"}), "result"),
        ("an id of a record that is none", tool(22, "get", {"id": "../../memory.rvf"}), "result"),
        ("a walk without end", tool(23, "related", {"id": "x", "depth": 2**63, "limit": 2**63}), "result"),
        ("a limit beyond all", tool(24, "recall", {"query": "a", "limit": 2**64 - 1}), "result"),
        ("100 records at once", tool(25, "get", {"ids": ["x"] * 100}), "result"),
        ("a notification that is none", {"jsonrpc": "2.0", "method": "notifications/nothing"}, None),
        ("a cancellation of nothing", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 999}}, None),
        ("a cancellation without params", {"jsonrpc": "2.0", "method": "notifications/cancelled"}, None),
        ("an answer that nobody asked for", {"jsonrpc": "2.0", "id": 998, "result": {}}, None),
        ("an error that nobody asked for", {"jsonrpc": "2.0", "id": 997, "error": {"code": 1, "message": "x"}}, None),
        ("a request as a notification", {"jsonrpc": "2.0", "method": "tools/list"}, None),
        ("invalid JSON", b"{", None),
        ("no JSON", b"hello", None),
        ("nothing", b"", None),
        ("bytes that are no UTF-8", b'{"jsonrpc":"2.0","id":30,"method":"\xff"}', None),
        ("a null byte", b"\0", None),
        ("nested 10,000 deep", deep, None),
        ("arguments nested 10,000 deep", b'{"jsonrpc":"2.0","id":31,"method":"tools/call","params":{"name":"recall","arguments":{"query":' + deep + b"}}}", None),
        ("an empty batch", [], None),
        ("a batch", [call(32, "ping"), call(33, "tools/list")], None),
        ("a number", b"7", None),
        ("null", b"null", None),
        ("a key twice", b'{"jsonrpc":"2.0","id":34,"id":35,"method":"ping"}', None),
    ]
    for number in (0, -1, 2**53, "", "x" * 4096, "\u00fc\0", 1.5, None, True, [], {}):
        cases.append((f"the id {json.dumps(number)[:20]}", call(number, "ping"), "result" if type(number) in (int, str) else None))
    return cases


def stdio_cases(daemon):
    for version in ("2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28", "1999-01-01", "x" * 10_000):
        session = Session(daemon)
        answer = session.begin(version)
        hold(answer is not None, f"the handshake of version {version[:20]} is answered")
        if answer and "result" in answer:
            session.lives(f"version {version[:20]}")
        session.end()
    session = Session(daemon)
    session.begin()
    for name, message, wanted in rpc_cases():
        session.send(message)
        if wanted:
            answer = session.answer(message["id"])
            hold(answer and wanted in answer, f"{name} gets {wanted}: {json.dumps(answer)[:200]}")
        session.lives(name)
        if session.process.poll() is not None:
            hold(False, f"the session goes on after {name}")
            session = Session(daemon)
            session.begin()
    # What is cancelled may or may not be answered; everything else is.
    for number in range(1000, 1100):
        session.send(tool(number, "recall", {"query": "a"}))
        if number % 2:
            session.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
    hold(all(session.answer(number) for number in range(1000, 1100, 2)), "what is not cancelled is answered")
    session.lives("100 cancellations")
    # The deepest JSON that is kept comes back by every way.
    for depth in range(50, 128):
        details = json.loads("[" * depth + "]" * depth)
        record = {"text": f"deep {depth}", "external_id": f"deep-{depth}", "details": details}
        status, _, said = daemon.ask("POST", "/v1/users/ada/records", record)
        if status != 200 or b'"rejected":1' in said:
            break
        session.send(tool(f"deep-{depth}", "get", {"id": f"deep-{depth}"}))
        answer = session.answer(f"deep-{depth}") or {}
        hold("result" in answer and not answer["result"].get("isError"), f"details {depth} deep come back over MCP: {json.dumps(answer)[:200]}")
    session.end()
    for text in (b"", b"{", b"\0\0", b'{"jsonrpc":"2.0"', json.dumps(call(1, "tools/list")).encode()):
        session = Session(daemon)
        session.send(text)
        session.process.stdin.close()
        try:
            session.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            hold(False, f"a client that leaves after {text!r} is let go")
            session.process.kill()
        hold(daemon.lives(), "the daemon lives after a client that left")


def mcp_cases(daemon):
    headers = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")]
    for name, message, wanted in rpc_cases():
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        status, _, said = daemon.ask("POST", "/mcp?user=ada", body, headers)
        hold(200 <= status < 500, f"POST /mcp survives {name}: {status} {said[:200]!r}")
        if wanted == "result":
            hold(status == 200 and b'"result"' in said, f"POST /mcp answers {name}: {status} {said[:200]!r}")
        hold(daemon.lives(), f"the daemon lives after {name} over HTTP")
    ping = json.dumps(call(1, "ping")).encode()
    for name, changed, statuses in (
        ("no Accept", [("Content-Type", "application/json")], {200}),
        ("an Accept of neither", [("Content-Type", "application/json"), ("Accept", "text/html")], {406}),
        ("text/plain", [("Content-Type", "text/plain"), headers[1]], {415}),
        ("a page's form", [("Content-Type", "text/plain"), headers[1], ("Origin", "http://evil.example")], {403}),
        ("a version that is none", [*headers, ("MCP-Protocol-Version", "1999-01-01")], {400}),
        ("a session that is none", [*headers, ("Mcp-Session-Id", "x")], {200, 400, 404}),
        ("a user that is none", [*headers, ("X-Reprise-User", "..")], {200}),
    ):
        status, _, said = daemon.ask("POST", "/mcp", ping, changed)
        hold(status in statuses, f"POST /mcp with {name} gets {sorted(statuses)}: {status} {said[:200]!r}")
    for method in ("GET", "DELETE", "PUT"):
        status = daemon.ask(method, "/mcp", None, headers)[0]
        hold(status in (400, 404, 405), f"{method} /mcp is refused: {status}")


def mutated(rng, body):
    """Bytes of a valid request with a few of them changed, doubled, moved or left out."""
    body = bytearray(body)
    for _ in range(rng.randint(1, 4)):
        at, end = sorted(rng.randrange(len(body) + 1) for _ in range(2))
        what = rng.randrange(6)
        if what == 0 and body:
            body[rng.randrange(len(body))] = rng.randrange(256)
        elif what == 1:
            del body[at:end]
        elif what == 2:
            body[at:at] = body[at:end]
        elif what == 3:
            body[at:at] = rng.choice([b"null", b"-1", b"1e400", b"[]", b"{}", b'"', b"\\u0000", b"\\ud800", b"\0", b"\xff", b"99999999999999999999"])
        elif what == 4:
            body[at:at] = b"[" * rng.randrange(300)
        else:
            body[at:end] = rng.randbytes(end - at)
    return bytes(body)


ODD = [None, True, 0, -1, 0.5, 1e308, -0.0, 2**63, 2**64, "", " ", "\0", "\u202e", "a" * 70_000, "\U0001f984" * 300,
    "0000-01-01T00:00:00Z", "9999-12-31T23:59:60Z", "1970-01-01", [], {}, [[]], {"": {}}, ["a"] * 300, {"a": {"b": {"c": [1]}}}]


def changed(rng, value):
    """JSON like a valid one, with a value, a name or an item that nobody expects."""
    if isinstance(value, dict) and value and rng.randrange(5):
        name = rng.choice(list(value))
        other = {**value, name: changed(rng, value[name])}
        if rng.randrange(6) == 0:
            other[rng.choice(["x", "", "id", "user", "embedding", "__proto__"])] = rng.choice(ODD)
        if rng.randrange(10) == 0:
            del other[name]
        return other
    if isinstance(value, list) and value and rng.randrange(5):
        return [changed(rng, item) if rng.randrange(2) else item for item in value] * rng.choice([1, 1, 2, 40])
    return rng.choice(ODD)


def random_cases(daemon, seed, count):
    rng = random.Random(seed)
    own = "/v1/users/ada"
    requests = [
        ("POST", f"{own}/records", {"text": "the race", "tags": ["a"], "timestamp": "2026-01-01T00:00:00Z", "metadata": {"k": 1}, "details": {"a": [1]}, "quality_score": 0.5, "external_id": 7}),
        ("POST", f"{own}/records", [{"text": "a"}, {"text": "b", "kind": "finding"}]),
        ("POST", f"{own}/recall", {"query": "race", "top_k": 3, "kind": ["episode"], "tags": ["a"], "since": "2020-01-01", "as_of": "2027-01-01T00:00:00Z"}),
        ("POST", f"{own}/recall", {"query": "race", "budget": 100}),
        ("POST", f"{own}/outcome", {"query": "race", "quality": 0.5, "used": [], "failure_kind": "task"}),
        ("POST", f"{own}/forget", {"before": "1970-01-01T00:00:00Z", "reason": "old"}),
        ("POST", f"{own}/tools/learn", {"title": "t", "content": "c", "contexts": ["x"], "confidence": "high", "evidence": "tested"}),
        ("POST", f"{own}/tools/recall", {"query": "race", "limit": 2, "full": True}),
        ("POST", f"{own}/hooks/user-prompt", {"session": "s", "project": "p", "text": "why does it race", "command": "", "succeeded": None}),
        ("POST", "/mcp?user=ada", tool(1, "recall", {"query": "race", "limit": 2})),
        ("POST", "/mcp?user=ada", call("a", "tools/list", {})),
    ]
    headers = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")]
    session = Session(daemon)
    session.begin()
    before = None
    for number in range(count):
        method, path, body = rng.choice(requests)
        text = json.dumps(changed(rng, body)).encode() if rng.randrange(2) else mutated(rng, json.dumps(body).encode())
        if rng.randrange(8) == 0:
            noisy = mutated(rng, path.encode()).decode("latin-1").replace("\r", "").replace("\n", "").replace(" ", "")
            path = noisy if noisy.startswith("/") else "/" + noisy
        status, _, said = daemon.ask(method, path, text, headers, tcp=bool(number % 2))
        hold(status == 0 or status < 500, f"mutation {number} of seed {seed} is no failure: {status} {said[:200]!r} for {path!r} {text[:300]!r}")
        asked = tool(number, *rng.choice([("recall", {"query": "race", "limit": 3}), ("learn", {"title": "t", "content": "c", "tags": ["a"]}), ("related", {"id": "a", "depth": 2})]))
        sent = changed(rng, asked) if rng.randrange(2) else mutated(rng, json.dumps(asked).encode()).replace(b"\n", b" ")
        session.send(sent)
        if number % 200 == 199:
            session.lives(f"mutation {number}")
            hold(daemon.lives(), f"the daemon lives after mutation {number}")
        if number == count // 4:
            before = daemon.resident()
    after = daemon.resident()
    session.end()
    print(f"resident memory after a quarter of the mutations {before // 1024} MB, at the end {after // 1024} MB")


def main():
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 4_000
    daemon = Daemon(os.path.realpath(sys.argv[1]))
    parts = [
        ("requests that are refused", http_cases),
        ("other users", scope_cases),
        ("no requests", wire_cases),
        ("MCP on stdio", stdio_cases),
        ("MCP over HTTP", mcp_cases),
        ("mutations", lambda daemon: random_cases(daemon, seed, count)),
        ("readers that do not read", unread_cases),
        ("slow clients", slow_cases),
    ]
    for name, part in parts:
        began, checked = time.monotonic(), CASES
        part(daemon)
        hold(daemon.process.poll() is None, f"the daemon runs after {name}")
        print(f"{name}: {CASES - checked} checks in {time.monotonic() - began:.1f} s", flush=True)
    print(f"told to end: {daemon.end():.1f} s")
    print(f"{CASES} checks, {len(FAULTS)} do not hold")
    sys.exit(bool(FAULTS))


main()
