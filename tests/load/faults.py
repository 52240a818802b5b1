"""Twenty people publish and take back through two nodes before one database, while nodes are killed, the
database is killed, the network is cut on either side of a node, and the disk is full.

python3 tests/load/faults.py PATH/TO/reprise [PUBLICATIONS=1000] [ROUNDS=2]

Who gets no answer asks again at the other node, until there is one. Afterwards everything that was
acknowledged is looked for: what was published and stands must be there once in one version (else it is
lost, or double), what was taken back nowhere (else it is revived). After each fault, a publication
through every node says how long it took to heal. For the full disk the database is on a small file
system in memory, for which the script has to be root; otherwise that fault is left out and said. Prints
a line of JSON; exits with 1 where anything is lost, revived or double.
"""

import http.client
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time

from teams import WORDS, Database, served, token

PEOPLE = 20
DISK_MB = 320
# How long a fault lasts, and how long nobody waits for a node to heal.
LASTS, PATIENCE = 3.0, 120.0


class Way:
    """A way that can be cut: what connects to `door` reaches `target`, a port or the path of a socket."""

    def __init__(self, door, target):
        self.target, self.is_cut, self.held, self.lock = target, False, set(), threading.Lock()
        if door is None:
            self.door = socket.create_server(("127.0.0.1", 0), backlog=256)
        else:
            self.door = socket.socket(socket.AF_UNIX)
            self.door.bind(door)
            os.chmod(door, 0o777)
            self.door.listen(256)
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def address(self):
        return f"127.0.0.1:{self.door.getsockname()[1]}"

    def connect(self):
        if isinstance(self.target, int):
            return socket.create_connection(("127.0.0.1", self.target))
        reached = socket.socket(socket.AF_UNIX)
        reached.connect(self.target)
        return reached

    def accept(self):
        while True:
            client, _ = self.door.accept()
            try:
                if self.is_cut:
                    raise OSError("the way is cut")
                service = self.connect()
            except OSError:
                client.close()
                continue
            with self.lock:
                self.held |= {client, service}
            for pair in ((client, service), (service, client)):
                threading.Thread(target=self.pump, args=pair, daemon=True).start()

    def pump(self, source, target):
        try:
            while piece := source.recv(65536):
                target.sendall(piece)
        except OSError:
            pass
        for end in (source, target):
            with self.lock:
                self.held.discard(end)
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def cut(self):
        """Ends every connection, and takes none until `mend`."""
        self.is_cut = True
        with self.lock:
            for one in self.held:
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def mend(self):
        self.is_cut = False


class Node:
    """A service with a way before it and a way to its database."""

    def __init__(self, reprise, work, number, database):
        self.reprise, self.data = reprise, os.path.join(work, f"node{number}")
        sockets = os.path.join(work, f"way{number}")
        os.mkdir(sockets)
        self.behind = Way(f"{sockets}/.s.PGSQL.5432", f"{database.folder}/.s.PGSQL.5432")
        self.url = f"host={sockets} user=reprise dbname=knowledge"
        self.process, self.before = None, None
        self.start()

    def start(self):
        self.process, address = served(self.reprise, self.data, self.url)
        port = int(address.rsplit(":", 1)[1])
        if self.before is None:
            self.before = Way(None, port)
        self.before.target = port

    def kill(self):
        self.process.kill()
        self.process.wait()


def ask(address, secret, method, path, body=None):
    """Status and answer; 0 where there was none."""
    door = http.client.HTTPConnection(address, timeout=20)
    try:
        headers = {"authorization": f"Bearer {secret}", "content-type": "application/json"}
        door.request(method, path, body and json.dumps(body), headers)
        answer = door.getresponse()
        return answer.status, json.loads(answer.read() or b"null")
    except (OSError, http.client.HTTPException, ValueError):
        return 0, None
    finally:
        door.close()


def thing(origin, text):
    return {"origin": origin, "content_type": "document", "title": f"{origin} {text[:40]}",
            "summary": "", "content": f"{text} of {origin}", "tags": [], "access_policy": "public",
            "licence": ""}


class Person(threading.Thread):
    def __init__(self, name, secret, nodes, trial):
        super().__init__(daemon=True)
        self.name_, self.secret, self.nodes, self.trial = name, secret, nodes, trial
        self.dice = random.Random(name)
        # By origin, the ids of what stands, and of what was taken back.
        self.stands, self.back, self.refused, self.odd = {}, {}, 0, []

    def insist(self, method, path, body=None):
        """Asks at one node after the other until there is an answer that is not "try again"."""
        turn = self.dice.randrange(len(self.nodes))
        while True:
            node = self.nodes[turn % len(self.nodes)]
            status, said = ask(node.before.address, self.secret, method, path, body)
            if status in (200, 404):
                return status, said
            if status not in (0, 429, 503, 504):
                self.odd.append((method, path, status, said))
            turn, self.refused = turn + 1, self.refused + 1
            time.sleep(0.1)

    def run(self):
        number = 0
        while not self.trial.is_over.is_set():
            if self.stands and self.dice.random() < 0.15:
                origin = self.dice.choice(list(self.stands))
                # 404 says that an earlier try, whose answer was lost, has done it.
                self.insist("DELETE", f"/v1/publications/{self.stands[origin]}")
                self.back[origin] = self.stands.pop(origin)
            else:
                number += 1
                origin = f"{self.name_}-{number}"
                text = " ".join(self.dice.choices(WORDS, k=40))
                _, said = self.insist("POST", "/v1/publications", thing(origin, text))
                self.stands[origin] = said["id"]
            time.sleep(self.dice.random() * 0.4)


