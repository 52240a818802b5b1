//! `reprise publish`, `unpublish`, `published`: what of a memory others may find, shown byte by
//! byte before it leaves; `rate`: what a reader says of others'.

mod branch;
mod operate;
mod remote;
mod serve;
mod store;
mod token;

use reprise_operations::operations::shared::{
    self, Leaving, Publish, PublishPreview, Rate, Unpublish,
};

use crate::args::{GlobalCommand, PublishArguments, RateArguments, UnpublishArguments};
use crate::cli::prelude::*;

pub(super) use branch::open as branches;
use branch::{listed, print};
pub(super) use store::{before, embedded, folder, remote_at, round_trip, sharing};

pub(super) fn run(context: &Context, command: &GlobalCommand) -> anyhow::Result<Exit> {
    match command {
        GlobalCommand::Serve(arguments) => serve::run(context, arguments),
        GlobalCommand::Token(arguments) => token::run(context, arguments),
        GlobalCommand::Join { link } => token::join(context, link),
        GlobalCommand::Operate(command) => operate::run(context, command),
        GlobalCommand::Import(arguments) => operate::import(context, arguments),
        GlobalCommand::Branch(command) => branch::run(context, command),
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
