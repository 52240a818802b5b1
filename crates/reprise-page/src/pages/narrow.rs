//! Ways to narrow a question: its results over time, and what they have in common.

use chrono::{Datelike, Days, Months, NaiveDate};

use crate::chart::ChartBar;
use crate::prelude::*;

/// A chart over more days than this is drawn by month.
const DAYS_MAX: i64 = 45;
/// Most bars by month; of a longer time the newest are drawn.
const MONTHS_MAX: u32 = 60;
/// Fewest results that a chart tells more about than their dates do.
const HITS_MIN: usize = 3;

/// Renders the results over time; a bar links to the results of its days.
pub(super) fn render_over_time(
    pairs: &QueryPairs,
    hits: &[&RetrievedMemory],
    calendar: &Calendar,
) -> Markup {
    let days = hits.iter().map(|hit| calendar.day_of(hit.record.timestamp));
    let days: Vec<NaiveDate> = days.collect();
    if days.len() < HITS_MIN {
        return html! {};
    }
    let (Some(first), Some(last)) = (days.iter().min(), days.iter().max()) else {
        return html! {};
    };
    let is_long = (*last - *first).num_days() > DAYS_MAX;
    let mut bars = Vec::new();
    let mut from = *first;
    if is_long {
        let oldest = last.checked_sub_months(Months::new(MONTHS_MAX));
        let newer = oldest.map_or(*first, |oldest| oldest.max(*first));
        from = newer.with_day(1).unwrap_or(newer);
    }
    let drawn_from = from;
    while from <= *last {
        let next = if is_long {
            from.checked_add_months(Months::new(1))
        } else {
            from.checked_add_days(Days::new(1))
        };
        let Some(next) = next else { break };
        let until = next.pred_opt().unwrap_or(from);
        let (since, until_text) = (from.to_string(), until.to_string());
        let query = pairs.to_query_with(&[("since", &since), ("until", &until_text)]);
        bars.push(ChartBar {
            name: if is_long {
                from.format("%B %Y").to_string()
            } else {
                since
            },
            count: days
                .iter()
                .filter(|day| (from..=until).contains(*day))
                .count(),
            path: Some(format!("/search?{query}")),
        });
        from = next;
    }
    html! {
        section {
            h2 { "Matches over time " small { (drawn_from) " to " (last) } }
            (chart::render_bars("Matches over time", "matches", &bars))
        }
    }
}

/// Renders what the results have in common, as links that filter by it.
pub(super) fn render_facets(pairs: &QueryPairs, hits: &[&RetrievedMemory]) -> Markup {
    let count = |of: &dyn Fn(&RetrievedMemory) -> Option<String>| {
        let mut counts: Vec<(String, usize)> = Vec::new();
        for value in hits.iter().filter_map(|hit| of(hit)) {
            match counts.iter_mut().find(|(own, _)| *own == value) {
                Some((_, count)) => *count += 1,
                None => counts.push((value, 1)),
            }
        }
        counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        counts.truncate(6);
        counts
    };
    let about = |hit: &RetrievedMemory| RecordByline::of(&hit.record);
    let all = [
        (
            "type",
            count(&|hit| Some(hit.record.record_type().name().to_owned())),
        ),
        ("project", count(&|hit| about(hit).project)),
        ("author", count(&|hit| about(hit).by)),
    ];
    html! {
        @for (name, counts) in &all {
            @if counts.len() > 1 && pairs.get(name).is_none() {
                div class="chips" {
                    @for (value, count) in counts {
                        a class="chip" href=(format!("/search?{}", pairs.to_query_with(&[(name, value)]))) {
                            (text::shorten(value, 30)) "\u{a0}" span class="faint" { (count) }
                        }
                    }
                }
            }
        }
    }
}
