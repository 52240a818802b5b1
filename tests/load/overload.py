"""Twenty times as many questions as a service can answer: how long the accepted ones take, and how much
is worked for callers who have left.

python3 tests/load/overload.py PATH/TO/reprise [SECONDS=300] [THINGS=2000] [TIMES=20]

First as many callers as processors ask one question after the other, for a tenth of the time: that is
the capacity. Then questions come at an even pace of TIMES that, each from a caller of its own who waits
2 s (and says so) and leaves. What was answered is told by the callers and by the log of the service: the
difference is whole answers for nobody. Processor time of service and database beyond what the answers
cost at capacity is what refusals and abandoned questions cost. Prints a line of JSON.
"""

import asyncio
import glob
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from teams import WORDS, Database, share, token

WAITS = 2.0
# Callers at once beyond which one more is counted as not made: this program is not to be the limit.
OPEN_MAX = 1000


def served(reprise, data, url, log):
    command = [reprise, "--data-dir", data, "--no-model", "global", "serve", "--http", "127.0.0.1:0",
               "--database-url", url, "--requests-per-second", "100000", "--access-log", log]
    service = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    for line in service.stderr:
        found = [word for word in line.split() if word.startswith("http://")]
        if found:
            threading.Thread(target=lambda: [None for _ in service.stderr], daemon=True).start()
            return service, urllib.parse.urlparse(found[0]).netloc
    sys.exit("the service did not start")


def processor_seconds(pids):
    """User and system time of these processes, and of all that they have waited for."""
    ticks = 0
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                ticks += sum(int(field) for field in stat.read().rpartition(")")[2].split()[11:15])
        except OSError:
            pass
    return ticks / os.sysconf("SC_CLK_TCK")


def family(pid):
    """A process with all that came of it."""
    found = subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True, check=False)
    return [pid, *[one for child in found.stdout.split() for one in family(int(child))]]


class Doors:
    """Open connections that wait for the next question, as a proxy before the service has them."""

    def __init__(self, address, secret):
        self.address, self.secret, self.idle = address, secret, []

    async def open(self):
        if self.idle:
            return self.idle.pop()
        host, port = self.address.rsplit(":", 1)
        return await asyncio.open_connection(host, int(port))

    async def ask(self, number, told):
        """Asks once and leaves after `WAITS`; what came is added to `told`."""
        words = [WORDS[(number * step + step) % len(WORDS)] for step in (1, 3, 5, 7)]
        body = json.dumps({"text": " ".join(words), "top_k": 10})
        request = (f"POST /v1/query HTTP/1.1\r\nhost: {self.address}\r\nauthorization: Bearer "
                   f"{self.secret}\r\ncontent-type: application/json\r\nx-reprise-deadline-ms: "
                   f"{WAITS * 1e3:.0f}\r\ncontent-length: {len(body)}\r\n\r\n{body}")
        began, door, status = time.monotonic(), None, "left"
        try:
            async with asyncio.timeout(WAITS):
                door = await self.open()
                reader, writer = door
                writer.write(request.encode())
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = head.lower().partition("content-length:")[2].split("\r\n")[0]
                await reader.readexactly(int(length))
                status = head[9:12]
            self.idle.append(door)
            door = None
        except TimeoutError:
            pass
        except (OSError, EOFError):
            status = "closed"
        finally:
            if door:
                door[1].transport.abort()
        told.append((status, time.monotonic() - began))


async def capacity(address, secret, seconds):
    doors = Doors(address, secret)
    told, end = [], time.monotonic() + seconds

    async def one(first):
        number = first
        while time.monotonic() < end:
            await doors.ask(number, told)
            number += 7

    began = time.monotonic()
    await asyncio.gather(*[one(first) for first in range(os.cpu_count() or 2)])
    return told, time.monotonic() - began


