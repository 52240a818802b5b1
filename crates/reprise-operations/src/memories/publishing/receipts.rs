//! Receipts: what left a memory, what was taken back and what of others was used, in that memory's
//! own log.
//!
//! A receipt is a record of the log, so that its owner shows it by its id, exports it and backs it
//! up; it is no knowledge, and no recall finds it. It holds ids, sizes and hashes, and no text of
//! what left.

use reprise_agent::Intake;
use reprise_global::{GlobalRecord, Merged, Published, Unpublished, Version};

use crate::memories::all_tagged;
use crate::memories::sharing::Wanted;
use crate::prelude::*;
use crate::wire::record_of_value;

/// What was done with a published thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    Published,
    /// It stands on a branch.
    Drafted,
    Unpublished,
    Used,
}

impl Deed {
    pub fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Drafted => "drafted",
            Self::Unpublished => "unpublished",
            Self::Used => "used",
        }
    }
}

/// A line of a receipt.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReceiptLine {
    pub act: Deed,
    pub global_id: RecordId,
    /// Which record left.
    pub record: Option<RecordId>,
    /// The record of which this is a version.
    pub origin: Option<RecordId>,
    /// The version; of what was taken back, how many there were.
    pub version: Option<String>,
    pub policy: Option<String>,
    pub bytes: Option<usize>,
    /// SHA-256 of the bytes that left, in hex.
    pub checksum: Option<String>,
    /// The branch on which it stands, or from which it was merged.
    pub branch: Option<String>,
}

/// A published copy that outlives its record, or what the record said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Standing {
    /// The published thing.
    pub id: RecordId,
    /// The command that takes it back.
    pub take_back: String,
    /// The command that publishes what the record says now; absent where it may not leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish_anew: Option<String>,
}

impl Standing {
    pub(crate) fn new(id: RecordId, user: &UserId) -> Self {
        let take_back = format!("reprise unpublish {id} --user {user}");
        Self {
            id,
            take_back,
            publish_anew: None,
        }
    }

    /// A line for each, after what else is said.
    pub(crate) fn lines(standing: &[Self]) -> String {
        let lines = standing.iter().map(|one| {
            let (id, take_back) = (one.id, &one.take_back);
            one.publish_anew.as_ref().map_or_else(
                || format!("\n{id} is still published: `{take_back}` takes it back"),
                |anew| {
                    format!(
                        "\n{id} is still published as it was before: `{anew}` publishes it as it \
                         is now, `{take_back}` takes it back"
                    )
                },
            )
        });
        lines.collect::<Vec<String>>().concat()
    }
}

/// Something that was done in the global store, and its sentence.
#[derive(Debug)]
pub(super) struct Act(ReceiptLine, String);

impl ReceiptLine {
    fn of(act: Deed, global_id: RecordId, version: String) -> Self {
        Self {
            act,
            global_id,
            record: None,
            origin: None,
            version: Some(version),
            policy: None,
            bytes: None,
            checksum: None,
            branch: None,
        }
    }
}

impl Act {
    pub(super) fn published(one: &Wanted, done: &Published, branch: Option<&str>) -> Self {
        let publication = &one.leaving.publication;
        let policy = publication.access_policy.name();
        let (act, place) = match branch {
            None => (Deed::Published, "in".to_owned()),
            Some(branch) => (Deed::Drafted, format!("on branch `{branch}` of")),
        };
        let sentence = format!(
            "Published record {} {place} the global store as {}, version {}, for {policy} readers.",
            one.record, done.id, done.version
        );
        let line = ReceiptLine {
            record: Some(one.record),
            origin: Some(one.origin),
            policy: Some(policy.to_owned()),
            bytes: Some(done.bytes),
            checksum: Some(publication.checksum()),
            branch: branch.map(str::to_owned),
            ..ReceiptLine::of(act, done.id, done.version.to_string())
        };
        Self(line, sentence)
    }

    pub(super) fn unpublished(id: RecordId, versions: u32) -> Self {
        let sentence = format!("Took {id} back from the global store.");
        let line = ReceiptLine::of(Deed::Unpublished, id, versions.to_string());
        Self(line, sentence)
    }

    pub(super) fn used(id: RecordId, version: u32) -> Self {
        let sentence = format!("Used {id} of the global store, version {version}.");
        let line = ReceiptLine::of(Deed::Used, id, version.to_string());
        Self(line, sentence)
    }
}

impl Memory {
    /// What others still find of a record that was changed: what may not leave any more, or is no
    /// longer what it says.
    pub(crate) async fn standing_after(
        &self,
        old: &MemoryRecord,
        new: &MemoryRecord,
    ) -> Result<Option<Standing>, Problem> {
        let may_leave = new.may_leave(WayOut::Publication).is_ok();
        if may_leave && (&old.text, &old.tags) == (&new.text, &new.tags) {
            return Ok(None);
        }
        let publish_anew = format!("reprise publish {} --user {}", new.id, self.user);
        let standing = self.standing(new.id).await?;
        Ok(standing.map(|(id, _)| Standing {
            publish_anew: Some(publish_anew).filter(|_| may_leave),
            ..Standing::new(id, &self.user)
        }))
    }

