"""Runs a program that may open Unix sockets alone: a process that opens another is killed (SIGSYS).

    python3 unix_only.py PROGRAM [ARGUMENTS...]

The kernel holds it and all its children to that (seccomp), which needs no privilege.
"""

import ctypes
import os
import platform
import struct
import sys

SOCKET = {"x86_64": 41, "aarch64": 198}[platform.machine()]
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, KILL = 0x7FFF0000, 0x80000000
# Where the kernel tells a call: its number, and the low half of its first argument.
NUMBER, FIRST = 0, 16
UNIX = 1
NO_NEW_PRIVILEGES, SECCOMP, FILTER = 38, 22, 2

steps = [
    (LOAD, 0, 0, NUMBER),
    (JUMP_IF_EQUAL, 0, 3, SOCKET),
    (LOAD, 0, 0, FIRST),
    (JUMP_IF_EQUAL, 1, 0, UNIX),
    (RETURN, 0, 0, KILL),
    (RETURN, 0, 0, ALLOW),
]
code = b"".join(struct.pack("=HBBI", *step) for step in steps)
held = ctypes.create_string_buffer(code, len(code))
program = struct.pack("=HxxxxxxQ", len(steps), ctypes.addressof(held))
libc = ctypes.CDLL(None, use_errno=True)
for call in [(NO_NEW_PRIVILEGES, 1, 0, 0, 0), (SECCOMP, FILTER, program, 0, 0)]:
    if libc.prctl(*call) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
os.execvp(sys.argv[1], sys.argv[1:])
