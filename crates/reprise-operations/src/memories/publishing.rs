//! What of a memory others may find, and what others have published.
//!
//! Previewing, publishing against what was shown, taking back. Each leaves a receipt in the log.

mod receipts;

use reprise_global::{
    AUDIT_MAX, Fate, GlobalError, GlobalRecord, GlobalTier, Proposal, Published, TakenDown,
    TextVectors, Unpublished, WallError, leave,
};
use reprise_types::sha256_hex;
use tokio::runtime::Handle;

use super::sharing::Wanted;
use crate::prelude::*;
use receipts::Act;

pub(crate) use receipts::Receipts;
pub use receipts::{Deed, ReceiptLine, Standing};

/// Most records of one publication.
const RECORDS_MAX: usize = 50;
/// How long an outcome waits for the global store to hear it.
const REPORT: Duration = Duration::from_secs(2);

impl Memories {
    /// The model that this process's memories share, for whoever waits on a thread of its own: a
    /// question that was embedded for one tier is not embedded again for the other.
    fn vectors(&self) -> TextVectors {
        let (service, runtime) = (self.service.clone(), Handle::current());
        Arc::new(move |text| {
            let made = runtime.block_on(service.query_vector(None, text))?;
            Some(made)
        })
    }
}

impl Memory {
    /// What a recall asks that does not say.
    pub(crate) fn scope(&self) -> RecallScope {
        self.all.around.sharing.scope
    }

    /// Whether there is a global store at all.
    pub(crate) fn has_global(&self) -> bool {
        self.all.around.sharing.reach.is_some()
    }

    /// The global store as this user reaches it.
    pub(crate) async fn tier(&self) -> Result<GlobalTier, Problem> {
        let sharing = &self.all.around.sharing;
        if let Some(tier) = sharing.known(&self.user) {
            return Ok(tier);
        }
        let Some(reach) = &sharing.reach else {
            return Err(Problem::not_found(
                "there is no store of published knowledge here; `reprise serve` has one",
            ));
        };
        let tier = reach(&self.user, self.all.vectors()).map_err(Problem::invalid)?;
        if self.exists() {
            for (id, version) in self.read(|memory| Receipts::read(memory).used()).await? {
                tier.remember_use(id, version);
            }
        }
        Ok(sharing.keep(&self.user, tier))
    }

