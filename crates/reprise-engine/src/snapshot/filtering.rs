//! From a filter to the records that it admits, and the reason if it admits none; and lists of
//! memory, page by page.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use reprise_index::IndexView;
use reprise_rank::{
    BARE_RUN_TERM, EXTERNAL_ID_PREFIX, HASH_PREFIX_MIN, HASH_TERMS_MAX, external_id_term, is_hex,
    is_uuid, normalize_name, pair_term, type_term,
};
use reprise_types::limits::PAGE_MAX;
use reprise_types::{
    Cursor, ListOrder, ListRequest, MemoryFilter, MemoryRecord, RecordBody, RecordId, RecordPage,
    RecordType, format_minute_utc, list_names_of_project, normalize_tag, short_project_name,
};

use crate::snapshot::Snapshot;

/// Fewest characters of the beginning of a session's name.
const SESSION_PREFIX_MIN: usize = 8;

/// Most names of projects and of authors that are read.
const NAMES_MAX: usize = 4_096;
/// Characters of a whole id, and fewest that one is found by.
const ID_CHARS: usize = 26;
const ID_PREFIX_MIN: usize = 8;

impl Snapshot {
    /// Returns the records that a filter admits. A tag that cannot exist is on no record; an empty
    /// list of tags admits all. Receipts are admitted only if their tag is asked for.
    pub(crate) fn view(&self, filter: &MemoryFilter, as_of: Option<DateTime<Utc>>) -> IndexView {
        let mut view = self.index.view(filter, as_of);
        let at = as_of.map(|at| at.timestamp_micros());
        if let Some(tags) = filter.tags.as_ref().filter(|tags| !tags.is_empty()) {
            for tag in tags {
                let normal = normalize_tag(tag).unwrap_or_default();
                let others = filter
                    .tag_spellings
                    .iter()
                    .filter(|(_, tag)| *tag == normal);
                let mut others = others.map(|(other, _)| other).peekable();
                if at.is_none() && others.peek().is_none() {
                    view = view.intersect(&self.tag_view(&normal));
                    continue;
                }
                let others = others.flat_map(|other| self.marks.iter_with_tag(other, at));
                view = view.restrict_to(self.marks.iter_with_tag(&normal, at).chain(others));
            }
        }
        if let Some(tags) = filter.any_tags.as_ref().filter(|tags| !tags.is_empty()) {
            let mut names: Vec<String> = tags.iter().filter_map(|tag| normalize_tag(tag)).collect();
            let spellings = filter.tag_spellings.iter();
            let others = spellings.filter(|(_, tag)| names.contains(tag));
            let others: Vec<String> = others.map(|(other, _)| other.clone()).collect();
            names.extend(others);
            let holders = names
                .iter()
                .flat_map(|name| self.marks.iter_with_tag(name, at));
            view = view.restrict_to(holders);
        }
        let asked_tags = filter.tags.iter().chain(&filter.any_tags).flatten();
        if !asked_tags
            .filter_map(|tag| normalize_tag(tag))
            .any(|tag| tag == MemoryRecord::RECEIPT_TAG)
        {
            view = view.exclude(self.marks.iter_with_tag(MemoryRecord::RECEIPT_TAG, at));
        }
        if let Some(types) = &filter.types {
            let holders = types
                .iter()
                .map(|one| self.index.find_exact_term(&type_term(*one)));
            // Programs that store no type name it by a tag.
            let tagged = types.iter().flat_map(|one| {
                let tag = format!("{}{}", RecordType::TAG_PREFIX, one.name());
                self.marks.iter_with_tag(&tag, at).collect::<Vec<_>>()
            });
            view = view.restrict_to(holders.flatten().chain(tagged));
        }
        if let Some(project) = &filter.project {
            let names = self.list_project_names(project).into_iter();
            let of_it = names.flat_map(|name| self.ordinals_in_project(&name, at));
            view = view.restrict_to(of_it);
        }
        if let Some(author) = &filter.author {
            view = view.restrict_to(self.ordinals_by_author(author));
        }
        view
    }

    /// Lists a page as [`Self::list_ordered`] does, newest first.
    #[must_use]
    pub fn list(&self, request: &ListRequest) -> RecordPage {
        self.list_ordered(ListOrder::NewestFirst, request)
    }

