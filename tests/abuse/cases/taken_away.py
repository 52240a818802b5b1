#!/usr/bin/env python3
"""The file is removed, moved away, replaced, or its folder goes, under a daemon: no write is
answered 200 and then gone, no second writer gets in, and the next write is kept."""

import json
import shutil

from abuse import Home

LINE = '{"text":"of a second writer"}\n'

with Home() as home:
    home.serve("--idle-exit", "600")
    folder = home.data / "ada"
    file = folder / "memory.rvf"
    kept, number = [], 0

    def write():
        """Keeps one record; what was said where it was refused."""
        global number
        number += 1
        text = f"note {number}"
        status, said = home.local("POST", "/v1/users/ada/records", {"text": text})
        if status == 200:
            kept.append(text)
            return None
        return json.loads(said)["detail"]

    def is_all_there(when):
        again = [text for text in (write() for _ in range(3)) if text]
        assert len(again) <= 1, f"{when}: refused again and again: {again}"
        there = home.texts("ada")
        lost = [text for text in kept if text not in there]
        assert not lost, f"{when}: acknowledged and gone: {lost}"
        second = home.run("--no-daemon", "ingest", "--user", "ada", "--jsonl", "-", input=LINE)
        assert second.returncode != 0, f"{when}: a second writer got in"

    def removed():
        file.unlink()

    def folder_removed():
        shutil.rmtree(folder)

    for harm in [removed, folder_removed]:
        assert write() is None
        harm()
        refused = write()
        when = harm.__name__
        assert refused and "memory.rvf" in refused, f"{when}: {refused or 'answered 200'}"
        is_all_there(when)
    for moved in [file, folder]:
        assert write() is None
        moved.rename(home.folder / "elsewhere")
        when = f"{moved.name} moved away"
        for _ in range(2):
            refused = write()
            assert refused and "move it back" in refused, f"{when}: {refused or 'answered 200'}"
        (home.folder / "elsewhere").rename(moved)
        is_all_there(f"{when} and back")
    # Another memory in its place: what was in ours is saved beside it, and said.
    home.ingest("bob", [{"text": "of bob"}])
    home.done("backup", "--user", "bob", str(home.folder / "bob.rvf"))
    with Home() as machine:
        machine.ingest("ada", [{"text": "of another machine"}])
        machine.done("backup", "--user", "ada", str(home.folder / "ada.rvf"))
    (home.folder / "ada.rvf").rename(file)
    refused = write()
    assert refused and ".rescued" in refused, f"put over it: {refused or 'answered 200'}"
    kept = ["of another machine"]
    is_all_there("put over it")
    # That of another user is named, and nothing of it is shown.
    (home.folder / "bob.rvf").rename(file)
    refused = write()
    assert refused and ".rescued" in refused, f"bob's put over it: {refused or 'answered 200'}"
    refused = write()
    assert refused and "`bob`" in refused, f"bob's in its place: {refused or 'answered 200'}"
    exported = home.run("export", "--user", "ada")
    assert exported.returncode != 0 and "of bob" not in exported.stdout, exported.stdout
