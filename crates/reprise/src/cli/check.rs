//! `reprise doctor check`, `compact`, `reembed`, `inspect` and `stats`: verify, rewrite and count
//! the file of a memory.

use reprise_engine::{CheckReport, EngineStats, Finding};
use reprise_knowledge::compare_with_stock;
use reprise_operations::operations::care::{Compact, Reembed, Reembedded, Stats};
use reprise_operations::operations::sessions::pausing::Pauses;
use reprise_operations::operations::sessions::{Prompts, PromptsArguments};
use reprise_operations::{
    LeftOutReason, NothingAddedReason, Prompt, PromptResult, UnansweredReason,
};
use reprise_store::{RecoveryReport, SegmentInfo};

use super::progress::ProgressLine;
use super::rebuild;
use crate::args::{CheckArguments, InspectArguments, calendar};
use crate::cli::prelude::*;

/// Newest prompts that are looked through for those of today.
const PROMPTS_MAX: usize = 200;

pub(super) fn run(context: &Context, arguments: &CheckArguments) -> anyhow::Result<Exit> {
    let user = &arguments.whose.user;
    // Only a repair needs the lock.
    let access = if arguments.repair {
        Access::Write
    } else {
        Access::Read
    };
    let (mut engine, opened) = store::open(context, user, access, Verify::Everything)?;
    engine.check_user(user)?;
    let report = engine.check()?;
    let mut findings: Vec<String> = report.findings.iter().map(format_finding).collect();
    // Damage that a rebuilt index does not repair is in the file itself.
    let mut left = remaining_damage(&report, opened.recovery.missing_records.is_empty());
    if arguments.repair {
        let is_all_there = opened.recovery.missing_records.is_empty();
        engine.rebuild()?;
        engine.checkpoint()?;
        let mut again = engine.check()?;
        // If every memory can be read, the file is written anew without what is wrong in it.
        if is_all_there && !again.is_sound() && again.findings.iter().all(is_beside_records) {
            engine.compact()?;
            again = engine.check()?;
        }
        left = remaining_damage(&again, is_all_there);
    }
    let projected = rebuild::find_differences(context, user, &engine.snapshot())?;
    let stock = arguments
        .stock
        .then(|| compare_stock_vectors(context, arguments, engine))
        .transpose()?;
    let recovery = &opened.recovery;
    findings.extend(projected);
    for (first, last) in &recovery.missing_records {
        findings.push(format!("memories {first} to {last} can no longer be read"));
    }
    let seen = stock.map(|(seen, differing)| {
        findings.extend(differing.into_iter().map(|why| format!("stock: {why}")));
        seen
    });
    if has_no_complete_commit(recovery) {
        findings.push(format!(
            "the file has no complete commit; restore a backup with `reprise backup restore FILE \
             --user {user} --replace`"
        ));
        left = RemainingDamage::File;
    }
    let sound = findings.is_empty();
    let was_sound = report.is_sound() && opened.recovery.missing_records.is_empty();
    let row = json!({
        "sound": sound,
        "records": report.records_read,
        "torn_bytes": recovery.torn_bytes,
        "findings": findings,
        "repaired": arguments.repair,
        "stock_vectors": seen,
    });
    output::print(context, &row, |out| {
        print_what_was_read(out, report.records_read, recovery.torn_bytes, left)?;
        if let Some(seen) = seen {
            writeln!(
                out,
                "{seen} vectors read by the original rvf-runtime library"
            )?;
        }
        for finding in &findings {
            writeln!(out, "  {finding}")?;
        }
        let verdict = if was_sound && left == RemainingDamage::Nothing && !sound {
            render_outdated_files(arguments, findings.len())
        } else {
            render_verdict(arguments, sound, left)
        };
        Ok(writeln!(out, "{verdict}")?)
    })?;
    Ok(output::exit(sound))
}

/// Prints how many memories were read, and what of the file is an interrupted write.
fn print_what_was_read(
    out: &mut dyn Write,
    records: u32,
    torn: u64,
    left: RemainingDamage,
) -> anyhow::Result<()> {
    let records = format_count(records, "memory");
    let verified = if left == RemainingDamage::File {
        "; what is damaged is named below"
    } else {
        ", every hash verified"
    };
    writeln!(out, "{records} read{verified}")?;
    if torn > 0 {
        writeln!(
            out,
            "the last {torn} bytes are an incomplete commit and are ignored: a write was \
             interrupted, or the file was cut short; if memories are missing, restore a backup"
        )?;
    }
    Ok(())
}

