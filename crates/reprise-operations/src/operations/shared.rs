//! What others may find of a memory: shown, published, rated, taken back.

use reprise_global::{
    AccessPolicy, GlobalContentType, GlobalRecord, ListPage, Proposal, Published, QualityMetrics,
    TakenDown, Version,
};
use reprise_types::{Visibility as Seen, sha256_hex};

use crate::memories::{self, ReceiptLine, Wanted, taken_down};
use crate::operations::records::ShowArguments;
use crate::prelude::*;

impl PublishPreviewArguments {
    pub(super) async fn wanted(&self, memory: &Memory) -> Result<Vec<Wanted>, Problem> {
        let proposal = Proposal {
            content_type: self.content_type,
            title: self.title.clone(),
            summary: self.summary.clone(),
            access_policy: self.policy,
            licence: self.licence.clone(),
        };
        memory.leaving(&self.ids, proposal).await
    }
}

/// What would leave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Shown {
    /// A record each, in the order asked for.
    pub leaving: Vec<Leaving>,
}

/// What would leave of one record.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Leaving {
    pub record: RecordId,
    /// The exact bytes, which are JSON.
    pub exact: String,
    /// How many they are.
    pub bytes: usize,
    /// Their hash, in hex: whoever agrees to them names it to `publish`.
    pub sha256: String,
    /// Secrets that were taken out.
    pub redacted: u32,
    pub title: String,
    pub policy: AccessPolicy,
    /// Empty where none is said.
    pub licence: String,
    /// The published thing of which this would be the next version.
    pub replaces: Option<RecordId>,
    /// Its version now.
    pub version: Option<String>,
}

impl From<&Wanted> for Leaving {
    fn from(one: &Wanted) -> Self {
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
            licence: one.leaving.publication.licence.clone(),
            replaces,
            version,
        }
    }
}

operation! {
    Spec::reads(
        "publish_preview",
        "Show exactly what would leave if records were published.",
    )
    .at(&[(Method::Post, "/v1/users/{user}/publish/preview")])
    .tool("publish_preview", Profile::Full);
    /// What is to be published, and how. Of what was published before, what is not said stays as it
    /// is in the version that stands.
    #[derive(Default, clap::Args)]
    PublishPreview(memory, arguments: PublishPreviewArguments {
        /// The records: ids or external ids.
        #[schemars(length(min = 1, max = 50))]
        #[arg(required = true)]
        pub ids: Vec<String>,
        /// What they are; `document` where it was never said.
        #[serde(rename = "type", alias = "content_type")]
        #[arg(long = "type", value_parser = asks::word::<GlobalContentType>)]
        pub content_type: Option<GlobalContentType>,
        /// The title of one record; its first line where it is empty or was never said.
        #[arg(long)]
        pub title: Option<String>,
        /// What a reader sees first; the beginning where it is empty or was never said.
        #[arg(long)]
        pub summary: Option<String>,
        /// Who may use them; `public` where it was never said.
        #[serde(alias = "access_policy")]
        #[arg(long, value_parser = asks::word::<AccessPolicy>)]
        pub policy: Option<AccessPolicy>,
        /// Under which terms, as SPDX names them; empty for none.
        #[arg(long)]
        pub licence: Option<String>,
    }) -> Shown {
        let wanted = arguments.wanted(memory).await?;
        let leaving = wanted.iter().map(Leaving::from).collect();
        Ok(Shown { leaving })
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
    Spec::adds(
        "publish",
        "Let others find records, as `publish_preview` showed them and their owner agreed.",
    );
    /// What is to be published, how, and the yes to its bytes.
    #[derive(Default)]
    Publish(memory, arguments: PublishArguments {
        /// As for `publish_preview`.
        #[serde(flatten)]
        pub what: PublishPreviewArguments,
        /// The yes: the `sha256` of each record's bytes as `publish_preview` showed them.
        pub agreed: Vec<String>,
        /// A branch of the catalogue on which they are to stand: there their owner alone finds
        /// them, until `publish_branch`.
        pub branch: Option<String>,
    }) -> PublishDone {
        // No tool of MCP: the yes is a person's (ADR 0023).
        let wanted = arguments.what.wanted(memory).await?;
        let (agreed, branch) = (&arguments.agreed, arguments.branch.as_deref());
        let (published, receipt) = memory.publish(&wanted, agreed, branch).await?;
        Ok(PublishDone { published, receipt })
    }
}

operation! {
    Spec::adds(
        "publish_branch",
        "Let others find everything that was published on a branch, all of it or nothing.",
    )
    .at(&[(Method::Post, "/v1/users/{user}/branches/{branch}/publish")]);
    /// Which branch.
    PublishBranch(memory, asked: PublishBranchArguments {
        /// Its name.
        pub branch: String,
    }) -> PublishDone {
        // No tool of MCP, as publishing is none.
        let (published, receipt) = memory.merge(&asked.branch).await?;
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
            bytes: publication.bytes().len(),
            title: publication.title,
            policy: publication.access_policy,
            checksum: record.checksum,
            published_at: record.published_at,
            quality: record.quality_metrics,
        }
    }
}

