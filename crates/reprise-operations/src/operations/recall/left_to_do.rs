//! Answers what is left to do: what a project's last session left, and what is open there, come
//! first. No word of the question is in those memories.

mod asking;

use reprise_engine::decide_shown;
use reprise_types::{RankExplanation, RankSignal, RecallResponse};

use super::asked::AskedRecall;
use crate::operations::sessions::{WorkPart, list_work};
use crate::prelude::*;
use asking::{AskedWork, WorkQuestion, list_words};

/// Newest memories whose projects are known by name, and most of those that one answer tells of.
const LOOKED_AT: usize = 200;
const PROJECTS_MAX: usize = 3;
/// Score of what was plainly asked for: nine in ten, with the signal that makes it so.
const SCORE: f32 = 0.9;
const SIGNAL: &str = "asked_type";
/// Digits of the hash at the end of a project's name.
const HASH_DIGITS: usize = 8;
/// Why a result of each kind is in the answer.
const IS_OPEN: &str = "it was left to do, or is open, where the project was left";
const WAS_LAST: &str = "it is what the last session in the project did";

/// Puts what is left to do before the other results, where that is asked. A hook asks for its
/// project unless the prompt names another.
pub(super) fn put_open_work_first(
    memory: &Snapshot,
    asked: &AskedRecall,
    calendar: &Calendar,
    recall: &mut RecallResponse,
) {
    let work = WorkQuestion::parse(&asked.request.query);
    let Some(work) = work.filter(|_| asked.is_open() && asked.scope != RecallScope::Global) else {
        return;
    };
    let mut projects = match &asked.request.filter.project {
        Some(project) => AskedProjects::of_project(project),
        None => find_projects(memory, &work, calendar),
    };
    if let Some(hook) = asked.hook()
        && !projects.are_named
        && !work.needs_project
    {
        projects = AskedProjects::of_project(&hook.project);
    }
    let is_asked = |part: &WorkPart| part.is_open || work.work == AskedWork::LeftOff;
    let list_asked = |project: &String| {
        let parts = list_work(memory, project, calendar).into_iter();
        let parts = parts.filter(|part| is_asked(part));
        let found = parts.filter_map(|part| Some((memory.get(part.id)?.ok()?, part)));
        found.collect::<Vec<_>>()
    };
    let mut each = projects.names.iter().map(list_asked);
    let found: Vec<_> = if projects.are_named {
        each.flatten().collect()
    } else {
        // In the one that was worked on last there may be nothing left to do.
        each.find(|work| !work.is_empty()).unwrap_or_default()
    };
    let mut first: Vec<RetrievedMemory> = Vec::new();
    for (record, part) in found {
        if first.iter().all(|one| one.record.id != record.id) {
            let results = &mut recall.results;
            let known = results.iter().position(|one| one.record.id == record.id);
            let known = known.map(|at| results.remove(at));
            first.push(to_certain_result(known, record, &part));
        }
    }
    if !first.is_empty() {
        first.append(&mut recall.results);
        recall.results = first;
        decide_shown(recall);
    }
}

/// Makes a result of a record that no ranking found, with a score, 0..1.
pub(super) fn make_result(record: MemoryRecord, score: f32) -> RetrievedMemory {
    RetrievedMemory {
        record,
        score,
        sona_score: score,
        why: RankExplanation::default(),
        shown: false,
        published: None,
    }
}

/// Returns a memory as a result that was plainly asked for, with what is known of it already.
fn to_certain_result(
    known: Option<RetrievedMemory>,
    record: MemoryRecord,
    part: &WorkPart,
) -> RetrievedMemory {
    let mut result = known.unwrap_or_else(|| make_result(record, 0.5));
    let logit = |score: f32| (score / (1.0 - score)).ln();
    let gain = logit(SCORE) - logit(result.score.clamp(0.001, 0.999));
    if gain > 0.0 {
        result.why.signals.push(RankSignal {
            name: SIGNAL.to_owned(),
            value: 1.0,
            weight: gain,
            contribution: gain,
        });
        (result.score, result.sona_score) = (SCORE, SCORE);
    }
    let words = list_words(&part.text).into_iter();
    result.why.matched_words = words.filter(|word| word.len() > 3).collect();
    result.why.is_certain = true;
    (result.why.lacks, result.why.lacks_all) = (None, false);
    let reason = if part.is_open { IS_OPEN } else { WAS_LAST };
    reason.clone_into(&mut result.why.reason);
    result
}

