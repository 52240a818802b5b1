//! Pages of memory: all of it, once each, newest first, whatever is stored or forgotten meanwhile.

use proptest::prelude::*;
use reprise_types::{Cursor, ListRequest, MemoryFilter, MemoryKind, NewRecord, RecordPage};
use serde_json::json;

use super::*;
use crate::ForgetSelector;

fn record_at(external: &str, time: &str) -> NewRecord {
    let mut record = record(external, &format!("text of {external}"), 1, "s");
    record.timestamp = parse_timestamp(time).ok();
    record
}

fn list_page(
    bench: &mut EngineBench,
    filter: &MemoryFilter,
    limit: usize,
    after: Option<Cursor>,
) -> RecordPage {
    bench.engine().snapshot().list(&ListRequest {
        filter: filter.clone(),
        limit,
        after,
    })
}

fn external_ids(page: &RecordPage) -> Vec<&str> {
    let ids = page
        .records
        .iter()
        .map(|r| r.find_external_id("batch").unwrap());
    ids.collect()
}

#[test]
pub(super) fn pages_go_by_when_it_happened_and_survive_what_is_written_between_them() {
    let mut bench = EngineBench::new();
    let all = MemoryFilter::default();
    assert_eq!(list_page(&mut bench, &all, 2, None), RecordPage::default());
    bench.insert(vec![
        record_at("old", "2020-01-01"),
        record_at("new", "2026-02-03"),
        record_at("mid", "2026-02-01"),
        record_at("same", "2026-02-01"),
    ]);
    let first = list_page(&mut bench, &all, 2, None);
    assert_eq!(external_ids(&first), ["new", "same"]);
    assert_eq!(first.considered, 4);
    assert!(
        first
            .records
            .iter()
            .all(|record| record.embedding.is_empty())
    );
    assert_eq!(first.next, first.records.last().map(Cursor::of));

    // A newer and an older record come, and the last one listed is forgotten.
    bench.insert(vec![
        record_at("newest", "2026-02-09"),
        record_at("older", "2021-01-01"),
    ]);
    let now = bench.now;
    let last = ForgetSelector::External(ExternalId::new("batch", "same"));
    bench.engine().forget(&last, "asked", now).unwrap();
    bench.engine().compact().unwrap();
    bench.reopen();
    let second = list_page(&mut bench, &all, 2, first.next);
    assert_eq!(external_ids(&second), ["mid", "older"]);
    let third = list_page(&mut bench, &all, 2, second.next);
    assert_eq!((external_ids(&third), third.next), (vec!["old"], None));
    // An id leads to its place as well, as long as the record exists.
    let mid = second.records[0].id;
    assert_eq!(
        bench.engine().snapshot().list_cursor(mid),
        Some(Cursor::of(&second.records[0]))
    );
    let same = first.records[1].id;
    assert_eq!(bench.engine().snapshot().list_cursor(same), None);
}

