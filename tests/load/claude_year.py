#!/usr/bin/env python3
"""A year of Claude Code brought in:
python3 tests/load/claude_year.py target/debug/reprise [sessions [models]]

Writes sessions in the program's form (version 2.0: a tree of lines, tools and their ends, thinking,
system reminders, what hooks put in, secrets), 200 turns each, imports them twice, looks for what was
planted and must not be kept, and asks 200 questions of it and of the same turns ingested by hand. With
a directory of models the daemon embeds what was imported, and the questions are asked with vectors.
Fails where the import finds fewer of the 200 than the turns by hand; times are printed and no more.
"""
import datetime, json, os, random, resource, shutil, subprocess, sys, tempfile, threading, time, uuid

BINARY = os.path.abspath(sys.argv[1])
SESSIONS = int(sys.argv[2]) if len(sys.argv) > 2 else 300
MODELS = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else None
TURNS = 200
WORDS = """ledger invoice retry cache socket parser router tenant shard cursor widget bundle migration
webhook scheduler gateway replica vector tokenizer fixture snapshot pipeline throttle quota canary
rollback schema index batch worker queue stream buffer lease cookie session login export import
report chart table column filter search ranking proxy tunnel cluster node volume mount secret rotate
audit budget deadline latency timeout backoff jitter hash digest checksum manifest archive""".split()
NAMES = "amber basil cedar delta ember fjord grove haven iris jade karst lotus maple noble onyx".split()
PLANTED = {
    "secret": "ghp_Zk3vQ9xT2mB7nL4wR8sD1fG6hJ5kP0aYcVeU",
    "injected": "an injected memory that nobody said",
    "system": "a system text of the program",
    "thinking": "a thought that nobody heard",
    "private": "a private remark",
}


def main():
    random.seed(31)
    home = tempfile.mkdtemp()
    env = {"HOME": home, "PATH": os.environ["PATH"], "NO_COLOR": "1"}
    model = ["--no-model"]
    if MODELS:
        env["REPRISE_MODELS_DIR"], model = MODELS, []

    def stats():
        done = subprocess.run([BINARY, "stats", "--user", "year", "--json"], env=env, cwd=home,
                              capture_output=True, text=True)
        return json.loads(done.stdout) if done.returncode == 0 else None

    cpu = [0.0]

    def run(*words, ok=(0,)):
        began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([BINARY, *model, *words], env=env, cwd=home, capture_output=True, text=True)
        assert done.returncode in ok, (words, done.returncode, done.stderr[-2000:])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu[0] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return done.stdout, time.monotonic() - began

    said, facts = write(home)
    prompts = sum(1 for one in said if one["source"] == "user_input")
    print(f"{SESSIONS} sessions, {len(said)} turns, {prompts} of them prompts")
    projects = home + "/.claude/projects"
    began, found = time.monotonic(), []

    def watch():
        while not found:
            time.sleep(2)
            now = stats()
            if now and now["live"] >= len(said):
                found.append(time.monotonic() - began)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    out, took = run("import", projects, "--user", "year", "--json", "--later", ok=(0, 1))
    first = json.loads(out)
    watcher.join(timeout=10)
    print(f"words find all turns after {found[0] if found else took:.0f} s, looked at every 2 s; asked: 60")
    print(f"import with what it teaches: {took:.1f} s ({cpu[0]:.0f} s of CPU), "
          f"{len(said) / took * 60:.0f} turns a minute; load {os.getloadavg()[0]:.1f}")
    print({name: value for name, value in first.items() if isinstance(value, (int, float))})
    out, took = run("import", projects, "--user", "year", "--json", "--later", ok=(0, 1))
    print(f"again: {took:.1f} s, {json.loads(out)['inserted']} new")
    assert json.loads(out)["inserted"] == 0
    if MODELS:
        print(f"vectors of all after {embedded(env, home, stats):.0f} s in the daemon; asked: 600 with the import")
    out, took = run("export", "--user", "year")
    for what, text in PLANTED.items():
        print(f"planted and kept, {what}: {out.count(text)}")
        assert text not in out, what
    by_hand = home + "/hand.jsonl"
    with open(by_hand, "w") as file:
        file.writelines(json.dumps(one) + "\n" for one in said)
    run("ingest", by_hand, "--user", "hand")
    asked = random.sample(facts, min(200, len(facts)))
    questions = home + "/questions.jsonl"
    with open(questions, "w") as file:
        file.writelines(json.dumps({"query_id": str(at), "query": question}) + "\n"
                        for at, (question, _) in enumerate(asked))
    shares = []
    for user in ("year", "hand"):
        out, took = run("recall", "--queries", questions, "--user", user, "--limit", "10", "--json", ok=(0, 1))
        found = 0
        for line in out.splitlines():
            answer = json.loads(line)
            fact = asked[int(answer["query_id"])][1]
            found += any(fact in one["text"] for one in answer["results"][:10])
        shares.append(found / len(asked))
        print(f"R@10 {user}{' with vectors' if MODELS else ''}: {shares[-1]:.3f} of {len(asked)}, {took:.1f} s")
    shutil.rmtree(home)
    assert shares[0] >= shares[1], shares


