//! When each token was last used: kept next to the tokens, so that a person can tell which of them
//! nobody needs any more.

use std::collections::BTreeMap;
use std::sync::Mutex;

use chrono::{DateTime, TimeDelta, Utc};
use reprise_types::lock;

use super::{BYTES_MAX, TokenEntry, TokenError, TokenFile};

/// Extension of the file with the last use of each token.
const EXTENSION: &str = "used.json";
/// A use is written down if the one before was at least this long ago.
const STEP: TimeDelta = TimeDelta::minutes(10);

/// The last use of each token by its name, as far as this process has read or written it.
type LastUses = BTreeMap<String, DateTime<Utc>>;

/// The last uses that this process knows; `None` until the file was read.
#[derive(Debug, Default)]
pub(super) struct TokenUses(Mutex<Option<LastUses>>);

impl TokenFile {
    /// Writes down that a token was used now. A file that cannot be written keeps nobody out.
    pub(crate) fn note_use(&self, entry: &TokenEntry, now: DateTime<Utc>) {
        let mut uses = lock(&self.uses.0);
        let uses = uses.get_or_insert_with(|| self.read_uses());
        let last = uses.get(&entry.name);
        if last.is_some_and(|last| *last >= entry.created && now - *last < STEP) {
            return;
        }
        uses.insert(entry.name.clone(), now);
        if let Err(error) = self.write_uses(uses) {
            tracing::warn!(%error, "the last use of a token was not written down");
        }
    }

    /// Returns when a token was last used, to within ten minutes; `None` if it never was.
    pub(crate) fn last_use(&self, entry: &TokenEntry) -> Option<DateTime<Utc>> {
        let mut uses = lock(&self.uses.0);
        let uses = uses.get_or_insert_with(|| self.read_uses());
        let last = uses.get(&entry.name).copied();
        // A token of the same name may have been revoked before this one was made.
        last.filter(|last| *last >= entry.created)
    }

    fn read_uses(&self) -> LastUses {
        let text = self.read(self.sibling_name(EXTENSION), BYTES_MAX);
        let text = text.ok().flatten().unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Writes the last uses of the tokens that there are.
    fn write_uses(&self, uses: &mut LastUses) -> Result<(), TokenError> {
        let entries = self.list()?;
        uses.retain(|name, _| entries.iter().any(|entry| entry.name == *name));
        let text = serde_json::to_vec(uses).map_err(std::io::Error::other)?;
        Ok(self
            .folder()?
            .replace(self.sibling_name(EXTENSION), &text)?)
    }
}
