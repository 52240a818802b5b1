#!/usr/bin/env python3
"""A hundred fresh secrets on every way in, while an embedding endpoint, a collector of traces and an
HTTP proxy of the environment listen: the two that the settings name are asked, and are sent no
secret, the proxy is not asked for what is on this machine, and without settings nobody is asked."""

import json
import random
import string
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

from abuse import Home

draw = random.Random(20)
LETTERS = string.ascii_letters + string.digits
DIMENSIONS = 8


def secret():
    return "ghp_" + "".join(draw.choice(LETTERS) for _ in range(36))


class Listener(ThreadingHTTPServer):
    """Keeps all that it is sent."""

    daemon_threads = True

    def __init__(self):
        heard = self.heard = []

        class Handler(BaseHTTPRequestHandler):
            def answer(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                heard.append(f"{self.requestline}\n{self.headers}".encode() + body)
                said = b"{}"
                if self.path.endswith("/embeddings"):
                    texts = json.loads(body)["input"]
                    vectors = [
                        {"index": n, "embedding": [len(text) % 7 + 1.0] * (DIMENSIONS - 1) + [n]}
                        for n, text in enumerate(texts)
                    ]
                    said = json.dumps({"data": vectors}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            do_GET = do_POST = do_CONNECT = answer

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"


def all_ways(home, secrets):
    """Says secrets wherever something can be said."""
    ada = "/v1/users/ada"

    def post(path, body, **more):
        status, said = home.local("POST", ada + path, body, **more)
        assert status < 500, said

    def get(path):
        home.local("GET", ada + path)

    while secrets:
        one, two, three, four, five, *_ = secrets
        post("/records", {"text": f"the deploy token is {one}", "tags": [one]})
        record = {"text": f"found {two}", "external_id": two, "session_id": two,
                  "metadata": {"note": two, two: "a name"}}
        post("/records", {"records": [record]}, headers={"Idempotency-Key": two}.items())
        post("/recall", {"query": f"who uses {three}?"})
        post("/tools/recall", {"query": three, "tags": [three]})
        post("/hooks/user-prompt", {"session": four, "text": f"please try {four} once more"})
        post("/hooks/post-tool", {"session": four, "command": f"curl -H 'X: {four}' x.example",
                                  "succeeded": False, "text": f"error: {four} is expired"})
        get(f"/records/{quote(five)}?session={quote(five)}")
        post("/forget", {"external_id": five})
        post(f"/tools/{quote(five)}", {five: five})
        del secrets[:5]


with Home() as home:
    proxy, endpoint, collector = Listener(), Listener(), Listener()
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]:
        home.env[name] = proxy.url
    home.models = str(home.folder / "models")
    # Without settings nobody is asked.
    home.env["ORT_DISABLE_TELEMETRY"] = "1"
    home.done("--no-model", "learn", "--user", "ada", "orders are in postgres")
    home.done("--no-model", "recall", "--user", "ada", "orders")
    home.run("--no-model", "doctor")
    assert not proxy.heard, f"without a setting: {proxy.heard[0]!r}"

    config = home.folder / ".config/reprise/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[memory]\nmodel = "{endpoint.url}/v1/embeddings#m"\n')
    daemon = home.serve("--otlp", collector.url, "--idle-exit", "600")
    secrets = [secret() for _ in range(100)]
    all_ways(home, list(secrets))
    home.done("serve", "stop")
    # Its last act is to send the spans that wait.
    daemon.wait(timeout=30)
    assert endpoint.heard or proxy.heard, "the endpoint was asked for nothing"
    assert collector.heard or proxy.heard, "the collector was told nothing"
    for name, listener in [("endpoint", endpoint), ("collector", collector), ("proxy", proxy)]:
        sent = b"\n".join(listener.heard)
        leaked = [one for one in secrets if one.encode() in sent]
        assert not leaked, f"the {name} was sent {len(leaked)} secrets"
    assert not proxy.heard, f"the proxy was asked: {proxy.heard[0][:200]!r}"
