//! Handing items over: places that a reader finds again, links held back until their records came.

use super::{Found, Item};
use crate::archive::{Joint, named};
use crate::prelude::*;

pub(crate) struct Giver<'a> {
    root: PathBuf,
    zone: Zone,
    take: &'a mut dyn FnMut(Item) -> bool,
    links: Vec<(String, Joint)>,
    /// Names by which links may lead to a record that came under another one.
    names: HashMap<ExternalId, ExternalId>,
}

impl<'a> Giver<'a> {
    pub(super) fn new(root: &Path, zone: Zone, take: &'a mut dyn FnMut(Item) -> bool) -> Self {
        Self {
            root: root.to_owned(),
            zone,
            take,
            links: Vec::new(),
            names: HashMap::new(),
        }
    }

    pub(super) fn zone(&self) -> Zone {
        self.zone
    }

    /// A file as its place is called: from the source on.
    pub(super) fn name(&self, file: &Path) -> String {
        let inside = file.strip_prefix(&self.root).unwrap_or(file);
        let inside = if inside.as_os_str().is_empty() {
            file.file_name().map_or(file, Path::new)
        } else {
            inside
        };
        inside.to_string_lossy().into_owned()
    }

    pub(super) fn give(&mut self, place: &str, found: Found) -> Result<(), ImportError> {
        let place = place.to_owned();
        if (self.take)(Item { place, found }) {
            Ok(())
        } else {
            Err(ImportError::Stopped)
        }
    }

    pub(super) fn record(&mut self, place: &str, record: NewRecord) -> Result<(), ImportError> {
        self.give(place, Found::Record(Box::new(record)))
    }

    /// A record of an export of our own, with its links.
    pub(super) fn own(&mut self, place: &str, carried: Carried) -> Result<(), ImportError> {
        let (record, links) = carried.into_new();
        let links = links.into_iter().map(|joint| (place.to_owned(), joint));
        self.links.extend(links);
        self.record(place, record)
    }

    /// The record that an export of ours put beside what is `made` of a form, where nobody changed
    /// it there. Links lead to whichever of the two comes in, by the name of either.
    pub(super) fn unchanged(
        &mut self,
        (carried, is_unchanged): (Carried, bool),
        made: &NewRecord,
    ) -> Option<Carried> {
        let own = named(carried.record.id);
        if let Some(form) = made.external_ids.first().cloned() {
            let (from, to) = if is_unchanged {
                (form, own)
            } else {
                (own, form)
            };
            self.names.entry(from).or_insert(to);
        }
        is_unchanged.then_some(carried)
    }

    pub(super) fn refuse(
        &mut self,
        place: &str,
        why: impl Into<String>,
    ) -> Result<(), ImportError> {
        self.give(place, Found::Refused(why.into()))
    }

    /// What a line or row has become.
    pub(super) fn result(
        &mut self,
        place: &str,
        read: Result<NewRecord, String>,
    ) -> Result<(), ImportError> {
        match read {
            Ok(record) => self.record(place, record),
            Err(why) => self.refuse(place, why),
        }
    }

    pub(super) fn link(&mut self, place: &str, from: ExternalId, to: ExternalId, relation: &str) {
        let relation = relation.to_owned();
        self.links
            .push((place.to_owned(), Joint { from, to, relation }));
    }

    /// The object of every line of a file, to `each` with its place; lines without one are refused
    /// here.
    pub(super) fn objects(
        &mut self,
        file: &Path,
        mut each: impl FnMut(&mut Self, &str, Map<String, Value>) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let name = self.name(file);
        for line in Lines::open(file, LINE_BYTES_MAX)? {
            let (number, line) = line?;
            let place = format!("{name}:{number}");
            match line.and_then(|line| object(&line)) {
                Ok(object) => each(self, &place, object)?,
                Err(why) => self.refuse(&place, why)?,
            }
        }
        Ok(())
    }

    /// The links, now that every record has come.
    pub(super) fn finish(mut self) -> Result<(), ImportError> {
        for (place, mut joint) in std::mem::take(&mut self.links) {
            for end in [&mut joint.from, &mut joint.to] {
                if let Some(name) = self.names.get(end) {
                    *end = name.clone();
                }
            }
            self.give(&place, Found::Link(joint))?;
        }
        Ok(())
    }
}
