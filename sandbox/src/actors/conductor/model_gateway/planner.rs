//! The planner without a model: it chooses from a repertoire by the words of the request and the
//! recalled outcomes of each way.
//!
//! Deterministic: the same request and memories give the same plan.

use super::super::super::experience::{Vote, worked};
use super::repertoire::{Repertoire, Structure, Way};
use super::{Assignment, GatewayError, ModelGateway, Routing, RoutingRequest};
use crate::prelude::*;

/// The fallback plan for what is not in the repertoire.
const LOOK_IT_UP: &str = "look it up and write it down";
/// Most words of a request used in a search.
const WORDS_MAX: usize = 8;
/// Shorter words are not searched for.
const WORD_LETTERS_MIN: usize = 4;

#[derive(Debug, Clone)]
pub struct Planner {
    repertoire: Repertoire,
}

impl Planner {
    pub fn new(repertoire: Repertoire) -> Self {
        Self { repertoire }
    }

    fn plan(&self, request: &RoutingRequest<'_>) -> Result<Routing, GatewayError> {
        let Some(structure) = self.structure(request.objective) else {
            return look_it_up(request);
        };
        let objective = request.objective;
        let tried = |way: &&Way| request.failed.iter().any(|failed| failed.plan == way.name);
        let lower = objective.to_lowercase();
        let asked_for = |way: &Way| way.says.iter().any(|says| lower.contains(says));
        let ways = self.repertoire.ways.iter().filter(|way| !tried(way));
        let mut ways: Vec<(&Way, Vote)> = ways
            .map(|way| (way, vote(request.lessons, &way.name)))
            .collect();
        // Ways named in the request first, then by recalled outcomes. A stable sort: untried ways
        // keep the repertoire's order and come before failed ones.
        ways.sort_by(|a, b| {
            let asked = asked_for(b.0).cmp(&asked_for(a.0));
            asked.then(b.1.sum.total_cmp(&a.1.sum))
        });
        let (way, vote) = ways.into_iter().next().ok_or(GatewayError::NothingLeft)?;
        let memories = match vote.records.len() {
            1 => "1 memory".to_owned(),
            many => format!("{many} memories"),
        };
        let reason = if asked_for(way) {
            "the request asks for it".to_owned()
        } else if vote.sum > 0.0 {
            format!("it worked, by {memories}")
        } else if vote.sum < 0.0 {
            format!("what is left is worse than this, which failed by {memories}")
        } else {
            "nothing is known against it".to_owned()
        };
        Ok(Routing {
            plan: way.name.clone(),
            reason,
            assignments: assignments(objective, structure, way),
            used: vote.records,
        })
    }

    /// The structure that matches most of the request's words.
    fn structure(&self, objective: &str) -> Option<&Structure> {
        let lower = objective.to_lowercase();
        let count = |structure: &Structure| {
            let words = structure.words.iter();
            words.filter(|word| holds_word(&lower, word)).count()
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
impl ModelGateway for Planner {
    async fn conduct(&self, request: &RoutingRequest<'_>) -> Result<Routing, GatewayError> {
        self.plan(request)
    }
}

/// The vote of the memories that name the way and its outcome.
fn vote(lessons: &MemoryAnswer, way: &str) -> Vote {
    let name = format!("`{way}`");
    Vote::of(lessons, |found| {
        let named = found.record.text.contains(&name);
        named.then(|| worked(&found.record)).flatten()
    })
}

fn assignments(objective: &str, structure: &Structure, way: &Way) -> Vec<Assignment> {
    let name = name_in(objective);
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

fn look_it_up(request: &RoutingRequest<'_>) -> Result<Routing, GatewayError> {
    let objective = request.objective;
    if !request.failed.is_empty() {
        return Err(GatewayError::NothingLeft);
    }
    Ok(Routing {
        plan: LOOK_IT_UP.to_owned(),
        reason: "the repertoire has no structure for it".to_owned(),
        assignments: vec![
            Assignment {
                objective: format!("find what the workspace holds about: {objective}"),
                task: Task::Search {
                    words: words_in(objective),
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

/// The name in backticks, as a valid crate name; `project` without one.
fn name_in(objective: &str) -> String {
    let named = objective.split('`').nth(1).unwrap_or_default();
    let fits = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let name: String = named.chars().filter(fits).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.to_lowercase()
    } else {
        "project".to_owned()
    }
}

/// The longer words of a request, each once.
fn words_in(objective: &str) -> Vec<String> {
    let mut words = Vec::new();
    for word in objective.split(|c: char| !c.is_alphanumeric() && c != '_') {
        let word = word.to_lowercase();
        let long = word.chars().count() >= WORD_LETTERS_MIN;
        if long && !words.contains(&word) && words.len() < WORDS_MAX {
            words.push(word);
        }
    }
    words
}

fn holds_word(text: &str, word: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.any(|held| held == word)
}

#[cfg(test)]
mod tests;
