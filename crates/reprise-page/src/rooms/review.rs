//! What has to be decided by a person, side by side; tidying up, which lists what it would do; and
//! the diary of both, with undo.

use reprise_operations::Doubted;
use reprise_operations::operations::audit::{Acted, Diary, DiaryArguments};
use reprise_operations::operations::tending::{
    Consolidate, ConsolidateArguments, Consolidated, Review, ReviewArguments, Undo, UndoArguments,
};

use crate::prelude::*;

/// Pairs of each sort that wait on the page at once.
const SHOWN: usize = 12;
/// Records named for one action.
const NAMED: usize = 12;
/// Actions of the diary.
const ACTIONS: usize = 20;
/// The answers, each with its key.
const ANSWERS: [(&str, &str, &str); 4] = [
    ("newer", "n", "The newer holds"),
    ("older", "o", "The older holds"),
    ("same", "s", "They say the same"),
    ("different", "d", "Both hold"),
];

/// What the older (0) or the newer (1) of a pair says.
fn text_of(pair: &Doubted, side: usize) -> &str {
    pair.texts.as_ref().map_or("", |texts| &texts[side])
}

/// A pair among the things that need a person, with its answers.
pub(super) fn need(visit: &Visit, pair: &Doubted, question: &str) -> Markup {
    html! {
        div class="need" data-pair {
            b { (question) }
            p {
                "\u{201c}" (text::line(text_of(pair, 0), 110)) "\u{201d} and \u{201c}"
                (text::line(text_of(pair, 1), 110)) "\u{201d}"
            }
            (answers(visit, pair, false))
        }
    }
}

fn answers(visit: &Visit, pair: &Doubted, is_next: bool) -> Markup {
    form(
        visit,
        "/knowledge/answer",
        &html! {
            input type="hidden" name="one" value=(pair.pair[0]);
            input type="hidden" name="other" value=(pair.pair[1]);
            div class="acts" {
                @for (place, (answer, key, says)) in ANSWERS.into_iter().enumerate() {
                    button name="answer" value=(answer) data-answer=(key) data-command=(says)
                        autofocus[is_next && place == 0] { (says) " " kbd { (key) } }
                }
            }
        },
    )
}

pub(crate) async fn show(visit: Visit, pairs: Pairs) -> Answer<Markup> {
    let doubt = visit.ask_if::<Review>(ReviewArguments::default()).await?;
    let calendar = visit.page.calendar();
    // After an answer the next pair is under the hands.
    let is_next = pairs.get("answered").is_some();
    let mut sorts = Vec::new();
    let mut is_first = is_next;
    if let Some(doubt) = &doubt {
        for (name, none, of, more) in [
            (
                "Which holds now?",
                "Nothing contradicts itself.",
                &doubt.contradictions,
                doubt.contradictions_more,
            ),
            (
                "Do these say the same?",
                "Nothing seems to be said twice.",
                &doubt.review,
                doubt.review_more,
            ),
        ] {
            let mut cards = Vec::new();
            for pair in of.iter().take(SHOWN) {
                cards.push(side_by_side(&visit, pair, is_first, &calendar).await?);
                is_first = false;
            }
            let more = more + of.len().saturating_sub(SHOWN);
            sorts.push((name, none, cards, more));
        }
    }
    let body = html! {
        (only_looks(&visit))
        (answered(&visit, &pairs))
        @for (name, none, cards, more) in &sorts {
            section {
                h2 { (name) " " small { (cards.len() + more) } }
                @if cards.is_empty() { p class="faint" { (none) } }
                @for card in cards { (card) }
                @if *more > 0 { p class="faint" { "and " (more) " more, once these are answered" } }
            }
        }
        @if doubt.is_none() { div class="empty" { h2 { "Nothing is remembered yet" } } }
    };
    let title = "Contradictions and duplicates";
    Ok(room(&visit, "/knowledge/review", title, &body))
}

fn answered(visit: &Visit, pairs: &Pairs) -> Markup {
    html! {
        @match pairs.get("answered") {
            None => {}
            Some("apart") => {
                (toast(&html! { "Noted: both hold, and nobody is asked about them again." }))
            }
            Some(action) => { (toast(&html! { "Answered. " (taken_back(visit, action)) })) }
        }
    }
}

