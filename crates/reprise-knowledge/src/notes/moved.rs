//! Notes that were renamed or moved: a note that is new here and says what one says that is gone.

use super::KnownPiece;
use crate::import::{NotePath, NoteScope};
use crate::prelude::*;

/// Fields of a front matter by which programs know a note, whatever its file is called.
const NAMES: [&str; 3] = ["permalink", "id", "uid"];

/// What is known of notes, and what is read of them.
pub(super) struct MovedNotes<'a> {
    pub(super) read: &'a BTreeMap<NotePath, Vec<(String, Box<NewRecord>)>>,
    pub(super) known: &'a BTreeMap<NotePath, VecDeque<KnownPiece>>,
    pub(super) scopes: &'a [NoteScope],
    pub(super) clean: &'a dyn Fn(&str) -> String,
}

impl MovedNotes<'_> {
    /// Finds the path that each moved note had before.
    pub(super) fn find(&self) -> BTreeMap<NotePath, NotePath> {
        let gone = self.known.keys().filter(|of| self.is_gone(of));
        let mut gone: BTreeSet<&NotePath> = gone.collect();
        let mut moved = BTreeMap::new();
        if gone.is_empty() {
            return moved;
        }
        let mut holders: HashMap<String, Vec<&NotePath>> = HashMap::new();
        for of in &gone {
            let pieces = self.known[*of].iter();
            let says = pieces.filter_map(|known| piece_contents(known.details()?));
            for key in says.chain(self.name_of_known(of)) {
                holders.entry(key).or_default().push(of);
            }
        }
        let new = self.read.iter();
        for (of, pieces) in new.filter(|(of, _)| !self.known.contains_key(*of)) {
            let mut shared: BTreeMap<&NotePath, usize> = BTreeMap::new();
            let said = pieces.iter().filter_map(|(_, piece)| {
                let says = piece_contents(piece.details.as_ref()?)?;
                Some((self.clean)(&says))
            });
            for holder in said.flat_map(|says| holders.get(&says).into_iter().flatten()) {
                *shared.entry(*holder).or_default() += 1;
            }
            let is_mostly = |(old, count): &(&NotePath, usize)| {
                2 * count >= pieces.len().min(self.known[*old].len())
            };
            let best = shared.into_iter().filter(is_mostly);
            let best = best.max_by_key(|(_, count)| *count).map(|(old, _)| old);
            let named = name_of_pieces(pieces.iter().map(|(_, piece)| piece.details.as_ref()));
            let named = || match holders.get(&named?).map(Vec::as_slice) {
                Some([only]) => Some(*only),
                _ => None,
            };
            let old = best.or_else(named);
            if let Some(old) = old.filter(|old| old.root == of.root && gone.remove(old)) {
                moved.insert(of.clone(), old.clone());
            }
        }
        moved
    }

    /// Whether a note is missing in a folder that is read.
    fn is_gone(&self, of: &NotePath) -> bool {
        let is_missing = |scope: &NoteScope| {
            scope.root == of.root && fs_err::symlink_metadata(scope.base.join(&of.path)).is_err()
        };
        !self.read.contains_key(of) && self.scopes.iter().any(is_missing)
    }

    fn name_of_known(&self, of: &NotePath) -> Option<String> {
        let pieces = self.known.get(of)?.iter();
        name_of_pieces(pieces.map(KnownPiece::details))
    }
}

/// Returns what a piece says without its title and headings; `None` if it says nothing.
fn piece_contents(details: &Value) -> Option<String> {
    let contents = details["content"]
        .as_str()
        .filter(|text| !text.trim().is_empty())?;
    Some(contents.to_owned())
}

/// Returns the name that the front matter of a note gives it.
fn name_of_pieces<'a>(pieces: impl Iterator<Item = Option<&'a Value>>) -> Option<String> {
    let mut fronts = pieces.flatten().map(|details| &details["front"]);
    fronts.find_map(|front| {
        NAMES.iter().find_map(|name| {
            let value = front[*name]
                .as_str()
                .filter(|value| !value.trim().is_empty())?;
            Some(format!("{name}: {value}"))
        })
    })
}
