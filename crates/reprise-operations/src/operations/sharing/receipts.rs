//! Receipts: what left a memory, what was taken back and what of others was used, in that memory's
//! own log.
//!
//! A receipt is a record of the log, so that its owner shows it by its id, exports it and backs it
//! up; it is no knowledge, and no recall finds it. It holds ids, sizes and hashes, and no text of
//! what left.

use reprise_agent::IntakeOptions;
use reprise_global::{GlobalRecord, Merged, Published, Unpublished, Version};

use super::PublicationDraft;
use crate::operations::records::list_tagged;
use crate::prelude::*;
use crate::wire::parse_record;

/// What was done with a published thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Deed")]
pub enum PublicationAct {
    Published,
    /// It was put on a branch.
    Drafted,
    Unpublished,
    Used,
}

impl PublicationAct {
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
    pub act: PublicationAct,
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
    /// The branch that it is on, or from which it was merged.
    pub branch: Option<String>,
}

/// A published copy that outlives its record, or what the record said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Standing")]
pub struct PublishedCopy {
    /// The published thing.
    pub id: RecordId,
    /// The command that takes it back.
    pub take_back: String,
    /// The command that publishes what the record says now; absent where it may not leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub publish_anew: Option<String>,
}

impl PublishedCopy {
    pub(crate) fn new(id: RecordId, user: &UserId) -> Self {
        let take_back = format!("reprise share unpublish {id} --user {user}");
        Self {
            id,
            take_back,
            publish_anew: None,
        }
    }

