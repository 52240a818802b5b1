//! The card of a question: its memories one under the other, and the possible answers.

use reprise_operations::DoubtfulPair;
use similar::ChangeTag;

use super::groups::{self, ReviewQuestion};
use super::{NEITHER, difference};
use crate::pages::wording::Wording;
use crate::prelude::*;

/// What a pair may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pages) enum PairSort {
    Contradiction,
    Duplicate,
    /// Two that a person chose.
    Chosen,
}

impl PairSort {
    pub(super) fn heading(self) -> &'static str {
        match self {
            Self::Contradiction => "Contradictions",
            Self::Duplicate => "Possible duplicates",
            Self::Chosen => "Your choice",
        }
    }

    fn question(self) -> &'static str {
        match self {
            Self::Contradiction => "Which one is true?",
            Self::Duplicate => "Do these say the same thing?",
            Self::Chosen => "Which of these should stay?",
        }
    }

    /// Returns the label of the button that keeps one side only.
    fn choice(self) -> &'static str {
        match self {
            Self::Contradiction => "Keep this",
            Self::Duplicate | Self::Chosen => "Keep only this",
        }
    }

    /// Returns the label of the button that keeps all sides.
    fn keep_all(self, sides: usize) -> &'static str {
        match self {
            Self::Contradiction if sides > 2 => "All are true",
            Self::Contradiction => "Both are true",
            Self::Duplicate | Self::Chosen if sides > 2 => "Keep all: these are all different",
            Self::Duplicate | Self::Chosen => "Keep both",
        }
    }
}

/// What becomes of the memory that is not chosen.
pub(in crate::pages) const FATE: &str =
    "Agents will see only the one you keep. Every answer can be undone.";

/// Returns whether the times of two memories look the same to a person.
fn are_alike(days: &[String]) -> bool {
    days.first() == days.last()
}

/// Returns the names of the sides of a question, the oldest first: by age, or by place if the times
/// look the same.
fn side_names(days: &[String]) -> Vec<&'static str> {
    const PLACES: [&str; 6] = ["First", "Second", "Third", "Fourth", "Fifth", "Sixth"];
    match days.len() {
        _ if are_alike(days) => PLACES.iter().copied().take(days.len()).collect(),
        2 => vec!["Older", "Newer"],
        count => {
            let middle = vec!["Between"; count.saturating_sub(2)];
            [vec!["Oldest"], middle, vec!["Newest"]].concat()
        }
    }
}

/// Returns the keys that choose the sides of a question.
fn side_keys(days: &[String]) -> Vec<String> {
    if days.len() == 2 && !are_alike(days) {
        return ["o", "n"].map(str::to_owned).into();
    }
    (1..=days.len()).map(|place| place.to_string()).collect()
}

/// Memories of one text that a question lets a person choose.
struct QuestionSide<'a> {
    key: String,
    text: &'a str,
    /// The newest first.
    records: Vec<MemoryRecord>,
}

impl QuestionSide<'_> {
    /// Returns the length of the title that its text begins with, and 0 if that has none: a pair
    /// tells texts in one line.
    fn title_length(&self) -> usize {
        let Some(record) = self.records.first() else {
            return 0;
        };
        let title = rows::title(record);
        let rest = record.text.strip_prefix(title);
        let is_titled = rest.is_some_and(|rest| rest.starts_with("\n\n"));
        let words: Vec<&str> = title.split_whitespace().collect();
        let line = words.join(" ");
        if is_titled && self.text.starts_with(&line) {
            line.len()
        } else {
            0
        }
    }
}

/// A question whose memories were read.
struct LoadedQuestion<'a> {
    sort: PairSort,
    /// Each pair with the places of its sides, the older memory first.
    pairs: Vec<(&'a DoubtfulPair, [usize; 2])>,
    /// The oldest first.
    sides: Vec<QuestionSide<'a>>,
    /// When each side happened, for people.
    days: Vec<String>,
}

