//! `reprise global token`: who may ask the service of published knowledge, as whom, for
//! what, until when. Every grant and withdrawal is a line of the audit log next to the tokens.

use std::num::NonZeroU16;

use chrono::{DateTime, TimeDelta, Utc};
use reprise::plugin::make_folder;
use reprise_global::{AwaitedHandle, ProjectId, SharedTokens};
use reprise_server::{KnownToken, Right, Scope, ServiceTokens, TokenFile};
use reprise_types::format_minute_utc;

use crate::args::{GlobalTokenArguments, GlobalTokenCommand, May, TokenStoreArguments, WhichStore};
use crate::database;
use crate::grant::{new_audit_line, new_token};
use crate::invite::{self, InvitationTerms, Invitee};
use crate::prelude::*;

const TOKENS_NAME: &str = "tokens.json";

/// The tokens of the service of this data directory.
pub(crate) fn ensure_token_file_folder(context: &Context) -> anyhow::Result<PathBuf> {
    let file = file_path(context);
    make_folder(&file)?;
    Ok(file)
}

/// Where they are, or will be.
pub(crate) fn file_path(context: &Context) -> PathBuf {
    global::folder(context).join(TOKENS_NAME)
}

pub(crate) fn run(context: &Context, arguments: &GlobalTokenArguments) -> anyhow::Result<Exit> {
    runtime::build_threaded()?.block_on(async {
        ensure_token_file_folder(context)?;
        let tokens = open_tokens(context, &arguments.place).await?;
        run_command(context, &tokens, &arguments.command).await
    })
}

/// Opens the tokens of the database that is named, with those of the file of this machine.
pub(crate) async fn open_tokens(
    context: &Context,
    place: &TokenStoreArguments,
) -> anyhow::Result<ServiceTokens> {
    let which = WhichStore {
        store: None,
        database_url: place.url.clone(),
        database_authority: place.authority.clone(),
        database_as_owner: place.as_owner,
        connections: NonZeroU16::MIN,
    };
    open_tokens_of(context, &which).await
}

/// Opens the tokens of the store that is meant.
pub(crate) async fn open_tokens_of(
    context: &Context,
    which: &WhichStore,
) -> anyhow::Result<ServiceTokens> {
    let database: Option<AwaitedHandle<dyn SharedTokens>> = match &which.database_url {
        Some(url) => {
            let database = database::open_database(context, which, url).await?;
            Some(AwaitedHandle::from_value(Arc::new(database)))
        }
        None => None,
    };
    let file = Arc::new(TokenFile::new(file_path(context)));
    Ok(ServiceTokens::new(file, database))
}

/// `reprise global members`: the people who have tokens or invitations.
pub(crate) fn list_members(context: &Context, place: &TokenStoreArguments) -> anyhow::Result<Exit> {
    let members = runtime::build_threaded()?.block_on(async {
        let tokens = open_tokens(context, place).await?;
        anyhow::Ok(tokens.list_members().await?)
    })?;
    output::note_if_empty(
        context,
        &members,
        "nobody has a token; `reprise global token invite` invites somebody",
    );
    output::list(context, &members, |member| {
        let org = member.org.as_deref().unwrap_or("-");
        let may = json!(member.may);
        let used = member.used.map_or_else(
            || "never used".to_owned(),
            |at| format!("used {}", format_minute_utc(at)),
        );
        let mut line = format!("{:<20} {org:<12} {may}", member.user.as_str());
        if !member.projects.is_empty() {
            let projects = member.projects.iter().map(ProjectId::as_str);
            let projects = projects.collect::<Vec<_>>().join(", ");
            line = format!("{line}  in {projects}");
        }
        if member.tokens > 0 {
            let tokens = format_count(member.tokens, "token");
            line = format!("{line}  {tokens}, {used}");
        }
        if member.invitations > 0 {
            line.push_str("  invited");
        }
        line
    })
}

