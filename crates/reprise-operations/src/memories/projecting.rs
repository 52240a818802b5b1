//! Files that other programs read, kept equal to a memory: written, compared, and brought up to
//! date after each change.

use std::path::Path;

use reprise_knowledge::{
    ExportError, Outgoing, ProjectionKind, Rebuilt, Telling, compare, hindrance, rebuild,
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
    /// Writes what has changed in it; a sentence where it cannot be written.
    fn rebuild(&self, memory: &Snapshot, rules: &TagRules, adopt: bool) -> Result<Rebuilt, String> {
        let told = telling(memory, self.project.as_deref());
        let (kind, path) = (self.kind, &self.path);
        let done = rebuild(kind, path, home_of(memory), outgoing(&told, rules), adopt);
        done.map_err(|error| {
            let path = path.display();
            format!("the {kind} projection at `{path}` is not up to date: {error}")
        })
    }
}

impl Memory {
    /// What keeps this user's projections from being written: what is in their way now, or what
    /// was when they were last written.
    pub(crate) async fn projection_warnings(&self) -> Vec<String> {
        let own = self.all.around.projections.iter();
        let own: Vec<Projection> = own.filter(|own| own.user == self.user).cloned().collect();
        if own.is_empty() {
            return Vec::new();
        }
        let failing = lock(&self.all.failing).clone().into_iter();
        let failing = failing.filter(|((user, _), _)| *user == self.user);
        let mut warnings: BTreeMap<PathBuf, String> =
            failing.map(|((_, path), why)| (path, why)).collect();
        let looked = self.read(move |memory| {
            let home = home_of(memory);
            let found = own.into_iter().filter_map(|Projection { kind, path, .. }| {
                let why = hindrance(kind, &path, home)?;
                let place = path.display();
                let said = format!("the {kind} projection at `{place}` cannot be written: {why}");
                Some((path, said))
            });
            found.collect::<Vec<_>>()
        });
        warnings.extend(looked.await.unwrap_or_default());
        warnings.into_values().collect()
    }

    /// Where a project stands whose Sunwell reads what was learned here.
    pub(crate) fn sunwell_folder(&self, project: Option<&str>) -> Option<String> {
        let own = self.all.around.projections.iter().find(|own| {
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
        let (wanted, around) = (projection.clone(), Arc::clone(&self.all.around));
        let done = self.read(move |memory| wanted.rebuild(memory, &around.tags, adopt));
        done.await?.map_err(Problem::conflict)
    }

    /// How a projection differs from memory, a sentence each.
    pub(crate) async fn differs(&self, projection: &Projection) -> Result<Vec<String>, Problem> {
        let (wanted, around) = (projection.clone(), Arc::clone(&self.all.around));
        let compared = self.read(move |memory| differences(memory, &wanted, &around.tags));
        compared
            .await?
            .map_err(|error| Problem::conflict(error.to_string()))
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
    let done = projections.iter();
    let done = done.map(|own| own.rebuild(memory, rules, false));
    done.filter_map(Result::err).collect()
}

impl Memories {
    /// Brings every projection up to date once, for a process that ends with its command. Returns
    /// a sentence for each that cannot be written.
    pub async fn refresh_projections(&self) -> Vec<String> {
        for user in self.projected() {
            self.refresh(&user).await;
        }
        self.failing_projections()
    }

    /// Whose memories have a projection.
    fn projected(&self) -> BTreeSet<UserId> {
        let users = self.around.projections.iter().map(|own| own.user.clone());
        users.collect()
    }

    /// Does what goes on beside requests, without end.
    pub async fn keep(&self) {
        tokio::join!(self.keep_projections(), self.keep_told());
    }

    /// Brings every configured projection up to date, now and after each change, without end. What
    /// cannot be written is logged, and tried again with the next change.
    pub async fn keep_projections(&self) {
        let mut changes = self.listen();
        let mut due = self.projected();
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
        let own = self.around.projections.iter();
        for projection in own.filter(|own| own.user == *user) {
            let done = memory.rebuild(projection, false).await;
            let path = &projection.path;
            let key = (user.clone(), path.clone());
            let mut failing = lock(&self.failing);
            match done {
                Err(problem) => {
                    let at = path.display();
                    tracing::warn!(path = %at, %problem, "a projection is not up to date");
                    failing.insert(key, problem.detail);
                }
                Ok(_) => drop(failing.remove(&key)),
            }
        }
    }

    /// Why projections were not written when that was last tried, a sentence each.
    pub fn failing_projections(&self) -> Vec<String> {
        let failing = lock(&self.failing);
        failing.values().cloned().collect()
    }
}

/// Every live record as a projection is written from it, in the order of the log; of one project
/// where it is named.
fn telling(memory: &Snapshot, project: Option<&str>) -> Vec<Telling> {
    let own = memory.matching(&of_project(project)).into_iter();
    let told = own.map(|record| {
        let line = serde_json::to_string(&ExportLine::new(&record)).ok();
        let line = line.and_then(|line| serde_json::from_str(&line).ok());
        Telling::of(memory, record, line.unwrap_or_default())
    });
    told.collect()
}
