//! `reprise forget`: a tombstone now; with `--verify` a compaction, and proof that the text is
//! gone.

use std::collections::HashSet;
use std::io::Write;

use anyhow::bail;
use reprise_engine::{Engine, ForgetSelector};
use reprise_store::Verify;
use reprise_types::{Clock, ExternalId, SystemClock};
use serde_json::json;

use super::Context;
use super::store::{self, Access};
use crate::args::{ForgetArguments, ForgetWhat};
use crate::exit::Exit;

pub(super) fn run(context: &Context, arguments: &ForgetArguments) -> anyhow::Result<Exit> {
    let (mut engine, _) = store::open(context, &arguments.user, Access::Write, Verify::Tail)?;
    let before = texts(&engine);
    let mut forgotten = Vec::new();
    for selector in selectors(&arguments.what)? {
        forgotten.extend(engine.forget(&selector, &arguments.reason, SystemClock.now())?);
        if !forgotten.is_empty() {
            break;
        }
    }
    let mut traces = None;
    if arguments.verify {
        engine.compact()?;
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
        let bytes = fs_err::read(context.places.file_of(&arguments.user))?;
        let raw = |text: &str| {
            bytes
                .windows(text.len())
                .any(|window| window == text.as_bytes())
        };
        found.extend((0..gone.len()).filter(|place| raw(&gone[*place])));
        traces = Some(found.len());
    } else {
        engine.close()?;
    }
    let ids: Vec<String> = forgotten.iter().map(|gone| gone.id.to_string()).collect();
    let mut out = anstream::stdout().lock();
    if context.json {
        writeln!(
            out,
            "{}",
            json!({ "forgotten": ids, "traces_in_file": traces })
        )?;
    } else {
        writeln!(out, "{} records forgotten", ids.len())?;
        match traces {
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

/// An external id may have come from the batch contract or from an event log.
fn selectors(what: &ForgetWhat) -> anyhow::Result<Vec<ForgetSelector>> {
    Ok(
        match (what.id, &what.external_id, &what.session, what.before) {
            (Some(id), ..) => vec![ForgetSelector::Id(id)],
            (_, Some(external), ..) => [ExternalId::BATCH, ExternalId::EVENT]
                .map(|space| ForgetSelector::External(ExternalId::new(space, external.clone())))
                .into(),
            (_, _, Some(session), _) => vec![ForgetSelector::Session(session.clone())],
            (_, _, _, Some(before)) => vec![ForgetSelector::Before(before)],
            _ => bail!("name what is to be forgotten"),
        },
    )
}

fn texts(engine: &Engine) -> std::collections::BTreeSet<String> {
    engine
        .snapshot()
        .records()
        .filter_map(Result::ok)
        .map(|record| record.text)
        .collect()
}