impl<'a> LoadedQuestion<'a> {
    /// Reads the memories of a question. Pairs of which one is gone by now are left out; returns
    /// `None` if none is left.
    async fn load(
        visit: &PageRequest,
        question: &ReviewQuestion<'a>,
        sort: PairSort,
    ) -> PageResult<Option<Self>> {
        let mut sides: Vec<QuestionSide<'a>> = Vec::new();
        let mut kept = Vec::new();
        for pair in &question.pairs {
            let mut records = Vec::new();
            for name in &pair.pair {
                let arguments = HistoryArguments { id: name.clone() };
                let found = visit.run_optional::<History>(arguments).await?;
                records.extend(found.map(|found| found.present));
            }
            if records.len() < 2 {
                continue;
            }
            let keys = groups::text_keys(pair);
            let texts = [0, 1].map(|side| pair.texts.as_ref().map_or("", |texts| &texts[side]));
            let ids: Vec<RecordId> = records.iter().map(|record| record.id).collect();
            for ((key, text), record) in keys.iter().zip(texts).zip(records) {
                // Two memories of a possible duplicate are two sides, though their texts are equal.
                let known = sides.iter_mut().find(|side| {
                    side.records.iter().any(|one| one.id == record.id)
                        || sort == PairSort::Contradiction && side.key == *key
                });
                match known {
                    Some(side) if side.records.iter().any(|one| one.id == record.id) => {}
                    Some(side) => side.records.push(record),
                    None => sides.push(QuestionSide {
                        key: key.clone(),
                        text,
                        records: vec![record],
                    }),
                }
            }
            kept.push((*pair, ids));
        }
        if sides.len() < 2 {
            return Ok(None);
        }
        for side in &mut sides {
            let newest = |record: &MemoryRecord| std::cmp::Reverse((record.timestamp, record.id));
            side.records.sort_by_key(newest);
        }
        sides.sort_by_key(|side| side.records.first().map(|one| (one.timestamp, one.id)));
        let has = |side: &QuestionSide<'_>, id| side.records.iter().any(|one| one.id == id);
        let place = |id: RecordId| sides.iter().position(|side| has(side, id));
        let pairs = kept
            .into_iter()
            .filter_map(|(pair, ids)| Some((pair, [place(*ids.first()?)?, place(*ids.get(1)?)?])));
        let pairs = pairs.collect();
        let days = format_days(&sides, &visit.page.calendar());
        Ok(Some(Self {
            sort,
            pairs,
            sides,
            days,
        }))
    }
}

