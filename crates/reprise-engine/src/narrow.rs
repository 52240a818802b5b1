//! From a filter to the records that it admits, and why it admits none; and memory page by page: a
//! way to look that is no question.

use chrono::{DateTime, Utc};
use reprise_index::View;
use reprise_types::limits::PAGE_MAX;
use reprise_types::{
    Cursor, ListRequest, MemoryFilter, MemoryRecord, Order, Page, RecordBody, RecordId, normal_tag,
    to_the_minute,
};

use crate::identifiers::{HASHES_MAX, SHORT_HASH, is_hex, plain};
use crate::names::{BARE_RUN, ID, id, of_type, pair};
use crate::snapshot::Snapshot;

/// Names of projects and of authors that are read of each segment of the index.
const NAMES_MAX: usize = 4_096;

impl Snapshot {
    /// The records that may answer. A tag that cannot be one is on no record; no tags ask for
    /// nothing. Receipts answer to who asks for them by their tag.
    pub(crate) fn view(&self, filter: &MemoryFilter, as_of: Option<DateTime<Utc>>) -> View {
        let mut view = self.index.view(filter, as_of);
        let at = as_of.map(|at| at.timestamp_micros());
        if let Some(tags) = filter.tags.as_ref().filter(|tags| !tags.is_empty()) {
            for tag in tags {
                let normal = normal_tag(tag).unwrap_or_default();
                let others = filter.spellings.iter().filter(|(_, tag)| *tag == normal);
                let mut others = others.map(|(other, _)| other).peekable();
                if at.is_none() && others.peek().is_none() {
                    view = view.within(&self.tagged_view(&normal));
                    continue;
                }
                let others = others.flat_map(|other| self.marks.holding(other, at));
                view = view.among(self.marks.holding(&normal, at).chain(others));
            }
        }
        let asked = filter.tags.iter().flatten();
        if !asked
            .filter_map(|tag| normal_tag(tag))
            .any(|tag| tag == MemoryRecord::RECEIPT)
        {
            view = view.without(self.marks.holding(MemoryRecord::RECEIPT, at));
        }
        if let Some(types) = &filter.types {
            let held = types.iter().map(|one| self.index.holding(&of_type(*one)));
            view = view.among(held.flatten());
        }
        if let Some(project) = &filter.project {
            view = view.among(self.of_project(project, at));
        }
        if let Some(author) = &filter.author {
            view = view.among(self.by(author));
        }
        view
    }

    /// [`Self::list_in`], the latest first.
    #[must_use]
    pub fn list(&self, request: &ListRequest) -> Page {
        self.list_in(Order::NewestFirst, request)
    }

    /// A page of the live records that the filter admits, in this order of when they happened,
    /// without their vectors. What runs left that says nothing beside their question is there for
    /// who asks for what it is. Reads the page's own records from the disk and no others.
    #[must_use]
    pub fn list_in(&self, order: Order, request: &ListRequest) -> Page {
        let filter = &request.filter;
        let mut view = self.view(filter, None);
        let admitted = view.considered();
        if filter.types.is_none() && filter.kinds.is_none() && filter.sources.is_none() {
            view = view.without(self.index.holding(BARE_RUN));
        }
        let limit = request.limit.min(PAGE_MAX);
        let after = request.after.map(|c| (c.timestamp_micros, c.id));
        // One more than the page, to know whether there is another.
        let mut places = self.index.in_order(&view, order, after, limit + 1);
        let more = places.len() > limit;
        places.truncate(limit);
        let next = places.last().filter(|_| more).map(|last| Cursor {
            timestamp_micros: last.0,
            id: last.1,
        });
        let mut page = Page {
            next,
            considered: view.considered(),
            ..Page::default()
        };
        let bare = admitted - view.considered();
        if bare > 0 && request.after.is_none() {
            page.notes.push(format!(
                "left out: {bare} of runs that tell no step; the type `run` lists them"
            ));
        } else if admitted == 0 {
            page.notes.extend(self.why_none(filter, None));
        }
        for (_, _, ordinal) in places {
            match self.record(ordinal, None) {
                Ok(record) => page.records.push(record.without_vector()),
                Err(error) => {
                    tracing::warn!(ordinal, %error, "a record could not be read back");
                    page.damaged += 1;
                }
            }
        }
        page
    }

