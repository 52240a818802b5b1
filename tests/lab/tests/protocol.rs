//! The whole protocol over the fixtures, with a fake model and a real store in a temporary folder.

use std::cell::RefCell;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use reprise_embed::testing::FakeEmbedder;
use reprise_engine::{Engine, EngineError, EngineOptions};
use reprise_lab::{
    AnswerOptions, EvalError, EvalReport, Format, Gold, Options, RankingMetrics, Tools,
    answer_questions, evaluate, evaluate_off_topic, print_answer_report, print_brief,
    print_evaluation, print_off_topic, read, read_git,
};
use reprise_store::RealDisk;
use reprise_types::{EmbedError, Embedder, ExternalId, MemoryKind, MemorySource, NewRecord};

fn parse_record(line: &str) -> Result<NewRecord, String> {
    let value: serde_json::Value = serde_json::from_str(line).map_err(|e| e.to_string())?;
    let text = |key: &str| value[key].as_str().map(str::to_owned).ok_or(key.to_owned());
    let mut record = NewRecord::new(text("text")?, MemorySource::UserInput, MemoryKind::Episode);
    record.session_id = text("session_id")?;
    record.external_ids = vec![ExternalId::new(ExternalId::BATCH, text("external_id")?)];
    Ok(record)
}

fn open_engine(path: &Path, now: DateTime<Utc>) -> Result<Engine, EngineError> {
    let options = EngineOptions::new(384, 1, now);
    Engine::open(Arc::new(RealDisk), path, &options).map(|(engine, _)| engine)
}

#[expect(clippy::unnecessary_wraps, reason = "the shape that the port asks for")]
fn open_embedder() -> Result<Box<dyn Embedder>, EmbedError> {
    Ok(Box::new(FakeEmbedder::default()))
}

fn make_tools(model: bool, folder: &Path) -> Tools<'_> {
    Tools {
        open_engine: &open_engine,
        open_embedder: model.then_some(&open_embedder),
        judge: None,
        folder,
    }
}

fn run(format: Format, name: &str, model: bool) -> EvalReport {
    run_without_signals(format, name, model, &[]).unwrap()
}

fn run_without_signals(
    format: Format,
    name: &str,
    model: bool,
    without: &[&str],
) -> Result<EvalReport, EvalError> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    let set = read(format, &path, parse_record).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let tools = make_tools(model, folder.path());
    let options = Options {
        top_k: 20,
        without: without.iter().map(|names| (*names).to_owned()).collect(),
    };
    let mut stores = 0;
    let report = evaluate(&set, &options, &tools, &mut |stage| {
        stores += 1;
        assert_eq!((stage.number, stage.of), (stores, set.corpora.len()));
    });
    let report = report?;
    assert_eq!(stores, report.stores);
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 0, "a throw-away store was not thrown away");
    Ok(report)
}

#[test]
fn every_form_runs_from_file_to_table() {
    for (format, name, questions) in [
        (Format::Locomo, "locomo10.json", 5),
        (Format::Beam, "beam", 5),
        (Format::LongMemEval, "longmemeval_s_cleaned.json", 2),
        (Format::DevBench, "devbench_dataset.json", 3),
        (Format::Jsonl, "jsonl", 9),
    ] {
        let report = run(format, name, true);
        assert_eq!(report.questions, questions, "{name}");
        let names: Vec<&str> = report.systems.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["reprise", "cosine", "bm25", "rrf(cosine, bm25)"]);
        let mut table = Vec::new();
        print_evaluation(&report, &mut table).unwrap();
        let table = String::from_utf8(table).unwrap();
        assert!(
            table.contains("turn level") && table.contains("session level"),
            "{table}"
        );
        let json = serde_json::to_value(&report).unwrap();
        assert!(
            json["systems"][0]["turn"]["recall"]["10"].is_number(),
            "{json}"
        );
    }
}

#[test]
fn a_run_repeats_to_the_last_digit() {
    let (mut first, mut second) = (
        run(Format::Jsonl, "jsonl", true),
        run(Format::Jsonl, "jsonl", true),
    );
    for report in [&mut first, &mut second] {
        report.elapsed_s = 0.0;
        report.recall_ms = reprise_lab::Latency::default();
    }
    assert_eq!(first, second);
}

#[test]
fn without_a_model_the_baselines_that_need_one_are_left_out() {
    let report = run(Format::Jsonl, "jsonl", false);
    let names: Vec<&str> = report.systems.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["reprise", "bm25"]);
    assert!(report.protocol.iter().any(|line| line.contains("no model")));
}