async def overload(address, secret, pace, seconds):
    doors, told, tasks, skipped, number = Doors(address, secret), [], set(), 0, 0
    began = time.monotonic()
    while (now := time.monotonic() - began) < seconds:
        due = int(now * pace)
        while number < due:
            number += 1
            if len(tasks) >= OPEN_MAX:
                skipped += 1
                continue
            task = asyncio.create_task(doors.ask(number, told))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.sleep(0.005)
    await asyncio.gather(*tasks)
    return told, skipped


def logged(log, after):
    """The lines of the log from a byte on, by status: milliseconds in the service; and where it ends."""
    found = {}
    with open(log, encoding="utf-8") as lines:
        lines.seek(after)
        for line in lines.read().splitlines():
            told = json.loads(line)
            found.setdefault(told["status"], []).append(told["ms"] / 1e3)
        return found, lines.tell()


def main():
    reprise = os.path.realpath(sys.argv[1])
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    things = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
    times = float(sys.argv[4]) if len(sys.argv) > 4 else 20
    work = tempfile.mkdtemp(dir="/tmp")
    os.chmod(work, 0o755)
    database, data = Database(work), os.path.join(work, "data")
    os.makedirs(data)
    lines = os.path.join(work, "things.jsonl")
    with open(lines, "w", encoding="utf-8") as out:
        for number in range(things):
            words = [WORDS[(number * step + step) % len(WORDS)] for step in range(1, 40)]
            thing = {"origin": f"o{number}", "content_type": "document", "title": f"Thing {number}",
                     "summary": "", "content": f"{' '.join(words)} {number}", "tags": [],
                     "access_policy": "public", "licence": ""}
            out.write(json.dumps(thing) + "\n")
    subprocess.run([reprise, "--data-dir", data, "--no-model", "global", "import", lines, "--user",
                    "ann", "--database-url", database.url], check=True, capture_output=True)
    log = os.path.join(work, "access.jsonl")
    service, address = served(reprise, data, database.url, log)
    secret = token(reprise, data, database.url, "bob", "acme")
    asyncio.run(capacity(address, secret, 3))

    with open(glob.glob(f"{database.folder}/**/postmaster.pid", recursive=True)[0], encoding="utf-8") as pid:
        postmaster = int(pid.readline())

    def spent():
        return processor_seconds(family(service.pid) + family(postmaster))

    before = spent()
    quiet, took = asyncio.run(capacity(address, secret, seconds / 10))
    alone = [one for status, one in quiet if status == "200"]
    cost, rate = (spent() - before) / len(alone), len(alone) / took
    _, end = logged(log, 0)
    before = spent()
    told, skipped = asyncio.run(overload(address, secret, rate * times, seconds))
    time.sleep(3)
    total = spent() - before
    served_by, _ = logged(log, end)
    whole = len(served_by.get(200, []))
    counts = {}
    for status, _ in told:
        counts[status] = counts.get(status, 0) + 1
    accepted = [one for status, one in told if status == "200"]
    refused = [one for status, one in told if status == "429"]
    service.terminate()
    service.wait()
    database.close()
    nobody = whole - len(accepted)
    print(json.dumps({
        "load": os.getloadavg(), "capacity_per_s": round(rate, 1),
        "alone_ms": [share(alone, .5), share(alone, .99)],
        "asked": len(told), "skipped": skipped, "counts": counts,
        "accepted_ms": [share(accepted, .5), share(accepted, .99)],
        "in_service": {status: [len(took), share(took, .5), share(took, .99)]
                       for status, took in served_by.items()},
        "accepted_per_s": round(len(accepted) / seconds, 1),
        "refused_ms": [share(refused, .5), share(refused, .99)],
        "answers_for_nobody": nobody, "answers_for_nobody_share": round(nobody / max(whole, 1), 4),
        "cpu_s": round(total, 1), "cpu_s_of_accepted": round(cost * len(accepted), 1),
        "cpu_ms_a_question": round(cost * 1e3, 1),
    }))


if __name__ == "__main__":
    main()
