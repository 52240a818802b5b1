#!/usr/bin/env python3
"""Two copies of a memory with 1,000 changes each: python3 tests/load/sync.py target/debug/reprise [base]"""
import json, os, random, shutil, subprocess, sys, tempfile, time

BINARY = os.path.abspath(sys.argv[1])
BASE = int(sys.argv[2]) if len(sys.argv) > 2 else 5_000
CHANGES = 1_000


def main():
    home = tempfile.mkdtemp()
    env = {"HOME": home, "PATH": os.environ["PATH"]}

    def run(machine, *words):
        command = [BINARY, "--no-model", "--data-dir", f"{home}/{machine}", *words]
        done = subprocess.run(command, env=env, cwd=home, capture_output=True, text=True)
        assert done.returncode == 0, (words, done.stderr[-1000:])
        return done.stdout

    def ingest(machine, lines):
        with open(f"{home}/lines.jsonl", "w") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        run(machine, "ingest", f"{home}/lines.jsonl", "--user", "ada", "--update")

    record = lambda name, text: {"external_id": name, "text": text, "source": "user_input", "kind": "episode",
                                 "session_id": "s", "timestamp": "2026-11-25T10:00:00Z", "metadata": {}}
    ingest("a", [record(f"base-{at}", f"what was known of number {at}") for at in range(BASE)])
    shutil.copytree(f"{home}/a", f"{home}/b")
    kept, gone = set(), set()
    for machine in "ab":
        random.seed(machine)
        lines = []
        for at in range(CHANGES):
            what = random.random()
            if what < 0.5:
                lines.append(record(f"{machine}-{at}", f"machine {machine} learned {at}"))
                kept.add(f"machine {machine} learned {at}")
            else:
                lines.append(record(f"base-{random.randrange(BASE // 2)}", f"machine {machine} corrected {at}"))
        ingest(machine, lines)
    for machine in "ab":
        listed = [json.loads(line) for line in run(machine, "export", "--user", "ada").splitlines()]
        own = [one for one in listed if one["text"].startswith("what was known") and int(one["text"].split()[-1]) >= BASE // 2]
        for one in random.sample(own, 20):
            run(machine, "forget", one["id"], "--user", "ada", "--json")
            gone.add(one["text"])
    files = [f"{home}/{machine}/ada/memory.rvf" for machine in "ab"]
    began = time.monotonic()
    first = json.loads(run("a", "branch", "sync", *files, "--json"))
    print(f"{first['records']} records, {first['forgotten']} forgotten, {len(first['conflicts'])} conflicts, "
          f"{time.monotonic() - began:.1f} s")
    again = json.loads(run("a", "branch", "sync", *reversed(files), "--json"))
    assert again["digest"] == first["digest"] and not any(file["changed"] for file in again["files"]), again
    exports = [run(machine, "export", "--user", "ada") for machine in "ab"]
    assert exports[0] == exports[1]
    texts = [json.loads(line)["text"] for line in exports[0].splitlines()]
    print(f"lost {len(kept - set(texts))}, revived {len(gone & set(texts))}, equal exports of {len(texts)}")
    assert kept <= set(texts) and not gone & set(texts)
    shutil.rmtree(home)


main()
