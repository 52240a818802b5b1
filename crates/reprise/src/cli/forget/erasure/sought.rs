//! Forgotten texts as files of other forms may have them: as they are, as JSON writes them, and cut
//! where a form escapes, folds or pages.

use std::io::Read;

use super::search::{BYTES_MIN, Needles};
use crate::cli::prelude::*;

/// Bytes of a piece: less than what any form has on a line.
const PIECE: std::ops::RangeInclusive<usize> = 16..=32;
/// Pieces of one text that are looked for.
const PIECES_MAX: usize = 16;

pub(super) struct Sought(Vec<Text>);

struct Text {
    records: usize,
    /// Any of them is the text.
    whole: BTreeSet<String>,
    /// Half of them are.
    pieces: BTreeSet<String>,
}

impl Sought {
    pub(super) fn of(texts: &BTreeMap<String, Vec<RecordId>>) -> Self {
        let texts = texts.iter().flat_map(|(text, ids)| {
            if text.len() < BYTES_MIN {
                return ids.iter().map(Text::by_id).collect();
            }
            vec![Text {
                records: ids.len(),
                whole: BTreeSet::from([text.clone(), quoted(text)]),
                pieces: pieces(text),
            }]
        });
        Self(texts.collect())
    }

    /// What [`Self::count_in`] looks for: made once for all files.
    pub(super) fn needles(&self) -> Needles<'_> {
        let all = self
            .0
            .iter()
            .flat_map(|text| text.whole.iter().chain(&text.pieces));
        let all: BTreeSet<&str> = all.map(String::as_str).collect();
        Needles::new(all.into_iter())
    }

    /// Looks no more for what others say.
    pub(super) fn leave_out(&mut self, said: &BTreeSet<String>) {
        for text in &mut self.0 {
            text.whole.retain(|one| !said.contains(one));
            text.pieces.retain(|one| !said.contains(one));
        }
    }

    /// How many of the records stand in what is read.
    pub(super) fn count_in(
        &self,
        needles: &Needles<'_>,
        file: &mut impl Read,
    ) -> io::Result<usize> {
        let found = needles.find_in(file)?;
        let is_there = |one: &String| found.contains(one.as_str());
        let held = self.0.iter().filter(|text| {
            let pieces = text.pieces.iter().filter(|piece| is_there(piece)).count();
            text.whole.iter().any(is_there) || pieces > 0 && pieces * 2 >= text.pieces.len()
        });
        Ok(held.map(|text| text.records).sum())
    }
}

impl Text {
    /// A text so short that it stands anywhere is known by what our own forms call its record.
    fn by_id(id: &RecordId) -> Self {
        Self {
            records: 1,
            whole: BTreeSet::from([format!("\"id\":\"{id}\""), format!("id: {id}")]),
            pieces: BTreeSet::new(),
        }
    }
}

fn quoted(text: &str) -> String {
    let json = Value::from(text).to_string();
    json[1..json.len() - 1].to_owned()
}

/// The parts of a text that every form writes as they are.
fn pieces(text: &str) -> BTreeSet<String> {
    let plain = text.split(|c: char| c.is_control() || "\"'\\".contains(c));
    let cut = plain.map(str::trim).flat_map(|mut rest| {
        let mut pieces = Vec::new();
        while rest.len() >= *PIECE.start() && pieces.len() < PIECES_MAX {
            let (piece, then) = rest.split_at(rest.floor_char_boundary(*PIECE.end()));
            pieces.push(piece.to_owned());
            rest = then;
        }
        pieces
    });
    cut.filter(|piece| piece.len() >= *PIECE.start())
        .take(PIECES_MAX)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(texts: &[&str], file: &str) -> usize {
        let ids = || vec![RecordId::from_u128(7)];
        let texts = texts.iter().map(|text| ((*text).to_owned(), ids()));
        let sought = Sought::of(&texts.collect());
        let needles = sought.needles();
        sought.count_in(&needles, &mut file.as_bytes()).unwrap()
    }

    #[test]
    fn a_text_is_found_however_a_form_writes_it() {
        let text = "The pump said \"too hot\" twice on Monday,\nand then it was switched off by \
                    hand before the shift ended";
        let forms = [
            text.to_owned(),
            Value::from(text).to_string(),
            text.replace('\n', "\n    "),
            text.replace('"', "''"),
            text.replace(" by hand", "\n  by hand"),
        ];
        for form in forms {
            assert_eq!(count(&[text], &format!("before {form} after")), 1, "{form}");
        }
        assert_eq!(
            count(&[text], "The pump said nothing on Monday, and went on"),
            0
        );
        let id = RecordId::from_u128(7);
        assert_eq!(count(&["4711"], "4711 of something"), 0);
        assert_eq!(
            count(&["4711"], &format!("{{\"id\":\"{id}\",\"text\":\"4711\"}}")),
            1
        );
    }

    #[test]
    fn what_others_say_is_not_looked_for() {
        let texts = BTreeMap::from([(
            "a sentence that two say".to_owned(),
            vec![RecordId::from_u128(7)],
        )]);
        let mut sought = Sought::of(&texts);
        let said = texts
            .keys()
            .cloned()
            .chain(pieces("a sentence that two say"));
        sought.leave_out(&said.collect());
        let found = sought.count_in(&sought.needles(), &mut &b"a sentence that two say"[..]);
        assert_eq!(found.unwrap(), 0);
    }
}
