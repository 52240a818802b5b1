//! `reprise forget --everything`: a user's memory and its branches leave the disk.

use std::io::Write;

use anyhow::bail;
use reprise_operations::operations::shared::PublishedList;
use reprise_operations::{PageAsked, counted};
use reprise_types::UserId;
use serde_json::json;

use super::super::context::agreed;
use super::super::{Context, branch, output, store};
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
        return output::line(context, &row, format!("would remove {what}"));
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
    let files: Vec<_> = copies.iter().map(|(file, _)| file).collect();
    let row = json!({ "removed": user, "branches": branches, "copies": files });
    output::print(context, &row, |out| {
        writeln!(out, "removed {what}")?;
        for (copy, kind) in &copies {
            if erasure::is_away(copy) {
                say_away(context, copy, out)?;
            } else if copy.exists() {
                writeln!(out, "{} still holds it: {}", copy.display(), kind.remedy())?;
            }
        }
        Ok(())
    })
}

/// What others can find would stay behind with nobody to take it back.
fn refuse_published(context: &Context, user: &UserId) -> anyhow::Result<()> {
    let first = PageAsked {
        limit: Some(1),
        ..PageAsked::default()
    };
    let published = output::call::<PublishedList>(context, user, first)?;
    if let Some(first) = published.published.first() {
        bail!(
            "`{user}` has published `{}`, which others find; `reprise share list --user {user}` \
             names all, `reprise unpublish ID --user {user}` takes one back",
            first.title
        );
    }
    Ok(())
}
