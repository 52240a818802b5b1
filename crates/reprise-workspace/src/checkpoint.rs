//! Agents' checkpoints: saved as transactions, read back for recovery and inspection.

use reprise_workspace_types::{Actor, Receipt, RepoPath, SavedCheckpoint};
use serde_json::{Value, json};

use crate::error::{Result, invalid_error, unknown_error};
use crate::git::Git;
use crate::workspace::{Workspace, WriteRequest};

const FOLDER: &str = "memory/agent_state";
/// What a checkpoint's file may end with; the first is what we write.
const ENDS: [&str; 3] = [".checkpoint.json", ".checkpoint", ".json"];

impl Workspace {
    /// Saves an agent's state. The agent and the time are added if the state lacks them.
    pub fn checkpoint(
        &self,
        actor: &Actor,
        state: &[u8],
        message: Option<&str>,
    ) -> Result<Receipt> {
        let path = match self.state(actor.as_str())? {
            Some(saved) => saved.path,
            None => RepoPath::new(&format!("{FOLDER}/{}{}", actor.file_stem(), ENDS[0]))?,
        };
        let Value::Object(mut state) = parse_json_document(&path, state)? else {
            let why = "a checkpoint is a JSON object";
            return Err(invalid_error("schema-checkpoint", path.as_str(), why));
        };
        state.entry("agent_id").or_insert_with(|| json!(actor));
        state
            .entry("ts_checkpoint")
            .or_insert_with(|| json!(self.now()));
        self.write(&WriteRequest {
            actor: actor.clone(),
            changes: vec![(path, Some(crate::wal::encode_document(&state)))],
            message: message.map(str::to_owned),
        })
    }

    /// Returns the newest committed checkpoint of an agent.
    pub fn state(&self, agent: &str) -> Result<Option<SavedCheckpoint>> {
        let actor = Actor::new(agent)?;
        let git = Git::open(self.root())?;
        let tree = git.head()?.tree;
        let (mut found, mut best) = (None, None);
        for (path, blob) in git.list(tree, FOLDER, 1)? {
            if !ENDS.iter().any(|end| path.ends_with(end)) {
                continue;
            }
            let checkpoint = parse_json_document(&path, &git.bytes(blob.id)?)?;
            let named = checkpoint.get("agent_id").and_then(Value::as_str);
            // Its own name before its role's.
            let exact = named.is_some_and(|named| named.eq_ignore_ascii_case(agent))
                || path.stem().eq_ignore_ascii_case(agent);
            let owned = named.is_some_and(|named| actor.owns(named)) && actor.owns(path.stem());
            if !exact && !owned {
                continue;
            }
            let rank = (exact, parse_save_time(&checkpoint));
            if best.as_ref().is_none_or(|best| rank > *best) {
                best = Some(rank);
                found = Some(SavedCheckpoint { path, checkpoint });
            }
        }
        Ok(found)
    }

    /// Returns the newest committed checkpoint of an agent, or an error if there is none.
    pub fn require_checkpoint(&self, agent: &str) -> Result<SavedCheckpoint> {
        let hint = "an agent saves one with `reprise workspace checkpoint`";
        let none = || unknown_error("checkpoint of", agent, hint);
        self.state(agent)?.ok_or_else(none)
    }
}

fn parse_json_document(path: &RepoPath, bytes: &[u8]) -> Result<Value> {
    let broken = |error: serde_json::Error| {
        let why = format!("it is not valid JSON: {error}");
        invalid_error("schema-checkpoint", path.as_str(), why)
    };
    serde_json::from_slice(bytes).map_err(broken)
}

fn parse_save_time(checkpoint: &Value) -> Option<chrono::DateTime<chrono::Utc>> {
    let text = checkpoint.get("ts_checkpoint")?.as_str()?;
    reprise_types::parse_timestamp(text).ok()
}
