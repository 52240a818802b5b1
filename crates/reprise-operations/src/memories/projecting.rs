//! Files that other programs read, kept equal to a memory: written, compared, and brought up to
//! date after each change.

use std::path::Path;

use reprise_knowledge::{
    ExportError, Outgoing, ProjectionKind, Rebuilt, Telling, compare, first_of, hindrance, rebuild,
};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{sleep, timeout};

use super::learnings::of_project;
use super::{Change, TagRules};
use crate::prelude::*;

/// A projection of one user's memory, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Projection {
    pub user: UserId,
    pub kind: ProjectionKind,
    pub path: PathBuf,
    /// Only records of this project.
    pub project: Option<String>,
}

/// Changes that come within this time are one.
const TOGETHER: Duration = Duration::from_millis(300);
/// Of the time that is given to projections and to rest.
const REST: u32 = 4;

impl Projection {
    fn refused(&self, error: &ExportError) -> String {
        let (kind, path) = (self.kind, self.path.display());
        format!("the {kind} projection at `{path}` is not up to date: {error}")
    }
}

impl Memory {
    /// What keeps this user's projections from being written: what is in their way now, or what
    /// was when they were last written.
    pub(crate) async fn projection_warnings(&self) -> Vec<String> {
        let own = self.all.projections.iter();
        let own: Vec<Projection> = own.filter(|own| own.user == self.user).cloned().collect();
        if own.is_empty() {
            return Vec::new();
        }
        let failing = self.all.failing(&self.user);
        let looked = self.read(move |memory| {
            let home = home_of(memory);
            let found = own.iter().filter_map(|own| {
                let why = hindrance(own.kind, &own.path, home);
                let (kind, path) = (own.kind, own.path.display());
                why.map(|why| {
                    (
                        own.path.clone(),
                        format!("the {kind} projection at `{path}` cannot be written: {why}"),
                    )
                })
            });
            found.collect::<BTreeMap<PathBuf, String>>()
        });
        let mut warnings = failing;
        warnings.extend(looked.await.unwrap_or_default());
        warnings.into_values().collect()
    }

    /// Where a project stands whose Sunwell reads what was learned here.
    pub(crate) fn sunwell_folder(&self, project: Option<&str>) -> Option<String> {
        let own = self.all.projections.iter().find(|own| {
            let is_of = own.user == self.user && own.kind == ProjectionKind::Sunwell;
            is_of && (project.is_none() || own.project.as_deref() == project)
        });
        own.map(|own| own.path.display().to_string())
    }

    /// Writes what has changed in a projection; `adopt` takes over files of another program.
    pub(crate) async fn rebuild(
        &self,
        projection: &Projection,
        adopt: bool,
    ) -> Result<Rebuilt, Problem> {
        let (wanted, rules) = (projection.clone(), Arc::clone(&self.all.tag_rules));
        let done = self.read(move |memory| {
            let told = telling(memory, wanted.project.as_deref());
            rebuild(
                wanted.kind,
                &wanted.path,
                home_of(memory),
                outgoing(&told, &rules),
                adopt,
            )
        });
        let refused = |error| Problem::new(ProblemKind::Conflict, projection.refused(&error));
        done.await?.map_err(refused)
    }

    /// How a projection differs from memory, a sentence each.
    pub(crate) async fn differs(&self, projection: &Projection) -> Result<Vec<String>, Problem> {
        let (wanted, rules) = (projection.clone(), Arc::clone(&self.all.tag_rules));
        let compared = self.read(move |memory| differences(memory, &wanted, &rules));
        compared.await?.map_err(|error| refused(&error))
    }
}

/// How a projection differs from a memory as of one moment, a sentence each.
pub fn differences(
    memory: &Snapshot,
    projection: &Projection,
    rules: &TagRules,
) -> Result<Vec<String>, ExportError> {
    let told = telling(memory, projection.project.as_deref());
    compare(
        projection.kind,
        &projection.path,
        home_of(memory),
        outgoing(&told, rules),
    )
}

/// The folder of a memory's file.
fn home_of(memory: &Snapshot) -> &Path {
    memory.log().path().parent().unwrap_or(Path::new("."))
}

fn outgoing<'a>(records: &'a [Telling], rules: &'a TagRules) -> Outgoing<'a> {
    let aliases = rules.aliases();
    Outgoing { records, aliases }
}

