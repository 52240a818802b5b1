//! How a published thing is kept in our file, and how it is found again.
//!
//! A version is a record whose text is what is searched and whose `details` are the rest. Tags of
//! our own, which no author can write, name shelf, author and origin; they narrow every look, and
//! what is found is held to the rule of access once more.

use std::collections::HashSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use reprise_engine::{Engine, ForgetSelector, RecallCall, Snapshot};
use reprise_types::limits::{PAGE_MAX, TOP_K_MAX};
use reprise_types::{
    Embedding, ListRequest, MemoryFilter, MemoryRecord, MemorySource, NewRecord, NoLearning,
    RecallId, RecallRequest, RecordId, Retention, Visibility, WriteOutcome, normalize_tag,
    sha256_hex,
};
use serde::{Deserialize, Serialize};

use super::ledger::LedgerState;
use crate::caller::{Caller, Shelf};
use crate::coordination::CANDIDATE_RESERVE;
use crate::error::{GlobalError, GlobalResult};
use crate::org::OrgId;
use crate::published::Overlap;
use crate::record::{GlobalContentType, GlobalRecord, Publication, Version};
use crate::rules::{DraftState, PublishedState, choose_overlaps};
use crate::store::{GlobalAnswer, GlobalHit, GlobalQuery, OVERLAPS_MAX};

/// Begins every tag of our own.
const OWN_TAG: &str = "reprise/";
/// A published thing as `details` keeps it: without its content, which is the record's text.
#[derive(Debug, Serialize, Deserialize)]
struct Details {
    /// The record under whose id it is found: of its first version, or of its first draft where
    /// nothing is published yet; none in that one itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first: Option<RecordId>,
    version: Version,
    /// Where in the text the content begins.
    content_at: usize,
    checksum: String,
    author: reprise_types::UserId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    org: Option<OrgId>,
    /// It is a draft on a branch that follows this version; 0 if nothing is published yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base: Option<u32>,
    publication: Publication,
}

/// A version about to be kept.
pub(super) struct NewVersion<'a> {
    pub(super) caller: &'a Caller,
    pub(super) shelf: &'a Shelf,
    pub(super) version: Version,
    pub(super) first: Option<RecordId>,
    /// The record of the version before.
    pub(super) supersedes: Option<RecordId>,
    pub(super) at: DateTime<Utc>,
}

impl NewVersion<'_> {
    pub(super) fn build_record(
        &self,
        mut publication: Publication,
        embedding: Option<Embedding>,
    ) -> GlobalResult<NewRecord> {
        let checksum = publication.checksum();
        let text = publication.search_text();
        let content_at = text.len() - publication.content.len();
        publication.content = String::new();
        let kind = publication.content_type.kind();
        let mut new = NewRecord::new(text, MemorySource::WriterRevision, kind);
        let foreign =
            |tag: &String| normalize_tag(tag).is_some_and(|tag| !tag.starts_with(OWN_TAG));
        new.tags = publication
            .tags
            .iter()
            .filter(|tag| foreign(tag))
            .cloned()
            .collect();
        // Our own are among them whatever an author brings.
        new.tags.truncate(reprise_types::limits::LIST_ITEMS_MAX - 4);
        new.tags
            .extend([shelf_tag(self.shelf), type_tag(publication.content_type)]);
        let base = matches!(self.shelf, Shelf::Branch(..)).then_some(self.version.0 - 1);
        if base.is_some() {
            // By author and origin only what is published is found.
            let replaced = self.first.map(replaced_tag);
            new.tags.push(draft_tag(&publication.origin));
            new.tags.extend(replaced);
        } else {
            new.tags.push(author_tag(self.caller));
            new.tags.push(origin_tag(&publication.origin));
        }
        let details = Details {
            first: self.first,
            version: self.version,
            content_at,
            checksum,
            author: self.caller.user.clone(),
            org: self.shelf.org().cloned(),
            base,
            publication,
        };
        new.details = Some(serde_json::to_value(details)?);
        new.timestamp = Some(self.at);
        new.embedding = embedding;
        new.visibility = Visibility::Published;
        new.retention = Retention::Pinned;
        new.supersedes = self.supersedes;
        Ok(new)
    }
}