    /// The records named, each as it would leave; none where one of them may not.
    pub(crate) async fn leaving(
        &self,
        names: &[String],
        proposal: Proposal,
    ) -> Result<Vec<Wanted>, Problem> {
        if names.is_empty() || names.len() > RECORDS_MAX {
            return Err(Problem::invalid(format!(
                "name 1 to {RECORDS_MAX} records by `ids`"
            )));
        }
        if names.len() > 1 && (proposal.title.is_some() || proposal.summary.is_some()) {
            return Err(Problem::conflict(
                "a title and a summary are for one record; publish them one by one",
            ));
        }
        let mut records: Vec<MemoryRecord> = Vec::with_capacity(names.len());
        for name in names {
            let record = self.record(name).await?;
            if record.is_receipt() {
                return Err(Problem::invalid(format!(
                    "`{name}` is a receipt of what was published, and stays here; publish what it names"
                )));
            }
            if records.iter().all(|other| other.id != record.id) {
                records.push(record);
            }
        }
        let origins = self.read(move |memory| {
            let receipts = Receipts::read(memory);
            let found = records.into_iter().map(|record| {
                let (origin, earlier) = receipts.origin_of(memory, record.id);
                (record, origin, earlier)
            });
            found.collect::<Vec<_>>()
        });
        let mut wanted = Vec::new();
        for (record, origin, earlier) in origins.await? {
            let mut proposal = proposal.clone();
            if let Some((id, _)) = &earlier
                && let Some(standing) = self.found_thing(*id).await?
            {
                proposal = proposal.after(&standing.publication);
            }
            let leaving = leave(&self.user, &record, origin, &proposal)?;
            wanted.push(Wanted {
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
        wanted: &[Wanted],
        agreed: &[String],
        branch: Option<&str>,
    ) -> Result<(Vec<Published>, Option<RecordId>), Problem> {
        let is_agreed = |one: &&Wanted| agreed.contains(&sha256_hex(&one.bytes()));
        if let Some(other) = wanted.iter().find(|one| !is_agreed(one)) {
            let said = format!(
                "nothing left: what would leave of {} is not what was shown; look at it again with \
                 `publish_preview` and agree to its `sha256`",
                other.record
            );
            return Err(Problem::conflict(said));
        }
        let tier = self.tier().await?;
        let receipts = self.read(Receipts::read).await?;
        let (mut done, mut failed) = (Vec::new(), None);
        for one in wanted {
            let publication = one.leaving.publication.clone();
            let (store, caller) = (tier.store(), tier.caller());
            let published = match branch {
                None => store.publish(caller, publication).await,
                Some(branch) => store.draft(caller, branch, publication).await,
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
            let act = Act::published(one, published, branch);
            match receipts.saying(&act).filter(|_| published.unchanged) {
                None => acts.push(act),
                said => earlier = said,
            }
        }
        let receipt = self.receipt_of(&acts).await.or(earlier);
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

    /// Publishes everything that stands on a branch, and leaves a receipt of it. Where an earlier
    /// answer was lost, that is done by now: it is answered again, and the receipt made up for.
    pub(crate) async fn merge(
        &self,
        branch: &str,
    ) -> Result<(Vec<Published>, Option<RecordId>), Problem> {
        let tier = self.tier().await?;
        let mut receipts = None;
        if self.exists() {
            receipts = Some(self.read(Receipts::read).await?);
        }
        let merged = match (tier.store().merge(tier.caller(), branch).await, &receipts) {
            (Err(GlobalError::NoBranch { name }), Some(receipts)) => {
                let standing = standing_of_merge(&tier, branch).await?;
                if let Some((receipt, published)) = receipts.merge_of(branch, &standing) {
                    return Ok((published, Some(receipt)));
                }
                let merged = receipts.merged_unheard(branch, &standing);
                if merged.is_empty() {
                    return Err(GlobalError::NoBranch { name }.into());
                }
                merged
            }
            (merged, _) => merged?,
        };
        let mut receipt = None;
        if let Some(receipts) = receipts.filter(|_| !merged.is_empty()) {
            let acts = merged.iter().map(|one| receipts.merged(one, branch));
            receipt = self.receipt_of(&acts.collect::<Vec<Act>>()).await;
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
        match self.take_back(name).await {
            Ok(done) => {
                let act = Act::unpublished(done.id, done.versions);
                Ok((done, self.receipt_of(&[act]).await))
            }
            Err(missing) if missing.kind == ProblemKind::NotFound => {
                let before = self.taken_back().await;
                before.map(|(done, id)| (done, Some(id))).ok_or(missing)
            }
            Err(problem) => Err(problem),
        }
    }

    async fn take_back(&self, name: &str) -> Result<Unpublished, Problem> {
        let id = self.published_id(name).await?;
        let tier = self.tier().await?;
        Ok(tier.store().unpublish(tier.caller(), id).await?)
    }

    /// Of a published thing: its own id, or what the log says of the record of this name.
    async fn published_id(&self, name: &str) -> Result<RecordId, Problem> {
        let found = match self.record(name).await {
            Ok(record) => self.standing(record.id).await?.map(|(id, _)| id),
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
                "nothing that you published goes by `{name}`; `reprise published` lists it"
            ))
        })
    }

    /// The receipt of what is done by now: an error would say that it is not.
    async fn receipt_of(&self, acts: &[Act]) -> Option<RecordId> {
        if acts.is_empty() {
            return None;
        }
        let kept = self.keep_receipt(acts).await;
        kept.inspect_err(|error| tracing::warn!(%error, "what was done left no receipt"))
            .ok()
    }

    /// The records of which others can find something, as the log says.
    pub async fn published_records(&self) -> Result<HashSet<RecordId>, Problem> {
        self.read(|memory| Receipts::read(memory).standing_records(memory))
            .await
    }

    /// What stands of a record in the global store, as the log says: its id there and its version.
    pub(crate) async fn standing(
        &self,
        record: RecordId,
    ) -> Result<Option<(RecordId, String)>, Problem> {
        self.read(move |memory| Receipts::read(memory).origin_of(memory, record).1)
            .await
    }

    /// The record that left last as this thing, as the log says.
    pub(crate) async fn left_as(&self, thing: RecordId) -> Result<Option<MemoryRecord>, Problem> {
        self.read(move |memory| {
            let left = Receipts::read(memory).left_as(thing)?;
            memory.version(left)?.ok()
        })
        .await
    }

    /// A published thing, for whom it is for.
    pub(crate) async fn published_thing(
        &self,
        id: RecordId,
        version: Option<reprise_global::Version>,
    ) -> Result<GlobalRecord, Problem> {
        let tier = self.tier().await?;
        let found = tier.store().get(tier.caller(), id, version).await?;
        Ok(GlobalRecord {
            embedding: Vec::new(),
            ..found
        })
    }

    /// The same; `None` where there is none for this user.
    async fn found_thing(&self, id: RecordId) -> Result<Option<GlobalRecord>, Problem> {
        match self.published_thing(id, None).await {
            Ok(thing) => Ok(Some(thing)),
            Err(problem) if problem.kind == ProblemKind::NotFound => Ok(None),
            Err(problem) => Err(problem),
        }
    }

    /// A published thing of this id as a record's line; `None` where there is none for this user.
    pub(crate) async fn published_line(&self, name: &str) -> Result<Option<Value>, Problem> {
        let Some(id) = name.parse().ok().filter(|_| self.has_global()) else {
            return Ok(None);
        };
        let Some(thing) = self.found_thing(id).await? else {
            return Ok(None);
        };
        let publication = &thing.publication;
        Ok(Some(json!({
            "id": thing.id,
            "title": publication.title,
            "text": publication.search_text(),
            "type": RecordType::Lesson,
            "kind": publication.content_type.kind(),
            "timestamp": instant(thing.published_at),
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
        if !self.has_global() || used.is_empty() || !self.exists() {
            return Ok((used, Vec::new()));
        }
        self.read(move |memory| {
            let (mut own, mut others) = (Vec::new(), Vec::new());
            for name in used {
                match name.parse::<RecordId>() {
                    Ok(id) if memory.get(id).is_none() => others.push(id),
                    _ => own.push(name),
                }
            }
            (own, others)
        })
        .await
    }

    /// Reports how a run went that used published things. A store that does not answer loses one
    /// voice; an id that is nobody's is refused.
    pub(crate) async fn report(&self, used: &[RecordId], score: f32) -> Result<(), Problem> {
        let tier = self.tier().await?;
        let told = match tokio::time::timeout(REPORT, tier.report(used, score)).await {
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
            Fate::Counted => version.map(|version| Act::used(*id, version)),
            Fate::OwnWork | Fate::NotFound => None,
        };
        let acts: Vec<Act> = told.iter().filter_map(newly).collect();
        if !acts.is_empty() {
            self.keep_receipt(&acts).await?;
        }
        match told.iter().find(|(_, fate, _)| *fate == Fate::NotFound) {
            Some((id, _, _)) => Err(missing(&id.to_string())),
            None => Ok(()),
        }
    }
}

/// What the caller has published, where the last that happened to a branch is that it was merged.
async fn standing_of_merge(
    tier: &GlobalTier,
    branch: &str,
) -> Result<Vec<GlobalRecord>, GlobalError> {
    let (store, caller) = (tier.store(), tier.caller());
    let told = store.audit(caller, AUDIT_MAX).await?;
    let last = told.iter().find(|line| {
        let is_of_it = line.who == caller.user.as_str() && line.name.as_deref() == Some(branch);
        is_of_it && matches!(line.what.as_str(), "branch" | "merge" | "drop")
    });
    if last.is_none_or(|line| line.what != "merge") {
        return Ok(Vec::new());
    }
    store.published(caller).await
}

/// What operators took down of the caller's, and why; nothing where the store cannot say, as an
/// older service cannot.
pub(crate) async fn taken_down(tier: &GlobalTier) -> Vec<TakenDown> {
    let told = tier.store().taken_down(tier.caller()).await;
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
        Self::failed(kind, &error)
    }
}

impl From<GlobalError> for Problem {
    fn from(error: GlobalError) -> Self {
        let kind = match &error {
            GlobalError::NotFound { .. }
            | GlobalError::NoSnapshot { .. }
            | GlobalError::NoBranch { .. } => ProblemKind::NotFound,
            GlobalError::NotAuthor { .. }
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
        Self::failed(kind, &error)
    }
}
