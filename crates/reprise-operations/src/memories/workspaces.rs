//! Governed workspaces: which of them a request reaches, and as whom.
//!
//! A program of this machine reaches every one, as with git. Over TCP a token's user reaches those
//! that the owner registered for that user, in the roles given there.

use reprise_workspace::{Actor, Tended, Workspace};

use crate::prelude::*;

/// The role that lets a user act as a person: as `human:` with the user's own name.
const HUMAN: &str = "human";

/// Workspaces by the names that requests use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "BTreeMap<String, Registered>")]
pub struct Workspaces(BTreeMap<String, Registered>);

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registered {
    pub path: PathBuf,
    /// Whose tokens reach it, each with the actors that the user may be: `human`, or agents' names.
    #[serde(default)]
    pub users: BTreeMap<UserId, Vec<String>>,
}

impl Workspaces {
    /// Where each stands, by name.
    pub fn places(&self) -> impl Iterator<Item = (&str, &std::path::Path)> {
        let all = self.0.iter();
        all.map(|(name, one)| (name.as_str(), one.path.as_path()))
    }

    /// The names of those that a user's own page shows: where the user is named, and where nobody
    /// is.
    pub fn of(&self, user: &UserId) -> Vec<String> {
        let own = self.0.iter().filter(|(_, one)| {
            let roles = one.users.get(user);
            one.users.is_empty() || roles.is_some_and(|roles| roles.iter().any(|r| r == HUMAN))
        });
        own.map(|(name, _)| name.clone()).collect()
    }
}

impl Registered {
    fn grants(&self, user: &UserId, actor: &Actor) -> bool {
        let granted = self.users.get(user).into_iter().flatten();
        granted.into_iter().any(|granted| {
            if actor.is_human() {
                return granted == HUMAN && actor.as_str() == format!("human:{user}");
            }
            let same = actor.as_str().eq_ignore_ascii_case(granted);
            // A role is each of its instances; an instance is no other, and not the role.
            let is_role = granted.bytes().all(|byte| !byte.is_ascii_digit());
            same || is_role && granted != HUMAN && actor.owns(granted)
        })
    }
}

impl TryFrom<BTreeMap<String, Registered>> for Workspaces {
    type Error = String;

    /// A path that is not absolute would be another one for each process.
    fn try_from(named: BTreeMap<String, Registered>) -> Result<Self, String> {
        let relative = named.iter().find(|(_, one)| !one.path.is_absolute());
        match relative {
            Some((name, one)) => Err(format!(
                "the workspace `{name}` is at `{}`; write its path from the root",
                one.path.display()
            )),
            None => Ok(Self(named)),
        }
    }
}

/// Which workspace a request is about.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    /// Its name or, from this machine, its absolute path; the only one where there is one.
    pub(crate) workspace: Option<String>,
    /// The agent's branch whose tree is meant, not the shared one.
    pub(crate) branch: Option<String>,
}

/// How often the registered workspaces are looked after.
const LOOK: Duration = Duration::from_secs(5);