    /// Writes one receipt of several acts into the user's log; answers its id. What was taken back
    /// is known by the name of its request, where that has one.
    pub(super) async fn keep_receipt(&self, acts: &[Act]) -> Result<RecordId, Problem> {
        let is_back = acts
            .iter()
            .any(|Act(line, _)| line.act == Deed::Unpublished);
        let name = self.receipt_name().filter(|_| is_back);
        let name = name.unwrap_or_else(|| format!("receipt-{:032x}", system_entropy()));
        let lines: Vec<&ReceiptLine> = acts.iter().map(|Act(line, _)| line).collect();
        let sentences: Vec<&str> = acts.iter().map(|Act(_, said)| said.as_str()).collect();
        let record = record_of_value(json!({
            "external_id": name,
            "text": sentences.join(" "),
            "source": "user_input",
            "kind": "episode",
            "tags": [MemoryRecord::RECEIPT],
            "details": { "receipt": lines },
        }));
        // As it stands: hashes are no secrets.
        let mut memory = self.clone().keyed(None);
        memory.options.intake = Intake {
            verbatim: true,
            receipts: true,
        };
        let record = record.map_err(Problem::invalid)?;
        memory.keep_new(record).await.map_err(|why| {
            let said = format!("it is done, and its receipt was not kept: {}", why.detail);
            Problem::new(ProblemKind::Internal, said)
        })
    }

    fn receipt_name(&self) -> Option<String> {
        self.key().map(|key| format!("receipt-{key}"))
    }

    /// What this very request took back, where its answer was lost and it comes again.
    pub(super) async fn taken_back(&self) -> Option<(Unpublished, RecordId)> {
        let receipt = self.record(&self.receipt_name()?).await.ok()?;
        let said = receipt.body.details.as_ref()?.get("receipt")?.get(0)?;
        let line: ReceiptLine = serde_json::from_value(said.clone()).ok()?;
        let done = Unpublished {
            id: line.global_id,
            versions: line.version.as_ref()?.parse().ok()?,
            verified: true,
        };
        (line.act == Deed::Unpublished).then_some((done, receipt.id))
    }
}

/// What a memory says of what left it, newest first; each line with its receipt.
pub(crate) struct Receipts(pub(crate) Vec<(RecordId, ReceiptLine)>);

impl Receipts {
    pub(crate) fn read(memory: &Snapshot) -> Self {
        let records = all_tagged(memory, MemoryRecord::RECEIPT).into_iter();
        let lines = records.flat_map(|record| {
            let id = record.id;
            let said = record.body.details.and_then(|mut details| {
                let said = details.get_mut("receipt")?.take();
                serde_json::from_value::<Vec<ReceiptLine>>(said).ok()
            });
            let said = said.unwrap_or_default().into_iter();
            said.map(move |line| (id, line))
        });
        Self(lines.collect())
    }

    /// The first published record of which this one is a later version, else itself: so that a
    /// corrected record becomes a new version of what was published. With it what stands of it in
    /// the global store, if anything does.
    pub(super) fn origin_of(
        &self,
        memory: &Snapshot,
        record: RecordId,
    ) -> (RecordId, Option<(RecordId, String)>) {
        let is_earlier = |line: &&ReceiptLine| {
            let has_left = matches!(line.act, Deed::Published | Deed::Drafted);
            let earlier = line.record.filter(|_| has_left);
            earlier.is_some_and(|earlier| memory.current(earlier) == Some(record))
        };
        let newest = self.lines().find(is_earlier);
        let origin = newest.and_then(|line| line.origin).unwrap_or(record);
        // What stands on a branch changes nothing of what is published.
        let mut published = self.lines().filter(is_earlier);
        let standing = published.find(|line| line.act == Deed::Published);
        let standing = standing.filter(|line| {
            let last = self.lines().find(|other| {
                let is_of_it = other.global_id == line.global_id;
                is_of_it && !matches!(other.act, Deed::Used | Deed::Drafted)
            });
            last.is_some_and(|last| last.act == Deed::Published)
        });
        let standing =
            standing.map(|line| (line.global_id, line.version.clone().unwrap_or_default()));
        (origin, standing)
    }

    /// The receipt that says this already, where nothing has become of the thing since.
    pub(super) fn saying(&self, Act(act, _): &Act) -> Option<RecordId> {
        let is_of_it = |line: &ReceiptLine| {
            let is_beside = line.act == Deed::Drafted && act.branch.is_none();
            line.global_id == act.global_id && line.act != Deed::Used && !is_beside
        };
        let (receipt, last) = self.0.iter().find(|(_, line)| is_of_it(line))?;
        let is_same =
            (last.act, last.record, &last.checksum) == (act.act, act.record, &act.checksum);
        // What a merge published says of which branch.
        let is_there = last.branch == act.branch || act.branch.is_none();
        (is_same && is_there).then_some(*receipt)
    }

