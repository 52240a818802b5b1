//! Tags and kinds of evidence: counted, defined, merged.

use reprise_knowledge::{EVIDENCE_FIELD, TagRelation, meaning_of_confidence, normal_evidence};

use crate::memories::{Alike, alike_pairs, refuse_receipts, suggestion};
use crate::prelude::*;

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
    pub alike: Option<Vec<Alike>>,
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
    Spec::reads("tags", "Every tag with its count.").tool("tags", Profile::Default);
    /// How to look at them.
    #[derive(Default, clap::Args)]
    Tags(memory, asked: TagsArguments {
        /// Name those that may be one.
        #[schemars(extend("x-rare" = true))]
        #[arg(long)]
        pub review: bool,
    }) -> Tagged {
        let look = move |tags: &[(String, usize)]| {
            let alike = asked.review.then(|| alike_pairs(tags));
            (tags.to_vec(), alike)
        };
        let (tags, alike) = memory.counted_tags(look).await?;
        let tags = tags.into_iter();
        let (relations, projects) = if memory.exists() {
            let beside = |memory: &Snapshot| (relations(memory), memory.projects());
            memory.read(beside).await?
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

    fn text(tagged: &Tagged) -> Cow<'_, str> {
        let words = tagged.tags.iter();
        let words = words.map(|one| format!("{} ({})", one.tag, one.count));
        let mut quoted = QuotedMemory::new(system_entropy());
        if !tagged.tags.is_empty() {
            quoted.line("", &words.collect::<Vec<_>>().join(", "));
        }
        for one in &tagged.relations {
            let word = one.relation.replace('_', " ");
            quoted.line("", &format!("`{}` is {word} `{}`", one.from, one.to));
        }
        for Alike { tag, into } in tagged.alike.iter().flatten() {
            quoted.line("", &format!("`{tag}` may be `{into}`: merge the two"));
        }
        let count = counted(tagged.tags.len(), "tag");
        format!("{count}\n{}", quoted.into_text()).into()
    }
}

fn relations(memory: &Snapshot) -> Vec<RelatedTags> {
    let kept = memory.tagged(TagRelation::TAG).into_iter();
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
pub struct MergedTags {
    /// Records that had the tag.
    pub merged: usize,
    /// The tag that they had.
    pub from: String,
    /// The tag that they have now.
    pub into: String,
}

operation! {
    Spec::destroys(
        "merge_tags",
        "Give every record that has one tag another one in its place.",
    )
    .tool("merge_tags", Profile::Full);
    /// Which tags.
    MergeTags(memory, asked: MergeTagsArguments {
        /// The tag to leave.
        #[schemars(regex(pattern = r"\S"))]
        pub from: String,
        /// The tag to keep.
        #[schemars(regex(pattern = r"\S"))]
        pub into: String,
    }) -> MergedTags {
        let MergeTagsArguments { from, into } = asked;
        let now = memory.now();
        let tags = [from.clone(), into.clone()];
        refuse_receipts(&tags)?;
        let merge = move |engine: &mut Engine| engine.merge_tag(&tags[0], &tags[1], now);
        let merged = memory.with_engine(merge).await??;
        if merged > 0 {
            memory.tell("retagged", Vec::new());
        }
        Ok(MergedTags { merged, from, into })
    }

    fn text(done: &MergedTags) -> Cow<'_, str> {
        let MergedTags { merged, from, into } = done;
        let merged = counted(*merged, "record");
        format!("{merged} with `{into}` instead of `{from}` now").into()
    }
}

/// The tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tables {
    /// The five levels, from the least sure on; nothing else is taken.
    pub confidence: Vec<Level>,
    /// The most used first.
    pub evidence: Vec<Kind>,
}

/// A level of confidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Level {
    /// Its word.
    pub name: String,
    /// 1 to 5.
    pub ordinal: u8,
    /// What it means.
    pub description: String,
}

/// A kind of evidence.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Kind {
    /// Its word.
    pub name: String,
    /// What it means; empty where nobody said.
    pub description: String,
    /// How sure one typically is by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub typical_confidence: Option<String>,
    /// Records that rest on it.
    pub count: usize,
    /// It came into use without a meaning: define it, or merge it into another.
    pub needs_review: bool,
}

operation! {
    Spec::reads(
        "evidence",
        "What words for confidence and evidence mean, and how often each is used.",
    )
    .tool("evidence", Profile::Full)
    .also(&["sources"]);
    /// How to look at them.
    #[derive(Default, clap::Args)]
    EvidenceKinds(memory, asked: EvidenceArguments {
        /// Only the kinds of evidence that nobody said the meaning of.
        #[arg(long)]
        pub review: bool,
    }) -> Tables {
        let levels = ConfidenceLevel::ALL.iter().map(|level| Level {
            name: level.name().to_owned(),
            ordinal: level.number(),
            description: meaning_of_confidence(*level).to_owned(),
        });
        let kinds = memory.grounds().await?.into_values();
        let kinds = kinds.filter(|kind| !asked.review || kind.needs_review);
        let mut evidence: Vec<Kind> = kinds.collect();
        evidence.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
        Ok(Tables {
            confidence: levels.collect(),
            evidence,
        })
    }

    fn text(tables: &Tables) -> Cow<'_, str> {
        let mut quoted = QuotedMemory::new(system_entropy());
        for kind in &tables.evidence {
            let mut line = format!("{} ({})", kind.name, kind.count);
            if kind.needs_review {
                line.push_str(&[": nobody said what it means", &suggestion(&kind.name)].concat());
            } else {
                line.push_str(&[": ", &kind.description].concat());
            }
            if let Some(typical) = &kind.typical_confidence {
                line.push_str(&["; typically ", typical].concat());
            }
            quoted.line("- ", &line);
        }
        let open = tables.evidence.iter().filter(|kind| kind.needs_review);
        let (all, open) = (tables.evidence.len(), open.count());
        format!(
            "{all} kinds of evidence, {open} to be reviewed\n{}",
            quoted.into_text()
        )
        .into()
    }
}