/// Projects that a question asks about.
struct AskedProjects {
    names: Vec<String>,
    /// Whether the question names them; else the one that was worked on last is the first.
    are_named: bool,
}

impl AskedProjects {
    fn of_project(project: &str) -> Self {
        Self {
            names: vec![project.to_owned()],
            are_named: true,
        }
    }
}

/// Lists the projects of the newest memories, the one that was worked on last first.
pub(super) fn list_projects(memory: &Snapshot, calendar: &Calendar) -> Vec<String> {
    let page = memory.list(&ListRequest {
        filter: MemoryFilter {
            until: Some(calendar.now),
            ..MemoryFilter::default()
        },
        limit: LOOKED_AT,
        after: None,
    });
    let mut projects: Vec<String> = Vec::new();
    for tag in page.records.iter().flat_map(|record| &record.tags) {
        if let Some(project) = tag.strip_prefix("project:")
            && !projects.iter().any(|known| known == project)
        {
            projects.push(project.to_owned());
        }
    }
    projects
}

/// Finds the projects that a question names, or else those that were worked on last.
fn find_projects(memory: &Snapshot, asked: &WorkQuestion, calendar: &Calendar) -> AskedProjects {
    let mut projects = list_projects(memory, calendar);
    let said = [" ", &asked.words.join(" "), " "].concat();
    let is_named = |project: &&String| {
        let names = [short_project_name(project), project.as_str()];
        names.iter().any(|name| says_name(&said, name))
    };
    let named: Vec<String> = projects.iter().filter(is_named).cloned().collect();
    if named.is_empty() {
        projects.truncate(PROJECTS_MAX * usize::from(!asked.needs_project));
        return AskedProjects {
            names: projects,
            are_named: false,
        };
    }
    AskedProjects {
        names: named.into_iter().take(PROJECTS_MAX).collect(),
        are_named: true,
    }
}

/// Whether a question, its words between blanks, says a project's name, as it is written or with
/// blanks in it.
fn says_name(said: &str, name: &str) -> bool {
    let name = list_words(name).join(" ");
    let spaced = name.replace(['-', '_'], " ");
    let says = |name: &str| !name.is_empty() && said.contains(&[" ", name, " "].concat());
    says(&name) || says(&spaced)
}

/// Returns the last part of a project's name, without its hash.
fn short_project_name(project: &str) -> &str {
    let name = project.rsplit('/').next().unwrap_or(project);
    let is_hash =
        |end: &str| end.len() == HASH_DIGITS && end.bytes().all(|digit| digit.is_ascii_hexdigit());
    match name.rsplit_once('-') {
        Some((name, end)) if is_hash(end) => name,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use reprise_types::RelevanceVerdict;

    use super::*;

    #[test]
    fn what_was_plainly_asked_for_answers_though_no_word_of_the_question_is_in_it() {
        let text = "The signature test still fails.";
        let body = RecordBody::new(text, MemorySource::WorkerResult, MemoryKind::Episode);
        let record = body.into_record(RecordId::from_u128(1), DateTime::UNIX_EPOCH);
        let part = WorkPart {
            id: record.id,
            text: text.to_owned(),
            is_open: true,
        };
        let mut known = to_certain_result(None, record.clone(), &part);
        known.why.lacks_all = true;
        known.why.lacks = Some("does not mention `billing`".to_owned());
        (known.score, known.sona_score) = (0.2, 0.2);
        let result = to_certain_result(Some(known), record, &part);
        assert!(!result.why.lacks_all, "{result:?}");
        let mut recall = RecallResponse::empty(RecallId::from_u128(1));
        recall.results.push(result);
        decide_shown(&mut recall);
        assert_eq!(recall.verdict, RelevanceVerdict::Relevant);
        assert!(recall.results[0].shown, "{recall:?}");
    }

    #[test]
    fn a_project_is_named_without_its_host_and_its_hash() {
        for (project, name) in [
            ("github.com/acme/shop", "shop"),
            ("shop-dbea7844", "shop"),
            ("web-shop", "web-shop"),
        ] {
            assert_eq!(short_project_name(project), name);
        }
    }

    #[test]
    fn a_question_says_a_name_as_it_is_written_or_in_words() {
        for (said, name, is_said) in [
            (" what is left in web-shop ", "web-shop", true),
            (" what is left in web shop ", "Web_Shop", true),
            (" what is left in webshop ", "shop", false),
            (" what is left ", "", false),
        ] {
            assert_eq!(says_name(said, name), is_said, "{said} {name}");
        }
    }
}
