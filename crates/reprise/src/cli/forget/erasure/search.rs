//! Many texts looked for in one file at once: Karp and Rabin's rolling hash over windows as long as
//! each text's first power of two bytes, then the whole text compared.

use std::io::Read;
use std::ops::RangeInclusive;

use crate::cli::prelude::*;

/// Shorter texts would be found anywhere, so only the records prove their erasure.
const BYTES_MIN: usize = 8;
/// Bytes read at a time.
const READ: usize = 4 * 1024 * 1024;
const BASE: u64 = 0x9E37_79B9_7F4A_7C15;
/// Bits of the filter in front of each table.
const FILTER_BITS: u32 = 23;

/// Texts to search for, by the length of their windows.
pub(super) struct Needles<'a> {
    windows: BTreeMap<usize, Window<'a>>,
    longest: usize,
}

struct Window<'a> {
    /// By hash of their first bytes.
    texts: HashMap<u64, Vec<&'a str>>,
    /// One bit for the upper bits of each hash; it rejects nearly every position of a file.
    filter: Vec<u64>,
    /// `BASE` to the power of the window's length.
    power: u64,
}

fn filter_slot(hash: u64) -> (usize, u64) {
    let place = hash >> (64 - FILTER_BITS);
    ((place / 64) as usize, 1 << (place % 64))
}

fn hash_bytes(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |hash: u64, byte| append_to_hash(hash, *byte))
}

/// Adds a byte to a hash; it adds one more than the byte, so that leading zeros count.
fn append_to_hash(hash: u64, byte: u8) -> u64 {
    hash.wrapping_mul(BASE).wrapping_add(u64::from(byte) + 1)
}

impl<'a> Needles<'a> {
    pub(super) fn new(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut needles = Self {
            windows: BTreeMap::new(),
            longest: 0,
        };
        for text in texts.filter(|text| text.len() >= BYTES_MIN) {
            needles.longest = needles.longest.max(text.len());
            let length = 1 << text.len().ilog2();
            let window = needles.windows.entry(length).or_insert_with(|| Window {
                texts: HashMap::new(),
                filter: vec![0; 1 << (FILTER_BITS - 6)],
                power: (0..length).fold(1, |power: u64, _| power.wrapping_mul(BASE)),
            });
            let hash = hash_bytes(&text.as_bytes()[..length]);
            window.texts.entry(hash).or_default().push(text);
            let (place, bit) = filter_slot(hash);
            window.filter[place] |= bit;
        }
        needles
    }

    /// Returns the texts that occur in these bytes.
    pub(super) fn find_in_bytes(&self, bytes: &[u8]) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        for (length, window) in &self.windows {
            window.find_in(bytes, *length, &mut found);
        }
        found
    }

    /// Returns the texts that occur in what is read.
    pub(super) fn find_in(&self, file: &mut impl Read) -> io::Result<BTreeSet<&'a str>> {
        let mut found = BTreeSet::new();
        let mut bytes = Vec::new();
        loop {
            let read = file.by_ref().take(READ as u64).read_to_end(&mut bytes)?;
            for (length, window) in &self.windows {
                window.find_in(&bytes, *length, &mut found);
            }
            if read == 0 || self.windows.is_empty() {
                return Ok(found);
            }
            // A text may continue in the next read.
            bytes.drain(..bytes.len().saturating_sub(self.longest - 1));
        }
    }
}

impl<'a> Window<'a> {
    fn find_in(&self, bytes: &[u8], length: usize, found: &mut BTreeSet<&'a str>) {
        let Some(first) = bytes.get(..length) else {
            return;
        };
        let mut hash = hash_bytes(first);
        let leaving = bytes.iter();
        let entering = bytes[length..].iter().map(Some).chain([None]);
        for (at, (leaving, entering)) in leaving.zip(entering).enumerate() {
            let (place, bit) = filter_slot(hash);
            if self.filter[place] & bit != 0
                && let Some(texts) = self.texts.get(&hash)
            {
                let here = texts
                    .iter()
                    .filter(|text| bytes[at..].starts_with(text.as_bytes()));
                found.extend(here);
            }
            if let Some(entering) = entering {
                let left = self.power.wrapping_mul(u64::from(*leaving) + 1);
                hash = append_to_hash(hash, *entering).wrapping_sub(left);
            }
        }
    }
}

/// Bytes of a piece: fewer than any format has on a line.
const PIECE: RangeInclusive<usize> = 16..=32;
/// Pieces of one text that are looked for.
const PIECES_MAX: usize = 16;

/// Forgotten texts as other files may contain them: plain, escaped as JSON, and in pieces between
/// the places where a format escapes, folds or breaks them.
pub(super) struct SearchedTexts(Vec<SearchedText>);

struct SearchedText {
    records: usize,
    /// Each of these forms proves the text.
    whole: BTreeSet<String>,
    /// Half of these pieces prove the text.
    pieces: BTreeSet<String>,
}