/// Formats when each side happened; with the time of day where the first and the last look alike.
fn format_days(sides: &[QuestionSide<'_>], calendar: &Calendar) -> Vec<String> {
    let times = sides.iter().filter_map(|side| side.records.first());
    let times: Vec<DateTime<Utc>> = times.map(|record| record.timestamp).collect();
    let days: Vec<String> = times
        .iter()
        .map(|at| rows::format_day(calendar.day_of(*at), calendar))
        .collect();
    if !are_alike(&days) {
        return days;
    }
    let timed = days.into_iter().zip(times);
    timed
        .map(|(day, at)| format!("{day} {}", calendar.format_time_of_day(at)))
        .collect()
}

/// Renders the memories of a question one under the other, the oldest first, with the words marked
/// in which they differ, and the possible answers; nothing if too few of them are left.
pub(in crate::pages) async fn render_question(
    visit: &PageRequest,
    question: &ReviewQuestion<'_>,
    sort: PairSort,
    back: &str,
    is_next: bool,
) -> PageResult<Option<Markup>> {
    let Some(loaded) = LoadedQuestion::load(visit, question, sort).await? else {
        return Ok(None);
    };
    let texts: Vec<&str> = loaded.sides.iter().map(|side| side.text).collect();
    let why = match loaded.pairs.as_slice() {
        [(pair, _)] => describe_difference([texts[0], texts[1]], &pair.why, &loaded.days),
        _ => None,
    };
    let is_many = loaded.sides.len() > 2;
    Ok(Some(html! {
        article class="card pair" data-pair tabindex="0" autofocus[is_next]
            aria-label=(sort.question()) {
            h3 {
                (sort.question())
                @if is_many {
                    " " small {
                        (loaded.sides.len())
                        (if sort == PairSort::Contradiction { " texts contradict each other" } else { " memories are alike" })
                    }
                }
            }
            (form(visit, "/knowledge/answer", &render_choices(visit, &loaded, back)))
            @if visit.read_only { (render_sides(&loaded, &visit.page.calendar(), false)) }
            @if let Some(why) = why { p class="why" { (text::shorten(&why, 300)) } }
        }
    }))
}

/// Renders the sides of a question, each with the button that chooses it if there are `buttons`.
fn render_sides(loaded: &LoadedQuestion<'_>, calendar: &Calendar, buttons: bool) -> Markup {
    let LoadedQuestion {
        sort, sides, days, ..
    } = loaded;
    let texts: Vec<&str> = sides.iter().map(|side| side.text).collect();
    let titles: Vec<usize> = sides.iter().map(QuestionSide::title_length).collect();
    let marked = difference::mark_differences(&texts, &titles);
    let (names, keys) = (side_names(days), side_keys(days));
    html! {
        ol class="choices" {
            @for (place, (side, said)) in sides.iter().zip(&marked).enumerate() {
                li {
                    div class="meta" {
                        b { (names[place]) }
                        @if let Some(record) = side.records.first() {
                            a href=(rows::path(record)) {
                                time datetime=(record.timestamp.to_rfc3339())
                                    title=(calendar.format_to_minute(record.timestamp)) {
                                    (days[place])
                                }
                            }
                            @if let Some(project) = rows::byline(record).project {
                                span class="project" { (text::shorten(&project, 24)) }
                            }
                        }
                        @if side.records.len() > 1 {
                            span { (side.records.len()) " memories say this" }
                        }
                    }
                    div class="said" { bdi class="text" dir="auto" { (said) } }
                    @if buttons {
                        @let answer = format_choice(loaded.pairs.len(), place);
                        @let side = format!("the {}, {}: {}", names[place].to_lowercase(), days[place], text::plain_line(side.text, 60));
                        @let about = format!("{}: {side}", sort.choice());
                        // It begins with all that is to be seen, the key included.
                        @let label = format!("{} {}: {side}", sort.choice(), keys[place]);
                        button name="answer" value=(answer) data-answer=(keys[place])
                            data-command=(about) aria-label=(label)
                            class="choose" {
                            (sort.choice()) " " kbd { (keys[place]) }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the form value that chooses a side: by age if there is one pair, else by place, since
/// the older memory of one pair may say what the newer one of another says.
fn format_choice(pairs: usize, place: usize) -> String {
    match (pairs, place) {
        (1, 0) => "older".to_owned(),
        (1, 1) => "newer".to_owned(),
        _ => place.to_string(),
    }
}

/// Renders the fields and buttons of the form that answers a question.
fn render_choices(visit: &PageRequest, loaded: &LoadedQuestion<'_>, back: &str) -> Markup {
    let LoadedQuestion {
        sort,
        pairs,
        sides,
        days,
    } = loaded;
    let is_pair = pairs.len() == 1;
    let first = (*sort != PairSort::Contradiction).then_some("first");
    html! {
        @for (pair, of) in pairs {
            input type="hidden" name="one" value=(pair.pair[0]);
            input type="hidden" name="other" value=(pair.pair[1]);
            input type="hidden" name="of" value=(format!("{} {}", of[0], of[1]));
        }
        input type="hidden" name="back" value=(back);
        @if *sort == PairSort::Chosen { input type="hidden" name="chosen" value="yes"; }
        @if are_alike(days) { input type="hidden" name="sides" value="places"; }
        (render_sides(loaded, &visit.page.calendar(), true))
        div class="acts" {
            button name="answer" value="different" data-answer="d" class=(first.unwrap_or("quiet"))
                data-command=(sort.keep_all(sides.len())) {
                (sort.keep_all(sides.len())) " " kbd { "d" }
            }
            // Two texts that exclude each other cannot be merged, but both may be wrong.
            @if is_pair && *sort == PairSort::Contradiction { (render_rewrite(sides)) }
            @if is_pair && *sort != PairSort::Contradiction {
                @let stays = side_names(days)[1].to_lowercase();
                @let label = format!("Merge into one (the {stays} text stays)");
                button name="answer" value="same" data-answer="s" class="quiet" data-command=(label) {
                    (label) " " kbd { "s" }
                }
            }
        }
    }
}

/// Renders the field for a text that takes the place of both, which begins as the newer.
fn render_rewrite(sides: &[QuestionSide<'_>]) -> Markup {
    let newer = sides.last().and_then(|side| side.records.first());
    let text = newer.map(|record| Wording::of(record).text);
    html! {
        details class="act rewrite" {
            summary class="button quiet" { "Neither: write the right one\u{2026}" }
            label {
                "The right text"
                textarea name="text" rows="3" { (text.unwrap_or_default()) }
            }
            button name="answer" value=(NEITHER) { "Save this text" }
        }
    }
}

/// Describes what only one of two texts says, or else why they are a pair. A reason that quotes
/// words is left out, since those words are marked in the texts.
fn describe_difference(texts: [&str; 2], why: &str, days: &[String]) -> Option<String> {
    let parts = text::diff_words(texts[0], texts[1]);
    let own = [ChangeTag::Delete, ChangeTag::Insert].map(|own| {
        let own = parts.iter().filter(|(tag, _)| *tag == own);
        let own = own.map(|(_, part)| part.trim());
        let own: Vec<&str> = own.filter(|part| !part.is_empty()).collect();
        own.join(" \u{2026} ")
    });
    let names: Vec<String> = side_names(days)
        .into_iter()
        .map(str::to_lowercase)
        .collect();
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
    fn the_sides_of_a_question_have_names_and_keys_by_age_or_by_place() {
        let days = |all: &[&str]| all.iter().map(|day| (*day).to_owned()).collect::<Vec<_>>();
        let dated = days(&["1 Feb", "2 Feb"]);
        assert_eq!(side_names(&dated), ["Older", "Newer"]);
        assert_eq!(side_keys(&dated), ["o", "n"]);
        let alike = days(&["2 Feb 10:00", "2 Feb 10:00"]);
        assert_eq!(side_names(&alike), ["First", "Second"]);
        assert_eq!(side_keys(&alike), ["1", "2"]);
        let three = days(&["1 Feb", "2 Feb", "3 Feb"]);
        assert_eq!(side_names(&three), ["Oldest", "Between", "Newest"]);
        assert_eq!(side_keys(&three), ["1", "2", "3"]);
    }
}
