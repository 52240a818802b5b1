//! The second look: a judgement moves a result and decides about its line, as one signal of
//! several.

use reprise_types::{Embedding, RecallResponse};
use serde_json::json;

use super::{EngineBench, record, space, vector};
use crate::{apply_judgements, is_first_settled, texts_to_judge};

const ASKED: &str = "when is the boiler of the cellar serviced";

/// Builds a memory whose notes are about as near to the question as each other.
fn answered_question() -> RecallResponse {
    let mut bench = EngineBench::new();
    let notes = [
        ("boiler", "the boiler of the cellar hums at night"),
        ("april", "the boiler of the cellar is serviced each April"),
        ("valve", "the valve of the cellar leaks"),
        ("stairs", "the stairs of the cellar are steep"),
        ("piano", "the piano is tuned each April"),
    ];
    for (at, (name, text)) in notes.into_iter().enumerate() {
        let mut note = record(name, text, 0, "");
        note.embedding = Some(Embedding::new(space(), vector(0, 0.2 * at as f32)));
        bench.insert(vec![note]);
    }
    bench.ask(ASKED, 0)
}

fn place_of(recall: &RecallResponse, name: &str) -> usize {
    let ids = EngineBench::ids(recall);
    ids.iter().position(|id| *id == name).unwrap()
}

#[test]
fn a_judgement_moves_a_result_as_one_signal_of_several() {
    let plain = answered_question();
    let count = plain.results.len();
    let worst = place_of(&plain, "piano");
    assert!(worst > 0);
    let mut judged = plain.clone();
    let judgements: Vec<f32> = (0..count)
        .map(|place| if place == worst { 0.9999 } else { 0.0001 })
        .collect();
    assert!(apply_judgements(&mut judged, &judgements, count));
    assert!(place_of(&judged, "piano") < worst);
    for found in &judged.results {
        let logit: f32 = found.why.signals.iter().map(|one| one.contribution).sum();
        let score = 1.0 / (1.0 + (-logit).exp());
        assert!(
            (found.score - score).abs() < 1e-3,
            "the parts add up: {found:?}"
        );
    }
    // Judgements that are the same for all leave the order as it is.
    let mut same = plain.clone();
    assert!(apply_judgements(&mut same, &vec![0.5; count], count));
    assert_eq!(EngineBench::ids(&same), EngineBench::ids(&plain));
    // The fewest are enough, and what is wrong changes nothing.
    for (judgements, is_usable) in [
        (vec![0.5], true),
        (vec![], true),
        (vec![f32::NAN], false),
        (vec![1.5], false),
        (vec![0.5; count + 1], false),
    ] {
        let mut recall = plain.clone();
        assert_eq!(apply_judgements(&mut recall, &judgements, count), is_usable);
        assert_eq!(EngineBench::ids(&recall), EngineBench::ids(&plain));
        let change = recall.results[0].score - plain.results[0].score;
        let is_changed = change.abs() > 0.0;
        assert_eq!(is_changed, judgements == [0.5], "{judgements:?}");
    }
}

#[test]
fn a_prompt_stays_below_its_answer_however_both_are_judged() {
    let mut plain = answered_question();
    let [answer, prompt, ..] = &mut plain.results[..] else {
        panic!("two results");
    };
    for found in [&mut *answer, &mut *prompt] {
        found.record.body.session_id = "one".to_owned();
    }
    prompt.record.body.details = Some(json!({"type": "prompt"}));
    let before = [answer.score, prompt.score];
    let mut judged = plain.clone();
    let mut judgements = vec![0.0001; plain.results.len()];
    judgements[1] = 0.9999;
    assert!(apply_judgements(&mut judged, &judgements, 9));
    let after = [judged.results[0].score, judged.results[1].score];
    assert_eq!(after.map(f32::to_bits), before.map(f32::to_bits));
    assert_eq!(
        EngineBench::ids(&judged)[..2],
        EngineBench::ids(&plain)[..2]
    );
    // Of another session it is no answer to it, and is judged as any other.
    plain.results[0].record.body.session_id = "two".to_owned();
    assert!(apply_judgements(&mut plain, &judgements, 9));
    let is_judged = |score: f32| (score - before[0]).abs() > 0.0;
    assert!(plain.results.iter().all(|found| is_judged(found.score)));
}

#[test]
fn a_judgement_decides_about_a_line() {
    let plain = answered_question();
    let shown = |judgement: f32| {
        let mut recall = plain.clone();
        let judgements = vec![judgement; recall.results.len()];
        assert!(apply_judgements(
            &mut recall,
            &judgements,
            plain.results.len()
        ));
        recall.results.iter().filter(|found| found.shown).count()
    };
    assert!(
        shown(0.9999) > shown(0.00001),
        "{} {}",
        shown(0.9999),
        shown(0.00001)
    );
    assert_eq!(shown(0.00001), 0);
}

#[test]
fn a_judge_reads_what_matters_until_the_first_place_is_certain() {
    let mut recall = answered_question();
    assert_eq!(texts_to_judge(ASKED, &recall, 3).len(), 3);
    assert!(texts_to_judge(&"why ".repeat(200), &recall, 3).is_empty());
    recall.results[0].record.body.text = format!(
        "{} The boiler of the cellar is old. {}",
        "Nothing of this matters here. ".repeat(20),
        "Nor does any of that. ".repeat(20)
    );
    let [cut] = &texts_to_judge(ASKED, &recall, 1)[..] else {
        panic!("one text");
    };
    assert!(
        cut.contains("boiler of the cellar") && cut.chars().count() <= 240,
        "{cut}"
    );
    recall.results[0].why.is_certain = true;
    assert!(texts_to_judge(ASKED, &recall, 3).is_empty());

    assert!(!is_first_settled(&recall, &[]));
    assert!(
        !is_first_settled(&recall, &[0.9999; 3]),
        "a prompt has four lines"
    );
    recall.results[0].score = 0.9;
    recall.results[4].score = 0.0001;
    assert!(is_first_settled(&recall, &[0.9999; 4]));
    recall.results[4].score = 0.9;
    assert!(!is_first_settled(&recall, &[0.01; 4]));
    assert!(is_first_settled(&recall, &[0.01; 5]), "all are judged");
}
