//! Published knowledge: what of this memory others can find, what left it and when; and publishing
//! a record, byte by byte, with the yes to just that.

use reprise_operations::operations::records::{Show, ShowArguments};
use reprise_operations::operations::shared::{
    Leaving, Publish, PublishArguments, PublishPreview, PublishPreviewArguments, PublishedList,
    PublishedRow, PublishedThing, PublishedThingArguments, ReceiptRow, ReceiptsOf, Unpublish,
    UnpublishArguments,
};
use reprise_operations::{Deed, PageAsked};
use reprise_types::limits::PAGE_MAX;

use crate::prelude::*;
use crate::undo::{Act, Back};

const POLICIES: [(&str, &str); 3] = [
    ("public", "everybody"),
    ("org", "your organisation"),
    ("paid", "whoever pays"),
];

/// What is said of how it is published; what is not said stays as it is.
fn terms<'a>(
    record: RecordId,
    given: impl Fn(&str) -> Option<&'a str>,
) -> Answer<PublishPreviewArguments> {
    let policy = serde_json::from_value(json!(given("policy")));
    let policy =
        policy.map_err(|_| Trouble::invalid("There is no such policy; choose one of the list."))?;
    let said = |name: &str| given(name).map(|text| text.trim().to_owned());
    Ok(PublishPreviewArguments {
        ids: vec![record.to_string()],
        title: said("title"),
        policy,
        licence: said("licence"),
        ..PublishPreviewArguments::default()
    })
}

pub(crate) async fn ask(visit: Visit, Named(id): Named<RecordId>, pairs: Pairs) -> Answer<Markup> {
    let asked = ShowArguments { id: id.to_string() };
    let record = visit.ask::<Show>(asked).await?;
    let asked = terms(record.id, |name| pairs.given(name))?;
    // What may not leave says so here, in place of what would.
    let leaving = visit.ask::<PublishPreview>(asked).await;
    let leaving = leaving.map(|shown| shown.leaving.into_iter().next());
    let path = rows::path(&record);
    let body = html! {
        p class="lead" {
            "These bytes leave this memory, and no others: no session, no vector, nothing private. \
             You can take them back; who has read them has read them."
        }
        @match &leaving {
            Ok(Some(leaving)) => {
                (terms_form(&path, &leaving.title, &text::word(&leaving.policy), &leaving.licence))
                (preview(&visit, &path, &pairs, leaving))
            }
            Ok(None) => { p class="notice" { "Nothing would leave; there is no such record." } }
            Err(trouble) => {
                // Where neither says what stands, empty fields would take it away.
                @if let Some(title) = pairs.given("title") {
                    (terms_form(&path, title, pairs.text("policy"), pairs.text("licence")))
                }
                p class="notice" role="status" { (text::line(&trouble.sentence, 600)) }
                p { a class="button" href=(path) { "Back to the record" } }
            }
        }
    };
    Ok(room(&visit, "/global", "Publish this?", &body))
}

fn terms_form(path: &str, title: &str, policy: &str, licence: &str) -> Markup {
    html! {
        form class="stack" action=(format!("{path}/publish")) {
            div class="fields card" {
                label { "Title" input name="title" value=(title); }
                label {
                    "For whom"
                    select name="policy" {
                        @for (one, says) in POLICIES {
                            option value=(one) selected[policy == one] { (says) }
                        }
                    }
                }
                label { "Licence, such as MIT" input name="licence" value=(licence); }
                button { "Show what would leave" }
            }
        }
    }
}

fn preview(visit: &Visit, path: &str, pairs: &Pairs, leaving: &Leaving) -> Markup {
    html! {
        (only_looks(visit))
        section class="card" {
            h2 {
                "What would leave "
                small {
                    (text::size(leaving.bytes as u64))
                    @if leaving.redacted > 0 {
                        ", without " (text::of(leaving.redacted as usize, "secret", "secrets"))
                    }
                    @if let Some(version) = &leaving.version { ", in place of version " (version) }
                }
            }
            pre class="block leaving" { (text::whole(&leaving.exact)) }
            p class="faint" { "SHA-256 " code { (leaving.sha256) } }
            div class="acts" {
                (form(visit, &format!("{path}/publish"), &html! {
                    @for name in ["title", "policy", "licence"] {
                        @if let Some(said) = pairs.given(name) {
                            input type="hidden" name=(name) value=(said);
                        }
                    }
                    input type="hidden" name="agreed" value=(leaving.sha256);
                    button class="first" data-command="Publish these bytes" {
                        "Publish these bytes"
                    }
                }))
                a class="button" href=(path) { "Keep it to yourself" }
            }
        }
    }
}

pub(crate) async fn publish(Named(id): Named<RecordId>, posted: Posted) -> Answer<Redirect> {
    let asked = PublishArguments {
        branch: None,
        what: terms(id, |name| posted.given(name))?,
        agreed: vec![posted.get("agreed").to_owned()],
    };
    let done = posted.visit.ask::<Publish>(asked).await?;
    let global = done.published.first().map(|done| done.id);
    let global = global.ok_or_else(|| Trouble::invalid("Nothing was published; try again."))?;
    let back = Back::Unpublish { record: id, global };
    let act = Act::new(id, "Published: others can find it now.", back);
    Ok(undo::did(&posted.visit, act))
}

