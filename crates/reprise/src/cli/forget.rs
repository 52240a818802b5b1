//! `reprise forget`: a tombstone now; with `--verify` a compaction, and proof that the text is
//! gone.

use std::collections::{BTreeSet, HashSet};
use std::io::Write;

use reprise_engine::Engine;
use reprise_server::{Call, Compacted, ForgetBody};
use reprise_store::Verify;
use reprise_types::{Clock, RecordId, SystemClock};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Context;
use super::daemon::Daemon;
use super::store::{self, Access};
use crate::args::{ForgetArguments, calendar};
use crate::exit::Exit;
use crate::terminal;

pub(super) fn run(context: &Context, arguments: &ForgetArguments) -> anyhow::Result<Exit> {
    let mut writer = Writer::open(context, arguments)?;
    let before = writer.texts(context)?;
    let forgotten = writer.forget()?;
    let mut traces = None;
    if arguments.verify {
        writer.compact()?;
        traces = Some(writer.traces(context, before)?);
    } else {
        writer.close()?;
    }
    let ids: Vec<String> = forgotten.iter().map(RecordId::to_string).collect();
    let mut out = anstream::stdout().lock();
    if context.json {
        writeln!(
            out,
            "{}",
            json!({ "forgotten": ids, "traces_in_file": traces })
        )?;
    } else {
        writeln!(out, "{} forgotten", terminal::count(ids.len(), "record"))?;
        match traces {
            _ if ids.is_empty() => {}
            Some(0) => writeln!(
                out,
                "compacted: no trace of their texts is left in the file"
            )?,
            Some(count) => writeln!(out, "{count} texts can still be found in the file")?,
            None => writeln!(out, "their bytes stay on the disk until `reprise compact`")?,
        }
    }
    let done = !ids.is_empty() && traces.unwrap_or(0) == 0;
    Ok(if done { Exit::Success } else { Exit::Refused })
}

/// Who writes: the daemon where one runs, else this process under the file's lock.
struct Writer<'a> {
    arguments: &'a ForgetArguments,
    by: By,
}

enum By {
    Daemon(Box<Daemon>),
    Engine(Box<Engine>),
}

impl<'a> Writer<'a> {
    fn open(context: &Context, arguments: &'a ForgetArguments) -> anyhow::Result<Self> {
        let by = if let Some(daemon) = Daemon::running(context)? {
            By::Daemon(Box::new(daemon))
        } else {
            let user = &arguments.user;
            let (engine, _) = store::open(context, user, Access::Write, Verify::Tail)?;
            By::Engine(Box::new(engine))
        };
        Ok(Self { arguments, by })
    }

    fn texts(&self, context: &Context) -> anyhow::Result<BTreeSet<String>> {
        match &self.by {
            By::Engine(engine) => Ok(texts(engine)),
            // Nothing to compare with, and nothing to open, where no proof is asked for.
            By::Daemon(_) if !self.arguments.verify => Ok(BTreeSet::new()),
            By::Daemon(_) => Ok(texts(&self.reader(context)?)),
        }
    }

    fn reader(&self, context: &Context) -> anyhow::Result<Engine> {
        let user = &self.arguments.user;
        Ok(store::open(context, user, Access::Read, Verify::Tail)?.0)
    }

    fn forget(&mut self) -> anyhow::Result<Vec<RecordId>> {
        let body = body(self.arguments);
        match &mut self.by {
            By::Daemon(daemon) => {
                #[derive(Deserialize)]
                struct Answer {
                    forgotten: Vec<RecordId>,
                }
                let path = Call::path_of(&self.arguments.user, &["forget"]);
                let call = Call::post(path, &serde_json::to_value(body)?);
                Ok(daemon.ask::<Answer>(&call)?.forgotten)
            }
            By::Engine(engine) => {
                for selector in body.selectors(&calendar()).map_err(anyhow::Error::msg)? {
                    let gone = engine.forget(&selector, body.reason(), SystemClock.now())?;
                    if !gone.is_empty() {
                        return Ok(gone.iter().map(|gone| gone.id).collect());
                    }
                }
                Ok(Vec::new())
            }
        }
    }

    fn compact(&mut self) -> anyhow::Result<()> {
        match &mut self.by {
            By::Daemon(daemon) => {
                let path = Call::path_of(&self.arguments.user, &["compact"]);
                let _done: Compacted = daemon.ask(&Call::post(path, &Value::Null))?;
            }
            By::Engine(engine) => {
                engine.compact()?;
            }
        }
        Ok(())
    }

    /// How many of the texts that are gone can still be found in the file.
    fn traces(self, context: &Context, before: BTreeSet<String>) -> anyhow::Result<usize> {
        let engine = match self.by {
            By::Engine(engine) => *engine,
            By::Daemon(_) => self.reader(context)?,
        };
        let kept = texts(&engine);
        let gone: Vec<String> = before
            .into_iter()
            .filter(|text| !kept.contains(text))
            .collect();
        let mut found = HashSet::new();
        engine.logged_texts(&mut |text| {
            found.extend(gone.iter().position(|gone| text.contains(gone.as_str())));
        })?;
        engine.close()?;
        let bytes = fs_err::read(context.places.file_of(&self.arguments.user))?;
        let raw = |text: &str| {
            bytes
                .windows(text.len())
                .any(|window| window == text.as_bytes())
        };
        found.extend((0..gone.len()).filter(|place| raw(&gone[*place])));
        Ok(found.len())
    }

    fn close(self) -> anyhow::Result<()> {
        match self.by {
            By::Engine(engine) => Ok(engine.close()?),
            By::Daemon(_) => Ok(()),
        }
    }
}

fn body(arguments: &ForgetArguments) -> ForgetBody {
    let what = &arguments.what;
    ForgetBody {
        id: what.id,
        external_id: what.external_id.clone(),
        session: what.session.clone(),
        before: what.before.map(|before| before.to_rfc3339()),
        reason: Some(arguments.reason.clone()),
    }
}

fn texts(engine: &Engine) -> BTreeSet<String> {
    engine
        .snapshot()
        .records()
        .filter_map(Result::ok)
        .map(|record| record.text)
        .collect()
}
