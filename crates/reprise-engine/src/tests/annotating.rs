//! Tags and links: added later, queried by filters and walks, and removed with their records.

use chrono::Duration;
use reprise_types::{
    ListRequest, MemoryFilter, MemoryRecord, NewRecord, RecallRequest, RecallResponse, RecordId,
    parse_timestamp,
};

use super::{EngineBench, inserted_ids, record, week};
use crate::{EngineError, ForgetSelector};

impl EngineBench {
    fn set_tags(&mut self, id: RecordId, tags: &[&str]) -> bool {
        self.now += Duration::seconds(1);
        let (now, tags) = (self.now, owned_words(tags));
        self.engine().set_tags(id, &tags, now).unwrap()
    }

    fn link(&mut self, from: RecordId, to: RecordId, relation: &str) -> bool {
        self.now += Duration::seconds(1);
        let now = self.now;
        self.engine().link(from, to, relation, now).unwrap()
    }

    fn ask_tagged(&mut self, tags: &[&str], ago: Option<i64>) -> RecallResponse {
        let mut request = RecallRequest::new("auth and customers in Lisbon");
        request.top_k = 20;
        request.as_of = ago.map(|ago| self.now - Duration::seconds(ago));
        request.filter = MemoryFilter {
            tags: Some(owned_words(tags)),
            ..MemoryFilter::default()
        };
        self.ask_with(&request, Some(0))
    }
}

#[test]
fn a_filter_of_any_tag_admits_what_has_one_of_them() {
    let mut bench = EngineBench::new();
    bench.insert(vec![
        record_with_tags("a", &["rust", "errors"]),
        record_with_tags("b", &["Python"]),
        record_with_tags("c", &["python", "rust"]),
        record_with_tags("d", &[]),
    ]);
    let mut ask = |any: &[&str], all: &[&str]| {
        let mut request = RecallRequest::new("auth and customers in Lisbon");
        request.filter.any_tags = Some(owned_words(any));
        request.filter.tags = Some(owned_words(all));
        let answer = bench.ask_with(&request, Some(0));
        sorted_ids(&answer)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(ask(&["errors", "Python"], &[]), ["a", "b", "c"]);
    assert_eq!(ask(&["errors", "python"], &["rust"]), ["a", "c"]);
    assert!(ask(&["no such"], &[]).is_empty());
    assert_eq!(ask(&[], &[]).len(), 4, "an empty list asks for all");
}

fn owned_words(owned_words: &[&str]) -> Vec<String> {
    owned_words.iter().map(|word| (*word).to_owned()).collect()
}

fn record_with_tags(external: &str, tags: &[&str]) -> NewRecord {
    let mut new = record(external, &format!("about {external}"), 0, "s");
    new.tags = owned_words(tags);
    new
}

fn sorted_ids(recall: &RecallResponse) -> Vec<&str> {
    let mut ids = EngineBench::ids(recall);
    ids.sort_unstable();
    ids
}

#[test]
fn a_known_record_gains_the_tags_that_it_never_had() {
    let mut bench = EngineBench::new();
    let id = inserted_ids(&bench.insert(vec![record_with_tags("a", &["rust"])]))[0];
    let tags = |bench: &mut EngineBench| {
        bench
            .engine()
            .snapshot()
            .get(id)
            .unwrap()
            .unwrap()
            .tags
            .clone()
    };
    // In one batch, and in two; a tag that comes twice comes once.
    bench.insert(vec![
        record_with_tags("a", &["Errors", "rust"]),
        record_with_tags("a", &["errors", "fast"]),
    ]);
    assert_eq!(tags(&mut bench), ["errors", "fast", "rust"]);
    // What was taken away stays away, after a restart as well.
    assert!(bench.set_tags(id, &["fast"]));
    bench.reopen();
    bench.insert(vec![record_with_tags("a", &["rust", "errors"])]);
    assert_eq!(tags(&mut bench), ["fast"]);
    // It holds for the versions before a correction.
    let mut correction = record_with_tags("a", &["fast"]);
    (correction.text, correction.supersedes) = ("about another a".to_owned(), Some(id));
    let newest = inserted_ids(&bench.insert(vec![correction]))[0];
    bench.insert(vec![record_with_tags("a", &["rust", "late"])]);
    let memory = bench.engine().snapshot();
    assert_eq!(memory.get(newest).unwrap().unwrap().tags, ["fast", "late"]);
}

#[test]
fn tags_that_changed_are_as_before_and_those_that_did_not_stay() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(vec![
        record_with_tags("a", &["rust"]),
        record_with_tags("b", &[]),
    ]));
    let back = |bench: &mut EngineBench, id| {
        bench.now += Duration::seconds(1);
        let now = bench.now;
        let changed = bench.engine().undo_tag_change(id, now).unwrap();
        let found = bench.engine().snapshot().get(id).unwrap();
        (changed, found.unwrap().body.tags)
    };
    for id in &ids {
        assert!(!back(&mut bench, *id).0, "nothing has changed");
    }
    bench.set_tags(ids[0], &["rust", "errors"]);
    bench.set_tags(ids[0], &[]);
    bench.set_tags(ids[1], &["late"]);
    bench.reopen();
    assert_eq!(
        back(&mut bench, ids[0]),
        (true, owned_words(&["errors", "rust"]))
    );
    assert_eq!(back(&mut bench, ids[0]), (true, owned_words(&["rust"])));
    assert_eq!(back(&mut bench, ids[0]), (false, owned_words(&["rust"])));
    assert_eq!(back(&mut bench, ids[1]), (true, Vec::new()));
    assert_eq!(back(&mut bench, ids[1]), (false, Vec::new()));
    // The same if the clock does not advance.
    let now = bench.now;
    for tag in ["one", "two"] {
        bench
            .engine()
            .set_tags(ids[1], &owned_words(&[tag]), now)
            .unwrap();
    }
    assert_eq!(back(&mut bench, ids[1]), (true, owned_words(&["one"])));
}

