#!/usr/bin/env python3
"""A record that brings a vector of another model does not lock the model out: its vector is dropped
and said, every record gets one of ours, and the daemon then rests."""

import json
import os
import time

from abuse import Home, within

PATH = "/v1/users/ada"

with Home() as home:
    home.with_model()
    foreign = {"model": "somebody-else", "version": "7", "dimensions": 384}
    vector = [1.0] + [0.0] * 383
    first = {"text": "theirs, first of all", "embedding": vector, "embedding_space": foreign}
    daemon = home.serve("--idle-exit", "600")
    for record in [first, {"text": "the heat pump needs a new valve"}, first | {"text": "again"}]:
        status, said = home.local("POST", PATH + "/records", record)
        assert status == 200, said

    def stats():
        return json.loads(home.local("GET", PATH + "/stats")[1])

    within(60, lambda: stats()["unembedded"] == 0, f"texts wait for ever: {stats()}")
    assert "somebody" not in json.dumps(stats()["space"]), stats()["space"]
    status, said = home.local("POST", PATH + "/recall", {"query": "heating is broken"})
    best = json.loads(said)["results"][0]
    assert "heat pump" in best["text"], "nothing is found by meaning"

    def ticks():
        fields = open(f"/proc/{daemon.pid}/stat", encoding="ascii").read().split()
        return int(fields[13]) + int(fields[14])

    time.sleep(2)
    began = ticks()
    time.sleep(5)
    spent = (ticks() - began) / os.sysconf("SC_CLK_TCK")
    assert spent < 1.5, f"it spends {spent:.1f} of 5 s although nobody asks"
