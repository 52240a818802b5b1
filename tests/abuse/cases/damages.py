#!/usr/bin/env python3
# Whole: at most 5400 s.
"""A memory's file is damaged in every way that a disk, a copy or another program may: no command
panics or hangs, none shows a text that nobody wrote, and a repair leaves a memory that is whole."""

import json
import os
import random
import shutil
import sys

from abuse import Home, rounds

SEED = int(os.environ.get("SEED", "43"))
ROUNDS = rounds(2000, 25)
RECORDS = 40
# What each file is asked in its turn; the first and the last two are asked of every file.
READS = [
    ["export"], ["recall", "zebra number 7"], ["list"], ["doctor", "check", "--json"],
    ["backup", "{folder}/copy.rvf", "--force"], ["doctor", "audit"], ["tags"],
]


def flip_bit(d, dice):
    at = dice.randrange(len(d))
    d[at] ^= 1 << dice.randrange(8)
    return d


def set_bytes(d, dice):
    at, n = dice.randrange(len(d)), dice.choice([1, 2, 4, 8, 64, 512])
    fill = dice.choice([b"\0", b"\xff", bytes([dice.randrange(256)])])
    d[at:at + n] = fill * len(d[at:at + n])
    return d


def cut(d, dice):
    return d[:dice.randrange(len(d))]


def grow(d, dice):
    return d + dice.randbytes(dice.choice([1, 7, 64, 4096]))


def move(d, dice):
    """A stretch stands elsewhere, as where segments are swapped."""
    unit = dice.choice([1, 64, 128, 256])
    blocks = max(len(d) // unit, 1)
    start = dice.randrange(blocks) * unit
    end = min(start + dice.randint(1, 8) * unit, len(d))
    piece, rest = d[start:end], d[:start] + d[end:]
    to = dice.randrange(len(rest) // unit + 1) * unit
    return rest[:to] + piece + rest[to:]


def double(d, dice):
    unit = dice.choice([64, 128, 256])
    start = dice.randrange(len(d) // unit) * unit
    end = start + dice.randint(1, 16) * unit
    return d[:end] + d[start:end] + d[end:]


def drop(d, dice):
    start = dice.randrange(len(d))
    return d[:start] + d[start + dice.choice([1, 8, 64, 128, 1024]):]


def huge_number(d, dice):
    """A number of the file, wherever one may be, is out of all proportion."""
    size = dice.choice([4, 8])
    at = dice.randrange(max(len(d) - size, 1))
    value = dice.choice([2 ** (8 * size) - 1, 2 ** (8 * size - 1), 2 ** 31, len(d), len(d) + 1, 0])
    d[at:at + size] = (value % 2 ** (8 * size)).to_bytes(size, "little")
    return d


WAYS = [flip_bit, set_bytes, cut, grow, move, double, drop, huge_number]


def written(home):
    """A memory with versions, links, tags and what was forgotten; the texts that it ever had."""
    lines = [{"text": f"zebra number {n} of the herd", "external_id": f"z{n}",
              "tags": [f"herd{n % 3}"], "session_id": f"s{n % 5}"} for n in range(RECORDS)]
    home.ingest("ada", lines[:RECORDS // 2])
    home.ingest("ada", lines[RECORDS // 2:])
    texts = {line["text"] for line in lines}
    for n in range(3):
        text = f"zebra number {n} has a foal now"
        home.done("edit", "--user", "ada", f"z{n}", text)
        texts.add(text)
    home.done("forget", "--user", "ada", "--external-id", "z9")
    return texts


def sound(ended, what):
    """A command may refuse; it may not break."""
    assert ended.returncode in (0, 1, 2), f"{what}: it ended with {ended.returncode}: {ended.stderr}"
    assert "panicked" not in ended.stderr, f"{what}: {ended.stderr}"


def texts_of(home, what):
    ended = home.run("export", "--user", "ada")
    sound(ended, what)
    return {json.loads(line)["text"] for line in ended.stdout.splitlines()}


with Home() as home:
    known = written(home)
    folder, kept = home.data / "ada", home.folder / "kept"
    shutil.copytree(folder, kept)
    whole = (kept / "memory.rvf").read_bytes()
    rewritten = unharmed = 0
    for number in range(ROUNDS):
        dice = random.Random(f"{SEED} {number}")
        way = dice.choice(WAYS)
        damaged = bytes(way(bytearray(whole), dice))
        what = f"seed {SEED}, round {number}, {way.__name__}"
        shutil.rmtree(home.data)
        shutil.copytree(kept, folder)
        (folder / "memory.rvf").write_bytes(damaged)
        read = [part.format(folder=home.folder) for part in READS[number % len(READS)]]
        sound(home.run(*read, "--user", "ada"), f"{what}, {read[0]}")
        assert texts_of(home, what) <= known, f"{what}: a text that nobody wrote"
        sound(home.run("doctor", "check", "--repair", "--user", "ada"), f"{what}, repair")
        again = home.run("doctor", "check", "--user", "ada")
        sound(again, f"{what}, repaired")
        if again.returncode:
            # Where the log itself has a hole, the file is rewritten, as is said.
            assert "doctor compact" in again.stdout, f"{what}: {again.stdout} {again.stderr}"
            home.done("doctor", "compact", "--user", "ada")
            home.done("doctor", "check", "--user", "ada")
            rewritten += 1
        left = texts_of(home, f"{what}, repaired")
        assert left <= known, f"{what}: a text that nobody wrote"
        unharmed += len(left) == RECORDS - 1
        if number % 100 == 99:
            print(f"{number + 1} damages", file=sys.stderr, flush=True)
    print(f"{ROUNDS} damages: {unharmed} cost no text, {rewritten} had to be rewritten; 0 panics, "
          "0 invented", file=sys.stderr)
