//! Kinds of evidence: ours, and those that came into use here; which is meant by a word, what a
//! word means, and what comes of one that is merged into another.

use reprise_knowledge::{
    EVIDENCE_FIELD, guess_evidence, meaning_of_confidence, meaning_of_evidence, normalize_evidence,
};

use super::NameMergeReport;
use crate::operations::records::list_tagged;
use crate::prelude::*;

/// The tables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Tables")]
pub struct EvidenceReport {
    /// The five levels, from the least sure on; nothing else is taken.
    pub confidence: Vec<ConfidenceMeaning>,
    /// The most used first.
    pub evidence: Vec<EvidenceKind>,
}

/// A level of confidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Level")]
pub struct ConfidenceMeaning {
    /// Its word.
    pub name: String,
    /// 1 to 5.
    pub ordinal: u8,
    /// What it means.
    pub description: String,
}

/// A kind of evidence.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Kind")]
pub struct EvidenceKind {
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
    Spec::for_reading(
        "evidence",
        "What words for confidence and evidence mean, and how often each is used.",
    )
    .with_tool("evidence", Profile::Full)
    .with_tool_aliases(&["sources"]);
    /// How to look at them.
    #[derive(Default, clap::Args)]
    EvidenceKinds(memory, asked: EvidenceArguments {
        /// Only the kinds of evidence that nobody said the meaning of.
        #[arg(long)]
        pub review: bool,
    }) -> EvidenceReport {
        let levels = ConfidenceLevel::ALL.iter().map(|level| ConfidenceMeaning {
            name: level.name().to_owned(),
            ordinal: level.number(),
            description: meaning_of_confidence(*level).to_owned(),
        });
        let kinds = memory.list_evidence_kinds().await?.into_values();
        let kinds = kinds.filter(|kind| !asked.review || kind.needs_review);
        let mut evidence: Vec<EvidenceKind> = kinds.collect();
        evidence.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
        Ok(EvidenceReport {
            confidence: levels.collect(),
            evidence,
        })
    }

    fn render_text(tables: &EvidenceReport) -> Cow<'_, str> {
        let mut quoted = QuotedMemory::new(system_entropy());
        for kind in &tables.evidence {
            let mut line = format!("{} ({})", kind.name, kind.count);
            if kind.needs_review {
                line.push_str(&[": not defined yet", &suggest_evidence(&kind.name)].concat());
            } else {
                line.push_str(&[": ", &kind.description].concat());
            }
            if let Some(typical) = &kind.typical_confidence {
                line.push_str(&["; typically ", typical].concat());
            }
            quoted.add_line("- ", &line);
        }
        let open = tables.evidence.iter().filter(|kind| kind.needs_review);
        let (all, open) = (tables.evidence.len(), open.count());
        let kinds = format_count(all, "kind");
        format!("{kinds} of evidence, {open} not defined yet\n{}", quoted.into_text()).into()
    }
}

/// What was kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Defined")]
pub struct DefinedEvidence {
    /// The record that holds the meaning.
    pub id: RecordId,
    /// The word, in its one spelling.
    pub name: String,
}

operation! {
    Spec::for_adding("define_evidence", "Say what a kind of evidence means.");
    /// Which kind, and its meaning.
    #[derive(Default, Eq)]
    DefineEvidence(memory, arguments: DefineEvidenceArguments {
        /// Its word.
        #[schemars(regex(pattern = r"\S"))]
        pub name: String as LineText,
        /// What it means.
        #[serde(default)]
        pub description: String as LineText,
        /// How sure one typically is by it: a hint.
        pub typical_confidence: Option<String> as LineText,
    }) -> DefinedEvidence {
        let name = normalize_evidence(&arguments.name)
            .filter(|name| name.parse::<Evidence>().is_err())
            .ok_or_else(|| {
                let name = arguments.name.trim();
                Problem::conflict(format!(
                    "`{name}` has a meaning already, or is no word; take another one"
                ))
            })?;
        let level = arguments.typical_confidence.as_deref();
        if let Some(level) = level.filter(|level| level.parse::<ConfidenceLevel>().is_err()) {
            return Err(Problem::invalid(format!(
                "`{level}` is no confidence; take very-low, low, medium, high or very-high"
            )));
        }
        let definition = EvidenceDefinition {
            name: name.clone(),
            description: arguments.description.trim().to_owned(),
            typical_confidence: arguments.typical_confidence,
            alias_of: None,
        };
        let id = store_definition(memory, &definition).await?;
        Ok(DefinedEvidence { id, name })
    }

    fn render_text(defined: &DefinedEvidence) -> Cow<'_, str> {
        format!("`{}` is defined", defined.name).into()
    }
}

