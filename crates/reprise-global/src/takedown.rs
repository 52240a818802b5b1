//! What an operator takes off the shelves that are open to him: with a reason that its author
//! reads, and taken back where it was an error. And everything of one person.

use chrono::{DateTime, Utc};
use reprise_redact::clean_text;
use reprise_types::{RecordId, UserId, sha256_hex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::audit::AuditLine;
use crate::caller::{Caller, Shelf};
use crate::error::{GlobalError, GlobalResult};
use crate::record::{GlobalContentType, GlobalRecord, Publication, Version};

/// Longest reason, in bytes.
pub(crate) const REASON_BYTES_MAX: usize = 500;

/// A published thing as an operator lists it: none of its text but the title.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Listed {
    pub id: RecordId,
    pub author: UserId,
    /// `public`, `paid` or `org:NAME`.
    pub shelf: String,
    pub content_type: GlobalContentType,
    pub title: String,
    /// Its newest version, and when that was published.
    pub version: Version,
    pub published_at: DateTime<Utc>,
    pub bytes: usize,
    /// SHA-256 of its bytes, in hex.
    pub checksum: String,
}

impl From<GlobalRecord> for Listed {
    fn from(record: GlobalRecord) -> Self {
        Self {
            id: record.id,
            shelf: Shelf::of_record(&record).to_string(),
            author: record.author_id,
            content_type: record.publication.content_type,
            version: record.version,
            published_at: record.published_at,
            bytes: record.publication.to_json_bytes().len(),
            checksum: record.checksum,
            title: record.publication.title,
        }
    }
}

/// An order to take a thing down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TakeDown {
    /// Why: its author reads it, and it stays in the audit log.
    #[schemars(length(min = 1, max = REASON_BYTES_MAX), regex(pattern = r"^[^\x00-\x1f\x7f-\x9f]*$"))]
    pub reason: String,
    /// It holds what nobody may read again: nothing of it is kept for taking this back.
    #[serde(default)]
    pub leaked: bool,
}

impl TakeDown {
    pub fn check(&self) -> GlobalResult<()> {
        check_reason(&self.reason)
    }
}

/// Refuses a reason that is no line, or holds a secret.
pub(crate) fn check_reason(reason: &str) -> GlobalResult<()> {
    let most = REASON_BYTES_MAX;
    if reason.trim().is_empty() || reason.len() > most || reason.chars().any(char::is_control) {
        return Err(GlobalError::invalid(format!(
            "a reason is one line of 1 to {most} bytes; say in it what is wrong with the thing"
        )));
    }
    if clean_text(reason).0 != *reason {
        return Err(GlobalError::invalid(
            "the reason holds what looks like a secret, and stays in the log; say what it is \
             without it",
        ));
    }
    Ok(())
}

/// What was taken down, for its author and for the operator: nothing of its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TakenDown {
    pub id: RecordId,
    pub author: UserId,
    /// What its author's program calls it.
    pub origin: String,
    pub shelf: String,
    pub versions: u32,
    /// SHA-256 of the bytes of its newest version, in hex.
    pub checksum: String,
    pub reason: String,
    pub operator: UserId,
    pub at: DateTime<Utc>,
    /// Its newest version is kept, out of every answer, until this is taken back.
    pub is_held: bool,
    /// SHA-256 of the words of its content, in hex: nobody publishes the same content again.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content_sha256: String,
}

impl TakenDown {
    /// A line of the audit log about it.
    pub fn to_audit_line(&self, at: DateTime<Utc>, who: &UserId, what: &str) -> AuditLine {
        AuditLine {
            id: Some(self.id),
            version: Some(self.versions),
            name: Some(self.shelf.clone()),
            about: Some(self.author.clone()),
            reason: Some(self.reason.clone()),
            checksum: Some(self.checksum.clone()),
            ..AuditLine::new(at, who.as_str(), what)
        }
    }
}

/// What became of an order to take a thing down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TakeDownDone {
    #[serde(flatten)]
    pub taken: TakenDown,
    /// The store was looked through for it afterwards, and had nothing.
    pub verified: bool,
    /// It leaked, and no page of the store holds its text any more: the file was compacted, or the
    /// tables were written anew. The write-ahead log of PostgreSQL has it until it is recycled.
    pub swept: bool,
}

/// Returns a thing's author as the caller of its take-down, which touches his things only.
pub fn author_as_caller(author: UserId, shelf: &str) -> Caller {
    let (org, project) = Shelf::parse_organisation(shelf).unzip();
    Caller {
        user: author,
        org,
        projects: project.flatten().into_iter().collect(),
        paid: shelf == "paid",
    }
}

/// Everything of one person in a store, a line each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum PersonLine {
    /// A version of a thing, on its shelf or on a branch.
    Thing {
        id: RecordId,
        version: Version,
        shelf: String,
        at: DateTime<Utc>,
        publication: Publication,
    },
    /// What this person said of somebody's thing.
    Rated {
        id: RecordId,
        rating: f32,
    },
    /// How runs of this person went that used it.
    Reported {
        id: RecordId,
        score: f32,
        count: u32,
    },
    /// How often it was in an answer to this person.
    Retrieved {
        id: RecordId,
        count: u32,
    },
    TakenDown(TakenDown),
    /// What the audit log says that this person did.
    Did(AuditLine),
}

