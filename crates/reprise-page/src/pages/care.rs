//! The settings page with storage, and the health page.

use maud::PreEscaped;
use reprise_engine::EngineStats;
use reprise_operations::operations::care::Stats;
use reprise_operations::operations::maintenance::audit::{Audit, Audited};

use super::change::erasure::{list_forgotten, render_erase_link};
use super::diary::render_record_chips;
use super::home;
use crate::chart::ChartLine;
use crate::prelude::*;
use crate::shell::{PageFrame, stream_page};

/// Most records named for one problem.
const NAMED: usize = 20;

/// Shows the size of the file and what can be freed.
pub(crate) async fn show_storage(visit: PageRequest, pairs: QueryPairs) -> PageResult<Markup> {
    let stats = visit.run_optional::<Stats>(NoArguments {}).await?;
    let calendar = visit.page.calendar();
    let is_any = |stats: &EngineStats| stats.forgotten > 0 || stats.reclaimable_bytes > 0;
    let forgotten = if stats.as_ref().is_some_and(is_any) {
        list_forgotten(&visit).await?.len()
    } else {
        0
    };
    let body = html! {
        (undo::render_done_toast(&visit, pairs.get("done")))
        @match &stats {
            None => { div class="empty" { h2 { "No memories yet" } } }
            Some(stats) => {
                div class="split" {
                    div {
                        section class="card" {
                            h2 { "Storage" }
                            (figures(&list_storage_figures(&visit, stats, &calendar)))
                            div class="acts" {
                                a class="button" href="/care/backup" download { "Download a backup" }
                            }
                            (render_erase(&visit, forgotten))
                        }
                    }
                    div class="aside" {
                        section class="card" {
                            h2 { "Health" }
                            p class="why" {
                                "Duplicates, contradictions, expired memories and possible secrets, \
                                 day by day."
                            }
                            p class="acts" { a class="button" href="/care/audit" { "Check health" } }
                        }
                    }
                }
            }
        }
    };
    Ok(render_page(&visit, "/care", "Settings", &body))
}

/// Offers to erase the forgotten texts that the file still has.
fn render_erase(visit: &PageRequest, forgotten: usize) -> Markup {
    let is_one = forgotten == 1;
    html! {
        @if !visit.read_only && forgotten > 0 {
            p class="faint" {
                "The file still has "
                (text::pluralize(forgotten, "forgotten text", "forgotten texts"))
                (if is_one { ", where nothing reads it." } else { ", where nothing reads them." })
                " Backups and exports may have "
                (if is_one { "it" } else { "them" }) " too; erasing does not change those."
            }
            (render_erase_link(visit))
        }
    }
}

fn list_storage_figures(
    visit: &PageRequest,
    stats: &EngineStats,
    calendar: &Calendar,
) -> Vec<(&'static str, String)> {
    let model = stats.space.clone().unwrap_or_else(|| "none".to_owned());
    let mut rows = vec![
        ("file size", text::format_size(stats.file_bytes)),
        ("can be freed", text::format_size(stats.reclaimable_bytes)),
        ("memories", text::format_count(stats.live.into())),
        ("sessions", text::format_count(stats.sessions.into())),
        (
            "replaced: edited, merged or contradicted",
            text::format_count(stats.superseded.into()),
        ),
        (
            "forgotten versions",
            text::format_count(stats.forgotten.into()),
        ),
    ];
    let last = stats.last_ingest.map(|at| calendar.format_relative(at));
    rows.extend(last.map(|last| ("last saved", last)));
    if visit.page.runs_without_model() {
        rows.push((
            "model for meaning",
            format!("{model}, not in use now (--no-model)"),
        ));
    } else {
        rows.push(("model for meaning", model));
    }
    rows
}

/// Shows the health of a memory, now and over time; memories are compared for that.
pub(crate) async fn show_health(visit: PageRequest) -> Response {
    let frame = PageFrame {
        tab: "/care/audit",
        title: "Health",
        progress: "Checking every memory \u{2026}",
        before: html! {},
    };
    stream_page(visit, &frame, |visit| {
        Box::pin(async move { render_health(&visit).await })
    })
}

