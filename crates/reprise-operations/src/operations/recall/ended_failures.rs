//! Failed runs of tests and builds among the results that a later run ended: they held until then.

use reprise_knowledge::{CommandRun, RunScope};
use reprise_types::RecallResponse;

use crate::operations::lessons::project_of_tags;
use crate::prelude::*;

/// Most later runs that are looked at for one failure.
const LATER_MAX: usize = 400;

impl Memory {
    /// Marks the failed runs among the results that a later run of the same passed: each was so
    /// until then. Of a memory as it was at an earlier time, only what had passed then counts.
    pub(super) async fn mark_ended_failures(
        &self,
        until: Option<DateTime<Utc>>,
        recall: &mut RecallResponse,
    ) -> Result<(), Problem> {
        let own = recall.results.iter().filter(|one| {
            let is_over = one.published.is_some() || one.why.contradicted_by.is_some();
            !is_over && parse_failure(&one.record).is_some()
        });
        let failed: Vec<MemoryRecord> = own.map(|one| one.record.clone()).collect();
        if failed.is_empty() {
            return Ok(());
        }
        let find = move |memory: &Snapshot| -> HashMap<RecordId, MemoryRecord> {
            let ended = failed.iter();
            let ended =
                ended.filter_map(|one| Some((one.id, find_later_pass(memory, one, until)?)));
            ended.collect()
        };
        let ended = self.run_on_snapshot(find).await?;
        for one in &mut recall.results {
            if let Some(passed) = ended.get(&one.record.id) {
                one.why.contradicted_by = Some(passed.id);
                one.why.held_until = Some(passed.timestamp);
            }
        }
        Ok(())
    }
}

/// Reads the failed run that a record tells of.
fn parse_failure(record: &MemoryRecord) -> Option<CommandRun<'_>> {
    let is_run = matches!(record.record_type(), RecordType::Test | RecordType::Command);
    let ran = is_run.then(|| CommandRun::parse(&record.text)).flatten();
    ran.filter(|ran| !ran.passed)
}

/// Finds the first run after a failure that passed all of it, in its project, or in its session
/// where it is of none.
fn find_later_pass(
    memory: &Snapshot,
    failure: &MemoryRecord,
    until: Option<DateTime<Utc>>,
) -> Option<MemoryRecord> {
    let project = project_of_tags(&failure.tags).map(str::to_owned);
    let session_id = project.is_none().then(|| failure.session_id.clone());
    let scope = |command: &str| RunScope::parse(command, project.as_deref().unwrap_or_default());
    let failed = scope(parse_failure(failure)?.command);
    let later = memory.list(&ListRequest {
        filter: MemoryFilter {
            types: Some(vec![RecordType::Test, RecordType::Command]),
            project: project.clone(),
            session_id,
            since: Some(failure.timestamp),
            until,
            ..MemoryFilter::default()
        },
        limit: LATER_MAX,
        after: None,
    });
    // The newest are listed first.
    later.records.into_iter().rev().find(|one| {
        let ran = CommandRun::parse(&one.text).filter(|ran| ran.passed);
        let is_later = (one.timestamp, one.id) > (failure.timestamp, failure.id);
        is_later && ran.is_some_and(|ran| scope(ran.command).covers(&failed))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let memory = ada.memory();
        let recall = memory.recall_alone(RecallRequest::new(query), None, None);
        let found = recall.await.unwrap().results.into_iter();
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