operation! {
    Spec::reads("published", "What this user has published.")
        .at(&[(Method::Get, "/v1/users/{user}/published")])
        .tool("published", Profile::Full);
    PublishedList(memory, asked: PageAsked) -> PublishedRows {
        let Part { offset, limit } = Part::of(asked.offset, asked.limit);
        let tier = memory.tier().await?;
        let page = |page| tier.store().published_page(tier.caller(), page);
        let records = page(ListPage { offset, limit }).await?;
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
            0 => taken_down(&tier).await,
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
    Spec::reads(
        "published_thing",
        "A published thing, in its newest or a named version.",
    )
    .at(&[(Method::Get, "/v1/users/{user}/published/{id}")]);
    /// Which thing.
    PublishedThing(memory, arguments: PublishedThingArguments {
        /// Its id in the global store.
        pub id: RecordId,
        /// Which version; else the newest.
        pub version: Option<Version>,
    }) -> GlobalRecord {
        // Without its vector.
        memory
            .published_thing(arguments.id, arguments.version)
            .await
    }
}

/// What was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TakenBack {
    pub unpublished: RecordId,
    /// How many versions of it there were.
    pub versions: u32,
    /// The store was asked for it afterwards, by id and by its own words, and had nothing.
    pub verified: bool,
    /// The record of the user's own log that says so.
    pub receipt: Option<RecordId>,
}

operation! {
    Spec::destroys(
        "unpublish",
        "Take a published thing back, in every version, out of every answer.",
    )
    .at(&[(Method::Delete, "/v1/users/{user}/published/{id}")])
    .tool("unpublish", Profile::Full);
    /// Which thing.
    Unpublish(memory, asked: UnpublishArguments {
        /// The id that `publish` answered, or the record: its id or external id.
        pub id: String,
    }) -> TakenBack {
        let (done, receipt) = memory.unpublish(&asked.id).await?;
        Ok(TakenBack {
            unpublished: done.id,
            versions: done.versions,
            verified: done.verified,
            receipt,
        })
    }
}

operation! {
    Spec::adds(
        "rate",
        "Say how good something is that others published, 0..1.",
    )
    .at(&[(Method::Post, "/v1/users/{user}/published/{id}/rating")])
    .tool("rate", Profile::Full);
    /// Which thing, and what it is given; the answer is the same.
    #[derive(Copy)]
    Rate(memory, given: Rating {
        /// Its id in the global store.
        pub id: RecordId,
        /// From 0 (of no use, or wrong) to 1 (what was needed). The last word of each reader
        /// counts.
        #[schemars(range(min = 0.0, max = 1.0))]
        pub rating: f32,
    }) -> Rating {
        let tier = memory.tier().await?;
        let store = tier.store();
        store.rate(tier.caller(), given.id, given.rating).await?;
        Ok(given)
    }
}

/// What was published, taken back and used of others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Receipts {
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
    Spec::reads(
        "receipts",
        "What was published, taken back and used of others, as the user's own log says.",
    )
    .at(&[(Method::Get, "/v1/users/{user}/receipts")]);
    ReceiptsOf(memory, _: NoArguments) -> Receipts {
        let read = memory.read(|memory| memories::Receipts::read(memory).0);
        let lines = read.await?.into_iter();
        let receipts = lines.map(|(receipt, line)| ReceiptRow { receipt, line });
        Ok(Receipts {
            receipts: receipts.collect(),
        })
    }
}

/// Who can see a record.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    pub id: RecordId,
    /// `published` where others can find a copy, else what it is marked with; `revise` changes the
    /// mark.
    pub visibility: Seen,
    /// Each way out of this memory.
    pub ways: Vec<Way>,
    /// The published thing of which it is a version.
    pub published: Option<RecordId>,
    /// The newest version that was published.
    pub version: Option<String>,
    /// That version is what the record said before it was corrected.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_former: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Way {
    /// `export`, `projection`, `endpoint` or `publication`.
    pub way: String,
    /// Why it stays; absent where it may leave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stays: Option<String>,
}

operation! {
    Spec::reads(
        "visibility",
        "By which ways a record may leave this memory, and what of it is published.",
    )
    .at(&[(Method::Get, "/v1/users/{user}/records/{id}/visibility")])
    .tool("visibility", Profile::Full);
    Visibility(memory, arguments: ShowArguments) -> Answer {
        let record = memory.record(&arguments.id).await?;
        let way = |(name, way): (&str, WayOut)| Way {
            way: name.to_owned(),
            stays: record.may_leave(way).err().map(|why| why.to_string()),
        };
        let ways = [
            ("export", WayOut::Export),
            ("projection", WayOut::Projection),
            ("endpoint", WayOut::Endpoint),
            ("publication", WayOut::Publication),
        ];
        let (published, version) = memory.standing(record.id).await?.unzip();
        let left = match published {
            Some(thing) => memory.left_as(thing).await?,
            None => None,
        };
        Ok(Answer {
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
