//! Who asks a global store, and which shelves are open to them.
//!
//! The one rule of access.

use std::fmt;
use std::str::FromStr;

use reprise_types::{UserId, UserIdError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{AccessPolicy, GlobalRecord};

/// An authenticated user, with what his token says of him at this moment: a membership that was
/// withdrawn is not in it any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub user: UserId,
    pub org: Option<OrgId>,
    /// Whether the paid tier is open.
    pub paid: bool,
}

impl Caller {
    /// A user without organisation or paid tier.
    pub fn new(user: UserId) -> Self {
        Self {
            user,
            org: None,
            paid: false,
        }
    }

    /// Whether this caller may see a record at all. Its author may, whatever became of the rest.
    pub fn may_see(&self, record: &GlobalRecord) -> bool {
        let member = || record.org_id.is_some() && record.org_id == self.org;
        record.author_id == self.user
            || match record.publication.access_policy {
                AccessPolicy::Public => true,
                AccessPolicy::Org => member(),
                AccessPolicy::Paid => self.paid,
            }
    }

    /// The shelf of a branch of this caller's.
    pub fn branch(&self, name: &str) -> Shelf {
        Shelf::Branch(self.user.clone(), name.to_owned())
    }

    /// The shelves whose every record this caller may see.
    pub fn shelves(&self) -> Vec<Shelf> {
        let mut shelves = vec![Shelf::Public];
        shelves.extend(self.paid.then_some(Shelf::Paid));
        shelves.extend(self.org.clone().map(Shelf::Org));
        shelves
    }
}

/// Where a record stands: what the stores partition by, so that no query reads what its caller may
/// not see.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shelf {
    Public,
    Paid,
    /// For the members of one organisation.
    Org(OrgId),
    /// What one author tries out before others see it: open to him alone, and where he names it.
    Branch(UserId, String),
}

impl Shelf {
    /// The shelf of something published by `caller` under `policy`; `None` where he has no
    /// organisation to publish it to.
    pub fn of(caller: &Caller, policy: AccessPolicy) -> Option<Self> {
        match policy {
            AccessPolicy::Public => Some(Self::Public),
            AccessPolicy::Paid => Some(Self::Paid),
            AccessPolicy::Org => caller.org.clone().map(Self::Org),
        }
    }

    /// The shelf on which a record stands.
    pub fn holding(record: &GlobalRecord) -> Self {
        match (record.publication.access_policy, &record.org_id) {
            (AccessPolicy::Paid, _) => Self::Paid,
            (AccessPolicy::Org, Some(org)) => Self::Org(org.clone()),
            _ => Self::Public,
        }
    }

    /// The organisation whose shelf it is.
    pub fn org(&self) -> Option<&OrgId> {
        match self {
            Self::Org(org) => Some(org),
            Self::Public | Self::Paid | Self::Branch(..) => None,
        }
    }
}

impl fmt::Display for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Public => f.write_str("public"),
            Self::Paid => f.write_str("paid"),
            // No organisation's name holds a colon.
            Self::Org(org) => write!(f, "org:{org}"),
            // And no user's a slash.
            Self::Branch(user, name) => write!(f, "branch:{user}/{name}"),
        }
    }
}

/// An organisation: named as a user is.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct OrgId(UserId);

/// Why a text cannot name an organisation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("that is no name of an organisation: {0}")]
pub struct OrgIdError(UserIdError);

impl OrgId {
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl FromStr for OrgId {
    type Err = OrgIdError;

    fn from_str(text: &str) -> Result<Self, OrgIdError> {
        text.parse().map(Self).map_err(OrgIdError)
    }
}

impl fmt::Display for OrgId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
