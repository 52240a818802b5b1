#!/usr/bin/env python3
"""A record that is corrected again and again is there for who reads it by its name meanwhile."""

import threading

from abuse import Home, rounds

with Home() as home:
    home.serve()
    token = home.token("t")
    path = "/v1/users/ada/records"
    kept = {"external_id": "m1", "text": "version 0"}
    assert home.http("POST", path, kept, token)[0] == 200
    done = threading.Event()
    answers = []

    def read():
        while not done.is_set():
            answers.append(home.http("GET", path + "/m1", token=token)[0])

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for version in range(1, rounds(400, 60)):
        change = {"text": f"version {version}"}
        status, said = home.http("PATCH", path + "/m1", change, token)
        assert status == 200, said
    done.set()
    for reader in readers:
        reader.join()
    wrong = sum(status != 200 for status in answers)
    assert wrong == 0, f"{wrong} of {len(answers)} reads found nothing"
