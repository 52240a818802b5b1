//! Who may do what: the permission table of ADR-008 section 9 as Rego, and a project's own rules
//! with it (`extensions/policy/*.rego`, package `project`: `deny` refuses, `allow` opens).
//!
//! Rules are evaluated in this process, within a time box.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Mutex;
use std::time::Duration;

use git2::Oid;

use regorus::utils::limits::ExecutionTimerConfig;
use regorus::{Engine, Value};
use reprise_workspace_types::{Actor, Class, RepoPath};
use serde::Serialize;
use serde_json::json;

use crate::cache::get_or_make;
use crate::error::{Result, WorkspaceError};
use crate::graph::Upstream;

/// How long all rules together may take over one path.
const EVALUATION_MAX: Duration = Duration::from_millis(500);
/// Where the project's own rules are.
pub(crate) const POLICIES: &str = "extensions/policy";
const BUILT_IN: &str = include_str!("rules/builtin.rego");
/// Most sets of rules that this process keeps ready.
const READY_MAX: usize = 8;
/// Rules that were read before, by the policies that they were read from.
static READY: Mutex<BTreeMap<Policies, Governor>> = Mutex::new(BTreeMap::new());

/// The project's policies as git names them.
pub(crate) type Policies = Vec<(RepoPath, Oid)>;

/// What is done to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PathAction {
    Write,
    Append,
    Delete,
    /// Brought in from a branch.
    Merge,
    /// Set back by a revert.
    Rollback,
}

impl PathAction {
    /// Returns the act as a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Append => "append",
            Self::Delete => "delete",
            Self::Merge => "merge",
            Self::Rollback => "rollback",
        }
    }
}

/// One path of a change, as the rules see it.
#[derive(Debug, Clone)]
pub(crate) struct PermissionRequest<'a> {
    pub(crate) actor: &'a Actor,
    pub(crate) act: PathAction,
    pub(crate) path: &'a RepoPath,
    pub(crate) branch: &'a str,
    pub(crate) on_main: bool,
    /// The names that a checkpoint or an extension goes by; its owner has them all.
    pub(crate) owners: &'a [String],
    /// A person has approved this very merge.
    pub(crate) approved: bool,
    /// Lines that were there would be gone.
    pub(crate) shortens: bool,
    pub(crate) upstream: &'a Upstream,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PermissionDecision {
    pub(crate) rule: String,
    /// The reason, where it is refused.
    pub(crate) refusal: Option<String>,
}

