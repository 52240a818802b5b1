//! `reprise global open`: a one-time link that signs an operator's browser in to the server's page.

use chrono::TimeDelta;
use reprise_server::{Grant, NewToken, Right, Scope, generate_link_name};

use crate::args::GlobalOpenArguments;
use crate::grant::new_audit_line;
use crate::prelude::*;
use crate::token::{ensure_token_file_folder, open_tokens};

/// How long a link can be followed.
const LINK_MINUTES: u32 = 10;

pub(crate) fn run(context: &Context, arguments: &GlobalOpenArguments) -> anyhow::Result<Exit> {
    let GlobalOpenArguments { user, org, url, .. } = arguments;
    let now = SystemClock.now();
    let expires = now + TimeDelta::minutes(LINK_MINUTES.into());
    let new = NewToken {
        name: generate_link_name()?,
        scope: Scope::User(user.clone()),
        grant: Some(Grant {
            org: org.as_ref().map(ToString::to_string),
            projects: arguments.projects.clone(),
            paid: false,
            may: vec![Right::Read, Right::Review, Right::Operate],
        }),
        expires: Some(expires),
    };
    let line = new_audit_line(now, "sign_in_link", new.name.clone(), Some(user.clone()));
    let code = runtime::build_threaded()?.block_on(async {
        ensure_token_file_folder(context)?;
        let tokens = open_tokens(context, &arguments.place).await?;
        anyhow::Ok(tokens.create_sign_in(new, line).await?)
    })?;
    let link = format!("{}/admin/enter/{code}", url.trim_end_matches('/'));
    let row = json!({ "link": link, "user": user, "org": org, "expires": expires });
    output::line(context, &row, &link)?;
    let minutes = format_count(LINK_MINUTES, "minute");
    note(&format!(
        "one-time link; valid for {minutes}. It signs in {user}, for 12 hours"
    ));
    Ok(Exit::Success)
}
