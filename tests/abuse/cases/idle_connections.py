#!/usr/bin/env python3
"""1,000 idle TCP clients, where the system gives few descriptors: a local recall does not wait."""

import resource
import socket
import time

from abuse import Home

with Home() as home:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    daemon = home.serve(limits=[(resource.RLIMIT_NOFILE, (1024, hard))])
    limits = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)
    assert limits == (hard, hard), f"of {hard} descriptors the daemon takes {limits[0]}"
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    keep = {"text": "the build needs protoc"}
    assert home.local("POST", "/v1/users/ada/records", keep)[0] == 200
    quiet = time.monotonic()
    home.local("POST", "/v1/users/ada/recall", {"query": "protoc"})
    quiet = time.monotonic() - quiet
    idle = []
    for _ in range(1200):
        try:
            idle.append(socket.create_connection(("127.0.0.1", home.port), timeout=4))
        except TimeoutError:
            break  # As many as the system lets in.
    assert len(idle) > 200, f"only {len(idle)} clients came in"
    slowest = 0.0
    for _ in range(20):
        began = time.monotonic()
        status, _ = home.local("POST", "/v1/users/ada/recall", {"query": "protoc"}, timeout=20)
        assert status == 200, status
        slowest = max(slowest, time.monotonic() - began)
    assert slowest < max(1.0, 20 * quiet), f"{slowest:.1f} s, and {quiet:.3f} s when it is quiet"
