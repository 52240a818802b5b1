"""Packs a built `reprise` into a Python wheel and an npm package; deploy/package.sh says how.

Both carry the same files: the binary, its plug-ins, completions for three shells and the manual
pages, which the binary writes itself. Nothing is downloaded and nothing is compiled.
"""

import argparse
import base64
import csv
import hashlib
import io
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile

TOP = pathlib.Path(__file__).resolve().parent.parent
PLUGINS = ("reprise-workspace", "reprise-global", "reprise-seal")
SUMMARY = "Episodic memory for AI agents: one file per user, no LLM call, every answer says why"
# Entries of an archive all have this time, so that the same input gives the same bytes.
EPOCH = (1980, 1, 1, 0, 0, 0)

LAUNCHER = """\
#!/usr/bin/env node
// Runs the binary of this platform's package with the arguments given.
const { spawn } = require("node:child_process");
const { basename, dirname, join } = require("node:path");

const name = `@reprise/${process.platform}-${process.arch}`;
let folder;
try {
  folder = join(dirname(require.resolve(`${name}/package.json`)), "bin");
} catch {
  console.error(`error: reprise has no package for this platform (${name}); build it from source`);
  process.exit(2);
}
const program = basename(process.argv[1]).replace(/\\.js$/, "");
const child = spawn(join(folder, program), process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`error: ${program} could not be started: ${error.message}`);
  process.exit(2);
});
// A signal to this process is meant for the program. A terminal sends Ctrl-C to both.
const SIGNALS = ["SIGHUP", "SIGINT", "SIGTERM"];
for (const signal of SIGNALS) {
  process.on(signal, () => {
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  });
}
child.on("exit", (status, signal) => {
  if (!signal) process.exit(status);
  SIGNALS.forEach((one) => process.removeAllListeners(one));
  process.kill(process.pid, signal);
});
"""


def fail(sentence):
    sys.exit(f"error: {sentence}")


def version_of(binary):
    """Returns the version that the binary prints."""
    try:
        printed = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        fail(f"{binary} does not run here ({error}); pass a binary of this platform")
    found = re.search(r"\d+\.\d+\.\d+[-+.\w]*", printed.stdout)
    return found.group() if found else fail(f"{binary} prints no version: {printed.stdout!r}")


def glibc_of(paths):
    """Returns the newest glibc that one of the files needs, as (major, minor)."""
    found = set()
    for path in paths:
        names = re.findall(rb"GLIBC_(\d+)\.(\d+)(?:\.\d+)?\0", path.read_bytes())
        found.update((int(major), int(minor)) for major, minor in names)
    return max(found, default=None)


def wheel_tag(paths):
    """Returns the platform tag of a wheel with these files: what they really need, no less."""
    machine = platform.machine()
    if sys.platform == "darwin":
        machine = "arm64" if machine == "arm64" else "x86_64"
        return f"macosx_11_0_{machine}"
    glibc = glibc_of(paths)
    if glibc is None:
        return f"musllinux_1_1_{machine}"
    return f"manylinux_{glibc[0]}_{glibc[1]}_{machine}"


def npm_platform():
    """Returns node's names of this platform and processor."""
    machine = platform.machine().lower()
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(machine, machine)
    return sys.platform, machine


def shared_files(binary):
    """Returns what the binary writes of itself, as {path below share/: bytes}."""
    files = {}
    for shell, path in (
        ("bash", "bash-completion/completions/reprise"),
        ("zsh", "zsh/site-functions/_reprise"),
        ("fish", "fish/vendor_completions.d/reprise.fish"),
    ):
        files[path] = subprocess.run(
            [binary, "help", "--completions", shell], capture_output=True, check=True
        ).stdout
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([binary, "help", "--man", folder], check=True, capture_output=True)
        for page in sorted(pathlib.Path(folder).iterdir()):
            files[f"man/man1/{page.name}"] = page.read_bytes()
    return files


