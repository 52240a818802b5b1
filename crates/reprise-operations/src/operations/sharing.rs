//! What others may find of a memory: shown, published, rated, taken back.

mod publishing;
mod receipts;
mod tier;

use reprise_global::{
    AccessPolicy, GlobalContentType, GlobalRecord, ListPage, PreparedPublication, ProjectId,
    Proposal, Published, QualityMetrics, TakenDown, Version,
};
use reprise_types::{Visibility as Seen, sha256_hex};

use crate::operations::records::ShowArguments;
use crate::prelude::*;
use publishing::list_own_taken_down;

pub(crate) use receipts::ReceiptLog;
pub use receipts::{PublicationAct, PublishedCopy, ReceiptLine};
pub use tier::{Sharing, TierOpener};

/// A record about to leave.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PublicationDraft {
    pub(crate) record: RecordId,
    /// The first published record of which this one is a later version, else itself.
    pub(crate) origin: RecordId,
    /// What was published of it before: its id and version.
    pub(crate) earlier: Option<(RecordId, String)>,
    pub(crate) leaving: PreparedPublication,
}

impl PublicationDraft {
    /// The exact bytes that would leave.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.leaving.publication.to_json_bytes()
    }
}

impl PublishPreviewArguments {
    pub(super) async fn draft_publications(
        &self,
        memory: &Memory,
    ) -> Result<Vec<PublicationDraft>, Problem> {
        let proposal = Proposal {
            content_type: self.content_type,
            title: self.title.clone(),
            summary: self.summary.clone(),
            access_policy: self.policy,
            project: self.project.clone(),
            licence: self.licence.clone(),
        };
        memory.build_publication_drafts(&self.ids, proposal).await
    }
}

/// What would leave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Shown")]
pub struct PublishPreviewReport {
    /// A record each, in the order asked for.
    pub leaving: Vec<LeavingRecord>,
}

/// What would leave of one record.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Leaving")]
pub struct LeavingRecord {
    pub record: RecordId,
    /// The exact bytes, which are JSON.
    pub exact: String,
    /// How many they are.
    pub bytes: usize,
    /// Their hash, in hex: pass it to `publish` to agree to them.
    pub sha256: String,
    /// Secrets that were taken out.
    pub redacted: u32,
    pub title: String,
    pub policy: AccessPolicy,
    /// The project whose members alone may use it.
    pub project: Option<ProjectId>,
    /// Empty where none is said.
    pub licence: String,
    /// The published thing of which this would be the next version.
    pub replaces: Option<RecordId>,
    /// Its version now.
    pub version: Option<String>,
}

impl From<&PublicationDraft> for LeavingRecord {
    fn from(one: &PublicationDraft) -> Self {
        let bytes = one.bytes();
        let (replaces, version) = one.earlier.clone().unzip();
        Self {
            record: one.record,
            bytes: bytes.len(),
            sha256: sha256_hex(&bytes),
            exact: String::from_utf8_lossy(&bytes).into_owned(),
            redacted: one.leaving.redacted,
            title: one.leaving.publication.title.clone(),
            policy: one.leaving.publication.access_policy,
            project: one.leaving.publication.project.clone(),
            licence: one.leaving.publication.licence.clone(),
            replaces,
            version,
        }
    }
}

operation! {
    Spec::for_reading(
        "publish_preview",
        "Show exactly what publishing would send.",
    )
    .with_routes(&[(Method::Post, "/v1/users/{user}/publish/preview")])
    .with_tool("publish_preview", Profile::Full);
    /// What is to be published, and how. Fields that are left out stay as they are in the version
    /// that is published now.
    #[derive(Default, clap::Args)]
    PublishPreview(memory, arguments: PublishPreviewArguments {
        /// Memories to publish, by id or external id.
        #[schemars(length(min = 1, max = 50))]
        #[arg(required = true)]
        pub ids: Vec<String> as RecordKeys,
        /// Type of content; `document` by default.
        #[serde(rename = "type")]
        #[arg(long = "type", value_parser = schema_rules::parse_word::<GlobalContentType>)]
        pub content_type | "content_type": Option<GlobalContentType>,
        /// Title of one memory; its first line by default.
        #[arg(long)]
        pub title: Option<String> as LineText,
        /// Summary for readers; the beginning of the text by default.
        #[arg(long)]
        pub summary: Option<String> as LineText,
        /// Who may use them: `public`, `org` (your organisation) or `paid`; `public` by default.
        #[arg(long, value_parser = schema_rules::parse_word::<AccessPolicy>)]
        pub policy | "access_policy": Option<AccessPolicy>,
        /// Project of your organisation whose members alone may use them.
        #[arg(long, value_name = "NAME")]
        pub project: Option<ProjectId>,
        /// License, as an SPDX name; leave empty for no license.
        #[arg(long)]
        pub licence: Option<String> as LineText,
    }) -> PublishPreviewReport {
        let wanted = arguments.draft_publications(memory).await?;
        let leaving = wanted.iter().map(LeavingRecord::from).collect();
        Ok(PublishPreviewReport { leaving })
    }
}

