//! Files that other programs read, kept equal to a memory: written, compared, and brought up to
//! date after each change.

use std::path::Path;

use reprise_knowledge::{
    ExportError, ExportInput, OutgoingRecord, ProjectionKind, ProjectionUpdateReport,
    compare_projection, find_write_obstacle, update_projection,
};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{sleep, timeout};

use crate::memories::MemoryChange;
use crate::operations::lessons::learnings::project_filter;
use crate::operations::tags::TagRules;
use crate::prelude::*;

arguments! {
    /// A projection and its place.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[schemars(rename = "Wanted")]
    pub struct ProjectionRequest {
        /// One of sunwell, ai-lessons, frames and markdown.
        pub kind: String as LineText,
        /// A folder, or of ai-lessons and frames a file.
        pub path: PathBuf as LineText,
        /// Only records of this project.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub project: Option<String> as SelectorName,
    }
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Projected {
    /// In the order of the request.
    pub projections: Vec<ProjectionReport>,
}

/// What was done to one projection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Done")]
pub struct ProjectionReport {
    /// Its kind.
    pub kind: String,
    /// The path that it is written to.
    pub path: PathBuf,
    /// Files that were written.
    pub written: usize,
    /// Files that said the same already.
    pub unchanged: usize,
    /// Files that stood for nothing any more.
    pub removed: usize,
    /// Where copies of another program's files are that were taken over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backup: Option<PathBuf>,
    /// How it differs from memory, where that was asked for.
    pub differs: Vec<String>,
}

operation! {
    Spec::for_reading(
        "rebuild",
        "Write what other programs read: .sunwell/memory, knowledge.db, frames, Markdown.",
    )
    .with_machine_callers_only();
    /// Which files.
    #[derive(Default)]
    Rebuild(memory, arguments: RebuildArguments {
        /// Each with its place.
        pub projections: Vec<ProjectionRequest>,
        /// Take over files that another program wrote.
        pub adopt: bool,
        /// Only say how they differ from memory.
        pub compare: bool,
    }) -> Projected {
        let mut done = Vec::with_capacity(arguments.projections.len());
        for wanted in arguments.projections {
            let kind: ProjectionKind = wanted.kind.parse().map_err(Problem::invalid)?;
            let projection = ConfiguredProjection {
                user: memory.user().clone(),
                kind,
                path: wanted.path.clone(),
                project: wanted.project,
            };
            let mut one = ProjectionReport {
                kind: wanted.kind,
                path: wanted.path,
                ..ProjectionReport::default()
            };
            if arguments.compare {
                one.differs = memory.list_projection_differences(&projection).await?;
            } else {
                let rebuilt = memory.update_projection(&projection, arguments.adopt).await?;
                one.written = rebuilt.written;
                one.unchanged = rebuilt.unchanged;
                one.removed = rebuilt.removed;
                one.backup = rebuilt.backup;
            }
            done.push(one);
        }
        Ok(Projected { projections: done })
    }
}

/// A projection of one user's memory, and the path that it is written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredProjection {
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

impl ConfiguredProjection {
    /// Writes what has changed in it; a sentence where it cannot be written.
    fn update(
        &self,
        memory: &Snapshot,
        rules: &TagRules,
        adopt: bool,
    ) -> Result<ProjectionUpdateReport, String> {
        let told = collect_outgoing_records(memory, self.project.as_deref());
        let (kind, path) = (self.kind, &self.path);
        let done = update_projection(
            kind,
            path,
            memory_folder(memory),
            export_input(&told, rules),
            adopt,
        );
        done.map_err(|error| {
            let path = path.display();
            format!("the {kind} projection at `{path}` is not up to date: {error}")
        })
    }
}

impl Memory {
    /// What keeps this user's projections from being written: what is in their way now, or what
    /// was when they were last written.
    pub(crate) async fn list_projection_warnings(&self) -> Vec<String> {
        let own = self.all.around.projections.iter();
        let own: Vec<ConfiguredProjection> =
            own.filter(|own| own.user == self.user).cloned().collect();
        if own.is_empty() {
            return Vec::new();
        }
        let failing = lock(&self.all.failing).clone().into_iter();
        let failing = failing.filter(|((user, _), _)| *user == self.user);
        let mut warnings: BTreeMap<PathBuf, String> =
            failing.map(|((_, path), why)| (path, why)).collect();
        let looked = self.run_on_snapshot(move |memory| {
            let home = memory_folder(memory);
            let found =
                own.into_iter()
                    .filter_map(|ConfiguredProjection { kind, path, .. }| {
                        let why = find_write_obstacle(kind, &path, home)?;
                        let place = path.display();
                        let said =
                            format!("the {kind} projection at `{place}` cannot be written: {why}");
                        Some((path, said))
                    });
            found.collect::<Vec<_>>()
        });
        warnings.extend(looked.await.unwrap_or_default());
        warnings.into_values().collect()
    }

    /// Returns the folder of a project whose Sunwell reads what was learned here.
    pub(crate) fn find_sunwell_folder(&self, project: Option<&str>) -> Option<String> {
        let own = self.all.around.projections.iter().find(|own| {
            let is_of = own.user == self.user && own.kind == ProjectionKind::Sunwell;
            is_of && (project.is_none() || own.project.as_deref() == project)
        });
        own.map(|own| own.path.display().to_string())
    }

    /// Writes what has changed in a projection; `adopt` takes over files of another program.
    pub(crate) async fn update_projection(
        &self,
        projection: &ConfiguredProjection,
        adopt: bool,
    ) -> Result<ProjectionUpdateReport, Problem> {
        let (wanted, around) = (projection.clone(), Arc::clone(&self.all.around));
        let done = self.run_on_snapshot(move |memory| wanted.update(memory, &around.tags, adopt));
        done.await?.map_err(Problem::conflict)
    }

    /// How a projection differs from memory, a sentence each.
    pub(crate) async fn list_projection_differences(
        &self,
        projection: &ConfiguredProjection,
    ) -> Result<Vec<String>, Problem> {
        let (wanted, around) = (projection.clone(), Arc::clone(&self.all.around));
        let compared =
            self.run_on_snapshot(move |memory| compare_with_memory(memory, &wanted, &around.tags));
        compared
            .await?
            .map_err(|error| Problem::conflict(error.to_string()))
    }
}

/// How a projection differs from a memory as of one moment, a sentence each.
pub fn compare_with_memory(
    memory: &Snapshot,
    projection: &ConfiguredProjection,
    rules: &TagRules,
) -> Result<Vec<String>, ExportError> {
    let told = collect_outgoing_records(memory, projection.project.as_deref());
    compare_projection(
        projection.kind,
        &projection.path,
        memory_folder(memory),
        export_input(&told, rules),
    )
}

/// The folder of a memory's file.
fn memory_folder(memory: &Snapshot) -> &Path {
    memory
        .log_reader()
        .path()
        .parent()
        .unwrap_or(Path::new("."))
}

fn export_input<'a>(records: &'a [OutgoingRecord], rules: &'a TagRules) -> ExportInput<'a> {
    let aliases = rules.aliases();
    ExportInput { records, aliases }
}

/// Brings projections up to date with a memory as of one moment; a sentence for each that cannot be
/// written.
pub fn update_projections(
    memory: &Snapshot,
    projections: &[ConfiguredProjection],
    rules: &TagRules,
) -> Vec<String> {
    let done = projections.iter();
    let done = done.map(|own| own.update(memory, rules, false));
    done.filter_map(Result::err).collect()
}

impl Memories {
    /// Brings every projection up to date once, for a process that ends with its command. Returns
    /// a sentence for each that cannot be written.
    pub async fn update_all_projections(&self) -> Vec<String> {
        for user in self.list_projected_users() {
            self.update_user_projections(&user).await;
        }
        self.list_failing_projections()
    }

    /// Lists the users whose memories have a projection.
    fn list_projected_users(&self) -> BTreeSet<UserId> {
        let users = self.around.projections.iter().map(|own| own.user.clone());
        users.collect()
    }

    /// Runs the background tasks of all memories, without end.
    pub async fn run_background_tasks(&self) {
        tokio::join!(
            self.run_projection_updates(),
            self.run_maintenance_announcements()
        );
    }

    /// Brings every configured projection up to date, now and after each change, without end. What
    /// cannot be written is logged, and tried again with the next change.
    pub async fn run_projection_updates(&self) {
        let mut changes = self.subscribe_to_changes();
        let mut due = self.list_projected_users();
        if due.is_empty() {
            return;
        }
        let all = due.clone();
        let concerned = |change: MemoryChange| {
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
                self.update_user_projections(&user).await;
            }
            sleep(began.elapsed() * REST).await;
        }
    }

    async fn update_user_projections(&self, user: &UserId) {
        let memory = self.user_memory(user);
        if !memory.exists() {
            return;
        }
        let own = self.around.projections.iter();
        for projection in own.filter(|own| own.user == *user) {
            let done = memory.update_projection(projection, false).await;
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
    pub fn list_failing_projections(&self) -> Vec<String> {
        let failing = lock(&self.failing);
        failing.values().cloned().collect()
    }
}

/// Every live record as a projection is written from it, in the order of the log; of one project
/// where it is named.
fn collect_outgoing_records(memory: &Snapshot, project: Option<&str>) -> Vec<OutgoingRecord> {
    let own = memory
        .list_matching_records(&project_filter(project))
        .into_iter();
    let told = own.map(|record| {
        let line = serde_json::to_string(&ExportLine::new(&record)).ok();
        let line = line.and_then(|line| serde_json::from_str(&line).ok());
        OutgoingRecord::new(memory, record, line.unwrap_or_default())
    });
    told.collect()
}
