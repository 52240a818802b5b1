#!/usr/bin/env python3
"""1,000 adds, revokes and rotations from several processes: none is lost, none is undone, and the
daemon that runs beside them honours each at once."""

from concurrent.futures import ThreadPoolExecutor

from abuse import Home, rounds

PROCESSES = 8


def worker(home, number):
    opens, closed = {}, []
    for n in range(rounds(1000, 96) // PROCESSES // 4):
        kept, gone = f"kept-{number}-{n}", f"gone-{number}-{n}"
        closed.append(home.token(kept))
        rotated = home.run("serve", "token", "rotate", kept)
        assert rotated.returncode == 0, rotated.stderr
        opens[kept] = rotated.stdout.strip()
        closed.append(home.token(gone))
        assert home.run("serve", "token", "revoke", gone).returncode == 0, "a revoke failed"
        status, _ = home.http("GET", "/v1/status", token=closed[-1])
        assert status == 401, f"a revoked token answered {status}"
    return opens, closed


with Home() as home:
    home.serve()
    with ThreadPoolExecutor(PROCESSES) as pool:
        done = list(pool.map(lambda number: worker(home, number), range(PROCESSES)))
    listed = home.run("serve", "token", "list").stdout.splitlines()
    expected = {name for opens, _ in done for name in opens}
    lost = expected - {line.split()[0] for line in listed}
    assert not lost, f"{len(lost)} of {len(expected)} tokens are lost"
    assert len(listed) == len(expected), f"{len(listed) - len(expected)} revokes were undone"
    for opens, closed in done:
        for name, token in opens.items():
            assert home.http("GET", "/v1/status", token=token)[0] == 200, f"{name} opens nothing"
        for token in closed:
            assert home.http("GET", "/v1/status", token=token)[0] == 401, "an old one opens"
