//! `reprise demo workspace`: the nine steps of ADR-008's checklist, each with its evidence.

use reprise_workspace::{Actor, AuditQuery, Receipt, RepoPath, Workspace, WriteRequest};

use crate::args::KeptDemo;
use crate::cli::prelude::*;

const PRD: &str = "core/prd/PRD-001.json";
const TSD: &str = "core/tsd/TSD-001.json";
const BRANCH: &str = "sharpen-the-goal";

pub(super) fn run(context: &Context, arguments: &KeptDemo) -> anyhow::Result<Exit> {
    let started = Instant::now();
    let temporary = tempfile::tempdir()?;
    let folder = arguments
        .keep
        .clone()
        .unwrap_or_else(|| temporary.path().join("project"));
    ensure!(
        !folder.join(".git").exists(),
        "`{}` holds a repository; name an empty directory",
        folder.display()
    );
    let mut demo = Demo::new(&folder)?;
    for (number, (title, step)) in (1..).zip(STEPS) {
        let evidence = step(&mut demo).with_context(|| format!("step {number} of 9"))?;
        let row = json!({ "step": number, "title": title, "evidence": evidence });
        output::print(context, &row, |out| {
            writeln!(out, "{}", terminal::title(format!("{number}. {title}")))?;
            Ok(writeln!(out, "   {}", evidence.join("\n   "))?)
        })?;
    }
    if context.json {
        return Ok(Exit::Success);
    }
    let mut out = crate::printer::stdout();
    let took = started.elapsed().as_secs_f64();
    writeln!(out, "nine of nine in {took:.2} s")?;
    if arguments.keep.is_some() {
        let look = "look around: reprise workspace -C";
        let look = format!("{look} {} audit", folder.display());
        writeln!(out, "{}", terminal::faint(look))?;
    }
    Ok(Exit::Success)
}

