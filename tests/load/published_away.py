"""A service of published knowledge so many milliseconds away: recalls and hooks that bring something
published, and what a service that hangs costs a hook.

python3 tests/load/published_away.py PATH/TO/reprise [MILLISECONDS=40] [QUESTIONS=12]

The way is a proxy that holds each piece back for half of it. The defaults of the configuration hold:
400 ms for a recall, 150 ms for a hook. Prints a line of JSON; exits with 1 where a recall or a hook
brought nothing published.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time


def pump(source, target, half):
    try:
        while piece := source.recv(65536):
            time.sleep(half)
            target.sendall(piece)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def proxy(port, half):
    """Listens where nobody did; `half` of None takes connections and never answers."""
    door = socket.create_server(("127.0.0.1", 0), backlog=256)

    def serve():
        while True:
            client, _ = door.accept()
            if half is None:
                held.append(client)
                continue
            service = socket.create_connection(("127.0.0.1", port))
            for pair in ((client, service), (service, client)):
                threading.Thread(target=pump, args=(*pair, half), daemon=True).start()

    held = []
    threading.Thread(target=serve, daemon=True).start()
    return door.getsockname()[1]


def main():
    reprise = os.path.realpath(sys.argv[1])
    away = float(sys.argv[2]) if len(sys.argv) > 2 else 40.0
    questions = int(sys.argv[3]) if len(sys.argv) > 3 else 12
    work = tempfile.mkdtemp()
    env = {**os.environ, "XDG_RUNTIME_DIR": os.path.join(work, "run")}
    os.mkdir(env["XDG_RUNTIME_DIR"], 0o700)
    server, own = os.path.join(work, "server"), os.path.join(work, "own")

    def run(data, *arguments, told=None, config=None):
        command = [reprise, "--data-dir", data, "--no-model"]
        command += ["--config", config] if config else []
        return subprocess.run([*command, *arguments], input=told, capture_output=True, text=True,
                              env=env)

    things = os.path.join(work, "things.jsonl")
    with open(things, "w") as lines:
        for number in range(questions):
            lines.write(json.dumps({
                "origin": f"o{number}", "content_type": "document", "summary": "", "tags": [],
                "title": f"Otters of river {number}", "access_policy": "public", "licence": "",
                "content": f"At river number{number} the otters hold hands because they drift.",
            }) + "\n")
    done = run(server, "global", "import", things, "--user", "ann")
    assert done.returncode == 0, done.stderr
    token = run(server, "--json", "global", "token", "add", "bob", "--user", "bob").stdout
    token = json.loads(token)["token"]
    command = [reprise, "--data-dir", server, "--no-model", "global", "serve", "--http",
               "127.0.0.1:0"]
    service = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env)
    port = next(line for line in service.stderr if "http://" in line)
    port = int(port.split("http://127.0.0.1:")[1].split()[0])

    def configured(port):
        file = os.path.join(work, f"{port}.toml")
        with open(file, "w") as text:
            text.write(f'[global]\nurl = "http://127.0.0.1:{port}"\ntoken = "{token}"\nhooks = true\n')
        return file

    def hooked(config, number, session):
        event = json.dumps({"session_id": session, "cwd": "/",
                            "prompt": f"why do the otters of river number{number} hold hands"})
        began = time.monotonic()
        said = run(own, "hook", "user-prompt", "--user", "bob", "--text", told=event, config=config)
        return "published by ann" in said.stdout, time.monotonic() - began

    config = configured(proxy(port, away / 2e3))
    run(own, "learn", "Our otters sleep on Mondays", "--user", "bob", config=config)
    run(own, "list", "--user", "bob", config=config)
    recalls = 0
    for number in range(questions):
        said = run(own, "--json", "recall", "--user", "bob", "--scope", "local+global",
                   f"river number{number}", config=config)
        found = json.loads(said.stdout or "{}").get("results", [])
        recalls += any(one.get("scope") == "global" for one in found)
    # The daemon starts with a session, and connects while somebody writes the first prompt.
    run(own, "hook", "session-start", "--user", "bob", config=config,
        told=json.dumps({"session_id": "s0", "cwd": "/"}))
    time.sleep(2)
    hooks = [hooked(config, number, f"s{number}") for number in range(questions)]
    run(own, "serve", "stop", config=config)
    config = configured(proxy(port, None))
    hooked(config, 0, "first")
    hung = [hooked(config, number, f"h{number}") for number in range(questions)]
    run(own, "serve", "stop", config=config)
    service.terminate()
    service.wait()
    middle = lambda all: round(sorted(took for _, took in all)[len(all) // 2] * 1e3)
    hooked_with = sum(found for found, _ in hooks)
    print(json.dumps({
        "away_ms": away, "questions": questions, "recalls_with_published": recalls,
        "hooks_with_published": hooked_with, "hook_ms_p50": middle(hooks),
        "hung_hooks_with_published": sum(found for found, _ in hung), "hung_ms_p50": middle(hung),
    }))
    sys.exit(0 if recalls == hooked_with == questions else 1)


if __name__ == "__main__":
    main()
