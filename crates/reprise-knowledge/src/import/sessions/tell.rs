//! What happened in a session, told as records: one for each thing that a person or the agent said,
//! for each test, commit or failed build, and for the files that a turn changed. As the hooks keep
//! it, so that what they kept is known again.

use reprise_redact::without_elements;
use reprise_types::{RecordType, without_quoted};

use super::super::ImportKind;
use super::forms::{Form, Line, Speaker, Told, told};
use crate::ended::{Ended, committed, failing, ran};
use crate::prelude::*;
use crate::project::Project;

/// Longest text that a hook keeps; a longer one here is known by its beginning.
const HOOK_BYTES_MAX: usize = 8 * 1024;
/// Shortest text that says something.
const CHARS_MIN: usize = 12;
/// Calls without an end that are remembered.
const OPEN_MAX: usize = 1_000;
/// What a program or a hook puts between a person's words.
const PUT_IN: [&str; 14] = [
    "private",
    "hook_context",
    "reprise-memory",
    "system-reminder",
    "system_reminder",
    "environment_context",
    "user_instructions",
    "INSTRUCTIONS",
    "session_context",
    "ide_opened_file",
    "ide_selection",
    "task-notification",
    "subagent_notification",
    "skill",
];
/// How what only looks like a person's words begins.
const NO_PERSON: [&str; 13] = [
    "<command-name>",
    "<command-message>",
    "<local-command-",
    "<bash-",
    "<user-prompt-submit-hook>",
    "<turn_aborted>",
    "<user_shell_command>",
    "<permissions",
    "Caveat: The messages below",
    "This session is being continued from a previous conversation",
    "[Request interrupted",
    "# AGENTS.md instructions",
    "Stop hook feedback:",
];

/// What the sessions of one source have in common.
pub(super) struct Source {
    pub(super) kind: ImportKind,
    pub(super) form: &'static Form,
    /// What each working folder's project is called.
    pub(super) projects: BTreeMap<String, Option<String>>,
}

/// One session on its way.
pub(super) struct Teller<'a> {
    source: &'a mut Source,
    pub(super) session: String,
    cwd: Option<String>,
    at: Option<DateTime<Utc>>,
    /// Commands that have not ended.
    open: HashMap<String, String>,
    /// Files changed since the last prompt, and the turn that they belong to.
    edited: BTreeSet<String>,
    turn: String,
    /// What the agent is saying: several lines are one message.
    saying: Option<(String, String, NewRecord)>,
}

impl Source {
    fn tag(&mut self, cwd: &str) -> Option<String> {
        let tag = || {
            let folder = Path::new(cwd);
            if let Some(project) = Project::of(folder) {
                return Some(project.tag());
            }
            let name = folder.file_name()?.to_string_lossy();
            normal_tag(&["project:", &name].concat())
        };
        let known = self.projects.entry(cwd.to_owned());
        known.or_insert_with(tag).clone()
    }
}

impl<'a> Teller<'a> {
    pub(super) fn new(source: &'a mut Source, session: &str) -> Self {
        Self {
            source,
            session: session.to_owned(),
            cwd: None,
            at: None,
            open: HashMap::new(),
            edited: BTreeSet::new(),
            turn: String::new(),
            saying: None,
        }
    }

    pub(super) fn stands_in(&mut self, cwd: &str) {
        self.cwd = Some(cwd.to_owned());
    }

