//! How much one user or one organisation may have published: the limits that a service begins with,
//! and those that an operator sets for one holder.

use reprise_types::UserId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::{Caller, Shelf};
use crate::error::{GlobalError, GlobalResult};
use crate::org::OrgId;

/// How much one holder may have published; without a number there is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    #[serde(default)]
    pub things: Option<u64>,
    /// Of all versions.
    #[serde(default)]
    pub bytes: Option<u64>,
}

/// Those of each user, and of each organisation on the shelves of its own and of its projects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quotas {
    pub user: Quota,
    pub org: Quota,
}

/// Returns the holder of what is on this shelf for an organisation; what is for one of its projects
/// counts for the organisation.
pub fn find_organisation_holder(shelf: &str) -> Option<String> {
    let (org, _) = Shelf::parse_organisation(shelf)?;
    Some(Shelf::Org(org).to_string())
}

impl Quotas {
    /// Returns who holds a thing on this shelf, each with its quota.
    pub fn list_holders_with_quota(&self, author: &UserId, shelf: &str) -> Vec<(String, Quota)> {
        let mut holders = vec![(format!("user:{author}"), self.user)];
        let org = find_organisation_holder(shelf);
        holders.extend(org.map(|holder| (holder, self.org)));
        holders
    }
}

impl Quota {
    /// Returns the stricter of both limits.
    #[must_use]
    pub fn tighten(self, other: Self) -> Self {
        let least = |one: Option<u64>, other: Option<u64>| one.into_iter().chain(other).min();
        Self {
            things: least(self.things, other.things),
            bytes: least(self.bytes, other.bytes),
        }
    }

    /// Refuses what a holder would then have too much of.
    pub fn refuse_excess(self, holder: &str, things: u64, bytes: u64) -> GlobalResult<()> {
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

/// What a holder has published, and what it may have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HolderQuota {
    /// `user:NAME` or `org:NAME`.
    pub holder: String,
    pub things: u64,
    pub bytes: u64,
    /// What an operator set for it.
    pub set: Quota,
    /// What holds: the stricter of that and of the limits of the service.
    pub quota: Quota,
}

/// A limit that an operator sets for a holder; without a number only those of the service hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuotaChange {
    /// `user:NAME` or `org:NAME`.
    #[schemars(regex(pattern = r"^(user|org):[A-Za-z0-9_@+-][A-Za-z0-9._@+-]{0,127}$"))]
    pub holder: String,
    #[serde(default)]
    #[schemars(range(max = NUMBER_MAX))]
    pub things: Option<u64>,
    #[serde(default)]
    #[schemars(range(max = NUMBER_MAX))]
    pub bytes: Option<u64>,
}

/// Largest limit that a database can hold.
const NUMBER_MAX: u64 = i64::MAX.unsigned_abs();

impl QuotaChange {
    /// Returns the user whom it limits; `None` if it limits the operator's own organisation.
    /// Whether the user is one of the operator's, who holds the tokens says.
    pub fn find_user(&self, operator: &Caller) -> GlobalResult<Option<UserId>> {
        if self.things.max(self.bytes) > Some(NUMBER_MAX) {
            return Err(GlobalError::invalid(
                "the number is too large; leave it out for no limit",
            ));
        }
        let own = operator.org.clone().map(|org| Shelf::Org(org).to_string());
        if own.as_deref() == Some(self.holder.as_str()) {
            return Ok(None);
        }
        let other = self.holder.strip_prefix("org:");
        if other.is_some_and(|org| org.parse::<OrgId>().is_ok()) {
            return Err(GlobalError::Conflict {
                message: format!(
                    "`{}` is not your organisation; an operator limits the own one and its users",
                    self.holder
                ),
            });
        }
        let user = self.holder.strip_prefix("user:");
        let user = user.and_then(|user| user.parse().ok());
        user.map(Some).ok_or_else(|| {
            GlobalError::invalid(format!(
                "`{:.256}` is no user and not your organisation; write user:NAME, or org:NAME of your \
                 own",
                self.holder
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_counts_both_and_of_two_the_stricter_holds() {
        let quota = Quota {
            things: Some(2),
            bytes: Some(100),
        };
        assert!(quota.refuse_excess("user:ann", 2, 100).is_ok());
        let many = quota
            .refuse_excess("user:ann", 3, 1)
            .unwrap_err()
            .to_string();
        assert!(
            many.contains("user ann") && many.contains("3 things"),
            "{many}"
        );
        let large = quota
            .refuse_excess("org:acme", 1, 101)
            .unwrap_err()
            .to_string();
        assert!(large.contains("101 bytes"), "{large}");
        assert!(
            Quota::default()
                .refuse_excess("user:ann", 1 << 40, 1 << 50)
                .is_ok()
        );
        let quotas = Quotas {
            user: quota,
            org: quota,
        };
        let author = "ann".parse().unwrap();
        assert_eq!(quotas.list_holders_with_quota(&author, "public").len(), 1);
        assert_eq!(
            quotas.list_holders_with_quota(&author, "org:acme")[1].0,
            "org:acme"
        );
        assert_eq!(
            quotas.list_holders_with_quota(&author, "project:acme/web")[1].0,
            "org:acme"
        );
        let set = Quota {
            things: Some(5),
            bytes: None,
        };
        assert_eq!(quota.tighten(set), quota);
        assert_eq!(set.tighten(Quota::default()), set);
    }

    #[test]
    fn an_operator_limits_users_and_the_own_organisation() {
        let operator = Caller {
            org: Some("acme".parse().unwrap()),
            ..Caller::new("olga".parse().unwrap())
        };
        let find = |holder: &str, things| {
            let change = QuotaChange {
                holder: holder.to_owned(),
                things,
                bytes: None,
            };
            change.find_user(&operator)
        };
        assert_eq!(find("org:acme", Some(1)).unwrap(), None);
        assert_eq!(find("user:ann", None).unwrap().unwrap().as_str(), "ann");
        for bad in ["org:other", "ann", "user:", "user:../x", "project:acme/web"] {
            assert!(find(bad, Some(1)).is_err(), "{bad}");
        }
        assert!(find("org:acme", Some(u64::MAX)).is_err());
    }
}
