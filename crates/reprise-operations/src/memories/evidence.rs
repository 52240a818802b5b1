//! Kinds of evidence: ours, and those that came into use here; which is meant by a word, and what a
//! word means.

use reprise_knowledge::{meaning_of_evidence, meant_by, normal_evidence};

use super::all_tagged;
use crate::operations::tags::Kind;
use crate::prelude::*;

impl Memory {
    /// What a word for evidence stands for here, and a doubt where it is new: that is kept all the
    /// same and waits for a review, unless the caller is `strict`.
    pub(crate) async fn ground(
        &self,
        word: Option<&str>,
        strict: bool,
    ) -> Result<(Option<String>, Option<String>), Problem> {
        let Some(given) = word.and_then(normal_evidence) else {
            return Ok((None, None));
        };
        if given.parse::<Evidence>().is_ok() {
            return Ok((Some(given), None));
        }
        let definitions = self.definitions().await?;
        let own = definitions.iter().find(|(_, own)| own.name == given);
        if let Some((_, own)) = own {
            let meant = own.alias_of.clone().unwrap_or(given);
            return Ok((Some(meant), None));
        }
        let hint = suggestion(&given);
        if strict {
            return Err(Problem::conflict(format!(
                "`{given}` is no kind of evidence here{hint}; or say what it means by \
                 `define_evidence`"
            )));
        }
        let doubt = format!("`{given}` is new and waits for `sources --review`{hint}");
        Ok((Some(given), Some(doubt)))
    }

    /// The meanings that were given to kinds of evidence here.
    pub(crate) async fn definitions(&self) -> Result<Vec<(RecordId, Definition)>, Problem> {
        if !self.exists() {
            return Ok(Vec::new());
        }
        self.read(defined).await
    }

    /// Every kind of evidence by its name: ours, and those in use or with a meaning here.
    pub(crate) async fn grounds(&self) -> Result<BTreeMap<String, Kind>, Problem> {
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
            .read(|memory| (defined(memory), counted(memory)))
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

/// What may be meant by a word that is not there.
pub(crate) fn suggestion(word: &str) -> String {
    let meant = meant_by(word).into_iter().map(|evidence| {
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

fn defined(memory: &Snapshot) -> Vec<(RecordId, Definition)> {
    let records = all_tagged(memory, Definition::TAG);
    let own = records.iter();
    own.filter_map(|record| Some((record.id, Definition::of(record)?)))
        .collect()
}

fn counted(memory: &Snapshot) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for record in memory.records().filter_map(Result::ok) {
        if let Some(word) = evidence_of(&record) {
            *counts.entry(word.to_owned()).or_default() += 1;
        }
    }
    counts
}