impl PermissionDecision {
    fn of(rule: impl Into<String>, refusal: Option<String>) -> Self {
        let rule = rule.into();
        Self { rule, refusal }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Governor {
    engine: Engine,
    has_project: bool,
}

impl Governor {
    /// Creates a governor from the built-in rules and the project's policies as `(path, text)`.
    pub(crate) fn new(policies: &[(RepoPath, String)]) -> Result<Self> {
        let mut engine = Engine::new();
        engine.set_execution_timer_config(ExecutionTimerConfig {
            limit: EVALUATION_MAX,
            check_interval: NonZeroU32::MIN.saturating_add(63),
        });
        add_policy(&mut engine, "builtin.rego", BUILT_IN)?;
        let mut has_project = false;
        for (path, text) in policies {
            let package = add_policy(&mut engine, path.as_str(), text)?;
            if package != "data.project" {
                return Err(WorkspaceError::Rules {
                    path: path.to_string(),
                    why: format!("its package is `{package}`; a project's rules are `project`"),
                });
            }
            has_project = true;
        }
        let mut governor = Self {
            engine,
            has_project,
        };
        // The first question lets the engine prepare itself, for all who get a copy of it.
        governor.evaluate("data.reprise.workspace.rule")?;
        Ok(governor)
    }

    /// Returns the rules of these policies, which this process reads once.
    pub(crate) fn for_policies(
        policies: Policies,
        read: impl Fn(Oid) -> Result<Vec<u8>>,
    ) -> Result<Self> {
        get_or_make(&READY, READY_MAX, policies, |policies| {
            let text = |(path, id): &(RepoPath, Oid)| -> Result<(RepoPath, String)> {
                let text = String::from_utf8_lossy(&read(*id)?).into_owned();
                Ok((path.clone(), text))
            };
            Self::new(&policies.iter().map(text).collect::<Result<Vec<_>>>()?)
        })
    }

    pub(crate) fn judge(&mut self, ask: &PermissionRequest<'_>) -> Result<PermissionDecision> {
        let input = json!({
            "actor": { "id": ask.actor, "role": ask.actor.role() },
            "act": ask.act,
            "path": ask.path,
            "class": ask.path.class(),
            "branch": ask.branch,
            "on_main": ask.on_main,
            "owner": !ask.owners.is_empty() && ask.owners.iter().all(|name| ask.actor.owns(name)),
            "approved": ask.approved,
            "shortens": ask.shortens,
            "upstream": ask.upstream,
        });
        self.engine.set_input(Value::from(input));
        if self.has_project
            && let Some(why) = self.find_project_denial_reason()?
        {
            return Ok(PermissionDecision::of("project-deny", Some(why)));
        }
        let rule = self.evaluate_text("data.reprise.workspace.rule")?;
        if self.is_rule_true("data.reprise.workspace.allow")? {
            return Ok(PermissionDecision::of(rule, None));
        }
        // What belongs to the Orchestrator no project can open.
        let is_closed = matches!(ask.path.class(), Class::Ledger | Class::Internal);
        if self.has_project && !is_closed && self.is_rule_true("data.project.allow")? {
            return Ok(PermissionDecision::of("project-allow", None));
        }
        let why = self.evaluate_text("data.reprise.workspace.why")?;
        Ok(PermissionDecision::of(rule, Some(why)))
    }

    fn find_project_denial_reason(&mut self) -> Result<Option<String>> {
        Ok(match self.evaluate("data.project.deny")? {
            Value::Undefined | Value::Bool(false) => None,
            Value::Bool(true) => Some("a rule of the project denies it".to_owned()),
            Value::String(why) => Some(why.to_string()),
            Value::Set(reasons) if reasons.is_empty() => None,
            Value::Set(reasons) => {
                let texts = reasons.iter().map(|reason| match reason {
                    Value::String(text) => text.to_string(),
                    other => other.to_string(),
                });
                Some(texts.collect::<Vec<_>>().join("; "))
            }
            other => {
                return Err(WorkspaceError::Rules {
                    path: POLICIES.to_owned(),
                    why: format!("`project.deny` is neither a set of reasons nor true: {other}"),
                });
            }
        })
    }

    fn evaluate(&mut self, rule: &str) -> Result<Value> {
        match self.engine.eval_rule(rule.to_owned()) {
            Ok(value) => Ok(value),
            // A project that only denies has no rule `allow`.
            Err(error) if error.to_string().contains("not a valid rule path") => {
                Ok(Value::Undefined)
            }
            Err(error) => Err(WorkspaceError::Rules {
                path: POLICIES.to_owned(),
                why: shorten_to_line(&error.to_string()),
            }),
        }
    }

    fn is_rule_true(&mut self, rule: &str) -> Result<bool> {
        Ok(self.evaluate(rule)? == Value::Bool(true))
    }

    fn evaluate_text(&mut self, rule: &str) -> Result<String> {
        match self.evaluate(rule)? {
            Value::String(text) => Ok(text.to_string()),
            _ => Ok("closed".to_owned()),
        }
    }
}

/// Adds one policy and returns its package.
fn add_policy(engine: &mut Engine, path: &str, text: &str) -> Result<String> {
    engine
        .add_policy(path.to_owned(), text.to_owned())
        .map_err(|error| WorkspaceError::Rules {
            path: path.to_owned(),
            why: shorten_to_line(&error.to_string()),
        })
}

fn shorten_to_line(text: &str) -> String {
    reprise_types::to_one_line(text).chars().take(300).collect()
}

/// Refuses a policy that could not be used.
pub(crate) fn check_policy(path: &RepoPath, text: &str) -> Result<()> {
    let mut governor = Governor::new(&[(path.clone(), text.to_owned())])?;
    let (actor, upstream) = (Actor::governor(), Upstream::default());
    let ask = PermissionRequest {
        actor: &actor,
        act: PathAction::Write,
        path: &RepoPath::trusted("core/kb/probe.md"),
        branch: "main",
        on_main: true,
        owners: &[],
        approved: false,
        shortens: false,
        upstream: &upstream,
    };
    governor.judge(&ask).map(drop)
}

#[cfg(test)]
mod tests;
