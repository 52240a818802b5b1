//! Tags: counted, merged, and given one spelling.

mod evidence;
mod projects;
mod rules;

use reprise_knowledge::TagRelation;

use crate::prelude::*;

pub use evidence::{
    ConfidenceMeaning, DefineEvidence, DefineEvidenceArguments, DefinedEvidence, EvidenceArguments,
    EvidenceKind, EvidenceKinds, EvidenceReport, MergeEvidence, MergeEvidenceArguments,
};
pub(crate) use projects::PROJECT_TAG;
pub use projects::find_meant_project;
use rules::find_alike_pairs;
pub use rules::{AlikeTags, TagRules};
pub(crate) use rules::{refuse_receipt_change, refuse_receipt_tag};

/// The tags.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tagged {
    /// The most used first.
    pub tags: Vec<TagCount>,
    /// Projects that records name in their metadata, in lower case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub projects: Vec<String>,
    /// How tags are related, as it is kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relations: Vec<RelatedTags>,
    /// Pairs that may be one, where a review was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alike: Option<Vec<AlikeTags>>,
}

/// Two tags, and how they are related.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RelatedTags {
    /// The first.
    pub from: String,
    /// The other.
    pub to: String,
    /// `alias_of`, `child_of`, `related_to`, or another word.
    pub relation: String,
}

/// A tag in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TagCount {
    /// The tag.
    pub tag: String,
    /// Records that have it.
    pub count: usize,
}

operation! {
    Spec::for_reading("tags", "List every tag with its count.").with_tool("tags", Profile::Default);
    /// How to look at them.
    #[derive(Default, clap::Args)]
    Tags(memory, asked: TagsArguments {
        /// List only tags that may be synonyms.
        #[schemars(extend("x-rare" = true))]
        #[arg(long)]
        pub review: bool,
    }) -> Tagged {
        let look = move |tags: &[(String, usize)]| {
            let alike = asked.review.then(|| find_alike_pairs(tags));
            (tags.to_vec(), alike)
        };
        let (tags, alike) = memory.run_on_tag_counts(look).await?;
        let tags = tags.into_iter();
        let (relations, projects) = if memory.exists() {
            let beside = |memory: &Snapshot| (list_tag_relations(memory), memory.projects());
            memory.run_on_snapshot(beside).await?
        } else {
            (Vec::new(), Vec::new())
        };
        Ok(Tagged {
            relations,
            tags: tags.map(|(tag, count)| TagCount { tag, count }).collect(),
            projects,
            alike,
        })
    }

    fn render_text(tagged: &Tagged) -> Cow<'_, str> {
        let mut quoted = QuotedMemory::new(system_entropy());
        if let Some(alike) = &tagged.alike {
            if alike.is_empty() {
                return "no two tags look like one".into();
            }
            for AlikeTags { tag, into } in alike {
                quoted.add_line("", &format!("`{tag}` may be `{into}`: merge the two"));
            }
            return quoted.into_text().into();
        }
        let words = tagged.tags.iter();
        let words = words.map(|one| format!("{} ({})", one.tag, one.count));
        if !tagged.tags.is_empty() {
            quoted.add_line("", &words.collect::<Vec<_>>().join(", "));
        }
        for one in &tagged.relations {
            let word = one.relation.replace('_', " ");
            quoted.add_line("", &format!("`{}` is {word} `{}`", one.from, one.to));
        }
        let count = format_count(tagged.tags.len(), "tag");
        format!("{count}\n{}", quoted.into_text()).into()
    }
}

fn list_tag_relations(memory: &Snapshot) -> Vec<RelatedTags> {
    let kept = memory.ids_with_tag(TagRelation::TAG).into_iter();
    let kept = kept.filter_map(|id| TagRelation::of(&memory.get(id)?.ok()?));
    kept.map(|one| RelatedTags {
        from: one.from_tag,
        to: one.to_tag,
        relation: one.relation,
    })
    .collect()
}

/// What was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NameMergeReport {
    /// Records that had the name, of a tag or a kind of evidence.
    pub merged: usize,
    /// The name that they had.
    pub from: String,
    /// The name that they have now.
    pub into: String,
}

operation! {
    Spec::for_destroying(
        "merge_tags",
        "Replace one tag by another in every memory.",
    )
    .with_tool("merge_tags", Profile::Full);
    /// Which tags.
    MergeTags(memory, asked: MergeTagsArguments {
        /// The tag to leave.
        #[schemars(regex(pattern = r"\S"))]
        pub from: String as RecordKey,
        /// The tag to keep.
        #[schemars(regex(pattern = r"\S"))]
        pub into: String as LineText,
    }) -> NameMergeReport {
        let MergeTagsArguments { from, into } = asked;
        let now = memory.now();
        let tags = [from.clone(), into.clone()];
        refuse_receipt_tag(&tags)?;
        let merge = move |engine: &mut Engine| engine.merge_tag(&tags[0], &tags[1], now);
        let merged = memory.run_on_engine(merge).await??;
        if merged > 0 {
            memory.announce_change("retagged", Vec::new());
        }
        Ok(NameMergeReport { merged, from, into })
    }

    fn render_text(done: &NameMergeReport) -> Cow<'_, str> {
        let NameMergeReport { merged, from, into } = done;
        if *merged == 0 {
            return format!("no memory has tag `{from}`; nothing was changed").into();
        }
        let merged = format_count(*merged, "memory");
        format!("{merged} with `{into}` instead of `{from}` now").into()
    }
}