class Trial:
    def __init__(self):
        self.is_over = threading.Event()


def measure_heal(nodes, secret, number):
    """Seconds until a publication through every node is acknowledged."""
    began, slowest = time.monotonic(), 0.0
    for place, node in enumerate(nodes):
        body = thing(f"probe-{number}-{place}", f"probe {number} {place}")
        while ask(node.before.address, secret, "POST", "/v1/publications", body)[0] != 200:
            if time.monotonic() - began > PATIENCE:
                return PATIENCE
            time.sleep(0.05)
        slowest = max(slowest, time.monotonic() - began)
    return slowest


def fill_disk(folder):
    """Fills the file system to its last byte; returns the file to remove."""
    file = os.path.join(folder, "filler")
    with open(file, "wb", buffering=0) as filler:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    filler.write(b"x" * size)
            except OSError:
                pass
    return file


def run_fault(kind, dice, nodes, database, disk):
    node = dice.choice(nodes)
    if kind == "node killed":
        node.kill()
        time.sleep(LASTS)
        node.start()
    elif kind == "database killed":
        database.order("kill")
        time.sleep(LASTS)
        database.order("start")
    elif kind == "cut before a node":
        node.before.cut()
        time.sleep(LASTS)
        node.before.mend()
    elif kind == "cut before the database":
        for one in nodes:
            one.behind.cut()
        time.sleep(LASTS)
        for one in nodes:
            one.behind.mend()
    else:
        filler = fill_disk(disk)
        # Until the space that the database had put by is used up.
        time.sleep(4 * LASTS)
        os.remove(filler)
        # A server that could not write its log ends; its machine starts it again.
        if database_is_down(database):
            database.order("kill")
            database.order("start")


def database_is_down(database):
    with socket.socket(socket.AF_UNIX) as door:
        try:
            door.connect(os.path.join(database.folder, ".s.PGSQL.5432"))
            return False
        except OSError:
            return True


def look_after(person, nodes):
    """What is not as it was acknowledged."""
    own, page = [], [None] * 1000
    while len(page) == 1000:
        _, page = person.insist("GET", f"/v1/publications?limit=1000&offset={len(own)}")
        own += page
    listed = [one["origin"] for one in own]
    found = {
        "lost": [one for one in person.stands if one not in listed],
        "revived": [one for one in person.back if one in listed],
        "double": [one for one in set(listed) if listed.count(one) > 1],
    }
    found["double"] += [one["origin"] for one in own if str(one["version"]) != "1"]
    for node in nodes:
        for origin, known in [*person.stands.items(), *person.back.items()]:
            status, _ = ask(node.before.address, person.secret, "GET", f"/v1/publications/{known}")
            if origin in person.stands and status != 200:
                found["lost"].append(origin)
            if origin in person.back and status != 404:
                found["revived"].append(origin)
    return found


def main():
    reprise = os.path.realpath(sys.argv[1])
    wanted = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 2
    work = tempfile.mkdtemp(dir="/tmp")
    os.chmod(work, 0o755)
    disk = os.path.join(work, "disk")
    os.mkdir(disk)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m,mode=755", "tmpfs", disk]
    has_disk = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    database = Database(disk, "max_wal_size=64MB", "min_wal_size=32MB")
    kinds = ["node killed", "database killed", "cut before a node", "cut before the database"]
    kinds += ["disk full"] if has_disk else []
    nodes, dice, trial = [], random.Random(46), Trial()
    try:
        nodes = [Node(reprise, work, number, database) for number in range(2)]
        own = os.path.join(work, "own")
        secrets = [token(reprise, own, database.url, f"user{number}", "acme")
                   for number in range(PEOPLE + 1)]
        people = [Person(f"user{number}", secret, nodes, trial)
                  for number, secret in enumerate(secrets[:PEOPLE])]
        began = time.monotonic()
        for person in people:
            person.start()
        heals, number = {kind: [] for kind in kinds}, 0
        bites, again = dict.fromkeys(kinds, 0), lambda: sum(one.refused for one in people)
        count = lambda: sum(len(one.stands) + len(one.back) for one in people)
        while number < rounds * len(kinds) or count() < wanted:
            time.sleep(LASTS)
            kind = kinds[number % len(kinds)]
            before = again()
            run_fault(kind, dice, nodes, database, disk)
            bites[kind] += again() - before
            heals[kind].append(round(measure_heal(nodes, secrets[PEOPLE], number), 2))
            number += 1
        trial.is_over.set()
        for person in people:
            person.join(PATIENCE)
        seconds = time.monotonic() - began
        looked = [look_after(person, nodes) for person in people]
        found = {what: [one for each in looked for one in each[what]] for what in looked[0]}
        odd = [one for person in people for one in person.odd]
        print(json.dumps({
            "load": os.getloadavg(), "seconds": round(seconds), "faults": number,
            "acknowledged": count(), "taken_back": sum(len(one.back) for one in people),
            "asked_again": again(), "asked_again_during": bites,
            **{what: len(all) for what, all in found.items()},
            "refused_oddly": len(odd), "heal_s": heals,
            "left_out": [] if has_disk else ["disk full"],
            "still_asking": sum(one.is_alive() for one in people),
        }))
        for what, all in {**found, "refused oddly": odd}.items():
            if all:
                print(f"{what}: {all[:5]}", file=sys.stderr)
    finally:
        for node in nodes:
            node.process.kill()
            node.process.wait()
        database.close()
        if has_disk:
            subprocess.run(["umount", disk], check=False)
    sys.exit(1 if any(found.values()) else 0)


if __name__ == "__main__":
    main()