/// The button that takes an action of tending back.
fn taken_back(visit: &Visit, action: &str) -> Markup {
    form(
        visit,
        "/knowledge/undo",
        &html! { input type="hidden" name="action" value=(action); button { "Undo" } },
    )
}

async fn side_by_side(
    visit: &Visit,
    pair: &Doubted,
    is_next: bool,
    calendar: &Calendar,
) -> Answer<Markup> {
    let mut when = Vec::new();
    for name in &pair.pair {
        let asked = HistoryArguments { id: name.clone() };
        let found = visit.ask_if::<History>(asked).await?;
        when.push(found.map(|found| found.present.timestamp));
    }
    let sides = ["The older", "The newer"].into_iter().zip(when).enumerate();
    Ok(html! {
        article class="card pair" data-pair {
            p class="why" { (text::line(&pair.why, 300)) }
            div class="sides" {
                @for (side, (name, at)) in sides {
                    section {
                        h3 {
                            (name) " "
                            a href=(format!("/records/{}", encoded(&pair.pair[side]))) {
                                @match at {
                                    Some(at) => (calendar.minute_of(at)),
                                    None => "the record",
                                }
                            }
                        }
                        div class="said" { (text::whole(text_of(pair, side))) }
                    }
                }
            }
            (answers(visit, pair, is_next))
        }
    })
}

pub(crate) async fn answer(posted: Posted) -> Answer<Redirect> {
    let pair = ["one", "other"].map(|name| posted.get(name).to_owned());
    let answer = serde_json::from_value(json!(posted.get("answer")))
        .map_err(|_| Trouble::invalid("There is no such answer; choose one of the four."))?;
    let asked = ReviewArguments {
        pair: Some(pair),
        answer: Some(answer),
    };
    let action = posted.visit.ask::<Review>(asked).await?.action;
    let action = action.unwrap_or_else(|| "apart".to_owned());
    let path = format!("/knowledge/review?answered={}", encoded(&action));
    Ok(Redirect::to(&path))
}

/// What tidying up would do, before it does it; and what was done.
pub(crate) async fn tidying(visit: Visit, pairs: Pairs) -> Answer<Markup> {
    let would = visit.ask_if::<Consolidate>(ConsolidateArguments { dry_run: true });
    let (would, actions) = tokio::join!(would, actions(&visit));
    let (would, actions) = (would?, actions?);
    let body = html! {
        (undo::told(&visit, pairs.get("done")))
        @if let Some(again) = pairs.read::<usize>("again")? {
            (toast(&html! {
                "Undone: " (text::of(again, "record answers", "records answer")) " again."
            }))
        }
        @if let Some(would) = &would { (plan(&visit, would)) }
        section {
            h2 { "Done before" }
            @if actions.is_empty() { p class="faint" { "Nothing was tidied up yet." } }
            @for acted in &actions { (told(&visit, acted)) }
        }
    };
    Ok(room(&visit, "/knowledge/tidy", "Tidy up", &body))
}

/// The diary's newest actions.
async fn actions(visit: &Visit) -> Answer<Vec<Acted>> {
    let asked = DiaryArguments {
        limit: Some(ACTIONS),
    };
    let diary = visit.ask_if::<Diary>(asked).await?;
    Ok(diary.map(|told| told.actions).unwrap_or_default())
}

/// All that can be taken back: what this session did, and what stands in the diary.
pub(crate) async fn done(visit: Visit) -> Answer<Markup> {
    let (acts, mut tended) = (undo::all(&visit), actions(&visit).await?);
    tended.retain(|acted| !acted.undone);
    let body = html! {
        p class="lead" {
            "The last 32 changes of this session can be taken back, until it ends or what was \
             forgotten is erased from the file."
        }
        @if acts.is_empty() && tended.is_empty() {
            div class="empty" { h2 { "Nothing was changed yet" } }
        }
        @for act in acts { (act) }
        @if !tended.is_empty() {
            section {
                h2 { "Answered and tidied up " small { "in any session" } }
                @for acted in &tended { (told(&visit, acted)) }
            }
        }
    };
    Ok(room(&visit, "/done", "What you changed", &body))
}

