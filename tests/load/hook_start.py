#!/usr/bin/env python3
"""Measures how long a hook's process takes to start: what `connect` writes, and the same through the tree of commands.

Usage: hook_start.py PATH-OF-REPRISE [RUNS]. No daemon runs and none is started, so what is left is the process itself.
"""
import statistics
import subprocess
import sys
import tempfile
import time


def measure(command, runs):
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        subprocess.run(command, input=b"{}", stdout=subprocess.DEVNULL, check=True)
        times.append((time.perf_counter() - began) * 1e3)
    times.sort()
    return statistics.median(times), times[int(len(times) * 0.99)]


def main():
    program, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
    with tempfile.TemporaryDirectory() as data:
        written = [program, "--data-dir", data, "statusline", "--user", "ada"]
        tree = [program, "--no-model", *written[1:]]
        for name, command in [("/bin/true", ["/bin/true"]), ("as written", written), ("tree of commands", tree)]:
            measure(command, 3)
            p50, p99 = measure(command, runs)
            print(f"{name:<18} p50 {p50:6.2f} ms   p99 {p99:6.2f} ms")


if __name__ == "__main__":
    main()
