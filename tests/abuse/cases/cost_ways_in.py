#!/usr/bin/env python3
"""What no operation of the catalogue is and others fill all the same (cost.py has those): files
that are imported, the events of hooks, the page's forms. Hostile contents at one, two, four and
eight times a size: twice as much costs at most 2.5 times the processor time, and the largest no
more than a second."""

# Whole: at most 3600 s.
import http.client
import json
import os
import resource
import sqlite3
import subprocess
import sys
import urllib.parse
from pathlib import Path

from abuse import Home, rounds

ONCE = int(os.environ.get("ONCE", rounds(64, 4))) * 1024
TIMES = [1, 2, 4, 8]
# Twice as much may cost so many times as much, and this is noise.
RATIO, NOISE = 2.5, 0.15
# A build that is hardly optimised may take so many times as long.
MOST = 8 if "debug" in os.environ["REPRISE"].split("/") else 1
# Measurements of what is over a bound; the least counts.
TRIES = 3
ONLY = sys.argv[1:]

# What readers of Markdown, YAML, JSON, addresses and elements begin something with.
UNITS = [
    "a\n\n", "# a\n\nb\n\n", "- [a] b #c\n", "- x [[y]]\n", "[[", "[[a]] ", "]]", "> ", "- ", "`",
    "``` \n", "*a_", "**a", "_", "[", "[a](", "](", "<", "<a ", "<!--", "</", "![", "&amp;", "\\",
    "|a|b|\n", "|-", "|", "#", "# ", "#a ", "\n", "a b ", "a", "\t", "1. ", "~~~\n", "[a]: b\n",
    "[a][", "a\n---\n", "---\n", "@a.md ", "://", "\u0301", "\u200b", "password=", "key: ",
    "<private>",
    "  - a\n", "    a\n", "* * *\n", "[^1]", "a#b#", "(a", "'", '"', "$$", "{", ":::", "\r", "\r\n",
]
YAML = [
    "a: ", "- ", "[", "{", "? ", "a: [", "- - ", "!!str ", "&a ", "*a ", "'", '"', "|\n", ">\n",
    "# ", "k: v\n", "<<: ", "%", "@", "`", "\t", "a: b: ", "- a\n", "{a: ", "[a, ", "\\x",
    "...\n", "\u00a0",
]


