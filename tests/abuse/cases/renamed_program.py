#!/usr/bin/env python3
"""A program under another file name, or moved meanwhile, takes out what it put in."""

import os
import shutil

import abuse
from abuse import Home

OWN = '{"theme": "dark"}\n'

with Home() as home:
    for name in ["memory-1.2", "memory-1.3"]:
        try:
            os.link(abuse.REPRISE, home.folder / name)
        except OSError:
            shutil.copy(abuse.REPRISE, home.folder / name)
    files = [home.folder / ".claude.json", home.folder / ".claude/settings.json"]
    files[1].parent.mkdir()
    for path in files:
        path.write_text(OWN)
    abuse.REPRISE = str(home.folder / "memory-1.2")
    home.done("connect", "claude-code", "--user", "ada")
    written = [path.read_text() for path in files]
    home.done("connect", "claude-code", "--user", "ada")
    assert [path.read_text() for path in files] == written, "it stands there twice"
    abuse.REPRISE = str(home.folder / "memory-1.3")
    home.done("connect", "claude-code", "--undo")
    for path in files:
        assert path.read_text() == OWN, f"{path.name} did not come back: {path.read_text()}"
