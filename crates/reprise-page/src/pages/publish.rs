//! Published knowledge: what others can find of this memory, the log of publications, and
//! publishing a record after a preview of the exact bytes.

use std::collections::HashMap;

use reprise_operations::operations::records::{Show, ShowArguments};
use reprise_operations::operations::sharing::{
    LeavingRecord, Publish, PublishArguments, PublishPreview, PublishPreviewArguments,
    PublishedList, PublishedRow, PublishedThing, PublishedThingArguments, ReceiptRow, ReceiptsOf,
    Unpublish, UnpublishArguments,
};
use reprise_operations::{PageArguments, PublicationAct};
use reprise_types::limits::PAGE_MAX;

use super::diary::load_titles;
use crate::prelude::*;
use crate::undo::{InverseAction, UserAction};

/// The audiences of a service: form value and label.
const POLICIES: [(&str, &str); 3] = [
    ("public", "everybody who uses the service"),
    ("org", "your organisation"),
    ("paid", "paying users"),
];

/// Returns who can read what was published under a policy.
fn describe_audience<'a>(visit: &PageRequest, policy: &'a str) -> &'a str {
    let label = POLICIES.iter().find(|(one, _)| *one == policy);
    match label {
        Some(("public", _)) if find_service(visit).is_none() => "the users of this machine",
        Some((_, label)) => label,
        None => policy,
    }
}

/// Parses the terms of a publication; missing ones stay as they are.
fn parse_terms<'a>(
    record: RecordId,
    given: impl Fn(&str) -> Option<&'a str>,
) -> PageResult<PublishPreviewArguments> {
    let policy = serde_json::from_value(json!(given("policy")));
    let policy = policy
        .map_err(|_| PageError::invalid("There is no such policy; choose one of the list."))?;
    let term = |name: &str| given(name).map(|text| text.trim().to_owned());
    Ok(PublishPreviewArguments {
        ids: vec![record.to_string()],
        title: term("title"),
        policy,
        licence: term("licence"),
        ..PublishPreviewArguments::default()
    })
}

pub(crate) async fn confirm_publish(
    visit: PageRequest,
    PathParameter(id): PathParameter<RecordId>,
    pairs: QueryPairs,
) -> PageResult<Markup> {
    let arguments = ShowArguments { id: id.to_string() };
    let record = visit.run_optional::<Show>(arguments).await?;
    let record = record.ok_or_else(PageError::missing_memory)?;
    let arguments = parse_terms(record.id, |name| pairs.raw_value(name))?;
    // If it may not be published, the reason is shown in place of the preview.
    let leaving = visit.run::<PublishPreview>(arguments).await;
    let leaving = leaving.map(|shown| shown.leaving.into_iter().next());
    let path = rows::path(&record);
    let body = html! {
        p class="lead" {
            "Only this title, text and tags are published, not where they come from. You can \
             unpublish them later, but others may have read them by then. "
            @match find_service(&visit) {
                Some(service) => { "It goes to " (text::shorten(&service, 120)) "." }
                None => { "It stays on this machine: no service for published knowledge is configured." }
            }
        }
        @match &leaving {
            Ok(Some(leaving)) => {
                @let policy = text::format_value(&leaving.policy);
                (render_terms_form(&visit, &path, [&leaving.title, &policy, &leaving.licence]))
                (render_preview(&visit, &path, &pairs, leaving))
            }
            Ok(None) => { p class="notice" { "Nothing to publish: there is no such memory." } }
            Err(trouble) => {
                // Without the present terms, empty fields would delete them.
                @if let Some(title) = pairs.raw_value("title") {
                    (render_terms_form(&visit, &path, [title, pairs.text("policy"), pairs.text("licence")]))
                }
                p class="notice" role="status" { (text::shorten_title(&trouble.sentence, 600)) }
                p { a class="button" href=(path) { "Back to the memory" } }
            }
        }
    };
    Ok(render_page(
        &visit,
        "/global",
        "Publish this memory?",
        &body,
    ))
}