/// Keeps a meaning: in the place of the one that the word has.
async fn store_definition(
    memory: &Memory,
    definition: &EvidenceDefinition,
) -> Result<RecordId, Problem> {
    let record = definition.to_record();
    let known = memory.list_evidence_definitions().await?;
    let known = known
        .into_iter()
        .find(|(_, own)| own.name == definition.name);
    if let Some((id, own)) = known {
        if own == *definition {
            return Ok(id);
        }
        let mut changes = Map::new();
        changes.insert("text".to_owned(), json!(record.text));
        changes.insert("details".to_owned(), definition.to_details());
        return Ok(memory.revise(&id.to_string(), changes).await?.1.id);
    }
    memory.store_new(record).await
}

operation! {
    Spec::for_destroying(
        "merge_evidence",
        "Replace one kind of evidence by another in every memory, and from then on.",
    );
    /// Which kinds.
    MergeEvidence(memory, arguments: MergeEvidenceArguments {
        /// The kind to leave.
        #[schemars(regex(pattern = r"\S"))]
        pub from: String as RecordKey,
        /// The kind to keep.
        #[schemars(regex(pattern = r"\S"))]
        pub into: String as LineText,
    }) -> NameMergeReport {
        let word = |given: &str| {
            let none = || Problem::invalid("a kind of evidence is a word; name two");
            normalize_evidence(given).ok_or_else(none)
        };
        let (from, into) = (word(&arguments.from)?, word(&arguments.into)?);
        if from == into || from.parse::<Evidence>().is_ok() {
            return Err(Problem::conflict(format!(
                "`{from}` stays: it is a kind of ours, or both are one; merge another kind into it"
            )));
        }
        let known = memory.list_evidence_kinds().await?;
        for name in [&from, &into] {
            if !known.contains_key(name) {
                return Err(Problem::not_found(format!(
                    "nothing rests on `{name}` here, and has no meaning; see `evidence`"
                )));
            }
        }
        let alias = EvidenceDefinition {
            name: from.clone(),
            alias_of: Some(into.clone()),
            ..EvidenceDefinition::default()
        };
        // Done again, this changes what still rests on the word, whatever the request is called.
        let memory = memory.clone().with_request_key(None);
        // First: from now on nothing more comes to rest on the word.
        store_definition(&memory, &alias).await?;
        let wanted = from.clone();
        let resting = memory.run_on_snapshot(move |memory| list_records_resting_on(memory, &wanted)).await?;
        let mut changes = Map::new();
        changes.insert(EVIDENCE_FIELD.to_owned(), json!(into));
        let merged = memory.revise_all(&resting, &changes).await?;
        Ok(NameMergeReport { merged, from, into })
    }

    fn render_text(done: &NameMergeReport) -> Cow<'_, str> {
        let NameMergeReport { merged, from, into } = done;
        let merged = format_count(*merged, "memory");
        format!("{merged} resting on `{into}` now, and `{from}` means that").into()
    }
}

/// The live records that rest on a kind of evidence.
fn list_records_resting_on(memory: &Snapshot, word: &str) -> Vec<MemoryRecord> {
    let records = memory.records().filter_map(Result::ok);
    records
        .filter(|record| evidence_of(record) == Some(word))
        .collect()
}

