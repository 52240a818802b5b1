//! `reprise global token`: who may ask the service of published knowledge, as whom, for what. Every
//! grant and withdrawal is a line of the audit log beside the tokens.

use std::io::Write;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use reprise_global::AuditLine;
use reprise_server::{Grant, Right, Scope, TokenFile};
use reprise_types::{Clock, SystemClock};
use serde_json::json;

use super::store;
use crate::args::{GlobalTokenCommand, May};
use crate::cli::Context;
use crate::exit::Exit;

const TOKENS_NAME: &str = "tokens.json";

/// The tokens of the service of this data directory.
pub(super) fn file(context: &Context) -> anyhow::Result<PathBuf> {
    let folder = store::folder(context);
    fs_err::create_dir_all(&folder)?;
    Ok(folder.join(TOKENS_NAME))
}

pub(super) fn run(context: &Context, command: &GlobalTokenCommand) -> anyhow::Result<Exit> {
    let tokens = TokenFile::new(file(context)?);
    let now = SystemClock.now();
    let mut out = anstream::stdout().lock();
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
            tokens.audit(&line(now, "grant", &granted, user.as_str()))?;
            if context.json {
                writeln!(out, "{}", json!({ "token": token }))?;
            } else {
                writeln!(out, "{token}")?;
            }
            crate::cli::note("keep it: only its hash is stored");
        }
        GlobalTokenCommand::Revoke { name } => {
            let known = tokens.list()?.into_iter().find(|token| token.name == *name);
            let who = known.map_or_else(String::new, |token| match token.scope {
                Scope::User(user) => user.to_string(),
                Scope::All => String::new(),
            });
            tokens.revoke(name)?;
            tokens.audit(&line(now, "revoke", name, &who))?;
        }
        GlobalTokenCommand::List => {
            for token in tokens.list()? {
                let line = json!({ "name": token.name, "user": token.scope, "grant": token.grant,
                    "created": token.created });
                if context.json {
                    writeln!(out, "{line}")?;
                } else {
                    let Scope::User(user) = &token.scope else {
                        continue;
                    };
                    let grant = json!(token.grant);
                    writeln!(out, "{:<20} {user}  {grant}", token.name)?;
                }
            }
        }
    }
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
fn line(at: DateTime<Utc>, what: &str, token: &str, who: &str) -> AuditLine {
    AuditLine {
        at,
        who: who.to_owned(),
        what: what.to_owned(),
        id: None,
        version: None,
        name: Some(token.to_owned()),
    }
}
