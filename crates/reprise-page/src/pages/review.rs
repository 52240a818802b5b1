//! Pairs for a person to decide, side by side.

use std::sync::Arc;

use reprise_engine::EngineStats;
use reprise_operations::DoubtfulPair;
use reprise_operations::operations::maintenance::{Review, ReviewArguments};

use reprise_operations::operations::care::Stats;
use similar::ChangeTag;

use crate::kept_reviews::{KeptReview, MemoryVersion};
use crate::prelude::*;
use crate::shell::{PageFrame, stream_page};

/// Most pairs of each sort on the page at once.
const SHOWN: usize = 12;
/// Pages on which a pair can be answered.
const BACK: [&str; 2] = ["/", "/knowledge/review"];

/// What a pair may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PairSort {
    Contradiction,
    Duplicate,
}

impl PairSort {
    fn heading(self) -> &'static str {
        match self {
            Self::Contradiction => "Contradictions",
            Self::Duplicate => "Possible duplicates",
        }
    }

    fn question(self) -> &'static str {
        match self {
            Self::Contradiction => "Which one is true?",
            Self::Duplicate => "Do these say the same thing?",
        }
    }

    /// Returns the answers, the most likely first: value, key and label.
    fn answers(self, days: &[String; 2]) -> [(&'static str, &'static str, String); 4] {
        let [first, second] = side_names(days).map(str::to_lowercase);
        let is_alike = are_alike(days);
        let day = |side: usize| {
            if is_alike {
                String::new()
            } else {
                format!(" ({})", days[side])
            }
        };
        let (older_key, newer_key) = if is_alike { ("1", "2") } else { ("o", "n") };
        let merge = (
            "same",
            "s",
            format!("Merge into one (the {second} text stays)"),
        );
        let label = |side: usize, name: &str| match self {
            Self::Contradiction => format!("The {name} is true{}", day(side)),
            Self::Duplicate => format!("Keep only the {name}{}", day(side)),
        };
        let newer = ("newer", newer_key, label(1, &second));
        let older = ("older", older_key, label(0, &first));
        match self {
            Self::Contradiction => {
                let both = ("different", "d", "Both are true".to_owned());
                [newer, older, both, merge]
            }
            Self::Duplicate => {
                let both = ("different", "d", "Keep both".to_owned());
                [both, merge, newer, older]
            }
        }
    }

    /// Says what becomes of the memory that is not chosen, and which answers can be undone.
    fn describe_fate(self) -> &'static str {
        match self {
            Self::Contradiction => {
                "Agents no longer see the one that is not true. You can undo every answer except \
                 \u{201c}Both are true\u{201d}."
            }
            Self::Duplicate => {
                "Agents no longer see the one that is not kept. You can undo every answer except \
                 \u{201c}Keep both\u{201d}."
            }
        }
    }
}

/// Returns whether the times of two memories look the same to a person.
fn are_alike(days: &[String; 2]) -> bool {
    days[0] == days[1]
}

/// Returns the names of the two sides of a pair: by age, or by place if the times look the same.
fn side_names(days: &[String; 2]) -> [&'static str; 2] {
    if are_alike(days) {
        ["First", "Second"]
    } else {
        ["Older", "Newer"]
    }
}

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