def embedded(env, home, stats):
    """Starts the daemon, which makes the vectors, and ends it once it has: after how many seconds."""
    began, told = time.monotonic(), 0
    daemon = subprocess.Popen([BINARY, "serve"], env=env, cwd=home, stderr=subprocess.DEVNULL)
    try:
        while (now := stats()) is None or now["unembedded"]:
            assert daemon.poll() is None, "the daemon ended"
            if now and time.monotonic() - began > told + 60:
                told = time.monotonic() - began
                print(f"  {now['unembedded']} without a vector after {told:.0f} s", file=sys.stderr)
            time.sleep(2)
        return time.monotonic() - began
    finally:
        daemon.terminate()
        daemon.wait()


def write(home):
    """The files; answers what was said, in the form of `ingest`, and questions with their facts."""
    said, facts = [], []
    at = datetime.datetime(2025, 11, 25, 9, tzinfo=datetime.timezone.utc)
    step = datetime.timedelta(days=365) / SESSIONS
    for number in range(SESSIONS):
        cwd = f"{home}/work/{NAMES[number % len(NAMES)]}"
        folder = f"{home}/.claude/projects/{cwd.replace('/', '-')}"
        os.makedirs(folder, exist_ok=True)
        session, now, parent, lines = str(uuid.UUID(int=random.getrandbits(128))), at + step * number, None, []

        def put(kind, message=None, **more):
            nonlocal parent, now
            now += datetime.timedelta(seconds=random.randint(5, 40))
            own = str(uuid.UUID(int=random.getrandbits(128)))
            line = {"parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": cwd,
                    "sessionId": session, "version": "2.0.55", "gitBranch": "main", "type": kind,
                    "uuid": own, "timestamp": now.isoformat(timespec="milliseconds").replace("+00:00", "Z"), **more}
            if message is not None:
                line["message"] = message
            parent = own
            lines.append(line)
            return line

        def keep(text, source, line):
            said.append({"external_id": line["uuid"], "text": text, "source": source, "kind": "episode",
                         "session_id": session, "timestamp": line["timestamp"], "metadata": {}})

        lines.append({"type": "file-history-snapshot", "messageId": session, "snapshot": {}, "isSnapshotUpdate": False})
        put("user", {"role": "user", "content": PLANTED["system"]}, isMeta=True)
        for turn in range(TURNS // 2):
            a, b, c = random.sample(WORDS, 3)
            name = f"{random.choice(NAMES)}-{number}-{turn}"
            prompt = f"How do we keep the {a} of {name} apart from the {b} when the {c} fails?"
            content = prompt
            if turn % 7 == 0:
                content = [{"type": "text", "text": prompt},
                           {"type": "text", "text": f"<system-reminder>{PLANTED['system']}</system-reminder>"}]
            elif turn % 11 == 0:
                content += f" <private>{PLANTED['private']}</private>"
            elif turn % 13 == 0:
                content += f" <hook_context>{PLANTED['injected']}</hook_context>"
            keep(prompt, "user_input", put("user", {"role": "user", "content": content}))
            fact = f"the {a} of {name} belongs in the {c} {random.choice(WORDS)} before every {random.choice(WORDS)}"
            answer = f"I have looked: {fact}, because the {b} is read twice."
            written = answer
            if turn % 23 == 0:
                answer += f" The fix was to clear the {c} before the {a}; always do that after a {b} changes."
                written = answer
            if turn % 17 == 0:
                written += f" The key is {PLANTED['secret']} for now."
            facts.append((f"where does the {a} of {name} belong?", fact))
            message = "msg_" + str(uuid.UUID(int=random.getrandbits(128)))
            say = lambda blocks: put("assistant", {"id": message, "type": "message", "role": "assistant",
                                                   "model": "claude-opus-4-5", "content": blocks})
            say([{"type": "thinking", "thinking": PLANTED["thinking"], "signature": "x" * 200}])
            keep(answer, "worker_result", say([{"type": "text", "text": written}]))
            if turn % 5 == 0:
                tool = "toolu_" + str(turn) + session[:8]
                passes = turn % 10 == 0
                say([{"type": "tool_use", "id": tool, "name": "Bash", "input": {"command": f"cargo test {a}"}}])
                printed = "test result: ok. 3 passed; 0 failed" if passes else "test result: FAILED. 1 passed; 2 failed"
                put("user", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": tool,
                                                         "is_error": not passes, "content": printed}]},
                    toolUseResult={"stdout": printed, "stderr": "", "interrupted": False})
        with open(f"{folder}/{session}.jsonl", "w") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
    return said, facts


main()