    /// Takes one line of the session, whatever it is.
    pub(super) fn line(
        &mut self,
        giver: &mut Giver<'_>,
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
        let time = at(form.at).and_then(|time| giver.zone().moment(&time));
        self.at = time.or(self.at);
        let Some(line) = form.line(value) else {
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
                let told = told(block);
                words.extend(told.words.clone());
                self.tool(giver, place, &id, told)?;
            }
        }
        if words.is_empty() && !line.instead.is_empty() {
            words.extend(
                value
                    .pointer(line.instead)
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            );
        }
        self.words(giver, place, line, &id, &words.join("\n\n"))
    }

    fn words(
        &mut self,
        giver: &mut Giver<'_>,
        place: &str,
        line: &Line,
        id: &str,
        words: &str,
    ) -> Result<(), ImportError> {
        let words = clean(words);
        let is_person = line.speaker == Speaker::Person;
        let is_put_in = || NO_PERSON.iter().any(|start| words.starts_with(start));
        if words.chars().count() < CHARS_MIN || is_person && is_put_in() {
            return Ok(());
        }
        match line.speaker {
            Speaker::Tool => Ok(()),
            Speaker::Person => {
                self.flush(giver)?;
                id.clone_into(&mut self.turn);
                let mut prompt = self.record(words, MemorySource::UserInput, id, "prompt");
                prompt.metadata.insert("role".to_owned(), json!("user"));
                giver.record(place, prompt)
            }
            Speaker::Agent => {
                if let Some((of, _, record)) = &mut self.saying
                    && of.as_str() == id
                {
                    record.text.push_str(&["\n\n", &words].concat());
                    return Ok(());
                }
                self.say(giver)?;
                let record = self.record(words, MemorySource::WorkerResult, id, "answer");
                self.saying = Some((id.to_owned(), place.to_owned(), record));
                Ok(())
            }
        }
    }

    fn tool(
        &mut self,
        giver: &mut Giver<'_>,
        place: &str,
        id: &str,
        told: Told,
    ) -> Result<(), ImportError> {
        let room = LIST_ITEMS_MAX.saturating_sub(self.edited.len());
        self.edited.extend(told.edited.into_iter().take(room));
        let Some(call) = told.call else {
            return Ok(());
        };
        if let Some(command) = told.command
            && self.open.len() < OPEN_MAX
        {
            self.open.insert(call.clone(), command);
        }
        let Some(ended) = told.ended else {
            return Ok(());
        };
        let command = self.open.remove(&call);
        let kept = command.and_then(|command| what_ended(&command, &ended));
        let Some((text, what)) = kept else {
            return Ok(());
        };
        self.say(giver)?;
        let record = self.done(text, what, &[id, call.as_str()].join("/"));
        giver.record(place, record)
    }

    /// Hands on what the agent said.
    fn say(&mut self, giver: &mut Giver<'_>) -> Result<(), ImportError> {
        match self.saying.take() {
            Some((_, place, mut record)) => {
                self.name_as_hook(&mut record);
                giver.record(&place, record)
            }
            None => Ok(()),
        }
    }

    /// The end of a turn.
    pub(super) fn flush(&mut self, giver: &mut Giver<'_>) -> Result<(), ImportError> {
        self.say(giver)?;
        if self.edited.is_empty() {
            return Ok(());
        }
        let files: Vec<String> = std::mem::take(&mut self.edited).into_iter().collect();
        let files: Vec<String> = files.iter().map(|file| self.inside(file)).collect();
        let text = format!("Edited {}", files.join(", "));
        let name = [self.turn.as_str(), "/edited"].concat();
        let mut record = self.done(text, RecordType::Document, &name);
        // A session that goes on may change more in the same turn.
        record.updates = true;
        let place = format!("session {}", self.session);
        giver.record(&place, record)
    }

    fn inside(&self, file: &str) -> String {
        let own = self.cwd.as_deref().and_then(|cwd| file.strip_prefix(cwd));
        own.map_or(file, |own| own.trim_start_matches('/'))
            .to_owned()
    }

    fn done(&mut self, text: String, what: RecordType, id: &str) -> NewRecord {
        let mut record = self.record(text, MemorySource::WorkerResult, id, what.name());
        record.details = Some(json!({ "type": what }));
        record
    }

    fn record(&mut self, text: String, source: MemorySource, id: &str, what: &str) -> NewRecord {
        let mut record = NewRecord::new(text, source, MemoryKind::Episode);
        record.timestamp = self.at;
        record.session_id.clone_from(&self.session);
        record.provenance.actor_id = Some(self.source.kind.name().to_owned());
        if let Some(cwd) = &self.cwd {
            record.metadata.insert("cwd".to_owned(), json!(cwd));
            record.tags.extend(self.source.tag(cwd));
        }
        let name = [self.session.as_str(), id, what].join("/");
        record.external_ids = vec![ExternalId::new(self.source.kind.name(), name)];
        if source == MemorySource::UserInput || what != "answer" {
            self.name_as_hook(&mut record);
        } else {
            // A reply that was cut may go on.
            record.updates = true;
        }
        record
    }

    /// The name under which a hook keeps the same words of the same session.
    fn name_as_hook(&self, record: &mut NewRecord) {
        let end = record.text.floor_char_boundary(HOOK_BYTES_MAX);
        let said = record.text.get(..end).unwrap_or_default().trim();
        let words = format!("{}\n{said}", self.session);
        let name = format!("hook {}/0", sha256_hex(words.as_bytes()));
        record
            .external_ids
            .push(ExternalId::new(ExternalId::REQUEST, name));
    }
}

/// What of a command's end is worth keeping.
fn what_ended(command: &str, ended: &Ended) -> Option<(String, RecordType)> {
    let what = ran(command)?;
    let went_well = ended.verdict(command);
    let said = match went_well {
        Some(false) => failing(&ended.output),
        _ => committed(&ended.output),
    };
    what.told(&clean(command), went_well, &clean(&said))
}

/// Without what memory or the program had put there, and without pictures.
fn clean(text: &str) -> String {
    let text = without_elements(&without_quoted(text), &PUT_IN);
    without_pictures(&text).trim().to_owned()
}

/// Without data that stands in a text as `data:image/png;base64,...`.
fn without_pictures(text: &str) -> String {
    let (mut kept, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(";base64,") {
        let (before, after) = rest.split_at(at);
        let start = before.rfind("data:").unwrap_or(before.len());
        kept.push_str(before.get(..start).unwrap_or_default());
        let after = after.trim_start_matches(";base64,");
        rest = after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "+/=".contains(c));
    }
    kept.push_str(rest);
    kept
}
