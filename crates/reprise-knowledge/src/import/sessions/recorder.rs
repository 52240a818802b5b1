//! Converts a session to records: one for each message of a person or the agent, for each test,
//! commit or failed build, and for the files that a turn changed. They equal the records that the
//! hooks keep, so that those are not imported again.

use reprise_types::RecordType;

use super::super::ImportKind;
use super::copies::CopiedRows;
use super::forms::{LineRule, ParsedBlock, SessionFormat, Speaker, parse_block};
use super::turn::SessionTurn;
use crate::command_exit::{
    CommandExit, CommandPurpose, CommandRun, RunScope, classify_command, extract_commit_line,
    extract_failure_lines, hook_request_key,
};
use crate::own_words::{extract_own_words, says_enough, strip_insertions};
use crate::prelude::*;
use crate::project::{Project, name_plain_folder};

/// Longest text that a hook keeps; a longer one is recognised by its beginning.
const HOOK_BYTES_MAX: usize = 8 * 1024;
/// Most calls without a result that are remembered, and most runs of commands.
const OPEN_COMMANDS_MAX: usize = 1_000;
const RUNS_MAX: usize = 10_000;

/// State that the sessions of one source share.
pub(super) struct SessionSource {
    pub(super) kind: ImportKind,
    pub(super) form: &'static SessionFormat,
    /// Tag of the project of each working folder.
    pub(super) projects: BTreeMap<String, Option<String>>,
    /// The rows that were read, so that copies of them in a fork are recognised.
    pub(super) copied: CopiedRows,
}

/// Converts one session, line by line.
pub(super) struct SessionRecorder<'a> {
    pub(super) source: &'a mut SessionSource,
    pub(super) session: String,
    cwd: Option<String>,
    at: Option<DateTime<Utc>>,
    /// Commands without a result yet, by the id of their call.
    open_commands: HashMap<String, String>,
    /// How commands ended, in their order; of one that ends as before the first time.
    runs: Vec<String>,
    /// Files changed since the last prompt.
    edited: BTreeSet<String>,
    turn: String,
    /// The agent's unfinished message, which may have several lines: its id, place and record.
    open_answer: Option<(String, String, NewRecord)>,
}

impl SessionSource {
    fn project_tag(&mut self, cwd: &str) -> Option<String> {
        let tag = || {
            let folder = Path::new(cwd);
            if let Some(project) = Project::of(folder) {
                return Some(project.tag());
            }
            let name = name_plain_folder(folder)?;
            normalize_tag(&["project:", &name].concat())
        };
        let known = self.projects.entry(cwd.to_owned());
        known.or_insert_with(tag).clone()
    }
}

impl<'a> SessionRecorder<'a> {
    pub(super) fn new(source: &'a mut SessionSource, session: &str) -> Self {
        Self {
            source,
            session: session.to_owned(),
            cwd: None,
            at: None,
            open_commands: HashMap::new(),
            runs: Vec::new(),
            edited: BTreeSet::new(),
            turn: String::new(),
            open_answer: None,
        }
    }

    pub(super) fn set_folder(&mut self, cwd: &str) {
        self.cwd = Some(cwd.to_owned());
    }

    /// Takes the time of a file whose lines have none.
    pub(super) fn set_time_of_file(&mut self, file: &Path) {
        let changed = fs_err::metadata(file).and_then(|metadata| metadata.modified());
        self.at = changed.ok().map(Into::into);
    }

