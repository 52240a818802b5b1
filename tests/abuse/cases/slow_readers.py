#!/usr/bin/env python3
"""One tenant opens 40 exports and reads none, another sends bodies that stop: a third is served,
and the first lose their places after some seconds without progress."""

import json
import socket
import time

from abuse import Home, within


def opened(home, token, method, path, length=None, sent=b""):
    client = socket.create_connection(("127.0.0.1", home.port), timeout=30)
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{home.port}\r\n"
    head += f"Authorization: Bearer {token}\r\n"
    if length:
        head += f"Content-Length: {length}\r\n"
    client.sendall(head.encode() + b"\r\n" + sent)
    return client


def is_cut(client):
    """Whether the other side has gone away: reads whatever came before."""
    client.settimeout(0.1)
    try:
        while client.recv(1 << 20):
            pass
        return True
    except TimeoutError:
        return False
    except OSError:
        return True


with Home() as home:
    home.serve()
    greedy, stalling, calm = (home.token(name) for name in ["greedy", "stalling", "calm"])
    text = "a line that is long enough to fill the buffers between us " * 40
    for part in range(8):
        records = [{"text": f"{part} {n} {text}"} for n in range(1000)]
        status, said = home.local("POST", "/v1/users/ada/records", records, timeout=120)
        assert status == 200, said[:200]
    assert home.local("POST", "/v1/users/cara/records", {"text": "short"})[0] == 200
    readers = [opened(home, greedy, "GET", "/v1/users/ada/export") for _ in range(40)]
    senders = [
        opened(home, stalling, "POST", "/v1/users/bob/records", 10_000_000, b" " * 100_000)
        for _ in range(40)
    ]
    time.sleep(0.5)
    body = {"text": "x" * 100_000}
    for _ in range(5):
        status, said = home.http("GET", "/v1/users/cara/export", token=calm)
        assert status == 200, f"an export beside unread ones: {status} {said[:200]}"
        status, said = home.http("POST", "/v1/users/cara/records", body, token=calm)
        assert status == 200, f"a body beside stalled ones: {status} {said[:200]}"
    for number, client in enumerate(senders):
        within(40, lambda: is_cut(client), f"sender {number} is waited for")
    # A reader that takes nothing is cut; what it then finds in its buffers does not look whole.
    time.sleep(15)
    cut = 0
    for client in readers:
        first = last = client.recv(1 << 16)
        client.settimeout(5)
        try:
            while part := client.recv(1 << 20):
                last = (last + part)[-16:]
        except TimeoutError:
            continue  # It was refused in one piece, and may ask again.
        except OSError:
            last = b""
        whole = last.endswith(b"0\r\n\r\n")
        assert not (b" 200 " in first[:20] and whole), "an export that was cut looks whole"
        cut += b" 200 " in first[:20]
    assert cut > 0, "not one export was begun and cut"
