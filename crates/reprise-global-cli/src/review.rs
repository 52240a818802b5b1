//! `reprise global review`: what members have submitted for an organisation that asks for reviews,
//! what says nearly the same as what was taken down, and what a reviewer says of it.

use reprise::plugin::{one_line, stdout};
use reprise_global::{ListPage, OrganisationSettings, SubmissionVerdict};
use reprise_types::RecordId;

use crate::args::{OperatorArguments, ReviewCommand};
use crate::operate::open_store_as;
use crate::prelude::*;

pub(crate) fn run(context: &Context, command: &ReviewCommand) -> anyhow::Result<Exit> {
    runtime::build_threaded()?.block_on(run_command(context, command))
}

async fn run_command(context: &Context, command: &ReviewCommand) -> anyhow::Result<Exit> {
    match command {
        ReviewCommand::List(who) => print_submissions(context, who).await,
        ReviewCommand::Approve { id, who } => {
            let verdict = SubmissionVerdict {
                approve: true,
                reason: None,
            };
            review(context, who, *id, verdict).await
        }
        ReviewCommand::Refuse { id, reason, who } => {
            let verdict = SubmissionVerdict {
                approve: false,
                reason: Some(reason.clone()),
            };
            review(context, who, *id, verdict).await
        }
        ReviewCommand::On(who) => change(context, who, OrganisationSettings { review: true }).await,
        ReviewCommand::Off(who) => {
            change(context, who, OrganisationSettings { review: false }).await
        }
    }
}

async fn review(
    context: &Context,
    who: &OperatorArguments,
    id: RecordId,
    verdict: SubmissionVerdict,
) -> anyhow::Result<Exit> {
    let (store, caller) = open_store_as(context, who).await?;
    let done = store.review_submission(&caller, id, &verdict).await?;
    let author = &done.author;
    let line = match &done.published {
        Some(published) => {
            let version = published.version;
            format!("{id} by {author} approved: version {version} is published")
        }
        None => format!("{id} by {author} refused; its author is told the reason"),
    };
    output::line(context, &done, line)
}

async fn change(
    context: &Context,
    who: &OperatorArguments,
    settings: OrganisationSettings,
) -> anyhow::Result<Exit> {
    let (store, caller) = open_store_as(context, who).await?;
    let settings = store.change_organisation(&caller, settings).await?;
    let line = if settings.review {
        "what is published for the organisation waits for a review from now on; `reprise global \
         review list` shows it"
    } else {
        "what is published for the organisation is found at once; what waits still waits"
    };
    output::line(context, &settings, line)
}

async fn print_submissions(context: &Context, who: &OperatorArguments) -> anyhow::Result<Exit> {
    let (store, caller) = open_store_as(context, who).await?;
    let (mut out, mut offset) = (stdout(), 0);
    loop {
        let page = ListPage::after(offset);
        let waiting = store.list_submissions_page(&caller, page).await?;
        for one in &waiting {
            if context.json {
                writeln!(out, "{}", serde_json::to_string(one)?)?;
                continue;
            }
            let (id, author, version) = (one.id, &one.author, one.version);
            let at = one.submitted_at.format("%Y-%m-%d %H:%M");
            let title = one_line(&one.publication.title, 60);
            writeln!(out, "{id}  {at}  by {author}, version {version}  {title}")?;
            if let Some(near) = one.near_taken_down {
                writeln!(
                    out,
                    "    says nearly the same as {near}, which was taken down:"
                )?;
            }
            for line in one.publication.content.lines() {
                writeln!(out, "    {}", one_line(line, 400))?;
            }
        }
        if offset == 0 && waiting.is_empty() && !context.json {
            note("nothing waits for a review");
        }
        if waiting.len() < page.limit {
            return Ok(Exit::Success);
        }
        offset += waiting.len();
    }
}