pub(crate) async fn show(visit: Visit, pairs: Pairs) -> Answer<Markup> {
    let whole = PageAsked {
        limit: Some(PAGE_MAX),
        ..PageAsked::default()
    };
    let (published, receipts) = tokio::join!(
        visit.ask_if::<PublishedList>(whole),
        visit.ask_if::<ReceiptsOf>(NoArguments {})
    );
    let published = published?
        .map(|listed| listed.published)
        .unwrap_or_default();
    let receipts = receipts?.map(|kept| kept.receipts).unwrap_or_default();
    let calendar = visit.page.calendar();
    let body = html! {
        (undo::told(&visit, pairs.get("done")))
        @if let Some(versions) = pairs.read::<usize>("taken")? {
            (toast(&html! {
                "Taken back, in " (text::of(versions, "version", "versions")) ". "
                @if pairs.get("verified") == Some("true") {
                    "The store was asked for it again, and has nothing."
                }
            }))
        }
        section {
            h2 { "What others can find of yours " small { (published.len()) } }
            @if published.is_empty() {
                p class="why" {
                    "Nothing: this memory is yours alone. A record's page publishes it."
                }
            } @else {
                ol class="rows" {
                    @for row in &published { (one(&visit, row, &calendar)) }
                }
            }
        }
        section {
            h2 { "What left, and when" }
            @if receipts.is_empty() { p class="why" { "Nothing ever left." } }
            @else { (log(&receipts)) }
        }
        section {
            h2 { "What others published" }
            form class="stack" role="search" action="/search" {
                input type="hidden" name="scope" value="global";
                label class="question" {
                    (icon("search")) span class="unseen-text" { "Question" }
                    input type="search" name="q" autocomplete="off"
                        placeholder="Ask what others published \u{2026}";
                }
            }
        }
    };
    Ok(room(&visit, "/global", "Published", &body))
}

fn one(visit: &Visit, row: &PublishedRow, calendar: &Calendar) -> Markup {
    let uses = row.quality.usage_count;
    html! {
        li class="grouping" aria-label=(row.title) {
            h3 { a href=(format!("/global/{}", row.id)) { (text::line(&row.title, 120)) } }
            small {
                "version " (row.version) " \u{b7} " (text::word(&row.policy)) " \u{b7} "
                (calendar.ago(row.published_at)) " \u{b7} "
                @if uses > 0 {
                    (text::of(uses as usize, "use", "uses")) ", "
                    (format!("{:.2}", row.quality.quality())) " of 1"
                } @else { "nobody used it yet" }
            }
            (form(visit, "/global/unpublish", &html! {
                input type="hidden" name="id" value=(row.id);
                button class="quiet danger" data-command="Take back what is published"
                    aria-label=(format!("Take it back: {}", row.title)) { "Take it back" }
            }))
        }
    }
}

fn log(receipts: &[ReceiptRow]) -> Markup {
    table(
        "What left, and when",
        &["What", "Record", "Version", "For whom", "Size"],
        receipts.iter().map(|row| {
            let line = &row.line;
            html! {
                td {
                    a href=(format!("/records/{}", row.receipt)) {
                        @match &line.branch {
                            Some(branch) if line.act == Deed::Drafted => { "on branch " (branch) }
                            _ => (line.act.name()),
                        }
                    }
                }
                td {
                    @match line.record {
                        Some(of) => { a href=(format!("/records/{of}")) { "the record" } }
                        None => {
                            a href=(format!("/global/{}", line.global_id)) { "what was published" }
                        }
                    }
                }
                td { (line.version.as_deref().unwrap_or_default()) }
                td { (line.policy.as_deref().unwrap_or_default()) }
                td class="number" {
                    @if let Some(bytes) = line.bytes { (text::size(bytes as u64)) }
                }
            }
        }),
    )
}

fn take_back(visit: &Visit, thing: RecordId) -> Markup {
    form(
        visit,
        "/global/unpublish",
        &html! {
            input type="hidden" name="id" value=(thing);
            button class="danger" data-command="Take back what is published" { "Take it back" }
        },
    )
}

/// That others find a published thing whatever becomes of its record, with the way to take it back.
pub(super) fn stays(visit: &Visit, thing: RecordId) -> Markup {
    html! {
        div class="notice" {
            a href=(format!("/global/{thing}")) { "What was published of it" }
            " stays: others find it until you take it back."
            div class="acts" { (take_back(visit, thing)) }
        }
    }
}

/// A published thing, whole.
pub(crate) async fn thing(visit: Visit, Named(id): Named<RecordId>) -> Answer<Markup> {
    let asked = PublishedThingArguments { id, version: None };
    let found = visit.ask::<PublishedThing>(asked).await?;
    let (publication, calendar) = (&found.publication, visit.page.calendar());
    let quality = &found.quality_metrics;
    let body = html! {
        article class="card" {
            div class="meta" {
                span class="chip good" { "published" }
                "by " (found.author_id) ", version " (found.version) ", "
                (calendar.ago(found.published_at)) ", for " (text::word(&publication.access_policy))
                @if !publication.licence.is_empty() { ", " (text::line(&publication.licence, 60)) }
            }
            h2 { (text::line(&publication.title, 200)) }
            @if !publication.summary.is_empty() {
                p class="why" { (text::whole(&publication.summary)) }
            }
            div class="said" { (markdown::shown(&publication.content)) }
            p class="faint" {
                (text::of(quality.usage_count as usize, "use", "uses")) ", "
                (format!("{:.2}", quality.quality())) " of 1"
            }
            @if found.author_id == visit.user {
                div class="acts" { (take_back(&visit, found.id)) }
            }
        }
    };
    Ok(room(&visit, "/global", "Published", &body))
}

pub(crate) async fn unpublish(posted: Posted) -> Answer<Redirect> {
    let id: RecordId = posted.read("id")?;
    let asked = UnpublishArguments { id: id.to_string() };
    let done = posted.visit.ask::<Unpublish>(asked).await?;
    let (versions, verified) = (done.versions, done.verified);
    Ok(Redirect::to(&format!(
        "/global?taken={versions}&verified={verified}"
    )))
}