/// What was published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishDone {
    pub published: Vec<Published>,
    /// The record of the user's own log that says so; the earlier one where nothing is new.
    pub receipt: Option<RecordId>,
}

operation! {
    Spec::for_adding(
        "publish",
        "Publish memories, as `publish_preview` showed them and their owner agreed.",
    );
    /// What is to be published, how, and the yes to its bytes.
    #[derive(Default)]
    Publish(memory, arguments: PublishArguments {
        /// As for `publish_preview`.
        #[serde(flatten)]
        pub what: PublishPreviewArguments,
        /// The yes: the `sha256` of each record's bytes as `publish_preview` showed them.
        pub agreed: Vec<String> as RecordKeys,
        /// A branch of the catalogue on which they are to stand: there their owner alone finds
        /// them, until `publish_branch`.
        pub branch: Option<String> as NameText,
    }) -> PublishDone {
        // No tool of MCP: the yes is a person's (ADR 0023).
        let wanted = arguments.what.draft_publications(memory).await?;
        let (agreed, branch) = (&arguments.agreed, arguments.branch.as_deref());
        let (published, receipt) = memory.publish(&wanted, agreed, branch).await?;
        Ok(PublishDone { published, receipt })
    }
}

operation! {
    Spec::for_adding(
        "publish_branch",
        "Let others find everything that was published on a branch, all of it or nothing.",
    )
    .with_routes(&[(Method::Post, "/v1/users/{user}/branches/{branch}/publish")]);
    /// Which branch.
    PublishBranch(memory, asked: PublishBranchArguments {
        /// Its name.
        pub branch: String as NameText,
    }) -> PublishDone {
        // No tool of MCP, as publishing is none.
        let (published, receipt) = memory.merge_branch(&asked.branch).await?;
        Ok(PublishDone { published, receipt })
    }
}

/// What is the user's own in the global store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedRows {
    /// Newest first.
    pub published: Vec<PublishedRow>,
    /// The `offset` of the next page; null on the last.
    #[serde(default)]
    pub next: Option<usize>,
    /// What operators took down, and why; on the first page.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taken_down: Vec<TakenDown>,
}

/// A published thing in its newest version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedRow {
    pub id: RecordId,
    pub version: Version,
    #[serde(rename = "type")]
    pub content_type: GlobalContentType,
    pub title: String,
    /// Who may use it.
    pub policy: AccessPolicy,
    /// The project whose members alone may use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<ProjectId>,
    /// Bytes that left.
    pub bytes: usize,
    /// Their SHA-256, in hex.
    pub checksum: String,
    pub published_at: DateTime<Utc>,
    /// How it has served.
    pub quality: QualityMetrics,
}

impl From<GlobalRecord> for PublishedRow {
    fn from(record: GlobalRecord) -> Self {
        let publication = record.publication;
        Self {
            id: record.id,
            version: record.version,
            content_type: publication.content_type,
            bytes: publication.to_json_bytes().len(),
            title: publication.title,
            policy: publication.access_policy,
            project: publication.project,
            checksum: record.checksum,
            published_at: record.published_at,
            quality: record.quality_metrics,
        }
    }
}

operation! {
    Spec::for_reading("published", "What this user has published.")
        .with_routes(&[(Method::Get, "/v1/users/{user}/published")])
        .with_tool("published", Profile::Full);
    PublishedList(memory, asked: PageArguments) -> PublishedRows {
        let first @ ListPage { offset, limit } = list_page(asked.offset, asked.limit);
        let tier = memory.open_global_tier().await?;
        let page = |page| tier.store().list_own_published_page(tier.caller(), page);
        let records = page(first).await?;
        let next = offset.saturating_add(limit);
        let after = ListPage {
            offset: next,
            limit: 1,
        };
        let is_full = limit > 0 && records.len() == limit;
        let is_more = is_full && !page(after).await?.is_empty();
        let next = is_more.then_some(next);
        let published = records.into_iter().map(PublishedRow::from).collect();
        let taken_down = match offset {
            0 => list_own_taken_down(&tier).await,
            _ => Vec::new(),
        };
        Ok(PublishedRows {
            published,
            next,
            taken_down,
        })
    }
}

operation! {
    Spec::for_reading(
        "published_thing",
        "A published thing, in its newest or a named version.",
    )
    .with_routes(&[(Method::Get, "/v1/users/{user}/published/{id}")]);
    /// Which thing.
    PublishedThing(memory, arguments: PublishedThingArguments {
        /// Its id in the global store.
        pub id: RecordId as RecordKey,
        /// Which version; else the newest.
        pub version: Option<Version>,
    }) -> GlobalRecord {
        // Without its vector.
        memory
            .read_published_thing(arguments.id, arguments.version)
            .await
    }
}

