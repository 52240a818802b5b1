//! What an operator takes off the shelves that are open to him: with a reason that its author
//! reads, and taken back where it was an error. And how much one user or organisation may have
//! there.

use chrono::{DateTime, Utc};
use reprise_redact::cleaned;
use reprise_types::{RecordId, UserId, sha256_hex};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::{Caller, Shelf};
use crate::error::{GlobalError, Result};
use crate::record::{GlobalContentType, GlobalRecord, Publication, Version};
use crate::store::{AuditLine, Published};

/// Longest reason, in bytes.
const REASON_BYTES_MAX: usize = 500;

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
            shelf: Shelf::holding(&record).to_string(),
            author: record.author_id,
            content_type: record.publication.content_type,
            version: record.version,
            published_at: record.published_at,
            bytes: record.publication.bytes().len(),
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
    pub(crate) fn check(&self) -> Result<()> {
        let (reason, most) = (&self.reason, REASON_BYTES_MAX);
        if reason.trim().is_empty() || reason.len() > most || reason.chars().any(char::is_control) {
            return Err(GlobalError::invalid(format!(
                "a reason is one line of 1 to {most} bytes; say in it what is wrong with the thing"
            )));
        }
        if cleaned(reason).0 != *reason {
            return Err(GlobalError::invalid(
                "the reason holds what looks like a secret, and stays in the log; say what it is \
                 without it",
            ));
        }
        Ok(())
    }
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
}

impl TakenDown {
    /// A line of the audit log about it.
    pub(crate) fn line(&self, at: DateTime<Utc>, who: &UserId, what: &str) -> AuditLine {
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

/// What taking a take-down back gives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PutBack {
    /// What it was called before it was taken down.
    pub id: RecordId,
    pub author: UserId,
    /// As it stands now; nothing where nothing was held: its author may publish it again.
    pub published: Option<Published>,
}

/// The author of a thing as who its take-down is carried out: it touches what is his, and no more.
pub(crate) fn author_of(author: UserId, shelf: &str) -> Caller {
    let org = shelf.strip_prefix("org:").and_then(|org| org.parse().ok());
    Caller {
        user: author,
        org,
        paid: shelf == "paid",
    }
}

/// How much may stand of one holder; where a number is not given, there is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quota {
    pub things: Option<u64>,
    /// Of all versions.
    pub bytes: Option<u64>,
}

/// Those of each user, and of each organisation on its own shelf.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quotas {
    pub user: Quota,
    pub org: Quota,
}

impl Quotas {
    /// The holders of what stands on a shelf, each with its quota.
    pub(crate) fn holders(&self, author: &UserId, shelf: &str) -> Vec<(String, Quota)> {
        let mut holders = vec![(format!("user:{author}"), self.user)];
        if shelf.starts_with("org:") {
            holders.push((shelf.to_owned(), self.org));
        }
        holders
    }
}

impl Quota {
    pub(crate) fn is_some(self) -> bool {
        self.things.is_some() || self.bytes.is_some()
    }

    /// Refuses what a holder would then have too much of.
    pub(crate) fn admits(self, holder: &str, things: u64, bytes: u64) -> Result<()> {
        let over = |got: u64, limit: Option<u64>| limit.filter(|limit| got > *limit);
        let (what, got, limit) = match (over(things, self.things), over(bytes, self.bytes)) {
            (Some(limit), _) => ("things", things, limit),
            (None, Some(limit)) => ("bytes", bytes, limit),
            (None, None) => return Ok(()),
        };
        Err(GlobalError::Quota {
            message: format!(
                "{} would have {got} {what} published, the quota is {limit}; take something back, \
                 or let an operator raise it",
                holder.replace(':', " ")
            ),
        })
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
pub(crate) const PERSON_VERSIONS_MAX: usize = 50_000;

pub(crate) fn too_much_to_tell(user: &UserId) -> GlobalError {
    GlobalError::invalid(format!(
        "{user} has more than {PERSON_VERSIONS_MAX} versions published, which is more than is told \
         at once; read them page by page with `reprise published`"
    ))
}

/// What stands in the place of a name: who knows the name and the salt can still find it.
pub(crate) fn nobody(salt: &str, user: &UserId) -> String {
    let hash = sha256_hex(format!("{salt}/erased/{user}").as_bytes());
    format!("erased-{}", hash.get(..16).unwrap_or_default())
}

/// What was deleted of one person, and the proof: how much of it is found afterwards.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Erased {
    pub things: u64,
    pub versions: u64,
    /// What stood on branches.
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
    fn a_reason_is_a_line_without_a_secret_and_a_quota_counts_both() {
        let order = |reason: &str| TakeDown {
            reason: reason.to_owned(),
            leaked: false,
        };
        assert!(order("names a customer").check().is_ok());
        let secret = format!("leaks ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        for bad in ["", "  ", "a\nb", &"x".repeat(501), &secret] {
            assert!(order(bad).check().is_err(), "{bad}");
        }
        let quota = Quota {
            things: Some(2),
            bytes: Some(100),
        };
        assert!(quota.admits("user:ann", 2, 100).is_ok());
        let many = quota.admits("user:ann", 3, 1).unwrap_err().to_string();
        assert!(
            many.contains("user ann") && many.contains("3 things"),
            "{many}"
        );
        let large = quota.admits("org:acme", 1, 101).unwrap_err().to_string();
        assert!(large.contains("101 bytes"), "{large}");
        assert!(
            Quota::default()
                .admits("user:ann", 1 << 40, 1 << 50)
                .is_ok()
        );
        let quotas = Quotas {
            user: quota,
            org: quota,
        };
        let author = "ann".parse().unwrap();
        assert_eq!(quotas.holders(&author, "public").len(), 1);
        assert_eq!(quotas.holders(&author, "org:acme")[1].0, "org:acme");
    }
}
