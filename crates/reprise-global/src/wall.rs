//! The wall: how a record of a user's memory becomes a publication, or stays.
//!
//! Whether it may leave at all is said by `MemoryRecord::may_leave`; here secrets are taken out
//! once more, and the exact bytes that would leave are made.

use reprise_redact::cleaned;
use reprise_types::{MemoryRecord, UserId, WayOut, Withheld, sha256_hex};

use crate::error::GlobalError;
use crate::record::{AccessPolicy, GlobalContentType, Publication};
use crate::store::check_publication;

/// Characters of a title that is taken from the text.
const TITLE_CHARS: usize = 80;
/// Characters of a summary that is taken from the text.
const SUMMARY_CHARS: usize = 280;

/// How its owner wants a record to be published.
#[derive(Debug, Clone, Default)]
pub struct Proposal {
    /// What it is; else a document.
    pub content_type: Option<GlobalContentType>,
    /// Its title; where that is empty or not said, the text's first line.
    pub title: Option<String>,
    /// Its summary; where that is empty or not said, the text's beginning.
    pub summary: Option<String>,
    /// Who may use it; else everybody.
    pub access_policy: Option<AccessPolicy>,
    /// Under which terms; else none are said.
    pub licence: Option<String>,
}

impl Proposal {
    /// The next version of what is published: what is not said stays as it is there.
    #[must_use]
    pub fn after(self, standing: &Publication) -> Self {
        // What was taken from the text is taken from the new one.
        let said = |word: &String, taken: String| (*word != taken).then(|| word.clone());
        let (title, summary) = (title_of(&standing.content), summary_of(&standing.content));
        Self {
            content_type: self.content_type.or(Some(standing.content_type)),
            title: self.title.or_else(|| said(&standing.title, title)),
            summary: self.summary.or_else(|| said(&standing.summary, summary)),
            access_policy: self.access_policy.or(Some(standing.access_policy)),
            licence: self.licence.or_else(|| Some(standing.licence.clone())),
        }
    }
}

/// What would leave, byte by byte.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaving {
    pub publication: Publication,
    /// Secrets that were taken out of it.
    pub redacted: u32,
}

/// Why nothing leaves.
#[derive(Debug, thiserror::Error)]
pub enum WallError {
    /// Its owner has said so.
    #[error("record {id} stays: {why}; take the mark off first if it is to be published")]
    Withheld {
        id: reprise_types::RecordId,
        why: Withheld,
    },
    /// Nothing that others could use is left of it.
    #[error("record {id} cannot be published: {why}")]
    Unfit {
        id: reprise_types::RecordId,
        why: GlobalError,
    },
}

/// What of `record` would leave; `origin` is the first version of it that was published, else its
/// own id. Of its metadata, sessions, sources and ids nothing does.
pub fn leave(
    user: &UserId,
    record: &MemoryRecord,
    origin: reprise_types::RecordId,
    proposal: &Proposal,
) -> Result<Leaving, WallError> {
    let id = record.id;
    record
        .may_leave(WayOut::Publication)
        .map_err(|why| WallError::Withheld { id, why })?;
    let mut redacted = 0;
    let mut clean = |text: &str| {
        // A memory keeps zero bytes, which no database takes.
        let (clean, count) = cleaned(&text.replace('\0', ""));
        redacted += count;
        clean
    };
    let content = clean(&record.text);
    let mut said = |word: &Option<String>| {
        let word = word.as_ref().filter(|word| !word.trim().is_empty());
        word.map(|word| clean(word))
    };
    let title = said(&proposal.title).unwrap_or_else(|| title_of(&content));
    let summary = said(&proposal.summary).unwrap_or_else(|| summary_of(&content));
    let licence = said(&proposal.licence).unwrap_or_default();
    let line = |tag: &String| tag.replace(char::is_control, " ");
    let tags = record.tags.iter().map(|tag| clean(&line(tag))).collect();
    let publication = Publication {
        origin: origin_name(user, origin),
        content_type: proposal.content_type.unwrap_or_default(),
        title,
        summary,
        content,
        tags,
        access_policy: proposal.access_policy.unwrap_or_default(),
        licence,
    };
    check_publication(&publication).map_err(|why| WallError::Unfit { id, why })?;
    Ok(Leaving {
        publication,
        redacted,
    })
}

/// What is published of a record, and of its later versions, under one name.
pub(crate) fn origin_name(user: &UserId, record: reprise_types::RecordId) -> String {
    sha256_hex(format!("{user}/{record}").as_bytes())
}

/// The title of a text that was given none: its first line.
fn title_of(content: &str) -> String {
    let line = content.lines().find(|line| !line.trim().is_empty());
    // Cut within a mark of what was taken out, the rest looks like something to take out.
    cleaned(&cut(line.unwrap_or_default(), TITLE_CHARS)).0
}

/// The summary of a text that was given none: its beginning.
fn summary_of(content: &str) -> String {
    cleaned(&cut(content, SUMMARY_CHARS)).0
}

/// The beginning of a text on one line, in whole words and without control characters.
fn cut(text: &str, chars: usize) -> String {
    let line = reprise_types::one_line(text);
    let seen = line.chars().filter(|c| !c.is_control());
    let mut kept: String = seen.take(chars + 1).collect();
    if kept.chars().count() > chars {
        let is_whole = kept.pop() == Some(' ');
        // A word longer than that is cut.
        let end = kept.rfind(' ').filter(|end| !is_whole && *end > 0);
        kept.truncate(end.unwrap_or(kept.len()));
    }
    kept
}
