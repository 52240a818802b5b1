//! What keeps memory in order: the file and its copies, who may come in, what is set, and how well
//! memory stands.

use axum::body::Body;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use reprise_operations::operations::audit::{Audit, Audited};
use reprise_operations::operations::care::Stats;

use super::home;
use super::review::chips_of;
use crate::chart::Line;
use crate::page::{Backup, Token};
use crate::prelude::*;

/// Records named for one trouble.
const NAMED: usize = 20;

pub(crate) async fn show(visit: Visit, pairs: Pairs) -> Answer<Markup> {
    let (memory, user) = (visit.memory(), &visit.user);
    let (stats, backups, tokens) = tokio::join!(
        Stats::run(&memory, NoArguments {}),
        visit.page.host().backups(user),
        visit.page.host().tokens(user)
    );
    let (stats, backups, tokens) = (found(stats.map_err(Into::into))?, backups?, tokens?);
    let calendar = visit.page.calendar();
    let body = html! {
        (undo::told(&visit, pairs.get("done")))
        div class="split" {
            div {
                @if stats.is_some() { (copies(&visit, &backups, &calendar)) }
                (admitted(&visit, &tokens, &calendar))
                section {
                    h2 { "Settings" }
                    @let settings = visit.page.host().settings();
                    (table("Settings", &["Setting", "Value", "From"],
                        settings.iter().map(|one| html! {
                        td { (one.name) } td { (text::line(&one.value, 300)) }
                        td class="faint" { (one.from) }
                    })))
                }
            }
            div class="aside" {
                @if let Some(stats) = &stats {
                    section class="card" {
                        h2 { "The file" }
                        (figures(&[
                            ("size", text::size(stats.file_bytes)),
                            ("to be had back", text::size(stats.reclaimable_bytes)),
                            ("records", text::count(stats.live.into())),
                            ("forgotten", text::count(stats.forgotten.into())),
                            ("earlier versions", text::count(stats.superseded.into())),
                        ]))
                        div class="acts" {
                            (form(&visit, "/erase", &html! {
                                button data-command="Compact the file" { "Compact now" }
                            }))
                            a class="button" href="/care/backup" download { "Save a copy" }
                        }
                    }
                }
            }
        }
    };
    let title = "File, copies, tokens, settings";
    Ok(room(&visit, "/care", title, &body))
}

fn copies(visit: &Visit, backups: &[Backup], calendar: &Calendar) -> Markup {
    html! {
        section {
            h2 { "Copies and exports" }
            @if backups.is_empty() {
                p class="why" {
                    "None was made here; " code { (visit.command("reprise backup FILE")) }
                    " makes one, checked."
                }
            } @else {
                (table("Copies and exports", &["When", "Size", "File"], backups.iter().map(|one| html! {
                    @match one.there {
                        Some((at, bytes)) => {
                            td { (calendar.minute_of(at)) }
                            td class="number" { (text::size(bytes)) }
                        }
                        None => { td class="faint" { "gone" } td {} }
                    }
                    td { code { (text::line(&one.file, 300)) } }
                })))
            }
        }
    }
}

fn admitted(visit: &Visit, tokens: &[Token], calendar: &Calendar) -> Markup {
    html! {
        section {
            h2 { "Tokens" }
            p class="why" {
                "Each opens this memory to programs over TCP, where the daemon listens there."
            }
            @if !tokens.is_empty() {
                (table("Tokens", &["Name", "Made", "Opens", "Withdraw"], tokens.iter().map(|token| html! {
                    td { code { (text::line(&token.name, 64)) } }
                    td { (calendar.minute_of(token.made)) }
                    td { (if token.is_for_all { "every user's memory" } else { "this memory" }) }
                    td {
                        @if !token.is_for_all {
                            (form(visit, "/care/tokens/revoke", &html! {
                                input type="hidden" name="name" value=(token.name);
                                button class="danger"
                                    aria-label=(format!("Withdraw {}", token.name)) {
                                    "Withdraw"
                                }
                            }))
                        }
                    }
                })))
            }
            div class="fields" {
                (form(visit, "/care/tokens", &html! {
                    label {
                        "Name of a new one"
                        input name="name" required maxlength="64" autocomplete="off"
                            spellcheck="false";
                    }
                    button data-command="Make a token" { "Make a token" }
                }))
            }
        }
    }
}