/// What is done, and what shows it.
type Step = (&'static str, fn(&mut Demo) -> anyhow::Result<Vec<String>>);
const STEPS: [Step; 9] = [
    ("The directory structure and .gitignore", Demo::tree),
    ("A git repository", Demo::repository),
    ("The PRM writes a PRD", Demo::prd),
    (
        "The Orchestrator commits and publishes PRD_Written",
        Demo::event,
    ),
    ("The TSM reads the PRD and writes the TSD", Demo::tsd),
    ("The Orchestrator creates a checkpoint", Demo::checkpoint),
    (
        "A human creates a branch and modifies the PRD",
        Demo::branch,
    ),
    ("The Governor validates and merges to main", Demo::merge),
    ("The audit trail tells it", Demo::trail),
];

struct Demo {
    root: PathBuf,
    workspace: Workspace,
    init: Value,
    prd: Option<Receipt>,
}

impl Demo {
    fn new(folder: &Path) -> anyhow::Result<Self> {
        let (workspace, made) = Workspace::init(folder, Arc::new(SystemClock))?;
        Ok(Self {
            root: workspace.root().to_owned(),
            workspace,
            init: json!(made),
            prd: None,
        })
    }

    /// Plain git, as a person at the same tree uses it.
    fn git(&self, arguments: &[&str]) -> anyhow::Result<String> {
        let output = Command::new("git")
            .current_dir(&self.root)
            .args(["-c", "user.name=Ada"])
            .args(["-c", "user.email=ada@example.invalid"])
            .args(arguments)
            .output()
            .context("this demo has a person at work with git; install git")?;
        if !output.status.success() {
            bail!(
                "git {arguments:?}: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn write(&self, actor: &str, path: &str, content: &Value) -> anyhow::Result<Receipt> {
        Ok(self.workspace.write(&WriteRequest {
            actor: Actor::new(actor)?,
            changes: vec![(
                RepoPath::new(path)?,
                Some(format!("{content:#}\n").into_bytes()),
            )],
            message: None,
        })?)
    }

    fn tree(&mut self) -> anyhow::Result<Vec<String>> {
        let mut evidence = Vec::new();
        for folder in [".sdlc_ide", "core", "memory", "embeddings"] {
            let mut names: Vec<String> = fs_err::read_dir(self.root.join(folder))?
                .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
                .collect::<anyhow::Result<_>>()?;
            names.sort_unstable();
            evidence.push(format!("{folder}/: {}", names.join(" ")));
        }
        let ignored = fs_err::read_to_string(self.root.join(".gitignore"))?;
        ensure!(
            ignored.contains("!/.sdlc_ide/logs/audit_trail.jsonl"),
            "the trail is ignored"
        );
        evidence.push(format!(".gitignore: {} rules", ignored.lines().count() - 1));
        Ok(evidence)
    }

    fn repository(&mut self) -> anyhow::Result<Vec<String>> {
        let commit = self.git(&["log", "-1", "--format=%h %an: %s"])?;
        let branch = self.init["branch"].as_str().unwrap_or_default();
        let dirty = self.git(&["status", "--porcelain"])?;
        ensure!(dirty.is_empty(), "the new tree is not clean: {dirty}");
        Ok(vec![
            format!("on {branch}: {commit}"),
            "git status: clean".to_owned(),
        ])
    }

    fn prd(&mut self) -> anyhow::Result<Vec<String>> {
        let content = json!({ "id": "PRD-001", "title": "Episodic memory", "goals": ["recall"] });
        let refused = self.write("researcher", PRD, &content);
        let Err(refused) = refused else {
            bail!("a researcher may not write a PRD, and did");
        };
        let receipt = self.write("prm", PRD, &content)?;
        let evidence = vec![
            format!("refused: {refused}"),
            format!(
                "prm wrote {PRD} in {} under {}",
                receipt.tx,
                receipt.rules.join(", ")
            ),
        ];
        self.prd = Some(receipt);
        Ok(evidence)
    }

    fn event(&mut self) -> anyhow::Result<Vec<String>> {
        let receipt = self.prd.as_ref().context("there is no PRD")?;
        let commit = self.git(&["log", "-1", "--format=%H %an"])?;
        ensure!(
            commit.starts_with(receipt.commit.as_deref().unwrap_or("none")),
            "the commit is not the transaction's"
        );
        let events = self.workspace.events(None, usize::MAX)?;
        let event = events.iter().find(|event| event.event_id == receipt.tx);
        let event = event.context("the PRD's event is missing")?;
        ensure!(event.topic == "PRD_Written", "its topic is {}", event.topic);
        Ok(vec![
            format!("commit {commit}"),
            format!("event {}", json!(event)),
        ])
    }

    fn tsd(&mut self) -> anyhow::Result<Vec<String>> {
        let prd: Value = serde_json::from_slice(&fs_err::read(self.root.join(PRD))?)?;
        let hash = self.git(&["rev-parse", &format!("HEAD:{PRD}")])?;
        let stray = json!({ "id": "TSD-001", "prd_id": "PRD-404" });
        let Err(refused) = self.write("tsm", TSD, &stray) else {
            bail!("a TSD without its PRD was written");
        };
        let content = json!({ "id": "TSD-001", "prd_id": prd["id"], "prd_hash": hash,
            "components": ["store", "index"] });
        let receipt = self.write("tsm", TSD, &content)?;
        let snapshot = self
            .workspace
            .snapshot(&Actor::new("orchestrator")?, false)?;
        Ok(vec![
            format!("refused: {refused}"),
            format!("tsm wrote {TSD} for PRD {hash:.10} in {}", receipt.tx),
            format!(
                "snapshot {} of {}",
                snapshot.id,
                counted(snapshot.files.len(), "file")
            ),
        ])
    }

    fn checkpoint(&mut self) -> anyhow::Result<Vec<String>> {
        let hash = self.git(&["rev-parse", &format!("HEAD:{PRD}")])?;
        let state = json!({ "agent_id": "TSM-001", "last_prd_hash": hash, "last_prd_id": "PRD-001",
            "sync_status": "compliant", "sync_log": [], "next_action": "monitor_for_changes" });
        let tsm = Actor::new("tsm")?;
        let receipt = self
            .workspace
            .checkpoint(&tsm, state.to_string().as_bytes(), None)?;
        let saved = self.workspace.state_of("tsm")?;
        ensure!(
            saved.checkpoint["last_prd_id"] == "PRD-001",
            "it reads back otherwise"
        );
        Ok(vec![format!(
            "{} in {}, read back as it was",
            saved.path, receipt.tx
        )])
    }

    fn branch(&mut self) -> anyhow::Result<Vec<String>> {
        self.git(&["switch", "-q", "-c", BRANCH])?;
        let content = json!({ "id": "PRD-001", "title": "Episodic memory",
            "goals": ["recall", "governed workspaces"] });
        fs_err::write(self.root.join(PRD), format!("{content:#}\n"))?;
        self.git(&["commit", "-q", "-a", "-m", "Sharpen the goal"])?;
        let commit = self.git(&["log", "-1", "--format=%h %an: %s"])?;
        self.git(&["switch", "-q", "main"])?;
        Ok(vec![format!("on {BRANCH}: {commit}")])
    }

    fn merge(&mut self) -> anyhow::Result<Vec<String>> {
        let governor = Actor::new("governor")?;
        let Err(refused) = self.workspace.merge(&governor, BRANCH, None) else {
            bail!("a PRD was merged that nobody reviewed");
        };
        let approved = self.workspace.approve(&Actor::human("ada")?, BRANCH)?;
        let receipt = self.workspace.merge(&governor, BRANCH, None)?;
        let event = receipt.event.context("the merge announced nothing")?;
        let text = fs_err::read_to_string(self.root.join(PRD))?;
        ensure!(
            text.contains("governed workspaces"),
            "the change did not arrive"
        );
        ensure!(event.downstream == [TSD], "the TSD was not looked at again");
        Ok(vec![
            format!("refused: {refused}"),
            format!("human:ada approved in {}", approved.tx),
            format!(
                "merged in {}; {TSD} looked at again: it has drifted",
                receipt.tx
            ),
        ])
    }

    fn trail(&mut self) -> anyhow::Result<Vec<String>> {
        let (lines, damaged) = self.workspace.audit(&AuditQuery::default())?;
        ensure!(damaged.is_empty(), "the trail is damaged");
        let committed = self.git(&["log", "--format=%(trailers:key=Reprise-Tx,valueonly)"])?;
        for tx in committed.split_whitespace() {
            ensure!(
                lines.iter().any(|line| line.event_id == tx),
                "{tx} is not in the trail"
            );
        }
        let fsck = self.git(&["fsck", "--strict"])?;
        ensure!(
            self.git(&["status", "--porcelain"])?.is_empty(),
            "the tree is not clean"
        );
        let mut evidence: Vec<String> = lines
            .iter()
            .map(|line| {
                let action = json!(line.action);
                let action = action.as_str().unwrap_or_default().to_owned();
                format!(
                    "{} {:<12} {action:<9} {}",
                    line.event_id,
                    line.actor,
                    line.paths.join(" ")
                )
            })
            .collect();
        evidence.push(format!("every commit has its line; git fsck: {}", {
            if fsck.is_empty() { "clean" } else { &fsck }
        }));
        Ok(evidence)
    }
}