/// Renders two memories side by side, the older first, with their differing words marked, and the
/// possible answers; nothing if one of them is gone by now.
pub(super) async fn render_pair(
    visit: &PageRequest,
    pair: &DoubtfulPair,
    sort: PairSort,
    back: &str,
    is_next: bool,
) -> PageResult<Option<Markup>> {
    let calendar = visit.page.calendar();
    let (mut records, mut days) = (Vec::new(), [String::new(), String::new()]);
    for (name, day) in pair.pair.iter().zip(&mut days) {
        let arguments = HistoryArguments { id: name.clone() };
        let Some(found) = visit.run_optional::<History>(arguments).await? else {
            return Ok(None);
        };
        *day = rows::format_day(calendar.day_of(found.present.timestamp), &calendar);
        records.push(found.present);
    }
    if days[0] == days[1] {
        for (record, day) in records.iter().zip(&mut days) {
            *day = format!("{day} {}", calendar.format_time_of_day(record.timestamp));
        }
    }
    let texts = [0, 1].map(|side| pair.texts.as_ref().map_or("", |texts| &texts[side]));
    let sides = mark_difference(texts);
    Ok(Some(html! {
        article class="card pair" data-pair tabindex="0" autofocus[is_next]
            aria-label=(sort.question()) {
            h3 { (sort.question()) }
            div class="sides" {
                @for (side, (record, text)) in records.iter().zip(&sides).enumerate() {
                    section {
                        div class="meta" {
                            b { (side_names(&days)[side]) }
                            a href=(rows::path(record)) {
                                time datetime=(record.timestamp.to_rfc3339())
                                    title=(calendar.format_to_minute(record.timestamp)) {
                                    (days[side])
                                }
                            }
                            @if let Some(project) = RecordByline::of(record).project {
                                span class="project" { (text::shorten(&project, 24)) }
                            }
                        }
                        div class="said" { bdi class="text" dir="auto" { (text) } }
                    }
                }
            }
            @if let Some(difference) = describe_difference(texts, &pair.why, &days) {
                p class="why" { (text::shorten(&difference, 300)) }
            }
            (render_answers(visit, pair, sort, &days, back))
        }
    }))
}

/// Renders two texts with the words marked in which they differ.
fn mark_difference([older, newer]: [&str; 2]) -> [Markup; 2] {
    let parts = text::diff_words(older, newer);
    [ChangeTag::Delete, ChangeTag::Insert].map(|own| {
        let parts = parts.iter();
        let parts = parts.filter(|(tag, _)| *tag == own || *tag == ChangeTag::Equal);
        html! {
            @for (tag, part) in parts {
                @if *tag == own && !part.trim().is_empty() {
                    mark { (text::render_revealed(part)) }
                } @else { (text::render_revealed(part)) }
            }
        }
    })
}

/// Describes what only one of two texts says, or else why they are a pair. A reason that quotes
/// words is left out, since those words are marked in the texts.
fn describe_difference(texts: [&str; 2], why: &str, days: &[String; 2]) -> Option<String> {
    let parts = text::diff_words(texts[0], texts[1]);
    let own = [ChangeTag::Delete, ChangeTag::Insert].map(|own| {
        let own = parts.iter().filter(|(tag, _)| *tag == own);
        let own = own.map(|(_, part)| part.trim());
        let own: Vec<&str> = own.filter(|part| !part.is_empty()).collect();
        own.join(" \u{2026} ")
    });
    let names = side_names(days).map(str::to_lowercase);
    match (own[0].is_empty(), own[1].is_empty()) {
        (true, false) => Some(format!(
            "Only in the {}: \u{201c}{}\u{201d}",
            names[1], own[1]
        )),
        (false, true) => Some(format!(
            "Only in the {}: \u{201c}{}\u{201d}",
            names[0], own[0]
        )),
        _ => Some(text::to_sentence(why)).filter(|why| !why.is_empty() && !why.contains('`')),
    }
}

fn render_answers(
    visit: &PageRequest,
    pair: &DoubtfulPair,
    sort: PairSort,
    days: &[String; 2],
    back: &str,
) -> Markup {
    let answers = sort.answers(days);
    form(
        visit,
        "/knowledge/answer",
        &html! {
            input type="hidden" name="one" value=(pair.pair[0]);
            input type="hidden" name="other" value=(pair.pair[1]);
            input type="hidden" name="back" value=(back);
            @if are_alike(days) { input type="hidden" name="sides" value="places"; }
            div class="acts" {
                @for (index, (answer, key, label)) in answers.iter().enumerate() {
                    button name="answer" value=(answer) data-answer=(key) data-command=(label)
                        class=(if index == 0 { "first" } else { "quiet" }) {
                        (label) " " kbd { (key) }
                    }
                }
            }
            p class="why" { (sort.describe_fate()) }
        },
    )
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
    // After an answer the next pair has the focus, though none of its buttons.
    let mut is_first = is_next;
    let mut sorts = Vec::new();
    for (sort, none, of, more) in [
        (
            PairSort::Contradiction,
            "No contradictions.",
            &found.contradictions,
            found.contradictions_more,
        ),
        (
            PairSort::Duplicate,
            "No possible duplicates.",
            &found.review,
            found.review_more,
        ),
    ] {
        let mut cards = Vec::new();
        for pair in of.iter().take(SHOWN) {
            let card = render_pair(visit, pair, sort, "/knowledge/review", is_first).await?;
            is_first &= card.is_none();
            cards.extend(card);
        }
        let more = more + of.len().saturating_sub(SHOWN);
        sorts.push((sort, none, cards, more));
    }
    Ok(html! {
        @for (sort, none, cards, more) in &sorts {
            section class="pairs" {
                h2 { (sort.heading()) " " small { (cards.len() + more) } }
                @if cards.is_empty() { p class="faint" { (none) } }
                @for card in cards { (card) }
                @if *more > 0 { p class="faint" { "and " (more) " more, once these are answered" } }
            }
        }
    })
}

