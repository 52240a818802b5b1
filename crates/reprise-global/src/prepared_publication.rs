//! The wall: how a record of a user's memory becomes a publication, or stays.
//!
//! Whether it may leave at all is said by `MemoryRecord::check_release`; here secrets are taken out
//! once more, and the exact bytes that would leave are made.

use reprise_redact::clean_text;
use reprise_types::{MemoryRecord, ReleaseTarget, UserId, WithheldReason, sha256_hex};

use crate::error::GlobalError;
use crate::org::ProjectId;
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
    /// The project whose members alone may use it, which its policy `org` goes without saying for.
    pub project: Option<ProjectId>,
    /// Under which terms; else none are said.
    pub licence: Option<String>,
}

impl Proposal {
    /// Returns the policy that it asks for: of a project, that of the organisation.
    fn policy(&self) -> Option<AccessPolicy> {
        let of_project = self.project.as_ref().map(|_| AccessPolicy::Org);
        self.access_policy.or(of_project)
    }

    /// Fills in what this proposal leaves open from what is published, for its next version.
    #[must_use]
    pub fn with_defaults_of(self, standing: &Publication) -> Self {
        // What was taken from the text is taken from the new one.
        let said = |word: &String, taken: String| (*word != taken).then(|| word.clone());
        let (title, summary) = (
            default_title(&standing.content),
            default_summary(&standing.content),
        );
        let is_for_others = self.access_policy.is_some() || self.project.is_some();
        let project = (!is_for_others).then(|| standing.project.clone()).flatten();
        let policy = self.policy().or(Some(standing.access_policy));
        Self {
            content_type: self.content_type.or(Some(standing.content_type)),
            title: self.title.or_else(|| said(&standing.title, title)),
            summary: self.summary.or_else(|| said(&standing.summary, summary)),
            access_policy: policy,
            project: self.project.or(project),
            licence: self.licence.or_else(|| Some(standing.licence.clone())),
        }
    }
}

/// What would leave, byte by byte.
#[derive(Debug, Clone, PartialEq)]
pub struct PreparedPublication {
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
        why: WithheldReason,
    },
    /// Nothing that others could use is left of it.
    #[error("record {id} cannot be published: {why}")]
    Unfit {
        id: reprise_types::RecordId,
        why: GlobalError,
    },
}

/// Prepares the publication of `record`; `origin` is its first version that was published, else its
/// own id. Its metadata, sessions, sources and ids stay behind.
pub fn prepare_publication(
    user: &UserId,
    record: &MemoryRecord,
    origin: reprise_types::RecordId,
    proposal: &Proposal,
) -> Result<PreparedPublication, WallError> {
    let id = record.id;
    record
        .check_release(ReleaseTarget::Publication)
        .map_err(|why| WallError::Withheld { id, why })?;
    let mut redacted = 0;
    let mut clean = |text: &str| {
        // A memory keeps zero bytes, which no database takes.
        let (clean, count) = clean_text(&text.replace('\0', ""));
        redacted += count;
        clean
    };
    let content = clean(&record.text);
    let mut said = |word: &Option<String>| {
        let word = word.as_ref().filter(|word| !word.trim().is_empty());
        word.map(|word| clean(word))
    };
    let title = said(&proposal.title).unwrap_or_else(|| default_title(&content));
    let summary = said(&proposal.summary).unwrap_or_else(|| default_summary(&content));
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
        access_policy: proposal.policy().unwrap_or_default(),
        project: proposal.project.clone(),
        licence,
    };
    check_publication(&publication).map_err(|why| WallError::Unfit { id, why })?;
    Ok(PreparedPublication {
        publication,
        redacted,
    })
}

/// Returns the name under which a record and its later versions are published.
pub(crate) fn origin_name(user: &UserId, record: reprise_types::RecordId) -> String {
    sha256_hex(format!("{user}/{record}").as_bytes())
}

/// The title of a text that was given none: its first line.
fn default_title(content: &str) -> String {
    let line = content.lines().find(|line| !line.trim().is_empty());
    // Cut within a mark of what was taken out, the rest looks like something to take out.
    clean_text(&shorten_to_line(line.unwrap_or_default(), TITLE_CHARS)).0
}

/// The summary of a text that was given none: its beginning.
fn default_summary(content: &str) -> String {
    clean_text(&shorten_to_line(content, SUMMARY_CHARS)).0
}

/// Shortens a text to one line of whole words without control characters.
fn shorten_to_line(text: &str, chars: usize) -> String {
    let line = reprise_types::to_one_line(text);
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