def repeated(unit, size):
    return unit * (size // len(unit.encode()) + 1)


def numbered(size, line):
    """Lines that differ, of this size together."""
    one = len(line(10_000).encode())
    return "".join(line(number) for number in range(size // one + 1))


class Costs(Home):
    def __init__(self):
        super().__init__()
        self.faults = []
        self.measured = 0
        self.worst = []

    def child(self, *command, said=None):
        """Processor time of a command, in seconds."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        ended = subprocess.run(
            self.command(*command), env=self.env, input=said, capture_output=True, text=True,
            errors="replace", timeout=600,
        )
        refusals = "unexpected argument", "there is no option"
        known = ended.returncode >= 0 and not any(said in ended.stderr for said in refusals)
        assert known and "panicked" not in ended.stderr, (
            f"{command}: {ended.returncode} {ended.stderr[-300:]}"
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def used(self, pid):
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split(" ")
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    def of_daemon(self, pid, request):
        before = self.used(pid)
        request()
        return self.used(pid) - before

    def grow(self, name, cost):
        """Measures `cost(size)` at each size and remembers what is over a bound."""
        if ONLY and not any(word in name for word in ONLY):
            return
        self.measured += 1
        took = []
        for times in TIMES:
            bound = MOST if not took else min(MOST, RATIO * took[-1] + NOISE * max(1, MOST))
            tries = [cost(times * ONCE)]
            while min(tries) > bound and len(tries) < TRIES:
                tries.append(cost(times * ONCE))
            took.append(min(tries))
            if took[-1] > bound:
                shown = ", ".join(f"{one:.2f}" for one in took)
                self.faults.append(f"{name}: {shown} s")
                print(self.faults[-1], file=sys.stderr, flush=True)
                break
        self.worst.append((took[-1], name))

    def imported(self, name, kind, ending, made):
        """A file of a form, read by `import`."""
        file = self.folder / f"hostile{ending}"

        def cost(size):
            content = made(size)
            if callable(content):
                file.unlink(missing_ok=True)
                content(file)
            else:
                file.write_bytes(content if isinstance(content, bytes) else content.encode())
            return self.child("--no-daemon", "import", "--dry-run", "--from", kind, str(file))

        self.grow(f"import {kind}, {name}", cost)


def imports(home):
    for unit in UNITS[:: rounds(1, 5)]:
        home.imported(repr(unit), "markdown", ".md", lambda size: repeated(unit, size))
        nested = lambda size: repeated(unit, size) + "a"  # noqa: E731
        home.imported(f"nested {unit!r}", "markdown", ".md", nested)
    half = lambda size: "b" * (size // 2)  # noqa: E731
    many = lambda size, unit: repeated(unit, size // 2)  # noqa: E731
    for name, made in {
        "a long heading over many": lambda n: f"# {half(n)}\n\na\n\n" + many(n, "## c\n\nd\n\n"),
        "a long title over many": lambda n: f"---\ntitle: {half(n)}\n---\n"
        + many(n, "## c\n\nd\n\n"),
        "many labels over many": lambda n: "---\ntags: ["
        + numbered(n // 2, lambda i: f"t{i},")
        + "]\n---\n"
        + many(n, "## c\n\nd\n\n"),
        "many tags in long sections": lambda n: "# a\n\n"
        + numbered(n // 2, lambda i: f"#t{i} ")
        + "\n\n"
        + many(n, f"{'c d ' * 500}\n\n"),
        "a long observation of many": lambda n: f"# a\n\n- [x] {half(n)}\n"
        + many(n, "- [y] z #t\n"),
        "many links to one": lambda n: "# a\n\n" + numbered(n, lambda i: f"- knows [[n{i}]]\n"),
    }.items():
        home.imported(name, "markdown", ".md", made)
    for unit in YAML[:: rounds(1, 5)]:
        front = lambda size: f"---\n{repeated(unit, size)}\n---\na\n"  # noqa: E731
        home.imported(f"front {unit!r}", "markdown", ".md", front)
        whole = lambda size: f"---\n{repeated(unit, size)}"  # noqa: E731
        home.imported(f"yaml {unit!r}", "reprise", ".yaml", whole)
    home.imported(
        "many keys", "markdown", ".md",
        lambda size: "---\n" + numbered(size, lambda i: f"k{i}: v\n") + "---\na\n",
    )
    json_files(home)
    databases(home)
    repositories(home)


def json_files(home):
    forms = {
        "frames": '{"id":"f","content":"a","frame_type":"x","metadata":%s,"tags":%s}\n',
        "server-memory": '{"type":"entity","name":"n","entityType":"x","observations":%s,"o":%s}\n',
        "mem0": '{"id":"m","memory":"a","hash":"h","metadata":%s,"categories":%s}\n',
        "sunwell": '{"fact":"a","category":"type","metadata":%s,"tags":%s}\n',
        "reprise": '{"id":"01KHMQXV4C0000000000000000","text":"a","kind":"finding","known_at":'
        '"2026-01-01T00:00:00Z","source":"user_input","metadata":%s,"tags":%s}\n',
    }
    for kind, form in forms.items():
        deep = lambda size, kind=form: kind % ("[" * size + "]" * size, "[]")  # noqa: E731
        keys = lambda size, kind=form: kind % (  # noqa: E731
            "{" + numbered(size, lambda i: f'"k{i}":1,') + '"z":1}', "[]"
        )
        items = lambda size, kind=form: kind % (  # noqa: E731
            "{}", "[" + numbered(size, lambda i: f'"t{i}",') + '"z"]'
        )
        same = lambda size, kind=form: kind % (  # noqa: E731
            "{}", "[" + repeated('"t",', size) + '"z"]'
        )
        lines = lambda size, kind=form: numbered(  # noqa: E731
            size, lambda i: (kind % ("{}", "[]")).replace('"a"', f'"a{i}"')
        )
        shapes = {"deep": deep, "keys": keys, "items": items, "the same": same, "lines": lines}
        shapes["brackets"] = lambda size: "[" * size
        shapes["objects"] = lambda size: repeated('{"a":', size)
        shapes["one text"] = lambda size, kind=form: (kind % ("{}", "[]")).replace(
            '"a"', json.dumps(repeated("ab ", size))
        )
        for name, made in shapes.items():
            home.imported(name, kind, ".jsonl", made)
    entity = lambda size: json.dumps(  # noqa: E731
        {"type": "entity", "name": "n" * (size // 2), "entityType": "x", "observations":
         [f"o{i}" for i in range(size // 16)]}
    )
    home.imported("a long name of many", "server-memory", ".jsonl", entity)
    home.imported("links made and taken back", "reprise", ".jsonl", links_and_back)
    related = lambda size: json.dumps(  # noqa: E731
        {"id": "f", "content": "a", "frame_type": "x",
         "metadata": {"related_ids": [f"r{i}" for i in range(size // 8)]}}
    )
    home.imported("related to many", "frames", ".jsonl", related)
    chain = lambda size: numbered(  # noqa: E731
        size, lambda i: json.dumps(
            {"id": f"d{i}", "decision": f"x{i}", "rationale": "y", "supersedes": f"d{i - 1}"}
        ) + "\n",
    )
    home.imported("a chain of decisions", "sunwell", ".jsonl", chain)


def links_and_back(size):
    """An export that says of two records again and again that they are linked, then not."""
    ids = [f"01KHMQXV4C000000000000000{n}" for n in range(2)]
    count = size // 400 + 1
    at = "2026-01-01T00:00:00Z"
    said = [
        {what: {"record": ids[0], "to": ids[1], "relation": f"r{i}", "at": at}}
        for what in ["linked", "unlinked"] for i in range(count)
    ]
    lines = []
    for number, id in enumerate(ids):
        line = {"id": id, "text": f"a{number}", "kind": "finding", "known_at": at, "timestamp": at,
                "source": "user_input", "session_id": ""}
        lines.append(line)
    lines[-1]["archive"] = {"after": said, "lines": 2}
    return "".join(json.dumps(line) + "\n" for line in lines)


def database(*statements):
    def made(file):
        with sqlite3.connect(file) as opened:
            for statement, rows in statements:
                if rows is None:
                    opened.execute(statement)
                else:
                    opened.executemany(statement, rows)

    return made


def databases(home):
    def lessons(size):
        each = range(size // 64)
        return database(
            ("CREATE TABLE lessons (id, title, content)", None),
            ("CREATE TABLE lesson_tags (lesson_id, tag)", None),
            ("CREATE TABLE lesson_contexts (lesson_id, context, applies)", None),
            ("INSERT INTO lessons VALUES (?, ?, ?)", ((f"l{i}", f"t{i}", "c") for i in each)),
            ("INSERT INTO lesson_tags VALUES (?, ?)", ((f"l{i}", "t") for i in each)),
            ("INSERT INTO lesson_contexts VALUES (?, ?, 1)", ((f"l{i}", "c") for i in each)),
        )

    def of_one(size):
        count = size // 32
        return database(
            ("CREATE TABLE lessons (id, title, content)", None),
            ("CREATE TABLE lesson_tags (lesson_id, tag)", None),
            ("CREATE TABLE lesson_contexts (lesson_id, context, applies)", None),
            ("INSERT INTO lessons VALUES ('l', 't', 'c')", None),
            ("INSERT INTO lesson_tags VALUES ('l', ?)", ((f"t{i}",) for i in range(count))),
            ("INSERT INTO lesson_contexts VALUES ('l', ?, 1)", ((f"c{i}",) for i in range(count))),
        )

    def history(size):
        rows = ((f"m{i % 7}", f"said {i}") for i in range(size // 64))
        return database(
            ("CREATE TABLE history (memory_id, new_memory)", None),
            ("INSERT INTO history VALUES (?, ?)", rows),
        )

    def sessions(size):
        count = size // 64
        return database(
            ("CREATE TABLE sdk_sessions (project, content_session_id)", None),
            ("CREATE TABLE user_prompts (id, content_session_id, prompt_text)", None),
            ("CREATE TABLE observations (id, content_session_id, title, facts, files_read)", None),
            ("INSERT INTO sdk_sessions VALUES ('p', ?)", ((f"s{i}",) for i in range(count))),
            (
                "INSERT INTO user_prompts VALUES (?, ?, ?)",
                ((i, f"s{i}", f"p{i}") for i in range(count)),
            ),
            (
                "INSERT INTO observations VALUES (1, 's1', 't', ?, ?)",
                [(json.dumps([f"f{i}" for i in range(count)]),) * 2],
            ),
        )

    home.imported("lessons without an index", "ai-lessons", ".db", lessons)
    home.imported("one lesson of many", "ai-lessons", ".db", of_one)
    home.imported("a history of few", "mem0", ".db", history)
    home.imported("many sessions", "claude-mem", ".db", sessions)


def repositories(home):
    """A tree that holds itself again and again: more files than any disk has."""
    folder = home.folder / "bomb"

    def cost(size):
        subprocess.run(["rm", "-rf", folder], check=True)
        git = ["git", "-C", str(folder)]
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        run = lambda *words, said="": subprocess.run(  # noqa: E731
            [*git, *words], input=said, capture_output=True, text=True, check=True
        ).stdout.strip()
        held, kind = run("hash-object", "-w", "--stdin", said="x"), "100644 blob"
        # Eight, eight times eight, ...: a level more for eight times the size.
        for _ in range(2 + (size // ONCE)):
            tree = "".join(f"{kind} {held}\td{n}\n" for n in range(8))
            held, kind = run("mktree", said=tree), "040000 tree"
        who = ["-c", "user.name=a", "-c", "user.email=a@example.invalid"]
        commit = subprocess.run(
            ["git", *who, "-C", str(folder), "commit-tree", held, "-m", "many"],
            capture_output=True, text=True, check=True,
        ).stdout.strip()
        run("update-ref", "refs/heads/main", commit)
        run("symbolic-ref", "HEAD", "refs/heads/main")
        return home.child("--no-daemon", "import", "--dry-run", "--from", "git", str(folder))

    home.grow("import git, a tree of trees", cost)


HOOKS = {
    "claude-code": {"session_id": "s", "cwd": "/tmp", "hook_event_name": "PostToolUse"},
    "codex": {"session_id": "s", "cwd": "/tmp", "hook_event_name": "PostToolUse"},
    "cursor": {"conversation_id": "s", "workspace_roots": ["/tmp"]},
    "gemini": {"session_id": "s", "cwd": "/tmp"},
    "opencode": {"session_id": "s", "cwd": "/tmp"},
}
EVENTS = "session-start user-prompt post-tool answer stop pre-compact session-end".split()


def hooks(home):
    """Every program at every event, with much in every field that is read."""
    daemon = home.serve("--idle-exit", "3600")
    texts = {
        "failing lines": lambda size: numbered(size, lambda i: f"error: {i}\n"),
        "panics": lambda size: numbered(size, lambda i: f"panicked at {i}\nx\n"),
        "frames": lambda size: repeated("<reprise-0123456789abcdef>", size),
        "elements": lambda size: repeated("<private>", size),
        "tags": lambda size: repeated("<", size),
        "counts": lambda size: repeated("1 failed ", size),
        "exit codes": lambda size: repeated("exit code\n", size),
        "keys": lambda size: repeated("password=", size),
        "one line": lambda size: repeated("a", size),
        "patch": lambda size: "*** Begin Patch\n"
        + numbered(size, lambda i: f"*** Add File: {i}\n"),
    }
    for program, head in HOOKS.items():
        for event in EVENTS:
            for name, made in list(texts.items())[:: rounds(1, 3)]:
                def cost(size):
                    # The event with all its fields stays below the 4 MiB that are read.
                    text = made(size // 6)
                    body = head | {
                        "prompt": text, "last_assistant_message": text, "text": text,
                        "prompt_response": text, "tool_input": {"command": text, "patch": text},
                        "tool_response": {"exit_code": 1, "stdout": text},
                        "tool_output": text, "exit_code": 1,
                    }
                    used = home.used(daemon.pid)
                    own = home.child(
                        "hook", event, "--program", program, "--user", "ada",
                        "--deadline-ms", "60000",
                        said=json.dumps(body),
                    )
                    return own + home.used(daemon.pid) - used

                home.grow(f"hook {program} {event}, {name}", cost)
    daemon.terminate()
    daemon.wait()


class Browser:
    """Somebody who is signed in at the page."""

    def __init__(self, home):
        opened = json.loads(home.local("POST", "/v1/page", {"user": "ada"})[1])
        address, path = opened["url"].removeprefix("http://").split("/", 1)
        self.host, self.cookie = address, ""
        heads = self.ask("GET", f"/{path}")[1]
        self.cookie = heads["set-cookie"].split(";")[0]

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection(self.host, timeout=600)
        heads = {"Cookie": self.cookie, "Content-Type": "application/x-www-form-urlencoded"}
        connection.request(method, path, body, heads)
        answer = connection.getresponse()
        said = answer.read().decode(errors="replace")
        connection.close()
        return answer.status, answer.headers, said

    def form_token(self, path):
        said = self.ask("GET", path)[2]
        return said.split('name="form_token" value="', 1)[1].split('"', 1)[0]


def page(home):
    """Each form of the page with much in each of its fields; each room over much."""
    daemon = home.serve("--idle-exit", "3600")
    lines = [{"external_id": f"e{n}", "text": f"note {n} of otters"} for n in range(3)]
    home.ingest("ada", lines)
    browser = Browser(home)
    listed = home.run("--json", "list", "--user", "ada").stdout.splitlines()
    id = json.loads(listed[0])["id"]
    of = f"/records/{id}"
    forms = {
        f"{of}/correct": ["text", "title", "content", "tags", "details", "base"],
        f"{of}/tags": ["tags", "add", "remove"],
        f"{of}/link": ["to", "relation"],
        f"{of}/unlink": ["to", "relation", "direction"],
        f"{of}/standing": ["visibility", "retention", "confidence"],
        f"{of}/forget": ["reason"],
        "/erase": ["ids", "reason", "confirm"],
        "/undo": ["number"],
        "/search/judge": ["query", "q", "id", "verdict"],
        "/knowledge/merge": ["from", "to"],
        "/knowledge/answer": ["pair", "answer", "action"],
        "/knowledge/consolidate": ["agreed"],
        "/knowledge/undo": ["action"],
        "/learning": ["state"],
        "/care/tokens": ["name", "may", "user"],
        "/care/tokens/revoke": ["name"],
        f"{of}/publish": ["agreed", "branch"],
        "/global/unpublish": ["id"],
        "/workspace/approve": ["path", "id", "actor"],
    }
    units = ["a. ", "password=", "<private>", "a,", "://", "\u0301", "a", "\n"][:: rounds(1, 8)]
    for path, fields in forms.items():
        for field in fields:
            for unit in units:
                def cost(size):
                    token = browser.form_token("/")
                    # A form is at most 256 KiB long.
                    fits = min(size // 8, 30 * 1024)
                    much = {field: repeated(unit, fits), "form_token": token}
                    body = urllib.parse.urlencode(much)
                    return home.of_daemon(daemon.pid, lambda: browser.ask("POST", path, body))

                home.grow(f"page {path.replace(id, 'ID')} {field}, {unit!r}", cost)
    many = lambda size: urllib.parse.urlencode(  # noqa: E731
        [("form_token", browser.form_token("/"))] + [(f"k{i}", i) for i in range(size // 64)]
    )
    home.grow("page, many fields", lambda size: home.of_daemon(
        daemon.pid, lambda: browser.ask("POST", f"{of}/tags", many(size))))
    rooms = ["/search?q=", "/timeline?q=", "/timeline?tag=", "/knowledge?q=", "/records/", "/?x="]
    for room in rooms:
        for unit in units:
            def ask(size):
                said = urllib.parse.quote(repeated(unit, min(size // 64, 16 * 1024)))
                return home.of_daemon(daemon.pid, lambda: browser.ask("GET", room + said))

            home.grow(f"page {room}, {unit!r}", ask)
    daemon.terminate()
    daemon.wait()


with Costs() as home:
    for part in [imports, hooks, page]:
        if not ONLY or any(word.startswith(part.__name__[:4]) for word in ONLY):
            part(home)
    worst = ", ".join(f"{took:.2f} s {name}" for took, name in sorted(home.worst)[-5:])
    print(f"{home.measured} measured, {len(home.faults)} faults; most: {worst}", file=sys.stderr)
    assert home.measured, f"nothing is called {ONLY}"
    assert not home.faults, f"{len(home.faults)} faults, such as {home.faults[0]}"
