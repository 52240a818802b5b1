//! What the tests of the readers share: a source read whole.

use std::path::Path;

use reprise_types::{NewRecord, Zone};

use super::{Found, ImportKind, Item, read};
use crate::archive::Joint;

/// All that a source holds.
#[derive(Debug, Default)]
pub(crate) struct All {
    pub(crate) records: Vec<NewRecord>,
    pub(crate) links: Vec<Joint>,
    pub(crate) repeated: usize,
    pub(crate) refused: Vec<(String, String)>,
}

pub(crate) fn all(path: &Path, kind: ImportKind) -> All {
    let mut all = All::default();
    let mut take = |Item { place, found }: Item| {
        match found {
            Found::Record(record) => all.records.push(*record),
            Found::Link(joint) => all.links.push(joint),
            Found::Repeated => all.repeated += 1,
            Found::Refused(why) => all.refused.push((place, why)),
            Found::Scope(_) | Found::Note(_) => {}
        }
        true
    };
    read(path, kind, Zone::default(), &mut take).expect("the source is readable");
    all
}

/// A file of the fixtures.
pub(crate) fn fixture(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}
