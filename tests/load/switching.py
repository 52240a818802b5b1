#!/usr/bin/env python3
"""A memory goes over to a model of another width under load, and is killed on the way.

    python3 tests/load/switching.py REPRISE [RECORDS [KILLS]]

Keeps RECORDS (2,000) notes with the built-in model (384 wide), then names an endpoint of this script
(512 wide, words and their beginnings hashed) and asks all the time while the daemon makes the vectors
anew; it is killed with SIGKILL KILLS (5) times at even steps of the way. Prints how many recalls a
running daemon refused, late ones included (0 allowed; a dev build has one a client and start at 10,000, while it opens
what was killed), and the worst R@10 on the way beside that of the old model (95 % of it allowed), and ends with 1 where
either does not hold.
"""
import hashlib
import http.client
import http.server
import json
import math
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

WIDTH, QUESTIONS, THREADS = 512, 150, 2
PARTS = "ba de ki lo mu na pe ri so tu va ze".split()
TOPICS = ("the gateway", "the ledger", "the importer", "the build", "the backup", "the search page", "the invoice job",
          "the release", "the login form", "the staging host", "the payment worker", "the report")
FACTS = ("needs {} before it starts", "was moved to {} last week", "fails when {} is missing", "is owned by {}",
         "keeps its logs under {}", "waits for {} at night", "was rewritten around {}", "must never touch {}")
ASKED = ("what does {} need {}", "where is {} with {}", "why does {} fail on {}", "who has {} and {}",
         "where are logs of {} like {}", "when does {} wait for {}", "what was {} rewritten around {}", "what about {} and {}")


def words(number):
    """The notes, the same ones each time: (id, text, question)."""
    draw = random.Random(1)
    name = lambda: "".join(draw.choice(PARTS) for _ in range(3))
    for at in range(number):
        topic, fact, one, other = TOPICS[at % 12], at // 12 % 8, name(), name()
        yield f"n{at}", f"{topic[0].upper()}{topic[1:]} {FACTS[fact].format(one)}, as {other} said.", ASKED[fact].format(topic, f"{one} {other}")


def vector(text):
    """Words and their beginnings, hashed into a unit vector."""
    made = [0.0] * WIDTH
    for word in "".join(one if one.isalnum() else " " for one in text.lower()).split():
        for part, weight in ((word, 1.0), (word[:4], 0.5)):
            digest = hashlib.blake2b(part.encode(), digest_size=8).digest()
            made[int.from_bytes(digest[:4], "little") % WIDTH] += weight if digest[4] & 1 else -weight
    norm = math.sqrt(sum(one * one for one in made)) or 1.0
    return [one / norm for one in made] if any(made) else [1.0] + made[1:]


