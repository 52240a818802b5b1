#!/usr/bin/env python3
"""Notes and questions in five languages (`across/topics.txt`): each model beside BM25.

    python3 tests/quality/across.py REPRISE [MODEL ...]

MODEL is a name of `reprise doctor models list` (int8, multilingual-e5-small, ...). Prints, for notes and
questions in one language, and for 120 notes in five languages asked in another one, how often the
right note comes first and is among the first five: by words alone, by the model's cosine alone, and
by Reprise with the model.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

TOPICS = pathlib.Path(__file__).parent / "across" / "topics.txt"
LANGUAGES = ["ru", "de", "zh", "es", "ja"]


def topics():
    """A list of {language: (note, question)}."""
    found = []
    for line in TOPICS.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        language, rest = line[:2], line[3:]
        note, question = rest.split(" | ")
        if language == LANGUAGES[0]:
            found.append({})
        found[-1][language] = (note, question)
    return found


def write(folder, records, queries):
    """`records` are (id, text), `queries` (id, text, [gold])."""
    folder.mkdir()
    lines = lambda items: "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items)
    put = lambda name, items: (folder / name).write_text(lines(items), encoding="utf-8")
    put("records.jsonl", ({"external_id": i, "text": t, "source": "user_input"} for i, t in records))
    put("queries.jsonl", ({"query_id": i, "query": t} for i, t, _ in queries))
    put("gold.jsonl", ({"query_id": i, "gold": g, "category": "1"} for i, _, g in queries))


def sets(root):
    """The folders by name."""
    all_topics = topics()
    named = {}
    for language in LANGUAGES:
        records = [(f"{language}{n}", t[language][0]) for n, t in enumerate(all_topics)]
        queries = [(f"q{n}", t[language][1], [f"{language}{n}"]) for n, t in enumerate(all_topics)]
        named[language] = root / language
        write(named[language], records, queries)
    records, queries = [], []
    for n, topic in enumerate(all_topics):
        own = [LANGUAGES[n % 5], LANGUAGES[(n + 2) % 5]]
        gold = [f"{language}{n}" for language in own]
        records += [(i, topic[language][0]) for i, language in zip(gold, own)]
        for step in (1, 3):
            other = LANGUAGES[(n + step) % 5]
            queries.append((f"q{n}-{other}", topic[other][1], gold))
    named["across"] = root / "across"
    write(named["across"], records, queries)
    return named


def main():
    lab, models = pathlib.Path(sys.argv[1]).with_name("reprise-lab"), sys.argv[2:] or ["int8"]
    with tempfile.TemporaryDirectory() as root:
        root = pathlib.Path(root)
        named = sets(root)
        print(f"{'':<10}{'system':<40}{'first':>8}{'in five':>9}")
        for name, folder in named.items():
            for model in models:
                config = root / f"{model}.toml"
                config.write_text(f'[memory]\nmodel = "{model}"\n')
                command = [str(lab), "--no-daemon", "--data-dir", str(root / "data"), "--config",
                           str(config), "eval", "jsonl", "--data", str(folder), "--json"]
                report = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
                for system in report["systems"]:
                    kind = system["name"].strip()
                    if kind.startswith("rrf") or (kind == "bm25" and model != models[0]):
                        continue
                    label = kind if kind == "bm25" else f"{kind}, {model}"
                    found = system["turn"]["any"]
                    print(f"{name:<10}{label:<40}{found['1']:>7.1f}%{found['5']:>8.1f}%")


if __name__ == "__main__":
    main()
