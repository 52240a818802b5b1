//! What a session begins with: what is open in its project, how the last session there ended and
//! what it left to do, and the decisions and lessons that hold. Put together from sentences that
//! were kept; no prompt, no question and no thanks is among them.

mod holding;
mod unfinished;

use reprise_engine::estimate_tokens;
use reprise_knowledge::{CommandRun, RunScope, says_something};

use holding::Holding;
pub(in crate::operations) use holding::{is_rule, list_rules};
use unfinished::LaterWork;

use super::ending::{find_done_sentence, find_left_sentence, split_sentences};
use super::kept_prompts::SeenMemories;
use super::notes::FrozenOpening;
use super::{RULE, WHOLE, frame_nonce, project_tag, render_injected};
use crate::operations::sessions::prompts::{InjectedBlock, TextExcerpt};
use crate::operations::sessions::{HookAnswer, HookReport};
use crate::prelude::*;

/// The project's newest records that are looked through for what was done.
const LOOKED_AT: usize = 200;
/// Lines of a session's beginning where it has few rules, and those besides its rules at least.
const LINES_MAX: usize = 6;
const OTHERS_MIN: usize = 4;
/// Lines at most, of what is open where the others fill the rest, of the last session, and of what
/// is left to do.
const OPEN_MAX: usize = 2;
const LAST_MAX: usize = 3;
const LEFT_MAX: usize = 2;
/// Lines of what was decided that nothing else takes the room of.
const DECIDED_KEPT: usize = 2;

/// What a line is to a session that begins or goes on.
const OPEN: &str = "Open: ";
const THIS: &str = "This session: ";
const LAST: &str = "Last session: ";
/// What the last session left to do.
const LEFT: &str = "Left: ";
/// What something newer contradicts.
const WAS: &str = "Was: ";

/// What a record is to a session that begins.
#[derive(Debug, PartialEq, Eq)]
enum OpeningRole<'r> {
    /// A command that failed, or passed.
    Ran(CommandRun<'r>),
    /// What was committed.
    Changed,
    /// Which files were edited.
    Edited,
    /// What an agent said at the end, as far as it says what was done or is left to do.
    Answer {
        done: Option<&'r str>,
        left: Option<&'r str>,
    },
    /// A note of somebody's own.
    Note,
    Nothing,
}

impl<'r> OpeningRole<'r> {
    fn of(record: &'r MemoryRecord) -> Self {
        let text = record.text.as_str();
        match record.record_type() {
            RecordType::Commit => Self::Changed,
            RecordType::Document => Self::Edited,
            RecordType::Test | RecordType::Command => {
                CommandRun::parse(text).map_or(Self::Nothing, Self::Ran)
            }
            RecordType::Answer => match (find_done_sentence(text), find_left_sentence(text)) {
                (None, None) => Self::Nothing,
                (done, left) => Self::Answer {
                    done: done.filter(|done| left.is_none_or(|left| !left.contains(*done))),
                    left,
                },
            },
            RecordType::Note if is_plain(record) && says_something(text) => Self::Note,
            _ => Self::Nothing,
        }
    }
}

/// Whether somebody wrote the note by hand; notes read from files are still in those files.
fn is_plain(record: &MemoryRecord) -> bool {
    let is_own = record.session_id.is_empty() && record.source == MemorySource::UserInput;
    record.details.is_none() && (record.kind != MemoryKind::Episode || is_own)
}

/// A text from its first sentence on that says something: no thanks, no greeting.
fn skip_greeting(text: &str) -> &str {
    let first = split_sentences(text).find(|sentence| says_something(sentence));
    let at = first.and_then(|first| text.find(first));
    text.get(at.unwrap_or(0)..).unwrap_or(text)
}

