//! What a session keeps of the commands that its agent ran, and of the files that it edited.

use reprise_knowledge::{CommandPurpose, CommandRun, classify_command};

use super::opening;
use crate::operations::sessions::HookReport;
use crate::prelude::*;

/// Files edited since an answer that are named.
const EDITED_MAX: usize = 40;

impl Memory {
    /// Tests and commits are kept as they end, builds where they fail, edits with the answer.
    pub(super) async fn handle_tool(&self, report: &HookReport) -> Result<(), Problem> {
        let (files, ran) = (&report.files, classify_command(&report.command));
        self.run_on_session(&report.session, |session| {
            session.note_said(&report.command);
            session.note_printed(&report.printed);
            for file in files {
                session.note_said(file);
            }
            let room = EDITED_MAX.saturating_sub(session.edited.len());
            session.edited.extend(files.iter().take(room).cloned());
            if files.is_empty() && ran == Some(CommandPurpose::Tests) {
                session.judged = report.succeeded.or(session.judged);
            }
        });
        if !files.is_empty() {
            return Ok(());
        }
        let Some(ran) = ran else {
            return Ok(());
        };
        let command = report.command.as_str();
        let mut told = ran.describe_end(command, report.succeeded, &report.text);
        if told.is_none() && ran == CommandPurpose::Build && report.succeeded == Some(true) {
            // A build that passes is worth keeping if it ends a failure.
            let ends = self.ends_open_failure(report).await?;
            told = ends.then(|| ran.describe_pass(command));
        }
        let Some((text, what)) = told else {
            return Ok(());
        };
        let record = self.words_record(report, &text, what);
        let storing =
            self.run_on_session(&report.session, |session| Arc::clone(&session.storing_run));
        let _turn = storing.lock().await;
        let times = self.count_times_run(&record).await?;
        self.store_words_again(record, times).await.map(drop)
    }

    /// Returns whether a command that passed ends a failure that its project has open.
    async fn ends_open_failure(&self, report: &HookReport) -> Result<bool, Problem> {
        if !self.exists() || report.project.is_empty() {
            return Ok(false);
        }
        let (project, command) = (report.project.clone(), report.command.clone());
        let calendar = self.calendar();
        self.run_on_snapshot(move |memory| {
            opening::ends_open_failure(memory, &project, &command, &calendar)
        })
        .await
    }

    /// Returns how many times a command of a session ended as it does now, counted once until it or
    /// another one ends otherwise: tests that pass, of which one fails, and that pass again, have
    /// passed twice.
    async fn count_times_run(&self, record: &NewRecord) -> Result<usize, Problem> {
        let Some(ran) = CommandRun::parse(&record.text) else {
            return Ok(1);
        };
        if record.session_id.is_empty() || !self.exists() {
            return Ok(1);
        }
        let filter = MemoryFilter {
            types: Some(vec![RecordType::Test, RecordType::Command]),
            session_id: Some(record.session_id.clone()),
            until: record.timestamp,
            ..MemoryFilter::default()
        };
        let (text, passed) = (record.text.trim().to_owned(), ran.passed);
        self.run_on_snapshot(move |memory| {
            let mut runs = memory.list_matching_records(&filter);
            runs.sort_by_key(|one| (one.timestamp, one.id));
            let times = runs.iter().filter(|one| one.text == text).count();
            let since = runs.iter().rev().take_while(|one| one.text != text);
            let mut since = since.filter_map(|one| CommandRun::parse(&one.text));
            let is_as_before = times > 0 && !since.any(|ran| ran.passed != passed);
            times + usize::from(!is_as_before)
        })
        .await
    }
}
