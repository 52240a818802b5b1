//! Helpers for the tests of the readers.

use std::path::Path;

use reprise_types::{NewRecord, Zone};

use super::{ImportItem, ImportKind, ItemContent, read_source};
use crate::archive::ExternalLink;

/// All items of a source.
#[derive(Debug, Default)]
pub(crate) struct ReadSource {
    pub(crate) records: Vec<NewRecord>,
    pub(crate) links: Vec<ExternalLink>,
    pub(crate) repeated: usize,
    pub(crate) refused: Vec<(String, String)>,
}

pub(crate) fn read_all(path: &Path, kind: ImportKind) -> ReadSource {
    let mut all = ReadSource::default();
    let mut take = |ImportItem { place, content }: ImportItem| {
        match content {
            ItemContent::Record(record) => all.records.push(*record),
            ItemContent::Link(link) => all.links.push(link),
            ItemContent::Repeated => all.repeated += 1,
            ItemContent::Refused(why) => all.refused.push((place, why)),
            ItemContent::Scope(_) | ItemContent::Note(_) => {}
        }
        true
    };
    read_source(path, kind, Zone::default(), &mut take).expect("the source is readable");
    all
}

/// Returns the path of a fixture.
pub(crate) fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}
