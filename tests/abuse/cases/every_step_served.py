#!/usr/bin/env python3
"""The same beside a daemon that has the memory open: the daemon, or the command, is killed or fails
at each rename and sync of compact, restore, backup and merge."""

from abuse import Home, rounds, within
from steps import KEPT, Steps

with Home() as home:
    steps = Steps(home)
    armed = home.folder / "armed"

    def begin(shim):
        """A daemon that has written to the memory; it takes steps once it is armed."""
        home.run("serve", "stop")
        armed.unlink(missing_ok=True)
        steps.reset()
        daemon = home.serve(shim=shim and shim | {"SHIM_ARMED": armed})
        home.done("edit", "--user", "ada", KEPT[20], "--tags", "written")
        armed.touch()
        return daemon

    for command, after, copied in steps.commands():
        taken = 0
        for whose in ["the daemon", "the command"]:
            served = whose == "the daemon"
            tracing = {"SHIM_TRACE": steps.trace}
            begin(tracing if served else None)
            home.done(*command, shim=None if served else tracing)
            armed.unlink()
            traced = steps.traced()
            taken += len(traced)
            for number, step in list(enumerate(traced, 1))[:: rounds(1, 5)]:
                for how in ["SHIM_KILL", "SHIM_FAIL"]:
                    when = f"{' '.join(command[:2])}, {how} of {whose} at {number} ({step})"
                    shim = {how: number}
                    daemon = begin(shim if served else None)
                    ended = home.run(*command, shim=None if served else shim)
                    if how == "SHIM_KILL" and served:
                        # What the daemon does a moment later of itself is a step too.
                        within(20, lambda: daemon.poll() == -9, f"{when}: was not killed")
                    elif how == "SHIM_KILL":
                        assert ended.returncode == -9, f"{when}: was not killed"
                    armed.unlink()
                    steps.look(when, ended, after, copied)
                    steps.again(when, command, after, copied)
        assert taken > 2, f"{command[:2]}: the daemon and the command take no steps"
    home.run("serve", "stop")
