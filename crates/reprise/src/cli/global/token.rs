//! `reprise global token`: who may ask the service of published knowledge, as whom, for what. Every
//! grant and withdrawal is a line of the audit log beside the tokens.

use std::path::PathBuf;

use anyhow::bail;
use chrono::{DateTime, Utc};
use reprise_global::AuditLine;
use reprise_server::{Grant, Right, Scope, TokenEntry, TokenFile};
use reprise_types::{Clock, SystemClock, UserId};
use serde_json::json;

use super::store;
use crate::args::{GlobalTokenCommand, May};
use crate::cli::store::make_folder;
use crate::cli::{Context, output};
use crate::env;
use crate::exit::Exit;

const TOKENS_NAME: &str = "tokens.json";

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

pub(super) fn run(context: &Context, command: &GlobalTokenCommand) -> anyhow::Result<Exit> {
    let tokens = TokenFile::new(file(context)?);
    let now = SystemClock.now();
    match command {
        GlobalTokenCommand::Add {
            name,
            user,
            org,
            paid,
            may,
        } => {
            let grant = Grant {
                org: org.as_ref().map(ToString::to_string),
                paid: *paid,
                may: may.iter().copied().map(Right::from).collect(),
            };
            let granted = format!("{name} {}", json!(grant));
            let token = tokens.add_with(name, Scope::User(user.clone()), Some(grant), now)?;
            tokens.audit(&line(now, "grant", granted, Some(user.clone())))?;
            output::line(context, &json!({ "token": token }), &token)?;
            crate::cli::note("keep it: only its hash is stored");
            Ok(Exit::Success)
        }
        GlobalTokenCommand::Revoke { name } => {
            let known = tokens.list()?.into_iter().find(|token| token.name == *name);
            let Some(known) = known else {
                bail!("there is no token `{name}`; `reprise global token list` names them");
            };
            let user = match known.scope {
                Scope::User(user) => Some(user),
                Scope::All => None,
            };
            tokens.revoke(name)?;
            tokens.audit(&line(now, "revoke", name.clone(), user.clone()))?;
            let line = format!("{name} opens nothing any more");
            output::line(context, &json!({ "revoked": name, "user": user }), line)
        }
        GlobalTokenCommand::List => {
            let row = |token: &TokenEntry| {
                json!({ "name": token.name, "user": token.scope, "grant": token.grant,
                    "created": token.created })
            };
            output::rows(context, tokens.list()?, row, |token| {
                let user = match &token.scope {
                    Scope::User(user) => user.as_str(),
                    Scope::All => "",
                };
                format!("{:<20} {user}  {}", token.name, json!(token.grant))
            })
        }
    }
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
        at,
        who: env::person(),
        what: what.to_owned(),
        id: None,
        version: None,
        name: Some(token),
        about,
    }
}
