//! The sets: the one that the rules were written by, one that showed what to change, and one for
//! judging. Pairs stand far apart.

use std::sync::LazyLock;

use crate::bench::corpus::{
    CITIES, GIVEN, WordList, make_person_name, make_thing_name, pick_by_number, read_word_list,
};
use crate::prelude::*;

/// What two records are to each other, by how they were made.
#[derive(Debug, Default)]
pub(super) struct Labels {
    pub(super) same: BTreeSet<(usize, usize)>,
    pub(super) contrary: BTreeSet<(usize, usize)>,
    /// What a pair turns on, where that is told.
    pub(super) kinds: BTreeMap<(usize, usize), String>,
}

/// Each set's name, and its lines: kind, what the pair turns on, one text, the other.
pub(super) const SETS: [(&str, &str); 3] = [
    ("tuned", include_str!("tuned.txt")),
    ("second", include_str!("second.txt")),
    ("held back", include_str!("held_back.txt")),
];
/// Of twenty pairs, so many are of each kind.
const MIX: [(&str, usize); 4] = [("same", 4), ("apart", 5), ("contrary", 2), ("alone", 9)];

static DATES: WordList = LazyLock::new(|| read_word_list("dates"));
static FILES: WordList = LazyLock::new(|| read_word_list("files"));

/// The texts in the order in which they are kept, and what they are to each other.
pub(super) fn make_labelled_texts(set: &str, records: usize) -> (Vec<String>, Labels) {
    let mut lines: BTreeMap<&str, Vec<[&str; 3]>> = BTreeMap::new();
    for line in set.lines().filter(|line| !line.starts_with('#')) {
        let mut fields = line.split('\t');
        let kind = fields.next().unwrap_or_default();
        let mut next = || fields.next().unwrap_or_default();
        let rest = [next(), next(), next()];
        lines.entry(kind).or_default().push(rest);
    }
    let wheel = MIX.iter().flat_map(|(kind, count)| vec![*kind; *count]);
    let wheel: Vec<&str> = wheel.collect();
    let mut used: BTreeMap<&str, usize> = BTreeMap::new();
    // Each text with the number of its pair; the second of a pair comes anywhere after the first.
    let mut placed: Vec<(u64, usize, String)> = Vec::with_capacity(records);
    let mut kinds: Vec<[&str; 2]> = Vec::new();
    let mut pair = 0;
    while placed.len() + 2 <= records {
        let Some(kind) = wheel.get(pair % wheel.len()) else {
            break;
        };
        let turn = used.entry(kind).or_default();
        let of_kind = lines.get(kind).map_or(&[][..], Vec::as_slice);
        let Some([what, one, other]) = of_kind.get(*turn % of_kind.len().max(1)) else {
            break;
        };
        *turn += 1;
        kinds.push([kind, what]);
        let (a, b) = (shuffled_place(2 * pair), shuffled_place(2 * pair + 1));
        placed.push((a.min(b), pair, fill_template(one, pair)));
        if !other.is_empty() {
            placed.push((a.max(b), pair, fill_template(other, pair)));
        }
        pair += 1;
    }
    placed.sort();
    let mut labels = Labels::default();
    let mut first: BTreeMap<usize, usize> = BTreeMap::new();
    for (place, (_, pair, _)) in placed.iter().enumerate() {
        let Some(before) = first.insert(*pair, place) else {
            continue;
        };
        let ends = (before, place);
        let [kind, what] = kinds.get(*pair).copied().unwrap_or_default();
        let set = match kind {
            "same" => Some(&mut labels.same),
            "contrary" => Some(&mut labels.contrary),
            _ => None,
        };
        if let Some(set) = set {
            set.insert(ends);
        }
        labels.kinds.insert(ends, format!("{kind}: {what}"));
    }
    let texts = placed.into_iter().map(|(_, _, text)| text);
    (texts.collect(), labels)
}

fn fill_template(template: &str, pair: usize) -> String {
    let (n, m) = (pair % 7 + 2, pair % 7 + 2 + pair % 5 + 1);
    let version = |minor: usize| format!("v{}.{minor}.{}", pair % 4 + 1, pair % 9);
    let (small, large) = (pair % 30, pair % 30 + 1);
    let parts = [
        ("{s}", make_thing_name(2 * pair)),
        ("{o}", make_thing_name(2 * pair + 1)),
        ("{a}", make_person_name(2 * pair)),
        ("{b}", make_person_name(2 * pair + 1)),
        ("{n}", n.to_string()),
        ("{m}", m.to_string()),
        ("{x}", pick_by_number(&GIVEN, pair).to_owned()),
        (
            "{y}",
            pick_by_number(&GIVEN, pair + 1 + pair % 11).to_owned(),
        ),
        ("{c}", pick_by_number(&CITIES, pair).to_owned()),
        (
            "{k}",
            pick_by_number(&CITIES, pair + 1 + pair % 7).to_owned(),
        ),
        ("{d}", pick_by_number(&DATES, pair).to_owned()),
        (
            "{e}",
            pick_by_number(&DATES, pair + 1 + pair % 5).to_owned(),
        ),
        ("{v}", version(small)),
        ("{w}", version(large)),
        ("{f}", pick_by_number(&FILES, pair).to_owned()),
        (
            "{g}",
            pick_by_number(&FILES, pair + 1 + pair % 5).to_owned(),
        ),
    ];
    let mut text = template.to_owned();
    for (mark, part) in parts {
        text = text.replace(mark, &part);
    }
    text.replace("\\n", "\n")
}

/// A place in the order of all, by a number.
fn shuffled_place(number: usize) -> u64 {
    reprise_types::next_splitmix64(&mut (number as u64))
}
