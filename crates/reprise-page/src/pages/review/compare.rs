//! Two memories that a person chose, side by side: keep one of them, both, or merge them.

use reprise_operations::DoubtfulPair;

use super::cards::{FATE, PairSort, render_question};
use super::groups::ReviewQuestion;
use crate::prelude::*;

/// Loads the present version of a memory that is named in the address.
async fn load_chosen(
    visit: &PageRequest,
    pairs: &QueryPairs,
    name: &str,
) -> PageResult<MemoryRecord> {
    let id = pairs.text(name).to_owned();
    let found = visit
        .run_optional::<History>(HistoryArguments { id })
        .await?;
    let found = found.ok_or_else(PageError::missing_memory)?;
    Ok(found.present)
}

/// Shows two memories, with what differs in them marked, and what can be made of them.
pub(crate) async fn show_comparison(visit: PageRequest, pairs: QueryPairs) -> PageResult<Markup> {
    if pairs.get("one").is_none() || pairs.get("other").is_none() {
        let body = html! {
            p class="why" {
                "Select two memories in " a href="/timeline" { "the timeline" } " or another list, then choose \u{201c}Compare two\u{201d}."
            }
        };
        return Ok(render_page(
            &visit,
            "/timeline",
            "Compare two memories",
            &body,
        ));
    }
    let mut chosen = [
        load_chosen(&visit, &pairs, "one").await?,
        load_chosen(&visit, &pairs, "other").await?,
    ];
    if chosen[0].id == chosen[1].id {
        return Err(PageError::invalid(
            "This is one memory twice. Go back and select two.",
        ));
    }
    chosen.sort_by_key(|record| (record.timestamp, record.id));
    let line = |record: &MemoryRecord| {
        let words: Vec<&str> = record.text.split_whitespace().collect();
        words.join(" ")
    };
    let pair = DoubtfulPair {
        pair: chosen.each_ref().map(|record| record.id.to_string()),
        newest: chosen[1].id.to_string(),
        why: String::new(),
        texts: Some(chosen.each_ref().map(line)),
    };
    let question = ReviewQuestion::about(&pair);
    let card = render_question(&visit, &question, PairSort::Chosen, "/", true).await?;
    let body = html! {
        (render_read_only_notice(&visit))
        section class="pairs" {
            h2 { "Your choice" }
            p class="why" { (FATE) }
            @if let Some(card) = card { (card) }
        }
    };
    Ok(render_page(
        &visit,
        "/timeline",
        "Compare two memories",
        &body,
    ))
}
