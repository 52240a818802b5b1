#!/usr/bin/env python3
"""Bodies that are large, or grow when they are kept, beside small ones of the same user: each
record has its own fate, and what was acknowledged is there."""

import json
from concurrent.futures import ThreadPoolExecutor

from abuse import Home, rounds

PATH = "/v1/users/ada/records"

with Home() as home:
    home.serve("--idle-exit", "600")
    heavy = {"filler": "x" * 60_000}
    # 14 KB as they come, 61 KB as they are kept; and one that no file takes.
    inflating = {"numbers": [1e15] * 3_200}
    too_large = {"numbers": [1e15] * 4_000}

    def post(name, records):
        sent = [dict(record, external_id=f"{name}-{n}") for n, record in enumerate(records)]
        body = json.dumps(sent).replace("1000000000000000.0", "1e15")
        status, said = home.local("POST", PATH, body, timeout=120)
        return sent, status, json.loads(said)

    def large(number):
        metadata = heavy if number % 2 else inflating
        many = [{"text": f"large {number} {n}", "metadata": metadata} for n in range(150)]
        many.insert(75, {"text": f"refused {number}", "metadata": too_large})
        return post(f"large-{number}", many)

    def small(number):
        return post(f"small-{number}", [{"text": f"small {number}"}])

    count = rounds(8, 4)
    with ThreadPoolExecutor(24) as pool:
        larges = [pool.submit(large, number) for number in range(count)]
        smalls = [pool.submit(small, number) for number in range(count * 20)]
        larges, smalls = ([job.result() for job in jobs] for jobs in [larges, smalls])
    kept = set()
    for sent, status, said in smalls:
        assert status == 200, f"a small record beside large ones: {status} {said}"
        kept.add(sent[0]["external_id"])
    for sent, status, said in larges:
        if status in (429, 503):
            continue  # More than may be under way: asked for again, it is taken.
        assert status == 200, f"a large body: {status} {said}"
        fates = [fate["outcome"] for fate in said["outcomes"]]
        assert fates.pop(75) == "rejected", "the one that is too large was kept"
        assert set(fates) == {"inserted"}, f"its neighbours: {set(fates)}"
        kept |= {record["external_id"] for n, record in enumerate(sent) if n != 75}
    assert any(status == 200 for _, status, _ in larges), "not one large body was taken"
    home.done("serve", "stop")
    there = set()
    for line in home.done("export", "--user", "ada").splitlines():
        there.add(json.loads(line)["external_id"])
    assert kept <= there, f"{len(kept - there)} of {len(kept)} acknowledged are gone"
    home.done("doctor", "check", "--user", "ada")