/// Returns whether a file ends within its first commit.
pub(super) fn has_no_complete_commit(recovery: &RecoveryReport) -> bool {
    recovery.torn_bytes > 0 && recovery.commits_read == 0
}

fn format_finding(finding: &Finding) -> String {
    format!("{}: {}", finding.what, finding.detail)
}

/// Returns whether a finding is about bytes of the file that hold no readable memory.
fn is_beside_records(finding: &Finding) -> bool {
    finding.what == "file"
}

/// Part of a memory that is still damaged; it decides which repair helps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RemainingDamage {
    Nothing,
    /// The index, which is built from the log.
    Index,
    /// The log itself.
    File,
}

fn remaining_damage(report: &CheckReport, is_all_there: bool) -> RemainingDamage {
    // A memory that cannot be read in a file that is whole is one that only the index still names.
    let in_file = |finding: &Finding| finding.what == "file";
    match &report.findings[..] {
        [] if is_all_there => RemainingDamage::Nothing,
        findings if !is_all_there || findings.iter().any(in_file) => RemainingDamage::File,
        _ => RemainingDamage::Index,
    }
}

/// Renders that only exported files differ from the memories, with what to do.
fn render_outdated_files(arguments: &CheckArguments, differing: usize) -> String {
    let rebuilt = if arguments.repair {
        "; the index was rebuilt"
    } else {
        ""
    };
    let (user, files) = (
        &arguments.whose.user,
        format_count(differing, "exported file"),
    );
    let verb = if differing == 1 { "is" } else { "are" };
    format!(
        "nothing was damaged{rebuilt}; {files} {verb} out of date: `reprise doctor rebuild --user \
         {user}` updates them"
    )
}

/// Renders the result of a check, and what to do next.
fn render_verdict(arguments: &CheckArguments, sound: bool, left: RemainingDamage) -> String {
    let user = &arguments.whose.user;
    match left {
        RemainingDamage::Nothing if sound && arguments.repair => {
            "nothing was damaged; the index was rebuilt".to_owned()
        }
        RemainingDamage::Nothing if sound => "no damage found".to_owned(),
        RemainingDamage::Nothing if arguments.repair => {
            "repaired: the index was rebuilt, and the memory file is sound".to_owned()
        }
        RemainingDamage::Nothing => {
            "the memory itself is sound; `reprise doctor rebuild` rewrites the files for other \
             programs"
                .to_owned()
        }
        RemainingDamage::Index => format!(
            "damaged: `reprise doctor check --repair --user {user}` rebuilds the index from the log"
        ),
        RemainingDamage::File => format!(
            "damaged: `reprise doctor compact --user {user}` rewrites the file with all that can \
             be read; restore the rest from a backup"
        ),
    }
}

/// Compares the vectors with those that stock rvf-runtime reads from the closed file; a daemon that
/// has it open releases it.
fn compare_stock_vectors(
    context: &Context,
    arguments: &CheckArguments,
    reader: Engine,
) -> anyhow::Result<(usize, Vec<String>)> {
    drop(reader);
    let mut engine = store::open_from_daemon(context, &arguments.whose.user)?;
    engine.checkpoint()?;
    let memory = engine.snapshot();
    let ids = memory
        .records()
        .filter_map(|record| record.ok().map(|record| record.id));
    let own: Vec<Vec<f32>> = ids.filter_map(|id| memory.vector(id)).collect();
    engine.close()?;
    Ok(compare_with_stock(
        &context.places.memory_file_of(&arguments.whose.user),
        &own,
    ))
}

