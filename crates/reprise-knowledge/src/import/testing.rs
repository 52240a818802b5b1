//! What the tests of the readers share: a source read whole.

use std::path::Path;

use reprise_types::NewRecord;

use super::{Found, ImportKind, Item, Joint, Reading, read};

/// All that a source holds.
#[derive(Debug, Default)]
pub(super) struct All {
    pub(super) records: Vec<NewRecord>,
    pub(super) links: Vec<Joint>,
    pub(super) repeated: usize,
    pub(super) refused: Vec<(String, String)>,
}

pub(super) fn all(path: &Path, kind: ImportKind) -> All {
    let mut all = All::default();
    let mut take = |Item { place, found }: Item| {
        match found {
            Found::Record(record) => all.records.push(*record),
            Found::Link(joint) => all.links.push(joint),
            Found::Repeated => all.repeated += 1,
            Found::Refused(why) => all.refused.push((place, why)),
        }
        true
    };
    read(path, kind, &Reading::default(), &mut take).expect("the source is readable");
    all
}

/// A file of the fixtures.
pub(super) fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}