/// The file as it is now, to be kept where its owner wants it.
pub(crate) async fn backup(visit: Visit) -> Answer<Response> {
    let bytes = visit.page.host().backup(&visit.user).await?;
    let day = visit.page.calendar().day_of(visit.page.now());
    let name = format!("attachment; filename=\"reprise-{}-{day}.rvf\"", visit.user);
    let headers = [
        (CONTENT_TYPE, "application/octet-stream".to_owned()),
        (CONTENT_DISPOSITION, name),
    ];
    Ok((headers, Body::from_stream(bytes)).into_response())
}

/// The token is shown in the answer to its form, and nowhere else.
pub(crate) async fn add_token(posted: Posted) -> Answer<Markup> {
    let (visit, name) = (&posted.visit, posted.get("name").trim());
    let token = visit.page.host().add_token(&visit.user, name).await?;
    let body = html! {
        div class="card" {
            p role="status" { "This is shown once; keep it where its program finds it." }
            pre class="block" data-copy { (token) }
            p { a class="button" href="/care" { "Done" } }
        }
    };
    Ok(room(visit, "/care", "A new token", &body))
}

pub(crate) async fn revoke_token(posted: Posted) -> Answer<Redirect> {
    let (visit, name) = (&posted.visit, posted.get("name"));
    visit.page.host().revoke_token(&visit.user, name).await?;
    Ok(Redirect::to("/care?done=revoked"))
}

/// How well memory stands, and how well it stood.
pub(crate) async fn audit(visit: Visit) -> Answer<Markup> {
    let audited = visit.ask_if::<Audit>(NoArguments {}).await?;
    let damage = home::damage(&visit).await;
    let body = match &audited {
        None => html! { div class="empty" { h2 { "Nothing is remembered yet" } } },
        Some(audited) => html! {
            @if let Some(damage) = &damage {
                div class="need" { b { "Not well" } p { (damage) } }
            }
            p class="lead" {
                (format!("{:.1}", 100.0 * audited.score)) " % of the records are without trouble: \
                 none is said twice, contradicted, over its time, left alone, or holds what looks \
                 like a secret."
            }
            div class="split" {
                div { (over_time(audited)) (troubles(audited)) }
                div class="aside" { section class="card" {
                    h2 { "In numbers" }
                    (figures(&numbers(audited)))
                    div class="acts" {
                        a class="button" href="/knowledge/review" { "Answer what is in doubt" }
                        a class="button" href="/knowledge/tidy" { "Tidy up" }
                    }
                } }
            }
        },
    };
    Ok(room(&visit, "/care/audit", "How memory stands", &body))
}

fn numbers(audited: &Audited) -> Vec<(&'static str, String)> {
    let count = |number: usize| text::count(number as u64);
    let contradictions = audited.contradictions.len() + audited.contradictions_more;
    vec![
        ("records", count(audited.records)),
        ("said twice", count(audited.duplicates)),
        ("contradictions", count(contradictions)),
        ("pairs in doubt", count(audited.review)),
        ("over their time", count(audited.stale.len())),
        ("possible secrets", count(audited.possible_secrets.len())),
        ("never used", count(audited.never_used)),
        ("without a vector", text::count(audited.unembedded.into())),
    ]
}

fn over_time(audited: &Audited) -> Markup {
    let [first, .., last] = audited.history.as_slice() else {
        return html! {};
    };
    let values = |of: &dyn Fn(&reprise_operations::operations::audit::Day) -> f64| {
        audited.history.iter().map(of).collect::<Vec<_>>()
    };
    let score = Line {
        name: "score",
        values: values(&|day| day.score),
    };
    let records = Line {
        name: "records",
        values: values(&|day| day.records as f64),
    };
    let ends = [first.day.as_str(), last.day.as_str()];
    html! {
        section class="card" {
            h2 { "Without trouble, by day" }
            (chart::lines("The share of records without trouble", &[score], ends, Some(1.0)))
        }
        section class="card" {
            h2 { "Records, by day" }
            (chart::lines("Records kept", &[records], ends, None))
        }
    }
}

fn troubles(audited: &Audited) -> Markup {
    let all = [
        ("Over their time", &audited.stale),
        ("Possible secrets", &audited.possible_secrets),
        ("Left alone: what they came from is gone", &audited.orphans),
    ];
    html! {
        @for (title, names) in all {
            (fold(title, names.len(), &html! {
                div class="chips" { (chips_of(names, NAMED)) }
            }))
        }
    }
}
