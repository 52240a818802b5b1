"""Twenty people and fifty agents before one service, PostgreSQL killed again and again: what was
acknowledged is there afterwards, and nobody has seen what is another organisation's.

python3 tests/load/teams.py PATH/TO/reprise [SECONDS=300] [KILLS=5]

People publish (public and for their organisation), take back, rate; agents ask and report. Prints a
line of JSON; exits with 1 where a publication that was acknowledged is lost, one that was taken back
is found, or an answer holds a thing of an organisation that the asker is no member of.
"""

import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
PEOPLE, AGENTS, ORGS = 20, 50, ["acme", "beta", "gamma", "delta"]
WORDS = "token refresh race deploy image tag cache index lock test build merge branch queue".split()


class Asker(threading.Thread):
    """One who asks the service until the end, and keeps what it was told."""

    def __init__(self, url, token, org, end, seed):
        super().__init__(daemon=True)
        self.address, self.token, self.org, self.end = url, token, org, end
        self.dice = random.Random(seed)
        self.took, self.failed, self.asked, self.foreign = [], 0, 0, []

    def ask(self, method, path, body=None):
        self.asked += 1
        began = time.monotonic()
        try:
            door = http.client.HTTPConnection(self.address, timeout=60)
            headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
            door.request(method, path, body and json.dumps(body), headers)
            answer = door.getresponse()
            said, status = json.loads(answer.read() or b"null"), answer.status
            door.close()
        except (OSError, http.client.HTTPException, ValueError):
            said, status = None, 0
        if status == 200:
            self.took.append((path.split("?")[0], time.monotonic() - began))
        else:
            self.failed += 1
            time.sleep(0.2)
        return status, said

    def look(self, text):
        status, said = self.ask("POST", "/v1/query", {"text": text, "top_k": 10})
        if status != 200:
            return []
        for hit in said["hits"]:
            if hit["record"].get("org_id") not in (None, self.org):
                self.foreign.append(hit["record"]["id"])
        return said["hits"]


class Person(Asker):
    def __init__(self, name, *others):
        super().__init__(*others)
        self.user, self.number = name, 0
        # By origin: the id of what was acknowledged, or None where it was taken back.
        self.stands, self.unsure = {}, set()

    def run(self):
        while time.monotonic() < self.end:
            roll = self.dice.random()
            if roll < 0.6 or not self.stands:
                self.publish()
            elif roll < 0.7:
                self.take_back()
            else:
                self.look(" ".join(self.dice.choices(WORDS, k=4)))
            time.sleep(self.dice.random() * 0.6)

    def publish(self):
        self.number += 1
        origin, policy = f"{self.user}-{self.number}", self.dice.choice(["public", "org"])
        text = " ".join(self.dice.choices(WORDS, k=30))
        thing = {
            "origin": origin, "content_type": "document", "title": f"{origin} {text[:40]}",
            "summary": "", "content": f"{text} of {self.org}", "tags": [],
            "access_policy": policy, "licence": "",
        }
        status, said = self.ask("POST", "/v1/publications", thing)
        if status == 200:
            self.stands[origin] = said["id"]
        elif status not in (429,):
            # It may have happened: who asks again is told, and here nobody does.
            self.unsure.add(origin)

    def take_back(self):
        known = [origin for origin in self.stands if self.stands[origin]]
        if not known:
            return
        origin = self.dice.choice(known)
        status, _ = self.ask("DELETE", f"/v1/publications/{self.stands[origin]}")
        if status == 200:
            self.stands[origin] = None
        elif status != 429:
            self.unsure.add(origin)


class Agent(Asker):
    def run(self):
        while time.monotonic() < self.end:
            hits = self.look(" ".join(self.dice.choices(WORDS, k=5)))
            if hits and self.dice.random() < 0.3:
                said = [{"id": hit["record"]["id"], "score": 0.8, "count": 1} for hit in hits[:2]]
                self.ask("POST", "/v1/outcomes", {"reports": said})
            time.sleep(self.dice.random() * 1.2)


