#!/usr/bin/env python3
"""compact, restore, backup and merge are killed, and fail, at each of their renames and syncs: a
memory and a backup are what they were or what they were to be, and the command then succeeds."""

from abuse import Home
from steps import Steps

with Home() as home:
    steps = Steps(home)
    for command, after, copied in steps.commands():
        steps.reset()
        home.done(*command, shim={"SHIM_TRACE": steps.trace})
        traced = steps.traced()
        assert any("sync" in step for step in traced), f"{command[0]} syncs nothing: {traced}"
        for number, step in enumerate(traced, 1):
            for how in ["SHIM_KILL", "SHIM_FAIL"]:
                steps.reset()
                ended = home.run(*command, shim={how: number})
                when = f"{command[0]}, {how} at {number} ({step})"
                assert how == "SHIM_FAIL" or ended.returncode == -9, f"{when}: was not killed"
                steps.look(when, ended, after, copied)
                steps.again(when, command, after, copied)
