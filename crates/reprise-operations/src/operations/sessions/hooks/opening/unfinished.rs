//! What an answer left to do is left until something later in the project is about it: an answer or
//! a commit that has its words.

use std::collections::BTreeSet;

use reprise_knowledge::fold_umlauts;

/// Letters of a word that says what a sentence is about.
const LETTERS_MIN: usize = 3;
/// One of so many of a sentence's words is enough to be about it.
const SHARE: usize = 5;
/// Words of what is left that say nothing of what it is about.
const PLAIN: &str = "\
    the and but for not use using with from that this these those have has had been are was were \
    will would should could can still next todo left remain remaining open missing fail failing \
    failed test step need needed done yet time continue there here what which when then also only \
    into onto over under after before again now its it's our your their new old more most all any \
    der die das den dem des ein eine einen einem einer und oder aber fuer nicht mit von vom zum \
    zur auf aus bei noch offen fehlt fehlen muss muessen wird werden ist sind war als naechste \
    naechster naechstes naechsten schritt schritte bleibt bleiben tun weiter weiterhin schlaegt \
    fehl dann auch nur wie was";

/// The words of what was done later, a set for each answer and commit.
#[derive(Debug, Default)]
pub(super) struct LaterWork(Vec<BTreeSet<String>>);

impl LaterWork {
    /// Adds a text that is older than all before it.
    pub(super) fn add(&mut self, text: &str) {
        self.0.push(list_stems(text).collect());
    }

    /// Whether nothing later is about what a sentence leaves to do.
    pub(super) fn leaves_open(&self, left: &str) -> bool {
        let stems: BTreeSet<String> = list_stems(left).collect();
        let is_about_it = |later: &BTreeSet<String>| {
            let shared = later.intersection(&stems).count();
            shared > 0 && shared * SHARE >= stems.len()
        };
        !self.0.iter().any(is_about_it)
    }
}

/// Lists the words that say what a text is about, without endings of the plural.
fn list_stems(text: &str) -> impl Iterator<Item = String> {
    let folded = fold_umlauts(&text.to_lowercase());
    let words = folded.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| {
        word.len() >= LETTERS_MIN && !PLAIN.split_ascii_whitespace().any(|plain| plain == *word)
    });
    let stems = words.map(|word| {
        let endings = ["es", "en", "s", "n", "e"];
        let stem = endings.iter().find_map(|ending| word.strip_suffix(ending));
        let stem = stem.filter(|stem| stem.len() >= LETTERS_MIN);
        stem.unwrap_or(word).to_owned()
    });
    stems.collect::<Vec<_>>().into_iter()
}
