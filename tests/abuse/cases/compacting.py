#!/usr/bin/env python3
"""A large memory is compacted, by rule and when asked: others write all the while, nothing is lost,
and `stats` shows it."""

import json
import random
import threading
import time
from datetime import UTC, datetime

from abuse import Home, rounds

COUNT = rounds(40_000, 20_000)

with Home() as home:
    draw = random.Random(7)
    # What cannot be squeezed, so that there is enough of it.
    texts = (f"note {n}: {draw.randbytes(400).hex()}" for n in range(COUNT))
    home.ingest("ada", ({"text": text} for text in texts))
    now = datetime.now(UTC).isoformat()
    home.serve("--idle-exit", "600")
    stop, kept, refused = threading.Event(), [], []

    def write():
        while not stop.is_set():
            text = f"written meanwhile {len(kept)}"
            status, said = home.local("POST", "/v1/users/ada/records", {"text": text})
            (kept if status == 200 else refused).append(text if status == 200 else said)

    def stats():
        return json.loads(home.local("GET", "/v1/users/ada/stats")[1])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        # Asked for: the writer goes on while the file is rewritten.
        for _ in range(3):
            before = len(kept)
            status, said = home.local("POST", "/v1/users/ada/compact", timeout=120)
            assert status == 200, said
            assert len(kept) > before, "nobody could write while it was compacted"
    finally:
        stop.set()
        writer.join()
    # By rule: most of the file is dead, and it is rewritten without anybody asking, once it is left
    # alone.
    compacted = stats()["compacted_to"]
    status, said = home.local("POST", "/v1/users/ada/forget", {"before": now})
    assert status == 200, said
    for _ in range(6):
        time.sleep(8)
        if stats()["compacted_to"] > compacted:
            break
    else:
        raise AssertionError(f"it never starts by itself: {stats()}")
    assert not refused, f"{len(refused)} writes were refused: {refused[0]}"
    home.done("serve", "stop")
    there = set(home.texts("ada"))
    lost = [text for text in kept if text not in there]
    assert not lost, f"{len(lost)} of {len(kept)} acknowledged are gone"
    home.done("doctor", "check", "--user", "ada")
