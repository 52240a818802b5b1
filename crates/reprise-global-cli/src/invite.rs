//! Invitations to the service: of one person, or of everybody whom a file names.

use std::collections::BTreeSet;
use std::io::Read;
use std::num::NonZeroU16;
use std::path::Path;

use chrono::{DateTime, TimeDelta, Utc};
use reprise_global::OrgId;
use reprise_server::{ServiceTokens, TokenError};
use reprise_types::format_minute_utc;

use crate::args::Granted;
use crate::grant::{new_audit_line, new_token};
use crate::prelude::*;

/// Longest file of people, in bytes.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Somebody to invite.
pub(crate) struct Invitee {
    /// Name of the token.
    pub(crate) name: String,
    pub(crate) user: UserId,
    pub(crate) org: Option<OrgId>,
}

/// What all invitations of one command have.
pub(crate) struct InvitationTerms<'a> {
    pub(crate) granted: &'a Granted,
    pub(crate) expires_hours: NonZeroU16,
    /// Address of the server.
    pub(crate) url: &'a str,
}

/// Invites one person after the other and prints each link. A person with a token of that name is
/// passed over, so that a file can be used again after more people were added.
pub(crate) async fn invite_people(
    context: &Context,
    tokens: &ServiceTokens,
    people: &[Invitee],
    terms: &InvitationTerms<'_>,
) -> anyhow::Result<Exit> {
    let now = SystemClock.now();
    let expires = now + TimeDelta::hours(terms.expires_hours.get().into());
    let mut made = 0;
    for invitee in people {
        match create_link(tokens, invitee, terms, (now, expires)).await {
            Ok(link) => {
                made += 1;
                let row = json!({ "link": link, "name": invitee.name, "user": invitee.user,
                    "expires": expires });
                let line = match people {
                    [_] => link,
                    _ => format!("{}  {link}", invitee.user),
                };
                output::line(context, &row, line)?;
            }
            Err(taken @ TokenError::Taken { .. }) if people.len() > 1 => {
                note(&format!("{} is not invited: {taken}", invitee.user));
            }
            Err(error) => return Err(error.into()),
        }
    }
    if made > 0 {
        note(&format!(
            "a link gives a token to the first who runs `reprise share join LINK`, until {}",
            format_minute_utc(expires)
        ));
    }
    Ok(Exit::Success)
}

async fn create_link(
    tokens: &ServiceTokens,
    invitee: &Invitee,
    terms: &InvitationTerms<'_>,
    (now, expires): (DateTime<Utc>, DateTime<Utc>),
) -> Result<String, TokenError> {
    let mut granted = terms.granted.clone();
    granted.org = invitee.org.clone().or(granted.org);
    let (new, said) = new_token(&invitee.name, &invitee.user, &granted, Some(expires));
    let line = new_audit_line(now, "invite", said, Some(invitee.user.clone()));
    let code = tokens.invite(new, line).await?;
    Ok(format!("{}/join#{code}", terms.url.trim_end_matches('/')))
}

/// Reads a file of people; nobody is invited if one of its lines is wrong.
pub(crate) fn read_people(file: &Path) -> anyhow::Result<Vec<Invitee>> {
    let mut text = String::new();
    let read = input::open(file)?.take(FILE_BYTES_MAX + 1);
    let length = { read }.read_to_string(&mut text)?;
    if length as u64 > FILE_BYTES_MAX {
        bail!("the file of people has more than {FILE_BYTES_MAX} bytes; invite them in parts");
    }
    let mut people: Vec<Invitee> = Vec::new();
    let mut names = BTreeSet::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let invitee = parse_person(line).map_err(|why| anyhow!("line {number}: {why}"))?;
        if !names.insert(invitee.name.clone()) {
            bail!(
                "line {number}: `{}` is there twice; remove one",
                invitee.name
            );
        }
        people.push(invitee);
    }
    if people.is_empty() {
        bail!("the file names nobody; write one user name per line");
    }
    Ok(people)
}

fn parse_person(line: &str) -> anyhow::Result<Invitee> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (name, org) = match words[..] {
        [name] => (name, None),
        [name, org] => (name, Some(org.parse()?)),
        _ => bail!(
            "it has {} words; write USER or USER ORGANISATION",
            words.len()
        ),
    };
    Ok(Invitee {
        name: name.to_owned(),
        user: name.parse()?,
        org,
    })
}
