//! Redirect addresses: codes go only to an address that a program registered, letter for letter,
//! except for the port of a loopback address (RFC 8252).

use crate::client::percent_encode;

/// Longest address, in bytes.
const ADDRESS_BYTES_MAX: usize = 512;
/// Schemes of known programs. Any other is named after a domain (RFC 8252, 7.1): a browser or the
/// system would act on many of the rest.
const PROGRAM_SCHEMES: [&str; 14] = [
    "chatgpt",
    "claude",
    "cursor",
    "goose",
    "jetbrains",
    "kiro",
    "lmstudio",
    "raycast",
    "trae",
    "vscode",
    "vscode-insiders",
    "warp",
    "windsurf",
    "zed",
];

/// Returns whether a resource is this daemon or something in it.
pub(super) fn is_own_resource(resource: &str, base: &str) -> bool {
    let rest = resource.strip_prefix(base);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns whether codes may be sent to an address.
pub(super) fn is_allowed_redirect(uri: &str) -> bool {
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
        Some(("http", _)) => split_loopback(uri).is_some(),
        Some((scheme, rest)) => {
            let named = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c);
            scheme.starts_with(|c: char| c.is_ascii_lowercase())
                && scheme.chars().all(named)
                && (scheme.contains('.') || PROGRAM_SCHEMES.contains(&scheme))
                && !rest.is_empty()
        }
        None => false,
    }
}

/// Splits a loopback address into its host and its path; the port may be any (RFC 8252).
fn split_loopback(uri: &str) -> Option<(&str, &str)> {
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

/// Returns whether an address is the registered one, or a loopback address on another port.
pub(super) fn matches_registered(registered: &str, asked: &str) -> bool {
    registered == asked
        || is_allowed_redirect(asked)
            && split_loopback(registered).is_some_and(|own| split_loopback(asked) == Some(own))
}

/// Builds a redirect address with parameters and the `state`.
pub(super) fn redirect_url(redirect: &str, fields: &[(&str, &str)], state: Option<&str>) -> String {
    let mut to = redirect.to_owned();
    let state = state.map(|state| ("state", state));
    for (name, value) in fields.iter().copied().chain(state) {
        to.push(if to.contains('?') { '&' } else { '?' });
        to.push_str(name);
        to.push('=');
        to.push_str(&percent_encode(value));
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
            assert!(
                is_allowed_redirect(good) && matches_registered(good, good),
                "{good}"
            );
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
            "ms-msdt:/id",
            "mailto:eve@example.org",
            "jar:https://a.example/x",
            "search-ms:query=x",
            "view-source:https://a.example/",
            "myapp://callback",
            "//example.org/",
            "callback",
            "",
        ] {
            assert!(!is_allowed_redirect(bad), "{bad}");
        }
        assert!(matches_registered(
            "http://127.0.0.1/cb",
            "http://127.0.0.1:51004/cb"
        ));
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
            assert!(!matches_registered(own, other), "{own} {other}");
        }
        let to = redirect_url(
            "https://a.example/cb?x=1",
            &[("code", "a b")],
            Some("&state="),
        );
        assert_eq!(to, "https://a.example/cb?x=1&code=a%20b&state=%26state%3D");
    }

    #[test]
    fn a_token_is_asked_for_this_daemon_alone() {
        let base = "https://memory.example";
        assert!(is_own_resource(base, base) && is_own_resource("https://memory.example/mcp", base));
        for other in [
            "https://memory.example.org/mcp",
            "https://other.example",
            "",
        ] {
            assert!(!is_own_resource(other, base), "{other}");
        }
    }
}