/// A tag that no two names share: tags have one spelling, names have case.
fn unique_tag(what: &str, name: &str) -> String {
    format!("{OWN_TAG}{what}/{}", sha256_hex(name.as_bytes()))
}

fn shelf_tag(shelf: &Shelf) -> String {
    unique_tag("shelf", &shelf.to_string())
}

fn author_tag(caller: &Caller) -> String {
    unique_tag("author", caller.user.as_str())
}

fn origin_tag(origin: &str) -> String {
    unique_tag("origin", origin)
}

fn draft_tag(origin: &str) -> String {
    unique_tag("draft", origin)
}

fn replaced_tag(id: RecordId) -> String {
    unique_tag("replaced", &id.to_string())
}

fn type_tag(content_type: GlobalContentType) -> String {
    unique_tag("type", content_type.name())
}

/// A published thing and the record that holds this version of it.
#[derive(Debug)]
pub(super) struct StoredThing {
    pub(super) record: GlobalRecord,
    pub(super) kept: RecordId,
    /// The version that a draft on a branch is to follow.
    pub(super) base: Option<u32>,
}

impl StoredThing {
    /// Returns what the rulebook needs to know of a published thing.
    pub(super) fn to_published_state(&self) -> PublishedState {
        PublishedState {
            id: self.record.id,
            version: self.record.version.0,
            checksum: self.record.checksum.clone(),
            shelf: Shelf::of_record(&self.record).to_string(),
        }
    }

    /// Returns what the rulebook needs to know of a draft.
    pub(super) fn to_draft_state(&self) -> DraftState {
        DraftState {
            id: self.record.id,
            checksum: self.record.checksum.clone(),
            base: self.base.unwrap_or_default(),
        }
    }
}

/// The store at one moment.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) ledger_state: LedgerState,
}

impl Reader {
    /// Reads the file alone, without what the ledger says of its things.
    pub(super) fn without_ledger(snapshot: Arc<Snapshot>) -> Self {
        Self {
            snapshot,
            ledger_state: LedgerState::default(),
        }
    }

    /// Reads another moment of the file.
    pub(super) fn with_snapshot(self, snapshot: Arc<Snapshot>) -> Self {
        Self { snapshot, ..self }
    }

    fn decode_thing(&self, mut record: MemoryRecord) -> GlobalResult<StoredThing> {
        let details = record.details.take();
        let details: Option<Details> =
            details.and_then(|details| serde_json::from_value(details).ok());
        let details = details.ok_or_else(|| {
            GlobalError::storage(&format!(
                "record {} of the global store is not a published thing; run `reprise doctor check`",
                record.id
            ))
        })?;
        let id = details.first.unwrap_or(record.id);
        let mut publication = details.publication;
        let content = record.text.get(details.content_at..);
        content
            .unwrap_or_default()
            .clone_into(&mut publication.content);
        let standing = self
            .ledger_state
            .standings
            .get(&id)
            .copied()
            .unwrap_or_default();
        Ok(StoredThing {
            kept: record.id,
            base: details.base,
            record: GlobalRecord {
                id,
                embedding: record.embedding,
                embedding_space: record.embedding_space,
                author_id: details.author,
                org_id: details.org,
                published_at: record.timestamp,
                version: details.version,
                checksum: details.checksum,
                quality_metrics: standing.metrics,
                publication,
            },
        })
    }

    /// Returns the newest version if this caller may find it.
    pub(super) fn get_findable(&self, caller: &Caller, id: RecordId) -> GlobalResult<StoredThing> {
        let found = self.get_visible(caller, id)?;
        if found.record.is_pattern_of_others(&caller.user)
            && self.list_common_patterns(caller, &found.record)?.is_none()
        {
            return Err(GlobalError::NotFound { id });
        }
        Ok(found)
    }

