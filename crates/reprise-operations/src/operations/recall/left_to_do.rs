//! Answers what is left to do: what a project's last session left, and what is open there, come
//! first. No word of the question is in those memories.

use reprise_engine::decide_shown;
use reprise_types::{RankExplanation, RankSignal, RecallResponse};

use crate::operations::sessions::list_open_work;
use crate::prelude::*;

/// Newest memories whose projects are known by name, and most of those that one answer tells of.
const LOOKED_AT: usize = 200;
const PROJECTS_MAX: usize = 3;
/// Longest question, in words: a longer one asks for something else, too.
const WORDS_MAX: usize = 14;
/// Score of what was plainly asked for: nine in ten, with the signal that makes it so.
const SCORE: f32 = 0.9;
const SIGNAL: &str = "asked_type";
/// Digits of the hash at the end of a project's name.
const HASH_DIGITS: usize = 8;
/// Phrases of a question for what is left to do.
const ASKING: [&str; 22] = [
    " left to do ",
    " left to be done ",
    " left to finish ",
    " left undone ",
    " left open ",
    " what is left in ",
    " what is left for ",
    " what is left on ",
    " what's left in ",
    " what's left for ",
    " what's left on ",
    " remains to be done ",
    " still to do ",
    " still to be done ",
    " still open ",
    " still fails ",
    " still fail ",
    " still failing ",
    " still broken ",
    " next steps ",
    " not done yet ",
    " todos ",
];
/// Words that begin a question for something else: a cause, or a way.
const OTHERS: [&str; 4] = ["why", "how", "since", "when"];
/// Questions that ask for nothing else.
const WHOLE: [&str; 5] = [
    " what is left ",
    " what's left ",
    " what is next ",
    " what's next ",
    " what remains ",
];

/// Whether a question asks for what is left to do.
pub(super) fn asks_what_is_left(question: &str) -> bool {
    let words = list_words(question);
    let folded = format!(" {} ", words.join(" "));
    let is_other = words
        .first()
        .is_some_and(|first| OTHERS.contains(&first.as_str()));
    words.len() <= WORDS_MAX
        && !is_other
        && (ASKING.iter().any(|phrase| folded.contains(phrase)) || WHOLE.contains(&folded.as_str()))
}

fn list_words(question: &str) -> Vec<String> {
    let folded = question.to_lowercase().replace('\u{2019}', "'");
    let is_inside = |c: char| c.is_alphanumeric() || "'-_/.".contains(c);
    let words = folded.split(|c| !is_inside(c));
    let words = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

impl Memory {
    /// Puts what is left to do before the other results.
    pub(super) async fn put_open_work_first(
        &self,
        request: &RecallRequest,
        mut recall: RecallResponse,
    ) -> Result<RecallResponse, Problem> {
        let plain = MemoryFilter {
            project: request.filter.project.clone(),
            ..MemoryFilter::default()
        };
        if request.as_of.is_some() || request.filter != plain || !self.exists() {
            return Ok(recall);
        }
        let (calendar, question) = (self.calendar(), request.query.clone());
        let found = self.run_on_snapshot(move |memory| {
            let projects = match plain.project {
                Some(project) => vec![project],
                None => find_projects(memory, &question, &calendar),
            };
            let work = projects
                .iter()
                .flat_map(|project| list_open_work(memory, project, &calendar));
            let found = work.filter_map(|(id, part)| Some((memory.get(id)?.ok()?, part)));
            found.collect::<Vec<_>>()
        });
        let mut first: Vec<RetrievedMemory> = Vec::new();
        for (record, part) in found.await? {
            if first.iter().all(|one| one.record.id != record.id) {
                let results = &mut recall.results;
                let known = results.iter().position(|one| one.record.id == record.id);
                let known = known.map(|at| results.remove(at));
                first.push(to_certain_result(known, record, &part));
            }
        }
        if !first.is_empty() {
            first.extend(recall.results);
            first.truncate(request.top_k);
            recall.results = first;
            decide_shown(&mut recall);
        }
        Ok(recall)
    }
}

/// Returns a memory as a result that was plainly asked for, with what is known of it already.
fn to_certain_result(
    known: Option<RetrievedMemory>,
    record: MemoryRecord,
    part: &str,
) -> RetrievedMemory {
    let mut result = known.unwrap_or_else(|| RetrievedMemory {
        record,
        score: 0.5,
        sona_score: 0.5,
        why: RankExplanation::default(),
        shown: false,
        published: None,
    });
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
    let words = list_words(part).into_iter();
    result.why.matched_words = words.filter(|word| word.len() > 3).collect();
    result.why.is_certain = true;
    result.why.lacks = None;
    "it was left to do, or is open, where the project was left".clone_into(&mut result.why.reason);
    result
}

/// Finds the projects that a question names, or else the one that was worked on last.
fn find_projects(memory: &Snapshot, question: &str, calendar: &Calendar) -> Vec<String> {
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
    let words = list_words(question);
    let is_named = |project: &&String| {
        let name = short_project_name(project);
        words.iter().any(|word| word == name || *word == **project)
    };
    let named: Vec<String> = projects.iter().filter(is_named).cloned().collect();
    if named.is_empty() {
        projects.truncate(1);
        return projects;
    }
    named.into_iter().take(PROJECTS_MAX).collect()
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
    use super::*;

    #[test]
    fn what_is_left_to_do_is_told_from_what_else_is_left() {
        for question in [
            "what is left to do in shop",
            "What's left in the shop?",
            "what's next?",
            "which tests are still open in shop",
            "is anything not done yet",
            "which test still fails",
        ] {
            assert!(asks_what_is_left(question), "{question}");
        }
        for question in [
            "who left the company",
            "what is left of the budget for the summer",
            "which port is next to the proxy's",
            "what does the next request wait for",
            "why does the login test still fail",
        ] {
            assert!(!asks_what_is_left(question), "{question}");
        }
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
}