class Database:
    def __init__(self, work):
        keeper = os.path.join(HERE, "..", "kit", "postgres.py")
        self.folder = os.path.join(work, "pg")
        cache = os.path.join(tempfile.gettempdir(), "reprise-postgres")
        command = [sys.executable, keeper, cache, self.folder, "synchronous_commit=on"]
        self.keeper = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.hears("ready")
        self.order("sql postgres CREATE ROLE reprise LOGIN CREATEROLE")
        self.order("sql postgres CREATE DATABASE knowledge OWNER reprise")
        self.order("sql knowledge CREATE EXTENSION vector")
        self.url = f"host={self.folder} user=reprise dbname=knowledge"

    def hears(self, wanted):
        said = self.keeper.stdout.readline().strip()
        if said != wanted:
            sys.exit(f"the database said {said!r} instead of {wanted!r}")

    def order(self, order):
        self.keeper.stdin.write(order + "\n")
        self.keeper.stdin.flush()
        self.hears("done")

    def close(self):
        self.keeper.stdin.close()
        self.keeper.wait()


def served(reprise, data, url):
    command = [reprise, "--data-dir", data, "--no-model", "global", "serve", "--http", "127.0.0.1:0",
               "--database-url", url, "--requests-per-second", "10000"]
    service = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    for line in service.stderr:
        found = [word for word in line.split() if word.startswith("http://")]
        if found:
            threading.Thread(target=lambda: [None for _ in service.stderr], daemon=True).start()
            return service, urllib.parse.urlparse(found[0]).netloc
    sys.exit("the service did not start")


def token(reprise, data, url, name, org):
    command = [reprise, "--data-dir", data, "--no-model", "--json", "global", "token", "add", name,
               "--user", name, "--org", org, "--database-url", url]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(made.stdout)["token"]


def share(took, part):
    took = sorted(took)
    return round(took[min(int(len(took) * part), len(took) - 1)] * 1e3, 1) if took else None


def main():
    reprise = os.path.realpath(sys.argv[1])
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    kills = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    work = tempfile.mkdtemp(dir="/tmp")
    os.chmod(work, 0o755)
    database = Database(work)
    data = os.path.join(work, "data")
    service, address = served(reprise, data, database.url)
    callers = []
    for number in range(PEOPLE + AGENTS):
        org = ORGS[number % len(ORGS)]
        name = f"user{number}"
        callers.append((name, org, token(reprise, data, database.url, name, org)))
    end = time.monotonic() + seconds
    askers = []
    for number, (name, org, secret) in enumerate(callers):
        others = (address, secret, org, end, number)
        askers.append(Person(name, *others) if number < PEOPLE else Agent(*others))
    for asker in askers:
        asker.start()
    for kill in range(kills):
        time.sleep(max(0, end - time.monotonic()) / (kills - kill + 1))
        database.order("kill")
        time.sleep(1)
        database.order("start")
    for asker in askers:
        asker.join(seconds + 120)
    lost, revived = [], []
    people = [asker for asker in askers if isinstance(asker, Person)]
    for person in people:
        person.end = time.monotonic() + 60
        for origin, thing in person.stands.items():
            if origin in person.unsure:
                continue
            status = 0
            while status in (0, 429, 503) and time.monotonic() < person.end:
                path = f"/v1/publications/{thing}"
                status, _ = person.ask("GET", path) if thing else (404, None)
            if thing and status != 200:
                lost.append((origin, status))
        status, own = person.ask("GET", "/v1/publications?limit=1000")
        back = {origin for origin, thing in person.stands.items() if thing is None}
        for record in own or []:
            if record["origin"] in back - person.unsure:
                revived.append(record["origin"])
    took = [took for asker in askers for path, took in asker.took if path == "/v1/query"]
    foreign = [one for asker in askers for one in asker.foreign]
    print(json.dumps({
        "seconds": seconds, "kills": kills, "people": PEOPLE, "agents": AGENTS,
        "requests": sum(asker.asked for asker in askers),
        "failed": sum(asker.failed for asker in askers),
        "acknowledged": sum(len(person.stands) for person in people),
        "unsure": sum(len(person.unsure) for person in people),
        "lost": len(lost), "revived": len(revived), "seen_by_anyone_outside": len(foreign),
        "query_ms_p50": share(took, 0.5), "query_ms_p99": share(took, 0.99),
    }))
    service.terminate()
    service.wait()
    database.close()
    for one in (lost, revived, foreign):
        if one:
            print(one[:10], file=sys.stderr)
    sys.exit(1 if lost or revived or foreign else 0)


if __name__ == "__main__":
    main()