    /// Returns the newest version if it is on a shelf of the caller.
    pub(super) fn get_visible(&self, caller: &Caller, id: RecordId) -> GlobalResult<StoredThing> {
        let none = || GlobalError::NotFound { id };
        let newest = self.snapshot.current_version(id).ok_or_else(none)?;
        let record = self.snapshot.get(newest).ok_or_else(none)?;
        let mut found = self.decode_thing(record.map_err(|error| GlobalError::storage(&error))?)?;
        found.record.embedding = self.snapshot.vector(newest).unwrap_or_default();
        // A later version's own record is no name of the thing, and on a branch nothing has one.
        let is_published = found.record.id == id && found.base.is_none();
        let seen = is_published && caller.may_see(&found.record);
        seen.then_some(found).ok_or_else(none)
    }

    /// Returns the newest version if the caller is its author.
    pub(super) fn get_own(
        &self,
        caller: &Caller,
        id: RecordId,
        what: &'static str,
    ) -> GlobalResult<StoredThing> {
        let found = self.get_visible(caller, id)?;
        if found.record.author_id == caller.user {
            return Ok(found);
        }
        Err(GlobalError::NotAuthor {
            id,
            what: what.into(),
        })
    }

    pub(super) fn list_versions(
        &self,
        caller: &Caller,
        id: RecordId,
    ) -> GlobalResult<Vec<GlobalRecord>> {
        let newest = self.get_findable(caller, id)?;
        let versions = self.snapshot.version_history(newest.kept).into_iter();
        let mut found = Vec::new();
        for record in versions {
            let record = self.decode_thing(record)?.record;
            // An earlier text of a pattern is its author's alone.
            let is_told = record.version == newest.record.version
                || !record.is_pattern_of_others(&caller.user);
            if is_told && caller.may_see(&record) {
                found.push(without_vector(record));
            }
        }
        Ok(found)
    }

    /// Lists everything live with these tags.
    fn list_tagged(&self, tags: Vec<String>) -> GlobalResult<Vec<StoredThing>> {
        let filter = MemoryFilter {
            tags: Some(tags),
            ..MemoryFilter::default()
        };
        let mut request = ListRequest {
            filter,
            limit: PAGE_MAX,
            after: None,
        };
        let mut all = Vec::new();
        loop {
            let page = self.snapshot.list(&request);
            for record in page.records {
                all.push(self.decode_thing(record)?);
            }
            match page.next {
                Some(next) => request.after = Some(next),
                None => return Ok(all),
            }
        }
    }

    pub(super) fn find_by_origin(
        &self,
        caller: &Caller,
        origin: &str,
    ) -> GlobalResult<Option<StoredThing>> {
        let found = self.list_tagged(vec![author_tag(caller), origin_tag(origin)])?;
        let own = |found: &StoredThing| {
            found.record.author_id == caller.user && found.record.publication.origin == origin
        };
        Ok(found.into_iter().find(own))
    }

    pub(super) fn list_own_published(&self, caller: &Caller) -> GlobalResult<Vec<GlobalRecord>> {
        let own = self.list_own_things(caller)?.into_iter();
        Ok(own.map(|found| without_vector(found.record)).collect())
    }

    /// Lists what an author has on any shelf but his branches.
    pub(super) fn list_own_things(&self, caller: &Caller) -> GlobalResult<Vec<StoredThing>> {
        let found = self.list_tagged(vec![author_tag(caller)])?.into_iter();
        Ok(found
            .filter(|found| found.record.author_id == caller.user)
            .collect())
    }

    /// Lists what is on a shelf, which may be that of a branch.
    pub(super) fn list_shelf(&self, shelf: &Shelf) -> GlobalResult<Vec<StoredThing>> {
        self.list_tagged(vec![shelf_tag(shelf)])
    }

