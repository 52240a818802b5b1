//! Base64 and hexadecimal in a text whose content is text: a secret may stand in it.

use std::ops::Range;

use data_encoding::{BASE64_NOPAD, BASE64URL_NOPAD, HEXLOWER_PERMISSIVE};

/// Shortest run that is decoded: `KEY=value` in Base64.
const RUN_BYTES_MIN: usize = 20;

/// Runs of Base64 in `text` with the texts they hold.
pub(crate) fn encoded(text: &str) -> impl Iterator<Item = (Range<usize>, String)> {
    let written = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_');
    let mut at = 0;
    let runs = std::iter::from_fn(move || {
        let rest = &text[at..];
        let start = at + rest.find(written)?;
        let rest = &text[start..];
        let length = rest.find(|c| !written(c)).unwrap_or(rest.len());
        at = start + length;
        Some(start..at)
    });
    let runs = runs.filter(|run| run.len() >= RUN_BYTES_MIN);
    runs.filter_map(|run| {
        let whole = text.get(run.clone())?;
        let plain = decoded(whole)?;
        let padding = text[run.end..].bytes().take_while(|b| *b == b'=').count();
        Some((run.start..run.end + padding.min(2), plain))
    })
}

fn decoded(run: &str) -> Option<String> {
    // A run that was cut holds what its whole groups hold.
    let whole = run.len() - usize::from(run.len() % 4 == 1);
    let mut run = run.as_bytes().get(..whole)?.to_vec();
    let is_url = run.iter().any(|b| matches!(b, b'-' | b'_'));
    let coding = if is_url {
        &BASE64URL_NOPAD
    } else {
        &BASE64_NOPAD
    };
    let mut plain = coding.decode(&run);
    if run.len() % 2 == 0 && run.iter().all(u8::is_ascii_hexdigit) {
        plain = HEXLOWER_PERMISSIVE.decode(&run);
    }
    if plain.is_err() && run.len() % 4 != 0 {
        run.truncate(run.len() / 4 * 4);
        plain = coding.decode(&run);
    }
    let plain = String::from_utf8(plain.ok()?).ok()?;
    let shown = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    plain.chars().all(shown).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_text_in_base64_is_read() {
        let line = "DB_PASSWORD=correct7horse";
        let written = data_encoding::BASE64.encode(line.as_bytes());
        let text =
            format!("x {written} and iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB or crates/reprise/src");
        let found: Vec<_> = encoded(&text).collect();
        assert_eq!(found, [(2..2 + written.len(), line.to_owned())]);
    }
}