    /// Every live record that a filter admits, oldest first, without their vectors.
    #[must_use]
    pub fn matching(&self, filter: &MemoryFilter) -> Vec<MemoryRecord> {
        let view = self.view(filter, None);
        let read = view.ordinals().filter_map(|at| self.record(at, None).ok());
        read.map(MemoryRecord::without_vector).collect()
    }

    /// The place of the record with this id, forgotten or not, for a caller that has no cursor.
    #[must_use]
    pub fn cursor(&self, id: RecordId) -> Option<Cursor> {
        let ordinal = self.index.find(id)?;
        let doc = self.index.doc(ordinal).filter(|doc| !doc.hole)?;
        let (timestamp_micros, id) = self.index.place_in_time(ordinal)?;
        (doc.id == id).then_some(Cursor {
            timestamp_micros,
            id,
        })
    }

    /// The records that are tagged with a project or have it in their metadata, at a time or now.
    pub(crate) fn of_project(&self, project: &str, at: Option<i64>) -> Vec<u32> {
        let tag = normal_tag(&["project:", project].concat()).unwrap_or_default();
        let mut of_it = self.marks.tagged(&tag, at);
        of_it.extend(self.with_value(&["project"], project));
        of_it
    }

    /// The names that `project` in the metadata of live records gives, in lower case, ascending.
    #[must_use]
    pub fn projects(&self) -> Vec<String> {
        let view = self.index.view(&MemoryFilter::default(), None);
        let prefix = pair("project", "");
        let all = self.index.holding_from(&prefix, NAMES_MAX).into_iter();
        let held = all.filter(|(_, found)| found.iter().any(|one| view.admits(*one)));
        let names = held.filter_map(|(term, _)| term.strip_prefix(&prefix).map(str::to_owned));
        names.collect()
    }

    /// The records by an author: by the whole name or address, or where nobody has that, by its
    /// words.
    pub(crate) fn by(&self, author: &str) -> Vec<u32> {
        let whole = self.with_value(&RecordBody::AUTHOR_KEYS, author);
        let whole = [whole, self.with_value(&["email"], author)].concat();
        if !whole.is_empty() {
            return whole;
        }
        let wanted = plain(author).unwrap_or_default();
        let words: Vec<&str> = wanted.split(' ').collect();
        let all = RecordBody::AUTHOR_KEYS.iter().flat_map(|key| {
            let prefix = pair(key, "");
            let all = self.index.holding_from(&prefix, NAMES_MAX).into_iter();
            all.map(move |(term, found)| (term[prefix.len()..].to_owned(), found))
        });
        let has_all = |name: &str| {
            words
                .iter()
                .all(|word| name.split(' ').any(|own| own == *word))
        };
        all.filter(|(name, _)| has_all(name))
            .flat_map(|(_, found)| found)
            .collect()
    }