    /// Lists a page of the live records that the filter admits, in this order of when they
    /// happened, without their vectors. Outcome records of runs that only repeat their question are
    /// listed only if the filter names a type, a kind or a source. Reads the page's own records
    /// from the disk and no others.
    #[must_use]
    pub fn list_ordered(&self, order: ListOrder, request: &ListRequest) -> RecordPage {
        let filter = &request.filter;
        let mut view = self.view(filter, None);
        let admitted = view.considered_count();
        if filter.types.is_none() && filter.kinds.is_none() && filter.sources.is_none() {
            view = view.exclude(self.index.find_exact_term(BARE_RUN_TERM));
        }
        let limit = request.limit.min(PAGE_MAX);
        let after = request.after.map(|c| (c.timestamp_micros, c.id));
        // One more than the page, to know whether there is another.
        let mut places = self.index.list_by_time(&view, order, after, limit + 1);
        let more = places.len() > limit;
        places.truncate(limit);
        let next = places.last().filter(|_| more).map(|last| Cursor {
            timestamp_micros: last.0,
            id: last.1,
        });
        let mut page = RecordPage {
            next,
            considered: view.considered_count(),
            ..RecordPage::default()
        };
        let bare = admitted - view.considered_count();
        if bare > 0 && request.after.is_none() {
            page.notes.push(format!(
                "left out: {bare} runs without any step; the type `run` lists them"
            ));
        } else if admitted == 0 {
            page.notes.extend(self.explain_empty_view(filter, None));
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

    /// Returns every live record that a filter admits, oldest first, without their vectors.
    #[must_use]
    pub fn list_matching_records(&self, filter: &MemoryFilter) -> Vec<MemoryRecord> {
        let view = self.view(filter, None);
        let read = view.ordinals().filter_map(|at| self.record(at, None).ok());
        read.map(MemoryRecord::without_vector).collect()
    }

    /// Returns the list cursor at the record with this id, forgotten or not, for a caller that has
    /// none.
    #[must_use]
    pub fn list_cursor(&self, id: RecordId) -> Option<Cursor> {
        let ordinal = self.index.find(id)?;
        let doc = self.index.doc(ordinal).filter(|doc| !doc.is_hole())?;
        let (timestamp_micros, id) = self.index.time_key(ordinal)?;
        (doc.id == id).then_some(Cursor {
            timestamp_micros,
            id,
        })
    }

    /// Returns the records that are tagged with a project or have it in their metadata, at a time
    /// or now.
    pub(crate) fn ordinals_in_project(&self, project: &str, at: Option<i64>) -> Vec<u32> {
        let tag = normalize_tag(&["project:", project].concat()).unwrap_or_default();
        let mut of_it = self.marks.ordinals_with_tag(&tag, at);
        of_it.extend(self.ordinals_with_value(&["project"], project));
        of_it
    }

    /// Returns the names under which live records know a project. Of all names only those that
    /// share its short one have their records read.
    #[must_use]
    pub fn list_project_names(&self, project: &str) -> Vec<String> {
        let view = self.index.view(&MemoryFilter::default(), None);
        let short = short_project_name(project);
        let is_alike = |name: &&str| short_project_name(name).eq_ignore_ascii_case(short);
        let prefix = pair_term("project", "");
        let terms = self.index.list_exact_terms(&prefix, NAMES_MAX);
        let named = terms.iter().filter_map(|term| term.strip_prefix(&prefix));
        let tagged = self
            .marks
            .tags()
            .filter_map(|(tag, _)| tag.strip_prefix("project:"));
        let alike: BTreeSet<&str> = named.chain(tagged).filter(is_alike).collect();
        let is_used = |name: &&str| {
            let mut holders = self.ordinals_in_project(name, None).into_iter();
            holders.any(|one| view.contains(one))
        };
        list_names_of_project(project, alike.into_iter().filter(is_used))
    }

    /// Returns the names under `project` in the metadata of live records, in lower case, ascending.
    #[must_use]
    pub fn projects(&self) -> Vec<String> {
        let view = self.index.view(&MemoryFilter::default(), None);
        let prefix = pair_term("project", "");
        let all = self.index.find_exact_prefix(&prefix, NAMES_MAX).into_iter();
        let holders = all.filter(|(_, found)| found.iter().any(|one| view.contains(*one)));
        let names = holders.filter_map(|(term, _)| term.strip_prefix(&prefix).map(str::to_owned));
        names.collect()
    }

    /// Returns the records by an author: by the whole name or address, or if nobody has that, by
    /// its words.
    pub(crate) fn ordinals_by_author(&self, author: &str) -> Vec<u32> {
        let whole = self.ordinals_with_value(&RecordBody::AUTHOR_KEYS, author);
        let whole = [whole, self.ordinals_with_value(&["email"], author)].concat();
        if !whole.is_empty() {
            return whole;
        }
        let wanted = normalize_name(author).unwrap_or_default();
        let words: Vec<&str> = wanted.split(' ').collect();
        let all = RecordBody::AUTHOR_KEYS.iter().flat_map(|key| {
            let prefix = pair_term(key, "");
            let all = self.index.find_exact_prefix(&prefix, NAMES_MAX).into_iter();
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

    /// Returns the session of that name, or else those whose name is a hash or a UUID and begins
    /// with it.
    #[must_use]
    pub fn find_sessions(&self, name: &str) -> Vec<String> {
        let beginning = name.to_lowercase();
        let is_part = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
        if self.index.find_session(name).is_some() {
            return vec![name.to_owned()];
        }
        if beginning.len() < SESSION_PREFIX_MIN || !beginning.bytes().all(is_part) {
            return Vec::new();
        }
        let found = self.index.list_sessions(|session| {
            let begins = session.get(..beginning.len());
            begins.is_some_and(|begins| begins.eq_ignore_ascii_case(&beginning)) && {
                let session = session.to_ascii_lowercase();
                is_hex(&session) || is_uuid(&session)
            }
        });
        found.into_iter().map(str::to_owned).collect()
    }

    /// Returns the live records with an external id that is a hash or a UUID and begins with this
    /// prefix.
    #[must_use]
    pub fn find_by_external_hash_prefix(&self, beginning: &str) -> Vec<RecordId> {
        let beginning = beginning.to_lowercase();
        let is_hash = beginning.bytes().all(|b| b.is_ascii_hexdigit());
        if !(is_hash || is_uuid(&beginning)) || beginning.len() < HASH_PREFIX_MIN {
            return Vec::new();
        }
        let named = self
            .index
            .find_exact_prefix(&external_id_term(&beginning), HASH_TERMS_MAX);
        let called = named
            .into_iter()
            .map(|(term, found)| (term[EXTERNAL_ID_PREFIX.len()..].to_owned(), found))
            .filter(|(name, _)| is_hex(name) || is_uuid(name));
        let records = called.flat_map(|(_, found)| found);
        let mut ids: Vec<RecordId> = records
            .filter_map(|ordinal| Some(self.index.doc(ordinal)?.id))
            .filter(|id| self.is_live(*id))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Returns the present versions of the records whose ids begin with this prefix, of eight
    /// characters or more.
    #[must_use]
    pub fn find_by_id_prefix(&self, beginning: &str) -> Vec<RecordId> {
        let rest = ID_CHARS.checked_sub(beginning.len());
        let Some(rest) = rest.filter(|_| beginning.len() >= ID_PREFIX_MIN) else {
            return Vec::new();
        };
        let fill = |last: &str| (beginning.to_owned() + &last.repeat(rest)).parse::<RecordId>();
        let (Ok(first), Ok(last)) = (fill("0"), fill("Z")) else {
            return Vec::new();
        };
        let called = self
            .docs()
            .filter(|(_, doc)| (first..=last).contains(&doc.id));
        let current = called.filter_map(|(_, doc)| self.current_version(doc.id));
        current.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns the records whose metadata has this value under one of these keys.
    fn ordinals_with_value(&self, keys: &[&str], value: &str) -> Vec<u32> {
        let value = normalize_name(value).unwrap_or_default();
        let each = keys
            .iter()
            .map(|key| self.index.find_exact_term(&pair_term(key, &value)));
        each.flatten().collect()
    }

    /// Explains why a view admits nothing: which parts of the filter admit nothing by themselves,
    /// or that the parts exclude each other. Returns `None` if there is neither a filter nor a
    /// time.
    pub(crate) fn explain_empty_view(
        &self,
        filter: &MemoryFilter,
        as_of: Option<DateTime<Utc>>,
    ) -> Option<String> {
        if filter.is_empty() && as_of.is_none() {
            return None;
        }
        let all = self.view(&MemoryFilter::default(), as_of);
        if all.considered_count() == 0 {
            return Some(match as_of {
                Some(at) => format!("memory knew nothing yet at {}", format_minute_utc(at)),
                None => "memory is empty".to_owned(),
            });
        }
        let alone = split_into_named_conditions(filter)
            .into_iter()
            .filter(|(_, part)| {
                let admitted = self.view(part, as_of);
                admitted.considered_count() == 0
            });
        let names: Vec<String> = alone.map(|(name, _)| name).collect();
        let records = all.considered_count();
        Some(match names.as_slice() {
            [] => format!(
                "each part of the filter finds some of the {records} memories, but none has all of \
                 them; leave one out"
            ),
            names => format!(
                "no memory is {}; change the filter, or leave it out",
                names.join(", and none ")
            ),
        })
    }
}

/// Splits a filter into its parts, each named as the end of "no record is ...".
fn split_into_named_conditions(filter: &MemoryFilter) -> Vec<(String, MemoryFilter)> {
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
                format_minute_utc(since),
                format_minute_utc(until)
            ),
            (Some(since), Some(until)) => {
                format!(
                    "from {} to {}",
                    format_minute_utc(since),
                    format_minute_utc(until)
                )
            }
            (Some(since), None) => format!("from {} or later", format_minute_utc(since)),
            (None, until) => {
                let until = until.map(format_minute_utc).unwrap_or_default();
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
            alone.tag_spellings.clone_from(&filter.tag_spellings);
        });
    }
    if let Some(tags) = filter.any_tags.as_ref().filter(|tags| !tags.is_empty()) {
        let name = format!("tagged any of `{}`", tags.join("`, `"));
        part(name, &|alone| {
            alone.any_tags = Some(tags.clone());
            alone.tag_spellings.clone_from(&filter.tag_spellings);
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
