#!/usr/bin/env python3
"""The system refuses a thread: that user's request fails, the others go on, and once there is room
that user is served too."""

import resource

from abuse import Home, within


def size(daemon):
    status = open(f"/proc/{daemon.pid}/status", encoding="ascii").read()
    return int(status.split("VmSize:")[1].split()[0]) * 1024


with Home() as home:
    daemon = home.serve()
    keep = {"text": "the build needs protoc"}
    assert home.local("POST", "/v1/users/ada/records", keep)[0] == 200
    free = resource.prlimit(daemon.pid, resource.RLIMIT_AS)
    # Room for what is asked, none for a thread's stack.
    resource.prlimit(daemon.pid, resource.RLIMIT_AS, (size(daemon) + (1 << 20), free[1]))
    for number in range(5):
        status, said = home.local("POST", f"/v1/users/new{number}/records", keep)
        assert status in (500, 503), f"a refused thread: {status} {said}"
        status, said = home.local("GET", "/v1/users/ada/stats")
        assert status == 200, f"another user: {status} {said}"
        status, said = home.local("GET", "/health/ready")
        assert status == 200, f"readiness: {status} {said}"
    resource.prlimit(daemon.pid, resource.RLIMIT_AS, free)
    asked = lambda: home.local("POST", "/v1/users/new0/records", keep)[0] == 200
    within(10, asked, "the user is not served although there is room again")
    assert home.local("GET", "/health/ready")[0] == 200