/// Returns the host of the service for published knowledge; `None` if this machine has its own.
fn find_service(visit: &PageRequest) -> Option<String> {
    let settings = visit.page.host().settings();
    let url = settings.iter().find(|one| one.name == "global.url")?;
    let (_, host) = url.value.split_once("://")?;
    Some(host.trim_end_matches('/').to_owned())
}

/// Says in a toast who can find what was published just now.
fn describe_published(visit: &PageRequest) -> String {
    match find_service(visit) {
        Some(service) => format!("Published at {service}: its users can find it now."),
        None => "Published on this machine: its users can find it now. To share it with others, \
                 accept an invitation with `reprise share join LINK`."
            .to_owned(),
    }
}

fn render_terms_form(
    visit: &PageRequest,
    path: &str,
    [title, policy, licence]: [&str; 3],
) -> Markup {
    let has_service = find_service(visit).is_some();
    html! {
        form class="stack" action=(format!("{path}/publish")) {
            div class="fields card" {
                label { "Title" input name="title" value=(title); }
                label {
                    "Audience"
                    select name="policy" {
                        @for (one, _) in POLICIES {
                            @if has_service || policy == one {
                                option value=(one) selected[policy == one] {
                                    (describe_audience(visit, one))
                                }
                            }
                        }
                    }
                }
                label { "Licence, such as MIT" input name="licence" value=(licence); }
                button { "Show preview" }
            }
        }
    }
}

/// Reads the text out of what is sent; empty if it has none.
fn read_content(exact: &str) -> String {
    let sent: Value = serde_json::from_str(exact).unwrap_or_default();
    let content = sent.get("content").and_then(Value::as_str);
    content.unwrap_or_default().to_owned()
}

fn render_preview(
    visit: &PageRequest,
    path: &str,
    pairs: &QueryPairs,
    leaving: &LeavingRecord,
) -> Markup {
    html! {
        (render_read_only_notice(visit))
        section class="card" {
            h2 {
                "Preview "
                small {
                    (text::format_size(leaving.bytes as u64))
                    @if leaving.redacted > 0 {
                        ", without " (text::pluralize(leaving.redacted as usize, "secret", "secrets"))
                    }
                    @if let Some(version) = &leaving.version { ", in place of version " (version) }
                }
            }
            h3 { (text::shorten(&leaving.title, 200)) }
            div class="said" { (markdown::render(&read_content(&leaving.exact))) }
            details class="fold" {
                summary { "Exactly what is sent (JSON)" }
                pre class="block leaving" { (text::render(&leaving.exact)) }
                p class="faint" { "SHA-256 " code { (leaving.sha256) } }
            }
            div class="acts" {
                (form(visit, &format!("{path}/publish"), &html! {
                    @for name in ["title", "policy", "licence"] {
                        @if let Some(term) = pairs.raw_value(name) {
                            input type="hidden" name=(name) value=(term);
                        }
                    }
                    input type="hidden" name="agreed" value=(leaving.sha256);
                    button class="first" data-command="Publish this text" {
                        "Publish this text"
                    }
                }))
                a class="button" href=(path) { "Cancel" }
            }
        }
    }
}

pub(crate) async fn publish(
    PathParameter(id): PathParameter<RecordId>,
    posted: Posted,
) -> PageResult<Redirect> {
    let arguments = PublishArguments {
        branch: None,
        what: parse_terms(id, |name| posted.raw_value(name))?,
        agreed: vec![posted.text("agreed").to_owned()],
    };
    let done = posted.visit.run::<Publish>(arguments).await?;
    let global = done.published.first().map(|done| done.id);
    let global = global.ok_or_else(|| PageError::invalid("Nothing was published; try again."))?;
    let inverse = InverseAction::Unpublish { record: id, global };
    let message = describe_published(&posted.visit);
    let action = UserAction::new(id, &message, inverse);
    Ok(undo::push_and_redirect(&posted.visit, action))
}

