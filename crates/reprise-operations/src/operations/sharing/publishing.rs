//! Publishing against what was shown, and taking back; each leaves a receipt in the log. What
//! others published, read and reported on.

use reprise_global::{
    AUDIT_MAX, Fate, GlobalError, GlobalRecord, GlobalTier, Proposal, Published, TakenDown,
    Unpublished, WallError, prepare_publication,
};
use reprise_types::sha256_hex;

use super::PublicationDraft;
use super::receipts::{ReceiptAct, ReceiptLog};
use crate::prelude::*;

/// Most records of one publication.
const RECORDS_MAX: usize = 50;
/// How long an outcome waits for the global store to hear it.
const REPORT: Duration = Duration::from_secs(2);

impl Memory {
    /// Builds the draft of each named record; fails if one of them may not be published.
    pub(crate) async fn build_publication_drafts(
        &self,
        names: &[String],
        proposal: Proposal,
    ) -> Result<Vec<PublicationDraft>, Problem> {
        if names.is_empty() || names.len() > RECORDS_MAX {
            return Err(Problem::invalid(format!(
                "name 1 to {RECORDS_MAX} memories in `ids`"
            )));
        }
        if names.len() > 1 && (proposal.title.is_some() || proposal.summary.is_some()) {
            return Err(Problem::conflict(
                "a title or summary needs exactly one memory; publish them one by one",
            ));
        }
        let mut records: Vec<MemoryRecord> = Vec::with_capacity(names.len());
        for name in names {
            let record = self.get_record(name).await?;
            if record.is_receipt() {
                return Err(Problem::invalid(format!(
                    "`{name}` is a receipt of what was published, and stays here; publish what it names"
                )));
            }
            if records.iter().all(|other| other.id != record.id) {
                records.push(record);
            }
        }
        let origins = self.run_on_snapshot(move |memory| {
            let receipts = ReceiptLog::read(memory);
            let found = records.into_iter().map(|record| {
                let (origin, earlier) = receipts.find_origin(memory, record.id);
                (record, origin, earlier)
            });
            found.collect::<Vec<_>>()
        });
        let mut wanted = Vec::new();
        for (record, origin, earlier) in origins.await? {
            let mut proposal = proposal.clone();
            if let Some((id, _)) = &earlier
                && let Some(standing) = self.find_published_thing(*id).await?
            {
                proposal = proposal.with_defaults_of(&standing.publication);
            }
            let leaving = prepare_publication(&self.user, &record, origin, &proposal)?;
            wanted.push(PublicationDraft {
                record: record.id,
                origin,
                earlier,
                leaving,
            });
        }
        Ok(wanted)
    }

