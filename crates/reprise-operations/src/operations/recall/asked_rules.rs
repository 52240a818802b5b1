//! Answers which rules there are: those that hold in a project come first. No word of the question
//! is in them.

use reprise_engine::decide_shown;
use reprise_knowledge::fold_umlauts;
use reprise_types::RecallResponse;

use super::asked::AskedRecall;
use super::left_to_do::{list_projects, make_result};
use crate::operations::sessions::list_rules;
use crate::prelude::*;

/// Score of what was plainly asked for, and why it is in the answer.
const SCORE: f32 = 0.9;
const IS_RULE: &str = "it is a rule that holds in the project";
/// Rules that an answer has at most where no limit is given.
const RULES_MAX: usize = 24;
/// Words for a rule, and all others of such a question, besides one that names a project.
const RULES: &str = "\
    rule rules convention conventions guideline guidelines regel regeln konvention konventionen \
    vorgabe vorgaben richtlinie richtlinien";
const OTHERS: &str = "\
    what which are is the our my all any do does we i you have has apply applies hold holds exist \
    there in for of to this that project repo repository codebase here now currently follow know \
    known list show tell me please must should set current project's coding team welche was sind \
    ist die der das unsere alle gelten gilt gibt es haben wir hier im in diesem dem projekt repo \
    fuer dieses zeig zeige mir liste bitte nenne kennst du habe ich befolgen derzeit aktuell";
const NAMES_MAX: usize = 1;

/// Returns whether a question asks which rules there are, and for nothing else.
#[must_use]
pub fn asks_for_rules(question: &str) -> bool {
    let folded = fold_umlauts(&question.to_lowercase());
    let words = folded.split(|c: char| c.is_whitespace() || ",;:.!?\"`()".contains(c));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let is_in = |list: &str, word: &str| list.split_ascii_whitespace().any(|one| one == word);
    let (rules, others): (Vec<&str>, Vec<&str>) =
        words.into_iter().partition(|word| is_in(RULES, word));
    let names = others.iter().filter(|word| !is_in(OTHERS, word)).count();
    !rules.is_empty() && others.len() > names && names <= NAMES_MAX
}

/// Puts the rules that hold in a project before the other results: in the one that is asked about,
/// in that of a hook, or in the one that was worked on last. Returns how many results an answer
/// with all of them has at least.
pub(super) fn put_rules_first(
    memory: &Snapshot,
    asked: &AskedRecall,
    calendar: &Calendar,
    recall: &mut RecallResponse,
) -> usize {
    let is_asked = asked.scope != RecallScope::Global && asked.is_open();
    if !is_asked || !asks_for_rules(&asked.request.query) {
        return 0;
    }
    let own = asked.hook().map(|hook| hook.project.clone());
    let project = asked.request.filter.project.clone().or(own);
    let project = project.or_else(|| list_projects(memory, calendar).into_iter().next());
    let rules = project.map(|project| list_rules(memory, &project, calendar));
    let mut rules = rules.unwrap_or_default();
    if rules.is_empty() {
        return 0;
    }
    rules.truncate(if asked.is_limited {
        asked.request.top_k
    } else {
        RULES_MAX
    });
    let ids: BTreeSet<RecordId> = rules.iter().map(|rule| rule.id).collect();
    recall.results.retain(|one| !ids.contains(&one.record.id));
    let rules: Vec<RetrievedMemory> = rules.into_iter().map(to_certain_rule).collect();
    let count = rules.len();
    recall.results.splice(..0, rules);
    decide_shown(recall);
    count
}

/// Shows every rule that was plainly asked for, however few results an answer shows else.
pub(super) fn show_all_rules(recall: &mut RecallResponse) {
    for one in &mut recall.results {
        one.shown |= one.why.is_certain && one.why.reason == IS_RULE;
    }
}

/// Returns a rule as a result that was plainly asked for.
fn to_certain_rule(record: MemoryRecord) -> RetrievedMemory {
    let mut result = make_result(record, SCORE);
    result.why.is_certain = true;
    IS_RULE.clone_into(&mut result.why.reason);
    result.shown = true;
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_for_rules_is_told_from_one_about_something_else() {
        for question in [
            "what rules do we have in this project",
            "What rules apply in this repository?",
            "Welche Regeln gelten hier?",
            "list our conventions",
            "which rules are there for shop",
            "Welche Vorgaben gibt es im Projekt lager?",
        ] {
            assert!(asks_for_rules(question), "{question}");
        }
        for question in [
            "what is the rule about pnpm and npm",
            "why did the firewall rules change",
            "rules",
            "which test fails here",
            "rule engine crashes",
        ] {
            assert!(!asks_for_rules(question), "{question}");
        }
    }
}
