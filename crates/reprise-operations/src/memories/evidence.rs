//! Kinds of evidence: ours, and those that came into use here; which is meant by a word, and what a
//! word means.

use reprise_knowledge::{meaning_of_evidence, normalize_evidence};

use super::list_tagged;
use crate::operations::tags::{Kind, suggest_evidence};
use crate::prelude::*;

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
    pub(crate) async fn list_evidence_kinds(&self) -> Result<BTreeMap<String, Kind>, Problem> {
        let ours = Evidence::ALL.iter().map(|evidence| {
            let (description, typical) = meaning_of_evidence(*evidence);
            let ground = Kind {
                name: evidence.name().to_owned(),
                description: description.to_owned(),
                typical_confidence: Some(typical.to_owned()),
                ..Kind::default()
            };
            (ground.name.clone(), ground)
        });
        let mut grounds: BTreeMap<String, Kind> = ours.collect();
        if !self.exists() {
            return Ok(grounds);
        }
        let (definitions, counts) = self
            .run_on_snapshot(|memory| (read_evidence_definitions(memory), count_evidence(memory)))
            .await?;
        let unsaid = |name: &String| Kind {
            name: name.clone(),
            needs_review: true,
            ..Kind::default()
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
