//! The password of a URL, or a token as its user: `scheme://user:password@`.

use std::ops::Range;

use crate::proof::Placeholders;
use crate::text_parts::{prefix_of, shift_range};

/// Bytes of a URL in which user and password are searched for.
const URL_BYTES_MAX: usize = 512;

/// Finds the secret of the URL whose scheme ends at `at`.
pub(crate) fn find_url_secret(
    placeholders: &Placeholders,
    text: &str,
    at: usize,
) -> Option<Range<usize>> {
    let rest = prefix_of(text.get(at..)?, URL_BYTES_MAX);
    let ends =
        |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | '\\' | '|');
    let rest = &rest[..rest.find(ends).unwrap_or(rest.len())];
    // An `@` after `?` or `#`, or in a path after a port, does not follow a user.
    let before_query = rest.find(['?', '#']);
    let last = rest.rfind('@')?;
    let ats = rest.match_indices('@').map(|(found, _)| found);
    let mut before_it = ats.filter(|found| before_query.is_none_or(|query| *found < query));
    let user_end = before_it.next_back().unwrap_or(last);
    let user = rest.get(..user_end)?;
    let host = rest.get(user_end + 1..)?;
    if !host.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '[' | '$' | '{' | '_' | '('))
    {
        return None;
    }
    let secret = match user.split_once(':') {
        Some((name, _)) if name.contains(['/', '[']) => return None,
        Some((_, password)) => {
            let port = password.split('/').next().unwrap_or_default();
            let is_port = password.contains('/')
                && port.len() <= 5
                && port.bytes().all(|b| b.is_ascii_digit());
            if is_port {
                return None;
            }
            let name = user.len() - password.len() - 1;
            if password == "x-oauth-basic" || password.is_empty() || is_token_user(&user[..name]) {
                0..name
            } else {
                name + 1..user.len()
            }
        }
        None if is_token_user(user) => 0..user.len(),
        None => return None,
    };
    let value = user.get(secret.clone())?;
    let is_secret = placeholders.is_value(value);
    is_secret.then(|| shift_range(&secret, at))
}

/// Whether the user part of a URL is a token.
fn is_token_user(user: &str) -> bool {
    let written = user
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '~'));
    let digits = user.bytes().filter(u8::is_ascii_digit).count();
    user.len() >= 16 && written && digits >= 2 && user.bytes().any(|b| b.is_ascii_alphabetic())
}
