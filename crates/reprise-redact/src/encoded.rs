//! Base64 and hexadecimal in a text whose content is text, in which a secret may be hidden.

use std::ops::Range;

use data_encoding::{BASE64_NOPAD, BASE64URL_NOPAD, HEXLOWER_PERMISSIVE};

/// Shortest run that is decoded: `KEY=value` in Base64.
const RUN_BYTES_MIN: usize = 20;

/// Finds the runs of Base64 or hexadecimal in `text` that decode to a text.
pub(crate) fn decode_runs(text: &str) -> impl Iterator<Item = (Range<usize>, String)> {
    let is_coded = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_');
    let mut at = 0;
    let runs = std::iter::from_fn(move || {
        let rest = &text[at..];
        let start = at + rest.find(is_coded)?;
        let rest = &text[start..];
        let length = rest.find(|c| !is_coded(c)).unwrap_or(rest.len());
        at = start + length;
        Some(start..at)
    });
    let runs = runs.filter(|run| run.len() >= RUN_BYTES_MIN);
    runs.filter_map(|run| {
        let whole = text.get(run.clone())?;
        let plain = decode_run(whole)?;
        let padding = text[run.end..].bytes().take_while(|b| *b == b'=').count();
        Some((run.start..run.end + padding.min(2), plain))
    })
}

fn decode_run(run: &str) -> Option<String> {
    // Of a run that was cut the whole groups are decoded.
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
    let is_printable = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    plain.chars().all(is_printable).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_text_in_base64_is_read() {
        let line = "DB_PASSWORD=correct7horse";
        let base64 = data_encoding::BASE64.encode(line.as_bytes());
        let text = format!("x {base64} and iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB or crates/reprise/src");
        let found: Vec<_> = decode_runs(&text).collect();
        assert_eq!(found, [(2..2 + base64.len(), line.to_owned())]);
    }
}