async fn render_health(visit: &PageRequest) -> PageResult<Markup> {
    let audited = visit.run_optional::<Audit>(NoArguments {}).await?;
    let damage = home::describe_damage(visit).await;
    let Some(audited) = &audited else {
        return Ok(html! { div class="empty" { h2 { "No memories yet" } } });
    };
    Ok(html! {
        @if let Some(damage) = &damage {
            div class="need" { b { "Problem" } p { (text::shorten_title(damage, 400)) } }
        }
        p class="lead" {
            (describe_health(audited))
            @let waiting = count_waiting(audited);
            @if waiting > 0 {
                " " a href="/knowledge/review" {
                    (text::pluralize(waiting, "pair waits", "pairs wait")) " for your decision"
                } "."
            }
        }
        @let details = html! { (render_history(audited)) (render_problems(audited)) }.into_string();
        div class="split" {
            @if !details.is_empty() { div { (PreEscaped(details.as_str())) } }
            div class="aside" { section class="card" {
                h2 { "Numbers" }
                (figures(&list_audit_figures(audited)))
                p class="faint" { "Memories that were never used, or have no embedding, are no problem." }
                div class="acts" {
                    @if audited.duplicates > 0 {
                        a class="button" href="/knowledge/tidy" { "Merge duplicates" }
                    }
                    @if !audited.contradictions.is_empty() || audited.review > 0 {
                        a class="button" href="/knowledge/review" { "See what is to decide" }
                    }
                }
            } }
        }
    })
}

/// Describes the share of memories without problems, and the problems that there are.
fn describe_health(audited: &Audited) -> String {
    let contradictions = audited.contradictions.len() + audited.contradictions_more;
    let problems = [
        (audited.duplicates, "duplicate", "duplicates"),
        (contradictions, "contradiction", "contradictions"),
        (audited.stale.len(), "expired memory", "expired memories"),
        (
            audited.orphans.len(),
            "memory whose source is gone",
            "memories whose source is gone",
        ),
        (
            audited.possible_secrets.len(),
            "possible secret",
            "possible secrets",
        ),
    ];
    let problems = problems.into_iter().filter(|(count, ..)| *count > 0);
    let found: Vec<String> = problems
        .map(|(count, one, many)| text::pluralize(count, one, many))
        .collect();
    let share = text::format_share(audited.score);
    let once = if contradictions > 0 {
        "; a contradiction counts for one of its two memories"
    } else {
        ""
    };
    let lead = format!("Health {share}, the share of memories without a problem{once}.");
    if !found.is_empty() {
        format!("{lead} Found: {}.", found.join(", "))
    } else if count_waiting(audited) > 0 {
        lead
    } else {
        format!("Health {share}: no problem was found.")
    }
}

/// Counts the pairs that a person has to decide, as Home does.
fn count_waiting(audited: &Audited) -> usize {
    audited.contradictions.len() + audited.contradictions_more + audited.review
}

fn list_audit_figures(audited: &Audited) -> Vec<(&'static str, String)> {
    let count = |number: usize| text::format_count(number as u64);
    let contradictions = audited.contradictions.len() + audited.contradictions_more;
    vec![
        ("memories", count(audited.records)),
        ("duplicates", count(audited.duplicates)),
        ("contradictions to decide", count(contradictions)),
        ("possible duplicates to decide", count(audited.review)),
        ("expired", count(audited.stale.len())),
        ("possible secrets", count(audited.possible_secrets.len())),
        ("never used", count(audited.never_used)),
        (
            "without an embedding",
            text::format_count(audited.unembedded.into()),
        ),
    ]
}

fn render_history(audited: &Audited) -> Markup {
    let [first, .., last] = audited.history.as_slice() else {
        return html! {};
    };
    let values = |of: &dyn Fn(&reprise_operations::operations::maintenance::audit::Day) -> f64| {
        audited.history.iter().map(of).collect::<Vec<_>>()
    };
    let score = ChartLine {
        name: "score",
        values: values(&|day| day.score),
    };
    let records = ChartLine {
        name: "memories",
        values: values(&|day| day.records as f64),
    };
    let ends = [first.day.as_str(), last.day.as_str()];
    html! {
        section class="card" {
            h2 { "Memories without problems, by day" }
            (chart::render_lines("Share of memories without problems", &[score], ends, Some(1.0)))
        }
        section class="card" {
            h2 { "Memories, by day" }
            (chart::render_lines("Stored memories", &[records], ends, None))
        }
    }
}

fn render_problems(audited: &Audited) -> Markup {
    let all = [
        ("Expired", &audited.stale),
        ("Possible secrets", &audited.possible_secrets),
        ("Orphans: their source is gone", &audited.orphans),
    ];
    html! {
        @for (title, names) in all {
            (fold(title, names.len(), &html! {
                div class="chips" { (render_record_chips(names, &audited.beginnings, NAMED)) }
            }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_a_decision_is_no_health_without_a_problem() {
        let audited = |score, review| Audited {
            score,
            review,
            ..Audited::default()
        };
        assert_eq!(
            describe_health(&audited(1.0, 0)),
            "Health 100 %: no problem was found."
        );
        let waiting = describe_health(&audited(1.0, 4));
        assert!(!waiting.contains("no problem"), "{waiting}");
        assert!(describe_health(&audited(0.989, 0)).starts_with("Health 99 %"));
        assert_eq!(count_waiting(&audited(1.0, 4)), 4);
    }
}
