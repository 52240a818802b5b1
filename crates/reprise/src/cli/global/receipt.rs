//! Receipts: what left a memory, in that memory's own log.
//!
//! A receipt is a record like any other, so that its owner finds it, exports it and backs it up. It
//! holds ids, sizes and hashes, and no text of what left.

use anyhow::{Context as _, bail};
use reprise_engine::Snapshot;
use reprise_global::{Publication, Published, Unpublished};
use reprise_operations::{Fate, WriteReport, record_of};
use reprise_server::Call;
use reprise_types::{
    Clock, ListRequest, MemoryFilter, RecordId, SystemClock, UserId, WriteOutcome,
    limits::PAGE_MAX, system_entropy,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::cli::daemon::Daemon;
use crate::cli::{Context, model, store};

/// What every receipt is tagged with.
const TAG: &str = "receipt:global";

/// Something that was done in the global store.
pub(super) enum Act<'a> {
    Published {
        record: RecordId,
        origin: RecordId,
        publication: &'a Publication,
        done: &'a Published,
    },
    Unpublished(Unpublished),
}

/// A line of a receipt.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Line {
    act: String,
    global_id: RecordId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    record: Option<RecordId>,
    /// The record of which this is a version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<RecordId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    policy: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checksum: Option<String>,
}

impl Act<'_> {
    fn line(&self) -> Line {
        match self {
            Self::Published {
                record,
                origin,
                publication,
                done,
            } => Line {
                act: "published".to_owned(),
                global_id: done.id,
                record: Some(*record),
                origin: Some(*origin),
                version: Some(done.version.to_string()),
                policy: Some(publication.access_policy.name().to_owned()),
                bytes: Some(done.bytes),
                checksum: Some(publication.checksum()),
            },
            Self::Unpublished(done) => Line {
                act: "unpublished".to_owned(),
                global_id: done.id,
                record: None,
                origin: None,
                version: None,
                policy: None,
                bytes: None,
                checksum: None,
            },
        }
    }

    fn sentence(&self) -> String {
        match self {
            Self::Published {
                record,
                publication,
                done,
                ..
            } => format!(
                "Published record {record} in the global store as {}, version {}, for {} readers.",
                done.id,
                done.version,
                publication.access_policy.name()
            ),
            Self::Unpublished(done) => {
                format!("Took {} back from the global store.", done.id)
            }
        }
    }
}

/// Writes one receipt of several acts into the user's log, whoever holds it; answers its id.
pub(super) fn keep(context: &Context, user: &UserId, acts: &[Act<'_>]) -> anyhow::Result<RecordId> {
    let lines: Vec<Line> = acts.iter().map(Act::line).collect();
    let sentences: Vec<String> = acts.iter().map(Act::sentence).collect();
    let line = json!({
        "external_id": format!("receipt-{:032x}", system_entropy()),
        "text": sentences.join(" "),
        "source": "user_input",
        "kind": "episode",
        "tags": [TAG],
        "details": { "receipt": lines },
    })
    .to_string();
    if let Some(daemon) = Daemon::running(context)? {
        // As it stands: hashes are no secrets.
        let mut path = Call::path_of(user, &["records"]);
        path.push_str("?verbatim=true");
        let kept: WriteReport = daemon.ask(&Call::post_lines(path, format!("{line}\n")))?;
        return match kept.outcomes.into_iter().next() {
            Some(Fate::Inserted { id } | Fate::Duplicate { of: id }) => Ok(id),
            Some(Fate::Rejected { why }) => bail!("the receipt was not kept: {why}"),
            None => bail!("the receipt was not kept; run `reprise published` for what stands"),
        };
    }
    let mut record = record_of(&line).map_err(anyhow::Error::msg)?;
    if let Some(factory) = model::factory(context) {
        let mut embedder = factory.open()?;
        let vector = embedder.embed(&record.text)?;
        record.embedding = Some((embedder.space().clone(), vector));
    }
    let mut engine = store::open_in_turn(context, user, context.patience * 6)?;
    let outcome = engine.observe(vec![record], None, SystemClock.now())?;
    engine.close()?;
    match outcome.into_iter().next() {
        Some(WriteOutcome::Inserted { id } | WriteOutcome::Duplicate { of: id }) => Ok(id),
        Some(WriteOutcome::Rejected { why }) => bail!("the receipt was not kept: {why}"),
        None => Err(anyhow::anyhow!("the receipt was not kept"))
            .context("the engine answered nothing for it; report this"),
    }
}

/// What a memory says of what left it.
pub(super) struct Receipts(Vec<Line>);

impl Receipts {
    pub(super) fn read(snapshot: &Snapshot) -> Self {
        let mut request = ListRequest {
            filter: MemoryFilter {
                tags: Some(vec![TAG.to_owned()]),
                ..MemoryFilter::default()
            },
            limit: PAGE_MAX,
            after: None,
        };
        let mut lines = Vec::new();
        loop {
            let page = snapshot.list(&request);
            for record in page.records {
                let said = record.details.and_then(|mut details| {
                    let said = details.get_mut("receipt")?.take();
                    serde_json::from_value::<Vec<Line>>(said).ok()
                });
                lines.extend(said.unwrap_or_default());
            }
            match page.next {
                Some(next) => request.after = Some(next),
                None => return Self(lines),
            }
        }
    }

    /// The first published record of which this one is a later version, else itself: so that a
    /// corrected record becomes a new version of what was published.
    pub(super) fn origin_of(&self, snapshot: &Snapshot, record: RecordId) -> RecordId {
        let is_earlier = |line: &&Line| {
            line.record
                .is_some_and(|earlier| snapshot.current(earlier) == Some(record))
        };
        let earlier = self.0.iter().find(is_earlier);
        earlier.and_then(|line| line.origin).unwrap_or(record)
    }
}
