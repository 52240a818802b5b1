#!/usr/bin/env python3
"""Many records are forgotten at once, with the proof, beside writers: all of them and nothing else
is gone, and every copy that still holds them is named."""

import json
import threading
from datetime import UTC, datetime

from abuse import Home, rounds

COUNT = rounds(40_000, 20_000)

with Home() as home:
    home.ingest("ada", ({"text": f"a secret of long ago, the {n}th"} for n in range(COUNT)))
    copy = home.folder / "copy.rvf"
    home.done("backup", "--user", "ada", str(copy))
    home.done("branch", "fork", "--user", "ada", "idea")
    now = datetime.now(UTC).isoformat()
    home.ingest("ada", [{"text": "after that"}])
    home.serve("--idle-exit", "600")
    stop, kept, refused = threading.Event(), [], []

    def write():
        while not stop.is_set():
            text = f"written meanwhile {len(kept)}"
            status, said = home.local("POST", "/v1/users/ada/records", {"text": text})
            (kept if status == 200 else refused).append(text if status == 200 else said)

    writer = threading.Thread(target=write)
    writer.start()
    arguments = ["forget", "--user", "ada", "--before", now, "--verify"]
    ended = home.run("--json", *arguments, timeout=120)
    stop.set()
    writer.join()
    assert ended.returncode == 0, ended.stderr
    said = json.loads(ended.stdout)
    assert len(said["forgotten"]) == COUNT, f"{len(said['forgotten'])} of {COUNT} are forgotten"
    assert said["traces_in_file"] == 0, f"{said['traces_in_file']} traces are left"
    named = " ".join(one["file"] for one in said["copies"])
    for other in ["copy.rvf", "ada+idea"]:
        assert other in named, f"{other} holds them and is not named: {named}"
    assert not refused, f"{len(refused)} writes beside it were refused: {refused[0]}"
    assert kept, "nobody wrote beside it"
    home.done("serve", "stop")
    assert home.texts("ada") == sorted(["after that", *kept]), "what was written beside it is gone"
    assert b"a secret of long ago" not in (home.data / "ada/memory.rvf").read_bytes()
