#!/usr/bin/env python3
"""REALTALK: questions about chats that people really had, at the level of turns.

    realtalk.py REPRISE FOLDER [-- OPTION ...]

FOLDER is `data` of a clone of github.com/danny911kr/REALTALK, which whoever runs this fetches; nothing of
it is stored here, and no weight was ever fitted on it. A chat is one memory and a message one record:
`Speaker: text`, and the caption of a photo. A question counts with the share of its `evidence` among
the first 1, 5 and 10, as `reprise-lab eval locomo` counts; one without evidence that exists is left
out. What follows `--` goes before every command (`--config FILE`).
"""
import datetime
import json
import pathlib
import re
import subprocess
import sys
import tempfile

FORMS = ["%d.%m.%Y, %H:%M:%S", "%Y-%m-%d %H:%M:%S", "%I:%M %p on %d %B, %Y"]
PLACE = re.compile(r"D?\s*(\d+)\s*:\s*(\d+)")


def instant(text):
    for form in FORMS:
        try:
            return datetime.datetime.strptime(text.strip(), form)
        except ValueError:
            pass
    return None


def records(chat):
    """The turns of a chat by session; their ids are those that the questions name."""
    sessions = [key for key in chat if re.fullmatch(r"session_\d+", key)]
    for session in sorted(sessions, key=lambda key: int(key.split("_")[1])):
        began = instant(str(chat.get(f"{session}_date_time", ""))) or datetime.datetime(2024, 1, 1)
        for number, turn in enumerate(chat[session]):
            text = turn.get("clean_text") or turn.get("text") or ""
            caption = turn.get("blip_caption") or turn.get("blip_captions")
            if caption:
                text += f" [shared a photo: {caption if isinstance(caption, str) else '; '.join(caption)}]"
            at = instant(str(turn.get("date_time", ""))) or began + datetime.timedelta(seconds=30 * number)
            place = PLACE.search(str(turn.get("dia_id", "")))
            if text.strip() and place:
                yield {"external_id": f"D{place[1]}:{place[2]}", "text": f"{turn['speaker']}: {text}",
                       "source": "user_input", "kind": "episode", "session_id": session,
                       "timestamp": at.strftime("%Y-%m-%dT%H:%M:%SZ"), "metadata": {"speaker": turn["speaker"]}}


def main():
    words = sys.argv[1:]
    options = words[words.index("--") + 1:] if "--" in words else []
    words = words[:words.index("--")] if "--" in words else words
    if len(words) != 2:
        sys.exit(__doc__)
    binary, folder = words
    chats = sorted(pathlib.Path(folder).glob("*.json"))
    if not chats:
        sys.exit(f"{folder} has no chat as .json: clone github.com/danny911kr/REALTALK and name its folder `data`.")
    work = pathlib.Path(tempfile.mkdtemp())
    base = [binary, "--no-daemon", "--data-dir", str(work / "data"), *options]
    run = lambda *more: subprocess.run([*base, *more], check=True, capture_output=True, text=True).stdout
    marks = []
    for at, path in enumerate(chats):
        chat = json.loads(path.read_text())
        rows = list(records(chat))
        ids = {row["external_id"] for row in rows}
        questions = {}
        for number, asked in enumerate(chat.get("qa", [])):
            named = PLACE.findall(" ".join(map(str, asked.get("evidence") or [])))
            gold = {f"D{session}:{turn}" for session, turn in named} & ids
            if gold and asked.get("category") != 5:
                questions[f"q{number}"] = (asked["question"], gold)
        if not questions:
            continue
        write = lambda name, lines: (work / name).write_text("\n".join(map(json.dumps, lines)) + "\n")
        write("records.jsonl", rows)
        write("queries.jsonl", [{"query_id": key, "query": asked} for key, (asked, _) in questions.items()])
        run("ingest", "--user", f"chat-{at}", "--jsonl", str(work / "records.jsonl"))
        answers = run("recall", "--user", f"chat-{at}", "--queries", str(work / "queries.jsonl"), "--limit", "20",
                      "--json")
        own = []
        for answer in map(json.loads, answers.splitlines()):
            gold = questions[answer["query_id"]][1]
            found = [hit["external_id"] in gold for hit in answer["results"]]
            own.append([sum(found[:k]) / len(gold) for k in (1, 5, 10)])
        marks += own
        print(f"{path.stem}: {told(own)}", flush=True)
    if not marks:
        sys.exit(f"no chat of {folder} has a question whose evidence it holds: is this REALTALK's `data`?")
    print(f"all: {told(marks)}")


def told(marks):
    shares = [100 * sum(column) / len(marks) for column in zip(*marks)]
    return f"{len(marks)} questions, R@1/R@5/R@10 " + " / ".join(f"{share:.1f}" for share in shares)


main()
