//! The whole protocol over the fixtures, with a fake model and a real store in a temporary folder.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::path::Path;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use reprise_embed::testing::FakeEmbedder;
use reprise_engine::{Engine, EngineError, EngineOptions};
use reprise_eval::{EvalError, Format, Marks, Options, Report, Tools, evaluate, print, read};
use reprise_store::RealDisk;
use reprise_types::{EmbedError, Embedder, ExternalId, MemoryKind, MemorySource, NewRecord};

fn record(line: &str) -> Result<NewRecord, String> {
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

fn run(format: Format, name: &str, model: bool) -> Report {
    ablated(format, name, model, &[]).unwrap()
}

fn ablated(format: Format, name: &str, model: bool, without: &[&str]) -> Result<Report, EvalError> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    let set = read(format, &path, record).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let tools = Tools {
        open_engine: &open_engine,
        open_embedder: model.then_some(&open_embedder),
        folder: folder.path(),
    };
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
        print(&report, &mut table).unwrap();
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
        report.recall_ms = reprise_eval::Latency::default();
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
    let ablated = |without: &[&str]| ablated(Format::Jsonl, "jsonl", true, without);
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

/// Figures of `score.py` of the batch contract for these two recall files and the gold beside them.
#[test]
fn fixed_answers_score_as_the_reference_script_has_it() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let set = read(Format::Jsonl, &data.join("jsonl"), record).unwrap();
    let (mut turns, mut sessions): (Vec<Marks>, Vec<Marks>) = (Vec::new(), Vec::new());
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
            let rated = corpus.rate(question, &found);
            turns.extend(rated.turn);
            sessions.push(rated.session);
        }
    }
    let mean = |marks: &[Marks], pick: &dyn Fn(&Marks) -> f64| {
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