/// Rewrites the file without forgotten records and swaps it in by a rename.
pub(super) fn compact(context: &Context, whose: &WhoseArguments) -> anyhow::Result<Exit> {
    let report = output::call::<Compact>(context, &whose.user, NoArguments {})?;
    // `stats` does not count the earlier versions, which are kept too.
    let live = output::call::<Stats>(context, &whose.user, NoArguments {})?.live;
    let versions = if report.records > live {
        format!(" ({} with their earlier versions)", report.records)
    } else {
        String::new()
    };
    let line = format!(
        "{}{versions} kept, {} of forgotten data removed: {} became {}",
        format_count(live, "memory"),
        format_count(report.forgotten, "version"),
        format_size(report.bytes_before),
        format_size(report.bytes_after)
    );
    output::line(context, &report, line)
}

/// Computes the missing embeddings of the model in use, with progress.
pub(super) fn reembed(context: &Context, whose: &WhoseArguments) -> anyhow::Result<Exit> {
    let done = embed_until_done(&Session::open(context, &whose.user, Reembed::SPEC.effect)?)?;
    output::print(context, &done, |out| {
        let space = done.space.as_deref().unwrap_or("no space yet");
        let (user, embedded, waiting) = (&whose.user, done.embedded, done.waiting);
        writeln!(
            out,
            "{user}: {embedded} memories have an embedding of {space}, {waiting} wait for one"
        )?;
        for other in &done.other_spaces {
            writeln!(out, "  {} have theirs in {}", other.records, other.space)?;
        }
        Ok(())
    })?;
    let is_done = done.waiting == 0 && done.other_spaces.is_empty();
    if !is_done {
        note("some have no embedding yet; `reprise doctor` shows whether the model is installed");
    }
    Ok(output::exit(is_done))
}

/// Repeats the operation until no embedding is missing or none can be computed.
fn embed_until_done(session: &Session) -> anyhow::Result<Reembedded> {
    let mut line = ProgressLine::start();
    loop {
        let done = session.call::<Reembed>(NoArguments {})?;
        let total = done.embedded + done.waiting;
        line.draw_count(done.embedded.into(), total.into());
        if !done.goes_on {
            return Ok(done);
        }
    }
}

/// Prints the segments of a file.
pub(super) fn inspect(context: &Context, arguments: &InspectArguments) -> anyhow::Result<Exit> {
    let path = match &arguments.file {
        Some(file) => std::path::absolute(file)?,
        None => context.places.memory_file_of(&arguments.whose.user),
    };
    let segments = reprise_store::list_segments(&RealDisk, &path)?;
    let row = |one: &&SegmentInfo| {
        json!({ "offset": one.offset, "type": one.name, "bytes": one.bytes, "holds": one.holds,
            "hash_ok": one.whole })
    };
    output::rows(context, &segments, row, |one| {
        let mark = if one.whole { "" } else { "  DAMAGED" };
        let (offset, bytes, name, holds) = (one.offset, one.bytes, one.name, &one.holds);
        format!("{offset:>12} {bytes:>12} B  {name:<12} {holds}{mark}")
    })?;
    Ok(output::exit(segments.iter().all(|segment| segment.whole)))
}

/// Runs `reprise stats`: prints the counts of a memory.
pub(super) fn stats(context: &Context, arguments: &WhoseArguments) -> anyhow::Result<Exit> {
    let stats = output::call::<Stats>(context, &arguments.user, NoArguments {})?;
    let asked = PromptsArguments {
        limit: Some(PROMPTS_MAX),
        ..PromptsArguments::default()
    };
    let newest = output::call::<Prompts>(context, &arguments.user, asked);
    let newest = newest.map(|page| page.prompts).unwrap_or_default();
    let today = TodayReport::of(&newest);
    let pauses = output::call::<Pauses>(context, &arguments.user, NoArguments {})?;
    let mut row = serde_json::to_value(&stats)?;
    row["today"] = json!(today);
    row["pauses"] = json!(pauses.pauses);
    output::print(context, &row, |out| {
        let title = format!("memories of {}", arguments.user);
        writeln!(out, "{}", terminal::title(title))?;
        let mut rows = stats_rows(context, &stats);
        rows.push(("today", today.summary()));
        if !pauses.pauses.is_empty() {
            rows.push(("paused", Pauses::render_text(&pauses).into_owned()));
        }
        for (name, fact) in rows {
            output::write_fact(out, name, &fact)?;
        }
        Ok(())
    })
}