    /// A line for each, after what else is said.
    pub(crate) fn render_lines(standing: &[Self]) -> String {
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
pub(super) struct ReceiptAct(ReceiptLine, String);

impl ReceiptLine {
    fn of(act: PublicationAct, global_id: RecordId, version: String) -> Self {
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

impl ReceiptAct {
    pub(super) fn for_publication(
        one: &PublicationDraft,
        done: &Published,
        branch: Option<&str>,
    ) -> Self {
        let publication = &one.leaving.publication;
        let policy = match &publication.project {
            Some(project) => format!("project {project}"),
            None => publication.access_policy.name().to_owned(),
        };
        let (act, place) = match branch {
            None => (PublicationAct::Published, "in".to_owned()),
            Some(branch) => (PublicationAct::Drafted, format!("on branch `{branch}` of")),
        };
        let sentence = format!(
            "Published record {} {place} the global store as {}, version {}, for {policy} readers.",
            one.record, done.id, done.version
        );
        let line = ReceiptLine {
            record: Some(one.record),
            origin: Some(one.origin),
            policy: Some(policy),
            bytes: Some(done.bytes),
            checksum: Some(publication.checksum()),
            branch: branch.map(str::to_owned),
            ..ReceiptLine::of(act, done.id, done.version.to_string())
        };
        Self(line, sentence)
    }

    pub(super) fn for_unpublication(id: RecordId, versions: u32) -> Self {
        let sentence = format!("Took {id} back from the global store.");
        let line = ReceiptLine::of(PublicationAct::Unpublished, id, versions.to_string());
        Self(line, sentence)
    }

    pub(super) fn for_use(id: RecordId, version: u32) -> Self {
        let sentence = format!("Used {id} of the global store, version {version}.");
        let line = ReceiptLine::of(PublicationAct::Used, id, version.to_string());
        Self(line, sentence)
    }
}

impl Memory {
    /// What others still find of a record that was changed: what may not leave any more, or is no
    /// longer what it says.
    pub(crate) async fn find_outdated_copy(
        &self,
        old: &MemoryRecord,
        new: &MemoryRecord,
    ) -> Result<Option<PublishedCopy>, Problem> {
        let may_leave = new.check_release(ReleaseTarget::Publication).is_ok();
        if may_leave && (&old.text, &old.tags) == (&new.text, &new.tags) {
            return Ok(None);
        }
        let publish_anew = format!("reprise share publish {} --user {}", new.id, self.user);
        let standing = self.find_published_copy(new.id).await?;
        Ok(standing.map(|(id, _)| PublishedCopy {
            publish_anew: Some(publish_anew).filter(|_| may_leave),
            ..PublishedCopy::new(id, &self.user)
        }))
    }

    /// Writes one receipt of several acts into the user's log; answers its id. What was taken back
    /// is known by the name of its request, where that has one.
    pub(super) async fn write_receipt(&self, acts: &[ReceiptAct]) -> Result<RecordId, Problem> {
        let is_back = acts
            .iter()
            .any(|ReceiptAct(line, _)| line.act == PublicationAct::Unpublished);
        let name = self.receipt_name().filter(|_| is_back);
        let name = name.unwrap_or_else(|| format!("receipt-{:032x}", system_entropy()));
        let lines: Vec<&ReceiptLine> = acts.iter().map(|ReceiptAct(line, _)| line).collect();
        let sentences: Vec<&str> = acts
            .iter()
            .map(|ReceiptAct(_, said)| said.as_str())
            .collect();
        let record = parse_record(json!({
            "external_id": name,
            "text": sentences.join(" "),
            "source": "user_input",
            "kind": "episode",
            "tags": [MemoryRecord::RECEIPT_TAG],
            "details": { "receipt": lines },
        }));
        // Kept unchanged: hashes are no secrets.
        let mut memory = self.clone().with_request_key(None);
        memory.options.intake = IntakeOptions {
            keeps_secrets: true,
            allows_receipts: true,
        };
        let record = record.map_err(Problem::invalid)?;
        memory.store_new(record).await.map_err(|why| {
            let said = format!("it is done, and its receipt was not kept: {}", why.detail);
            Problem::new(ProblemKind::Internal, said)
        })
    }

    fn receipt_name(&self) -> Option<String> {
        self.request_key().map(|key| format!("receipt-{key}"))
    }

    /// What this very request took back, where its answer was lost and it comes again.
    pub(super) async fn find_earlier_unpublication(&self) -> Option<(Unpublished, RecordId)> {
        let receipt = self.get_record(&self.receipt_name()?).await.ok()?;
        let said = receipt.body.details.as_ref()?.get("receipt")?.get(0)?;
        let line: ReceiptLine = serde_json::from_value(said.clone()).ok()?;
        let done = Unpublished {
            id: line.global_id,
            versions: line.version.as_ref()?.parse().ok()?,
            verified: true,
        };
        (line.act == PublicationAct::Unpublished).then_some((done, receipt.id))
    }
}

/// What a memory says of what left it, newest first; each line with its receipt.
pub(crate) struct ReceiptLog(pub(crate) Vec<(RecordId, ReceiptLine)>);

impl ReceiptLog {
    pub(crate) fn read(memory: &Snapshot) -> Self {
        let records = list_tagged(memory, MemoryRecord::RECEIPT_TAG).into_iter();
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
    /// corrected record becomes a new version of what was published. With it the copy in the global
    /// store, if there is one.
    pub(super) fn find_origin(
        &self,
        memory: &Snapshot,
        record: RecordId,
    ) -> (RecordId, Option<(RecordId, String)>) {
        let is_earlier = |line: &&ReceiptLine| {
            let has_left = matches!(
                line.act,
                PublicationAct::Published | PublicationAct::Drafted
            );
            let earlier = line.record.filter(|_| has_left);
            earlier.is_some_and(|earlier| memory.current_version(earlier) == Some(record))
        };
        let newest = self.lines().find(is_earlier);
        let origin = newest.and_then(|line| line.origin).unwrap_or(record);
        // What is on a branch changes nothing of what is published.
        let mut published = self.lines().filter(is_earlier);
        let standing = published.find(|line| line.act == PublicationAct::Published);
        let standing = standing.filter(|line| {
            let last = self.lines().find(|other| {
                let is_of_it = other.global_id == line.global_id;
                is_of_it && !matches!(other.act, PublicationAct::Used | PublicationAct::Drafted)
            });
            last.is_some_and(|last| last.act == PublicationAct::Published)
        });
        let standing =
            standing.map(|line| (line.global_id, line.version.clone().unwrap_or_default()));
        (origin, standing)
    }

    /// The receipt that says this already, where nothing has become of the thing since.
    pub(super) fn find_same_receipt(&self, ReceiptAct(act, _): &ReceiptAct) -> Option<RecordId> {
        let is_of_it = |line: &ReceiptLine| {
            let is_beside = line.act == PublicationAct::Drafted && act.branch.is_none();
            line.global_id == act.global_id && line.act != PublicationAct::Used && !is_beside
        };
        let (receipt, last) = self.0.iter().find(|(_, line)| is_of_it(line))?;
        let is_same =
            (last.act, last.record, &last.checksum) == (act.act, act.record, &act.checksum);
        // What a merge published says of which branch.
        let is_there = last.branch == act.branch || act.branch.is_none();
        (is_same && is_there).then_some(*receipt)
    }

    /// The record that left last as this thing.
    pub(super) fn find_record_published_as(&self, thing: RecordId) -> Option<RecordId> {
        let mut lines = self.lines();
        let left =
            lines.find(|line| line.act == PublicationAct::Published && line.global_id == thing);
        left.and_then(|line| line.record)
    }

    /// What was published of these records and not taken back.
    pub(crate) fn list_published_things_of(&self, records: &[RecordId]) -> BTreeSet<RecordId> {
        let mut standing = BTreeSet::new();
        for (_, line) in self.0.iter().rev() {
            match (line.act, line.record) {
                (PublicationAct::Published, Some(record)) if records.contains(&record) => {
                    standing.insert(line.global_id);
                }
                (PublicationAct::Unpublished, _) => {
                    standing.remove(&line.global_id);
                }
                _ => {}
            }
        }
        standing
    }

    /// The records, as they are now, of which something was published and not taken back.
    pub(crate) fn list_published_records(&self, memory: &Snapshot) -> HashSet<RecordId> {
        let mut standing = BTreeMap::new();
        for line in self.lines().rev() {
            match (line.act, line.record) {
                (PublicationAct::Published, Some(record)) => {
                    standing.insert(line.global_id, record);
                }
                (PublicationAct::Unpublished, _) => {
                    standing.remove(&line.global_id);
                }
                _ => {}
            }
        }
        let records = standing.into_values();
        records
            .filter_map(|one| memory.current_version(one))
            .collect()
    }

    /// A thing that was merged from a branch, with what the log says of it since it left.
    pub(super) fn build_merge_act(&self, one: &Merged, branch: &str) -> ReceiptAct {
        let done = &one.published;
        let sentence = format!(
            "Published {}, version {}, in the global store by the merge of branch `{branch}`.",
            done.id, done.version
        );
        let is_it = |line: &&ReceiptLine| {
            line.act == PublicationAct::Drafted && line.checksum.as_ref() == Some(&one.checksum)
        };
        let drafted = self.lines().find(is_it);
        let line = ReceiptLine {
            record: drafted.and_then(|drafted| drafted.record),
            origin: drafted.and_then(|drafted| drafted.origin),
            policy: drafted.and_then(|drafted| drafted.policy.clone()),
            bytes: Some(done.bytes),
            checksum: Some(one.checksum.clone()),
            branch: Some(branch.to_owned()),
            ..ReceiptLine::of(PublicationAct::Published, done.id, done.version.to_string())
        };
        ReceiptAct(line, sentence)
    }

    /// The receipt of the merge of a branch, with what of it is `standing` still, where that was
    /// the last that happened on a branch of this name.
    pub(super) fn find_merge(
        &self,
        branch: &str,
        standing: &[GlobalRecord],
    ) -> Option<(RecordId, Vec<Published>)> {
        let (receipt, _) = self.lines_of_branch(branch).next()?;
        let of_it = self.lines_of_branch(branch).filter(|(of, _)| of == receipt);
        let published = of_it.map(|(_, line)| {
            let version = line.version.as_ref()?.parse().ok()?;
            (line.act == PublicationAct::Published).then_some(Published {
                id: line.global_id,
                version: Version(version),
                bytes: line.bytes?,
                unchanged: true,
                overlaps: Vec::new(),
                awaits_review: false,
            })
        });
        let mut published: Vec<Published> = published.collect::<Option<_>>()?;
        published.retain(|one| standing.iter().any(|thing| thing.id == one.id));
        (!published.is_empty()).then_some((*receipt, published))
    }

    /// What was published on a branch since its last merge and is now among the author's published
    /// things, byte for byte.
    pub(super) fn list_unreceipted_merges(
        &self,
        branch: &str,
        published: &[GlobalRecord],
    ) -> Vec<Merged> {
        let lines = self.lines_of_branch(branch).map(|(_, line)| line);
        let drafted = lines.take_while(|line| line.act == PublicationAct::Drafted);
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
                bytes: thing.publication.to_json_bytes().len(),
                unchanged: true,
                overlaps: Vec::new(),
                awaits_review: false,
            },
            checksum: thing.checksum.clone(),
        });
        merged.collect()
    }

    fn lines_of_branch(&self, branch: &str) -> impl Iterator<Item = &(RecordId, ReceiptLine)> {
        let of_it =
            move |(_, line): &&(RecordId, ReceiptLine)| line.branch.as_deref() == Some(branch);
        self.0.iter().filter(of_it)
    }

    /// What of others was used, with its version.
    pub(super) fn list_used(&self) -> Vec<(RecordId, u32)> {
        let used = self.lines().filter(|line| line.act == PublicationAct::Used);
        used.filter_map(|line| Some((line.global_id, line.version.as_ref()?.parse().ok()?)))
            .collect()
    }

    fn lines(&self) -> impl DoubleEndedIterator<Item = &ReceiptLine> {
        self.0.iter().map(|(_, line)| line)
    }
}

#[cfg(test)]
mod tests;
