#!/usr/bin/env python3
"""Measures how long a hook's process takes to start: what `connect` writes, and the same through the tree of commands.

Usage: hook_start.py PATH-OF-REPRISE [RUNS]. No daemon runs and none is started, so what is left is the process itself.
Its own processor time is printed beside, since a busy machine makes the rest longer.
"""
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time


def measure(command, runs):
    """Milliseconds of each run, and of the processor in it."""
    times, own = [], []
    for _ in range(runs):
        began = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        # Some programs do not read it.
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(b"{}")
            process.stdin.close()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        times.append((time.perf_counter() - began) * 1e3)
        own.append((used.ru_utime + used.ru_stime) * 1e3)
        assert process.returncode == 0, process.returncode
    times.sort()
    return statistics.median(times), times[int(len(times) * 0.99)], statistics.median(own)


def main():
    program, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
    with tempfile.TemporaryDirectory() as data:
        written = [program, "--data-dir", data, "statusline", "--user", "ada"]
        tree = [program, "--no-model", *written[1:]]
        for name, command in [("/bin/true", ["/bin/true"]), ("as written", written), ("tree of commands", tree)]:
            measure(command, 3)
            p50, p99, own = measure(command, runs)
            print(f"{name:<18} p50 {p50:6.2f} ms   p99 {p99:6.2f} ms   processor {own:6.2f} ms")
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
