//! What an operator does with a store: lists it, takes down and puts back, exports or erases one
//! person, brings its tables forward. On a machine with `[global] url` by an operator's token, else
//! on the store itself.

use std::io::Write;
use std::sync::Arc;

use anyhow::bail;
use reprise_global::{Caller, GlobalStore, ListPage, PostgresStore, TakeDown};
use reprise_operations::counted;
use reprise_server::{ServiceTokens, TokenFile};
use serde_json::json;

use super::{serve, store, token};
use crate::args::{OperateCommand, OperatorArguments, PersonCommand, WhichStore};
use crate::cli::{Context, agreed, output, runtime};
use crate::exit::Exit;
use crate::terminal;

/// The store that is meant, and as who it is asked.
async fn opened(
    context: &Context,
    who: &OperatorArguments,
) -> anyhow::Result<(Arc<dyn GlobalStore>, Caller)> {
    let which = &who.which;
    let is_named = which.store.is_some() || which.database_url.is_some();
    if !is_named && context.config.global_service(&who.user).is_some() {
        return store::open(context, &who.user);
    }
    let caller = Caller {
        user: who.user.clone(),
        org: who.org.clone(),
        paid: true,
    };
    Ok((beside(context, which).await?, caller))
}

/// The store itself, beside its services.
async fn beside(context: &Context, which: &WhichStore) -> anyhow::Result<Arc<dyn GlobalStore>> {
    serve::is_there(which)?;
    Ok(match &which.database_url {
        Some(url) => Arc::new(serve::database(context, which, url).await?),
        None => Arc::new(serve::in_folder(context, which)),
    })
}

pub(super) fn run(context: &Context, command: &OperateCommand) -> anyhow::Result<Exit> {
    runtime::threaded()?.block_on(async {
        match command {
            OperateCommand::Catalogue { limit, who } => list(context, who, *limit).await,
            OperateCommand::Takedown {
                id,
                reason,
                leaked,
                who,
            } => {
                let order = TakeDown {
                    reason: reason.clone(),
                    leaked: *leaked,
                };
                let (store, caller) = opened(context, who).await?;
                let done = store.take_down(&caller, *id, &order).await?;
                let versions = counted(done.taken.versions, "version");
                let mut line = format!(
                    "{id} by {} is in no answer any more: {versions} taken down",
                    done.taken.author
                );
                line.push_str(match (leaked, done.swept) {
                    (false, _) => "; its newest version is held until `reprise global putback`",
                    (true, true) => {
                        "; nothing of it is held, and no page of the store has its text"
                    }
                    (true, false) => {
                        "; nothing of it is held. Pages of the database still have its text: run \
                         VACUUM FULL reprise_global.thing, reprise_global.taken_down"
                    }
                });
                output::line(context, &done, line)?;
                Ok(if done.verified {
                    Exit::Success
                } else {
                    Exit::Refused
                })
            }
            OperateCommand::Putback { id, who } => {
                let (store, caller) = opened(context, who).await?;
                let done = store.put_back(&caller, *id).await?;
                let line = match &done.published {
                    Some(published) => format!("it is found again, as {}", published.id),
                    None => format!(
                        "nothing of it was held; {} may publish it again",
                        done.author
                    ),
                };
                output::line(context, &done, line)?;
                Ok(Exit::Success)
            }
            OperateCommand::Person(command) => person(context, command).await,
            OperateCommand::Migrate { dry_run, which } => migrate(context, *dry_run, which).await,
        }
    })
}

async fn list(context: &Context, who: &OperatorArguments, limit: usize) -> anyhow::Result<Exit> {
    let (store, caller) = opened(context, who).await?;
    let mut out = crate::printer::stdout();
    let mut offset = 0;
    while offset < limit {
        let page = ListPage {
            offset,
            limit: ListPage::after(offset).limit.min(limit - offset),
        };
        let listed = store.catalogue(&caller, page).await?;
        for one in &listed {
            if context.json {
                writeln!(out, "{}", serde_json::to_string(one)?)?;
                continue;
            }
            let (id, author, shelf) = (one.id, &one.author, &one.shelf);
            let title = terminal::one_line(&one.title, 60);
            let at = one.published_at.format("%Y-%m-%d %H:%M");
            writeln!(
                out,
                "{id}  {at}  {shelf}  by {author}, version {}  {title}",
                one.version
            )?;
        }
        if listed.len() < page.limit {
            break;
        }
        offset += listed.len();
    }
    Ok(Exit::Success)
}

async fn person(context: &Context, command: &PersonCommand) -> anyhow::Result<Exit> {
    let (user, which) = match command {
        PersonCommand::Export { user, which } | PersonCommand::Erase { user, which, .. } => {
            (user, which)
        }
    };
    let is_named = which.store.is_some() || which.database_url.is_some();
    let (store, caller) = if !is_named && context.config.global_service(user).is_some() {
        store::open(context, user)?
    } else {
        (beside(context, which).await?, Caller::new(user.clone()))
    };
    let PersonCommand::Erase { yes, .. } = command else {
        let mut out = crate::printer::stdout();
        for line in store.person(&caller).await? {
            writeln!(out, "{}", serde_json::to_string(&line)?)?;
        }
        return Ok(Exit::Success);
    };
    let question = format!("Delete everything of {user} in this store, for good?");
    let refusal = "nothing is deleted without a yes; export it first, then pass --yes";
    if !yes && !agreed(&question, refusal)? {
        return Ok(Exit::Refused);
    }
    let mut erased = store.erase_person(&caller).await?;
    let tokens = TokenFile::new(token::place(context));
    let tokens = ServiceTokens::new(Arc::new(tokens), None);
    erased.tokens += tokens.revoke_user(user)? as u64;
    let mut line = format!(
        "{} in {}, {} on branches, {} and {}, {}: deleted; {} of it found afterwards",
        counted(erased.things, "thing"),
        counted(erased.versions, "version"),
        erased.drafts,
        counted(erased.ratings, "rating"),
        counted(erased.reports, "report"),
        counted(erased.tokens, "token"),
        match erased.left {
            0 => "nothing".to_owned(),
            left => counted(left, "row"),
        }
    );
    if !erased.swept {
        line.push_str(
            ". Pages of the database still have its texts: run VACUUM FULL on the tables thing, \
             taken_down, authored and draft of reprise_global",
        );
    }
    output::line(context, &erased, line)?;
    Ok(if erased.left == 0 {
        Exit::Success
    } else {
        Exit::Refused
    })
}

async fn migrate(context: &Context, dry_run: bool, which: &WhichStore) -> anyhow::Result<Exit> {
    let Some(url) = &which.database_url else {
        bail!("a store in a folder has no tables; name the database with --database-url");
    };
    let mut out = crate::printer::stdout();
    let options = serve::database_options(context, which, url);
    let pending = PostgresStore::pending(&options).await?;
    for migration in &pending {
        if context.json {
            writeln!(
                out,
                "{}",
                json!({ "version": migration.number, "statements": migration.statements })
            )?;
        } else {
            let title = format!("-- migration {}, one transaction", migration.number);
            writeln!(out, "{title}\n{}", migration.statements.trim_end())?;
        }
    }
    if dry_run || pending.is_empty() {
        let count = counted(pending.len(), "migration");
        crate::cli::note(&format!("{count} to make; nothing was changed"));
        return Ok(Exit::Success);
    }
    serve::database(context, which, url).await?;
    crate::cli::note(&format!("{} made", counted(pending.len(), "migration")));
    Ok(Exit::Success)
}
