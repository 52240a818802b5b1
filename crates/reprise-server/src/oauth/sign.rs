//! One sign-in under way: who asks, how far it is, and the code that a person types.

use chrono::{DateTime, Utc};
use data_encoding::HEXLOWER;
use reprise_types::{UserId, secret};

/// What a person reads and types: no vowels, so no words, and nothing that looks like another.
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
pub(super) const CODE_LETTERS: usize = 8;

#[derive(Debug)]
pub(super) enum Way {
    Browser {
        redirect: String,
        challenge: String,
        state: Option<String>,
    },
    Terminal {
        polled: Option<DateTime<Utc>>,
    },
}

#[derive(Debug)]
pub(super) enum Stage {
    Asked,
    Granted(UserId),
    Refused,
    /// A code is out.
    Coded {
        user: UserId,
        since: DateTime<Utc>,
    },
    /// It was exchanged, for the token of this name once that is made.
    Spent(Option<String>),
}

/// One sign-in under way. Of secrets only hashes are held.
#[derive(Debug)]
pub(super) struct Sign {
    /// Of what the browser or the terminal knows it by; once a code is out, of that.
    pub(super) hash: String,
    pub(super) code: String,
    pub(super) client_id: String,
    pub(super) client: String,
    pub(super) made: DateTime<Utc>,
    pub(super) way: Way,
    pub(super) stage: Stage,
}

impl Sign {
    pub(super) fn to(&self) -> String {
        match &self.way {
            Way::Browser { redirect, .. } => redirect.clone(),
            Way::Terminal { .. } => "a terminal".to_owned(),
        }
    }
}

/// Four letters, a stroke and four more; each letter is as likely as any other.
pub(super) fn user_code() -> std::io::Result<String> {
    let mut code = String::new();
    while code.len() < CODE_LETTERS {
        let random = HEXLOWER.decode(secret()?.as_bytes()).unwrap_or_default();
        let fair = random.into_iter().filter(|byte| *byte < 240);
        code.extend(fair.map(|byte| char::from(LETTERS[usize::from(byte) % LETTERS.len()])));
    }
    code.truncate(CODE_LETTERS);
    code.insert(CODE_LETTERS / 2, '-');
    Ok(code)
}
