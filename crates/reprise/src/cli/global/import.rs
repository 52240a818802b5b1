//! `reprise global import`: many publications of one author, a line each, for whoever operates a
//! store. What stands already is passed over; a bad line costs itself alone.

use std::io::BufReader;

use anyhow::anyhow;
use reprise_global::{AccessPolicy, Caller, Publication, check_publication};
use reprise_operations::from_json;
use serde_json::json;

use super::serve;
use crate::args::GlobalImportArguments;
use crate::cli::{Context, input, output, runtime};
use crate::exit::Exit;
use crate::lines::jsonl;

/// Publications handed over at a time.
const GROUP: usize = 5_000;

pub(super) fn run(context: &Context, arguments: &GlobalImportArguments) -> anyhow::Result<Exit> {
    let caller = Caller {
        user: arguments.user.clone(),
        org: arguments.org.clone(),
        paid: false,
    };
    if !arguments.create {
        serve::is_there(&arguments.which)
            .map_err(|none| anyhow!("{none}; look at --store, or make it with --create"))?;
    }
    let (mut groups, mut refused) = (vec![Vec::new()], 0_u64);
    for line in jsonl(BufReader::new(input::open(&arguments.file)?)) {
        let (number, line) = line?;
        match line.and_then(|line| read(&line, &caller)) {
            Ok(publication) => match groups.last_mut() {
                Some(last) if last.len() < GROUP => last.push(publication),
                _ => groups.push(vec![publication]),
            },
            Err(why) => {
                refused += 1;
                crate::cli::note(&format!("line {number} was passed over: {why}"));
            }
        }
    }
    let all: usize = groups.iter().map(Vec::len).sum();
    let new = runtime::threaded()?.block_on(kept(context, arguments, &caller, groups))?;
    let known = all - new;
    let row = json!({ "published": new, "known": known, "refused": refused });
    let line = format!("{new} published, {known} known already, {refused} refused");
    output::line(context, &row, line)?;
    Ok(output::exit(refused == 0))
}

fn read(line: &str, caller: &Caller) -> Result<Publication, String> {
    // It is the file's line that is meant, and the message has it.
    let publication: Publication = from_json(line.as_bytes())
        .map_err(|said| said.replace(" at line 1 column ", " at column "))?;
    check_publication(&publication).map_err(|error| error.to_string())?;
    if publication.access_policy == AccessPolicy::Org && caller.org.is_none() {
        return Err("it is for an organisation; name that with --org".to_owned());
    }
    Ok(publication)
}

async fn kept(
    context: &Context,
    arguments: &GlobalImportArguments,
    caller: &Caller,
    groups: Vec<Vec<Publication>>,
) -> anyhow::Result<usize> {
    let mut new = 0;
    if let Some(url) = &arguments.which.database_url {
        let store = serve::database(context, &arguments.which, url).await?;
        for group in groups {
            new += store.import(caller, group).await?;
        }
        store.maintain().await?;
        return Ok(new);
    }
    let store = serve::in_folder(context, &arguments.which);
    for group in groups {
        new += store.import(caller, group).await?;
    }
    store.close()?;
    Ok(new)
}
