//! A sign-in under way: the program, its state, and the code that a person types.

use std::net::IpAddr;

use chrono::{DateTime, Utc};
use data_encoding::HEXLOWER;
use reprise_types::{UserId, generate_secret};

/// Letters of a user code: no vowels, so no words, and no two that look alike.
const LETTERS: &[u8; 20] = b"BCDFGHJKLMNPQRSTVWXZ";
pub(super) const CODE_LETTERS: usize = 8;

#[derive(Debug)]
pub(super) enum SignInFlow {
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
pub(super) enum SignInStage {
    Asked,
    Granted(UserId),
    Refused,
    /// A code was issued and not exchanged yet.
    Coded {
        user: UserId,
        since: DateTime<Utc>,
    },
    /// The code was exchanged, for the token of this name once it exists.
    Spent(Option<String>),
}

/// A sign-in under way; of secrets it holds only hashes.
#[derive(Debug)]
pub(super) struct PendingSignIn {
    /// Hash of the browser's or terminal's handle; of the code, once one was issued.
    pub(super) hash: String,
    pub(super) code: String,
    pub(super) client_id: String,
    pub(super) client: String,
    pub(super) created: DateTime<Utc>,
    /// The address of who asked.
    pub(super) from: IpAddr,
    pub(super) flow: SignInFlow,
    pub(super) stage: SignInStage,
}

impl PendingSignIn {
    /// Whether this address asked for it and nobody has decided yet.
    pub(super) fn is_asked_from(&self, address: IpAddr) -> bool {
        self.from == address && matches!(self.stage, SignInStage::Asked)
    }

    pub(super) fn destination(&self) -> String {
        match &self.flow {
            SignInFlow::Browser { redirect, .. } => redirect.clone(),
            SignInFlow::Terminal { .. } => "a terminal".to_owned(),
        }
    }
}

/// Generates a user code: four letters, a hyphen and four more, each letter equally likely.
pub(super) fn generate_user_code() -> std::io::Result<String> {
    let mut code = String::new();
    while code.len() < CODE_LETTERS {
        let random = HEXLOWER
            .decode(generate_secret()?.as_bytes())
            .unwrap_or_default();
        let fair = random.into_iter().filter(|byte| *byte < 240);
        code.extend(fair.map(|byte| char::from(LETTERS[usize::from(byte) % LETTERS.len()])));
    }
    code.truncate(CODE_LETTERS);
    code.insert(CODE_LETTERS / 2, '-');
    Ok(code)
}