    pub(super) fn find_draft(
        &self,
        branch: &Shelf,
        origin: &str,
    ) -> GlobalResult<Option<StoredThing>> {
        let found = self.list_tagged(vec![shelf_tag(branch), draft_tag(origin)])?;
        let same = |found: &StoredThing| found.record.publication.origin == origin;
        Ok(found.into_iter().find(same))
    }

    /// Lists the drafts on any branch that are to replace a thing.
    pub(super) fn list_replacing_drafts(&self, id: RecordId) -> GlobalResult<Vec<RecordId>> {
        let found = self.list_tagged(vec![replaced_tag(id)])?.into_iter();
        Ok(found.map(|found| found.kept).collect())
    }

    /// Finds the shelf of the branch that a question names, and the things that its drafts replace.
    fn find_branch(
        &self,
        caller: &Caller,
        name: Option<&str>,
    ) -> GlobalResult<Option<(Shelf, HashSet<RecordId>)>> {
        let Some(name) = name else { return Ok(None) };
        self.ledger_state.find_branch_opening(caller, name)?;
        let shelf = caller.branch_shelf(name);
        let drafts = self.list_shelf(&shelf)?.into_iter();
        let replaced = drafts.filter(|draft| draft.base > Some(0));
        let replaced = replaced.map(|draft| draft.record.id).collect();
        Ok(Some((shelf, replaced)))
    }

    /// Searches every shelf that is open to the caller, best first, for more than is asked for.
    pub(super) fn search_open_shelves(
        &self,
        caller: &Caller,
        query: &GlobalQuery,
        vector: Option<&Embedding>,
    ) -> GlobalResult<GlobalAnswer> {
        let as_of = match &query.snapshot {
            None => None,
            Some(name) => {
                let at = self.ledger_state.snapshots.get(name).copied();
                Some(at.ok_or_else(|| GlobalError::NoSnapshot { name: name.clone() })?)
            }
        };
        let types: Vec<Option<String>> = match query.content_types.as_slice() {
            [] => vec![None],
            types => types.iter().map(|one| Some(type_tag(*one))).collect(),
        };
        let mut answer = GlobalAnswer::default();
        let mut found_all = Vec::new();
        let vector = vector.map(Embedding::space_and_vector);
        let tried = self.find_branch(caller, query.branch.as_deref())?;
        let (branch, replaced) = tried.unzip();
        let replaced = replaced.unwrap_or_default();
        // Each thing that runs moved may take another's place; every result is read and explained.
        let moved = self
            .ledger_state
            .standings
            .values()
            .filter(|one| one.boost != 0.0);
        let reserve = moved.count().min(CANDIDATE_RESERVE);
        for shelf in caller.open_shelves().into_iter().chain(branch) {
            let is_branch = matches!(shelf, Shelf::Branch(..));
            for narrowed in &types {
                let mut tags = vec![shelf_tag(&shelf)];
                tags.extend(narrowed.clone());
                let request = RecallRequest {
                    top_k: query.top_k.min(TOP_K_MAX) + reserve + replaced.len(),
                    filter: MemoryFilter {
                        tags: Some(tags),
                        ..MemoryFilter::default()
                    },
                    as_of,
                    ..RecallRequest::new(query.text.as_str())
                };
                let receipt = RecallId::from_u128(0);
                let call = RecallCall::new(&request, receipt, &NoLearning);
                let recall = self.snapshot.recall(&call.with_vectors(vector.as_slice()));
                for part in recall.degraded {
                    if !answer.degraded.contains(&part) {
                        answer.degraded.push(part);
                    }
                }
                for found in recall.results {
                    let (score, why) = (found.score, found.why);
                    let StoredThing { record, base, .. } = self.decode_thing(found.record)?;
                    if !is_branch && replaced.contains(&record.id) {
                        continue;
                    }
                    if !caller.may_see(&record) || base.is_some() != is_branch {
                        let id = record.id;
                        tracing::error!(%id, "a shelf held something that its readers may not see");
                        continue;
                    }
                    found_all.push((record, score, why));
                }
            }
        }
        let best = found_all.iter().map(|one| one.1).fold(0.0, f32::max);
        let hits = found_all.into_iter();
        answer.hits = hits
            .map(|(record, score, why)| {
                let standing = self.ledger_state.standings.get(&record.id).copied();
                let standing = standing.unwrap_or_default();
                standing.build_hit(record, score, why, best)
            })
            .collect();
        // Of copies the first that was published comes first.
        let first = |a: &GlobalHit, b: &GlobalHit| a.record.id.cmp(&b.record.id);
        let better = |a: &GlobalHit, b: &GlobalHit| b.sona_score.total_cmp(&a.sona_score);
        answer.hits.sort_by(|a, b| better(a, b).then(first(a, b)));
        Ok(answer)
    }

