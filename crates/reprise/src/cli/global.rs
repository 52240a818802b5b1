//! `reprise share publish`, `unpublish`, `list` and `rate`: shows byte by byte what would be
//! published, and asks; and `reprise share branch`.

mod join;
mod remote;
mod store;

use reprise_global::{Branch, GlobalQuery};
use reprise_operations::PageArguments;
use reprise_operations::operations::sharing::{
    self, LeavingRecord, Publish, PublishBranch, PublishPreview, PublishedList, PublishedRows,
    Rate, Unpublish,
};
use reprise_types::limits::PAGE_MAX;

use crate::args::{
    CatalogueCommand, GlobalBranchCommand, PublishArguments, RateArguments, UnpublishArguments,
};
use crate::cli::prelude::*;

pub use store::{PUBLISHED, build_remote_store_at, embedded, folder, open, vectors};
pub(super) use store::{measure_round_trip, sharing, wrap_memories};

/// Runs what an author and a member do with published knowledge.
pub fn run(context: &Context, command: &CatalogueCommand) -> anyhow::Result<Exit> {
    match command {
        CatalogueCommand::Join { link, yes } => join::run(context, link, *yes),
        CatalogueCommand::Branch(command) => run_branch(context, command),
        CatalogueCommand::Projects { user } => print_projects(context, user),
        CatalogueCommand::Submissions { user } => print_own_submissions(context, user),
        CatalogueCommand::Snapshot { name, user } => {
            let (global, caller) = open(context, user)?;
            let at = store::wait(global.create_snapshot(&caller, name))??;
            let line = format!("snapshot `{name}` saved: the store as of {at}");
            output::line(context, &json!({ "snapshot": name, "at": at }), line)
        }
    }
}

pub(super) fn publish(context: &Context, arguments: &PublishArguments) -> anyhow::Result<Exit> {
    let user = &arguments.user;
    let what = arguments.asked.clone();
    let shown = output::call::<PublishPreview>(context, user, what.clone())?.leaving;
    if arguments.dry_run {
        return print_preview_rows(context, &shown);
    }
    if !arguments.yes {
        write_previews_to_stderr(&shown)?;
        let refusal = "not a terminal: read what would be published with --dry-run, then add --yes";
        if !confirm("Publish this?", refusal)? {
            note("nothing was published");
            return Ok(Exit::Refused);
        }
    }
    let agreed = shown.iter().map(|one| one.sha256.clone()).collect();
    let asked = sharing::PublishArguments {
        what,
        agreed,
        branch: arguments.branch.clone(),
    };
    let done = output::call::<Publish>(context, user, asked)?;
    let titles: Vec<&str> = shown.iter().map(|one| one.title.as_str()).collect();
    print_publish_result(context, &titles, &done)
}

fn print_preview_rows(context: &Context, shown: &[LeavingRecord]) -> anyhow::Result<Exit> {
    let row = |one: &&LeavingRecord| {
        let leaves = serde_json::from_str::<Value>(&one.exact).unwrap_or_default();
        json!({ "record": one.record, "leaves": leaves, "exact": one.exact, "bytes": one.bytes,
            "sha256": one.sha256, "redacted": one.redacted })
    };
    output::rows(context, shown, row, |one| one.exact.clone())
}

fn write_previews_to_stderr(shown: &[LeavingRecord]) -> anyhow::Result<()> {
    let mut err = crate::printer::stderr();
    for one in shown {
        let (record, bytes, policy) = (one.record, one.bytes, one.policy.name());
        let title =
            format!("{record}: this would be published, {bytes} bytes, for {policy} readers");
        writeln!(err, "{}", terminal::title(title))?;
        writeln!(err, "{}", one.exact)?;
        if one.redacted > 0 {
            let found = format_count(one.redacted, "secret");
            writeln!(err, "{found} removed")?;
        }
    }
    Ok(())
}

