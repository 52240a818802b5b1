//! What is done to a list of tokens, wherever it is kept: the one rulebook of the token file and of
//! the database of a service.

use chrono::{DateTime, TimeDelta, Utc};
use reprise_types::UserId;

use super::{Earlier, Grant, Scope, TOKENS_MAX, TokenEntry, TokenError, hash, unknown_error};

/// A token, or an invitation, about to be made.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// What its maker calls it.
    pub name: String,
    pub scope: Scope,
    pub grant: Option<Grant>,
    pub expires: Option<DateTime<Utc>>,
}

/// Whether what has this hash opens what the entry says, at this moment.
pub(super) fn opens(entry: &TokenEntry, hash: &str, now: DateTime<Utc>) -> bool {
    let stands = entry.expires.is_none_or(|expires| now < expires);
    let earlier = entry.earlier.as_ref();
    let is_earlier = || earlier.is_some_and(|one| one.sha256 == hash && now < one.until);
    stands && !entry.is_invitation && (entry.sha256 == hash || is_earlier())
}

pub(super) fn add(
    entries: &mut Vec<TokenEntry>,
    new: NewToken,
    token: &str,
    now: DateTime<Utc>,
) -> Result<(), TokenError> {
    let NewToken {
        name,
        scope,
        grant,
        expires,
    } = new;
    if name.is_empty() || name.len() > 64 || !name.chars().all(|c| c.is_ascii_graphic()) {
        return Err(TokenError::Name);
    }
    // An invitation that nobody took in time makes room for the next one, and so does a sign-in
    // that has ended.
    entries.retain(|entry| {
        let is_kept = !entry.is_invitation && !entry.is_sign_in;
        is_kept || entry.expires.is_some_and(|end| now < end)
    });
    if entries.iter().any(|entry| entry.name == name) {
        return Err(TokenError::Taken { name });
    }
    if entries.len() >= TOKENS_MAX {
        return Err(TokenError::TooMany);
    }
    entries.push(TokenEntry {
        name,
        scope,
        grant,
        created: now,
        expires,
        earlier: None,
        is_invitation: false,
        is_sign_in: false,
        sha256: hash(token),
        signed: None,
    });
    Ok(())
}

/// The old one still opens for as long as `grace`.
pub(super) fn rotate(
    entries: &mut [TokenEntry],
    name: &str,
    token: &str,
    now: DateTime<Utc>,
    grace: TimeDelta,
) -> Result<(), TokenError> {
    let mut tokens = entries.iter_mut().filter(|entry| !entry.is_invitation);
    let entry = tokens.find(|entry| entry.name == name);
    let entry = entry.ok_or_else(|| unknown_error(name))?;
    let before = std::mem::replace(&mut entry.sha256, hash(token));
    entry.earlier = (grace > TimeDelta::zero()).then(|| Earlier {
        sha256: before,
        until: now + grace,
    });
    entry.created = now;
    Ok(())
}

pub(super) fn revoke(entries: &mut Vec<TokenEntry>, name: &str) -> Result<TokenEntry, TokenError> {
    let place = entries.iter().position(|entry| entry.name == name);
    Ok(entries.remove(place.ok_or_else(|| unknown_error(name))?))
}

/// Withdraws all of a user's; how many there were.
pub(super) fn revoke_user(entries: &mut Vec<TokenEntry>, user: &UserId) -> usize {
    let before = entries.len();
    entries.retain(|entry| !matches!(&entry.scope, Scope::User(own) if own == user));
    before - entries.len()
}

/// Returns a new name for the sign-in of a browser.
pub fn generate_link_name() -> std::io::Result<String> {
    let secret = reprise_types::generate_secret()?;
    Ok(format!("page-{}", secret.get(..12).unwrap_or_default()))
}

/// What an invitation gives to the first who shows it in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InvitationKind {
    /// A token, for a program.
    Token,
    /// A token that ends after [`SIGN_IN_TIME`], for a browser.
    SignIn,
}

/// How long a browser stays signed in.
const SIGN_IN_TIME: TimeDelta = TimeDelta::hours(12);

/// An invitation is a token that opens nothing, until `accept` puts another in its place.
pub(super) fn invite(
    entries: &mut Vec<TokenEntry>,
    (kind, new): (InvitationKind, NewToken),
    code: &str,
    now: DateTime<Utc>,
) -> Result<(), TokenError> {
    add(entries, new, code, now)?;
    if let Some(last) = entries.last_mut() {
        last.is_invitation = true;
        last.is_sign_in = kind == InvitationKind::SignIn;
    }
    Ok(())
}

/// The token that takes the place of an invitation: of the first who shows it in time.
pub(super) fn accept(
    entries: &mut [TokenEntry],
    (kind, code): (InvitationKind, &str),
    token: &str,
    now: DateTime<Utc>,
) -> Result<TokenEntry, TokenError> {
    let (code, is_sign_in) = (hash(code), kind == InvitationKind::SignIn);
    let is_open = |entry: &&mut TokenEntry| {
        entry.is_invitation
            && entry.is_sign_in == is_sign_in
            && entry.sha256 == code
            && entry.expires.is_some_and(|end| now < end)
    };
    let entry = entries.iter_mut().find(is_open);
    let entry = entry.ok_or(TokenError::NotInvited)?;
    (entry.sha256, entry.created) = (hash(token), now);
    entry.is_invitation = false;
    entry.expires = is_sign_in.then(|| now + SIGN_IN_TIME);
    Ok(entry.clone())
}

/// Withdraws the sign-in of a browser; a token that a program has stays.
pub(super) fn end_sign_in(entries: &mut Vec<TokenEntry>, name: &str) -> Result<(), TokenError> {
    let place = entries
        .iter()
        .position(|entry| entry.name == name && entry.is_sign_in);
    entries.remove(place.ok_or_else(|| unknown_error(name))?);
    Ok(())
}
