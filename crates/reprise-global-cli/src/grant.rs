//! A token that is to be made, and what the audit log says of it.

use chrono::{DateTime, Utc};
use reprise::plugin::env;
use reprise_global::AuditLine;
use reprise_server::{Grant, NewToken, Right, Scope};

use crate::args::Granted;
use crate::prelude::*;

/// Returns a token to be made, and what the audit log says of it.
pub(crate) fn new_token(
    name: &str,
    user: &UserId,
    granted: &Granted,
    expires: Option<DateTime<Utc>>,
) -> (NewToken, String) {
    let grant = Grant {
        org: granted.org.as_ref().map(ToString::to_string),
        projects: granted.projects.clone(),
        paid: granted.paid,
        may: granted.may.iter().copied().map(Right::from).collect(),
    };
    let said = format!("{name} {}", json!(grant));
    let new = NewToken {
        name: name.to_owned(),
        scope: Scope::User(user.clone()),
        grant: Some(grant),
        expires,
    };
    (new, said)
}

/// A line of the audit log.
pub(crate) fn new_audit_line(
    at: DateTime<Utc>,
    what: &str,
    token: String,
    about: Option<UserId>,
) -> AuditLine {
    AuditLine {
        name: Some(token),
        about,
        ..AuditLine::new(at, env::operator_name(), what)
    }
}