    /// The live records whose external id, a hash, begins so.
    #[must_use]
    pub fn called_from(&self, beginning: &str) -> Vec<RecordId> {
        let beginning = beginning.to_lowercase();
        let is_hash = beginning.bytes().all(|b| b.is_ascii_hexdigit());
        if !is_hash || beginning.len() < SHORT_HASH {
            return Vec::new();
        }
        let named = self.index.holding_from(&id(&beginning), HASHES_MAX);
        let called = named
            .into_iter()
            .filter(|(term, _)| is_hex(&term[ID.len()..]));
        let records = called.flat_map(|(_, found)| found);
        let mut ids: Vec<RecordId> = records
            .filter_map(|ordinal| Some(self.index.doc(ordinal)?.id))
            .filter(|id| self.is_live(*id))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// The records whose metadata has this value under one of these keys.
    fn with_value(&self, keys: &[&str], value: &str) -> Vec<u32> {
        let value = plain(value).unwrap_or_default();
        let each = keys
            .iter()
            .map(|key| self.index.holding(&pair(key, &value)));
        each.flatten().collect()
    }

    /// Why nothing is admitted: the parts of the filter that admit nothing by themselves, or that
    /// they do not go together. Only for a view that admits nothing; `None` where nothing was asked
    /// for either.
    pub(crate) fn why_none(
        &self,
        filter: &MemoryFilter,
        as_of: Option<DateTime<Utc>>,
    ) -> Option<String> {
        if filter.is_empty() && as_of.is_none() {
            return None;
        }
        let all = self.view(&MemoryFilter::default(), as_of);
        if all.considered() == 0 {
            return Some(match as_of {
                Some(at) => format!("memory knew nothing yet at {}", to_the_minute(at)),
                None => "memory is empty".to_owned(),
            });
        }
        let alone = parts(filter).into_iter().filter(|(_, part)| {
            let admitted = self.view(part, as_of);
            admitted.considered() == 0
        });
        let names: Vec<String> = alone.map(|(name, _)| name).collect();
        let records = all.considered();
        Some(match names.as_slice() {
            [] => format!(
                "each part of the filter admits some of the {records} records, but none has all; \
                 leave one out"
            ),
            names => format!(
                "none of the {records} records is {}; leave that out of the filter",
                names.join(", and none ")
            ),
        })
    }
}

/// Every part of a filter, by itself, as the end of "no record is ...".
fn parts(filter: &MemoryFilter) -> Vec<(String, MemoryFilter)> {
    let mut parts = Vec::new();
    let mut part = |name: String, change: &dyn Fn(&mut MemoryFilter)| {
        let mut alone = MemoryFilter::default();
        change(&mut alone);
        parts.push((name, alone));
    };
    if let Some(types) = &filter.types {
        let names: Vec<&str> = types.iter().take(4).map(|one| one.name()).collect();
        let name = format!("a {}", names.join(" or a "));
        part(name, &|alone| alone.types = Some(types.clone()));
    }
    if let Some(kinds) = &filter.kinds {
        let names: Vec<&str> = kinds.iter().take(4).map(|kind| kind.name()).collect();
        let name = format!("of kind `{}`", names.join("` or `"));
        part(name, &|alone| alone.kinds = Some(kinds.clone()));
    }
    if let Some(sources) = &filter.sources {
        let names: Vec<&str> = sources.iter().take(5).map(|source| source.name()).collect();
        let name = format!("from source `{}`", names.join("` or `"));
        part(name, &|alone| alone.sources = Some(sources.clone()));
    }
    if filter.since.is_some() || filter.until.is_some() {
        let name = match (filter.since, filter.until) {
            (Some(since), Some(until)) if since > until => format!(
                "from {} or later and also from {} or earlier: `since` is after `until`",
                to_the_minute(since),
                to_the_minute(until)
            ),
            (Some(since), Some(until)) => {
                format!("from {} to {}", to_the_minute(since), to_the_minute(until))
            }
            (Some(since), None) => format!("from {} or later", to_the_minute(since)),
            (None, until) => {
                let until = until.map(to_the_minute).unwrap_or_default();
                format!("from {until} or earlier")
            }
        };
        part(name, &|alone| {
            alone.since = filter.since;
            alone.until = filter.until;
        });
    }
    if let Some(session) = &filter.session_id {
        let name = format!("in session `{session}`");
        part(name, &|alone| alone.session_id = Some(session.clone()));
    }
    for tag in filter.tags.iter().flatten().take(8) {
        let name = format!("tagged `{tag}`");
        part(name, &|alone| {
            alone.tags = Some(vec![tag.clone()]);
            alone.spellings.clone_from(&filter.spellings);
        });
    }
    if let Some(project) = &filter.project {
        let name = format!("of project `{project}`");
        part(name, &|alone| alone.project = Some(project.clone()));
    }
    if let Some(author) = &filter.author {
        let name = format!("by `{author}`");
        part(name, &|alone| alone.author = Some(author.clone()));
    }
    parts
}
