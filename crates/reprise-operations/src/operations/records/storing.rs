//! Keeping records: each is prepared, named by its request, written with the others, and its fate
//! told.

use reprise_engine::{LinkEnd, NewLink};
use reprise_knowledge::SunwellLearning;
use reprise_types::Zone;

use crate::prelude::*;
use crate::wire::{RecordRedaction, WriteReport, read_value};

/// Whether somebody says it, and does not only read a source anew: by a name of the sender's, by
/// what it is, or without any.
fn is_said_by_sender(record: &NewRecord) -> bool {
    let said = [ExternalId::BATCH, ExternalId::SUNWELL, ExternalId::REQUEST];
    let mut names = record.external_ids.iter();
    names.all(|name| said.contains(&name.namespace.as_str()))
}

/// The records that somebody said again, each with its place among the outcomes.
fn list_repeated(outcomes: &[WriteOutcome], is_said: &[bool]) -> Vec<(usize, RecordId)> {
    let outcomes = outcomes.iter().zip(is_said).enumerate();
    let again = outcomes.filter_map(|(place, (outcome, is_said))| match outcome {
        WriteOutcome::Duplicate { of, .. } if *is_said => Some((place, *of)),
        _ => None,
    });
    again.collect()
}

impl Memory {
    /// Keeps records in their ingest form; a bad one spoils only itself.
    pub(crate) async fn ingest(&self, records: Vec<Value>) -> Result<WriteReport, Problem> {
        let mut unknown = BTreeSet::new();
        let read = records.into_iter().map(|value| {
            let (record, fields) = read_value(value, Zone::Machine)?;
            unknown.extend(fields);
            Ok(record)
        });
        let read = read.collect();
        let mut report = self.store_parsed_records(read).await?;
        report.unknown_fields = unknown.into_iter().collect();
        Ok(report)
    }

    pub(crate) async fn store_parsed_records(
        &self,
        records: Vec<Result<NewRecord, String>>,
    ) -> Result<WriteReport, Problem> {
        let (mut good, mut redacted) = (Vec::with_capacity(records.len()), Vec::new());
        let mut names = Vec::new();
        let mut fates: Vec<Result<Option<usize>, RecordFate>> = Vec::with_capacity(records.len());
        for (place, record) in records.into_iter().enumerate() {
            match record {
                Ok(mut record) => {
                    let resolve = |tags: &[String]| self.all.around.tags.resolve_tags(tags);
                    let taken = match self.options.intake.prepare_record(&mut record, resolve) {
                        Ok(taken) => taken,
                        Err(why) => {
                            fates.push(Err(RecordFate::Rejected {
                                why: why.to_string(),
                            }));
                            continue;
                        }
                    };
                    let told = taken.redacted.into_iter();
                    redacted.extend(told.map(|redaction| RecordRedaction {
                        redaction,
                        record: place as u64 + 1,
                    }));
                    record.replaces_known_id |= self.options.updates;
                    if self.is_agent && record.provenance.actor_id.is_none() {
                        record.provenance.actor_id.clone_from(&self.agent);
                    }
                    names.extend(self.name_within_request(&place.to_string()));
                    fates.push(Ok(taken.truncated_from_bytes));
                    good.push(record);
                }
                Err(why) => fates.push(Err(RecordFate::Rejected { why })),
            }
        }
        let teaches = good.iter().any(|record| SunwellLearning::is_in(record));
        let said_again: Vec<bool> = good.iter().map(is_said_by_sender).collect();
        let says = self.hash_contents(&good);
        let texts = good.iter().map(|record| record.text.clone());
        let named: Vec<_> = names.iter().cloned().zip(texts).collect();
        for (record, name) in good.iter_mut().zip(names) {
            record.external_ids.push(name);
        }
        if let Some(says) = &says {
            self.note_contents(&mut good, says);
        }
        // Of several none is kept where one is refused; one alone is looked at if it is known.
        if named.len() > 1 {
            self.refuse_other_contents(named.clone(), says.clone())
                .await?;
        }
        let outcomes = self.write_records(good).await?;
        if let [WriteOutcome::Duplicate { .. }] = outcomes[..] {
            self.refuse_other_contents(named, says).await?;
        }
        let repeated = list_repeated(&outcomes, &said_again);
        self.count_seen_again(repeated).await?;
        let mut report = WriteReport {
            redacted,
            ..WriteReport::default()
        };
        add_fates(&mut report, fates, outcomes);
        let ids = report.list_inserted();
        // Records that come together are left to the next tending.
        if let [id] = ids[..] {
            self.note_contradictions(id).await;
        }
        if !ids.is_empty() {
            self.announce_change("inserted", ids.clone());
        }
        if teaches && !ids.is_empty() {
            self.notify_learnings(&ids).await;
        }
        Ok(report)
    }

