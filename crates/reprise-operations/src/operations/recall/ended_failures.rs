//! Failed runs of tests and builds among the results that a later run ended: they held until then.

use reprise_knowledge::{CommandRun, RunScope};
use reprise_types::RecallResponse;

use crate::operations::lessons::project_of_tags;
use crate::prelude::*;

/// Most later runs that are looked at for one failure.
const LATER_MAX: usize = 400;

/// Marks the failed runs among the results that a later run of the same passed: each was so until
/// then. Of a memory as it was at an earlier time, only what had passed `until` then counts.
pub(super) fn mark_ended_failures(
    memory: &Snapshot,
    until: Option<DateTime<Utc>>,
    recall: &mut RecallResponse,
) {
    let own = recall.results.iter().filter(|one| {
        let is_over = one.published.is_some() || one.why.contradicted_by.is_some();
        one.is_related() && !is_over && parse_failure(&one.record).is_some()
    });
    let failed: Vec<MemoryRecord> = own.map(|one| one.record.clone()).collect();
    if failed.is_empty() {
        return;
    }
    let ended = find_later_passes(memory, &failed, until);
    for one in &mut recall.results {
        if let Some((passed, at)) = ended.get(&one.record.id) {
            one.why.contradicted_by = Some(*passed);
            one.why.held_until = Some(*at);
        }
    }
}

/// Reads the failed run that a record tells of.
fn parse_failure(record: &MemoryRecord) -> Option<CommandRun<'_>> {
    let is_run = matches!(record.record_type(), RecordType::Test | RecordType::Command);
    let ran = is_run.then(|| CommandRun::parse(&record.text)).flatten();
    ran.filter(|ran| !ran.passed)
}

/// Finds for each failure the first later run that passed all of it, with its time. The runs of a
/// project, or of a session where a failure is of none, are read once.
fn find_later_passes(
    memory: &Snapshot,
    failed: &[MemoryRecord],
    until: Option<DateTime<Utc>>,
) -> BTreeMap<RecordId, (RecordId, DateTime<Utc>)> {
    let mut places: BTreeMap<(Option<&str>, &str), Vec<&MemoryRecord>> = BTreeMap::new();
    for one in failed {
        let project = project_of_tags(&one.tags);
        let session = if project.is_some() {
            ""
        } else {
            &one.session_id
        };
        places.entry((project, session)).or_default().push(one);
    }
    let mut passes = BTreeMap::new();
    for ((project, session), failed) in places {
        let scope = |ran: CommandRun<'_>| RunScope::parse(ran.command, project.unwrap_or_default());
        let later = memory.list(&ListRequest {
            filter: MemoryFilter {
                types: Some(vec![RecordType::Test, RecordType::Command]),
                project: project.map(str::to_owned),
                session_id: project.is_none().then(|| session.to_owned()),
                since: failed.iter().map(|one| one.timestamp).min(),
                until,
                ..MemoryFilter::default()
            },
            limit: LATER_MAX,
            after: None,
        });
        // The newest are listed first.
        let later = later.records.iter().rev();
        let passed = later.filter_map(|one| {
            let ran = CommandRun::parse(&one.text).filter(|ran| ran.passed)?;
            Some(((one.timestamp, one.id), scope(ran)))
        });
        let passed: Vec<_> = passed.collect();
        for one in failed {
            let Some(failed) = parse_failure(one).map(scope) else {
                continue;
            };
            let first = passed
                .iter()
                .find(|(place, passed)| *place > (one.timestamp, one.id) && passed.covers(&failed));
            if let Some(((at, passed), _)) = first {
                passes.insert(one.id, (*passed, *at));
            }
        }
    }
    passes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::recall::AskedRecall;
    use crate::operations::sessions::{HookEvent, HookReport};
    use crate::testing::Ada;

    async fn run(ada: &Ada, command: &str, succeeded: bool) {
        ada.advance_seconds(60);
        let report = HookReport {
            session: "one".to_owned(),
            project: "shop".to_owned(),
            command: command.to_owned(),
            succeeded: Some(succeeded),
            text: if succeeded { "" } else { "Timeout" }.to_owned(),
            ..HookReport::default()
        };
        let memory = ada.memory();
        memory
            .handle_hook(HookEvent::PostTool, report)
            .await
            .unwrap();
    }

    /// Returns each run that answers, and whether something newer ended it.
    async fn ask(ada: &Ada, query: &str) -> Vec<(String, bool)> {
        let asked = AskedRecall::new(RecallRequest::new(query), false);
        let found = ada.memory().answer(asked).await.unwrap();
        let found = found.recall.results.into_iter();
        let mut found: Vec<(String, bool)> = found
            .map(|one| {
                let is_over = one.why.contradicted_by.is_some() && one.why.held_until.is_some();
                let text = one
                    .record
                    .body
                    .text
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .to_owned();
                (text, is_over)
            })
            .collect();
        found.sort();
        found
    }

    #[tokio::test]
    async fn a_failure_that_a_later_run_ended_is_marked_and_no_other_is() {
        let ada = Ada::new().await;
        run(&ada, "npm run test:e2e", false).await;
        run(&ada, "npm run test:unit", false).await;
        let failed = |name: &str, is_over| (format!("`npm run test:{name}` failed:"), is_over);
        let asked = "why did the npm run test fail with a timeout?";
        assert_eq!(
            ask(&ada, asked).await,
            [failed("e2e", false), failed("unit", false)]
        );
        run(&ada, "npm run test:e2e", true).await;
        let mut found = ask(&ada, asked).await;
        found.retain(|(text, _)| text.contains("failed"));
        assert_eq!(found, [failed("e2e", true), failed("unit", false)]);
        // It fails once more: that is not over.
        run(&ada, "npm run test:e2e", false).await;
        let mut found = ask(&ada, asked).await;
        found.retain(|(text, _)| text.contains("failed"));
        assert!(found.contains(&failed("e2e", false)), "{found:?}");
    }
}