#[test]
pub(super) fn a_tag_filter_admits_what_has_every_tag_now_or_had_it_then() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(vec![
        record_with_tags("a", &["Rust", "error handling"]),
        record_with_tags("b", &["rust"]),
        record_with_tags("c", &[]),
    ]));
    assert_eq!(sorted_ids(&bench.ask_tagged(&["rust"], None)), ["a", "b"]);
    assert!(bench.set_tags(ids[2], &["RUST", "new"]));
    assert!(bench.set_tags(ids[1], &[]));
    assert!(!bench.set_tags(ids[1], &[" "]));
    for _ in 0..2 {
        assert_eq!(sorted_ids(&bench.ask_tagged(&["rust"], None)), ["a", "c"]);
        let both = bench.ask_tagged(&["rust", "Error  Handling"], None);
        assert_eq!(sorted_ids(&both), ["a"]);
        assert_eq!(both.considered, 1);
        assert_eq!(
            sorted_ids(&bench.ask_tagged(&["rust"], Some(2))),
            ["a", "b", "c"]
        );
        let before = bench.ask_tagged(&["rust"], Some(3));
        assert_eq!(sorted_ids(&before), ["a", "b"]);
        assert!(
            bench
                .ask_tagged(&["rust", "no such"], None)
                .results
                .is_empty()
        );
        assert!(bench.ask_tagged(&[" "], None).results.is_empty());
        assert_eq!(bench.ask_tagged(&[], None).considered, 3);
        let many = vec!["rust"; 10_000];
        assert_eq!(bench.ask_tagged(&many, None).considered, 2);
        let counts = bench.engine().snapshot().tag_counts();
        let counts: Vec<(&str, usize)> = counts.iter().map(|(t, n)| (t.as_str(), *n)).collect();
        assert_eq!(counts, [("error-handling", 1), ("new", 1), ("rust", 2)]);
        let edited = bench.engine().snapshot().get(ids[2]).unwrap().unwrap();
        assert_eq!(edited.tags, ["new", "rust"]);
        bench.reopen();
    }
}

#[test]
pub(super) fn a_receipt_answers_to_its_tag_and_its_id_alone() {
    let mut bench = EngineBench::new();
    let mut receipt = record("r", "Published record in the global store", 1, "s");
    receipt.tags = vec![MemoryRecord::RECEIPT_TAG.to_owned()];
    let said = record("a", "The store of records is global", 1, "s");
    let ids = inserted_ids(&bench.insert(vec![said, receipt]));
    for _ in 0..2 {
        let found = bench.ask("published record global store", 1);
        assert_eq!((found.results.len(), found.considered), (1, 1));
        let memory = bench.engine().snapshot();
        let all = ListRequest {
            filter: MemoryFilter::default(),
            limit: 10,
            after: None,
        };
        assert_eq!(memory.list(&all).records.len(), 1);
        let newest: Vec<_> = memory.newest_records(9).into_iter().flatten().collect();
        assert_eq!((newest.len(), newest[0].id), (1, ids[0]));
        assert!(memory.tag_counts().is_empty(), "{:?}", memory.tag_counts());
        assert!(memory.get(ids[1]).is_some());
        assert_eq!(memory.records().count(), 2, "an export has it");
        let asked = bench.ask_tagged(&[MemoryRecord::RECEIPT_TAG], None);
        assert_eq!(asked.results.len(), 1);
        assert_eq!(bench.engine().stats().live, 1, "a receipt is no memory");
        bench.reopen();
    }
}

