//! `reprise global token`: who may ask the service of published knowledge, as whom, for what. Every
//! grant and withdrawal is a line of the audit log beside the tokens.

use std::io::Write;
use std::path::PathBuf;

use fs_err::os::unix::fs::OpenOptionsExt;
use reprise_server::{Grant, Right, Scope, TokenFile};
use reprise_types::{Clock, SystemClock};
use serde_json::{Value, json};

use super::store;
use crate::args::{GlobalTokenCommand, May};
use crate::cli::Context;
use crate::exit::Exit;

const TOKENS_NAME: &str = "tokens.json";
const AUDIT_NAME: &str = "tokens.audit.jsonl";

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
            let line = json!({ "at": now, "what": "grant", "token": name, "user": user,
                "grant": grant });
            let token = tokens.add_with(name, Scope::User(user.clone()), Some(grant), now)?;
            said(context, &line)?;
            if context.json {
                writeln!(out, "{}", json!({ "token": token }))?;
            } else {
                writeln!(out, "{token}")?;
            }
            crate::cli::note("keep it: only its hash is stored");
        }
        GlobalTokenCommand::Revoke { name } => {
            tokens.revoke(name)?;
            said(
                context,
                &json!({ "at": now, "what": "revoke", "token": name }),
            )?;
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

/// Appends a line to the audit log; it is on disk afterwards.
fn said(context: &Context, line: &Value) -> anyhow::Result<()> {
    let mut options = fs_err::OpenOptions::new();
    options.create(true).append(true).mode(0o600);
    let mut file = options.open(store::folder(context).join(AUDIT_NAME))?;
    file.write_all(format!("{line}\n").as_bytes())?;
    Ok(file.sync_data()?)
}
