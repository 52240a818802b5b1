//! A record that is forgotten: what is known then is what a compacted log teaches, in which it
//! never was live.

use super::*;

const GONE: u128 = 12;

/// A state, and the events that led to it.
struct LoggedLearning {
    learning: OutcomeLearning,
    log: Vec<LearningEvent>,
}

impl LoggedLearning {
    fn new() -> Self {
        Self {
            learning: OutcomeLearning::new(usize::from(SIDE)),
            log: Vec::new(),
        }
    }

    fn apply(&mut self, events: LearnResult<Vec<LearningEvent>>) {
        for event in events.unwrap() {
            self.learning.apply_event(&event, &live);
            self.log.push(event);
        }
    }

    fn report(&mut self, run: usize) {
        let reported = outcome(&run.to_string(), question(1, run), &[GONE, 13], 0.5);
        let events = with_context(run.cast_signed() as i64, |p| {
            self.learning.plan_outcome(&reported, p)
        });
        self.apply(events);
    }

    fn withdraw(&mut self, run: usize) {
        let (name, at) = (run.to_string(), at(900));
        let events = self
            .learning
            .plan_revision(&name, Revision::Withdrawn, None, at);
        self.apply(events);
    }

    fn take_step(&mut self, run: &str, action: &str, result: Option<u128>) {
        self.apply(Ok(vec![LearningEvent::Stepped {
            run_id: run.to_owned(),
            at: at(20),
            action: action.to_owned(),
            used: Vec::new(),
            result: result.map(id),
        }]));
    }

    fn reopen(&mut self) {
        let (bytes, settings) = (self.learning.to_bytes(), LearnSettings::default());
        let back = OutcomeLearning::from_bytes(usize::from(SIDE), settings, &bytes);
        self.learning = back.unwrap();
    }

    /// Forgets a record, and compares with a replay that never saw it live.
    fn forget_and_compare(&mut self, record: u128, place: &str) {
        self.learning.forget_record(id(record));
        let still_live = |other: RecordId| live(other) && other != id(record);
        let mut replayed = OutcomeLearning::new(usize::from(SIDE));
        for event in &self.log {
            replayed.apply_event(event, &still_live);
        }
        let digests = [&self.learning, &replayed].map(OutcomeLearning::digest);
        assert_eq!(digests[0], digests[1], "{place}");
        self.reopen();
        assert_eq!(self.learning.digest(), digests[0], "{place}, reopened");
    }
}

#[test]
fn a_withdrawn_run_names_no_record_that_was_forgotten_before_or_after_it() {
    // More runs than evidence is kept of: those left over keep the record's name without it.
    for runs in [1, 3, 70] {
        for order in ["withdrawn", "withdrawn and reopened", "forgotten first"] {
            let place = format!("{runs} runs, {order}");
            let mut taught = LoggedLearning::new();
            (0..runs).for_each(|run| taught.report(run));
            if order == "forgotten first" {
                taught.forget_and_compare(GONE, &place);
            }
            (0..runs)
                .rev()
                .take(64)
                .for_each(|run| taught.withdraw(run));
            if order == "withdrawn and reopened" {
                taught.reopen();
            }
            taught.forget_and_compare(GONE, &place);
        }
    }
}

#[test]
fn a_record_of_withdrawn_runs_alone_counts_as_used_by_none() {
    let mut taught = LoggedLearning::new();
    taught.report(0);
    assert_eq!(taught.learning.status().records, 2);
    taught.withdraw(0);
    for _ in 0..2 {
        assert_eq!(taught.learning.status().records, 0);
        taught.reopen();
    }
}

#[test]
fn a_forgotten_result_leaves_the_chain_as_a_replay_has_it() {
    // The second step takes the place of the first, whose result it replaces or keeps.
    for late in [0, 1, 2] {
        for second in [Some(GONE), None] {
            for gone in [GONE, 14] {
                let place = format!("{late} steps late, {second:?}, {gone} forgotten");
                let mut taught = LoggedLearning::new();
                let query = question(1, 0);
                let begin = beginning("run", Some(query.clone()));
                let events = with_context(1, |p| taught.learning.plan_begin(&begin, p));
                taught.apply(events);
                let steps = [("fetch", Some(14)), ("fetch again", second)];
                let (early, late) = steps.split_at(2 - late);
                for (action, result) in early {
                    taught.take_step("run", action, *result);
                }
                let end = ending("run", &[13], Some(0.5));
                let events = with_context(9, |p| taught.learning.plan_end(&end, p));
                taught.apply(events);
                for (action, result) in late {
                    taught.take_step("run", action, *result);
                }
                // Another run has a result that the first one had, or lost.
                taught.report(7);
                taught.take_step("7", "look", Some(14));
                taught.reopen();
                taught.forget_and_compare(gone, &place);
            }
        }
    }
}