#[test]
fn an_ablation_is_a_row_of_its_own_and_an_unknown_signal_is_named() {
    let ablated = |without: &[&str]| run_without_signals(Format::Jsonl, "jsonl", true, without);
    let report = ablated(&["meaning", "words, meaning"]).unwrap();
    let names: Vec<&str> = report.systems.iter().map(|s| s.name.trim()).collect();
    assert_eq!(
        names[..3],
        ["reprise", "without meaning", "without words, meaning"]
    );
    assert_ne!(report.systems[0].turn, report.systems[2].turn);
    assert!(ablated(&["each"]).unwrap().systems.len() > 10);
    let error = ablated(&["charm"]).unwrap_err().to_string();
    assert!(
        error.contains("`charm`") && error.contains("words"),
        "{error}"
    );
}

/// A clone of six commits, made by git.
fn make_clone_of_six(folder: &Path) {
    let git = |arguments: &[&str], day: u32| {
        let at = format!("2026-03-{day:02}T09:00:00+01:00");
        let done = Command::new("git")
            .current_dir(folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_DATE", &at)
            .env("GIT_COMMITTER_DATE", &at)
            .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org"])
            .args(arguments)
            .output()
            .unwrap();
        assert!(done.status.success(), "{arguments:?}: {done:?}");
    };
    git(&["init", "--quiet", "--initial-branch=main"], 1);
    for (day, message) in [
        (2, "Initial commit"),
        (
            3,
            "Allow a theme to be named by its path (#7)\n\nThe name was looked up alone.",
        ),
        (3, "Closes #8"),
        (4, "Wrap long lines on words, see #12"),
        (
            11,
            "Forget the cache when the terminal is resized\n\nFixes #31",
        ),
        (12, "Update the lock file"),
    ] {
        git(&["commit", "--quiet", "--allow-empty", "-m", message], day);
    }
    git(&["checkout", "--quiet", "-b", "side", "HEAD~1"], 12);
    git(
        &[
            "commit",
            "--quiet",
            "--allow-empty",
            "-m",
            "Spell the name of the author right",
        ],
        13,
    );
    git(&["checkout", "--quiet", "main"], 13);
    git(
        &["merge", "--quiet", "--no-ff", "-m", "Merge #99", "side"],
        14,
    );
    let changelog = "# Changelog\n\n## v2\n\n- Themes may be given as paths to a file, see \
                     [#7](https://example.org/o/r/issues/7) (@bo)\n- Word wrapping of long lines,\n  \
                     closes #12\n- A resized terminal no longer shows stale lines (#31)\n\
                     - Something that no commit names (#500)\n- Fix #7\n- No issue is named here\n";
    std::fs::write(folder.join("CHANGELOG.md"), changelog).unwrap();
}

#[test]
fn a_clone_is_asked_for_its_commits_by_its_changelog() {
    let folder = tempfile::tempdir().unwrap();
    make_clone_of_six(folder.path());
    let set = read_git(folder.path(), None).unwrap();
    let [corpus] = set.corpora.as_slice() else {
        panic!("one clone is one store");
    };
    let texts: Vec<&str> = corpus.records.iter().map(|r| r.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "Initial commit",
            "Allow a theme to be named by its path\nThe name was looked up alone.",
            "Wrap long lines on words",
            "Forget the cache when the terminal is resized",
            "Update the lock file",
            "Spell the name of the author right",
        ]
    );
    let wrap = &corpus.records[2];
    assert_eq!(wrap.session_id, "w2026-10");
    assert_eq!(
        wrap.timestamp.unwrap().to_rfc3339(),
        "2026-03-04T08:00:00+00:00"
    );
    assert_eq!(wrap.metadata["author"], "Ann");
    let asked: Vec<&str> = corpus.questions.iter().map(|q| q.text.as_str()).collect();
    assert_eq!(
        asked,
        [
            "Themes may be given as paths to a file",
            "Word wrapping of long lines",
            "A resized terminal no longer shows stale lines",
        ]
    );
    for (question, record) in corpus.questions.iter().zip([1, 2, 3]) {
        let id = corpus.records[record].external_ids[0].id.clone();
        assert_eq!((id.len(), &question.gold), (12, &vec![Gold::from_id(id)]));
    }

    let tools_folder = tempfile::tempdir().unwrap();
    let report = evaluate(
        &set,
        &Options {
            top_k: 20,
            without: Vec::new(),
        },
        &make_tools(true, tools_folder.path()),
        &mut |_| {},
    );
    let mut table = Vec::new();
    print_brief(&report.unwrap(), &mut table).unwrap();
    let table = String::from_utf8(table).unwrap();
    for row in ["R@1", "nDCG@10", "reprise", "bm25", "cosine", "rrf"] {
        assert!(table.contains(row), "{row}: {table}");
    }
    assert!(table.contains("records 6, questions 3"), "{table}");
}