#[test]
fn a_project_is_one_under_its_short_name_and_under_its_only_whole_one() {
    let mut bench = EngineBench::new();
    let mut short = record_at("short", "2026-02-01T10:00:00Z");
    short.metadata = json!({"project": "shop"}).as_object().unwrap().clone();
    let mut whole = record_at("whole", "2026-02-02T10:00:00Z");
    whole.tags = vec!["project:shop-1f2e3d4c".into()];
    bench.insert(vec![short, whole]);
    let found = |bench: &mut EngineBench, project: &str| {
        let filter = MemoryFilter {
            project: Some(project.to_owned()),
            ..MemoryFilter::default()
        };
        let page = list_page(bench, &filter, 9, None);
        external_ids(&page)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(found(&mut bench, "shop"), ["whole", "short"]);
    assert_eq!(found(&mut bench, "shop-1f2e3d4c"), ["whole", "short"]);
    // With a second one, the short name may mean either.
    let mut other = record_at("other", "2026-02-03T10:00:00Z");
    other.tags = vec!["project:shop-aaaaaaaa".into()];
    bench.insert(vec![other]);
    assert_eq!(found(&mut bench, "shop"), ["short"]);
    assert_eq!(found(&mut bench, "shop-1f2e3d4c"), ["whole"]);
}

type Change<'a> = &'a dyn Fn(&mut MemoryFilter);

#[test]
pub(super) fn every_part_of_a_filter_narrows_and_says_when_it_leaves_nothing() {
    let mut bench = EngineBench::new();
    let mut tagged = record_at("tagged", "2026-02-01T10:00:00Z");
    tagged.tags = vec!["project:shop".into(), "rust".into()];
    tagged.metadata = json!({"author": "David  Peter"})
        .as_object()
        .unwrap()
        .clone();
    let mut other = record_at("other", "2026-02-02T10:00:00Z");
    other.kind = MemoryKind::Finding;
    other.session_id = "t".into();
    other.metadata = json!({"project": "Shop", "speaker": "Ann"})
        .as_object()
        .unwrap()
        .clone();
    bench.insert(vec![tagged, other]);
    let time = |text: &str| parse_timestamp(text).ok();
    let cases: [(Change<'_>, &[&str], &str); 14] = [
        (
            &|f| f.project = Some("shop".into()),
            &["other", "tagged"],
            "",
        ),
        (&|f| f.author = Some("david peter".into()), &["tagged"], ""),
        (&|f| f.author = Some("ANN".into()), &["other"], ""),
        (
            &|f| f.kinds = Some(vec![MemoryKind::Finding]),
            &["other"],
            "",
        ),
        (&|f| f.session_id = Some("s".into()), &["tagged"], ""),
        (&|f| f.since = time("2026-02-02T10:00:00Z"), &["other"], ""),
        (&|f| f.until = time("2026-02-01T10:00:00Z"), &["tagged"], ""),
        (&|f| f.tags = Some(vec!["Rust".into()]), &["tagged"], ""),
        (&|f| f.author = Some("Peter".into()), &["tagged"], ""),
        (&|f| f.author = Some("pete".into()), &[], "by `pete`"),
        (
            &|f| f.tags = Some(vec!["rust".into(), "go".into()]),
            &[],
            "tagged `go`",
        ),
        (
            &|f| f.since = time("2027-01-01"),
            &[],
            "from 2027-01-01 00:00 UTC or later",
        ),
        (
            &|f| {
                f.since = time("2026-02-02");
                f.until = time("2026-02-01");
            },
            &[],
            "`since` is after `until`",
        ),
        (
            &|f| {
                f.kinds = Some(vec![MemoryKind::Finding]);
                f.author = Some("David Peter".into());
            },
            &[],
            "none has all",
        ),
    ];
    for (change, expected, note) in cases {
        let mut filter = MemoryFilter::default();
        change(&mut filter);
        for _ in 0..2 {
            let page = list_page(&mut bench, &filter, 9, None);
            assert_eq!(external_ids(&page), expected, "{filter:?}");
            assert_eq!(page.notes.is_empty(), note.is_empty(), "{:?}", page.notes);
            assert!(page.notes.concat().contains(note), "{:?}", page.notes);
            let now = bench.now;
            bench.engine().checkpoint().unwrap();
            bench.now = now;
            bench.reopen();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn pages_together_are_all_records_once_newest_first(
        times in prop::collection::vec(0..20_u32, 0..60),
        limit in 1..9_usize,
    ) {
        let mut bench = EngineBench::new();
        let records: Vec<NewRecord> = (0..).zip(&times)
            .map(|(n, time)| record_at(&format!("{n:03}"), &format!("2026-02-16T09:00:{time:02}Z")))
            .collect();
        if !records.is_empty() {
            bench.insert(records);
        }
        let (mut seen, mut after) = (Vec::new(), None);
        loop {
            let page = list_page(&mut bench, &MemoryFilter::default(), limit, after);
            prop_assert!(page.records.len() == limit || page.next.is_none());
            seen.extend(page.records.iter().map(|r| (r.timestamp, r.id)));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        prop_assert_eq!(seen.len(), times.len());
        prop_assert!(seen.windows(2).all(|pair| pair[0] > pair[1]));
    }
}
