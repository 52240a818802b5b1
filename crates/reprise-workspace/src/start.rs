//! The first steps in a repository that has no PRD yet: one to begin with, made of what its README
//! says, and the words of ADR-008.

use reprise_workspace_types::{Actor, Receipt, RepoPath};
use serde::Serialize;
use serde_json::json;

use crate::error::{Result, folder_name};
use crate::git::Git;
use crate::workspace::{Workspace, WriteRequest};

const PRD: &str = "core/prd/PRD-001.json";
const GLOSSARY: &str = "core/kb/glossary.md";
const WORDS: &str = include_str!("start/glossary.md");
/// Longest beginning of a README that is taken over, in characters.
const SUMMARY_MAX: usize = 600;

/// What a start has made.
#[derive(Debug, Clone, Serialize)]
pub struct StartReport {
    /// The PRDs that are there now.
    pub prds: Vec<String>,
    /// The transaction; nothing where all was there.
    pub receipt: Option<Receipt>,
    /// Commands to go on with.
    pub next: Vec<String>,
}

impl Workspace {
    /// Writes a first PRD if there is none, and the glossary, in one transaction.
    pub fn start(&self, title: Option<&str>) -> Result<StartReport> {
        let git = Git::open(self.root())?;
        let head = git.head()?;
        let (tree, branch) = (head.tree, head.branch().to_owned());
        let prds = git.list(tree, "core/prd", 1)?.into_iter();
        let mut prds: Vec<String> = prds.map(|(path, _)| path.to_string()).collect();
        let mut changes = Vec::new();
        if prds.is_empty() {
            let readme = git.content_at(tree, &RepoPath::trusted("README.md"));
            let readme = readme.ok().flatten().unwrap_or_default();
            let (heading, summary) = parse_readme(&String::from_utf8_lossy(&readme));
            let title = title.map(str::to_owned).or(heading);
            let prd = json!({
                "id": "PRD-001",
                "title": title.unwrap_or_else(|| folder_name(self.root())),
                "status": "draft",
                "summary": summary,
                "goals": [],
            });
            changes.push((
                RepoPath::trusted(PRD),
                Some(crate::wal::encode_document(&prd)),
            ));
            prds.push(PRD.to_owned());
        }
        let glossary = RepoPath::trusted(GLOSSARY);
        if git.content_at(tree, &glossary)?.is_none() {
            changes.push((glossary, Some(WORDS.as_bytes().to_vec())));
        }
        let receipt = if changes.is_empty() {
            None
        } else {
            let request = WriteRequest {
                actor: Actor::new("prm")?,
                changes,
                message: Some("Begin with a first PRD and a glossary".to_owned()),
            };
            Some(self.write(&request)?)
        };
        let first = prds.first().map_or(PRD, String::as_str);
        let next = [
            format!("git switch -c edit && $EDITOR {first}    # say the goals"),
            format!("git commit -am \"Say the goals\" && git switch {branch}"),
            "reprise workspace approve --human NAME edit".to_owned(),
            "reprise workspace merge --actor governor edit".to_owned(),
            format!("$PAGER {GLOSSARY}    # the words that are used here"),
        ];
        Ok(StartReport {
            prds,
            receipt,
            next: next.to_vec(),
        })
    }
}

/// Returns the first heading and the first paragraph of a README.
fn parse_readme(readme: &str) -> (Option<String>, String) {
    let lines = readme.lines().map(str::trim);
    let heading = lines.clone().find_map(|line| line.strip_prefix("# "));
    let paragraph: Vec<&str> = lines
        .skip_while(|line| line.is_empty() || line.starts_with(['#', '!', '[', '<']))
        .take_while(|line| !line.is_empty())
        .collect();
    let summary = paragraph.join(" ").chars().take(SUMMARY_MAX).collect();
    (heading.map(|heading| heading.trim().to_owned()), summary)
}
