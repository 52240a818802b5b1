#!/usr/bin/env python3
"""Hooks against a daemon on another machine: python3 tests/load/away.py target/debug/reprise

A proxy holds every byte back for 20 ms each way, so that a request takes 40. Measured are 200 hooks
that find it, hooks while nothing listens, and what arrived when it is back.
"""
import json, os, queue, shutil, socket, subprocess, sys, tempfile, threading, time

BINARY = os.path.abspath(sys.argv[1])
EACH_WAY = 0.020
HOOKS = int(sys.argv[2]) if len(sys.argv) > 2 else 200
CUT = int(sys.argv[3]) if len(sys.argv) > 3 else 600


class Proxy:
    """Forwards TCP with a delay; `close` cuts every connection and listens no more."""

    def __init__(self, to, port=0):
        self.to, self.open, self.ends = to, True, []
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while self.open:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(self.to)
            except OSError:
                near.close()
                continue
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.ends += [near, far]
            for one, other in ((near, far), (far, near)):
                late = queue.Queue()
                threading.Thread(target=self.read, args=(one, late), daemon=True).start()
                threading.Thread(target=self.write, args=(other, late), daemon=True).start()

    def read(self, end, late):
        while True:
            try:
                data = end.recv(65536)
            except OSError:
                data = b""
            late.put((time.monotonic() + EACH_WAY, data))
            if not data:
                return

    def write(self, end, late):
        while True:
            at, data = late.get()
            time.sleep(max(0, at - time.monotonic()))
            try:
                if not data:
                    end.shutdown(socket.SHUT_WR)
                    return
                end.sendall(data)
            except OSError:
                return

    def close(self):
        self.open = False
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for end in self.ends:
            end.close()


def main():
    home = tempfile.mkdtemp()
    base = {"HOME": home, "PATH": os.environ["PATH"]}
    run = lambda env, *words, **more: subprocess.run(
        [BINARY, *words], env={**base, **env}, capture_output=True, text=True, cwd=home, **more)
    there = {"REPRISE_DATA_DIR": home + "/there"}
    token = run(there, "serve", "token", "add", "laptop", "--user", "ada").stdout.split()[-1]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    daemon = subprocess.Popen(
        [BINARY, "--no-model", "serve", "--http", f"127.0.0.1:{port}"], env={**base, **there},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        proxy = Proxy(("127.0.0.1", port))
        away = {"REPRISE_URL": f"http://127.0.0.1:{proxy.port}", "REPRISE_TOKEN": token,
                "REPRISE_USER": "ada"}
        for _ in range(200):
            if run(away, "serve", "status").returncode == 0:
                break
            time.sleep(0.1)
        print(run(away, "serve", "status").stdout, end="")

        def hook(number, what="the wind turned at"):
            said = {"session_id": f"s{number // 20}", "cwd": home,
                    "prompt": f"{what} station number {number} and it is cold there"}
            began = time.monotonic()
            done = run(away, "hook", "user-prompt", input=json.dumps(said))
            assert done.returncode == 0, done
            return (time.monotonic() - began) * 1e3

        def say(name, took):
            took.sort()
            at = lambda part: took[min(len(took) - 1, int(len(took) * part))]
            print(f"{name}: {len(took)}, p50 {at(.5):.0f} ms, p99 {at(.99):.0f}, most {took[-1]:.0f}")

        say("hooks that find it", [hook(number) for number in range(HOOKS)])
        proxy.close()
        say("hooks that do not", [hook(HOOKS + number) for number in range(CUT)])
        status = json.loads(run(away, "serve", "status", "--json").stdout)
        print("waiting", status["unsent"], "dropped", status["unsent_dropped"])
        proxy = Proxy(("127.0.0.1", port), proxy.port)
        say("hooks that catch up", [hook(HOOKS + CUT + number) for number in range(10)])
        began = time.monotonic()
        listed = run(away, "list", "--json", "--limit", "5000").stdout.splitlines()
        kept = [json.loads(line) for line in listed]
        kept = [one for one in kept if "station number" in one["text"]]
        print(f"kept {len(kept)} of {HOOKS + CUT + 10}, "
              f"{(time.monotonic() - began):.1f} s for the command that sent the rest")
        numbers = [int(one["text"].split("number ")[1].split()[0]) for one in kept]
        assert len(set(numbers)) == len(numbers) == HOOKS + CUT + 10, "lost or kept twice"
        cut = [number for number in numbers if HOOKS <= number < HOOKS + CUT]
        print("in order" if cut == sorted(cut, reverse=True) else "NOT in order")
        waits = json.loads(run(away, "serve", "status", "--json").stdout)["unsent"]
        assert waits == 0, waits
        assert not os.path.exists(home + "/.local/share/reprise"), "a local store was made"
    finally:
        daemon.terminate()
        daemon.wait()
        shutil.rmtree(home)


main()
