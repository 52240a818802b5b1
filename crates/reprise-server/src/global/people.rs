//! People who sign in at an issuer (`OpenID` Connect): whose token it is, and what the groups in it
//! open. Nothing is kept of them: a membership that ends is out of the next token.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reprise_global::{Caller, OrgId, OrgProject, ProjectId};
use reprise_operations::{Problem, ProblemKind, Right};
use reprise_types::Clock;
use serde::Deserialize;

use crate::issuer::{Fetch, Issuer, IssuerSettings, default_user_claim};

/// What a token opens at this moment; within this process an answer says whose it is.
#[derive(Clone)]
pub(super) struct AuthenticatedCaller {
    /// Of the token.
    pub(super) name: String,
    pub(super) caller: Caller,
    pub(super) may: Vec<Right>,
}

/// Whose people may come in, and what their groups open.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeopleSettings {
    /// The issuer exactly as it is in `iss`.
    pub issuer: String,
    /// The audience that `aud` must name.
    pub audience: String,
    /// The claim that names the user.
    #[serde(default = "default_user_claim")]
    pub user_claim: String,
    /// What a token must have been granted.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The claim that lists a person's groups.
    #[serde(default = "default_groups_claim")]
    pub groups_claim: String,
    /// From a group to the organisation whose members are in it.
    #[serde(default)]
    pub organisations: BTreeMap<String, OrgId>,
    /// From a group to the project whose members are in it, as `ORGANISATION/PROJECT`. It counts
    /// for people of that organisation.
    #[serde(default)]
    pub projects: BTreeMap<String, OrgProject>,
    /// Groups that may publish; all people where none is named.
    #[serde(default)]
    pub writers: Vec<String>,
    /// Groups that may review what others publish for the organisation.
    #[serde(default)]
    pub reviewers: Vec<String>,
    /// Groups that may operate.
    #[serde(default)]
    pub operators: Vec<String>,
    /// Groups to which the paid tier is open.
    #[serde(default)]
    pub paid: Vec<String>,
}

/// Most projects of one person: each is a shelf that every question searches.
const PROJECTS_MAX: usize = 32;

fn default_groups_claim() -> String {
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
    pub(super) async fn authenticate(&self, token: &str) -> Result<AuthenticatedCaller, Problem> {
        let claims = self.issuer.claims(token).await?;
        let settings = &self.settings;
        let user = self.issuer.user_of_claims(&claims)?;
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
        let org = orgs.into_iter().next().cloned();
        let named = groups
            .iter()
            .filter_map(|group| settings.projects.get(*group));
        let own = named.filter(|project| Some(&project.org) == org.as_ref());
        let projects: BTreeSet<&ProjectId> = own.map(|project| &project.project).collect();
        if projects.len() > PROJECTS_MAX {
            let said = format!(
                "the groups of `{user}` are of {} projects, and at most {PROJECTS_MAX} are searched at \
                 a time; have the issuer put fewer groups into the token",
                projects.len()
            );
            return Err(Problem::new(ProblemKind::Forbidden, said));
        }
        let mut may = vec![Right::Read];
        if settings.writers.is_empty() || is_in(&settings.writers) {
            may.push(Right::Write);
        }
        if is_in(&settings.reviewers) {
            may.push(Right::Review);
        }
        if is_in(&settings.operators) {
            may.push(Right::Operate);
        }
        Ok(AuthenticatedCaller {
            // No token of ours has a colon and a person's name: it is no name of a file's.
            name: format!("oidc:{user}"),
            caller: Caller {
                org,
                projects: projects.into_iter().cloned().collect(),
                paid: is_in(&settings.paid),
                user,
            },
            may,
        })
    }
}
