#!/usr/bin/env python3
"""Generates the client libraries `reprise-client` for Python and TypeScript from what the programs say of themselves.

Usage: generate.py OUT --memory URL --token TOKEN --knowledge URL
The first URL is that of a daemon (`reprise serve --http`), the second that of a service (`reprise global serve`).
Needs `openapi-python-client` of PyPI and `openapi-typescript` of npm on the path; see tests/clients/sdk.sh.
"""

import argparse
import json
import shutil
import subprocess
import tempfile
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
# What the paths of each description are about.
PARTS = {"memory": "a user's own memory", "knowledge": "a team's published memories"}


def fetch(url: str, token: str) -> dict:
    request = urllib.request.Request(f"{url}/openapi.json", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def simplified(node):
    """Returns a description that every generator takes.

    A schema that is `true` takes anything, as `{}` does. Which fields of an object exclude or need each other is for
    the server to check: a generator would make a type of each choice, without the other fields.
    """
    if isinstance(node, list):
        return [simplified(one) for one in node]
    if not isinstance(node, dict):
        return node
    schemas = ("items", "additionalProperties", "schema")
    plain = {name: {} if name in schemas and one is True else simplified(one) for name, one in node.items()}
    if isinstance(plain.get("properties"), dict):
        plain["properties"] = {name: {} if one is True else one for name, one in plain["properties"].items()}
        if plain.get("type") == "object":
            for choice in ("anyOf", "oneOf", "allOf"):
                plain.pop(choice, None)
    for choice in ("anyOf", "oneOf"):
        if choice in plain:
            plain[choice] = with_one_enum(plain[choice])
            if len(plain[choice]) == 1:
                plain |= {"description": plain.get("description", "")} | plain.pop(choice)[0]
    return plain


def with_one_enum(choices: list) -> list:
    """Makes one list of words of those that a description explains one by one."""
    words = [one["const"] for one in choices if isinstance(one.get("const"), str)]
    others = [one for one in choices if not isinstance(one.get("const"), str)]
    return others + ([{"type": "string", "enum": words}] if words else [])


def keep_known_forms(operation: dict) -> None:
    """Keeps JSON where a body may also be lines of JSON, and makes an answer in lines a text."""
    body = operation.get("requestBody", {}).get("content", {})
    if "application/json" in body:
        body.pop("application/x-ndjson", None)
    for answer in operation["responses"].values():
        content = answer.get("content", {})
        if "application/x-ndjson" in content:
            content["text/plain"] = content.pop("application/x-ndjson")


def generate_python(descriptions: dict, out: Path) -> None:
    package = out / "reprise_client"
    package.mkdir(parents=True)
    (package / "py.typed").touch()
    with tempfile.TemporaryDirectory() as work:
        config = Path(work) / "config.yaml"
        config.write_text("post_hooks: []\nliteral_enums: true\n")
        for part, file in descriptions.items():
            command = ["openapi-python-client", "generate", "--path", file, "--meta", "none"]
            command += ["--output-path", package / part, "--config", config]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def generate_typescript(descriptions: dict, out: Path) -> None:
    (out / "src").mkdir(parents=True)
    for part, file in descriptions.items():
        command = ["openapi-typescript", file, "--output", out / "src" / f"{part}.ts"]
        # A field with a default may be left out.
        command += ["--default-non-nullable", "false"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--memory", required=True, metavar="URL")
    parser.add_argument("--token", required=True)
    parser.add_argument("--knowledge", required=True, metavar="URL")
    given = parser.parse_args()
    documents = {"memory": fetch(given.memory, given.token), "knowledge": fetch(given.knowledge, given.token)}
    version = documents["memory"]["info"]["version"]
    with tempfile.TemporaryDirectory() as work:
        files = {part: Path(work) / f"{part}.json" for part in PARTS}
        for part, file in files.items():
            document = simplified(documents[part])
            for methods in document["paths"].values():
                for operation in methods.values():
                    operation["tags"] = ["operations"]
                    keep_known_forms(operation)
            file.write_text(json.dumps(document))
        for language, generate in (("python", generate_python), ("typescript", generate_typescript)):
            target = given.out / language
            shutil.rmtree(target, ignore_errors=True)
            generate(files, target)
            for source in (HERE / language).iterdir():
                place = target / source.name
                if source.name in ("index.ts", "__init__.py"):
                    place = target / ("src" if language == "typescript" else "reprise_client") / source.name
                place.write_text(source.read_text().replace("@VERSION@", version))


if __name__ == "__main__":
    main()