pub(super) fn render_answered_toast(visit: &PageRequest, pairs: &QueryPairs) -> Markup {
    html! {
        @match pairs.get("answered") {
            None => {}
            Some("apart") => {
                (toast(&html! { "Kept both. You will not be asked about them again." }))
            }
            Some(action) => {
                (toast(&html! { (describe_answer(pairs.text("how"))) " " (render_undo_button(visit, action)) }))
            }
        }
    }
}

/// Describes what an answer did to a pair.
fn describe_answer(answer: &str) -> &'static str {
    match answer {
        "newer" => "Kept the newer. Agents no longer see the older.",
        "older" => "Kept the older. Agents no longer see the newer.",
        "second" => "Kept the second. Agents no longer see the first.",
        "first" => "Kept the first. Agents no longer see the second.",
        _ => "Merged into one.",
    }
}

/// Renders the button that undoes an action of the diary.
pub(super) fn render_undo_button(visit: &PageRequest, action: &str) -> Markup {
    form(
        visit,
        "/knowledge/undo",
        &html! { input type="hidden" name="action" value=(action); button { "Undo" } },
    )
}

pub(crate) async fn answer_pair(posted: Posted) -> PageResult<Redirect> {
    let pair = ["one", "other"].map(|name| posted.text(name).to_owned());
    let answer = serde_json::from_value(json!(posted.text("answer")))
        .map_err(|_| PageError::invalid("There is no such answer; choose one of the four."))?;
    let arguments = ReviewArguments {
        pair: Some(pair.clone()),
        answer: Some(answer),
    };
    let visit = &posted.visit;
    let decided = visit.run::<Review>(arguments).await?;
    visit.page.kept_reviews().remove_pair(&visit.user, &pair);
    let action = decided.action.unwrap_or_else(|| "apart".to_owned());
    let back = BACK.iter().find(|path| **path == posted.text("back"));
    let back = back.unwrap_or(&"/knowledge/review");
    let how = match (posted.text("sides"), posted.text("answer")) {
        ("places", "newer") => "second",
        ("places", "older") => "first",
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
    fn a_pair_says_what_only_one_of_them_says_and_leaves_out_what_is_marked() {
        let days = ["1 Feb", "2 Feb"].map(str::to_owned);
        let describe = |texts, why: &str| describe_difference(texts, why, &days);
        let more = ["staging resets", "staging resets at 2 am"];
        let only = describe(more, "one of them also says `02:00`");
        assert_eq!(
            only.as_deref(),
            Some("Only in the newer: \u{201c}at 2 am\u{201d}")
        );
        let values = ["it takes 30 s", "it takes 90 s"];
        assert_eq!(describe(values, "they differ in `30` and `90`"), None);
        let times = describe(["it ran", "it runs"], "they tell of different times");
        assert_eq!(times.as_deref(), Some("They tell of different times."));
    }

    #[test]
    fn an_answer_names_the_sides_as_the_pair_does() {
        let labels = |sort: PairSort, days: [&str; 2]| {
            sort.answers(&days.map(str::to_owned))
                .map(|one| (one.1, one.2))
        };
        let dated = labels(PairSort::Contradiction, ["1 Feb", "2 Feb"]);
        assert_eq!(dated[0], ("n", "The newer is true (2 Feb)".to_owned()));
        let alike = labels(PairSort::Duplicate, ["2 Feb 10:00", "2 Feb 10:00"]);
        assert_eq!(alike[2], ("2", "Keep only the second".to_owned()));
        assert_eq!(alike[3], ("1", "Keep only the first".to_owned()));
    }
}