impl Memories {
    /// Looks after the registered workspaces, for as long as it is awaited: what people commit by
    /// plain git is announced, and scratch goes after its time.
    pub async fn keep_workspaces(&self) {
        let Workspaces(all) = &self.around.workspaces;
        let mut known: BTreeMap<&str, Tended> = BTreeMap::new();
        // Where none is registered there is nothing to come back for.
        while !all.is_empty() {
            for (name, one) in all {
                let (path, clock) = (one.path.clone(), Arc::clone(&self.clock));
                let mut tended = known.get(&**name).cloned().unwrap_or_default();
                let looked = lent(move || {
                    Workspace::open(&path, clock)?.tend(&mut tended)?;
                    Ok::<_, WorkspaceError>(tended)
                });
                match looked.await {
                    Ok(Ok(tended)) => drop(known.insert(name, tended)),
                    Ok(Err(error)) => tracing::debug!(%error, name, "not looked after"),
                    Err(error) => tracing::warn!(%error, name, "not looked after"),
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

impl Memory {
    /// The registered workspaces of this user's page.
    pub fn workspaces(&self) -> Vec<String> {
        self.all.around.workspaces.of(&self.user)
    }

    /// The actor that a request names, where the caller may be that one.
    pub(crate) fn actor(&self, asked: &Asked, name: &str) -> Result<Actor, Problem> {
        let actor = Actor::new(name).map_err(WorkspaceError::from)?;
        if self.is_agent && actor.is_human() {
            let said = "a tool acts as an agent; people use the command line, HTTP or the page";
            return Err(Problem::new(ProblemKind::Forbidden, said).under("human-hands"));
        }
        if !self.is_on_machine && !self.registered(asked)?.grants(&self.user, &actor) {
            tracing::warn!(user = %self.user, %actor, "an actor was refused");
            let said = format!(
                "`{}` may not act as `{actor}` there; the daemon's configuration says as whom",
                self.user
            );
            return Err(Problem::new(ProblemKind::Forbidden, said).under("actor-grant"));
        }
        Ok(actor)
    }

    /// Works on a workspace, on a thread that may wait for the disk.
    pub(crate) async fn on_workspace<T: Send + 'static>(
        &self,
        asked: Asked,
        work: impl FnOnce(&Workspace) -> Result<T, WorkspaceError> + Send + 'static,
    ) -> Result<T, Problem> {
        let path = self.place(&asked)?;
        let clock = Arc::clone(&self.all.clock);
        let identity = self
            .asker
            .as_ref()
            .map(|asker| format!("{asker} of {}", self.user));
        let done = lent(move || {
            let mut workspace = Workspace::open(&path, clock)?;
            if let Some(identity) = identity {
                workspace = workspace.identified(identity);
            }
            match &asked.branch {
                Some(branch) => work(&workspace.tree_of(branch)?),
                None => work(&workspace),
            }
        });
        match done.await {
            Ok(done) => Ok(done?),
            Err(error) => {
                let why = format!("the workspace could not be used ({error}); run `recover` there");
                Err(Problem::new(ProblemKind::Internal, why))
            }
        }
    }

    /// What a caller from elsewhere may know of a path on this machine.
    pub(crate) fn shown(&self, path: PathBuf) -> PathBuf {
        if self.is_on_machine {
            return path;
        }
        path.file_name().map(PathBuf::from).unwrap_or_default()
    }

    fn place(&self, asked: &Asked) -> Result<PathBuf, Problem> {
        match &asked.workspace {
            Some(path) if self.is_on_machine && path.starts_with('/') => Ok(path.into()),
            _ => self.registered(asked).map(|found| found.path.clone()),
        }
    }

    fn registered(&self, asked: &Asked) -> Result<&Registered, Problem> {
        let Workspaces(all) = &self.all.around.workspaces;
        let reaches = |one: &Registered| self.is_on_machine || one.users.contains_key(&self.user);
        let mut open = all.iter().filter(|(_, one)| reaches(one));
        let found = match &asked.workspace {
            Some(name) => open.find(|(own, _)| *own == name),
            None => open.next().filter(|_| open.next().is_none()),
        };
        found.map(|(_, one)| one).ok_or_else(|| {
            let name: String = asked
                .workspace
                .iter()
                .flat_map(|name| name.chars())
                .take(80)
                .collect();
            let what = if name.is_empty() {
                "no workspace is named, and there is not one alone".to_owned()
            } else {
                format!("there is no workspace `{name}`")
            };
            let own: Vec<&str> = all
                .iter()
                .filter(|(_, one)| reaches(one))
                .map(|(n, _)| &**n)
                .collect();
            let next = if own.is_empty() {
                format!(
                    "register one for `{}` in the daemon's configuration",
                    self.user
                )
            } else {
                format!("name one of {}", own.join(", "))
            };
            Problem::not_found(format!("{what}; {next}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_who_the_owner_says_and_nobody_else() {
        let ada: UserId = "ada".parse().unwrap();
        let registered = |roles: &[&str]| Registered {
            path: "/srv/app".into(),
            users: BTreeMap::from([(ada.clone(), roles.iter().map(|r| (*r).to_owned()).collect())]),
        };
        let may = |roles: &[&str], actor: &str| {
            registered(roles).grants(&ada, &Actor::new(actor).unwrap())
        };
        assert!(may(&["human"], "human:ada") && may(&["prm"], "PRM-002"));
        assert!(may(&["TSM-001"], "tsm-001"));
        assert!(!may(&["human"], "human:bob") && !may(&["human"], "human"));
        assert!(!may(&["prm"], "governor") && !may(&["prm"], "human:ada"));
        assert!(!may(&["TSM-001"], "tsm") && !may(&["TSM-001"], "TSM-002"));
        let bob: UserId = "bob".parse().unwrap();
        assert!(!registered(&["human"]).grants(&bob, &Actor::new("human:bob").unwrap()));
    }

    #[test]
    fn a_page_shows_what_its_user_may_see() {
        let named: Workspaces = serde_json::from_str(
            r#"{"own": {"path": "/a"}, "ours": {"path": "/b", "users": {"ada": ["human"]}},
                "bots": {"path": "/c", "users": {"ada": ["prm"]}},
                "theirs": {"path": "/d", "users": {"bob": ["human"]}}}"#,
        )
        .unwrap();
        let ada: UserId = "ada".parse().unwrap();
        assert_eq!(named.of(&ada), ["ours", "own"]);
        let relative = serde_json::from_str::<Workspaces>(r#"{"own": {"path": "a"}}"#);
        assert!(relative.unwrap_err().to_string().contains("`own`"));
    }
}
