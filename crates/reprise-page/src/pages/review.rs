//! Contradictions and possible duplicates for a person to decide.

mod cards;
pub(super) mod compare;
mod difference;
pub(super) mod groups;

use std::sync::Arc;

use reprise_engine::EngineStats;
use reprise_operations::operations::care::Stats;
use reprise_operations::operations::maintenance::{
    PairVerdict, Review, ReviewArguments, decide_chosen_pair,
};

use super::change::{check_text, correct_text};
use crate::kept_reviews::{KeptReview, MemoryVersion};
use crate::prelude::*;
use crate::shell::{PageFrame, stream_page};

pub(super) use cards::{FATE, PairSort, render_question};

/// Most questions of each sort on the page at once.
const SHOWN: usize = 12;
/// The page of all questions.
const REVIEW: &str = "/knowledge/review";
/// The answer that a text which was written takes the place of both sides.
const NEITHER: &str = "neither";
/// How an answer that keeps more than two is called in an address.
const ALL: &str = "all";
/// Pages on which a question can be answered.
const BACK: [&str; 2] = ["/", REVIEW];

/// What is known of the pairs of a memory without comparing anything.
pub(super) struct ReviewState {
    kept: Option<KeptReview>,
    is_fresh: bool,
}

impl ReviewState {
    pub(super) fn of(visit: &PageRequest, stats: &EngineStats) -> Self {
        let kept = visit.page.kept_reviews().get(&visit.user);
        let version = MemoryVersion::of(stats);
        let is_fresh = |kept: &KeptReview| kept.version == version && kept.file.is_some();
        let is_fresh = kept.as_ref().is_some_and(is_fresh);
        Self { kept, is_fresh }
    }

    /// Returns what was found last, which may be older than the memory.
    pub(super) fn last_result(&self) -> Option<&KeptReview> {
        self.kept.as_ref()
    }

    /// Returns whether nothing changed since then.
    pub(super) fn is_fresh(&self) -> bool {
        self.is_fresh
    }

    /// Returns the number of pairs that wait, if that is known.
    pub(super) fn count(&self) -> Option<usize> {
        self.kept.as_ref().map(KeptReview::count)
    }

    /// Describes how old the result is.
    pub(super) fn describe_age(&self, calendar: &Calendar) -> String {
        match &self.kept {
            Some(kept) if !self.is_fresh => {
                format!(
                    "Compared {}; comparing again \u{2026}",
                    calendar.format_relative(kept.at)
                )
            }
            _ => String::new(),
        }
    }
}

/// Compares the memories that changed since the last time, and keeps what is found.
pub(super) async fn find_pairs(visit: &PageRequest) -> PageResult<KeptReview> {
    // What changes while records are compared makes the result stale at once.
    let stats = visit.run_optional::<Stats>(NoArguments {}).await?;
    let found = visit
        .run_optional::<Review>(ReviewArguments::default())
        .await?;
    let before = visit.page.kept_reviews().get(&visit.user);
    let kept = KeptReview {
        file: before.and_then(|before| before.file),
        at: visit.page.now(),
        version: stats.as_ref().map(MemoryVersion::of).unwrap_or_default(),
        found: Arc::new(found.unwrap_or_default()),
    };
    visit.page.kept_reviews().put(&visit.user, kept.clone());
    Ok(kept)
}

/// Renders a line in place of a result that is not there yet, and a link for browsers without
/// script.
pub(super) fn render_waiting(message: &str) -> Markup {
    html! {
        p class="progress" role="status" { (message) }
        noscript { p { a href="/knowledge/review" { "See contradictions and duplicates" } } }
    }
}

pub(crate) async fn show(visit: PageRequest, pairs: QueryPairs) -> PageResult<Response> {
    let toast = html! { (render_read_only_notice(&visit)) (render_answered_toast(&visit, &pairs)) };
    let is_next = pairs.get("answered").is_some();
    let frame = PageFrame {
        tab: "/knowledge/review",
        title: "To decide",
        progress: "Comparing your memories \u{2026}",
        before: toast,
    };
    Ok(stream_page(visit, &frame, move |visit| {
        Box::pin(async move { render_pairs(&visit, is_next).await })
    }))
}