    /// Adds one line of the session, of any type.
    pub(super) fn add_line(
        &mut self,
        sink: &mut ItemSink<'_>,
        place: &str,
        value: &Value,
    ) -> Result<(), ImportError> {
        let form = self.source.form;
        let at = |places: &[&str]| {
            let mut found = places.iter().filter_map(|place| value.pointer(place));
            found.find(|found| !found.is_null()).cloned()
        };
        if let Some(Value::String(cwd)) = at(form.cwd) {
            self.cwd = Some(cwd);
        }
        let time = at(form.at).and_then(|time| sink.zone().parse_json_time(&time));
        self.at = time.or(self.at);
        let Some(line) = form.find_rule(value) else {
            return Ok(());
        };
        let id = value.pointer(line.id).and_then(Value::as_str);
        let id = id.map_or_else(|| place.to_owned(), str::to_owned);
        let mut words = Vec::new();
        let blocks = line.blocks.iter().filter_map(|place| value.pointer(place));
        for block in blocks {
            let list = match block {
                Value::Array(list) => list.as_slice(),
                one => std::slice::from_ref(one),
            };
            for block in list {
                let parsed = parse_block(block);
                words.extend(parsed.words.clone());
                self.add_tool_use(sink, place, &id, parsed)?;
            }
        }
        if words.is_empty() && !line.fallback.is_empty() {
            words.extend(
                value
                    .pointer(line.fallback)
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            );
        }
        self.add_words(sink, place, line, &id, &words.join("\n\n"))
    }

    fn add_words(
        &mut self,
        sink: &mut ItemSink<'_>,
        place: &str,
        line: &LineRule,
        id: &str,
        words: &str,
    ) -> Result<(), ImportError> {
        let words = match line.speaker {
            Speaker::Person => extract_own_words(words),
            _ => Some(strip_insertions(words)),
        };
        // In a chat people tell little things, too.
        let counts = |words: &String| {
            if self.source.kind.is_of_agents() {
                SessionTurn::is_worth_keeping(words)
            } else {
                says_enough(words)
            }
        };
        let Some(words) = words.filter(counts) else {
            return Ok(());
        };
        match line.speaker {
            Speaker::Tool => Ok(()),
            Speaker::Person => {
                self.emit_pending(sink)?;
                id.clone_into(&mut self.turn);
                let mut prompt = self.new_record(words, RecordType::Prompt, id);
                if !self.source.kind.is_of_agents() {
                    prompt.details = None;
                }
                prompt.metadata.insert("role".to_owned(), json!("user"));
                sink.emit_record(place, prompt)
            }
            Speaker::Agent => {
                if let Some((of, _, record)) = &mut self.open_answer
                    && of.as_str() == id
                {
                    record.text.push_str(&["\n\n", &words].concat());
                    return Ok(());
                }
                self.emit_answer(sink)?;
                let record = self.new_record(words, RecordType::Answer, id);
                self.open_answer = Some((id.to_owned(), place.to_owned(), record));
                Ok(())
            }
        }
    }

    fn add_tool_use(
        &mut self,
        sink: &mut ItemSink<'_>,
        place: &str,
        id: &str,
        parsed: ParsedBlock,
    ) -> Result<(), ImportError> {
        let room = LIST_ITEMS_MAX.saturating_sub(self.edited.len());
        self.edited.extend(parsed.edited.into_iter().take(room));
        let Some(call) = parsed.call else {
            return Ok(());
        };
        if let Some(command) = parsed.command
            && self.open_commands.len() < OPEN_COMMANDS_MAX
        {
            self.open_commands.insert(call.clone(), command);
        }
        let Some(ended) = parsed.ended else {
            return Ok(());
        };
        let command = self.open_commands.remove(&call);
        let description = command.and_then(|command| self.describe_command_end(&command, &ended));
        let Some((text, what)) = description else {
            return Ok(());
        };
        self.emit_answer(sink)?;
        let times = self.count_times_run(&text);
        let mut record = self.new_record(text, what, &[id, call.as_str()].join("/"));
        if times > 1 {
            record.external_ids.pop();
            self.add_hook_id(&mut record, times);
        }
        sink.emit_record(place, record)
    }

    /// Describes the end of a command; `None` if it is not worth keeping. A build that passes is if
    /// it ends a failure of the session.
    fn describe_command_end(
        &self,
        command: &str,
        ended: &CommandExit,
    ) -> Option<(String, RecordType)> {
        let what = classify_command(command)?;
        let went_well = ended.verdict(command);
        let extract = match went_well {
            Some(false) => extract_failure_lines(&ended.output),
            _ => extract_commit_line(&ended.output),
        };
        let own = strip_insertions(command);
        if what == CommandPurpose::Build && went_well == Some(true) {
            return self.ends_failure(&own).then(|| what.describe_pass(&own));
        }
        what.describe_end(&own, went_well, &strip_insertions(&extract))
    }