pub(crate) async fn show(visit: PageRequest, pairs: QueryPairs) -> PageResult<Markup> {
    let whole = PageArguments {
        limit: Some(PAGE_MAX),
        ..PageArguments::default()
    };
    let (published, receipts) = tokio::join!(
        visit.run_optional::<PublishedList>(whole),
        visit.run_optional::<ReceiptsOf>(NoArguments {})
    );
    let published = published?
        .map(|listed| listed.published)
        .unwrap_or_default();
    let receipts = receipts?.map(|kept| kept.receipts).unwrap_or_default();
    let calendar = visit.page.calendar();
    let body = html! {
        (undo::render_done_toast(&visit, pairs.get("done")))
        @if let Some(versions) = pairs.parse_value::<usize>("taken")? {
            (toast(&html! {
                "Unpublished " (text::pluralize(versions, "version", "versions")) ". "
                @if pairs.get("verified") == Some("true") {
                    "The store was asked again and no longer has it."
                }
            }))
        }
        section {
            h2 { "Your published memories " small { (published.len()) } }
            @if published.is_empty() {
                p class="why" {
                    "Nothing is published. Open a memory to publish it."
                }
            } @else {
                ol class="rows" {
                    @for row in &published { (render_published_row(&visit, row, &calendar)) }
                }
            }
        }
        section {
            h2 { "History" }
            @if receipts.is_empty() { p class="why" { "Nothing was published yet." } }
            @else { (render_receipts(&visit, &receipts, &load_published_titles(&visit, &published, &receipts).await?)) }
        }
        section {
            h2 { "Published by others" }
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
    Ok(render_page(&visit, "/global", "Published", &body))
}

fn render_published_row(visit: &PageRequest, row: &PublishedRow, calendar: &Calendar) -> Markup {
    let uses = row.quality.usage_count;
    html! {
        li class="grouping" aria-label=(row.title) {
            h3 { a href=(format!("/global/{}", row.id)) { (text::shorten(&row.title, 120)) } }
            small {
                "version " (row.version) " \u{b7} " (describe_audience(visit, &text::format_value(&row.policy))) " \u{b7} "
                (calendar.format_relative(row.published_at)) " \u{b7} "
                @if uses > 0 {
                    (text::pluralize(uses as usize, "use", "uses")) ", "
                    (format!("{:.2}", row.quality.quality())) " of 1"
                } @else { "not used yet" }
            }
            (form(visit, "/global/unpublish", &html! {
                input type="hidden" name="id" value=(row.id);
                button class="quiet danger" data-command="Unpublish this"
                    aria-label=(format!("Unpublish {}", row.title)) { "Unpublish" }
            }))
        }
    }
}

/// Loads the titles of what a log names, by the id of each publication: that of the memory, unless
/// the publication is known.
async fn load_published_titles(
    visit: &PageRequest,
    published: &[PublishedRow],
    receipts: &[ReceiptRow],
) -> PageResult<HashMap<RecordId, String>> {
    let titles = published.iter().map(|row| (row.id, row.title.clone()));
    let mut titles: HashMap<RecordId, String> = titles.collect();
    let lines = receipts.iter().map(|row| &row.line);
    let unknown = lines.filter(|line| !titles.contains_key(&line.global_id));
    let unknown = unknown.filter_map(|line| Some((line.global_id, line.record?.to_string())));
    let unknown: HashMap<RecordId, String> = unknown.collect();
    let named = load_titles(visit, unknown.values()).await?;
    let found = unknown
        .into_iter()
        .filter_map(|(id, record)| Some((id, named.get(&record)?.clone())));
    titles.extend(found);
    Ok(titles)
}

/// Describes which version left, or how many were taken back.
fn describe_version(act: PublicationAct, version: &str) -> String {
    match (act, version.parse()) {
        (PublicationAct::Unpublished, Ok(count)) => text::pluralize(count, "version", "versions"),
        _ if version.is_empty() => String::new(),
        _ => format!("Version {version}"),
    }
}

fn render_receipts(
    visit: &PageRequest,
    receipts: &[ReceiptRow],
    titles: &HashMap<RecordId, String>,
) -> Markup {
    table(
        "History",
        &["Action", "Memory", "Version", "Audience", "Size"],
        receipts.iter().map(|row| {
            let line = &row.line;
            html! {
                td {
                    a href=(format!("/records/{}", row.receipt)) {
                        @match &line.branch {
                            Some(branch) if line.act == PublicationAct::Drafted => { "on branch " (branch) }
                            _ => (line.act.name()),
                        }
                    }
                }
                td {
                    @let path = match line.record {
                        Some(of) => format!("/records/{of}"),
                        None => format!("/global/{}", line.global_id),
                    };
                    @match titles.get(&line.global_id) {
                        Some(title) => { a href=(path) { (text::shorten(title, 90)) } }
                        None => { span class="faint" { "no longer stored" } }
                    }
                }
                td { (describe_version(line.act, line.version.as_deref().unwrap_or_default())) }
                td { (describe_audience(visit, line.policy.as_deref().unwrap_or_default())) }
                td class="number" {
                    @if let Some(bytes) = line.bytes { (text::format_size(bytes as u64)) }
                }
            }
        }),
    )
}

fn render_unpublish_button(visit: &PageRequest, thing: RecordId) -> Markup {
    form(
        visit,
        "/global/unpublish",
        &html! {
            input type="hidden" name="id" value=(thing);
            button class="danger" data-command="Unpublish this" { "Unpublish" }
        },
    )
}

/// Renders a notice that a publication remains, with the button that unpublishes it.
pub(super) fn render_still_published(visit: &PageRequest, thing: RecordId) -> Markup {
    html! {
        div class="notice" {
            a href=(format!("/global/{thing}")) { "The published copy" }
            " stays: others can find it until you unpublish it."
            div class="acts" { (render_unpublish_button(visit, thing)) }
        }
    }
}

/// Shows a whole publication.
pub(crate) async fn show_published(
    visit: PageRequest,
    PathParameter(id): PathParameter<RecordId>,
) -> PageResult<Markup> {
    let arguments = PublishedThingArguments { id, version: None };
    let found = visit.run::<PublishedThing>(arguments).await?;
    let (publication, calendar) = (&found.publication, visit.page.calendar());
    let quality = &found.quality_metrics;
    let body = html! {
        article class="card" {
            div class="meta" {
                span class="chip good" { "published" }
                "by " (found.author_id) ", version " (found.version) ", "
                (calendar.format_relative(found.published_at)) ", for " (text::format_value(&publication.access_policy))
                @if !publication.licence.is_empty() { ", " (text::shorten(&publication.licence, 60)) }
            }
            h2 { (text::shorten(&publication.title, 200)) }
            @if !publication.summary.is_empty() {
                p class="why" { (text::render(&publication.summary)) }
            }
            div class="said" { (markdown::render(&publication.content)) }
            p class="faint" {
                (text::pluralize(quality.usage_count as usize, "use", "uses")) ", "
                (format!("{:.2}", quality.quality())) " of 1"
            }
            @if found.author_id == visit.user {
                div class="acts" { (render_unpublish_button(&visit, found.id)) }
            }
        }
    };
    Ok(render_page_about(
        &visit,
        "/global",
        "Published",
        &publication.title,
        &body,
    ))
}

pub(crate) async fn unpublish(posted: Posted) -> PageResult<Redirect> {
    let id: RecordId = posted.parse_value("id")?;
    let arguments = UnpublishArguments { id: id.to_string() };
    let done = posted.visit.run::<Unpublish>(arguments).await?;
    let (versions, verified) = (done.versions, done.verified);
    Ok(Redirect::to(&format!(
        "/global?taken={versions}&verified={verified}"
    )))
}