async fn render_pairs(visit: &PageRequest, is_next: bool) -> PageResult<Markup> {
    let kept = find_pairs(visit).await?;
    let found = &*kept.found;
    // After an answer the next question has the focus, though none of its buttons.
    let mut is_first = is_next;
    let alike = groups::group_duplicates(&found.review);
    let mut sorts = Vec::new();
    for (sort, none, of, questions, more) in [
        (
            PairSort::Contradiction,
            "No contradictions found.",
            &found.contradictions,
            groups::group_pairs(&found.contradictions),
            found.contradictions_more,
        ),
        (
            PairSort::Duplicate,
            "No possible duplicates found.",
            &found.review,
            alike,
            found.review_more,
        ),
    ] {
        let (mut cards, mut shown) = (Vec::new(), 0);
        for question in questions.iter().take(SHOWN) {
            let card = render_question(visit, question, sort, REVIEW, is_first).await?;
            is_first &= card.is_none();
            shown += question.pairs.len();
            cards.extend(card);
        }
        let all = more + of.len();
        sorts.push((sort, none, cards, all, all.saturating_sub(shown)));
    }
    let is_asked = sorts.iter().any(|(_, _, cards, ..)| !cards.is_empty());
    Ok(html! {
        @if is_asked && !visit.read_only {
            p class="faint keys-hint" {
                kbd { "j" } " " kbd { "k" } " choose a question; the keys of its answers are shown then."
            }
        }
        @for (sort, none, cards, all, more) in &sorts {
            section class="pairs" {
                h2 { (sort.heading()) " " small { (count_pairs(*all, cards.len() + more)) } }
                @if cards.is_empty() {
                    p class="faint" {
                        (none) " Compared " (visit.page.calendar().format_relative(kept.at)) "."
                    }
                }
                @else { p class="why" { (FATE) } }
                @for card in cards { (card) }
                @if *more > 0 { p class="faint" { "and " (more) " more, once these are answered" } }
            }
        }
    })
}

/// Formats the number of pairs, and of questions about them if these are fewer.
fn count_pairs(pairs: usize, questions: usize) -> String {
    if pairs == questions || pairs == 0 {
        return text::format_count(pairs as u64);
    }
    let pairs = text::pluralize(pairs, "pair", "pairs");
    format!(
        "{pairs} in {}",
        text::pluralize(questions, "question", "questions")
    )
}

pub(super) fn render_answered_toast(visit: &PageRequest, pairs: &QueryPairs) -> Markup {
    html! {
        @match pairs.get("answered") {
            None => {}
            Some("apart") => {
                @let how = if pairs.get("how") == Some(ALL) { ALL } else { "different" };
                (toast(&html! { (describe_answer(how)) }))
            }
            Some(action) => {
                (toast(&html! { (describe_answer(pairs.text("how"))) " " (render_undo_buttons(visit, action)) }))
            }
        }
    }
}

/// Describes what an answer did to a pair.
fn describe_answer(answer: &str) -> &'static str {
    match answer {
        "newer" => "Kept only the newer. Agents no longer see the older.",
        "older" => "Kept only the older. Agents no longer see the newer.",
        "second" => "Kept only the second. Agents no longer see the first.",
        "first" => "Kept only the first. Agents no longer see the second.",
        "one" => "Kept only one. Agents no longer see the others.",
        ALL => "Kept all. You will not be asked about them again.",
        "different" => "Kept both. You will not be asked about them again.",
        NEITHER => "Saved your text. Agents no longer see the two.",
        _ => "Merged into one.",
    }
}

/// Renders the button that undoes the actions of an answer, which are separated by commas.
fn render_undo_buttons(visit: &PageRequest, actions: &str) -> Markup {
    form(
        visit,
        "/knowledge/undo",
        &html! {
            @for action in actions.split(',') { input type="hidden" name="action" value=(action); }
            button { "Undo" }
        },
    )
}