    async fn write_records(&self, records: Vec<NewRecord>) -> Result<Vec<WriteOutcome>, Problem> {
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let count = records.len();
        let batch = WriteBatch {
            links: self.build_merge_links(),
            records,
            ..WriteBatch::default()
        };
        let written = self.all.service.write(&self.user, batch);
        let span = operation_span("create_memory", &self.user);
        let outcomes = written.instrument(span.clone()).await?.outcomes;
        let first = match outcomes.first() {
            Some(WriteOutcome::Inserted { id } | WriteOutcome::Duplicate { of: id, .. }) => {
                Some(*id)
            }
            _ => None,
        };
        note_records_in_span(&span, count, first);
        Ok(outcomes)
    }

    /// Builds the links of a record that replaces others: it was made of them, and they are retired
    /// into it.
    fn build_merge_links(&self) -> Vec<NewLink> {
        let sources = self.options.stands_for.iter();
        let links = sources.flat_map(|source| {
            let (made, source) = (LinkEnd::New(0), LinkEnd::Stored(*source));
            [
                NewLink::distilled_from(made, source),
                NewLink::retired_into(source, made),
            ]
        });
        links.collect()
    }

    /// Counts records, each with its place in the request, as said again; a repeated request counts
    /// nothing twice.
    pub(crate) async fn count_seen_again(
        &self,
        again: Vec<(usize, RecordId)>,
    ) -> Result<(), Problem> {
        if again.is_empty() {
            return Ok(());
        }
        let (now, memory) = (self.now(), self.clone());
        let count = move |engine: &mut Engine| {
            let snapshot = engine.snapshot();
            let is_sent_again = |(place, of): &(usize, RecordId)| {
                let name = memory.name_within_request(&place.to_string());
                name.is_some_and(|name| snapshot.find_by_external_id(&name) == Some(*of))
            };
            let again = again.iter().filter(|one| !is_sent_again(one));
            let again: Vec<RecordId> = again.map(|(_, of)| *of).collect();
            engine.mark_seen_again(&again, now)
        };
        Ok(self.run_on_engine(count).await??)
    }

    /// Keeps a record that is to be a new one; answers its id, also where this request was sent
    /// before. That another record is known by its name is an error: nothing was done.
    pub(crate) async fn store_new(&self, record: NewRecord) -> Result<RecordId, Problem> {
        let of = match self.store_one(record).await? {
            RecordFate::Inserted { id, .. } => return Ok(id),
            RecordFate::Duplicate { of, .. } => of,
            RecordFate::Rejected { why } => return Err(Problem::invalid(why)),
        };
        if let Some(name) = self.name_within_request("0") {
            let kept = self.run_on_snapshot(move |memory| memory.find_by_external_id(&name));
            if kept.await? == Some(of) {
                return Ok(of);
            }
        }
        Err(Problem::conflict(format!(
            "nothing was changed: `{of}` is known by the same name; correct that one"
        )))
    }

    pub(crate) async fn store_one(&self, record: NewRecord) -> Result<RecordFate, Problem> {
        let report = self.store_parsed_records(vec![Ok(record)]).await?;
        let fate = report.outcomes.into_iter().next();
        fate.ok_or_else(|| Problem::new(ProblemKind::Internal, "memory gave no answer; try again"))
    }
}

/// Adds what became of each record: it was refused before, with the reason, or has the next
/// outcome, with its size before it was cut.
fn add_fates(
    report: &mut WriteReport,
    fates: Vec<Result<Option<usize>, RecordFate>>,
    outcomes: Vec<WriteOutcome>,
) {
    let mut outcomes = outcomes.into_iter();
    for fate in fates {
        report.add_fate(fate.map_or_else(
            |refused| refused,
            |truncated| match outcomes.next() {
                Some(outcome) => RecordFate::new(outcome, truncated),
                None => RecordFate::Rejected {
                    why: "memory gave no answer for it; send it again".to_owned(),
                },
            },
        ));
    }
}