fn plan(visit: &Visit, would: &Consolidated) -> Markup {
    let gone: usize = would.merged.iter().map(|merge| merge.gone.len()).sum();
    let is_nothing = gone + would.purged.len() + would.distilled.len() == 0;
    html! {
        section class="card" {
            h2 { "What tidying up would do" }
            @if is_nothing { p class="why" { "Nothing: there is nothing to tidy up." } }
            @if gone > 0 {
                p { "Said more than once: one answers for the others." }
                ul {
                    @for merge in would.merged.iter().take(NAMED) {
                        li class="put" {
                            span {
                                @match merge.texts.first() {
                                    Some(text) => (text::line(text, 140)),
                                    None => (text::line(&merge.kept, 60)),
                                }
                                " " (link(&merge.kept, "kept")) " "
                                @for gone in merge.gone.iter().take(3) {
                                    (link(gone, "merged")) " "
                                }
                            }
                            small { (text::of(merge.gone.len(), "copy", "copies")) }
                        }
                    }
                    @if would.merged.len() > NAMED {
                        li class="faint" { "and " (would.merged.len() - NAMED) " more" }
                    }
                }
            }
            @if !would.purged.is_empty() {
                p { "Over: their time was set, and has passed. They are put away." }
                (named(&would.purged))
            }
            @if !would.distilled.is_empty() {
                p { "Made of several: a lesson that stands in all of them." }
                (named(&would.distilled))
            }
            @if !is_nothing {
                (only_looks(visit))
                div class="acts" {
                    (form(visit, "/knowledge/consolidate", &html! {
                        button class="first" data-command="Tidy up now" { "Do this" }
                    }))
                }
                p class="faint" { "All of it can be undone below." }
            }
        }
    }
}

fn told(visit: &Visit, acted: &Acted) -> Markup {
    html! {
        div class="card" {
            div class="meta" {
                (acted.at.get(..16).unwrap_or(&acted.at).replace('T', " "))
                @if acted.undone { span class="chip" { "undone" } }
            }
            @for merge in &acted.merged {
                p {
                    (link(&merge.kept, "This one")) " answers for"
                    @for gone in merge.gone.iter().take(3) { " " (link(gone, "this")) }
                    @if merge.gone.len() > 3 { " and " (merge.gone.len() - 3) " more" }
                    @if let Some(text) = merge.texts.first() {
                        ": " span class="faint" { (text::line(text, 120)) }
                    }
                }
            }
            @if !acted.purged.is_empty() {
                p { "Put away, their time being over:" } (named(&acted.purged))
            }
            @if !acted.distilled.is_empty() { p { "Made of several:" } (named(&acted.distilled)) }
            @for [older, newer] in acted.contradictions.iter().take(NAMED) {
                p { (link(newer, "The newer")) " stands above " (link(older, "the older")) }
            }
            @if acted.contradictions.len() > NAMED {
                p class="faint" { "and " (acted.contradictions.len() - NAMED) " more" }
            }
            @if !acted.undone { div class="acts" { (taken_back(visit, &acted.action)) } }
        }
    }
}

fn link(name: &str, says: &str) -> Markup {
    html! { a href=(format!("/records/{}", encoded(name))) title=(name) { (says) } }
}

fn named(names: &[String]) -> Markup {
    html! { p class="chips" { (chips_of(names, NAMED)) } }
}

/// The first so many of some records, each a chip that leads to it.
pub(super) fn chips_of(names: &[String], most: usize) -> Markup {
    html! {
        @for name in names.iter().take(most) {
            a class="chip" href=(format!("/records/{}", encoded(name))) { (text::line(name, 60)) }
        }
        @if names.len() > most { span class="faint" { "and " (names.len() - most) " more" } }
    }
}

pub(crate) async fn consolidate(posted: Posted) -> Answer<Redirect> {
    let asked = ConsolidateArguments { dry_run: false };
    posted.visit.ask::<Consolidate>(asked).await?;
    Ok(Redirect::to("/knowledge/tidy?done=tidied"))
}

pub(crate) async fn undo_action(posted: Posted) -> Answer<Redirect> {
    let action = Some(posted.get("action").to_owned());
    let done = posted.visit.ask::<Undo>(UndoArguments { action }).await?;
    let again = done.restored.len();
    Ok(Redirect::to(&format!("/knowledge/tidy?again={again}")))
}
