//! The planner without a model, which chooses from a repertoire by the words of the request and the
//! recalled outcomes of each method.
//!
//! It is deterministic: equal requests and memories give equal plans.

use super::super::super::experience::Vote;
use super::repertoire::{BuildMethod, Repertoire, Structure};
use super::{Assignment, GatewayError, ModelGateway, RoutingPlan, RoutingRequest};
use crate::prelude::*;

/// Name of the fallback plan for requests that the repertoire does not cover.
const LOOKUP_PLAN: &str = "look it up and write it down";
/// Most words of a request used in a search.
const WORDS_MAX: usize = 8;
/// Length in letters of the shortest word that is searched for.
const WORD_LETTERS_MIN: usize = 4;

#[derive(Debug, Clone)]
pub struct RepertoirePlanner {
    repertoire: Repertoire,
}

impl RepertoirePlanner {
    pub fn new(repertoire: Repertoire) -> Self {
        Self { repertoire }
    }

    fn choose_plan(&self, request: &RoutingRequest<'_>) -> Result<RoutingPlan, GatewayError> {
        let Some(structure) = self.find_structure(request.objective) else {
            return plan_lookup(request);
        };
        let objective = request.objective;
        let has_failed =
            |way: &&BuildMethod| request.failed.iter().any(|failed| failed.plan == way.name);
        let lower = objective.to_lowercase();
        let is_requested = |way: &BuildMethod| way.says.iter().any(|says| lower.contains(says));
        let ways = self.repertoire.ways.iter().filter(|way| !has_failed(way));
        let mut ways: Vec<(&BuildMethod, Vote)> = ways
            .map(|way| (way, Vote::for_plan(request.history, &way.name)))
            .collect();
        // Methods that the request names come first, then the order is by recalled outcomes. The
        // sort is stable, so that untried methods keep the repertoire's order; they come before
        // failed ones.
        ways.sort_by(|a, b| {
            let by_request = is_requested(b.0).cmp(&is_requested(a.0));
            by_request.then(b.1.sum.total_cmp(&a.1.sum))
        });
        let (way, vote) = ways.into_iter().next().ok_or(GatewayError::NothingLeft)?;
        let memories = match vote.records.len() {
            1 => "1 memory".to_owned(),
            many => format!("{many} memories"),
        };
        let reason = if is_requested(way) {
            "the request asks for it".to_owned()
        } else if vote.sum > 0.0 {
            format!("it worked, by {memories}")
        } else if vote.sum < 0.0 {
            format!("what is left is worse than this, which failed by {memories}")
        } else {
            "nothing is known against it".to_owned()
        };
        Ok(RoutingPlan {
            plan: way.name.clone(),
            reason,
            assignments: build_assignments(objective, structure, way),
            used: vote.records,
        })
    }

    /// Returns the structure that matches the most words of the request.
    fn find_structure(&self, objective: &str) -> Option<&Structure> {
        let lower = objective.to_lowercase();
        let count = |structure: &Structure| {
            let words = structure.words.iter();
            words.filter(|word| has_word(&lower, word)).count()
        };
        let mut best: Option<(usize, &Structure)> = None;
        for structure in &self.repertoire.structures {
            let count = count(structure);
            if count > best.map_or(0, |(most, _)| most) {
                best = Some((count, structure));
            }
        }
        best.map(|(_, structure)| structure)
    }
}

#[async_trait]
impl ModelGateway for RepertoirePlanner {
    async fn make_plan(&self, request: &RoutingRequest<'_>) -> Result<RoutingPlan, GatewayError> {
        self.choose_plan(request)
    }
}

fn build_assignments(objective: &str, structure: &Structure, way: &BuildMethod) -> Vec<Assignment> {
    let name = extract_name(objective);
    let (kind, plan) = (&structure.name, &way.name);
    let fill = |text: &str| {
        text.replace("{name}", &name)
            .replace("{item}", &structure.item)
            .replace("{check}", &structure.check)
    };
    let with_tests = |path: &str| {
        if path == structure.tested {
            way.append.as_str()
        } else {
            ""
        }
    };
    let own = structure.files.iter().map(|file| {
        let text = format!("{}{}", file.text, with_tests(&file.path));
        (file.path.clone(), fill(&text))
    });
    let more = way.file.iter();
    let more = more.map(|file| (file.path.clone(), fill(&file.text)));
    vec![
        Assignment {
            objective: format!("look for a {kind} to go by"),
            task: Task::Search {
                words: vec![kind.clone()],
            },
        },
        Assignment {
            objective: format!("{objective}, by `{plan}`"),
            task: Task::Run {
                folder: name.clone(),
                files: own.chain(more).collect(),
                command: way.command.clone(),
                instead: way.instead.clone(),
            },
        },
        Assignment {
            objective: format!("note how `{name}` was set up"),
            task: Task::Write {
                path: format!("{name}/NOTES.md"),
                text: format!("# {name}\n\nSet up by `{plan}`.\n"),
                summary: format!("`{name}` is set up"),
            },
        },
    ]
}

fn plan_lookup(request: &RoutingRequest<'_>) -> Result<RoutingPlan, GatewayError> {
    let objective = request.objective;
    if !request.failed.is_empty() {
        return Err(GatewayError::NothingLeft);
    }
    Ok(RoutingPlan {
        plan: LOOKUP_PLAN.to_owned(),
        reason: "the repertoire has no structure for it".to_owned(),
        assignments: vec![
            Assignment {
                objective: format!("find what the workspace holds about: {objective}"),
                task: Task::Search {
                    words: extract_words(objective),
                },
            },
            Assignment {
                objective: format!("write down what is known about: {objective}"),
                task: Task::Write {
                    path: "notes/requests.md".to_owned(),
                    text: format!("# Asked last\n\n{objective}\n"),
                    summary: format!("what is known about: {objective}"),
                },
            },
        ],
        used: Vec::new(),
    })
}

/// Returns the name in backticks, as a valid crate name; `project` if there is none.
fn extract_name(objective: &str) -> String {
    let is_named = objective.split('`').nth(1).unwrap_or_default();
    let is_allowed = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let name: String = is_named.chars().filter(is_allowed).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.to_lowercase()
    } else {
        "project".to_owned()
    }
}

/// Returns the longer words of a request, each once.
fn extract_words(objective: &str) -> Vec<String> {
    let mut words = Vec::new();
    for word in objective.split(|c: char| !c.is_alphanumeric() && c != '_') {
        let word = word.to_lowercase();
        let is_long = word.chars().count() >= WORD_LETTERS_MIN;
        if is_long && !words.contains(&word) && words.len() < WORDS_MAX {
            words.push(word);
        }
    }
    words
}

fn has_word(text: &str, word: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.any(|candidate| candidate == word)
}

#[cfg(test)]
mod tests;