    /// Publishes what was shown, for all or on a branch: each record's bytes have one of the hashes
    /// in `agreed`.
    pub(crate) async fn publish(
        &self,
        wanted: &[PublicationDraft],
        agreed: &[String],
        branch: Option<&str>,
    ) -> Result<(Vec<Published>, Option<RecordId>), Problem> {
        let is_agreed = |one: &&PublicationDraft| agreed.contains(&sha256_hex(&one.bytes()));
        if let Some(other) = wanted.iter().find(|one| !is_agreed(one)) {
            let said = format!(
                "nothing left: what would leave of {} is not what was shown; look at it again with \
                 `publish_preview` and agree to its `sha256`",
                other.record
            );
            return Err(Problem::conflict(said));
        }
        let tier = self.open_global_tier().await?;
        let receipts = self.run_on_snapshot(ReceiptLog::read).await?;
        let (mut done, mut failed) = (Vec::new(), None);
        for one in wanted {
            let publication = one.leaving.publication.clone();
            let (store, caller) = (tier.store(), tier.caller());
            let published = match branch {
                None => store.publish(caller, publication).await,
                Some(branch) => store.publish_on_branch(caller, branch, publication).await,
            };
            match published {
                Ok(published) => done.push((one, published)),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        // Said in the user's own log, also of what was published before one failed.
        let (mut acts, mut earlier) = (Vec::new(), None);
        for (one, published) in &done {
            let act = ReceiptAct::for_publication(one, published, branch);
            match receipts
                .find_same_receipt(&act)
                .filter(|_| published.unchanged)
            {
                None => acts.push(act),
                said => earlier = said,
            }
        }
        let receipt = self.try_write_receipt(&acts).await.or(earlier);
        match failed {
            None => Ok((done.into_iter().map(|(_, done)| done).collect(), receipt)),
            Some(error) if done.is_empty() => Err(error.into()),
            Some(error) => {
                let count = done.len();
                let problem = Problem::from(error);
                let place = branch.map_or("are published", |_| "stand on the branch");
                let detail = format!("{}; {count} before it {place}", problem.detail);
                Err(Problem { detail, ..problem })
            }
        }
    }

    /// Publishes everything on a branch, and leaves a receipt of it. If an earlier answer was lost,
    /// it is returned again and the missing receipt is written.
    pub(crate) async fn merge_branch(
        &self,
        branch: &str,
    ) -> Result<(Vec<Published>, Option<RecordId>), Problem> {
        let tier = self.open_global_tier().await?;
        let mut receipts = None;
        if self.exists() {
            receipts = Some(self.run_on_snapshot(ReceiptLog::read).await?);
        }
        let merged = match (
            tier.store().merge_branch(tier.caller(), branch).await,
            &receipts,
        ) {
            (Err(GlobalError::NoBranch { name }), Some(receipts)) => {
                let standing = list_merged_things(&tier, branch).await?;
                if let Some((receipt, published)) = receipts.find_merge(branch, &standing) {
                    return Ok((published, Some(receipt)));
                }
                let merged = receipts.list_unreceipted_merges(branch, &standing);
                if merged.is_empty() {
                    return Err(GlobalError::NoBranch { name }.into());
                }
                merged
            }
            (merged, _) => merged?,
        };
        let mut receipt = None;
        if let Some(receipts) = receipts.filter(|_| !merged.is_empty()) {
            let acts = merged
                .iter()
                .map(|one| receipts.build_merge_act(one, branch));
            receipt = self
                .try_write_receipt(&acts.collect::<Vec<ReceiptAct>>())
                .await;
        }
        let published = merged.into_iter().map(|one| one.published);
        Ok((published.collect(), receipt))
    }

    /// Takes a thing back, and leaves a receipt of it. It is named by its own id, or by the record
    /// of which it is a copy.
    pub(crate) async fn unpublish(
        &self,
        name: &str,
    ) -> Result<(Unpublished, Option<RecordId>), Problem> {
        match self.unpublish_without_receipt(name).await {
            Ok(done) => {
                let act = ReceiptAct::for_unpublication(done.id, done.versions);
                Ok((done, self.try_write_receipt(&[act]).await))
            }
            Err(missing) if missing.kind == ProblemKind::NotFound => {
                let before = self.find_earlier_unpublication().await;
                before.map(|(done, id)| (done, Some(id))).ok_or(missing)
            }
            Err(problem) => Err(problem),
        }
    }

    async fn unpublish_without_receipt(&self, name: &str) -> Result<Unpublished, Problem> {
        let id = self.get_published_id(name).await?;
        let tier = self.open_global_tier().await?;
        Ok(tier.store().unpublish(tier.caller(), id).await?)
    }

    /// Of a published thing: its own id, or what the log says of the record of this name.
    async fn get_published_id(&self, name: &str) -> Result<RecordId, Problem> {
        let found = match self.get_record(name).await {
            Ok(record) => self.find_published_copy(record.id).await?.map(|(id, _)| id),
            // Taking back needs no memory that answers.
            Err(problem) => match name.parse() {
                Ok(id) => Some(id),
                Err(_) if problem.kind == ProblemKind::NotFound => None,
                Err(_) => return Err(problem),
            },
        };
        found.ok_or_else(|| {
            let name: String = name.chars().take(64).collect();
            Problem::not_found(format!(
                "nothing that you published goes by `{name}`; `reprise share list` lists it"
            ))
        })
    }

    /// The receipt of what is done by now: an error would say that it is not.
    async fn try_write_receipt(&self, acts: &[ReceiptAct]) -> Option<RecordId> {
        if acts.is_empty() {
            return None;
        }
        let kept = self.write_receipt(acts).await;
        kept.inspect_err(|error| tracing::warn!(%error, "what was done left no receipt"))
            .ok()
    }

    /// The records of which others can find something, as the log says.
    pub async fn list_published_records(&self) -> Result<HashSet<RecordId>, Problem> {
        self.run_on_snapshot(|memory| ReceiptLog::read(memory).list_published_records(memory))
            .await
    }

    /// Finds the published copy of a record in the log: its id in the global store and its version.
    pub(crate) async fn find_published_copy(
        &self,
        record: RecordId,
    ) -> Result<Option<(RecordId, String)>, Problem> {
        self.run_on_snapshot(move |memory| ReceiptLog::read(memory).find_origin(memory, record).1)
            .await
    }

    /// The record that left last as this thing, as the log says.
    pub(crate) async fn find_record_published_as(
        &self,
        thing: RecordId,
    ) -> Result<Option<MemoryRecord>, Problem> {
        self.run_on_snapshot(move |memory| {
            let left = ReceiptLog::read(memory).find_record_published_as(thing)?;
            memory.get_stored(left)?.ok()
        })
        .await
    }

    /// A published thing, for whom it is for.
    pub(crate) async fn read_published_thing(
        &self,
        id: RecordId,
        version: Option<reprise_global::Version>,
    ) -> Result<GlobalRecord, Problem> {
        let tier = self.open_global_tier().await?;
        let found = tier.store().get(tier.caller(), id, version).await?;
        Ok(GlobalRecord {
            embedding: Vec::new(),
            ..found
        })
    }

    /// Finds a published thing; `None` if this user cannot read one of this id.
    async fn find_published_thing(&self, id: RecordId) -> Result<Option<GlobalRecord>, Problem> {
        match self.read_published_thing(id, None).await {
            Ok(thing) => Ok(Some(thing)),
            Err(problem) if problem.kind == ProblemKind::NotFound => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    /// Finds a published thing and renders it as a record's line; `None` if this user cannot read
    /// one of this id.
    pub(crate) async fn find_published_line(&self, name: &str) -> Result<Option<Value>, Problem> {
        let Some(id) = name.parse().ok().filter(|_| self.has_global_store()) else {
            return Ok(None);
        };
        let Some(thing) = self.find_published_thing(id).await? else {
            return Ok(None);
        };
        let publication = &thing.publication;
        Ok(Some(json!({
            "id": thing.id,
            "title": publication.title,
            "text": publication.search_text(),
            "type": RecordType::Lesson,
            "kind": publication.content_type.kind(),
            "timestamp": format_instant(thing.published_at),
            "tags": publication.tags,
            "scope": RecallScope::Global,
            "author": thing.author_id,
            "version": thing.version,
            "quality": thing.quality_metrics.quality(),
            "licence": publication.licence,
            "links": [],
        })))
    }

    /// Splits names of used records: those of this memory, and ids that may be published things.
    pub(crate) async fn split_used(
        &self,
        used: Vec<String>,
    ) -> Result<(Vec<String>, Vec<RecordId>), Problem> {
        if !self.has_global_store() || used.is_empty() || !self.exists() {
            return Ok((used, Vec::new()));
        }
        self.run_on_snapshot(move |memory| {
            let (mut own, mut others) = (Vec::new(), Vec::new());
            for name in used {
                match name.parse::<RecordId>() {
                    Ok(id) if memory.get_stored(id).is_none() && !memory.is_forgotten(id) => {
                        others.push(id);
                    }
                    _ => own.push(name),
                }
            }
            (own, others)
        })
        .await
    }

    /// Refuses the id of a published thing that nobody has, before anything is stored of its use. A
    /// store that does not answer refuses none.
    pub(crate) async fn refuse_unknown_published(&self, used: &[RecordId]) -> Result<(), Problem> {
        if used.is_empty() {
            return Ok(());
        }
        let tier = self.open_global_tier().await?;
        match tokio::time::timeout(REPORT, tier.find_unknown(used)).await {
            Ok(Some(id)) => Err(no_such_memory_problem(&id.to_string())),
            Ok(None) | Err(_) => Ok(()),
        }
    }

    /// Reports how a run went that used published things. A store that does not answer loses one
    /// voice, and so does a thing that was taken back in the meantime.
    pub(crate) async fn report_published_use(
        &self,
        used: &[RecordId],
        score: f32,
    ) -> Result<(), Problem> {
        let tier = self.open_global_tier().await?;
        let told = match tokio::time::timeout(REPORT, tier.report_usage(used, score)).await {
            Ok(Ok(told)) => told,
            Ok(Err(error)) => {
                tracing::warn!(%error, "a report to the global store was lost");
                return Ok(());
            }
            Err(_) => {
                tracing::warn!("the global store was late to hear a report");
                return Ok(());
            }
        };
        let newly = |(id, fate, version): &(RecordId, Fate, Option<u32>)| match fate {
            Fate::Counted => version.map(|version| ReceiptAct::for_use(*id, version)),
            Fate::OwnWork | Fate::NotFound => None,
        };
        let acts: Vec<ReceiptAct> = told.iter().filter_map(newly).collect();
        if !acts.is_empty() {
            self.write_receipt(&acts).await?;
        }
        Ok(())
    }
}

/// What the caller has published, where the last that happened to a branch is that it was merged.
async fn list_merged_things(
    tier: &GlobalTier,
    branch: &str,
) -> Result<Vec<GlobalRecord>, GlobalError> {
    let (store, caller) = (tier.store(), tier.caller());
    let told = store.list_audit_lines(caller, AUDIT_MAX).await?;
    let last = told.iter().find(|line| {
        let is_of_it = line.who == caller.user.as_str() && line.name.as_deref() == Some(branch);
        is_of_it && matches!(line.what.as_str(), "branch" | "merge" | "drop")
    });
    if last.is_none_or(|line| line.what != "merge") {
        return Ok(Vec::new());
    }
    store.list_all_own_published(caller).await
}

/// What operators took down of the caller's, and why; nothing where the store cannot say, as an
/// older service cannot.
pub(crate) async fn list_own_taken_down(tier: &GlobalTier) -> Vec<TakenDown> {
    let told = tier.store().list_own_taken_down(tier.caller()).await;
    told.unwrap_or_else(|error| {
        tracing::debug!(%error, "the store did not say what was taken down");
        Vec::new()
    })
}

impl From<WallError> for Problem {
    fn from(error: WallError) -> Self {
        let kind = match error {
            WallError::Withheld { .. } => ProblemKind::Forbidden,
            WallError::Unfit { .. } => ProblemKind::Invalid,
        };
        Self::from_failure(kind, &error)
    }
}

impl From<GlobalError> for Problem {
    fn from(error: GlobalError) -> Self {
        let kind = match &error {
            GlobalError::NotFound { .. }
            | GlobalError::NoSnapshot { .. }
            | GlobalError::NoBranch { .. } => ProblemKind::NotFound,
            GlobalError::NotAuthor { .. }
            | GlobalError::NoProject { .. }
            | GlobalError::OwnWork { .. }
            | GlobalError::TakenDown { .. } => ProblemKind::Forbidden,
            GlobalError::PolicyChanged { .. }
            | GlobalError::BranchMoved { .. }
            | GlobalError::Conflict { .. } => ProblemKind::Conflict,
            GlobalError::Busy { .. } | GlobalError::Quota { .. } => ProblemKind::Overloaded,
            GlobalError::Unavailable { .. } => ProblemKind::Unavailable,
            other if other.kind() == reprise_types::ErrorKind::Caller => ProblemKind::Invalid,
            _ => ProblemKind::Internal,
        };
        Self::from_failure(kind, &error)
    }
}