pub(super) fn unpublish(context: &Context, arguments: &UnpublishArguments) -> anyhow::Result<Exit> {
    let id = arguments.id.clone();
    let taken = sharing::UnpublishArguments { id };
    let done = output::call::<Unpublish>(context, &arguments.user, taken)?;
    output::print(context, &done, |out| {
        let versions = format_count(done.versions, "version");
        let id = done.unpublished;
        writeln!(out, "{id} unpublished: {versions} withdrawn")?;
        if done.verified {
            writeln!(out, "searched for it again by id and by words: not found")?;
        }
        if let Some(receipt) = done.receipt {
            writeln!(out, "receipt {receipt} (`reprise show` prints it)")?;
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
    let done = session.call::<Rate>(sharing::Rating { id, rating })?;
    let line = format!("rated {}: {} of 1", done.id, done.rating);
    output::line(context, &done, line)
}

pub(super) fn print_published(
    context: &Context,
    arguments: &WhoseArguments,
) -> anyhow::Result<Exit> {
    let listed = fetch_all_published(&Session::open(context, &arguments.user, Effect::Reads)?)?;
    output::print(context, &listed, |out| {
        if listed.published.is_empty() {
            note("nothing is published; publish with `reprise share publish ID`");
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

/// Prints the projects for which a user may publish.
fn print_projects(context: &Context, user: &UserId) -> anyhow::Result<Exit> {
    let (global, caller) = open(context, user)?;
    let own = store::wait(global.list_projects(&caller))??;
    output::note_if_empty(
        context,
        &own,
        "you are in no project; an operator adds one to a token with `--project`",
    );
    output::rows(
        context,
        own,
        |project| json!({ "project": project }),
        ToString::to_string,
    )
}

/// What of an author's waits for a review, and why the rest was refused.
fn print_own_submissions(context: &Context, user: &UserId) -> anyhow::Result<Exit> {
    let (global, caller) = open(context, user)?;
    let own = store::wait(global.list_own_submissions(&caller))??;
    output::note_if_empty(context, &own, "nothing of yours waits for a review");
    output::list(context, &own, |one| {
        let (id, version) = (one.id, one.version);
        if let Some(reason) = &one.refused {
            let reason = terminal::one_line(reason, 200);
            format!("{id}  version {version} was refused: {reason}")
        } else {
            let title = terminal::one_line(one.title.as_deref().unwrap_or_default(), 60);
            let why = one.near_taken_down.map(|near| {
                format!(", because it says nearly the same as {near}, which was taken down")
            });
            let why = why.unwrap_or_default();
            format!("{id}  version {version} waits for a review{why}  {title}")
        }
    })
}

/// What an author tries out before others see it.
fn run_branch(context: &Context, command: &GlobalBranchCommand) -> anyhow::Result<Exit> {
    match command {
        GlobalBranchCommand::Add(which) => {
            let (global, caller) = open(context, &which.user)?;
            let opened = store::wait(global.open_branch(&caller, &which.name))??;
            let name = &opened.name;
            let line = format!(
                "branch `{name}` created; publish on it with `reprise share publish ID --branch \
                 {name}`"
            );
            output::line(context, &opened, line)
        }
        GlobalBranchCommand::List { user } => {
            let branches = fetch_branches(context, user)?;
            let hint = "no branches yet; `reprise share branch add NAME` makes one";
            output::note_if_empty(context, &branches, hint);
            output::list(context, &branches, describe_branch)
        }
        GlobalBranchCommand::Drop(which) => {
            let (global, caller) = open(context, &which.user)?;
            let dropped = store::wait(global.drop_branch(&caller, &which.name))??;
            let line = format!("dropped {}", describe_branch(&dropped));
            output::line(context, &dropped, line)
        }
        GlobalBranchCommand::Merge(which) => {
            let session = Session::open(context, &which.user, Effect::Adds)?;
            let branch = which.name.clone();
            let done = session.call::<PublishBranch>(sharing::PublishBranchArguments { branch });
            let listed = fetch_all_published(&session);
            drop(session);
            // It is merged by now: titles that cannot be read are left out.
            let (done, listed) = (done?, listed.map(|all| all.published).unwrap_or_default());
            let title = |id| listed.iter().find(|row| row.id == id);
            let titles = done.published.iter().map(|one| title(one.id));
            let titles = titles.map(|row| row.map_or("", |row| row.title.as_str()));
            print_publish_result(context, &titles.collect::<Vec<_>>(), &done)
        }
        GlobalBranchCommand::Ask { which, text, limit } => {
            let query = GlobalQuery {
                branch: Some(which.name.clone()),
                ..GlobalQuery::new(text.join(" "), *limit)
            };
            let (global, caller) = open(context, &which.user)?;
            let answer = store::wait(global.query(&caller, &query))??;
            let nothing = "nothing that is published or on the branch answers this";
            output::note_if_empty(context, &answer.hits, nothing);
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
                    writeln!(out, "note: {}", degraded.message())?;
                }
                Ok(())
            })
        }
    }
}

/// The branches that a user has.
pub(super) fn fetch_branches(context: &Context, user: &UserId) -> anyhow::Result<Vec<Branch>> {
    let (global, caller) = open(context, user)?;
    Ok(store::wait(global.list_branches(&caller))??)
}

fn describe_branch(branch: &Branch) -> String {
    let memories = format_count(branch.things, "memory");
    let at = branch.at.format("%Y-%m-%d %H:%M");
    format!("{}  {memories}, created {at}", branch.name)
}

/// Prints what was published; `titles` are those of what was asked for, in its order, where they
/// are known.
fn print_publish_result(
    context: &Context,
    titles: &[&str],
    done: &sharing::PublishDone,
) -> anyhow::Result<Exit> {
    output::print(context, done, |out| {
        for (place, done) in done.published.iter().enumerate() {
            let title = titles.get(place).copied().unwrap_or_default();
            let title = terminal::one_line(title, 60);
            let (id, version, bytes) = (done.id, done.version, done.bytes);
            let said = if done.unchanged { ", unchanged" } else { "" };
            let done_what = if done.awaits_review {
                "submitted"
            } else {
                "published"
            };
            writeln!(
                out,
                "{done_what} {id}: version {version}, {bytes} bytes{said}  {title}"
            )?;
            if done.awaits_review {
                let hint = "`reprise share submissions` shows what became of it";
                writeln!(out, "  a reviewer has to approve it first; {hint}")?;
            }
            if !done.overlaps.is_empty() {
                let others = format_count(done.overlaps.len(), "published memory");
                writeln!(out, "  it says nearly the same as {others}:")?;
                for near in &done.overlaps {
                    let title = terminal::one_line(&near.title, 60);
                    let (id, percent) = (near.id, near.similarity * 100.0);
                    writeln!(out, "    {id}  {percent:.0} %  {title}")?;
                }
            }
        }
        if let Some(receipt) = done.receipt {
            writeln!(out, "receipt {receipt} (`reprise show` prints it)")?;
        }
        Ok(())
    })
}

/// All pages of what is published.
fn fetch_all_published(session: &Session) -> Result<PublishedRows, Problem> {
    let mut asked = PageArguments {
        limit: Some(PAGE_MAX),
        ..PageArguments::default()
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
