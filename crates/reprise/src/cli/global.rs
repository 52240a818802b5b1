//! `reprise publish`, `unpublish`, `published`: what of a memory others may find, shown byte by
//! byte before it leaves; `rate`: what a reader says of others'; `global branch`.

mod operate;
mod remote;
mod serve;
mod store;
mod token;

use reprise_global::{Branch, GlobalQuery};
use reprise_operations::PageAsked;
use reprise_operations::operations::shared::{
    self, Leaving, Publish, PublishBranch, PublishPreview, PublishedList, PublishedRows, Rate,
    Unpublish,
};
use reprise_types::limits::PAGE_MAX;

use crate::args::{
    GlobalBranchCommand, GlobalCommand, PublishArguments, RateArguments, UnpublishArguments,
};
use crate::cli::prelude::*;

pub(super) use store::{before, embedded, folder, remote_at, round_trip, sharing};

pub(super) fn run(context: &Context, command: &GlobalCommand) -> anyhow::Result<Exit> {
    match command {
        GlobalCommand::Serve(arguments) => serve::run(context, arguments),
        GlobalCommand::Token(arguments) => token::run(context, arguments),
        GlobalCommand::Join { link } => token::join(context, link),
        GlobalCommand::Operate(command) => operate::run(context, command),
        GlobalCommand::Import(arguments) => operate::import(context, arguments),
        GlobalCommand::Branch(command) => branch(context, command),
        GlobalCommand::Audit { limit, user, which } => operate::audit(context, which, user, *limit),
        GlobalCommand::Snapshot { name, user } => {
            let (global, caller) = store::open(context, user)?;
            let at = store::wait(global.snapshot(&caller, name))??;
            let line = format!("{name} is the store as of {at}");
            output::line(context, &json!({ "snapshot": name, "at": at }), line)
        }
    }
}

pub(super) fn publish(context: &Context, arguments: &PublishArguments) -> anyhow::Result<Exit> {
    let user = &arguments.user;
    let what = arguments.asked.clone();
    let shown = output::call::<PublishPreview>(context, user, what.clone())?.leaving;
    if arguments.dry_run {
        return show(context, &shown);
    }
    if !arguments.yes {
        show_to_person(&shown)?;
        let refusal =
            "nothing leaves without a yes; read what would leave with --dry-run, then pass --yes";
        if !agreed("Publish this?", refusal)? {
            note("nothing left");
            return Ok(Exit::Refused);
        }
    }
    let agreed = shown.iter().map(|one| one.sha256.clone()).collect();
    let asked = shared::PublishArguments {
        what,
        agreed,
        branch: arguments.branch.clone(),
    };
    let done = output::call::<Publish>(context, user, asked)?;
    let titles: Vec<&str> = shown.iter().map(|one| one.title.as_str()).collect();
    print(context, &titles, &done)
}

fn show(context: &Context, shown: &[Leaving]) -> anyhow::Result<Exit> {
    let row = |one: &&Leaving| {
        let leaves = serde_json::from_str::<Value>(&one.exact).unwrap_or_default();
        json!({ "record": one.record, "leaves": leaves, "exact": one.exact, "bytes": one.bytes,
            "sha256": one.sha256, "redacted": one.redacted })
    };
    output::rows(context, shown, row, |one| one.exact.clone())
}

fn show_to_person(shown: &[Leaving]) -> anyhow::Result<()> {
    let mut err = crate::printer::stderr();
    for one in shown {
        let (record, bytes, policy) = (one.record, one.bytes, one.policy.name());
        let title = format!("{record}: these {bytes} bytes would leave, for {policy} readers");
        writeln!(err, "{}", terminal::title(title))?;
        writeln!(err, "{}", one.exact)?;
        if one.redacted > 0 {
            let found = counted(one.redacted, "secret");
            writeln!(err, "{found} taken out")?;
        }
    }
    Ok(())
}

pub(super) fn unpublish(context: &Context, arguments: &UnpublishArguments) -> anyhow::Result<Exit> {
    let id = arguments.id.clone();
    let taken = shared::UnpublishArguments { id };
    let done = output::call::<Unpublish>(context, &arguments.user, taken)?;
    output::print(context, &done, |out| {
        let versions = counted(done.versions, "version");
        let id = done.unpublished;
        writeln!(out, "{id} is in no answer any more: {versions} taken back")?;
        if done.verified {
            writeln!(
                out,
                "asked for it again, by its id and its words: nothing is left"
            )?;
        }
        if let Some(receipt) = done.receipt {
            writeln!(out, "receipt {receipt}")?;
        }
        Ok(())
    })?;
    Ok(output::exit(done.verified))
}

pub(super) fn rate(context: &Context, arguments: &RateArguments) -> anyhow::Result<Exit> {
    // It is said to the global store: the user's own memory stays as it is.
    let RateArguments { user, id, rating } = arguments;
    let (id, rating) = (*id, *rating);
    let session = Session::open(context, user, Effect::Reads)?;
    let done = session.call::<Rate>(shared::Rating { id, rating })?;
    let line = format!("{} is given {} of 1 by you", done.id, done.rating);
    output::line(context, &done, line)
}

pub(super) fn published(context: &Context, arguments: &WhoseArguments) -> anyhow::Result<Exit> {
    let listed = listed(&Session::open(context, &arguments.user, Effect::Reads)?)?;
    output::print(context, &listed, |out| {
        if listed.published.is_empty() {
            note("nothing is published; `reprise publish ID` does that");
        }
        for one in &listed.taken_down {
            let (id, at) = (one.id, one.at.format("%Y-%m-%d"));
            let reason = terminal::one_line(&one.reason, 200);
            writeln!(out, "{id}  taken down {at} by {}: {reason}", one.operator)?;
        }
        for row in &listed.published {
            let (id, version, used) = (row.id, row.version, row.quality.usage_count);
            let (what, policy) = (row.content_type.name(), row.policy.name());
            let title = terminal::one_line(&row.title, 60);
            writeln!(
                out,
                "{id}  version {version}, {what}, for {policy} readers, used {used} times  {title}"
            )?;
        }
        Ok(())
    })
}

/// What an author tries out before others see it.
fn branch(context: &Context, command: &GlobalBranchCommand) -> anyhow::Result<Exit> {
    match command {
        GlobalBranchCommand::Add(which) => {
            let (global, caller) = store::open(context, &which.user)?;
            let opened = store::wait(global.branch(&caller, &which.name))??;
            told(context, "opened", &[opened])
        }
        GlobalBranchCommand::List { user } => told(context, "open", &branches(context, user)?),
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
pub(super) fn branches(context: &Context, user: &UserId) -> anyhow::Result<Vec<Branch>> {
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
fn print(context: &Context, titles: &[&str], done: &shared::PublishDone) -> anyhow::Result<Exit> {
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
fn listed(session: &Session) -> Result<PublishedRows, Problem> {
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