    /// The record that left last as this thing.
    pub(super) fn left_as(&self, thing: RecordId) -> Option<RecordId> {
        let mut lines = self.lines();
        let left = lines.find(|line| line.act == Deed::Published && line.global_id == thing);
        left.and_then(|line| line.record)
    }

    /// What was published of these records and not taken back.
    pub(crate) fn standing_of(&self, records: &[RecordId]) -> BTreeSet<RecordId> {
        let mut standing = BTreeSet::new();
        for (_, line) in self.0.iter().rev() {
            match (line.act, line.record) {
                (Deed::Published, Some(record)) if records.contains(&record) => {
                    standing.insert(line.global_id);
                }
                (Deed::Unpublished, _) => {
                    standing.remove(&line.global_id);
                }
                _ => {}
            }
        }
        standing
    }

    /// The records, as they are now, of which something was published and not taken back.
    pub(crate) fn standing_records(&self, memory: &Snapshot) -> HashSet<RecordId> {
        let mut standing = BTreeMap::new();
        for line in self.lines().rev() {
            match (line.act, line.record) {
                (Deed::Published, Some(record)) => drop(standing.insert(line.global_id, record)),
                (Deed::Unpublished, _) => drop(standing.remove(&line.global_id)),
                _ => {}
            }
        }
        let records = standing.into_values();
        records.filter_map(|one| memory.current(one)).collect()
    }

    /// A thing that was merged from a branch, with what the log says of it since it left.
    pub(super) fn merged(&self, one: &Merged, branch: &str) -> Act {
        let done = &one.published;
        let sentence = format!(
            "Published {}, version {}, in the global store by the merge of branch `{branch}`.",
            done.id, done.version
        );
        let is_it = |line: &&ReceiptLine| {
            line.act == Deed::Drafted && line.checksum.as_ref() == Some(&one.checksum)
        };
        let drafted = self.lines().find(is_it);
        let line = ReceiptLine {
            record: drafted.and_then(|drafted| drafted.record),
            origin: drafted.and_then(|drafted| drafted.origin),
            policy: drafted.and_then(|drafted| drafted.policy.clone()),
            bytes: Some(done.bytes),
            checksum: Some(one.checksum.clone()),
            branch: Some(branch.to_owned()),
            ..ReceiptLine::of(Deed::Published, done.id, done.version.to_string())
        };
        Act(line, sentence)
    }

    /// The receipt of the merge of a branch, with what of it is `standing` still, where that was
    /// the last that happened on a branch of this name.
    pub(super) fn merge_of(
        &self,
        branch: &str,
        standing: &[GlobalRecord],
    ) -> Option<(RecordId, Vec<Published>)> {
        let (receipt, _) = self.of_branch(branch).next()?;
        let of_it = self.of_branch(branch).filter(|(of, _)| of == receipt);
        let published = of_it.map(|(_, line)| {
            let version = line.version.as_ref()?.parse().ok()?;
            (line.act == Deed::Published).then_some(Published {
                id: line.global_id,
                version: Version(version),
                bytes: line.bytes?,
                unchanged: true,
                overlaps: Vec::new(),
            })
        });
        let mut published: Vec<Published> = published.collect::<Option<_>>()?;
        published.retain(|one| standing.iter().any(|thing| thing.id == one.id));
        (!published.is_empty()).then_some((*receipt, published))
    }

    /// What was published on a branch since its last merge and is now among the author's published
    /// things, byte for byte.
    pub(super) fn merged_unheard(&self, branch: &str, published: &[GlobalRecord]) -> Vec<Merged> {
        let lines = self.of_branch(branch).map(|(_, line)| line);
        let drafted = lines.take_while(|line| line.act == Deed::Drafted);
        let drafted: Vec<&ReceiptLine> = drafted.collect();
        let is_it = |thing: &&GlobalRecord| {
            let checksum = Some(&thing.checksum);
            drafted
                .iter()
                .any(|line| line.checksum.as_ref() == checksum)
        };
        let merged = published.iter().filter(is_it).map(|thing| Merged {
            published: Published {
                id: thing.id,
                version: thing.version,
                bytes: thing.publication.bytes().len(),
                unchanged: true,
                overlaps: Vec::new(),
            },
            checksum: thing.checksum.clone(),
        });
        merged.collect()
    }

    fn of_branch(&self, branch: &str) -> impl Iterator<Item = &(RecordId, ReceiptLine)> {
        let of_it =
            move |(_, line): &&(RecordId, ReceiptLine)| line.branch.as_deref() == Some(branch);
        self.0.iter().filter(of_it)
    }

    /// What of others was used, with its version.
    pub(super) fn used(&self) -> Vec<(RecordId, u32)> {
        let used = self.lines().filter(|line| line.act == Deed::Used);
        used.filter_map(|line| Some((line.global_id, line.version.as_ref()?.parse().ok()?)))
            .collect()
    }

    fn lines(&self) -> impl DoubleEndedIterator<Item = &ReceiptLine> {
        self.0.iter().map(|(_, line)| line)
    }
}

#[cfg(test)]
mod tests;
