//! Who asks a global store, and which shelves are open to them.
//!
//! The one rule of access.

use std::fmt;

use reprise_types::UserId;

use crate::org::{OrgId, OrgProject, ProjectId};
use crate::record::{AccessPolicy, GlobalRecord, Publication};

/// An authenticated user, with what his token says of him at this moment: a membership that was
/// withdrawn is not in it any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub user: UserId,
    pub org: Option<OrgId>,
    /// Projects of that organisation whose member the user is.
    pub projects: Vec<ProjectId>,
    /// Whether the paid tier is open.
    pub paid: bool,
}

impl Caller {
    /// A user without organisation, project or paid tier.
    pub fn new(user: UserId) -> Self {
        Self {
            user,
            org: None,
            projects: Vec::new(),
            paid: false,
        }
    }

    /// Whether this caller may see a record at all. Its author may, whatever became of the rest.
    pub fn may_see(&self, record: &GlobalRecord) -> bool {
        let project = &record.publication.project;
        let is_of_project = || {
            project
                .as_ref()
                .is_none_or(|one| self.projects.contains(one))
        };
        let member = || record.org_id.is_some() && record.org_id == self.org && is_of_project();
        record.author_id == self.user
            || match record.publication.access_policy {
                AccessPolicy::Public => true,
                AccessPolicy::Org => member(),
                AccessPolicy::Paid => self.paid,
            }
    }

    /// Returns the shelf of a branch of this caller.
    pub fn branch_shelf(&self, name: &str) -> Shelf {
        Shelf::Branch(self.user.clone(), name.to_owned())
    }

    /// Returns the shelves of which this caller may see every record.
    pub fn open_shelves(&self) -> Vec<Shelf> {
        let mut shelves = vec![Shelf::Public];
        shelves.extend(self.paid.then_some(Shelf::Paid));
        if let Some(org) = &self.org {
            shelves.push(Shelf::Org(org.clone()));
            let own = self.projects.iter();
            shelves.extend(own.map(|project| Shelf::of_project(org, project)));
        }
        shelves
    }
}

/// The part of the catalogue that holds a record. Stores partition by it, so that no query reads
/// what its caller may not see.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shelf {
    Public,
    Paid,
    /// For the members of one organisation.
    Org(OrgId),
    /// For the members of one of its projects.
    Project(OrgProject),
    /// What one author tries out before others see it: open to him alone, and where he names it.
    Branch(UserId, String),
}

impl Shelf {
    /// Returns the shelf of something that `caller` publishes; `None` if he is in no such
    /// organisation or project.
    pub fn for_publication(caller: &Caller, publication: &Publication) -> Option<Self> {
        match (publication.access_policy, &publication.project) {
            (AccessPolicy::Public, _) => Some(Self::Public),
            (AccessPolicy::Paid, _) => Some(Self::Paid),
            (AccessPolicy::Org, None) => caller.org.clone().map(Self::Org),
            (AccessPolicy::Org, Some(project)) => {
                let org = caller.org.as_ref();
                let org = org.filter(|_| caller.projects.contains(project));
                org.map(|org| Self::of_project(org, project))
            }
        }
    }

    fn of_project(org: &OrgId, project: &ProjectId) -> Self {
        Self::Project(OrgProject {
            org: org.clone(),
            project: project.clone(),
        })
    }

    /// Returns the shelf that holds a record.
    pub fn of_record(record: &GlobalRecord) -> Self {
        let publication = &record.publication;
        match (publication.access_policy, &record.org_id) {
            (AccessPolicy::Paid, _) => Self::Paid,
            (AccessPolicy::Org, Some(org)) => match &publication.project {
                Some(project) => Self::of_project(org, project),
                None => Self::Org(org.clone()),
            },
            _ => Self::Public,
        }
    }

    /// Finds the organisation whose shelf has this name, and the project if it is a project's.
    pub fn parse_organisation(name: &str) -> Option<(OrgId, Option<ProjectId>)> {
        if let Some(org) = name.strip_prefix("org:") {
            return Some((org.parse().ok()?, None));
        }
        let OrgProject { org, project } = name.strip_prefix("project:")?.parse().ok()?;
        Some((org, Some(project)))
    }

    /// The organisation whose shelf it is, or whose project's.
    pub fn org(&self) -> Option<&OrgId> {
        match self {
            Self::Org(org) => Some(org),
            Self::Project(project) => Some(&project.org),
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
            Self::Project(project) => write!(f, "project:{project}"),
            // And no user's a slash.
            Self::Branch(user, name) => write!(f, "branch:{user}/{name}"),
        }
    }
}
