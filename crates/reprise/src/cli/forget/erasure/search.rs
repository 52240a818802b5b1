//! Many texts looked for in one file at once: Karp and Rabin's rolling hash over windows as long as
//! each text's first power of two bytes, then the whole text compared.

use std::io::Read;

use crate::cli::prelude::*;

/// Shorter texts would be found anywhere: that they are gone is known from the records alone.
pub(super) const BYTES_MIN: usize = 8;
/// Bytes read at a time.
const READ: usize = 4 * 1024 * 1024;
const BASE: u64 = 0x9E37_79B9_7F4A_7C15;
/// Bits of the filter in front of each table.
const FILTER_BITS: u32 = 23;

/// The texts that are looked for, by the length of their windows.
pub(super) struct Needles<'a> {
    windows: BTreeMap<usize, Window<'a>>,
    longest: usize,
}

struct Window<'a> {
    /// By hash of their first bytes.
    texts: HashMap<u64, Vec<&'a str>>,
    /// One bit for each hash's upper bits: says no for nearly every place of a file.
    filter: Vec<u64>,
    /// `BASE` to the power of the window's length.
    power: u64,
}

fn slot(hash: u64) -> (usize, u64) {
    let place = hash >> (64 - FILTER_BITS);
    ((place / 64) as usize, 1 << (place % 64))
}

fn hash_of(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |hash: u64, byte| step(hash, *byte))
}

/// One more than the byte, so that zeros in front count.
fn step(hash: u64, byte: u8) -> u64 {
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
            let hash = hash_of(&text.as_bytes()[..length]);
            window.texts.entry(hash).or_default().push(text);
            let (place, bit) = slot(hash);
            window.filter[place] |= bit;
        }
        needles
    }

    /// Those that stand anywhere in these bytes.
    pub(super) fn held_by(&self, bytes: &[u8]) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        for (length, window) in &self.windows {
            window.find_in(bytes, *length, &mut found);
        }
        found
    }

    /// Those that stand anywhere in what is read.
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
            // A text that ends in what comes next.
            bytes.drain(..bytes.len().saturating_sub(self.longest - 1));
        }
    }
}

impl<'a> Window<'a> {
    fn find_in(&self, bytes: &[u8], length: usize, found: &mut BTreeSet<&'a str>) {
        let Some(first) = bytes.get(..length) else {
            return;
        };
        let mut hash = hash_of(first);
        let leaving = bytes.iter();
        let entering = bytes[length..].iter().map(Some).chain([None]);
        for (at, (leaving, entering)) in leaving.zip(entering).enumerate() {
            let (place, bit) = slot(hash);
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
                hash = step(hash, *entering).wrapping_sub(left);
            }
        }
    }
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
        let text = "a text that stands across the border of two reads";
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
}