impl Memory {
    /// What a session in a project begins with, or goes on with; in a conversation that is about to
    /// be shortened it will not `stay`.
    pub(super) async fn build_opening(
        &self,
        session: &str,
        project: &str,
        stay: bool,
    ) -> Result<HookAnswer, Problem> {
        if !self.has_tokens_left().await? {
            return Ok(HookAnswer::default());
        }
        if stay && let Some(frozen) = self.find_frozen_opening(session, project).await? {
            let repeated = frozen.block.map(|block| InjectedBlock {
                at: self.now(),
                ..block
            });
            self.run_on_session(session, |session| {
                session.note_seen(&frozen.shown);
                session.opening = repeated;
            });
            self.count_tokens(estimate_tokens(frozen.answer.context.len()));
            return Ok(frozen.answer);
        }
        let (mut found, left_out) = self.list_opening_lines(session, project).await?;
        let listed = found.len();
        if stay && !session.is_empty() {
            // The conversation goes on, and has these.
            let seen = self.find_seen(session).await?;
            found.retain(|line| !seen.contains(&line.view.id));
        }
        let is_whole = found.len() == listed;
        let (shown, excerpts) = note_parts(&found);
        let found: Vec<HitView> = found.into_iter().map(|line| line.view).collect();
        let head = render_head(&found);
        let parts = [(head.as_str(), WHOLE, found)];
        let nonce = frame_nonce(session, &parts);
        let more = render_left_out(left_out.len());
        let (answer, mut block) = render_injected(&parts, &more, nonce, self.now());
        if let Some(block) = &mut block {
            note_excerpts(block, &excerpts);
        }
        self.count_tokens(block.as_ref().map_or(0, |block| block.tokens));
        if stay {
            let frozen = FrozenOpening {
                project: project.to_owned(),
                answer: answer.clone(),
                block: block.clone(),
                shown,
            };
            let is_named = !session.is_empty();
            self.run_on_session(session, |session| {
                session.owes_opening = false;
                if !is_named {
                    session.forget_seen();
                }
                session.note_seen(&frozen.shown);
                session.opening = block;
                session.frozen = is_whole.then_some(frozen);
                session.left_out_rules = left_out.into_iter().collect();
            });
        }
        Ok(answer)
    }

    /// Builds what a session begins with for its next prompt, if its program did not receive it.
    pub(super) async fn build_owed_opening(
        &self,
        report: &HookReport,
    ) -> Result<OwedOpening, Problem> {
        let session = report.session.as_str();
        if !self.run_on_session(session, |session| session.owes_opening) {
            return Ok(OwedOpening::default());
        }
        let (mut found, left_out) = self.list_opening_lines(session, &report.project).await?;
        let seen = self.find_seen(session).await?;
        found.retain(|line| !seen.contains(&line.view.id));
        let (shown, excerpts) = note_parts(&found);
        let lines: Vec<HitView> = found.into_iter().map(|line| line.view).collect();
        let more = render_left_out(left_out.len());
        self.run_on_session(session, |session| {
            session.owes_opening = false;
            session.left_out_rules = left_out.into_iter().collect();
        });
        Ok(OwedOpening {
            head: render_head(&lines),
            more,
            lines,
            shown,
            excerpts,
        })
    }

    /// Finds the text that the session began with, if it began in this project and none of the
    /// text's memories was corrected or forgotten since.
    async fn find_frozen_opening(
        &self,
        session: &str,
        project: &str,
    ) -> Result<Option<FrozenOpening>, Problem> {
        let frozen = self.run_on_session(session, |session| session.frozen.clone());
        // Programs that name no session share one entry.
        let same = |frozen: &FrozenOpening| !session.is_empty() && frozen.project == project;
        let Some(frozen) = frozen
            .filter(same)
            .filter(|frozen| frozen.shown.count() > 0)
        else {
            return Ok(None);
        };
        self.run_on_snapshot(move |memory| {
            let mut shown = frozen.shown.whole.union(&frozen.shown.in_part);
            let holds = shown.all(|id| memory.is_live(*id));
            holds.then_some(frozen)
        })
        .await
    }

    async fn list_opening_lines(
        &self,
        session: &str,
        project: &str,
    ) -> Result<(Vec<OpeningLine>, Vec<RecordId>), Problem> {
        if project_tag(project).is_none() || !self.exists() {
            return Ok(<_>::default());
        }
        let (session, here) = (session.to_owned(), project.to_owned());
        let calendar = self.calendar();
        self.run_on_snapshot(move |memory| list_project_lines(memory, &session, &here, &calendar))
            .await
    }
}