/// Most versions of one person that are told at once; of more the export says so and gives none.
pub const PERSON_VERSIONS_MAX: usize = 50_000;

pub fn too_many_versions_error(user: &UserId) -> GlobalError {
    GlobalError::invalid(format!(
        "{user} has more than {PERSON_VERSIONS_MAX} versions published, which is more than is told \
         at once; read them page by page with `reprise share list`"
    ))
}

/// Returns what replaces an erased person's name: who knows the name and the salt can still find
/// it.
pub fn erased_name(salt: &str, user: &UserId) -> String {
    let hash = sha256_hex(format!("{salt}/erased/{user}").as_bytes());
    format!("erased-{}", hash.get(..16).unwrap_or_default())
}

/// Characters of a user's name beyond letters and digits.
const NAME_MARKS: &str = "._@+-";

/// What a text is in which a person is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedIn {
    /// Names of users and sentences about them: `jo.ann` and `ann-lee` are others than `ann`.
    Text,
    /// The name of a token or a snapshot, which may be made of a user's: `ann-laptop`.
    Label,
}

/// Replaces the name of a person wherever it is a whole word in a text; `None` if it is nowhere. An
/// organisation or a project of this name keeps it.
pub fn replace_name(
    text: &str,
    name: &str,
    erased_name: &str,
    named_in: NamedIn,
) -> Option<String> {
    let has_marks = named_in == NamedIn::Text;
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || has_marks && NAME_MARKS.contains(c);
    let (mut replaced, mut copied) = (String::new(), 0);
    for (at, _) in text.match_indices(name) {
        let end = at + name.len();
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(end..).unwrap_or_default().trim_start_matches('.');
        let is_organisation = before.ends_with("org:") || before.ends_with("\"org\":\"");
        let after_mark = |mark: &str| before.rsplit_once(mark).map(|(_, rest)| rest);
        let is_project = after_mark("project:")
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('/') && !rest.contains(' '))
            || after_mark("\"projects\":[").is_some_and(|rest| !rest.contains(']'));
        if is_organisation
            || is_project
            || before.ends_with(is_of_name)
            || after.starts_with(is_of_name)
        {
            continue;
        }
        replaced.push_str(text.get(copied..at).unwrap_or_default());
        replaced.push_str(erased_name);
        copied = end;
    }
    replaced.push_str(text.get(copied..).unwrap_or_default());
    (copied > 0).then_some(replaced)
}

/// What was deleted of one person, and the proof: how much of it is found afterwards.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Erased {
    pub things: u64,
    pub versions: u64,
    /// Drafts on branches.
    pub drafts: u64,
    pub ratings: u64,
    pub reports: u64,
    /// Things that were counted as given to this person.
    pub retrieved: u64,
    pub taken_down: u64,
    pub tokens: u64,
    /// Lines of the audit log that name a hash now.
    pub audit_lines: u64,
    /// What still names this person or holds a text of it; 0 is the proof.
    pub left: u64,
    /// No page of the store holds a text of it any more, as after a take-down of what leaked.
    pub swept: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_replaced_as_a_whole_word_and_an_organisation_keeps_its_own() {
        let replaced = |text: &str| replace_name(text, "ann", "erased-1", NamedIn::Text);
        for (text, expected) in [
            ("ann", "erased-1"),
            ("user:ann", "user:erased-1"),
            ("branch:ann/next", "branch:erased-1/next"),
            ("project:acme/web of ann", "project:acme/web of erased-1"),
            ("asked by ann. And ann", "asked by erased-1. And erased-1"),
        ] {
            assert_eq!(replaced(text).as_deref(), Some(expected));
        }
        for text in [
            "",
            "anna",
            "ann@home",
            "jo.ann",
            "org:ann",
            "{\"org\":\"ann\"}",
            "project:ann/web",
            "project:acme/ann",
            "{\"projects\":[\"web\",\"ann\"]}",
        ] {
            assert_eq!(replaced(text), None, "{text}");
        }
    }

    #[test]
    fn in_the_name_of_a_token_a_name_is_a_word_among_others() {
        let replaced = |text: &str| replace_name(text, "ann", "erased-1", NamedIn::Label);
        for (text, expected) in [
            ("ann-laptop", "erased-1-laptop"),
            ("for.ann", "for.erased-1"),
            (
                "ann_2 {\"org\":\"ann\",\"may\":[]}",
                "erased-1_2 {\"org\":\"ann\",\"may\":[]}",
            ),
        ] {
            assert_eq!(replaced(text).as_deref(), Some(expected));
        }
        for text in ["anna-laptop", "joann", "org:ann", "project:acme/ann"] {
            assert_eq!(replaced(text), None, "{text}");
        }
    }

    #[test]
    fn a_reason_is_a_line_without_a_secret() {
        let order = |reason: &str| TakeDown {
            reason: reason.to_owned(),
            leaked: false,
        };
        assert!(order("names a customer").check().is_ok());
        let secret = format!("leaks ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        for bad in ["", "  ", "a\nb", &"x".repeat(501), &secret] {
            assert!(order(bad).check().is_err(), "{bad}");
        }
    }
}
