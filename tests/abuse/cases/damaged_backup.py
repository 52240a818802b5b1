#!/usr/bin/env python3
"""`backup --all` where one memory is damaged: the others are backed up, that one is named, and what
can be read of it is saved beside its last whole backup."""

from abuse import Home

with Home() as home:
    users = ["ada", "bob", "cara"]
    for user in users:
        home.ingest(user, ({"text": f"{user} {n}"} for n in range(500)))
        # More than one commit, so that a hole costs no more than what is in it.
        home.ingest(user, ({"text": f"{user} later {n}"} for n in range(500)))
    to = home.folder / "all"
    home.done("backup", "--all", str(to))
    whole = {user: (to / f"{user}.rvf").read_bytes() for user in users}
    damaged = home.data / "bob/memory.rvf"
    bytes_ = bytearray(damaged.read_bytes())
    bytes_[len(bytes_) // 3] ^= 0x10
    damaged.write_bytes(bytes_)
    home.ingest("ada", [{"text": "ada goes on"}])
    ended = home.run("backup", "--all", str(to))
    assert ended.returncode != 0, "a damaged memory was not told"
    assert "bob" in ended.stderr and "ada" not in ended.stderr, ended.stderr
    assert (to / "bob.rvf").read_bytes() == whole["bob"], "the last whole backup is gone"
    assert (to / "ada.rvf").read_bytes() != whole["ada"], "the others were not backed up"
    home.done("backup", "restore", str(to / "bob.salvaged.rvf"), "--user", "saved")
    saved = home.texts("saved")
    assert set(saved) <= {f"bob {n}" for n in range(500)} | {f"bob later {n}" for n in range(500)}
    assert len(saved) >= 500, f"{len(saved)} of 1,000 records were saved"
    home.done("backup", "restore", str(to / "cara.rvf"), "--user", "cara-again")
    assert len(home.texts("cara-again")) == 1000
