//! `reprise global branch`: what an author tries out before others see it; and what was published,
//! as commands print it.

use reprise_global::{Branch, GlobalQuery};
use reprise_operations::PageAsked;
use reprise_operations::operations::shared::{self, PublishBranch, PublishedList, PublishedRows};
use reprise_types::limits::PAGE_MAX;

use super::store;
use crate::args::GlobalBranchCommand;
use crate::cli::prelude::*;

pub(super) fn run(context: &Context, command: &GlobalBranchCommand) -> anyhow::Result<Exit> {
    match command {
        GlobalBranchCommand::Add(which) => {
            let (global, caller) = store::open(context, &which.user)?;
            let opened = store::wait(global.branch(&caller, &which.name))??;
            told(context, "opened", &[opened])
        }
        GlobalBranchCommand::List { user } => told(context, "open", &open(context, user)?),
        GlobalBranchCommand::Drop(which) => {
            let (global, caller) = store::open(context, &which.user)?;
            let dropped = store::wait(global.drop_branch(&caller, &which.name))??;
            told(context, "dropped", &[dropped])
        }
        GlobalBranchCommand::Merge(which) => {
            let session = Session::open(context, &which.user, Effect::Adds)?;
            let branch = which.name.clone();
            let done = session.call::<PublishBranch>(shared::PublishBranchArguments { branch });
            let listed = listed(&session);
            drop(session);
            // It is merged by now: titles that cannot be read are left out.
            let (done, listed) = (done?, listed.map(|all| all.published).unwrap_or_default());
            let title = |id| listed.iter().find(|row| row.id == id);
            let titles = done.published.iter().map(|one| title(one.id));
            let titles = titles.map(|row| row.map_or("", |row| row.title.as_str()));
            print(context, &titles.collect::<Vec<_>>(), &done)
        }
        GlobalBranchCommand::Ask { which, text, limit } => {
            let query = GlobalQuery {
                branch: Some(which.name.clone()),
                ..GlobalQuery::new(text.join(" "), *limit)
            };
            let (global, caller) = store::open(context, &which.user)?;
            let answer = store::wait(global.query(&caller, &query))??;
            output::print(context, &answer, |out| {
                for hit in &answer.hits {
                    let (record, score) = (&hit.record, hit.sona_score);
                    let title = terminal::one_line(&record.publication.title, 60);
                    let (id, version, author) = (record.id, record.version, &record.author_id);
                    writeln!(
                        out,
                        "{score:.2}  {id}  version {version}, by {author}  {title}"
                    )?;
                }
                for degraded in &answer.degraded {
                    writeln!(out, "degraded: {}", degraded.sentence())?;
                }
                Ok(())
            })
        }
    }
}

/// The branches that a user has.
pub(in crate::cli) fn open(context: &Context, user: &UserId) -> anyhow::Result<Vec<Branch>> {
    let (global, caller) = store::open(context, user)?;
    Ok(store::wait(global.branches(&caller))??)
}

fn told(context: &Context, what: &str, branches: &[Branch]) -> anyhow::Result<Exit> {
    output::list(context, branches, |branch| {
        let things = counted(branch.things, "thing");
        let since = branch.at.format("%Y-%m-%d %H:%M:%S");
        format!("{}  {what}, {things}, since {since}", branch.name)
    })
}

/// Prints what was published; `titles` are those of what was asked for, in its order, where they
/// are known.
pub(super) fn print(
    context: &Context,
    titles: &[&str],
    done: &shared::PublishDone,
) -> anyhow::Result<Exit> {
    output::print(context, done, |out| {
        for (place, done) in done.published.iter().enumerate() {
            let title = titles.get(place).copied().unwrap_or_default();
            let title = terminal::one_line(title, 60);
            let (id, version, bytes) = (done.id, done.version, done.bytes);
            let said = if done.unchanged { ", as it stood" } else { "" };
            writeln!(out, "{id}  version {version}, {bytes} bytes{said}  {title}")?;
            if !done.overlaps.is_empty() {
                let others = counted(done.overlaps.len(), "published thing");
                writeln!(out, "  it says nearly the same as {others}:")?;
                for near in &done.overlaps {
                    let title = terminal::one_line(&near.title, 60);
                    let (id, percent) = (near.id, near.similarity * 100.0);
                    writeln!(out, "    {id}  {percent:.0} %  {title}")?;
                }
            }
        }
        if let Some(receipt) = done.receipt {
            writeln!(out, "receipt {receipt}")?;
        }
        Ok(())
    })
}

/// All pages of what is published.
pub(super) fn listed(session: &Session) -> Result<PublishedRows, Problem> {
    let mut asked = PageAsked {
        limit: Some(PAGE_MAX),
        ..PageAsked::default()
    };
    let mut listed = session.call::<PublishedList>(asked.clone())?;
    while let Some(next) = listed.next.take() {
        asked.offset = Some(next);
        let page = session.call::<PublishedList>(asked.clone())?;
        listed.published.extend(page.published);
        listed.next = page.next;
    }
    Ok(listed)
}
