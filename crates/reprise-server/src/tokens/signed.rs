//! Tokens that programs signed in for: they end, are renewed, and end at once where somebody else
//! renews them, too.

use chrono::{DateTime, TimeDelta, Utc};
use reprise_types::UserId;
use serde::{Deserialize, Serialize};

use super::{
    NewToken, PREFIX, Scope, TokenEntry, TokenError, TokenFile, changes, generate_token, hash,
};

/// How long a token that a program signed in for opens something.
const SIGNED_FOR: TimeDelta = TimeDelta::hours(1);
/// How long it can be renewed after it was last: who is away longer signs in again.
const RENEWED_FOR: TimeDelta = TimeDelta::days(60);
/// Most programs that are signed in.
const SIGNED_MAX: usize = 200;
/// Refresh tokens of one sign-in that are known as used.
const SPENT_MAX: usize = 16;

/// A sign-in of a program. Of its secrets only hashes are held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Signed {
    client: String,
    renewed_until: DateTime<Utc>,
    refresh: String,
    /// Those that were used before: one that comes again is in two hands.
    #[serde(default)]
    spent: Vec<String>,
}

/// What a program that signed in gets, this once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tokens {
    /// What the token is called.
    pub(crate) name: String,
    pub(crate) access: String,
    pub(crate) refresh: String,
    /// How long it opens something, in seconds.
    pub(crate) seconds: i64,
}

impl Tokens {
    /// New secrets of a sign-in.
    fn new(name: String) -> Result<Self, TokenError> {
        Ok(Self {
            name,
            access: generate_token(PREFIX)?,
            refresh: generate_token(PREFIX)?,
            seconds: SIGNED_FOR.num_seconds(),
        })
    }
}

impl TokenEntry {
    /// Whether a program signed in for it.
    pub(crate) fn is_signed_in(&self) -> bool {
        self.signed.is_some()
    }
}

impl TokenFile {
    /// Signs a program in: makes a token that ends, with one to renew it.
    pub(crate) fn sign_in(
        &self,
        program: &str,
        client_id: &str,
        user: UserId,
        now: DateTime<Utc>,
    ) -> Result<Tokens, TokenError> {
        let mut made = Tokens::new(String::new())?;
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let plain: String = program.chars().map(plain).take(32).collect();
        let salt: String = hash(&made.access).chars().take(8).collect();
        made.name = format!("oauth-{plain}-{salt}");
        let new = NewToken {
            name: made.name.clone(),
            scope: Scope::User(user),
            grant: None,
            expires: Some(now + SIGNED_FOR),
        };
        self.change(|entries| {
            // What nobody can renew any more makes room.
            entries.retain(|entry| {
                let signed = entry.signed.as_ref();
                signed.is_none_or(|signed| signed.renewed_until > now)
            });
            let signed = entries.iter().filter(|entry| entry.is_signed_in());
            if signed.count() >= SIGNED_MAX {
                return Err(TokenError::TooMany);
            }
            changes::add(entries, new, &made.access, now)?;
            if let Some(entry) = entries.last_mut() {
                entry.signed = Some(Signed {
                    client: hash(client_id),
                    renewed_until: now + RENEWED_FOR,
                    refresh: hash(&made.refresh),
                    spent: Vec::new(),
                });
            }
            Ok(())
        })?;
        Ok(made)
    }

    /// New tokens for a refresh token, which is of no use any more; `None` for one that is not
    /// known. One that was used before withdraws the sign-in.
    pub(crate) fn renew(
        &self,
        refresh: &str,
        client_id: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<Tokens>, TokenError> {
        let (mut made, wanted) = (Tokens::new(String::new())?, hash(refresh));
        let is_renewed = self.change(|entries| {
            entries.retain(|entry| {
                let signed = entry.signed.as_ref();
                signed.is_none_or(|signed| !signed.spent.contains(&wanted))
            });
            for entry in entries {
                let Some(signed) = &mut entry.signed else {
                    continue;
                };
                let is_own = signed.refresh == wanted && signed.client == hash(client_id);
                if !is_own || signed.renewed_until <= now {
                    continue;
                }
                let used = std::mem::replace(&mut signed.refresh, hash(&made.refresh));
                signed.spent.push(used);
                let most = signed.spent.len().saturating_sub(SPENT_MAX);
                signed.spent.drain(..most);
                signed.renewed_until = now + RENEWED_FOR;
                entry.sha256 = hash(&made.access);
                entry.expires = Some(now + SIGNED_FOR);
                made.name.clone_from(&entry.name);
                return Ok(true);
            }
            Ok(false)
        })?;
        Ok(is_renewed.then_some(made))
    }

    /// Withdraws the sign-in of this access or refresh token, where there is one.
    pub(crate) fn sign_out(&self, token: &str) -> Result<(), TokenError> {
        let wanted = hash(token);
        self.change(|entries| {
            entries.retain(|entry| {
                let signed = entry.signed.as_ref();
                signed.is_none_or(|one| one.refresh != wanted && entry.sha256 != wanted)
            });
            Ok(())
        })
    }
}
