#!/usr/bin/env python3
"""Kinds of stores that no public set has: a person's notes, tickets, a tool's output.

    kinds.py REPRISE [--no-model] [--keep FOLDER]

Each kind is generated (seeded): facts that differ in what they are about, told in that kind's
manner among records that look alike, and a question for each that names the thing in other words.
Printed for each kind are R@1/R@5/R@10 of the one record that answers, what the first result was
said to be and how often it was right, and how often the answer was "nothing": of its own questions,
of those over a right first result, and of the other kinds' questions put to it. --keep leaves
records.jsonl, queries.jsonl and gold.jsonl of each kind, the form of `reprise-lab eval jsonl` and `eval
offtopic`.
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

# What is told, and how somebody who does not have the words asks for it.
HABITS = [
    ("the sourdough starter is fed rye at nine in the evening",
     "when does the bread culture get flour?"),
    ("the boiler loses pressure when the valve under the stairs is open",
     "why does the heating drop its bar?"),
    ("grandmother's recipe wants quark, not ricotta", "which cheese goes into the family cake?"),
    ("the bicycle's rear brake squeals after rain", "what makes noise on the bike when wet?"),
    ("the tax office accepts receipts as photographs",
     "can I hand in pictures of bills for the return?"),
    ("the piano tuner comes each April", "which month is the instrument serviced?"),
    ("the neighbour keeps a spare key in the shed", "who could let me in if I am locked out?"),
    ("aspirin made the rash worse, paracetamol did not", "which painkiller am I allergic to?"),
    ("the lease ends two years after the last signature", "until when may we stay in the flat?"),
    ("the tomatoes want shade after three o'clock",
     "how much sun do the plants in the garden stand?"),
    ("the router restarts itself when the microwave runs",
     "why does the wireless drop in the kitchen?"),
    ("the school closes early on the last Friday of a term",
     "when do I have to fetch the children sooner?"),
]
FAULTS = [
    ("export", "dates shift by a day for users west of Greenwich",
     "calendar entries are off in America after downloading"),
    ("billing", "an invoice is sent twice when the card is declined once",
     "customers get a second bill after a refused payment"),
    ("login", "the session ends after the password manager fills the form",
     "people are thrown out right after signing in"),
    ("search", "umlauts are not folded so that names are not found",
     "German surnames return no hits"),
    ("upload", "files above two gigabytes stop at ninety-nine percent",
     "large attachments never finish"),
    ("mobile", "the keyboard covers the send button on small screens",
     "cannot reach the control to post on a phone"),
    ("report", "the chart counts deleted projects", "figures include things that were removed"),
    ("import", "a semicolon in a column breaks the row",
     "spreadsheet lines are cut in the wrong place"),
    ("notification", "mails go out at the server's midnight",
     "alerts arrive in the middle of the night"),
    ("permission", "a guest sees the names of private boards",
     "outsiders can read titles they should not"),
    ("sync", "two edits within a second lose the first",
     "a change disappears when both type at once"),
    ("print", "the page is cut at the right margin in landscape",
     "text is missing at the edge on paper"),
]
RUNS = [
    ("cargo test -p parser", "error[E0502]: cannot borrow `input` as mutable",
     "which test run broke on borrowing in the parser?"),
    ("npm run build", "Module not found: Can't resolve './theme'",
     "what failed because a style file was missing?"),
    ("pytest tests/api", "AssertionError: 429 != 200", "where did we run into the rate limit?"),
    ("docker compose up", "bind: address already in use 0.0.0.0:5432",
     "which start collided with the database port?"),
    ("terraform plan", "Error: Invalid index, the list has no elements",
     "when did the infrastructure script read an empty list?"),
    ("go vet ./...", "copylocks: range var passes lock by value", "who copied a mutex in a loop?"),
    ("psql -f migrate.sql", "ERROR: column \"plan\" contains null values",
     "which migration stumbled over missing values?"),
    ("kubectl rollout status", "0 of 3 updated replicas are available",
     "what deployment never became ready?"),
    ("git rebase main", "CONFLICT (content): Merge conflict in Cargo.lock",
     "when did the lock file clash?"),
    ("make docs", "undefined label: installation-windows",
     "which manual build had a broken reference?"),
    ("ssh build@ci", "Permission denied (publickey)", "where was our key refused?"),
    ("gradle assemble", "OutOfMemoryError: Java heap space", "what ran out of memory?"),
]
PEOPLE = ["Mara", "Jonas", "Yusuf", "Ines", "Tomek", "Aiko"]
ASIDES = ["bought paper and stamps", "called about the parcel again", "walked along the canal",
          "the train was late", "nothing else today", "read two chapters", "rain until noon"]


def record(kind, number, text, source, **more):
    day = f"2026-{1 + number // 28 % 9:02}-{1 + number % 28:02}T{8 + number % 10:02}:00:00Z"
    return {"external_id": f"{kind}-{number}", "text": text, "timestamp": day, "source": source,
            "kind": "episode", **more}


def notes(dice):
    for _ in range(40):
        for fact, question in HABITS:
            first, last = dice.sample(ASIDES, 2)
            told = dice.random() < 0.04
            yield f"{first}. {'Note: ' + fact + '. ' if told else ''}{last}.", question if told else None, {}
    for fact, question in HABITS:
        yield f"Note: {fact}. {dice.choice(ASIDES)}.", question, {}


def tickets(dice):
    for number in range(400):
        area = dice.choice(FAULTS)[0]
        other = dice.choice(FAULTS)[0]
        by = dice.choice(PEOPLE)
        urgent = dice.choice(["low", "normal", "high"])
        yield (f"[{area}] reported by {by}: please look at the {other} page, the customer asks for a "
               f"call. Priority {urgent}."), None, {"session_id": f"T-{number}"}
    for number, (area, fault, question) in enumerate(FAULTS):
        yield (f"[{area}] reported by {dice.choice(PEOPLE)}: {fault}. Seen on version "
               f"{dice.randint(3, 9)}.{dice.randint(0, 20)}."), question, {"session_id": f"T-{400 + number}"}


def output(dice):
    for number in range(400):
        command = dice.choice(RUNS)[0]
        done, whole, tenths = dice.randint(1, 90), dice.randint(1, 300), dice.randint(0, 9)
        yield (f"$ {command}\nok, {done} done in {whole}.{tenths} s", None,
               {"session_id": f"run-{number // 8}"})
    for number, (command, fault, question) in enumerate(RUNS):
        yield f"$ {command}\n{fault}\nexit code 1", question, {"session_id": f"run-{50 + number}"}


KINDS = {"notes": (notes, "user_input"), "tickets": (tickets, "user_input"),
         "output": (output, "worker_result")}


def make(folder, kind):
    told, source = KINDS[kind]
    rows = list(told(random.Random(12)))
    random.Random(13).shuffle(rows)
    records = [record(kind, n, text, source, **more) for n, (text, _, more) in enumerate(rows)]
    gold = {}
    for (_, question, _), row in zip(rows, records):
        if question:
            gold.setdefault(question, []).append(row["external_id"])
    queries = [{"query_id": f"q{n}", "query": question} for n, question in enumerate(gold)]
    folder.mkdir(parents=True)
    write = lambda name, lines: (folder / name).write_text("\n".join(map(json.dumps, lines)) + "\n")
    write("records.jsonl", records)
    write("queries.jsonl", queries)
    write("gold.jsonl", [{"query_id": q["query_id"], "gold": gold[q["query"]], "category": kind}
                         for q in queries])
    return {q["query_id"]: set(gold[q["query"]]) for q in queries}


def ask(command, queries, user):
    out = subprocess.run([*command, "recall", "--user", user, "--queries", queries, "--top-k", "20",
                          "--json"], check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    keep = "--keep" in sys.argv
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(arguments[1] if keep else scratch)
        command = [arguments[0], "--no-daemon", "--data-dir", str(pathlib.Path(scratch, "data"))]
        command += ["--no-model"] if "--no-model" in sys.argv else []
        gold = {kind: make(root / kind, kind) for kind in KINDS}
        for kind in KINDS:
            subprocess.run([*command, "ingest", "--user", kind, "--verbatim",
                            root / kind / "records.jsonl"], check=True, capture_output=True)
        for kind in KINDS:
            answers = ask(command, root / kind / "queries.jsonl", kind)
            places, first, silent = [], [], []
            for answer in answers:
                wanted = gold[kind][answer["query_id"]]
                ids = [hit["external_id"] in wanted for hit in answer["results"]]
                places.append([any(ids[:k]) for k in (1, 5, 10)])
                first.append((answer["results"][0]["score"] if ids else 0, ids[:1] == [True]))
                silent.append((answer["verdict"] == "nothing", ids[:1] == [True]))
            share = lambda values: 100 * sum(values) / max(1, len(values))
            others = [a["verdict"] == "nothing" for other in KINDS if other != kind
                      for a in ask(command, root / other / "queries.jsonl", kind)]
            print(f"{kind:8} {len(answers):3} questions  any@1/5/10 "
                  + "/".join(f"{share([p[k] for p in places]):5.1f}" for k in range(3))
                  + f"  first {sum(s for s, _ in first) / len(first):.2f} of "
                  + f"{share([r for _, r in first]) / 100:.2f}"
                  + f"  nothing: own {share([n for n, _ in silent]):.1f}, right first "
                  + f"{share([n and r for n, r in silent]):.1f}, others' {share(others):.1f}", flush=True)


if __name__ == "__main__":
    main()