async fn run_command(
    context: &Context,
    tokens: &ServiceTokens,
    command: &GlobalTokenCommand,
) -> anyhow::Result<Exit> {
    let now = SystemClock.now();
    match command {
        GlobalTokenCommand::Add {
            name,
            user,
            granted,
            expires_days,
        } => {
            let expires = expires_days.map(|days| now + TimeDelta::days(days.get().into()));
            let (new, said) = new_token(name, user, granted, expires);
            let line = new_audit_line(now, "grant", said, Some(user.clone()));
            let token = tokens.add(new, line).await?;
            output::line(
                context,
                &json!({ "token": token, "expires": expires }),
                &token,
            )?;
            note("write it down: only its hash is stored");
        }
        GlobalTokenCommand::Invite {
            name,
            user,
            from,
            granted,
            expires_hours,
            url,
        } => {
            let people = match (name, user, from) {
                (_, _, Some(file)) => invite::read_people(file)?,
                (Some(name), Some(user), None) => vec![Invitee {
                    name: name.clone(),
                    user: user.clone(),
                    org: None,
                }],
                _ => bail!("name somebody: NAME and --user, or --from FILE"),
            };
            let terms = InvitationTerms {
                granted,
                expires_hours: *expires_hours,
                url,
            };
            return invite::invite_people(context, tokens, &people, &terms).await;
        }
        GlobalTokenCommand::Rotate { name, grace_hours } => {
            let grace = TimeDelta::hours((*grace_hours).into());
            let line = new_audit_line(now, "rotate", name.clone(), None);
            let token = tokens.rotate(name, grace, line).await?;
            let until = now + grace;
            let row = json!({ "token": token, "old_until": until });
            output::line(context, &row, &token)?;
            let until = format_minute_utc(until);
            note(&format!("the old token works until {until}"));
        }
        GlobalTokenCommand::Revoke { name } => {
            let known = tokens.list().await?;
            let known = known.into_iter().find(|known| known.entry.name == *name);
            let Some(known) = known else {
                bail!("there is no token `{name}`; `reprise global token list` names them");
            };
            let user = match known.entry.scope {
                Scope::User(user) => Some(user),
                Scope::All => None,
            };
            let line = new_audit_line(now, "revoke", name.clone(), user.clone());
            tokens.revoke(name, line).await?;
            let line = format!("token `{name}` is revoked");
            output::line(context, &json!({ "revoked": name, "user": user }), line)?;
        }
        GlobalTokenCommand::List => return print_tokens(context, tokens.list().await?),
    }
    Ok(Exit::Success)
}

fn print_tokens(context: &Context, tokens: Vec<KnownToken>) -> anyhow::Result<Exit> {
    let row = |token: &KnownToken| {
        let entry = &token.entry;
        json!({ "name": entry.name, "user": entry.scope, "grant": entry.grant,
            "created": entry.created, "expires": entry.expires, "used": token.used,
            "invitation": entry.is_invitation, "in_database": token.is_shared })
    };
    let is_of_user = |token: &KnownToken| matches!(token.entry.scope, Scope::User(_));
    let shown = tokens.into_iter();
    let shown = shown.filter(|token| context.json || is_of_user(token));
    let shown: Vec<KnownToken> = shown.collect();
    output::note_if_empty(
        context,
        &shown,
        "no tokens yet; `reprise global token add` makes one",
    );
    output::rows(context, shown, row, |KnownToken { entry, used, .. }| {
        let day = |at: DateTime<Utc>| at.format("%Y-%m-%d %H:%M").to_string();
        let used = used.map_or_else(|| "never used".to_owned(), |at| format!("used {}", day(at)));
        let ends = entry.expires.map(|at| format!(", until {}", day(at)));
        let what = if entry.is_invitation {
            "invitation"
        } else {
            &used
        };
        let (name, grant, ends) = (&entry.name, json!(entry.grant), ends.unwrap_or_default());
        let user = match &entry.scope {
            Scope::User(user) => user.as_str(),
            Scope::All => "",
        };
        format!("{name:<20} {user}  {grant}  {what}{ends}")
    })
}

impl From<May> for Right {
    fn from(may: May) -> Self {
        match may {
            May::Read => Self::Read,
            May::Write => Self::Write,
            May::Review => Self::Review,
            May::Operate => Self::Operate,
        }
    }
}