/// What was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Defined {
    /// The record that holds the meaning.
    pub id: RecordId,
    /// The word, in its one spelling.
    pub name: String,
}

operation! {
    Spec::adds("define_evidence", "Say what a kind of evidence means.");
    /// Which kind, and its meaning.
    #[derive(Default, Eq)]
    DefineEvidence(memory, arguments: DefineEvidenceArguments {
        /// Its word.
        #[schemars(regex(pattern = r"\S"))]
        pub name: String,
        /// What it means.
        #[serde(default)]
        pub description: String,
        /// How sure one typically is by it: a hint.
        pub typical_confidence: Option<String>,
    }) -> Defined {
        let name = normal_evidence(&arguments.name)
            .filter(|name| name.parse::<Evidence>().is_err())
            .ok_or_else(|| {
                let name = arguments.name.trim();
                Problem::conflict(format!(
                    "`{name}` has a meaning already, or is no word; take another one"
                ))
            })?;
        let definition = Definition {
            name: name.clone(),
            description: arguments.description.trim().to_owned(),
            typical_confidence: arguments.typical_confidence,
            alias_of: None,
        };
        let id = keep(memory, &definition).await?;
        Ok(Defined { id, name })
    }

    fn text(defined: &Defined) -> Cow<'_, str> {
        format!("`{}` is defined", defined.name).into()
    }
}

/// Keeps a meaning: in the place of the one that the word has.
pub(super) async fn keep(memory: &Memory, definition: &Definition) -> Result<RecordId, Problem> {
    let record = definition.record();
    let known = memory.definitions().await?;
    let known = known
        .into_iter()
        .find(|(_, own)| own.name == definition.name);
    if let Some((id, own)) = known {
        if own == *definition {
            return Ok(id);
        }
        let mut changes = Map::new();
        changes.insert("text".to_owned(), json!(record.text));
        changes.insert("details".to_owned(), definition.details());
        return Ok(memory.revise(&id.to_string(), changes).await?.1.id);
    }
    memory.keep_new(record).await
}

/// What was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Merged {
    /// Records that rested on it.
    pub merged: usize,
    /// The kind that they had.
    pub from: String,
    /// The kind that they have now.
    pub into: String,
}

operation! {
    Spec::destroys(
        "merge_evidence",
        "Let every record that rests on one kind of evidence rest on another; the word means that \
         from then on.",
    );
    /// Which kinds.
    MergeEvidence(memory, arguments: MergeEvidenceArguments {
        /// The kind to leave.
        #[schemars(regex(pattern = r"\S"))]
        pub from: String,
        /// The kind to keep.
        #[schemars(regex(pattern = r"\S"))]
        pub into: String,
    }) -> Merged {
        let word = |given: &str| {
            let none = || Problem::invalid("a kind of evidence is a word; name two");
            normal_evidence(given).ok_or_else(none)
        };
        let (from, into) = (word(&arguments.from)?, word(&arguments.into)?);
        if from == into || from.parse::<Evidence>().is_ok() {
            return Err(Problem::conflict(format!(
                "`{from}` stays: it is a kind of ours, or both are one; merge another kind into it"
            )));
        }
        let known = memory.grounds().await?;
        for name in [&from, &into] {
            if !known.contains_key(name) {
                return Err(Problem::not_found(format!(
                    "nothing rests on `{name}` here, and has no meaning; see `evidence`"
                )));
            }
        }
        let wanted = from.clone();
        let resting = memory.read(move |memory| resting(memory, &wanted)).await?;
        for id in &resting {
            let mut changes = Map::new();
            changes.insert(EVIDENCE_FIELD.to_owned(), json!(into));
            memory.revise(&id.to_string(), changes).await?;
        }
        let alias = Definition {
            name: from.clone(),
            alias_of: Some(into.clone()),
            ..Definition::default()
        };
        keep(memory, &alias).await?;
        let merged = resting.len();
        Ok(Merged { merged, from, into })
    }

    fn text(done: &Merged) -> Cow<'_, str> {
        let Merged { merged, from, into } = done;
        let merged = counted(*merged, "record");
        format!("{merged} resting on `{into}` now, and `{from}` means that").into()
    }
}

/// The live records that rest on a kind of evidence.
fn resting(memory: &Snapshot, word: &str) -> Vec<RecordId> {
    let records = memory.records().filter_map(Result::ok);
    let resting = records.filter(|record| evidence_of(record) == Some(word));
    resting.map(|record| record.id).collect()
}
