//! `reprise forget --everything`: a user's memory and its branches leave the disk.

use std::io::Write;

use anyhow::bail;
use reprise_operations::counted;
use reprise_operations::operations::shared::PublishedList;
use reprise_operations::{Effect, PageAsked};
use reprise_types::UserId;
use serde_json::json;

use super::super::context::agreed;
use super::super::session::Session;
use super::super::{Context, branch, said, store};
use super::{erasure, say_away};
use crate::args::ForgetArguments;
use crate::exit::Exit;

pub(super) fn run(context: &Context, arguments: &ForgetArguments) -> anyhow::Result<Exit> {
    let user = &arguments.whose.user;
    let (engine, _) = store::open(
        context,
        user,
        store::Access::Read,
        reprise_store::Verify::Tail,
    )?;
    let live = engine.stats().live;
    drop(engine);
    let branches = branch::all_of(context, user)?;
    refuse_published(context, user)?;
    let records = counted(usize::try_from(live)?, "record");
    let mut what = format!("{records} of `{user}`");
    if !branches.is_empty() {
        let names: Vec<&str> = branches.iter().map(UserId::as_str).collect();
        what = format!("{what}, and its branches {}", names.join(", "));
    }
    if arguments.asked.dry_run {
        let row = json!({ "dry_run": true, "removed": user, "branches": branches });
        said::say(context, &row, format!("would remove {what}"))?;
        return Ok(Exit::Success);
    }
    let question = format!("{what} leave the disk for good; a backup alone brings them back.");
    let refusal = "nobody is there to be asked; add --yes to remove everything of this user";
    if !arguments.yes && !agreed(&question, refusal)? {
        bail!("nothing was removed");
    }
    let copies = erasure::known_copies(context, user);
    for user in branches.iter().chain([user]) {
        store::remove(context, user)?;
    }
    let mut out = crate::printer::stdout();
    if context.json {
        let files: Vec<_> = copies.iter().map(|(file, _)| file).collect();
        let row = json!({ "removed": user, "branches": branches, "copies": files });
        writeln!(out, "{row}")?;
        return Ok(Exit::Success);
    }
    writeln!(out, "removed {what}")?;
    let is_outside = |file: &std::path::Path| file.exists() || erasure::is_away(file);
    for (copy, kind) in copies.iter().filter(|(file, _)| is_outside(file)) {
        if erasure::is_away(copy) {
            say_away(context, copy, &mut out)?;
        } else {
            writeln!(out, "{} still holds it: {}", copy.display(), kind.remedy())?;
        }
    }
    Ok(Exit::Success)
}

/// What others can find would stay behind with nobody to take it back.
fn refuse_published(context: &Context, user: &UserId) -> anyhow::Result<()> {
    let session = Session::open(context, user, Effect::Reads)?;
    let published = session.call::<PublishedList>(PageAsked {
        limit: Some(1),
        ..PageAsked::default()
    });
    session.close();
    if let Some(first) = published?.published.first() {
        bail!(
            "`{user}` has published `{}`, which others find; `reprise share list --user {user}` \
             names all, `reprise unpublish ID --user {user}` takes one back",
            first.title
        );
    }
    Ok(())
}
