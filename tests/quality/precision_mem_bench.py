#!/usr/bin/env python3
"""PrecisionMemBench: how much of what goes into a prompt was asked for.

    precision_mem_bench.py REPRISE FOLDER [-v] [-- OPTION ...]

FOLDER is `fixtures` of a clone of github.com/tenurehq/precisionMemBench, which whoever runs this fetches;
nothing of it is stored here. What follows `--` goes before every command (`--config FILE`). Each user's
beliefs of a scope are one memory, as the set's own adapter searches one scope of one user; a belief is
its names, its content and why it matters, and one that was replaced is told before what replaced it.
Asked are the 77 single-turn cases. An answer is what `recall` says a prompt would show, without pinned
beliefs, which the set's adapter lists by itself. Printed are its measures: mean precision and recall of
the cases that have one, and the cases without a wrong or missing belief; -v names the others.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

LIMIT = 20


def told(belief):
    names = [belief["canonical_name"], *belief.get("aliases", [])]
    return " ".join(filter(None, [*names, belief["content"], belief.get("why_it_matters")]))


def main():
    words = sys.argv[1:]
    options = words[words.index("--") + 1:] if "--" in words else []
    words = words[:words.index("--")] if "--" in words else words
    verbose = "-v" in words
    words = [word for word in words if word != "-v"]
    if len(words) != 2:
        sys.exit(__doc__)
    binary, folder = words
    for name in ("beliefs.seed.json", "retrieval.cases.json"):
        if not pathlib.Path(folder, name).is_file():
            sys.exit(f"{folder} has no {name}: clone github.com/tenurehq/precisionMemBench and name its folder "
                     "`fixtures`.")
    read = lambda name: json.loads(pathlib.Path(folder, name).read_text())
    beliefs, cases = read("beliefs.seed.json"), read("retrieval.cases.json")
    work = pathlib.Path(tempfile.mkdtemp())
    base = [binary, "--no-daemon", "--data-dir", str(work / "data"), *options]
    run = lambda *more: subprocess.run([*base, *more], check=True, capture_output=True, text=True).stdout
    names, memories = {}, {}
    for belief in sorted(beliefs, key=lambda belief: belief["created_at"]):
        for scope in belief["scope"]:
            place = (belief["user_id"], scope)
            names.setdefault(place, f"memory-{len(names)}")
            memories.setdefault(place, []).append({
                "external_id": belief["_id"], "text": told(belief), "timestamp": belief["created_at"],
                "source": "user_input", "kind": "finding"})
    asked = {}
    for case in cases:
        for scope in case["scope"]:
            if case["query"].strip():
                place = (case.get("userId", "test-user"), scope)
                asked.setdefault(place, []).append({"query_id": case["caseId"], "query": case["query"]})
    shown = {}
    for place, records in memories.items():
        rows = lambda name, lines: (work / name).write_text("\n".join(map(json.dumps, lines)) + "\n")
        rows("records.jsonl", records)
        run("ingest", "--user", names[place], "--jsonl", str(work / "records.jsonl"))
        if place in asked:
            rows("queries.jsonl", asked[place])
            answers = run("recall", "--user", names[place], "--queries", str(work / "queries.jsonl"), "--limit",
                          str(LIMIT), "--json")
            for answer in map(json.loads, answers.splitlines()):
                found = [hit["external_id"] for hit in answer["results"] if hit.get("shown")]
                shown.setdefault(answer["query_id"], []).extend(found)
    pinned = {belief["_id"] for belief in beliefs if belief["pinned"]}
    precisions, recalls, exact = [], [], 0
    for case in cases:
        expect = case["expect"].get("relevantBeliefs", {})
        got = [one for one in dict.fromkeys(shown.get(case["caseId"], [])) if one not in pinned]
        only = expect.get("shouldOnlyInclude")
        wanted = set(only if only is not None else expect.get("mustInclude", [])) - (pinned if only is None else set())
        right = len(wanted & set(got))
        if got or wanted:
            precisions.append(right / len(got) if got else 0.0)
        if wanted:
            recalls.append(right / len(wanted))
        places = {one: at for at, one in enumerate(got)}
        wrong = [f"forbidden {one}" for one in expect.get("mustExclude", []) if one in places]
        wrong += [f"missing {one}" for one in wanted if one not in places]
        wrong += [f"unasked {one}" for one in got if only is not None and one not in wanted]
        wrong += [f"{a} is not before {b}" for a, b in expect.get("orderedBefore", [])
                  if places.get(a, LIMIT) >= places.get(b, -1)]
        wrong += ["too many"] * (len(got) > expect.get("maxCount", LIMIT))
        wrong += ["too few"] * (len(got) < expect.get("minCount", 0))
        exact += not wrong
        if wrong and verbose:
            print(f"  {case['caseId']}: {'; '.join(wrong)}")
    mean = lambda values: sum(values) / max(1, len(values))
    print(f"{len(cases)} cases: precision {mean(precisions):.2f}, recall {mean(recalls):.2f}, exact {exact}")


main()