impl SearchedTexts {
    pub(super) fn from_texts(texts: &BTreeMap<String, Vec<RecordId>>) -> Self {
        let texts = texts.iter().flat_map(|(text, ids)| {
            if text.len() < BYTES_MIN {
                return ids.iter().map(SearchedText::from_id).collect();
            }
            vec![SearchedText {
                records: ids.len(),
                whole: BTreeSet::from([text.clone(), escape_as_json(text)]),
                pieces: split_into_pieces(text),
            }]
        });
        Self(texts.collect())
    }

    /// Builds what [`Self::count_records_in`] searches for, once for all files.
    pub(super) fn build_needles(&self) -> Needles<'_> {
        let all = self
            .0
            .iter()
            .flat_map(|text| text.whole.iter().chain(&text.pieces));
        let all: BTreeSet<&str> = all.map(String::as_str).collect();
        Needles::new(all.into_iter())
    }

    /// Removes texts that other records contain from the search.
    pub(super) fn remove_texts(&mut self, said: &BTreeSet<String>) {
        for text in &mut self.0 {
            text.whole.retain(|one| !said.contains(one));
            text.pieces.retain(|one| !said.contains(one));
        }
    }

    /// Counts the records whose texts occur in what is read.
    pub(super) fn count_records_in(
        &self,
        build_needles: &Needles<'_>,
        file: &mut impl Read,
    ) -> io::Result<usize> {
        let found = build_needles.find_in(file)?;
        let is_there = |one: &String| found.contains(one.as_str());
        let held = self.0.iter().filter(|text| {
            let pieces = text.pieces.iter().filter(|piece| is_there(piece)).count();
            text.whole.iter().any(is_there) || pieces > 0 && pieces * 2 >= text.pieces.len()
        });
        Ok(held.map(|text| text.records).sum())
    }
}

impl SearchedText {
    /// Searches for a record's id in our own formats, because its text is too short to search for.
    fn from_id(id: &RecordId) -> Self {
        Self {
            records: 1,
            whole: BTreeSet::from([format!("\"id\":\"{id}\""), format!("id: {id}")]),
            pieces: BTreeSet::new(),
        }
    }
}

fn escape_as_json(text: &str) -> String {
    let json = Value::from(text).to_string();
    json[1..json.len() - 1].to_owned()
}

/// Splits a text into the pieces that every format writes unchanged.
fn split_into_pieces(text: &str) -> BTreeSet<String> {
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

    #[test]
    fn every_text_is_found_wherever_it_stands_and_no_other() {
        let texts: Vec<String> = (0..300)
            .map(|n| format!("text {n} {}", "of some length ".repeat(n % 9)))
            .collect();
        let needles = Needles::new(texts.iter().map(String::as_str));
        let there: Vec<&str> = texts.iter().step_by(7).map(String::as_str).collect();
        let mut file = vec![0_u8; 100];
        for (turn, text) in there.iter().enumerate() {
            file.extend(text.as_bytes());
            file.extend((0..turn * 31).map(|n| n as u8));
        }
        let found = needles.find_in(&mut &file[..]).unwrap();
        // A text that is the beginning of one that is there is there too.
        let file = String::from_utf8_lossy(&file).into_owned();
        let expected: BTreeSet<&str> = texts
            .iter()
            .map(String::as_str)
            .filter(|text| text.len() >= BYTES_MIN && file.contains(text))
            .collect();
        assert!(found.len() > there.len() / 2);
        assert_eq!(found, expected);
    }

    #[test]
    fn a_text_across_two_reads_is_found() {
        let text = "a text that reaches across the border of two reads";
        for before in [READ - 20, READ - text.len(), READ, READ - 1] {
            let mut file = vec![b'.'; before];
            file.extend(text.as_bytes());
            file.extend([b'.'; 50]);
            let found = Needles::new([text].into_iter()).find_in(&mut &file[..]);
            assert_eq!(found.unwrap().len(), 1, "{before}");
        }
    }

    #[test]
    fn no_texts_and_no_file_are_nothing() {
        let none = Needles::new(std::iter::empty());
        assert!(none.find_in(&mut &b"something"[..]).unwrap().is_empty());
        let one = Needles::new(["long enough"].into_iter());
        assert!(one.find_in(&mut &b""[..]).unwrap().is_empty());
    }

    fn count(texts: &[&str], file: &str) -> usize {
        let ids = || vec![RecordId::from_u128(7)];
        let texts = texts.iter().map(|text| ((*text).to_owned(), ids()));
        let sought = SearchedTexts::from_texts(&texts.collect());
        let needles = sought.build_needles();
        sought
            .count_records_in(&needles, &mut file.as_bytes())
            .unwrap()
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
        let mut sought = SearchedTexts::from_texts(&texts);
        let said = texts
            .keys()
            .cloned()
            .chain(split_into_pieces("a sentence that two say"));
        sought.remove_texts(&said.collect());
        let found = sought.count_records_in(
            &sought.build_needles(),
            &mut &b"a sentence that two say"[..],
        );
        assert_eq!(found.unwrap(), 0);
    }
}