/// The parts of memories' texts that lines have, each by the memory and the line's mark: an answer
/// may have a line of what was done, and one of what is left.
#[derive(Debug, Default)]
pub(super) struct LineExcerpts(Vec<((RecordId, &'static str), TextExcerpt)>);

/// What a session begins with, for a prompt of it.
#[derive(Debug, Default)]
pub(super) struct OwedOpening {
    pub(super) head: String,
    /// Its last line: how many rules it leaves out.
    pub(super) more: String,
    pub(super) lines: Vec<HitView>,
    /// The memories that it shows.
    pub(super) shown: SeenMemories,
    /// The parts of their texts that it has.
    pub(super) excerpts: LineExcerpts,
}

/// A line that a session begins with.
#[derive(Debug, Clone)]
struct OpeningLine {
    view: HitView,
    /// The part of the memory's text that the line has, where it has not all of it.
    excerpt: Option<TextExcerpt>,
    /// Whether the line has all that the memory says.
    is_whole: bool,
}

impl OpeningLine {
    /// Creates the line of a memory, and of what contradicts it, with a part of its text.
    fn new(
        (record, newer): (&MemoryRecord, Option<&MemoryRecord>),
        mark: &'static str,
        text: &str,
        calendar: &Calendar,
    ) -> Self {
        let caption = RecordCaption::of(record, newer.map(|newer| newer.id))
            .with_held_until(newer.map(|newer| newer.timestamp))
            .to_words_in_project(calendar);
        let excerpt = TextExcerpt::find_part(&record.text, text);
        let is_over = newer.is_some() && mark.is_empty();
        Self {
            is_whole: excerpt.is_none_or(|part| part.says_it_all(&record.text)),
            excerpt,
            view: HitView {
                mark: if is_over { WAS } else { mark },
                ..HitView::new(record.id, record.timestamp, caption, text.to_owned())
            },
        }
    }
}

/// Returns which memories the lines have as a whole and which in part, and the parts.
fn note_parts(lines: &[OpeningLine]) -> (SeenMemories, LineExcerpts) {
    let (whole, in_part): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line.is_whole);
    let list_ids = |lines: Vec<&OpeningLine>| lines.iter().map(|line| line.view.id).collect();
    let seen = SeenMemories {
        whole: list_ids(whole),
        in_part: list_ids(in_part),
    };
    let excerpts = lines
        .iter()
        .filter_map(|line| Some(((line.view.id, line.view.mark), line.excerpt?)));
    (seen, LineExcerpts(excerpts.collect()))
}

/// Notes in a block which parts of the memories' texts its lines have.
pub(super) fn note_excerpts(block: &mut InjectedBlock, excerpts: &LineExcerpts) {
    for line in block.parts.iter_mut().flat_map(|part| &mut part.lines) {
        let mut of_line = excerpts.0.iter();
        let of_line = of_line.find(|((id, mark), _)| *id == line.id && line.label.contains(mark));
        line.excerpt = of_line.map(|(_, excerpt)| *excerpt);
    }
}

/// The runs of a project's commands, read from the newest on.
#[derive(Debug, Default)]
struct LaterRuns {
    passed: Vec<RunScope>,
    failed: Vec<RunScope>,
}

impl LaterRuns {
    /// Takes the next older run, and returns whether it is a failure that no later run ended and
    /// that no later failure repeats.
    fn leaves_open(&mut self, ran: CommandRun<'_>, project: &str) -> bool {
        let scope = RunScope::parse(ran.command, project);
        if ran.passed {
            self.passed.push(scope);
            return false;
        }
        let is_over = self.passed.iter().any(|later| later.covers(&scope));
        let is_same = |later: &RunScope| later.covers(&scope) && scope.covers(later);
        let is_repeated = self.failed.iter().any(is_same);
        self.failed.push(scope);
        !is_over && !is_repeated
    }
}

/// Returns whether one of the project's failures is open that a run of a command would end.
pub(super) fn ends_open_failure(
    memory: &Snapshot,
    project: &str,
    command: &str,
    calendar: &Calendar,
) -> bool {
    let kinds = vec![RecordType::Test, RecordType::Command];
    let records = list_newest(memory, project, Some(kinds), LOOKED_AT, calendar);
    let (mut runs, scope) = (LaterRuns::default(), RunScope::parse(command, project));
    records
        .iter()
        .filter_map(|record| CommandRun::parse(&record.text))
        .any(|ran| {
            runs.leaves_open(ran, project) && scope.covers(&RunScope::parse(ran.command, project))
        })
}

/// Returns the first line: what follows, in numbers.
fn render_head(lines: &[HitView]) -> String {
    let count =
        |is_one: &dyn Fn(&HitView) -> bool| lines.iter().filter(|line| is_one(line)).count();
    let open = count(&|line| line.mark == OPEN);
    let last = count(&|line| [LAST, THIS, LEFT].contains(&line.mark));
    let is_of = |line: &HitView, name: &str| {
        ["", WAS].contains(&line.mark) && line.caption.starts_with(name)
    };
    let decisions = count(&|line| is_of(line, "decision"));
    let lessons = count(&|line| is_of(line, "lesson"));
    let rules = count(&|line| line.mark == RULE);
    let others = lines.len() - open - last - rules - decisions - lessons;
    let parts = [
        (rules, "rule"),
        (decisions, "decision"),
        (lessons, "lesson"),
        (others, "note"),
        (open, "open failure"),
    ];
    let mut parts: Vec<String> = parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format_count(count, what))
        .collect();
    if last > 0 {
        parts.push("what the last session did".to_owned());
    }
    format!("Reprise: {}; ", parts.join(", "))
}

/// Returns the last line: how many rules there are for which there is no room.
fn render_left_out(count: usize) -> String {
    match count {
        0 => String::new(),
        count => {
            let more = format_count(count, "more rule");
            format!("{more}: `reprise list --rules`")
        }
    }
}

/// A project's live records of these types, the newest first.
fn list_newest(
    memory: &Snapshot,
    project: &str,
    types: Option<Vec<RecordType>>,
    limit: usize,
    calendar: &Calendar,
) -> Vec<MemoryRecord> {
    let listed = memory.list(&ListRequest {
        filter: MemoryFilter {
            types,
            project: Some(project.to_owned()),
            until: Some(calendar.now),
            ..MemoryFilter::default()
        },
        limit,
        after: None,
    });
    let records = listed.records.into_iter();
    let stays = |record: &MemoryRecord| !record.is_sensitive() && !record.is_expired(calendar.now);
    records.filter(stays).collect()
}

/// A memory that says how the work in a project was left.
#[derive(Debug, Clone)]
pub(in crate::operations) struct WorkPart {
    pub(in crate::operations) id: RecordId,
    /// The part of its text that says so.
    pub(in crate::operations) text: String,
    /// Whether it is left to do, or is open; else it is what the last session did.
    pub(in crate::operations) is_open: bool,
}

/// Lists what the last session of a project left to do, what is open there, and then what that
/// session did.
pub(in crate::operations) fn list_work(
    memory: &Snapshot,
    project: &str,
    calendar: &Calendar,
) -> Vec<WorkPart> {
    let turns = [LEFT, OPEN, LAST];
    let turn_of = |line: &OpeningLine| turns.iter().position(|mark| *mark == line.view.mark);
    let (mut lines, _) = list_project_lines(memory, "", project, calendar);
    lines.retain(|line| turn_of(line).is_some());
    lines.sort_by_key(turn_of);
    let work = lines.into_iter().map(|line| WorkPart {
        id: line.view.id,
        is_open: line.view.mark != LAST,
        text: line.view.text,
    });
    work.collect()
}

/// The lines of a project for a session that begins or goes on in it, and the rules that they have
/// no room for.
fn list_project_lines(
    memory: &Snapshot,
    session: &str,
    project: &str,
    calendar: &Calendar,
) -> (Vec<OpeningLine>, Vec<RecordId>) {
    let records = list_newest(memory, project, None, LOOKED_AT, calendar);
    let over = memory.list_contradicted();
    let holding = Holding::read(memory, project, &over, calendar);
    let newer = |record: &MemoryRecord| memory.get(*over.get(&record.id)?)?.ok();
    let line = |record: &MemoryRecord, mark, text: &str| {
        OpeningLine::new((record, newer(record).as_ref()), mark, text, calendar)
    };
    // One that has just begun, or was broken off, has only asked.
    let parts: Vec<_> = records
        .iter()
        .map(|one| (one, OpeningRole::of(one)))
        .collect();
    let last = parts.iter().find(|(record, part)| {
        !record.session_id.is_empty()
            && matches!(
                part,
                OpeningRole::Changed | OpeningRole::Edited | OpeningRole::Answer { .. }
            )
    });
    let last = last.map(|(record, _)| &record.session_id);
    let head = if last.is_some_and(|last| last == session) {
        THIS
    } else {
        LAST
    };
    let (mut open, mut ended, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    let (mut edited, mut to_do) = (Vec::new(), Vec::new());
    let (mut runs, mut later, mut answered) = (LaterRuns::default(), LaterWork::default(), false);
    for (record, part) in parts {
        let is_last = last.is_some_and(|last| *last == record.session_id);
        match part {
            OpeningRole::Ran(ran) if runs.leaves_open(ran, project) => {
                open.push(line(record, OPEN, &record.text));
            }
            OpeningRole::Changed => {
                later.add(&record.text);
                if is_last {
                    ended.push(line(record, head, &record.text));
                }
            }
            OpeningRole::Edited if is_last => edited.push(line(record, head, &record.text)),
            OpeningRole::Answer { done, left } => {
                let left = left.filter(|left| later.leaves_open(left));
                if is_last && !answered {
                    answered = true;
                    ended.extend(done.map(|done| line(record, head, done)));
                }
                to_do.extend(left.map(|left| line(record, LEFT, left)));
                later.add(&record.text);
            }
            OpeningRole::Note => notes.push(line(record, "", skip_greeting(&record.text))),
            _ => {}
        }
    }
    let rules = holding.rules.iter();
    let rules = rules.map(|rule| line(rule, RULE, skip_greeting(&rule.text)));
    let held = holding.decided.iter().chain(&holding.lessons);
    let held = held.map(|record| line(record, "", skip_greeting(&record.text)));
    let parts = OpeningParts {
        rules: rules.collect(),
        open,
        ended,
        to_do,
        edited,
        decided: holding.decided.len(),
        held: held.collect(),
        notes,
    };
    (parts.arrange(), holding.left_out)
}

/// The lines that a session may begin with, by what they are, each the newest first.
struct OpeningParts {
    rules: Vec<OpeningLine>,
    open: Vec<OpeningLine>,
    ended: Vec<OpeningLine>,
    to_do: Vec<OpeningLine>,
    edited: Vec<OpeningLine>,
    /// How many of those that hold were decided.
    decided: usize,
    /// What was decided, and other lessons.
    held: Vec<OpeningLine>,
    notes: Vec<OpeningLine>,
}

impl OpeningParts {
    /// Returns the lines for which there is room, in order: all rules, and some of the others.
    fn arrange(mut self) -> Vec<OpeningLine> {
        self.to_do.truncate(LEFT_MAX);
        // What is left says more than which files it is in, and so does what holds.
        if !self.to_do.is_empty() {
            self.edited.clear();
        }
        let most = LAST_MAX.saturating_sub(self.to_do.len());
        self.ended.truncate(most);
        self.ended.extend(self.to_do);
        let told = self.ended.len();
        self.edited.truncate(LAST_MAX.saturating_sub(told));
        let mut lines = self.rules;
        let most = LINES_MAX.saturating_sub(lines.len()).max(OTHERS_MIN);
        let mut seen = BTreeSet::new();
        let others = self.ended.into_iter().chain(self.held);
        let others = others.chain(self.notes).chain(self.edited);
        let others = others.filter(|line| seen.insert(line.view.text.to_lowercase()));
        let others: Vec<OpeningLine> = others.take(most).collect();
        // All that is open is told where the others leave room.
        let room = most.saturating_sub(told + self.decided.min(DECIDED_KEPT));
        let room = OPEN_MAX.min(room).max(most.saturating_sub(others.len()));
        self.open.truncate(room);
        lines.extend(self.open.into_iter().chain(others).take(most));
        lines
    }
}
