//! People who sign in at an issuer (`OpenID` Connect): whose token it is, and what the groups in it
//! open. Nothing is kept of them: a membership that ends is out of the next token.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reprise_global::{Caller, OrgId};
use reprise_operations::{Problem, ProblemKind};
use reprise_types::Clock;
use serde::Deserialize;

use super::access::Known;
use crate::issuer::{Fetch, Issuer, IssuerSettings, sub};
use crate::tokens::Right;

/// Whose people may come in, and what their groups open.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeopleSettings {
    /// As it stands in `iss`, to the letter.
    pub issuer: String,
    /// What must stand in `aud`.
    pub audience: String,
    /// The claim that names the user.
    #[serde(default = "sub")]
    pub user_claim: String,
    /// What a token must have been granted.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The claim that lists a person's groups.
    #[serde(default = "groups")]
    pub groups_claim: String,
    /// From a group to the organisation whose members are in it.
    #[serde(default)]
    pub organisations: BTreeMap<String, OrgId>,
    /// Groups that may publish; all people where none is named.
    #[serde(default)]
    pub writers: Vec<String>,
    /// Groups that may operate.
    #[serde(default)]
    pub operators: Vec<String>,
    /// Groups to which the paid tier is open.
    #[serde(default)]
    pub paid: Vec<String>,
}

fn groups() -> String {
    "groups".to_owned()
}

/// The people of an issuer. Cheap to clone.
#[derive(Debug, Clone)]
pub struct People {
    issuer: Issuer,
    settings: Arc<PeopleSettings>,
}

impl People {
    /// Nothing is fetched before the first token.
    pub fn new(settings: PeopleSettings, fetch: Fetch, clock: Arc<dyn Clock>) -> Self {
        let of_issuer = IssuerSettings {
            issuer: settings.issuer.clone(),
            audience: settings.audience.clone(),
            user_claim: settings.user_claim.clone(),
            scopes: settings.scopes.clone(),
        };
        Self {
            issuer: Issuer::new(of_issuer, fetch, clock),
            settings: Arc::new(settings),
        }
    }

    /// Whose token it is, and what that opens.
    pub(super) async fn known(&self, token: &str) -> Result<Known, Problem> {
        let claims = self.issuer.claims(token).await?;
        let settings = &self.settings;
        let user = self.issuer.user_in(&claims)?;
        let groups = claims.list(&settings.groups_claim);
        let is_in = |of: &[String]| of.iter().any(|group| groups.contains(&group.as_str()));
        let orgs = groups
            .iter()
            .filter_map(|group| settings.organisations.get(*group));
        let orgs: BTreeSet<&OrgId> = orgs.collect();
        if orgs.len() > 1 {
            let said = format!(
                "the groups of `{user}` are of {} organisations, and one is asked for at a time; have \
                 the issuer put the groups of one into the token",
                orgs.len()
            );
            return Err(Problem::new(ProblemKind::Forbidden, said));
        }
        let mut may = vec![Right::Read];
        if settings.writers.is_empty() || is_in(&settings.writers) {
            may.push(Right::Write);
        }
        if is_in(&settings.operators) {
            may.push(Right::Operate);
        }
        Ok(Known {
            // No token of ours has a colon and a person's name: it is no name of a file's.
            name: format!("oidc:{user}"),
            caller: Caller {
                org: orgs.into_iter().next().cloned(),
                paid: is_in(&settings.paid),
                user,
            },
            may,
        })
    }
}