/// What an answer says of one pair.
struct PairAnswer {
    pair: [String; 2],
    verdict: PairVerdict,
}

/// Reads the answer to a question as what it says of each of its pairs; a pair of which neither
/// side was chosen is left to what the others say.
fn read_answers(posted: &Posted) -> PageResult<Vec<PairAnswer>> {
    let unknown = || PageError::invalid("There is no such answer; choose one of those shown.");
    let answer = posted.text("answer");
    let pairs = posted.values("one").zip(posted.values("other"));
    let pairs = pairs.map(|(one, other)| [one.to_owned(), other.to_owned()]);
    if let Ok(chosen) = answer.parse::<usize>() {
        let chosen = chosen.to_string();
        let answers = pairs.zip(posted.values("of")).filter_map(|(pair, of)| {
            let (one, other) = of.split_once(' ')?;
            let verdict = match (one == chosen, other == chosen) {
                (true, false) => PairVerdict::Older,
                (false, true) => PairVerdict::Newer,
                _ => return None,
            };
            Some(PairAnswer { pair, verdict })
        });
        let answers: Vec<PairAnswer> = answers.collect();
        return if answers.is_empty() {
            Err(unknown())
        } else {
            Ok(answers)
        };
    }
    // The text that was written becomes a new version of the newer one.
    let answer = if answer == NEITHER { "newer" } else { answer };
    let verdict: PairVerdict = serde_json::from_value(json!(answer)).map_err(|_| unknown())?;
    let answers = pairs.map(|pair| PairAnswer { pair, verdict });
    Ok(answers.collect())
}

pub(crate) async fn answer_pair(posted: Posted) -> PageResult<Redirect> {
    let visit = &posted.visit;
    let answers = read_answers(&posted)?;
    let is_group = answers.len() > 1;
    let is_rewritten = posted.text("answer") == NEITHER;
    if is_rewritten {
        check_text(posted.text("text"))?;
    }
    let newer = posted.text("other").to_owned();
    let (mut actions, mut gone) = (Vec::new(), Vec::<String>::new());
    for PairAnswer { pair, verdict } in answers {
        // What an earlier pair of this answer put away is decided.
        if pair.iter().any(|name| gone.contains(name)) {
            continue;
        }
        let decided = if posted.text("chosen") == "yes" {
            Box::pin(decide_chosen_pair(&visit.memory(), pair.clone(), verdict)).await?
        } else {
            let arguments = ReviewArguments {
                pair: Some(pair.clone()),
                answer: Some(verdict),
            };
            visit.run::<Review>(arguments).await?
        };
        gone.extend(match verdict {
            PairVerdict::Different => None,
            PairVerdict::Older => Some(pair[1].clone()),
            PairVerdict::Newer | PairVerdict::Same => Some(pair[0].clone()),
        });
        actions.extend(decided.action);
        visit.page.kept_reviews().remove_pair(&visit.user, &pair);
    }
    if is_rewritten {
        // The correction is undone before the decision.
        let text = posted.text("text");
        actions.insert(0, correct_text(visit, &newer, text).await?.to_string());
    }
    visit
        .page
        .kept_reviews()
        .remove_memories(&visit.user, &gone);
    let action = if actions.is_empty() {
        "apart".to_owned()
    } else {
        actions.join(",")
    };
    let back = BACK.iter().find(|path| **path == posted.text("back"));
    let back = back.unwrap_or(&REVIEW);
    let how = match (posted.text("sides"), posted.text("answer")) {
        ("places", "newer") => "second",
        ("places", "older") => "first",
        (_, "different") if is_group => ALL,
        (_, answer) if answer.parse::<usize>().is_ok() => "one",
        (_, answer) => answer,
    };
    let how = percent_encode(how);
    let path = format!("{back}?answered={}&how={how}", percent_encode(&action));
    Ok(Redirect::to(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_and_questions_are_counted_apart_if_they_differ() {
        assert_eq!(count_pairs(2, 2), "2");
        assert_eq!(count_pairs(4, 2), "4 pairs in 2 questions");
        assert_eq!(count_pairs(0, 0), "0");
    }
}