    /// Finds what says nearly the same as a new publication, among what its author may see.
    pub(super) fn find_overlaps(
        &self,
        caller: &Caller,
        publication: &Publication,
        vector: Option<&Embedding>,
        own: Option<RecordId>,
    ) -> GlobalResult<Vec<Overlap>> {
        let Some(vector) = vector else {
            return Ok(Vec::new());
        };
        let query = GlobalQuery::new(publication.search_text(), OVERLAPS_MAX + 1);
        let answer = self.search_open_shelves(caller, &query, Some(vector))?;
        let near = self.measure_hits(answer.hits, vector);
        Ok(choose_overlaps(near, own, &caller.user))
    }

    /// Whether nothing is left of a thing that was taken back: by its id, by its own words, in the
    /// log.
    pub(super) fn is_gone(&self, engine: &Engine, was: &StoredThing) -> GlobalResult<bool> {
        let id = was.record.id;
        let answers = self.snapshot.current_version(id).is_some();
        let author = Caller {
            user: was.record.author_id.clone(),
            org: was.record.org_id.clone(),
            projects: was.record.publication.project.clone().into_iter().collect(),
            paid: true,
        };
        let query = GlobalQuery::new(was.record.publication.title.as_str(), PAGE_MAX / 10);
        let found = self.search_open_shelves(&author, &query, None)?;
        let is_found = found.hits.iter().any(|hit| hit.record.id == id);
        let text = was.record.publication.search_text();
        let mut others = 0_usize;
        let mut in_log = 0_usize;
        engine.visit_logged_texts(&mut |logged| in_log += usize::from(logged == text))?;
        // Somebody else may have published the very same words.
        for record in self.snapshot.records().flatten() {
            others += usize::from(record.text == text);
        }
        Ok(!answers && !is_found && in_log == others)
    }
}

/// Forgets a thing in all its versions, and the drafts that are to replace it; returns how many
/// versions there were.
pub(super) fn withdraw_thing(
    engine: &mut Engine,
    newest: &StoredThing,
    why: &str,
    at: DateTime<Utc>,
) -> GlobalResult<u32> {
    let replacing =
        Reader::without_ledger(engine.snapshot()).list_replacing_drafts(newest.record.id)?;
    let selector = ForgetSelector::Record(newest.kept);
    let gone = engine.forget(&selector, why, at)?;
    // What is to replace it says nearly the same.
    let tried = ForgetSelector::All(replacing);
    engine.forget(&tried, why, at)?;
    Ok(gone.len() as u32)
}

fn without_vector(mut record: GlobalRecord) -> GlobalRecord {
    record.embedding = Vec::new();
    record
}

pub(super) fn inserted_id(outcome: Option<WriteOutcome>) -> GlobalResult<RecordId> {
    match outcome {
        Some(WriteOutcome::Inserted { id }) => Ok(id),
        Some(WriteOutcome::Rejected { why }) => Err(GlobalError::invalid(why.to_string())),
        other => Err(GlobalError::invalid(format!("not kept: {other:?}"))),
    }
}