/// What memory did for the prompts of today.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct TodayReport {
    prompts: usize,
    /// Prompts that received memories.
    with_memory: usize,
    /// Estimated tokens that prompts received, and that beginnings of sessions did.
    tokens: usize,
    opening_tokens: usize,
    /// Prompts whose work used what they received, and went well.
    helped: usize,
    /// Why the other prompts received nothing, and how many did.
    missed: BTreeMap<&'static str, usize>,
}

impl TodayReport {
    /// Counts the prompts of today, which are the newest.
    fn of(newest: &[Prompt]) -> Self {
        let calendar = calendar();
        let today = calendar.day_of(calendar.now);
        let mut report = Self::default();
        for prompt in newest {
            if calendar.day_of(prompt.at) == today {
                report.add(prompt);
            }
        }
        report
    }

    fn add(&mut self, prompt: &Prompt) {
        self.prompts += 1;
        self.tokens += prompt.tokens;
        self.opening_tokens += prompt.opening_tokens;
        let is_helped = prompt.result_with_memory() == Some(PromptResult::Helped);
        self.helped += usize::from(is_helped);
        if prompt.received_memories() {
            self.with_memory += 1;
            return;
        }
        if let Some(reason) = prompt.find_nothing_added_reason() {
            *self.missed.entry(describe_nothing(reason)).or_default() += 1;
        }
    }

    fn summary(&self) -> String {
        let tokens = if self.tokens > 0 {
            format!(" ({})", format_count(self.tokens, "token"))
        } else {
            String::new()
        };
        let mut parts = vec![
            format_count(self.prompts, "prompt"),
            format!("{} got memories{tokens}", self.with_memory),
            format!("{} helped", self.helped),
        ];
        if self.opening_tokens > 0 {
            let tokens = format_count(self.opening_tokens, "token");
            parts.push(format!("sessions began with {tokens} of memories"));
        }
        for (why, count) in &self.missed {
            parts.push(format!("{count} got none: {why}"));
        }
        parts.join(", ")
    }
}

/// Says why a prompt received nothing.
const fn describe_nothing(reason: NothingAddedReason) -> &'static str {
    match reason {
        NothingAddedReason::Unanswered(UnansweredReason::Late) => "memory was late",
        NothingAddedReason::Unanswered(UnansweredReason::NoTokensLeft) => {
            "the tokens of the day were used up"
        }
        NothingAddedReason::NotAsked => "memory was not asked, for it came in later",
        NothingAddedReason::NothingFound => "nothing was found",
        NothingAddedReason::LeftOut(LeftOutReason::Weak) => "nothing was likely to help",
        NothingAddedReason::LeftOut(LeftOutReason::OtherProject) => "it belongs to another project",
        NothingAddedReason::LeftOut(LeftOutReason::SameSession) => "the session itself had said it",
        NothingAddedReason::LeftOut(LeftOutReason::Seen) => "the session had received it",
        NothingAddedReason::LeftOut(LeftOutReason::NoRoom) => "there was no room",
    }
}

fn stats_rows(context: &Context, stats: &EngineStats) -> Vec<(&'static str, String)> {
    let (live, sessions) = (stats.live, format_count(stats.sessions, "session"));
    let (words, answered) = (stats.words_mean, 100.0 * stats.dialogue);
    let last = stats.last_ingest.map_or("never".to_owned(), |at| {
        let calendar = calendar();
        format!(
            "{} ({})",
            calendar.format_to_minute(at),
            calendar.format_relative(at)
        )
    });
    let (forgotten, superseded) = (stats.forgotten, stats.superseded);
    let space = stats.space.as_deref().unwrap_or("no vectors yet");
    let waiting = format_count(stats.unembedded, "memory");
    let mut length = format!("{words:.0} words on average");
    if answered >= 1.0 {
        length = format!("{length}; {answered:.0} % are part of a dialogue");
    }
    let mut facts = vec![
        ("memories", format!("{live} in {sessions}")),
        ("length", length),
        ("last saved", last),
        (
            "forgotten",
            format!("{forgotten}; earlier versions: {superseded}"),
        ),
        (
            "embedding",
            format!("{space}; {waiting} without an embedding yet"),
        ),
        ("vectors", describe_vectors(stats)),
    ];
    let proposal = stats.proposal.clone();
    let proposal = proposal.filter(|_| context.config.proposes_models());
    facts.extend(proposal.map(|proposal| ("language", proposal)));
    if let Some(percent) = stats.re_embedded_percent() {
        let left = stats.other_spaces.iter();
        let left = left.map(|other| format!("{} of {}", other.records, other.space));
        let left = left.collect::<Vec<_>>().join(", ");
        facts.push(("re-embedding", format!("{percent} % done, still {left}")));
    }
    let (file, commits) = (
        format_size(stats.file_bytes),
        format_count(stats.commits, "commit"),
    );
    let index = format_size(stats.index_bytes as u64);
    facts.extend([
        ("file", format!("{file} in {commits}")),
        ("free space", describe_compaction(stats)),
        ("index", format!("{index} in RAM")),
    ]);
    facts
}

