//! `reprise global token` and `join`: who may ask the service of published knowledge, as whom, for
//! what, until when. Every grant and withdrawal is a line of the audit log beside the tokens.

use std::num::NonZeroU16;

use reprise_global::AuditLine;
use reprise_redact::{Outbound, is_plain_to_another};
use reprise_server::{Grant, KnownToken, NewToken, Right, Scope, ServiceTokens, TokenFile};
use reprise_types::to_the_minute;

use super::{serve, store};
use crate::args::{GlobalTokenArguments, GlobalTokenCommand, Granted, May, WhichStore};
use crate::cli::prelude::*;
use crate::cli::store::make_folder;
use crate::{env, outbound};

const TOKENS_NAME: &str = "tokens.json";
/// How long the service of an invitation may take, and its longest answer.
const JOIN: Duration = Duration::from_secs(15);
const JOINED_BYTES_MAX: u64 = 64 * 1024;

/// The tokens of the service of this data directory.
pub(super) fn file(context: &Context) -> anyhow::Result<PathBuf> {
    let file = place(context);
    make_folder(&file)?;
    Ok(file)
}

/// Where they are, or will be.
pub(super) fn place(context: &Context) -> PathBuf {
    store::folder(context).join(TOKENS_NAME)
}

pub(super) fn run(context: &Context, arguments: &GlobalTokenArguments) -> anyhow::Result<Exit> {
    runtime::threaded()?.block_on(async {
        let which = WhichStore {
            store: None,
            database_url: arguments.database_url.clone(),
            database_authority: arguments.database_authority.clone(),
            database_as_owner: arguments.database_as_owner,
            connections: NonZeroU16::MIN,
        };
        let database = match &which.database_url {
            Some(url) => Some(serve::database(context, &which, url).await?),
            None => None,
        };
        let file = Arc::new(TokenFile::new(file(context)?));
        let tokens = ServiceTokens::new(file, database);
        done(context, &tokens, &arguments.command).await
    })
}

async fn done(
    context: &Context,
    tokens: &ServiceTokens,
    command: &GlobalTokenCommand,
) -> anyhow::Result<Exit> {
    let now = SystemClock.now();
    match command {
        GlobalTokenCommand::Add {
            name,
            granted,
            expires_days,
        } => {
            let expires = expires_days.map(|days| now + TimeDelta::days(days.into()));
            let (new, said) = new_token(name, granted, expires);
            let line = line(now, "grant", said, Some(granted.user.clone()));
            let token = tokens.add(new, line).await?;
            output::line(
                context,
                &json!({ "token": token, "expires": expires }),
                &token,
            )?;
            note("keep it: only its hash is stored");
        }
        GlobalTokenCommand::Invite {
            name,
            granted,
            expires_hours,
            url,
        } => {
            let expires = now + TimeDelta::hours(expires_hours.get().into());
            let (new, said) = new_token(name, granted, Some(expires));
            let line = line(now, "invite", said, Some(granted.user.clone()));
            let code = tokens.invite(new, line).await?;
            let link = format!("{}/join#{code}", url.trim_end_matches('/'));
            output::line(context, &json!({ "link": link, "expires": expires }), &link)?;
            tell!(
                "it gives a token to the first who runs `reprise global join LINK`, until {}",
                to_the_minute(expires)
            );
        }
        GlobalTokenCommand::Rotate { name, grace_hours } => {
            let grace = TimeDelta::hours((*grace_hours).into());
            let line = line(now, "rotate", name.clone(), None);
            let token = tokens.rotate(name, grace, line).await?;
            let until = now + grace;
            let row = json!({ "token": token, "old_until": until });
            output::line(context, &row, &token)?;
            let until = to_the_minute(until);
            tell!("the old one opens until {until}");
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
            let line = line(now, "revoke", name.clone(), user.clone());
            tokens.revoke(name, line).await?;
            let line = format!("{name} opens nothing any more");
            output::line(context, &json!({ "revoked": name, "user": user }), line)?;
        }
        GlobalTokenCommand::List => return list(context, tokens.list().await?),
    }
    Ok(Exit::Success)
}

fn new_token(name: &str, granted: &Granted, expires: Option<DateTime<Utc>>) -> (NewToken, String) {
    let grant = Grant {
        org: granted.org.as_ref().map(ToString::to_string),
        paid: granted.paid,
        may: granted.may.iter().copied().map(Right::from).collect(),
    };
    let said = format!("{name} {}", json!(grant));
    let new = NewToken {
        name: name.to_owned(),
        scope: Scope::User(granted.user.clone()),
        grant: Some(grant),
        expires,
    };
    (new, said)
}

fn list(context: &Context, tokens: Vec<KnownToken>) -> anyhow::Result<Exit> {
    let row = |token: &KnownToken| {
        let entry = &token.entry;
        json!({ "name": entry.name, "user": entry.scope, "grant": entry.grant,
            "created": entry.created, "expires": entry.expires, "used": token.used,
            "invitation": entry.is_invitation, "in_database": token.is_shared })
    };
    let is_of_user = |token: &KnownToken| matches!(token.entry.scope, Scope::User(_));
    let shown = tokens.into_iter();
    let shown = shown.filter(|token| context.json || is_of_user(token));
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

/// Takes an invitation up, and says what to write into the configuration.
pub(super) fn join(context: &Context, link: &str) -> anyhow::Result<Exit> {
    let found = link.split_once("/join#");
    let (url, code) = found.context("an invitation is a link with `/join#`; copy all of it")?;
    if is_plain_to_another(url) && !context.config.global.allow_plain_http {
        bail!(
            "{url} is plain HTTP to another machine, where the token can be read on its way; ask for \
             an https:// link, or set `allow_plain_http = true` under [global] if the way is safe"
        );
    }
    let request = ureq::http::Request::builder()
        .method(ureq::http::Method::POST)
        .uri(format!("{url}/v1/invitations"))
        .header("authorization", format!("Bearer {code}"))
        .body(Outbound::nothing())
        .context("the link is no address; copy all of it")?;
    let answer = outbound::answer(&outbound::agent(), request, JOIN, JOINED_BYTES_MAX);
    let (status, answer) =
        answer.with_context(|| format!("{url} does not answer; try again later"))?;
    let said: Value = serde_json::from_slice(&answer).unwrap_or_default();
    let text = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
    let (user, token) = (text("user"), text("token"));
    if status != 200 || token.is_empty() {
        let detail = text("detail");
        bail!("{url} gave no token ({status}); {detail}");
    }
    let lines = format!("[global]\nurl = \"{url}\"\n\n[global.tokens]\n{user} = \"{token}\"");
    output::line(context, &said, lines)?;
    let file = context.places.config.display();
    tell!("put these lines into {file}: the token is shown this once");
    Ok(Exit::Success)
}

impl From<May> for Right {
    fn from(may: May) -> Self {
        match may {
            May::Read => Self::Read,
            May::Write => Self::Write,
            May::Operate => Self::Operate,
        }
    }
}

/// A line of the audit log.
fn line(at: DateTime<Utc>, what: &str, token: String, about: Option<UserId>) -> AuditLine {
    AuditLine {
        name: Some(token),
        about,
        ..AuditLine::new(at, env::person(), what)
    }
}