/// What was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TakenBack")]
pub struct UnpublishReport {
    pub unpublished: RecordId,
    /// How many versions of it there were.
    pub versions: u32,
    /// The store was asked for it afterwards, by id and by its own words, and had nothing.
    pub verified: bool,
    /// The record of the user's own log that says so.
    pub receipt: Option<RecordId>,
}

operation! {
    Spec::for_destroying(
        "unpublish",
        "Unpublish a thing in every version, so that nobody finds it.",
    )
    .with_routes(&[(Method::Delete, "/v1/users/{user}/published/{id}")])
    .with_tool("unpublish", Profile::Full);
    /// Which thing.
    Unpublish(memory, asked: UnpublishArguments {
        /// The id that `publish` answered, or the record: its id or external id.
        pub id: String as RecordKey,
    }) -> UnpublishReport {
        let (done, receipt) = memory.unpublish(&asked.id).await?;
        Ok(UnpublishReport {
            unpublished: done.id,
            versions: done.versions,
            verified: done.verified,
            receipt,
        })
    }
}

operation! {
    Spec::for_adding(
        "rate",
        "Rate what others published, 0..1.",
    )
    .with_routes(&[(Method::Post, "/v1/users/{user}/published/{id}/rating")])
    .with_tool("rate", Profile::Full);
    /// Which thing, and what it is given; the answer is the same.
    #[derive(Copy)]
    Rate(memory, given: Rating {
        /// Its id in the global store.
        pub id: RecordId as RecordKey,
        /// From 0 (of no use, or wrong) to 1 (what was needed). The last word of each reader
        /// counts.
        #[schemars(range(min = 0.0, max = 1.0))]
        pub rating: f32,
    }) -> Rating {
        let tier = memory.open_global_tier().await?;
        let store = tier.store();
        store.rate(tier.caller(), given.id, given.rating).await?;
        Ok(given)
    }
}

/// What was published, taken back and used of others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Receipts")]
pub struct ReceiptList {
    /// Newest first.
    pub receipts: Vec<ReceiptRow>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReceiptRow {
    /// The record of the log that says so.
    pub receipt: RecordId,
    #[serde(flatten)]
    pub line: ReceiptLine,
}

operation! {
    Spec::for_reading(
        "receipts",
        "What was published, taken back and used of others, as the user's own log says.",
    )
    .with_routes(&[(Method::Get, "/v1/users/{user}/receipts")]);
    ReceiptsOf(memory, _: NoArguments) -> ReceiptList {
        let read = memory.run_on_snapshot(|memory| ReceiptLog::read(memory).0);
        let lines = read.await?.into_iter();
        let receipts = lines.map(|(receipt, line)| ReceiptRow { receipt, line });
        Ok(ReceiptList {
            receipts: receipts.collect(),
        })
    }
}

/// Who can see a record.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Answer")]
pub struct VisibilityReport {
    pub id: RecordId,
    /// `published` where others can find a copy, else what it is marked with; `revise` changes the
    /// mark.
    pub visibility: Seen,
    /// Each way out of this memory.
    pub ways: Vec<ReleaseWay>,
    /// The published thing of which it is a version.
    pub published: Option<RecordId>,
    /// The newest version that was published.
    pub version: Option<String>,
    /// That version is what the record said before it was corrected.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_former: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Way")]
pub struct ReleaseWay {
    /// `export`, `projection`, `endpoint` or `publication`.
    pub way: String,
    /// Why it stays; absent where it may leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stays: Option<String>,
}

operation! {
    Spec::for_reading(
        "visibility",
        "Who can see a memory, and what of it is published.",
    )
    .with_routes(&[(Method::Get, "/v1/users/{user}/records/{id}/visibility")])
    .with_tool("visibility", Profile::Full);
    Visibility(memory, arguments: ShowArguments) -> VisibilityReport {
        let record = memory.get_record(&arguments.id).await?;
        let way = |(name, way): (&str, ReleaseTarget)| ReleaseWay {
            way: name.to_owned(),
            stays: record.check_release(way).err().map(|why| why.to_string()),
        };
        let ways = [
            ("export", ReleaseTarget::Export),
            ("projection", ReleaseTarget::Projection),
            ("endpoint", ReleaseTarget::Endpoint),
            ("publication", ReleaseTarget::Publication),
        ];
        let (published, version) = memory.find_published_copy(record.id).await?.unzip();
        let left = match published {
            Some(thing) => memory.find_record_published_as(thing).await?,
            None => None,
        };
        Ok(VisibilityReport {
            id: record.id,
            visibility: match published {
                Some(_) => Seen::Published,
                None => record.visibility,
            },
            ways: ways.map(way).into(),
            published,
            version,
            is_former: left.is_some_and(|left| left.text != record.text),
        })
    }
}
