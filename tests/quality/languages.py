#!/usr/bin/env python3
"""How often a note is found by a question in other words, in five languages.

    languages.py REPRISE [--model] [--config FILE] [FILE.jsonl ...]

REPRISE is the binary. Each file of languages/ (its README.md has the form) becomes a memory of its own in a
temporary directory, and each question is put to it. Printed is how often the right note came first, and
among the first five: by words alone; with --model also with the model in use (words and meaning). --config
hands REPRISE a configuration file, such as one with another model.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).parent / "languages"


def run(command, lines, path):
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    return subprocess.run([*command, path], check=True, stdout=subprocess.PIPE, text=True).stdout


def places(command, notes, user, folder):
    """The place of the right note for each question; None where it is not among the first five."""
    lines = pathlib.Path(folder, "lines.jsonl")
    records = [{"external_id": note["id"], "text": note["text"], "source": "user_input",
                "kind": "finding", "timestamp": f"2026-01-{1 + at % 28:02}T{at // 28:02}:00:00Z"}
               for at, note in enumerate(notes)]
    run([*command, "ingest", "--user", user, "--jsonl"], records, lines)
    queries = [{"query_id": note["id"], "query": note["question"]} for note in notes]
    answers = run([*command, "recall", "--user", user, "--top-k", "5", "--json", "--queries"],
                  queries, lines)
    found = []
    for line in answers.splitlines():
        answer = json.loads(line)
        ids = [result["external_id"] for result in answer["results"]]
        found.append(ids.index(answer["query_id"]) if answer["query_id"] in ids else None)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("reprise")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--model", action="store_true")
    parser.add_argument("--config")
    options = parser.parse_args()
    files = options.files or sorted(HERE.glob("*.jsonl"))
    print(f"{'':4} {'words':>14} {'with meaning':>16}")
    print(f"{'':4} {'first  in five':>14} {'first  in five':>16}")
    for path in files:
        notes = [json.loads(line) for line in open(path, encoding="utf-8")]
        row = []
        with tempfile.TemporaryDirectory() as folder:
            base = [options.reprise, "--data-dir", folder, "--no-daemon"]
            base += ["--config", options.config] if options.config else []
            for flags in [["--no-model"]] + ([[]] if options.model else []):
                found = places([*base, *flags], notes, f"u{len(flags)}", folder)
                first = sum(place == 0 for place in found) / len(notes)
                five = sum(place is not None for place in found) / len(notes)
                row.append(f"{first:6.1%}  {five:6.1%}")
        print(f"{path.stem:4} {'   '.join(row)}")


if __name__ == "__main__":
    main()