def write_wheel(out, version, binaries, shared):
    """Writes the wheel: scripts, shared data and metadata, as PEP 427 wants them."""
    tag = f"py3-none-{wheel_tag(binaries)}"
    info, data = f"reprise-{version}.dist-info", f"reprise-{version}.data"
    metadata = (
        f"Metadata-Version: 2.1\nName: reprise\nVersion: {version}\nSummary: {SUMMARY}\n"
        "License: MIT OR Apache-2.0\nRequires-Python: >=3.8\n"
        "Description-Content-Type: text/markdown\n\n" + (TOP / "README.md").read_text("utf-8")
    )
    entries = [(f"{data}/scripts/{path.name}", path.read_bytes(), 0o755) for path in binaries]
    entries += [(f"{data}/data/share/{path}", text, 0o644) for path, text in shared.items()]
    entries += [
        (f"{info}/METADATA", metadata.encode(), 0o644),
        (
            f"{info}/WHEEL",
            f"Wheel-Version: 1.0\nGenerator: reprise\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(),
            0o644,
        ),
    ]
    for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
        entries.append((f"{info}/licenses/{licence}", (TOP / licence).read_bytes(), 0o644))
    record = io.StringIO()
    lines = csv.writer(record, lineterminator="\n")
    for name, text, _ in entries:
        digest = base64.urlsafe_b64encode(hashlib.sha256(text).digest()).rstrip(b"=").decode()
        lines.writerow([name, f"sha256={digest}", len(text)])
    lines.writerow([f"{info}/RECORD", "", ""])
    entries.append((f"{info}/RECORD", record.getvalue().encode(), 0o644))
    path = out / f"reprise-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, text, mode in entries:
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, text)
    return path


def write_npm(out, version, binaries, shared):
    """Writes the npm package; the package of this platform is bundled in it.

    The main package names one optional package per platform, so that a registry that has several
    of them installs the one that fits.
    """
    system, machine = npm_platform()
    name = f"@reprise/{system}-{machine}"
    own = {"version": version, "license": "MIT OR Apache-2.0"}
    main = {
        "name": "reprise",
        "description": SUMMARY,
        **own,
        "bin": {path.name: f"bin/{path.name}.js" for path in binaries},
        "man": [f"share/{path}" for path in shared if path.startswith("man/")],
        "optionalDependencies": {name: version},
        "bundleDependencies": [name],
        "engines": {"node": ">=18"},
    }
    platform_package = {"name": name, **own, "os": [system], "cpu": [machine]}
    launcher = LAUNCHER.encode()
    entries = [("package.json", as_json(main), 0o644)]
    entries += [(f"bin/{path.name}.js", launcher, 0o755) for path in binaries]
    entries += [(f"share/{path}", text, 0o644) for path, text in shared.items()]
    for file in ("README.md", "LICENSE-MIT", "LICENSE-APACHE"):
        entries.append((file, (TOP / file).read_bytes(), 0o644))
    below = f"node_modules/{name}"
    entries.append((f"{below}/package.json", as_json(platform_package), 0o644))
    entries += [(f"{below}/bin/{path.name}", path.read_bytes(), 0o755) for path in binaries]
    path = out / f"reprise-{version}.tgz"
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as package:
        for name, text, mode in entries:
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size, entry.mode = len(text), mode
            package.addfile(entry, io.BytesIO(text))
    return path


def as_json(value):
    return (json.dumps(value, indent=2) + "\n").encode()


def main():
    parser = argparse.ArgumentParser(description="Packs a built reprise for pip and npm.")
    parser.add_argument("--binary", type=pathlib.Path, required=True, help="the built `reprise`")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder for both packages")
    arguments = parser.parse_args()
    binary = arguments.binary.resolve()
    if not binary.is_file():
        fail(f"`{arguments.binary}` does not exist; build it with cargo build --release -p reprise")
    binaries = [binary]
    binaries += [path for name in PLUGINS if (path := binary.with_name(name)).is_file()]
    arguments.out.mkdir(parents=True, exist_ok=True)
    version = version_of(binary)
    shared = shared_files(binary)
    for write in (write_wheel, write_npm):
        path = write(arguments.out, version, binaries, shared)
        print(f"{path} ({os.path.getsize(path) / 1e6:.1f} MB)")


main()