#[test]
pub(super) fn what_is_said_survives_every_way_to_start_and_goes_with_the_forgotten() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    bench.set_tags(ids[0], &["race"]);
    bench.set_tags(ids[3], &["billing", "secret-word"]);
    assert!(bench.link(ids[0], ids[2], "fixed by"));
    assert!(bench.link(ids[3], ids[0], "similar_to"));
    let now = bench.now;
    bench
        .engine()
        .forget(&ForgetSelector::Id(ids[3]), "asked", now)
        .unwrap();
    let newest = ForgetSelector::Id(ids[6]);
    bench.engine().forget(&newest, "asked", now).unwrap();
    let related = |bench: &mut EngineBench| bench.engine().snapshot().related(ids[0], 3, 9);
    let before = related(&mut bench);
    assert_eq!(before.len(), 1);
    assert_eq!(before[0].link.relation, "fixed-by");
    assert!(bench.engine().check().unwrap().is_sound());
    for round in 0..3 {
        match round {
            0 => bench.engine().checkpoint().unwrap(),
            1 => drop(bench.engine().compact().unwrap()),
            _ => bench.engine().rebuild().unwrap(),
        }
        bench.reopen();
        assert!(bench.engine().check().unwrap().is_sound(), "{round}");
        assert_eq!(related(&mut bench), before);
        assert_eq!(
            EngineBench::ids(&bench.ask_tagged(&["race"], None)),
            ["auth-1"]
        );
        assert!(bench.ask_tagged(&["billing"], Some(1)).results.is_empty());
    }
    let last = bench.engine().stats().last_ingest;
    assert_eq!(last, Some(parse_timestamp("2026-02-16T09:00:01Z").unwrap()));
    let bytes = std::fs::read(bench.path()).unwrap();
    let word = b"secret-word";
    assert!(!bytes.windows(word.len()).any(|window| window == word));
}

#[test]
pub(super) fn a_correction_takes_the_links_over_even_when_what_it_corrects_is_forgotten() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    bench.link(ids[0], ids[2], "fixed-by");
    bench.link(ids[6], ids[0], "mentions");
    let mut corrected = record("auth-1b", "users are logged out every hour", 0, "tue");
    corrected.supersedes = Some(ids[0]);
    let new = inserted_ids(&bench.insert(vec![corrected]))[0];
    assert!(bench.engine().snapshot().links(ids[0]).is_empty());
    let links = |bench: &mut EngineBench| -> Vec<(RecordId, bool)> {
        let links = bench.engine().snapshot().links(new);
        links.iter().map(|l| (l.record, l.outgoing)).collect()
    };
    let expected = [(ids[2], true), (ids[6], false)];
    assert_eq!(links(&mut bench), expected);
    bench.engine().compact().unwrap();
    bench.reopen();
    assert_eq!(links(&mut bench), expected);
    assert!(bench.engine().check().unwrap().is_sound());
}

#[test]
pub(super) fn links_are_made_once_and_taken_back() {
    let mut bench = EngineBench::new();
    let ids = inserted_ids(&bench.insert(week()));
    assert!(bench.link(ids[0], ids[1], "Caused By"));
    assert!(!bench.link(ids[0], ids[1], "caused by"));
    assert!(!bench.link(ids[0], ids[0], "caused by"));
    let now = bench.now;
    let engine = bench.engine();
    assert!(engine.unlink(ids[0], ids[1], "CAUSED BY", now).unwrap());
    assert!(!engine.unlink(ids[0], ids[1], "caused by", now).unwrap());
    assert!(engine.snapshot().links(ids[1]).is_empty());
    let nobody = RecordId::from_u128(7);
    let unknown = engine.link(ids[0], nobody, "x", now).unwrap_err();
    assert!(matches!(unknown, EngineError::UnknownRecord { id } if id == nobody));
    let nameless = engine.link(ids[0], ids[1], "  ", now).unwrap_err();
    assert!(matches!(nameless, EngineError::NoRelation));
    assert!(engine.set_tags(nobody, &[], now).is_err());
    assert!(engine.snapshot().related(nobody, 3, 9).is_empty());
}

#[test]
pub(super) fn one_tag_is_merged_into_another_on_every_live_record_that_has_it() {
    let mut bench = EngineBench::new();
    let many: Vec<NewRecord> = (0..700)
        .map(|n| record_with_tags(&n.to_string(), &["rs", "keep"]))
        .collect();
    let ids = inserted_ids(&bench.insert(many));
    let both = inserted_ids(&bench.insert(vec![
        record_with_tags("both", &["rs", "rust"]),
        record_with_tags("c", &["rust"]),
    ]));
    let now = bench.now;
    bench
        .engine()
        .forget(&ForgetSelector::Id(ids[0]), "asked", now)
        .unwrap();
    assert_eq!(bench.engine().merge_tag("RS", "Rust", now).unwrap(), 700);
    for _ in 0..2 {
        let counts = bench.engine().snapshot().tag_counts();
        let counts: Vec<(&str, usize)> = counts.iter().map(|(t, n)| (t.as_str(), *n)).collect();
        assert_eq!(counts, [("keep", 699), ("rust", 701)]);
        let merged = bench.engine().snapshot().get(both[0]).unwrap().unwrap();
        assert_eq!(merged.tags, ["rust"]);
        assert!(bench.engine().check().unwrap().is_sound());
        bench.reopen();
    }
    assert_eq!(bench.engine().merge_tag("rs", "rust", now).unwrap(), 0);
    assert_eq!(bench.engine().merge_tag("rust", "RUST ", now).unwrap(), 0);
    assert!(matches!(
        bench.engine().merge_tag(" ", "rust", now),
        Err(EngineError::NoTag)
    ));
}
