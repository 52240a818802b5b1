#!/usr/bin/env python3
"""Secrets through every way into a memory: none is in a file afterwards, and `--verbatim` alone
keeps them."""

import json
import random
import string

from abuse import Home

draw = random.Random(7)


def some(count, letters=string.ascii_letters + string.digits):
    return "".join(draw.choice(letters) for _ in range(count))


def forms():
    """A text and the secret in it."""
    hexes = "0123456789abcdef"
    for text, secret in [
        ("export GITHUB_TOKEN={}", "ghp_" + some(36)),
        ("npm says {}", "npm_" + some(36)),
        ("glab uses {}", "glrt-" + some(20)),
        ("hf login {}", "hf_" + some(34)),
        ("DB_PASS={}", some(9, string.ascii_lowercase)),
        ("PGPASSWORD={} psql", some(14)),
        ('"clientSecret": "{}"', some(24)),
        ("mysql -uroot -p{} shop", some(12)),
        ("curl -u ada:{} https://x.example", some(12)),
        ("postgres://ada:{}@db/shop", some(6) + "/" + some(6)),
        ("machine h login ada password {}", some(14)),
        ("my password is {}", some(6) + "7!" + some(4)),
        ("AWS Secret Access Key [None]: {}", some(40)),
        ("VAULT_TOKEN={}", "hvs." + some(60)),
        ("Cookie: sid={}", some(32, hexes)),
        ("the token is {}", "rpr_" + some(43)),
        ("< Private >{}</ PRIVATE >", "cellar " + some(9)),
    ]:
        yield text.format(secret), secret


def held(home):
    files = [path for path in home.data.rglob("*") if path.is_file() and "events" not in path.name]
    return b"".join(path.read_bytes() for path in files)


with Home() as home:
    offline, online, learned, hooked = (list(forms()) for _ in range(4))
    file = home.folder / "in.jsonl"

    def write(pairs):
        file.write_text("".join(json.dumps({"text": text}) + "\n" for text, _ in pairs))

    write(offline)
    done = home.run("ingest", "--user", "ada", "--jsonl", str(file))
    assert done.returncode == 0, done.stderr
    home.serve()
    write(online)
    done = home.run("ingest", "--user", "ada", "--jsonl", str(file))
    assert done.returncode == 0, done.stderr
    for text, _ in learned:
        status, said = home.local("POST", "/v1/users/ada/records", {"text": text})
        assert status == 200, said
    for n, (text, _) in enumerate(hooked):
        report = {"session": f"s{n}", "text": f"please look at the build: {text}",
                  "deadline_ms": 60_000}
        status, said = home.local("POST", "/v1/users/ada/hooks/user-prompt", report)
        assert status == 200, said
    exported = home.run("export", "--user", "ada").stdout
    stored = held(home) + exported.encode()
    for way, pairs in [("ingest", offline + online), ("HTTP", learned), ("a hook", hooked)]:
        for text, secret in pairs:
            assert secret.encode() not in stored, f"{way} kept a secret: {text}"
    verbatim, secret = next(forms())
    write([(verbatim, secret)])
    home.run("ingest", "--user", "ada", "--verbatim", "--jsonl", str(file))
    assert secret in home.run("export", "--user", "ada").stdout, "--verbatim kept nothing"