#[test]
fn a_folder_that_is_no_clone_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let error = read_git(folder.path(), None).unwrap_err().to_string();
    assert!(error.contains("--changelog"), "{error}");
    let changelog = folder.path().join("CHANGES.md");
    std::fs::write(&changelog, "- One thing less (#1)\n").unwrap();
    let error = read_git(folder.path(), None).unwrap_err().to_string();
    assert!(error.contains("git clone with commits"), "{error}");
    make_clone_of_six(folder.path());
    let error = read_git(folder.path(), Some(&changelog))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("CHANGES.md") && error.contains("issue"),
        "{error}"
    );
}

#[test]
fn the_questions_of_each_set_are_put_to_the_stores_of_the_others() {
    let path = |name: &str| {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data/jsonl")
            .join(name)
    };
    let set = |name: &str| {
        (
            name.to_owned(),
            read(Format::Jsonl, &path(name), parse_record).unwrap(),
        )
    };
    let sets = [set("anna"), set("bo")];
    let folder = tempfile::tempdir().unwrap();
    let report = evaluate_off_topic(&sets, &make_tools(true, folder.path()), &mut |_| {}).unwrap();
    let pairs: Vec<(&str, &str, usize)> = report
        .pairs
        .iter()
        .map(|pair| (pair.stores.as_str(), pair.questions.as_str(), pair.asked))
        .collect();
    let judged = |at: usize| {
        let corpora = sets[at].1.corpora.iter();
        corpora
            .flat_map(|c| &c.questions)
            .filter(|q| q.is_judged())
            .count()
    };
    let all = |at: usize| sets[at].1.corpora.iter().flat_map(|c| &c.questions).count();
    assert_eq!(
        pairs,
        [
            ("anna", "anna", judged(0)),
            ("anna", "bo", all(1)),
            ("bo", "bo", judged(1)),
            ("bo", "anna", all(0)),
        ]
    );
    for pair in &report.pairs {
        assert_eq!(
            pair.over_a_right_first.is_some(),
            pair.stores == pair.questions
        );
        assert!((0.0..=1.0).contains(&pair.nothing), "{pair:?}");
    }
    let mut table = Vec::new();
    print_off_topic(&report, &mut table).unwrap();
    let table = String::from_utf8(table).unwrap();
    assert!(
        table.contains("own, answerable") && table.contains("off topic:"),
        "{table}"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Expected values are from `score.py` of the batch contract for these two recall files and the
/// gold next to them.
#[test]
fn fixed_answers_score_as_the_reference_script_has_it() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let set = read(Format::Jsonl, &data.join("jsonl"), parse_record).unwrap();
    let (mut turns, mut sessions): (Vec<RankingMetrics>, Vec<RankingMetrics>) =
        (Vec::new(), Vec::new());
    for corpus in &set.corpora {
        let path = data.join(format!("recall-{}.jsonl", corpus.name));
        let text = std::fs::read_to_string(path).unwrap();
        let answers: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        for question in &corpus.questions {
            let answer = answers
                .iter()
                .find(|a| a["query_id"] == question.id)
                .unwrap();
            let results = answer["results"].as_array().unwrap();
            let found: Vec<&str> = results
                .iter()
                .map(|r| r["external_id"].as_str().unwrap())
                .collect();
            let rated = corpus.measure_answer(question, &found);
            turns.extend(rated.turn);
            sessions.push(rated.session);
        }
    }
    let mean = |marks: &[RankingMetrics], pick: &dyn Fn(&RankingMetrics) -> f64| {
        100.0 * marks.iter().map(pick).sum::<f64>() / marks.len() as f64
    };
    assert_eq!((turns.len(), sessions.len()), (6, 9));
    for (depth, expected) in [(0, 25.0), (1, 58.33), (2, 66.67), (3, 66.67)] {
        let got = mean(&turns, &|m| m.recall[depth]);
        assert!(
            (got - expected).abs() < 0.01,
            "turn {depth}: {got} is not {expected}"
        );
    }
    for (depth, expected) in [(1, 88.89), (2, 88.89)] {
        let got = mean(&sessions, &|m| m.recall[depth]);
        assert!(
            (got - expected).abs() < 0.01,
            "session {depth}: {got} is not {expected}"
        );
    }
    let mrr = mean(&turns, &|m| m.reciprocal_rank.unwrap());
    assert!((mrr - 50.0).abs() < 0.01, "{mrr}");
}

#[test]
fn a_second_judge_is_a_row_of_its_own() {
    let set = |judge: Option<&reprise_lab::JudgeTexts<'_>>| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/jsonl");
        let set = read(Format::Jsonl, &path, parse_record).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let tools = Tools {
            judge,
            ..make_tools(true, folder.path())
        };
        let options = Options {
            top_k: 20,
            without: Vec::new(),
        };
        evaluate(&set, &options, &tools, &mut |_| {}).unwrap()
    };
    let row = |report: &EvalReport| {
        let mut rows = report.systems.iter();
        rows.find(|row| row.name.contains("reranker"))
            .map(|row| row.turn.clone())
    };
    assert!(row(&set(None)).is_none());
    // A judge that gives every text the same score changes nothing.
    let indifferent = set(Some(&|_, texts| Ok(vec![0.5; texts.len()])));
    assert_eq!(
        row(&indifferent).as_ref(),
        Some(&indifferent.systems[0].turn)
    );
    // The first text of each question is disliked, and all others are liked.
    let asked = RefCell::new(String::new());
    let backwards = set(Some(&|question, texts| {
        let is_first = asked.replace(question.to_owned()) != question;
        Ok(vec![f32::from(!is_first); texts.len()])
    }));
    assert!(row(&backwards).unwrap().mrr < backwards.systems[0].turn.mrr);
}

