"""Twenty people and fifty agents before one service, PostgreSQL killed again and again: what was
acknowledged is there afterwards, and nobody has seen what is another organisation's.

python3 tests/load/teams.py PATH/TO/reprise [SECONDS=300] [KILLS=5]

People publish (public and for their organisation), take back, rate and ask; agents ask and report.
Afterwards each thing that was acknowledged is asked for by its id and looked for among its author's
own, each that was taken back must be in neither, each rating must be told to who gave it, and of the
things of organisations others ask by their ids. Prints a line of JSON; exits with 1 where something
acknowledged is lost, something taken back is found, anybody saw a thing of an organisation that he is
no member of, or not all of it could be looked at.
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
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
PEOPLE, AGENTS, ORGS = 20, 50, ["acme", "beta", "gamma", "delta"]
# How long one question of the look afterwards is asked again, and how many things of each author a
# stranger asks for.
PATIENCE, STRANGERS = 120, 200
WORDS = "token refresh race deploy image tag cache index lock test build merge branch queue".split()


class Asker(threading.Thread):
    """One who asks the service until the end, and keeps what it was told."""

    def __init__(self, url, token, org, end, seed):
        super().__init__(daemon=True)
        self.address, self.token, self.org, self.end = url, token, org, end
        self.dice = random.Random(seed)
        self.took, self.failed, self.asked, self.foreign = [], 0, 0, []
        # Kept open for the look afterwards alone: an agent's program opens one for each question.
        self.door, self.keeps = None, False

    def ask(self, method, path, body=None):
        self.asked += 1
        began = time.monotonic()
        door, self.door = self.door, None
        try:
            door = door or http.client.HTTPConnection(self.address, timeout=60)
            headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
            door.request(method, path, body and json.dumps(body), headers)
            answer = door.getresponse()
            said, status = json.loads(answer.read() or b"null"), answer.status
            if self.keeps:
                self.door = door
            else:
                door.close()
        except (OSError, http.client.HTTPException, ValueError):
            said, status = None, 0
        if status == 200:
            self.took.append((path.split("?")[0], time.monotonic() - began))
        elif not self.keeps:
            self.failed += 1
            time.sleep(0.2)
        return status, said

    def told(self, path):
        """What is said in the end, once the service says more than that it cannot."""
        until = time.monotonic() + PATIENCE
        while True:
            status, said = self.ask("GET", path)
            if status in (200, 404) or time.monotonic() > until:
                return status, said
            time.sleep(0.2)

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
        # By origin, the ids of what was acknowledged and stands, and of what was taken back; whose
        # fate is not known is in neither. By id, what was given to others' things.
        self.stands, self.back, self.unsure, self.rated = {}, {}, {}, {}
        # Those for the organisation alone.
        self.closed = set()

    def run(self):
        while time.monotonic() < self.end:
            roll = self.dice.random()
            if roll < 0.6 or not self.stands:
                self.publish()
            elif roll < 0.7:
                self.take_back()
            elif roll < 0.8:
                self.rate()
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
            if policy == "org":
                self.closed.add(said["id"])
        elif status == 0 or status >= 500:
            # It may have happened: who asks again is told, and here nobody does.
            self.unsure[origin] = None

    def take_back(self):
        origin = self.dice.choice(list(self.stands))
        thing = self.stands[origin]
        status, _ = self.ask("DELETE", f"/v1/publications/{thing}")
        if status == 200:
            self.back[origin] = self.stands.pop(origin)
        elif status == 0 or status >= 500:
            self.unsure[origin] = self.stands.pop(origin)

    def rate(self):
        hits = [hit["record"]["id"] for hit in self.look(" ".join(self.dice.choices(WORDS, k=4)))
                if hit["record"]["author_id"] != self.user]
        if not hits:
            return
        thing, rating = self.dice.choice(hits), round(self.dice.random(), 2)
        status, _ = self.ask("PUT", f"/v1/publications/{thing}/rating", {"rating": rating})
        if status == 200:
            self.rated[thing] = rating
        elif status == 0 or status >= 500:
            # Either of the two may stand.
            self.rated[thing] = None

    def looked_after(self, gone):
        """What is not as it was acknowledged, where `gone` are the things that may stand no more."""
        found = {"lost": [], "revived": [], "ratings_lost": [], "not_looked_at": []}
        for origin, thing in [*self.stands.items(), *self.back.items()]:
            status, _ = self.told(f"/v1/publications/{thing}")
            if status not in (200, 404):
                found["not_looked_at"].append((origin, status))
            elif (status == 200) != (origin in self.stands):
                found["lost" if origin in self.stands else "revived"].append((origin, status))
        own, page = [], [None] * 1000
        while len(page) == 1000:
            status, page = self.told(f"/v1/publications?limit=1000&offset={len(own)}")
            if status != 200:
                found["not_looked_at"].append((f"own from {len(own)}", status))
                return found
            own += page
        listed = {record["origin"] for record in own}
        found["lost"] += [(origin, "not listed") for origin in self.stands.keys() - listed]
        found["revived"] += [(origin, "listed") for origin in self.back.keys() & listed]
        status, lines = self.told("/v1/person")
        if status != 200:
            found["not_looked_at"].append(("what is told of the person", status))
            return found
        rated = {line["id"]: line["rating"] for line in lines if line["line"] == "rated"}
        for thing, rating in self.rated.items():
            if thing not in gone and rating is not None and abs(rated.get(thing, 9) - rating) > 1e-5:
                found["ratings_lost"].append((thing, rating, rated.get(thing)))
        return found

    def strange(self, other):
        """Which things of another organisation, by their ids, this person is given."""
        closed = [thing for thing in other.stands.values() if thing in other.closed]
        asked = self.dice.sample(closed, min(len(closed), STRANGERS))
        return [thing for thing in asked if self.told(f"/v1/publications/{thing}")[0] == 200]


class Agent(Asker):
    def run(self):
        while time.monotonic() < self.end:
            hits = self.look(" ".join(self.dice.choices(WORDS, k=5)))
            if hits and self.dice.random() < 0.3:
                said = [{"id": hit["record"]["id"], "score": 0.8, "count": 1} for hit in hits[:2]]
                self.ask("POST", "/v1/outcomes", {"reports": said})
            time.sleep(self.dice.random() * 1.2)


class Database:
    def __init__(self, work, *settings):
        keeper = os.path.join(HERE, "..", "kit", "postgres.py")
        self.folder = os.path.join(work, "pg")
        cache = os.path.join(tempfile.gettempdir(), "reprise-postgres")
        command = [sys.executable, keeper, cache, self.folder, "synchronous_commit=on", *settings]
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


def served(reprise, data, url, models=False):
    model = [] if models else ["--no-model"]
    command = [reprise, "--data-dir", data, *model, "global", "serve", "--http", "127.0.0.1:0",
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
    people = [asker for asker in askers if isinstance(asker, Person)]
    gone = {thing for one in people for kept in (one.back, one.unsure) for thing in kept.values()}
    requests = sum(asker.asked for asker in askers)
    for person in people:
        person.keeps = True
    # The neighbour is of another organisation.
    pairs = list(zip(people, people[1:] + people[:1]))
    with ThreadPoolExecutor(8) as pool:
        looked = list(pool.map(lambda person: person.looked_after(gone), people))
        strange = list(pool.map(lambda pair: pair[1].strange(pair[0]), pairs))
    found = {what: [one for each in looked for one in each[what]] for what in looked[0]}
    foreign = [one for asker in askers for one in asker.foreign]
    foreign += [thing for things in strange for thing in things]
    took = [took for asker in askers for path, took in asker.took if path == "/v1/query"]
    total = lambda number: sum(number(person) for person in people)
    print(json.dumps({
        "seconds": seconds, "kills": kills, "people": PEOPLE, "agents": AGENTS,
        "requests": requests,
        "failed": sum(asker.failed for asker in askers),
        "acknowledged": total(lambda person: len(person.stands) + len(person.back)),
        "taken_back": total(lambda person: len(person.back)),
        "rated": total(lambda person: len(person.rated)),
        "unsure": total(lambda person: len(person.unsure)),
        **{what: len(all) for what, all in found.items()},
        "seen_by_anyone_outside": len(foreign),
        "query_ms_p50": share(took, 0.5), "query_ms_p99": share(took, 0.99),
    }))
    service.terminate()
    service.wait()
    database.close()
    for what, all in {**found, "seen by anyone outside": foreign}.items():
        if all:
            print(f"{what}: {all[:10]}", file=sys.stderr)
    sys.exit(1 if foreign or any(found.values()) else 0)


if __name__ == "__main__":
    main()
