#!/usr/bin/env python3
"""Counts the processes that are left after clients were killed, after sessions, an upgrade, idle time and removal of the data.

Usage: left.py PATH-OF-REPRISE. It needs Linux. A daemon looks every 30 s whether its directory and its program are there.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SESSIONS = 50
CLIENTS = 20
#: Longest wait for a process to end by itself, in seconds.
PATIENCE = 75


def processes(folder):
    """Returns the processes whose words name the folder."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as words:
                    if folder.encode() in words.read():
                        found.append(int(name))
            except OSError:
                continue
    return found


class Home:
    """A home and a data directory of its own, and a copy of the program that can be replaced."""

    def __init__(self, program):
        self.folder = tempfile.mkdtemp(prefix="reprise-left-")
        self.data = os.path.join(self.folder, "data")
        self.program = os.path.join(self.folder, "bin", "reprise")
        os.mkdir(os.path.dirname(self.program))
        shutil.copy2(program, self.program)
        self.env = dict(os.environ, HOME=self.folder, XDG_RUNTIME_DIR=self.folder)

    def command(self, *words):
        return [self.program, "--data-dir", self.data, "--no-model", *words]

    def run(self, *words, given=""):
        return subprocess.run(self.command(*words), input=given, env=self.env, capture_output=True, text=True)

    def client(self):
        return subprocess.Popen(self.command("mcp"), env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def hook(self, event, session, **more):
        given = json.dumps({"session_id": session, "cwd": "/", **more})
        return self.run("hook", event, "--deadline-ms", "5000", given=given)

    def wait_for(self, count):
        since = time.time()
        while len(processes(self.data)) > count and time.time() - since < PATIENCE:
            time.sleep(0.2)
        return len(processes(self.data)), time.time() - since

    def end(self):
        for process in processes(self.data):
            os.kill(process, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


def clients_killed(home):
    clients = [home.client() for _ in range(CLIENTS)]
    home.hook("session-start", "one")
    for client in clients:
        client.kill()
        client.wait()
    return home.wait_for(1), "the daemon alone may be left"


def sessions(home):
    for number in range(SESSIONS):
        home.hook("session-start", f"s{number}")
        home.hook("user-prompt", f"s{number}", prompt=f"why does test number {number} of the shop fail")
        home.hook("session-end", f"s{number}", last_assistant_message="The clock was shared.")
    return home.wait_for(1), "the daemon alone may be left"


def upgraded(home):
    home.hook("session-start", "one")
    new = home.program + ".new"
    shutil.copy2(home.program, new)
    os.replace(new, home.program)
    return home.wait_for(0), "none may be left"


def removed(home):
    home.hook("session-start", "one")
    shutil.rmtree(home.data)
    return home.wait_for(0), "none may be left"


def idle(home):
    daemon = subprocess.Popen(home.command("serve", "--idle-exit", "2"), env=home.env, stderr=subprocess.DEVNULL)
    while not processes(home.data) and daemon.poll() is None:
        time.sleep(0.1)
    left = home.wait_for(0)
    daemon.poll()
    return left, "none may be left"


def main():
    program = os.path.abspath(sys.argv[1])
    for case in (idle, clients_killed, sessions, upgraded, removed):
        home = Home(program)
        try:
            (left, seconds), rule = case(home)
            print(f"{case.__name__:<15} {left} left after {seconds:5.1f} s ({rule})", flush=True)
        finally:
            home.end()


if __name__ == "__main__":
    main()