class Endpoint(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        data = [{"index": at, "embedding": vector(text)} for at, text in enumerate(asked["input"])]
        body = json.dumps({"data": data}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

    def handle(self):
        # Who is killed hangs up.
        try:
            super().handle()
        except OSError:
            pass


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class House:
    def __init__(self, reprise, folder):
        self.reprise, self.folder, self.daemon, self.model = reprise, folder, None, None
        self.socket, self.said = "", set()
        run = folder / "run"
        run.mkdir(mode=0o700)
        self.env = {**os.environ, "XDG_RUNTIME_DIR": str(run), "XDG_CONFIG_HOME": str(folder)}

    def command(self, *args, check=True):
        config = self.folder / "config.toml"
        config.write_text(f'[memory]\nmodel = "{self.model}"\n' if self.model else "")
        line = [self.reprise, "--data-dir", str(self.folder / "data"), "--config", str(config), *args]
        return subprocess.run(line, env=self.env, check=check, capture_output=True, text=True).stdout

    def serve(self):
        line = [self.reprise, "--data-dir", str(self.folder / "data"), "--config", str(self.folder / "config.toml"), "serve"]
        self.daemon = subprocess.Popen(line, env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(600):
            said = self.command("serve", "status", "--json", check=False)
            if said.startswith("{") and (place := json.loads(said).get("socket")):
                self.socket = place
                return
            time.sleep(0.1)
        sys.exit("the daemon does not answer")

    def kill(self):
        self.daemon.send_signal(signal.SIGKILL)
        self.daemon.wait()

    def recall(self, question):
        """The ids of the first ten, and the status; nobody where no daemon runs."""
        try:
            way = Unix(self.socket)
            way.request("POST", "/v1/users/ada/recall", json.dumps({"query": question, "limit": 10}), {"content-type": "application/json"})
            answer = way.getresponse()
            body = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            return None, None
        if answer.status != 200:
            self.said.add(f"{answer.status}: {body.get('detail', '')[:160]}")
        return answer.status, [one.get("external_id") for one in body.get("results", [])]

    def spaces(self):
        return {one["width"]: one["records"] for one in json.loads(self.command("stats", "--user", "ada", "--json"))["spaces"]}


def main():
    reprise, count, kills = sys.argv[1], int((sys.argv[2:] or ["2000"])[0]), int((sys.argv[3:] or ["5"])[0])
    notes = list(words(count))
    asked = random.Random(2).sample(notes, min(QUESTIONS, count))
    with tempfile.TemporaryDirectory() as folder:
        house = House(os.path.abspath(reprise), pathlib.Path(folder))
        house.command("--version")
        house.serve()
        lines = house.folder / "notes.jsonl"
        lines.write_text("".join(json.dumps({"external_id": name, "text": text}) + "\n" for name, text, _ in notes))
        began = time.time()
        house.command("ingest", "--user", "ada", "--verbatim", str(lines))
        print(f"{count} records, 384 wide, kept in {time.time() - began:.0f} s")
        share = lambda found: 100 * sum(found) / len(found)
        before = share([name in (house.recall(question)[1] or []) for name, _, question in asked])
        print(f"R@10 of the old model    {before:.1f} % of {len(asked)} questions")

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        house.command("serve", "stop")
        house.daemon.wait()
        house.model = f"http://127.0.0.1:{server.server_port}/v1/embeddings#hashed"
        house.command("--version")
        refused, answered, absent, rounds, done = [0], [0], [0], [], threading.Event()
        lock = threading.Lock()

        def load():
            while not done.is_set():
                found = []
                for name, _, question in asked:
                    status, ids = house.recall(question)
                    while status is None and not done.is_set():
                        absent[0] += 1
                        time.sleep(0.05)
                        status, ids = house.recall(question)
                    if status is None:
                        return
                    with lock:
                        answered[0] += 1
                        refused[0] += status != 200
                    # What came too late says nothing of what is found.
                    if status == 200:
                        found.append(name in ids)
                with lock:
                    rounds.append(share(found or [False]))

        house.serve()
        threads = [threading.Thread(target=load) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        began, killed = time.time(), 0
        while (made := house.spaces().get(WIDTH, 0)) < count:
            if killed < kills and made >= count * (killed + 1) / (kills + 1):
                house.kill()
                killed += 1
                print(f"killed at {made} of {count}", flush=True)
                house.serve()
            time.sleep(0.2)
        took = time.time() - began
        while len(rounds) < 2 * THREADS:
            time.sleep(0.2)
        done.set()
        for thread in threads:
            thread.join()
        last = house.spaces()
        house.command("serve", "stop")
        house.daemon.wait()
    print(f"made anew in             {took:.0f} s, killed {killed} times, spaces now {last}")
    print(f"recalls on the way       {answered[0]}, refused {refused[0]}; {absent[0]} looks while no daemon ran")
    for one in sorted(house.said):
        print(f"  refused with           {one}")
    print(f"R@10 on the way          {min(rounds):.1f} % at worst, {rounds[-1]:.1f} % at the end, of {len(rounds)} rounds")
    sys.exit(int(refused[0] > 0 or min(rounds) < 0.95 * before or killed < kills))


if __name__ == "__main__":
    main()
