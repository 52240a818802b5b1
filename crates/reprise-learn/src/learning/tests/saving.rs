//! Tests of the serialised state, and of `sona.json`.

use super::*;
use crate::sona::{SonaFile, SonaState};

#[test]
fn a_part_is_the_whole_state_and_a_damaged_one_is_none() {
    let mut learning = taught_learning();
    learning.forget_record(id(13));
    let weights = learning.learner().fit_adapter(&vector_of);
    learning.apply_event(&LearningEvent::AdapterFitted(weights.into()), &live);
    begin_run(&mut learning, "open", question(0, 0), 5_000);
    let bytes = learning.to_bytes();
    let settings = LearnSettings::default();
    let back = OutcomeLearning::from_bytes(usize::from(SIDE), settings, &bytes).unwrap();
    assert_eq!(back.digest(), learning.digest());
    assert_eq!(back.to_bytes(), bytes);
    let query = question(1, 3).vector;
    let all: Vec<RecordId> = (1..60).map(id).collect();
    let (one, other) = (learning.learner(), back.learner());
    assert_eq!(
        adjustments_of(&one, &query, &all),
        adjustments_of(&other, &query, &all)
    );
    for length in (0..bytes.len()).step_by(97) {
        assert!(
            OutcomeLearning::from_bytes(usize::from(SIDE), settings, &bytes[..length]).is_none()
        );
    }
    assert!(
        OutcomeLearning::from_bytes(8, settings, &bytes).is_none(),
        "another dimension"
    );
    let other = LearnSettings::new(1.0, 0.5).unwrap();
    let under_other = OutcomeLearning::from_bytes(usize::from(SIDE), other, &bytes);
    assert!(under_other.is_none(), "learned by other settings");
    let mut changed = learning.clone();
    let events = changed.plan_revision("run-3", Revision::Scored, Some(0.0), at(0));
    apply_events(&mut changed, events);
    let before = changed.digest();
    assert_ne!(before, learning.digest(), "a quality is part of the state");
    changed.apply_event(
        &LearningEvent::Switched {
            at: at(0),
            on: false,
        },
        &live,
    );
    assert_ne!(changed.digest(), before);
    assert!(
        adjustments_of(&changed.learner(), &query, &all)
            .iter()
            .all(|x| *x == 0.0)
    );
}

#[test]
fn sona_json_is_compared_with_the_log_and_never_believed_against_it() {
    let learning = taught_learning();
    let file = SonaFile::from_learning(&learning, Some(space()), 7);
    let text = file.to_json();
    assert_eq!(file.compare_with_file(Some(&text)), SonaState::Current);
    assert_eq!(file.compare_with_file(None), SonaState::Missing);
    assert_eq!(
        file.compare_with_file(Some(&text[..text.len() / 2])),
        SonaState::Unreadable
    );
    let old = SonaFile::from_learning(&OutcomeLearning::new(usize::from(SIDE)), Some(space()), 3)
        .to_json();
    assert_eq!(file.compare_with_file(Some(&old)), SonaState::Old);
    let forged = text.replace(&learning.digest(), &"0".repeat(64));
    assert_eq!(file.compare_with_file(Some(&forged)), SonaState::Forged);
    let moved = text.replacen("\"evidence_gate\": 1.0", "\"evidence_gate\": 0.5", 1);
    assert_ne!(moved, text);
    assert_eq!(file.compare_with_file(Some(&moved)), SonaState::Forged);
}
