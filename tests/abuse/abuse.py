"""What the cases share: a home of their own, the binary in it, and requests over loopback."""

import http.client
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

REPRISE = os.environ["REPRISE"]
SHORT = bool(os.environ.get("SHORT"))


def rounds(whole, short):
    """How often: `short` where SHORT is set."""
    return short if SHORT else whole


def within(seconds, holds, what):
    """Waits until `holds()`; fails with `what`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return
        time.sleep(0.02)
    raise AssertionError(what)


class Home:
    """A data directory whose daemon ends with it: `with Home() as home`."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="reprise-abuse-"))
        self.data = self.folder / "data"
        self.daemons = []
        # None: words and time only.
        self.models = None
        self.env = {n: v for n, v in os.environ.items() if not n.startswith("REPRISE_")}
        self.env |= {
            "HOME": str(self.folder),
            "XDG_RUNTIME_DIR": str(self.folder),
            "NO_COLOR": "1",
        }
        self.port = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for daemon in self.daemons:
            if daemon.poll() is None:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def command(self, *arguments):
        model = ["--models-dir", self.models] if self.models else ["--no-model"]
        return [REPRISE, *model, "--data-dir", str(self.data), *arguments]

    def with_model(self):
        """From now on commands and daemons have the machine's own model, which is brought where it
        is missing."""
        cache = os.environ.get("XDG_CACHE_HOME") or Path(os.environ["HOME"]) / ".cache"
        self.models = str(Path(cache) / "reprise/models")
        self.done("doctor", "models", "pull", timeout=150)

    def run(self, *arguments, timeout=60, shim=None, **more):
        """Runs a command to its end, with these settings of the shim; its output as text."""
        env = self.env
        if shim is not None:
            env = env | {"LD_PRELOAD": self.shim()} | {n: str(v) for n, v in shim.items()}
        return subprocess.run(
            self.command(*arguments),
            env=env, capture_output=True, text=True, timeout=timeout, **more,
        )

    def done(self, *arguments, **more):
        """The same of a command that must succeed; what it printed."""
        ended = self.run(*arguments, **more)
        assert ended.returncode == 0, f"`{' '.join(arguments[:2])}` failed: {ended.stderr}"
        return ended.stdout

    def ingest(self, user, lines):
        """Keeps records, given as objects of the batch contract."""
        text = "".join(json.dumps(line) + "\n" for line in lines)
        return self.done("ingest", "--user", user, "--jsonl", "-", input=text)

    def texts(self, user):
        """What stands in a memory, sorted."""
        lines = self.done("export", "--user", user).splitlines()
        return sorted(json.loads(line)["text"] for line in lines)

    def start(self, *arguments, **more):
        return subprocess.Popen(self.command(*arguments), env=self.env, **more)

    def serve(self, *arguments, limits=(), shim=None):
        """A daemon that answers, on a port of its own; `limits` are pairs for setrlimit."""
        held = self.env
        if shim is not None:
            self.env = held | {"LD_PRELOAD": self.shim()} | {n: str(v) for n, v in shim.items()}

        def limit():
            for what, values in limits:
                resource.setrlimit(what, values)

        daemon = self.start(
            "serve", "--http", "127.0.0.1:0", *arguments,
            preexec_fn=limit, stderr=subprocess.DEVNULL,
        )
        self.env = held
        self.daemons.append(daemon)
        within(30, lambda: self.status().get("pid") == daemon.pid, "no daemon came up")
        self.port = int(self.status()["http"].rsplit(":", 1)[1])
        return daemon

    def status(self):
        said = self.run("--json", "serve", "status").stdout
        return json.loads(said) if said.startswith("{") else {}

    def shim(self):
        """The library of `shim.c`."""
        return self.compiled("shim.c", "-shared", "-fPIC", "-ldl")

    def compiled(self, source, *flags):
        made = self.folder / f"{source}.made"
        if not made.exists():
            source = Path(__file__).with_name(source)
            subprocess.run(["cc", "-O1", "-o", made, source, *flags], check=True)
        return str(made)

    def killed(self, number, *arguments, **more):
        """Runs a command that dies where its Nth call would change a file (0: it does not); how it
        ended, and the calls that it came to."""
        trace = self.folder / "trace"
        killer = [self.compiled("killer.c"), str(number), str(trace)]
        ended = subprocess.run(
            [*killer, *self.command(*arguments)],
            env=self.env, capture_output=True, text=True, timeout=60, **more,
        )
        assert ended.returncode != 125, f"the killer does not work here: {ended.stderr}"
        return ended, trace.read_text().split()

    def token(self, name, *more):
        made = self.run("serve", "token", "add", name, *more)
        assert made.returncode == 0, made.stderr
        return made.stdout.strip()

    def socket(self):
        return self.status()["socket"]

    def http(self, method, path, body=None, token=None, timeout=30, headers=()):
        """Status and body of a request over TCP."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        return ask(connection, method, path, body, token, headers)

    def local(self, method, path, body=None, timeout=30, headers=()):
        """The same over the socket."""
        connection = http.client.HTTPConnection("localhost", timeout=timeout)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(timeout)
        connection.sock.connect(self.socket())
        return ask(connection, method, path, body, None, headers)


def ask(connection, method, path, body, token, headers):
    headers = dict(headers)
    if token:
        headers["Authorization"] = f"Bearer {token}"
    if body is not None and not isinstance(body, (str, bytes)):
        body = json.dumps(body)
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    said = answer.read()
    connection.close()
    return answer.status, said


def stop(process):
    """Freezes a process: it holds what it holds and answers nothing."""
    os.kill(process.pid, signal.SIGSTOP)


def go_on(process):
    os.kill(process.pid, signal.SIGCONT)
