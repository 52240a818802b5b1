//! Many new things of one author at once.

use std::collections::HashSet;

use super::keep::Making;
use super::ledger::Line;
use super::{EmbeddedStore, Shared, storage};
use crate::caller::Caller;
use crate::error::Result;
use crate::record::{Publication, Version};
use crate::rules::shelf_of;
use crate::store::check_publication;
use reprise_types::WriteOutcome;

/// Things of one commit.
const BATCH: usize = 500;

impl EmbeddedStore {
    /// Publishes many new things of one author, some hundred a commit, and passes over what he has
    /// published before. Nobody is told what they overlap with. How many are new.
    pub async fn import(&self, caller: &Caller, publications: Vec<Publication>) -> Result<usize> {
        let caller = caller.clone();
        self.blocking(move |store| store.import(&caller, publications))
            .await
    }
}

impl Shared {
    fn import(&self, caller: &Caller, all: Vec<Publication>) -> Result<usize> {
        for publication in &all {
            check_publication(publication)?;
        }
        let own = match self.reader()? {
            Some(reader) => reader.published(caller)?,
            None => Vec::new(),
        };
        let known = own.into_iter().map(|record| record.publication.origin);
        let mut known: HashSet<String> = known.collect();
        // What an operator took down is passed over, too.
        known.extend(self.taken_down(caller)?.into_iter().map(|one| one.origin));
        let mut new = all
            .into_iter()
            .filter(|publication| known.insert(publication.origin.clone()));
        let mut made = 0;
        loop {
            let batch: Vec<Publication> = new.by_ref().take(BATCH).collect();
            if batch.is_empty() {
                return Ok(made);
            }
            made += self.import_batch(caller, batch)?;
        }
    }

    fn import_batch(&self, caller: &Caller, batch: Vec<Publication>) -> Result<usize> {
        let (at, version) = (self.now(), Version(1));
        let mut shelves = Vec::with_capacity(batch.len());
        let mut records = Vec::with_capacity(batch.len());
        for publication in batch {
            let shelf = shelf_of(caller, &publication)?;
            let vector = self.vector(&publication.search_text());
            let making = Making {
                caller,
                shelf: &shelf,
                version,
                first: None,
                supersedes: None,
                at,
            };
            records.push(making.record(publication, vector)?);
            shelves.push(shelf.to_string());
        }
        self.write(|engine, ledger| {
            let outcomes = engine.observe(records, None, at).map_err(storage)?;
            let kept = outcomes.into_iter().zip(shelves);
            let lines = kept.filter_map(|(outcome, shelf)| match outcome {
                WriteOutcome::Inserted { id } => Some(Line::Published {
                    at,
                    who: caller.user.clone(),
                    id,
                    version,
                    shelf,
                }),
                _ => None,
            });
            let lines: Vec<Line> = lines.collect();
            ledger.write(&lines)?;
            Ok(lines.len())
        })
    }
}
