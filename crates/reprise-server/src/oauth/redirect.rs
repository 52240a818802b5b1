//! Where codes may go: addresses that a program registered, to the letter but for the port of its
//! own machine (RFC 8252).

use crate::client::encoded;

/// Longest address, in bytes.
const ADDRESS_BYTES_MAX: usize = 512;
/// Schemes of a program's own that would do something in a browser.
const NO_REDIRECTS: [&str; 7] = [
    "javascript",
    "data",
    "file",
    "vbscript",
    "about",
    "blob",
    "ws",
];

/// What a program asks a token for: this daemon, or something in it.
pub(super) fn is_ours(resource: &str, base: &str) -> bool {
    let rest = resource.strip_prefix(base);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// An address that codes may be sent to.
pub(super) fn is_redirect(uri: &str) -> bool {
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '#' | '\\' | '"' | '<' | '>');
    if uri.len() > ADDRESS_BYTES_MAX || !uri.chars().all(plain) {
        return false;
    }
    match uri.split_once(':') {
        Some(("https", rest)) => {
            let host = rest
                .strip_prefix("//")
                .and_then(|rest| rest.split(['/', '?']).next());
            host.is_some_and(|host| !host.is_empty() && !host.contains('@'))
        }
        Some(("http", _)) => loopback(uri).is_some(),
        Some((scheme, rest)) => {
            let named = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c);
            scheme.starts_with(|c: char| c.is_ascii_lowercase())
                && scheme.chars().all(named)
                && !NO_REDIRECTS.contains(&scheme)
                && !rest.is_empty()
        }
        None => false,
    }
}

/// Host and rest of an address on the program's own machine, where the port may be any (RFC 8252).
fn loopback(uri: &str) -> Option<(&str, &str)> {
    let rest = uri.strip_prefix("http://")?;
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port),
        _ => (authority, ""),
    };
    let is_port = port.is_empty() || port.parse::<u16>().is_ok();
    let is_own = matches!(host, "127.0.0.1" | "[::1]" | "localhost");
    (is_own && is_port).then_some((host, path))
}

/// To the letter, or another port of the same machine.
pub(super) fn is_same(registered: &str, asked: &str) -> bool {
    registered == asked
        || is_redirect(asked)
            && loopback(registered).is_some_and(|own| loopback(asked) == Some(own))
}

/// A registered address with what is told to it.
pub(super) fn back(redirect: &str, fields: &[(&str, &str)], state: Option<&str>) -> String {
    let mut to = redirect.to_owned();
    let state = state.map(|state| ("state", state));
    for (name, value) in fields.iter().copied().chain(state) {
        to.push(if to.contains('?') { '&' } else { '?' });
        to.push_str(name);
        to.push('=');
        to.push_str(&encoded(value));
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_the_registered_one_or_the_same_machine_on_another_port() {
        for good in [
            "https://claude.ai/api/mcp/auth_callback",
            "http://127.0.0.1/callback",
            "http://localhost:3334/oauth/callback",
            "http://[::1]:80/x?y=1",
            "cursor://anysphere.cursor-mcp/oauth/callback",
            "com.example.app:/done",
        ] {
            assert!(is_redirect(good) && is_same(good, good), "{good}");
        }
        for bad in [
            "http://example.org/callback",
            "http://127.0.0.1.example.org/",
            "http://127.0.0.1@example.org/",
            "http://127.0.0.1:80@example.org/",
            "http://localhost:99999999/",
            "https://",
            "https:///x",
            "https://claude.ai@example.org/",
            "https://claude.ai/#x",
            "https://claude.ai\\@example.org/",
            "https://claude.ai/ x",
            "https://claude.ai/\r\nSet-Cookie: a",
            "javascript:alert(1)",
            "data:text/html,x",
            "JavaScript:alert(1)",
            "//example.org/",
            "callback",
            "",
        ] {
            assert!(!is_redirect(bad), "{bad}");
        }
        assert!(is_same("http://127.0.0.1/cb", "http://127.0.0.1:51004/cb"));
        for (own, other) in [
            ("http://127.0.0.1/cb", "http://127.0.0.1:1/other"),
            ("http://127.0.0.1/cb", "http://localhost/cb"),
            ("http://127.0.0.1/cb", "http://127.0.0.1:1/cb?x=1"),
            ("https://a.example/cb", "https://a.example:444/cb"),
            ("https://a.example/cb", "https://a.example/cb/"),
            (
                "https://a.example/cb",
                "https://a.example/cb?next=https://b.example",
            ),
        ] {
            assert!(!is_same(own, other), "{own} {other}");
        }
        let to = back(
            "https://a.example/cb?x=1",
            &[("code", "a b")],
            Some("&state="),
        );
        assert_eq!(to, "https://a.example/cb?x=1&code=a%20b&state=%26state%3D");
    }

    #[test]
    fn a_token_is_asked_for_this_daemon_alone() {
        let base = "https://memory.example";
        assert!(is_ours(base, base) && is_ours("https://memory.example/mcp", base));
        for other in [
            "https://memory.example.org/mcp",
            "https://other.example",
            "",
        ] {
            assert!(!is_ours(other, base), "{other}");
        }
    }
}