/// Says which store answers for vectors.
fn describe_vectors(stats: &EngineStats) -> String {
    match stats.vector_store.as_str() {
        // A daemon of an earlier version says nothing.
        "" | "log" => "in the memory's own file".to_owned(),
        other => format!("asked of {other}, in a file of its own"),
    }
}

/// Describes how much of the file a compaction would free, and who starts it.
fn describe_compaction(stats: &EngineStats) -> String {
    let percent = stats.reclaimable_bytes * 100 / stats.file_bytes.max(1);
    if percent == 0 {
        return "nothing to free".to_owned();
    }
    let bytes = format_size(stats.reclaimable_bytes);
    let next = if stats.compaction_due {
        "a daemon does it while it is idle, `reprise doctor compact` at once"
    } else {
        "`reprise doctor compact` does it"
    };
    format!("{percent} % of the file ({bytes}) can be freed; {next}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_that_received_nothing_is_counted_by_the_reason() {
        let id = "01M8P2B4KVCYKA0YM7HG4XQY7B";
        let given = |left_out: &[(&str, f32)]| {
            let found: Vec<Value> = left_out
                .iter()
                .map(|(why, score)| json!({ "id": id, "score": score, "left_out": why }))
                .collect();
            json!({ "recall_id": id, "verdict": "nothing", "found": found })
        };
        let mut report = TodayReport::default();
        for (given, unanswered, tokens) in [
            (Value::Null, json!("late"), 0),
            (Value::Null, json!("no_tokens_left"), 0),
            (Value::Null, Value::Null, 0),
            (given(&[]), Value::Null, 0),
            (given(&[("weak", 0.6)]), Value::Null, 0),
            (given(&[("seen", 0.02)]), Value::Null, 0),
            (given(&[("seen", 0.8), ("weak", 0.1)]), Value::Null, 0),
            (given(&[("weak", 0.1)]), Value::Null, 40),
            // What others published came, though the user's own memory was late.
            (Value::Null, json!("late"), 20),
        ] {
            let prompt = json!({
                "id": id, "at": "2026-11-28T10:00:00Z", "text": "why", "session": "s", "tags": [],
                "given": given, "unanswered": unanswered, "tokens": tokens,
            });
            report.add(&serde_json::from_value(prompt).expect("a prompt"));
        }
        assert_eq!((report.prompts, report.with_memory), (9, 2));
        assert_eq!(report.tokens, 60);
        let missed = [
            ("memory was late", 1),
            ("memory was not asked, for it came in later", 1),
            ("nothing was found", 1),
            ("nothing was likely to help", 2),
            ("the session had received it", 1),
            ("the tokens of the day were used up", 1),
        ];
        assert_eq!(report.missed, BTreeMap::from(missed));
    }

    #[test]
    fn what_a_session_began_with_is_not_what_its_prompts_got() {
        let mut report = TodayReport::default();
        let prompt = json!({
            "id": "01M8P2B4KVCYKA0YM7HG4XQY7B", "at": "2026-11-28T10:00:00Z", "text": "why",
            "session": "s", "tags": [], "given": null, "unanswered": "late", "opening_tokens": 86,
        });
        report.add(&serde_json::from_value(prompt).expect("a prompt"));
        assert_eq!(
            report.summary(),
            "1 prompt, 0 got memories, 0 helped, sessions began with 86 tokens of memories, \
             1 got none: memory was late"
        );
    }
}
