//! The project that a session works in: that of the folders which its client opened, or of the
//! folder in which the server was started.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use reprise_operations::Problem;
use rmcp::service::{Peer, RoleServer};
use serde_json::{Map, Value};

/// Most folders of a client that are looked at.
const ROOTS_MAX: usize = 16;
/// Longest wait for a client to list its folders. One that does not answer is not asked again.
const ROOTS_WAIT: Duration = Duration::from_secs(2);
/// What the tag of a project begins with.
const PROJECT_TAG: &str = "project:";

/// Names the project of a folder on this machine, as hooks name it.
pub trait ProjectNaming: Debug + Send + Sync {
    /// Returns the project of a folder: of the repository around it, else the folder's own.
    ///
    /// # Errors
    ///
    /// If there is no such folder, or its project has no name; as a sentence.
    fn name_folder(&self, folder: &str) -> Result<String, String>;

    /// Returns the project of the repository in which this process works.
    fn find_own_repository(&self) -> Option<String>;
}

/// The folders of one session.
#[derive(Debug)]
pub(super) struct SessionFolders {
    naming: Arc<dyn ProjectNaming>,
    /// Whether the client said that it lists folders, and did not when it was asked.
    is_silent: AtomicBool,
}

impl SessionFolders {
    pub(super) fn new(naming: Arc<dyn ProjectNaming>) -> Self {
        Self {
            naming,
            is_silent: AtomicBool::new(false),
        }
    }

    /// Returns the project that the session works in. A client with folders of several projects
    /// works in none of them. It is asked each time: it may open another folder at any moment.
    pub(super) async fn find_project(&self, peer: &Peer<RoleServer>) -> Option<String> {
        let roots = self.list_roots(peer).await;
        let naming = Arc::clone(&self.naming);
        let find = move || match roots {
            Some(roots) => find_only_project(&*naming, &roots),
            None => naming.find_own_repository(),
        };
        tokio::task::spawn_blocking(find).await.ok()?
    }

    /// Returns the folders that the client has open; `None` if it does not tell them: it has none
    /// to tell, or its protocol has no handshake and lets no server ask.
    #[expect(deprecated, reason = "it is what the clients of today have")]
    async fn list_roots(&self, peer: &Peer<RoleServer>) -> Option<Vec<PathBuf>> {
        let client = peer.peer_info()?;
        client.capabilities.roots.as_ref()?;
        if self.is_silent.load(Ordering::Relaxed) {
            return None;
        }
        let listed = tokio::time::timeout(ROOTS_WAIT, peer.list_roots()).await;
        let Ok(Ok(listed)) = listed else {
            self.is_silent.store(true, Ordering::Relaxed);
            tracing::debug!(?listed, "the client listed no folders");
            return None;
        };
        let roots = listed.roots.into_iter().take(ROOTS_MAX);
        let folders: Vec<PathBuf> = roots.filter_map(|root| parse_file_uri(&root.uri)).collect();
        (!folders.is_empty()).then_some(folders)
    }

    /// Replaces a folder in the argument `project` by the name of its project; `.` is the folder of
    /// the session.
    pub(super) async fn name_project(
        &self,
        peer: &Peer<RoleServer>,
        arguments: &mut Map<String, Value>,
    ) -> Result<(), Problem> {
        let Some(Value::String(typed)) = arguments.get_mut("project") else {
            return Ok(());
        };
        if typed.trim() == "." {
            let Some(project) = self.find_project(peer).await else {
                return Err(Problem::invalid(
                    "`.` is in no project: this session works in no repository; name the project",
                ));
            };
            *typed = project;
        } else if typed.starts_with(['.', '/', '~']) {
            let (naming, folder) = (Arc::clone(&self.naming), typed.clone());
            let name = tokio::task::spawn_blocking(move || naming.name_folder(&folder));
            let name = name.await.map_err(Problem::invalid)?;
            *typed = name.map_err(Problem::invalid)?;
        }
        Ok(())
    }
}

/// Returns the path of a `file:` URI of this machine; `None` for any other.
fn parse_file_uri(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://")?;
    let path = path.strip_prefix("localhost").unwrap_or(path);
    let path = percent_decode_str(path).decode_utf8().ok()?;
    path.starts_with('/')
        .then(|| PathBuf::from(path.into_owned()))
}

/// Returns the project of these folders, if it is one.
fn find_only_project(naming: &dyn ProjectNaming, folders: &[PathBuf]) -> Option<String> {
    let names = folders.iter().filter_map(|folder| {
        let named = naming.name_folder(&folder.to_string_lossy());
        let named = named.inspect_err(|why| tracing::debug!(why, "a folder has no project"));
        named.ok()
    });
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names.dedup();
    match names.len() {
        1 => names.pop(),
        _ => None,
    }
}

/// Returns whether the arguments of a lesson name its project, by that argument or by a tag.
#[must_use]
pub fn names_project(arguments: &Map<String, Value>) -> bool {
    let has_argument = arguments.get("project").is_some_and(|named| match named {
        Value::String(name) => !name.trim().is_empty(),
        other => !other.is_null(),
    });
    has_argument || list_tags(arguments).iter().any(is_project_tag)
}

/// Returns the tags of a lesson. Models also write them as one text: as JSON, or with commas.
fn list_tags(arguments: &Map<String, Value>) -> Vec<Value> {
    match arguments.get("tags") {
        Some(Value::Array(tags)) => tags.clone(),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(Value::Array(tags)) => tags,
            _ => text.split(',').map(|tag| tag.trim().into()).collect(),
        },
        _ => Vec::new(),
    }
}

fn is_project_tag(tag: &Value) -> bool {
    let tag = tag.as_str().map(|tag| tag.trim().to_lowercase());
    tag.is_some_and(|tag| tag.starts_with(PROJECT_TAG))
}