    /// Whether a command that passes ends a failure of this session.
    fn ends_failure(&self, command: &str) -> bool {
        // A project's folder is named as the project is.
        let project = self.cwd.as_deref().unwrap_or_default();
        let scope = RunScope::parse(command, project);
        let runs = self.runs.iter().rev();
        let mut later: Vec<RunScope> = Vec::new();
        let mut runs = runs.filter_map(|run| CommandRun::parse(run));
        runs.any(|run| {
            let own = RunScope::parse(run.command, project);
            let is_over = later.iter().any(|later| later.covers(&own));
            let ends = !run.passed && !is_over && scope.covers(&own);
            if run.passed {
                later.push(own);
            }
            ends
        })
    }

    /// Counts how many times a command ended as it does now, as a hook counts it.
    fn count_times_run(&mut self, text: &str) -> usize {
        let Some(ran) = CommandRun::parse(text) else {
            return 1;
        };
        let since = self.runs.iter().rev().take_while(|run| *run != text);
        let mut since = since.filter_map(|run| CommandRun::parse(run));
        let is_as_before = self.runs.iter().any(|run| run == text)
            && !since.any(|later| later.passed != ran.passed);
        if !is_as_before && self.runs.len() < RUNS_MAX {
            self.runs.push(text.to_owned());
        }
        self.runs.iter().filter(|run| *run == text).count().max(1)
    }

    /// Passes on the agent's message.
    fn emit_answer(&mut self, sink: &mut ItemSink<'_>) -> Result<(), ImportError> {
        match self.open_answer.take() {
            Some((_, place, mut record)) => {
                self.add_hook_id(&mut record, 1);
                sink.emit_record(&place, record)
            }
            None => Ok(()),
        }
    }

    /// Ends a turn: passes on the agent's message and the changed files.
    pub(super) fn emit_pending(&mut self, sink: &mut ItemSink<'_>) -> Result<(), ImportError> {
        self.emit_answer(sink)?;
        if self.edited.is_empty() {
            return Ok(());
        }
        let files: Vec<String> = std::mem::take(&mut self.edited).into_iter().collect();
        let files: Vec<String> = files.iter().map(|file| self.relative_path(file)).collect();
        let text = format!("Edited {}", files.join(", "));
        let name = [self.turn.as_str(), "/edited"].concat();
        let mut record = self.new_record(text, RecordType::Document, &name);
        // A session that goes on may change more in the same turn.
        record.replaces_known_id = true;
        let place = format!("session {}", self.session);
        sink.emit_record(&place, record)
    }

    fn relative_path(&self, file: &str) -> String {
        let own = self.cwd.as_deref().and_then(|cwd| file.strip_prefix(cwd));
        own.map_or(file, |own| own.trim_start_matches('/'))
            .to_owned()
    }

    fn new_record(&mut self, text: String, what: RecordType, id: &str) -> NewRecord {
        let cwd = self.cwd.as_deref();
        let turn = SessionTurn {
            text,
            what,
            at: self.at,
            session: &self.session,
            agent: Some(self.source.kind.name()),
            project_tag: cwd.and_then(|cwd| self.source.project_tag(cwd)),
        };
        let mut record = turn.into_record();
        if let Some(cwd) = cwd {
            record.metadata.insert("cwd".to_owned(), json!(cwd));
        }
        let name = [self.session.as_str(), id, what.name()].join("/");
        record.external_ids = vec![ExternalId::new(self.source.kind.name(), name)];
        if what == RecordType::Answer {
            // A reply that was cut may go on.
            record.replaces_known_id = true;
        } else {
            self.add_hook_id(&mut record, 1);
        }
        record
    }

    /// Adds the id under which a hook keeps the same words of the same session.
    fn add_hook_id(&self, record: &mut NewRecord, times: usize) {
        let end = record.text.floor_char_boundary(HOOK_BYTES_MAX);
        let beginning = record.text.get(..end).unwrap_or_default().trim();
        let key = hook_request_key(&self.session, beginning, times);
        let name = [key.as_str(), "/0"].concat();
        record
            .external_ids
            .push(ExternalId::new(ExternalId::REQUEST, name));
    }
}