impl Memory {
    /// Returns the kind of evidence that a word means in this memory, and a doubt if the word is
    /// new. A new word is kept and waits for a review, unless the caller is `strict`.
    pub(crate) async fn resolve_evidence(
        &self,
        word: Option<&str>,
        strict: bool,
    ) -> Result<(Option<String>, Option<String>), Problem> {
        let Some(given) = word.and_then(normalize_evidence) else {
            return Ok((None, None));
        };
        if given.parse::<Evidence>().is_ok() {
            return Ok((Some(given), None));
        }
        let definitions = self.list_evidence_definitions().await?;
        let own = definitions.iter().find(|(_, own)| own.name == given);
        if let Some((_, own)) = own {
            let meant = own.alias_of.clone().unwrap_or(given);
            return Ok((Some(meant), None));
        }
        let hint = suggest_evidence(&given);
        if strict {
            return Err(Problem::conflict(format!(
                "unknown evidence `{given}`{hint}; to define it: \
                 `reprise tags sources --add {given} --description ...`"
            )));
        }
        let doubt = format!("`{given}` is new and waits for `reprise tags sources --review`{hint}");
        Ok((Some(given), Some(doubt)))
    }

    /// The meanings that were given to kinds of evidence here.
    pub(crate) async fn list_evidence_definitions(
        &self,
    ) -> Result<Vec<(RecordId, EvidenceDefinition)>, Problem> {
        if !self.exists() {
            return Ok(Vec::new());
        }
        self.run_on_snapshot(read_evidence_definitions).await
    }

    /// Every kind of evidence by its name: ours, and those in use or with a meaning here.
    pub(crate) async fn list_evidence_kinds(
        &self,
    ) -> Result<BTreeMap<String, EvidenceKind>, Problem> {
        let ours = Evidence::ALL.iter().map(|evidence| {
            let (description, typical) = meaning_of_evidence(*evidence);
            let ground = EvidenceKind {
                name: evidence.name().to_owned(),
                description: description.to_owned(),
                typical_confidence: Some(typical.to_owned()),
                ..EvidenceKind::default()
            };
            (ground.name.clone(), ground)
        });
        let mut grounds: BTreeMap<String, EvidenceKind> = ours.collect();
        if !self.exists() {
            return Ok(grounds);
        }
        let (definitions, counts) = self
            .run_on_snapshot(|memory| (read_evidence_definitions(memory), count_evidence(memory)))
            .await?;
        let unsaid = |name: &String| EvidenceKind {
            name: name.clone(),
            needs_review: true,
            ..EvidenceKind::default()
        };
        for (_, own) in definitions {
            if own.alias_of.is_none() {
                let ground = grounds.entry(own.name).or_insert_with_key(unsaid);
                ground.description = own.description;
                ground.typical_confidence = own.typical_confidence;
                ground.needs_review = false;
            }
        }
        for (word, count) in counts {
            grounds.entry(word).or_insert_with_key(unsaid).count = count;
        }
        Ok(grounds)
    }
}

fn read_evidence_definitions(memory: &Snapshot) -> Vec<(RecordId, EvidenceDefinition)> {
    let records = list_tagged(memory, EvidenceDefinition::TAG);
    let own = records.iter();
    own.filter_map(|record| Some((record.id, EvidenceDefinition::of(record)?)))
        .collect()
}

fn count_evidence(memory: &Snapshot) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for record in memory.records().filter_map(Result::ok) {
        if let Some(word) = evidence_of(&record) {
            *counts.entry(word.to_owned()).or_default() += 1;
        }
    }
    counts
}

/// What may be meant by a word that is not there.
fn suggest_evidence(word: &str) -> String {
    let meant = guess_evidence(word).into_iter().map(|evidence| {
        let (description, _) = meaning_of_evidence(evidence);
        format!("`{evidence}` ({description})")
    });
    let meant: Vec<String> = meant.collect();
    match &meant[..] {
        [] => format!(
            "; ours are {}",
            Evidence::ALL
                .iter()
                .map(|e| e.name())
                .collect::<Vec<_>>()
                .join(", ")
        ),
        _ => format!("; did you mean {}?", meant.join(" or ")),
    }
}
