//! Passes items on to the caller, and holds links back until all records were passed on.

use super::{ImportItem, ItemContent};
use crate::archive::{ExternalLink, reprise_external_id};
use crate::prelude::*;
use reprise_types::JsonLine;

pub(crate) struct ItemSink<'a> {
    root: PathBuf,
    zone: Zone,
    take: &'a mut dyn FnMut(ImportItem) -> bool,
    links: Vec<(String, ExternalLink)>,
    /// Ids in links that are replaced by the id under which the record was passed on.
    names: HashMap<ExternalId, ExternalId>,
}

impl<'a> ItemSink<'a> {
    pub(super) fn new(
        root: &Path,
        zone: Zone,
        take: &'a mut dyn FnMut(ImportItem) -> bool,
    ) -> Self {
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

    /// Returns the name of a file in places: its path relative to the source.
    pub(super) fn place_name(&self, file: &Path) -> String {
        let inside = file.strip_prefix(&self.root).unwrap_or(file);
        let inside = if inside.as_os_str().is_empty() {
            file.file_name().map_or(file, Path::new)
        } else {
            inside
        };
        inside.to_string_lossy().into_owned()
    }

    pub(super) fn emit(&mut self, place: &str, content: ItemContent) -> Result<(), ImportError> {
        let place = place.to_owned();
        if (self.take)(ImportItem { place, content }) {
            Ok(())
        } else {
            Err(ImportError::Stopped)
        }
    }

    pub(super) fn emit_record(
        &mut self,
        place: &str,
        record: NewRecord,
    ) -> Result<(), ImportError> {
        self.emit(place, ItemContent::Record(Box::new(record)))
    }

    /// Passes on a record of our own export, with its links.
    pub(super) fn emit_carried(
        &mut self,
        place: &str,
        carried: CarriedRecord,
    ) -> Result<(), ImportError> {
        let (record, links) = carried.into_new_record();
        let links = links.into_iter().map(|link| (place.to_owned(), link));
        self.links.extend(links);
        self.emit_record(place, record)
    }

    /// Returns the carried record if nobody changed the object that carried it; else the record
    /// `made` of that object is used. Links with the id of either lead to the record that is used.
    pub(super) fn choose_unchanged(
        &mut self,
        (carried, is_unchanged): (CarriedRecord, bool),
        made: &NewRecord,
    ) -> Option<CarriedRecord> {
        let own = reprise_external_id(carried.record.id);
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
        self.emit(place, ItemContent::Refused(why.into()))
    }

    /// Passes on the record of a line or row, or refuses it.
    pub(super) fn emit_result(
        &mut self,
        place: &str,
        read: Result<NewRecord, String>,
    ) -> Result<(), ImportError> {
        match read {
            Ok(record) => self.emit_record(place, record),
            Err(why) => self.refuse(place, why),
        }
    }

    pub(super) fn hold_link(
        &mut self,
        place: &str,
        from: ExternalId,
        to: ExternalId,
        relation: &str,
    ) {
        let relation = relation.to_owned();
        self.links
            .push((place.to_owned(), ExternalLink { from, to, relation }));
    }

    /// Passes the objects of every line of a file to `each` with their place, and refuses what of a
    /// line cannot be read.
    pub(super) fn for_each_object(
        &mut self,
        file: &Path,
        mut each: impl FnMut(&mut Self, &str, Map<String, Value>) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let name = self.place_name(file);
        for line in LineReader::open(file, LINE_BYTES_MAX)? {
            let (number, line) = line?;
            let place = format!("{name}:{number}");
            for object in self.read_objects_of_line(&place, line)? {
                each(self, &place, object)?;
            }
        }
        Ok(())
    }

    /// Returns the objects of a line, and refuses what of it cannot be read.
    pub(super) fn read_objects_of_line(
        &mut self,
        place: &str,
        line: Result<String, String>,
    ) -> Result<Vec<Map<String, Value>>, ImportError> {
        let read = match line {
            Ok(line) => parse_json_line(&line),
            Err(why) => JsonLine {
                objects: Vec::new(),
                unread: Some(why),
            },
        };
        if let Some(why) = read.unread {
            self.refuse(place, why)?;
        }
        Ok(read.objects)
    }

    /// Passes on the links, after all records.
    pub(super) fn emit_links(mut self) -> Result<(), ImportError> {
        for (place, mut link) in std::mem::take(&mut self.links) {
            for end in [&mut link.from, &mut link.to] {
                if let Some(name) = self.names.get(end) {
                    *end = name.clone();
                }
            }
            self.emit(&place, ItemContent::Link(link))?;
        }
        Ok(())
    }
}
