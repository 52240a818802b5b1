//! `reprise forget`: a tombstone now; with `--verify` a compaction, and proof that the text is
//! gone.

mod erasure;

use std::io::Write;

use reprise_engine::Engine;
use reprise_operations::operations::{compact, forget};
use reprise_server::Call;
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
use erasure::{Gone, KnownCopy};

/// What a proof found.
struct Proof {
    /// Texts that can still be found in the file.
    traces: usize,
    /// Other files that hold forgotten records.
    copies: Vec<KnownCopy>,
}

pub(super) fn run(context: &Context, arguments: &ForgetArguments) -> anyhow::Result<Exit> {
    let file = context.places.file_of(&arguments.user);
    let mut writer = Writer::open(context, arguments)?;
    // Others may write, and compact, between any two of these steps.
    let mut pinned = Vec::new();
    if arguments.verify {
        pinned.extend(store::open_log(&file));
    }
    let forgotten = writer.forget()?;
    let mut proof = None;
    if arguments.verify {
        pinned.push(store::open_log(&file)?);
        writer.compact()?;
        writer.close()?;
        let gone = Gone::read(&forgotten, &pinned)?;
        proof = Some(Proof {
            traces: gone.traces(&file)?,
            copies: gone.copies(context, &arguments.user),
        });
    } else {
        writer.close()?;
    }
    say(context, arguments, &forgotten, proof.as_ref())?;
    let done = !forgotten.is_empty() && proof.is_none_or(|proof| proof.traces == 0);
    Ok(if done { Exit::Success } else { Exit::Refused })
}

fn say(
    context: &Context,
    arguments: &ForgetArguments,
    forgotten: &[RecordId],
    proof: Option<&Proof>,
) -> anyhow::Result<()> {
    let mut out = anstream::stdout().lock();
    if context.json {
        let copies = proof.map(|proof| {
            let rows = proof.copies.iter();
            rows.map(|copy| json!({ "file": copy.file, "records": copy.records }))
                .collect::<Vec<_>>()
        });
        let traces = proof.map(|proof| proof.traces);
        let row = json!({ "forgotten": forgotten, "traces_in_file": traces, "copies": copies });
        writeln!(out, "{row}")?;
        return Ok(());
    }
    let count = terminal::count(forgotten.len(), "record");
    writeln!(out, "{count} forgotten")?;
    if forgotten.is_empty() {
        return Ok(());
    }
    let Some(Proof { traces, copies }) = proof else {
        writeln!(out, "their bytes stay on the disk until `reprise compact`")?;
        for copy in erasure::known_copies(context, &arguments.user) {
            let copy = copy.display();
            writeln!(out, "{copy} may hold them too: `--verify` looks into it")?;
        }
        return Ok(());
    };
    match traces {
        0 => writeln!(
            out,
            "compacted: no trace of their texts is left in the file"
        )?,
        count => writeln!(out, "{count} texts can still be found in the file")?,
    }
    for KnownCopy { file, records } in copies {
        let file = file.display();
        match records {
            Some(records) => {
                let held = terminal::count(*records, "forgotten record");
                writeln!(
                    out,
                    "{file} still holds {held}: forget there too, or remove it"
                )?;
            }
            None => writeln!(out, "{file} cannot be read, and may hold them")?,
        }
    }
    Ok(())
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
                    let gone = engine.forget(
                        &selector,
                        body.reason.as_deref().unwrap_or_default(),
                        SystemClock.now(),
                    )?;
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
                let _done: compact::Compacted = daemon.ask(&Call::post(path, &Value::Null))?;
            }
            By::Engine(engine) => {
                engine.compact()?;
            }
        }
        Ok(())
    }

    fn close(self) -> anyhow::Result<()> {
        match self.by {
            By::Engine(engine) => Ok(engine.close()?),
            By::Daemon(_) => Ok(()),
        }
    }
}

fn body(arguments: &ForgetArguments) -> forget::Arguments {
    let what = &arguments.what;
    forget::Arguments {
        id: what.id,
        external_id: what.external_id.clone(),
        session: what.session.clone(),
        before: what.before.map(|before| before.to_rfc3339()),
        reason: Some(arguments.reason.clone()),
    }
}