#[test]
fn a_model_answers_from_what_is_recalled_and_is_judged_by_the_prompt_of_its_type() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/longmemeval_types.json");
    let set = read(Format::LongMemEval, &path, parse_record).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let asked = RefCell::new(Vec::new());
    let run = |answering: &dyn Fn(&str) -> Result<String, String>| {
        asked.borrow_mut().clear();
        let judging = |prompt: &str| {
            asked.borrow_mut().push(prompt.to_owned());
            let right = prompt.contains("Model Response: two") || prompt.contains("unanswerable");
            Ok(if right { "Yes." } else { "No, not yes." }.to_owned())
        };
        let options = AnswerOptions {
            budget: 400,
            answering,
            judging: &judging,
        };
        answer_questions(
            &set,
            &options,
            &make_tools(true, folder.path()),
            &mut |_| {},
        )
    };
    let prompts = RefCell::new(Vec::new());
    let report = run(&|prompt| {
        prompts.borrow_mut().push(prompt.to_owned());
        if prompt.contains("violin") {
            return Err("it is tired".to_owned());
        }
        Ok("two".to_owned())
    })
    .unwrap();
    let prompts = prompts.into_inner();
    let first = &prompts[0];
    assert!(first.contains("I bought a red kayak today."), "{first}");
    assert!(first.contains("Current Date: 2023/06/30 (Fri) 09:15"));
    assert!(first.ends_with("Question: How many kayaks have I bought?\nAnswer:"));
    let judged = asked.take();
    assert!(judged[0].contains("Correct Answer: 2\n\nModel Response: two"));
    assert!(judged[1].contains("off-by-one") && !judged[0].contains("off-by-one"));
    assert_eq!((report.all.questions, report.all.failed), (3, 1));
    assert_eq!(report.all.correct, 2);
    let update = &report.by_category["knowledge-update"];
    assert_eq!((update.correct, update.failed), (0, 1));
    let mut table = Vec::new();
    print_answer_report(&report, &mut table).unwrap();
    assert!(String::from_utf8(table).unwrap().contains("66.7"));

    let report = run(&|_| Ok("You never said.".to_owned())).unwrap();
    assert!(asked.borrow()[2].contains("Explanation: You never spoke of a violin."));
    assert!(!report.answers[0].correct && report.answers[2].correct);
    // A model that is not there ends the run.
    let error = run(&|_| Err("no route".to_owned())).unwrap_err();
    assert!(error.to_string().contains("no route"), "{error}");
}
