//! What a request said when it was first sent under its name: one name has one content, for all
//! senders and however many send at once.

use std::num::NonZeroUsize;

use lru::LruCache;

use super::memory::RequestContents;
use crate::prelude::*;

/// Most requests that are remembered in this process; what they stored says the rest.
const REQUESTS_MAX: NonZeroUsize = NonZeroUsize::MIN.saturating_add(16_383);
/// Separates a request's name from the hash of what it said.
const SAYS: &str = " says ";

/// The requests of this process, by user and name, each with the hash of what it says.
#[derive(Debug)]
pub(crate) struct RequestLedger(Mutex<LruCache<(UserId, String), String>>);

impl Default for RequestLedger {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(REQUESTS_MAX)))
    }
}

impl RequestLedger {
    /// Notes what a request says, unless one of its name was noted before. Returns whether it is
    /// new, or `None` if that one says something else.
    fn note(&self, request: (UserId, String), says: &str) -> Option<bool> {
        let mut known = lock(&self.0);
        if let Some(earlier) = known.get(&request) {
            return (earlier == says).then_some(false);
        }
        known.put(request, says.to_owned());
        Some(true)
    }

    fn forget(&self, request: &(UserId, String)) {
        lock(&self.0).pop(request);
    }
}

/// Returns the problem of a name that was first used for something else.
fn other_contents_problem() -> Problem {
    Problem::conflict(
        "this Idempotency-Key was used for another body; send this one with a key of its own",
    )
}

/// Returns the hash of a request without its secrets, and the form of it that is stored.
pub(crate) fn hash_request(
    operation: &str,
    arguments: &Map<String, Value>,
) -> (String, RequestContents) {
    let said = serde_json::to_vec(&(operation, arguments)).unwrap_or_default();
    let says = reprise_types::sha256_hex(&said);
    let contents = if arguments.contains_key("records") {
        RequestContents::Records
    } else {
        RequestContents::Arguments(says.clone())
    };
    (says, contents)
}

/// Returns the hash of what records say.
fn hash_records(records: &[NewRecord]) -> String {
    let said: Vec<_> = records
        .iter()
        .map(|one| (&one.body, one.timestamp))
        .collect();
    let said = serde_json::to_vec(&said).unwrap_or_default();
    reprise_types::sha256_hex(&said)
}

/// The memory for one request, and its name while nobody else may use it for other contents.
#[derive(Debug)]
pub(crate) struct ClaimedRequest {
    pub(crate) memory: Memory,
    claimed: Option<(UserId, String)>,
}

impl ClaimedRequest {
    /// Gives the name free again where the request did nothing.
    pub(crate) fn release(self) {
        if let Some(request) = self.claimed {
            self.memory.all.requests.forget(&request);
        }
    }
}

impl Memory {
    /// Takes the request's name for what it says; fails if the name was used for something else.
    pub(crate) fn claim_request(
        &self,
        contents: Option<(String, RequestContents)>,
    ) -> Result<ClaimedRequest, Problem> {
        let mut memory = self.clone();
        let named = self.request_key().map(str::to_owned).zip(contents);
        let Some((key, (says, contents))) = named else {
            return Ok(ClaimedRequest {
                memory,
                claimed: None,
            });
        };
        let request = (self.user.clone(), key);
        let is_new = self.all.requests.note(request.clone(), &says);
        let claimed = is_new
            .ok_or_else(other_contents_problem)?
            .then_some(request);
        memory.options.contents = Some(contents);
        Ok(ClaimedRequest { memory, claimed })
    }

    /// Returns the hash of what the request says, of which these are the records; `None` if its
    /// name may stand for other contents too.
    pub(crate) fn hash_contents(&self, records: &[NewRecord]) -> Option<String> {
        self.request_key()?;
        Some(match self.options.contents.as_ref()? {
            RequestContents::Arguments(says) => says.clone(),
            RequestContents::Records => hash_records(records),
        })
    }

    /// Adds to a request's first record what the request says, so that it is known later.
    pub(crate) fn note_contents(&self, records: &mut [NewRecord], says: &str) {
        if let (Some(key), Some(first)) = (self.request_key(), records.first_mut()) {
            let name = format!("{key}{SAYS}{says}");
            first
                .external_ids
                .push(ExternalId::new(ExternalId::REQUEST, name));
        }
    }

    /// Refuses a request's name that was first used with other contents. `named` has each record's
    /// name in the request and its text.
    pub(crate) async fn refuse_other_contents(
        &self,
        named: Vec<(ExternalId, String)>,
        says: Option<String>,
    ) -> Result<(), Problem> {
        let Some(key) = self
            .request_key()
            .filter(|_| !named.is_empty() && self.exists())
        else {
            return Ok(());
        };
        let prefix = format!("{key}{SAYS}");
        let differs = move |memory: &Snapshot| {
            named.iter().any(|(name, text)| {
                let stored = memory.find_by_external_id(name);
                let Some(Ok(stored)) = stored.and_then(|id| memory.get(id)) else {
                    return false;
                };
                let mut names = stored.external_ids.iter();
                let said = names.find_map(|name| name.id.strip_prefix(&prefix));
                match (said, &says) {
                    (Some(said), Some(says)) => said != says,
                    _ => stored.text != *text,
                }
            })
        };
        if self.run_on_snapshot(differs).await? {
            return Err(other_contents_problem());
        }
        Ok(())
    }
}
