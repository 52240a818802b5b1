//! Memory as documents: `memory://recent`, `memory://tags`, `memory://stats`,
//! `memory://records/ID`.

use reprise_engine::Snapshot;
use reprise_types::{MemoryRecord, UserId};
use serde_json::{Value, json};

use super::Surface;
use super::lessons::title_of;
use crate::problem::Problem;
use crate::wire::{ExportLine, instant};

/// Records of `memory://recent`.
const RECENT: usize = 20;

impl Surface {
    /// The JSON text of a resource.
    pub async fn resource(&self, user: &UserId, uri: &str) -> Result<String, Problem> {
        let unknown = || {
            let uri: String = uri.chars().take(128).collect();
            Problem::not_found(format!("there is no resource `{uri}`; list them first"))
        };
        let path = uri.strip_prefix("memory://").ok_or_else(unknown)?;
        let value = match path.split_once('/') {
            None if path == "recent" => self.read(user, recent).await?,
            None if path == "tags" => json!(self.tags(user).await?),
            None if path == "stats" => json!(self.stats(user).await?),
            Some(("records", name)) if !name.is_empty() => {
                json!(ExportLine::new(&self.record(user, name).await?))
            }
            _ => return Err(unknown()),
        };
        Ok(value.to_string())
    }
}

fn recent(snapshot: &Snapshot) -> Value {
    let light = |record: MemoryRecord| {
        json!({
            "id": record.id,
            "title": title_of(&record),
            "when": instant(record.timestamp),
            "tags": record.tags,
        })
    };
    let newest = snapshot.newest(RECENT);
    newest
        .into_iter()
        .filter_map(Result::ok)
        .map(light)
        .collect()
}