/// Brings projections up to date with a memory as of one moment; a sentence for each that cannot be
/// written.
pub fn bring_up_to_date(
    memory: &Snapshot,
    projections: &[Projection],
    rules: &TagRules,
) -> Vec<String> {
    let failed = projections.iter().filter_map(|own| {
        let told = telling(memory, own.project.as_deref());
        let done = rebuild(
            own.kind,
            &own.path,
            home_of(memory),
            outgoing(&told, rules),
            false,
        );
        done.err().map(|error| own.refused(&error))
    });
    failed.collect()
}

impl Memories {
    /// Brings every projection up to date once, for a process that ends with its command. Returns
    /// a sentence for each that cannot be written.
    pub async fn refresh_projections(&self) -> Vec<String> {
        let users = self.projections.iter().map(|own| own.user.clone());
        let users: BTreeSet<UserId> = users.collect();
        for user in users {
            self.refresh(&user).await;
        }
        self.failing_projections()
    }

    /// The same with these projections, for [`Self::keep_projections`].
    #[must_use]
    pub fn with_projections(mut self, projections: Vec<Projection>) -> Self {
        self.projections = projections.into();
        self
    }

    /// Does what goes on beside requests, without end.
    pub async fn keep(&self) {
        tokio::join!(self.keep_projections(), self.keep_told());
    }

    /// Brings every configured projection up to date, now and after each change, without end. What
    /// cannot be written is logged, and tried again with the next change.
    pub async fn keep_projections(&self) {
        let mut changes = self.listen();
        let mut due: BTreeSet<UserId> = self
            .projections
            .iter()
            .map(|projection| projection.user.clone())
            .collect();
        if due.is_empty() {
            return;
        }
        let all = due.clone();
        let concerned = |change: Change| {
            let concerns = all.contains(&change.user) && change.changes_records();
            concerns.then_some(change.user)
        };
        loop {
            while due.is_empty() {
                match changes.recv().await {
                    Ok(change) => due.extend(concerned(change)),
                    Err(RecvError::Lagged(_)) => due.clone_from(&all),
                    Err(RecvError::Closed) => return,
                }
            }
            sleep(TOGETHER).await;
            loop {
                match timeout(Duration::ZERO, changes.recv()).await {
                    Ok(Ok(change)) => due.extend(concerned(change)),
                    Ok(Err(RecvError::Lagged(_))) => due.clone_from(&all),
                    Ok(Err(RecvError::Closed)) => return,
                    Err(_) => break,
                }
            }
            let began = Instant::now();
            for user in std::mem::take(&mut due) {
                self.refresh(&user).await;
            }
            sleep(began.elapsed() * REST).await;
        }
    }

    async fn refresh(&self, user: &UserId) {
        let memory = self.of(user);
        if !memory.exists() {
            return;
        }
        for projection in self.projections.iter().filter(|own| own.user == *user) {
            let failed = memory.rebuild(projection, false).await.err();
            let path = &projection.path;
            if let Some(problem) = &failed {
                tracing::warn!(path = %path.display(), %problem, "a projection is not up to date");
            }
            self.note_failure(projection, failed.map(|problem| problem.detail));
        }
    }

    fn note_failure(&self, projection: &Projection, why: Option<String>) {
        let mut failing = lock(&self.failing);
        let key = (projection.user.clone(), projection.path.clone());
        match why {
            Some(why) => failing.insert(key, why),
            None => failing.remove(&key),
        };
    }

    /// Why this user's projections were not written when that was last tried, by their places.
    fn failing(&self, user: &UserId) -> BTreeMap<PathBuf, String> {
        let failing = lock(&self.failing);
        let own = failing.iter().filter(|((of, _), _)| of == user);
        own.map(|((_, path), why)| (path.clone(), why.clone()))
            .collect()
    }

    /// Why projections were not written when that was last tried, a sentence each.
    pub fn failing_projections(&self) -> Vec<String> {
        let failing = lock(&self.failing);
        failing.values().cloned().collect()
    }
}

fn refused(error: &ExportError) -> Problem {
    Problem::new(ProblemKind::Conflict, error.to_string())
}

/// Every live record as a projection is written from it, in the order of the log; of one project
/// where it is named.
fn telling(memory: &Snapshot, project: Option<&str>) -> Vec<Telling> {
    let own = memory.matching(&of_project(project)).into_iter();
    let told = own.map(|record| {
        let line = serde_json::to_string(&ExportLine::new(&record)).ok();
        let line = line.and_then(|line| serde_json::from_str(&line).ok());
        let links = memory.links(record.id).into_iter();
        let links = links.filter(|link| link.outgoing);
        Telling {
            line: line.unwrap_or(Value::Null),
            links: links.map(|link| (link.record, link.relation)).collect(),
            vector: memory.vector(record.id),
            first: first_of(memory, &record),
            record,
        }
    });
    told.collect()
}
