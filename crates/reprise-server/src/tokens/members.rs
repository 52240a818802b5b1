//! The people who have tokens of a service, or were invited: what an operator asks first.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use reprise_global::ProjectId;
use reprise_operations::Right;
use reprise_types::{Clock, SystemClock, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Scope, ServiceTokens, TokenError};

/// A person with tokens or an invitation, as a member of one organisation or of none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Member {
    pub user: UserId,
    pub org: Option<String>,
    /// Projects of the organisation whose member the person is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub projects: Vec<ProjectId>,
    pub paid: bool,
    /// All that the person's tokens may do.
    pub may: Vec<Right>,
    /// How many tokens are valid.
    pub tokens: usize,
    /// How many invitations were not accepted yet.
    pub invitations: usize,
    /// When one of the tokens was last used.
    pub used: Option<DateTime<Utc>>,
}

impl ServiceTokens {
    /// Lists the people who have valid tokens or invitations, by name.
    pub async fn list_members(&self) -> Result<Vec<Member>, TokenError> {
        let now = SystemClock.now();
        let mut members: BTreeMap<(UserId, Option<String>), Member> = BTreeMap::new();
        for known in self.list().await? {
            let entry = known.entry;
            let (Scope::User(user), Some(grant)) = (entry.scope, entry.grant) else {
                continue;
            };
            if entry.expires.is_some_and(|end| end <= now) {
                continue;
            }
            let member = members
                .entry((user.clone(), grant.org.clone()))
                .or_insert_with(|| Member {
                    user,
                    org: grant.org,
                    projects: Vec::new(),
                    paid: false,
                    may: Vec::new(),
                    tokens: 0,
                    invitations: 0,
                    used: None,
                });
            if entry.is_invitation {
                member.invitations += 1;
            } else {
                member.tokens += 1;
            }
            member.paid |= grant.paid;
            member.projects.extend(grant.projects);
            member.projects.sort_unstable();
            member.projects.dedup();
            member.may.extend(grant.may);
            member.may.sort_unstable();
            member.may.dedup();
            member.used = member.used.max(known.used);
        }
        Ok(members.into_values().collect())
    }
}
