//! The tab Backups: save, schedule, download, restore and import, each after a look at what it
//! would do.

mod comparison;

use axum::body::Body;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use reprise_engine::EngineStats;
use reprise_operations::operations::care::Stats;

use crate::backup_files::{
    BackupFile, BackupInterval, BackupOrigin, BackupSchedule, SCHEDULED_KEPT_MAX, UploadedImport,
};
use crate::page::{ByteStream, bad_value};
use crate::prelude::*;
use crate::shell::{PageFrame, render_form_token_field, stream_page};
use crate::upload::Upload;

/// The address of the tab.
const BACKUPS: &str = "/care/backups";
/// The field with the state of the memory that a person saw before a restore.
const SEEN: &str = "seen";
/// How many scheduled backups are kept unless somebody says otherwise.
const KEPT: u16 = 7;
/// Most backups that are looked into for forgotten texts, and most bytes of each.
const LOOKED_INTO: usize = 6;
const LOOKED_BYTES: u64 = 64 << 20;
/// Most lines that an import names.
const PROBLEMS: usize = 100;
/// Ending of an encrypted backup, whose key no page asks for.
const ENCRYPTED: &str = ".age";

/// Shows the backups that there are, and all that can be done with them.
pub(crate) async fn show(visit: PageRequest, pairs: QueryPairs) -> PageResult<Markup> {
    let host = visit.page.host();
    let files = host.backups(&visit.user).await?.into_iter();
    let (backups, derived): (Vec<_>, Vec<_>) = files.partition(|one| one.is_backup);
    let schedule = host.backup_schedule(&visit.user);
    let body = html! {
        (undo::render_done_toast(&visit, pairs.get("done")))
        div class="split" {
            div {
                section {
                    h2 { "Backups" }
                    div class="acts" {
                        (form(&visit, BACKUPS, &html! {
                            button class="first" data-command="Save a backup now" { "Save a backup now" }
                        }))
                        a class="button" href="/care/backup" download { "Download a backup" }
                    }
                    (render_backups(&visit, &backups))
                }
                @if !visit.read_only { (render_schedule(&visit, schedule)) }
                (render_move(&visit))
                (render_derived_files(&visit, &derived))
            }
            div class="aside" {
                @if visit.read_only { (render_read_only_notice(&visit)) }
                @else {
                    (render_restore_form(&visit))
                    (render_import_form(&visit))
                }
                (render_export(&visit))
            }
        }
    };
    Ok(render_page(&visit, BACKUPS, "Settings", &body))
}

fn render_backups(visit: &PageRequest, backups: &[BackupFile]) -> Markup {
    let calendar = visit.page.calendar();
    let there = backups.iter().filter(|one| one.there.is_some());
    let rows = there.map(|one| {
        let (at, bytes) = one.there.unwrap_or_default();
        html! {
            td { (calendar.format_to_minute(at)) }
            td { (describe_origin(one.origin)) }
            td class="number" { (text::format_size(bytes)) }
            td class="file" { (render_file_name(&one.file)) }
            td { (render_restore_link(visit, &one.file)) (render_delete_form(visit, &one.file)) }
        }
    });
    let gone = backups.iter().filter(|one| one.there.is_none()).count();
    html! {
        @if gone == backups.len() {
            p class="why" {
                "There is no backup yet. Save one now, or choose a schedule."
            }
        } @else {
            (table("Backups", &["Saved", "How", "#Size", "File", "!Restore or delete"], rows))
        }
        @if gone > 0 {
            p class="faint" {
                (text::pluralize(gone, "backup is", "backups are"))
                " no longer where the command saved them."
            }
        }
    }
}

fn describe_origin(origin: BackupOrigin) -> &'static str {
    match origin {
        BackupOrigin::Command => "by command",
        BackupOrigin::Page => "on this page",
        BackupOrigin::Schedule => "by schedule",
        BackupOrigin::Upload => "uploaded",
        BackupOrigin::Restore => "before a restore",
    }
}

/// Renders the name of a file, with its whole path where the pointer is.
fn render_file_name(file: &str) -> Markup {
    let name = file.rsplit('/').next().unwrap_or(file);
    html! { code title=(text::plain_line(file, 300)) { (text::shorten(name, 120)) } }
}

fn render_restore_link(visit: &PageRequest, file: &str) -> Markup {
    html! {
        @if file.ends_with(ENCRYPTED) { span class="faint" { "encrypted: by command" } }
        @else if !visit.read_only {
            a href=(format!("/care/restore?file={}", percent_encode(file)))
                aria-label=(format!("Restore {}", text::plain_line(file, 200))) { "Restore\u{2026}" }
        }
    }
}

/// Renders the form that deletes the file of a backup, after a question.
fn render_delete_form(visit: &PageRequest, file: &str) -> Markup {
    html! {
        @if !visit.read_only {
            details class="f" {
                summary aria-label=(format!("Delete {}", text::plain_line(file, 200))) { "Delete\u{2026}" }
                div class="pop" {
                    p class="why" { "The file is deleted from the disk. This cannot be undone. Your memory stays as it is." }
                    (form(visit, "/care/delete", &html! {
                        input type="hidden" name="file" value=(file);
                        button class="danger first" { "Delete this backup" }
                    }))
                }
            }
        }
    }
}

/// Deletes a listed backup.
pub(crate) async fn delete(posted: Posted) -> PageResult<Redirect> {
    let visit = &posted.visit;
    let host = visit.page.host();
    host.delete_backup(&visit.user, posted.text("file")).await?;
    Ok(Redirect::to(&format!("{BACKUPS}?done=deleted")))
}

/// A file of this machine that has, or may have, texts that the user forgot.
pub(super) struct CopyWithForgotten {
    file: String,
    saved: DateTime<Utc>,
    /// What is known of it: "has 2 forgotten memories".
    known: String,
}

/// Lists the backups and exports saved since `since` that have forgotten texts or may have them.
/// The newest backups are looked into.
pub(super) async fn list_copies_with_forgotten(
    visit: &PageRequest,
    since: Option<DateTime<Utc>>,
) -> PageResult<Vec<CopyWithForgotten>> {
    let host = visit.page.host();
    let (mut copies, mut looked) = (Vec::new(), 0);
    for one in host.backups(&visit.user).await? {
        let Some((saved, bytes)) = one.there else {
            continue;
        };
        if since.is_some_and(|since| saved < since) {
            continue;
        }
        let is_readable = one.is_backup && !one.file.ends_with(ENCRYPTED) && bytes <= LOOKED_BYTES;
        let preview = if is_readable && looked < LOOKED_INTO {
            looked += 1;
            host.preview_restore(&visit.user, &one.file).await.ok()
        } else {
            None
        };
        let known = match preview {
            Some(preview) if preview.would_come_back > 0 => {
                let count = usize::try_from(preview.would_come_back).unwrap_or(usize::MAX);
                let memories = text::pluralize(count, "forgotten memory", "forgotten memories");
                format!("has {memories}")
            }
            Some(preview) if preview.may_hold_forgotten => {
                "may have forgotten texts, which nothing reads there".to_owned()
            }
            Some(_) => continue,
            None => "may have them".to_owned(),
        };
        copies.push(CopyWithForgotten {
            file: one.file,
            saved,
            known,
        });
    }
    Ok(copies)
}

/// Renders the files that have forgotten texts or may have them.
pub(super) fn render_copies_with_forgotten(
    visit: &PageRequest,
    copies: &[CopyWithForgotten],
) -> Markup {
    let calendar = visit.page.calendar();
    html! {
        @if copies.is_empty() {
            p class="why" { "No backup or export that Reprise knows of has it." }
        } @else {
            p class="why" {
                "Erasing does not change backups and exports. Delete a file yourself if nobody \
                 should read it:"
            }
            ul class="told" {
                @for one in copies {
                    li {
                        (render_file_name(&one.file)) " "
                        span class="faint" {
                            "saved " (calendar.format_to_minute(one.saved)) ", " (one.known)
                        }
                    }
                }
            }
        }
    }
}

/// Renders the exports and derived files, from which no memory can be restored.
fn render_derived_files(visit: &PageRequest, files: &[BackupFile]) -> Markup {
    let calendar = visit.page.calendar();
    let rows = files.iter().map(|one| {
        html! {
            @match one.there {
                Some((at, bytes)) => {
                    td { (calendar.format_to_minute(at)) }
                    td class="number" { @if bytes > 0 { (text::format_size(bytes)) } }
                }
                None => { td class="faint" { "gone" } td {} }
            }
            td class="file" { (render_file_name(&one.file)) }
        }
    });
    html! {
        @if !files.is_empty() {
            section {
                h2 { "Exports and derived files" }
                p class="why" {
                    "Reprise wrote these for other programs. They are no backups, and may still \
                     have texts that you forgot since."
                }
                (table("Exports and derived files", &["Saved", "#Size", "File"], rows))
            }
        }
    }
}

fn render_schedule(visit: &PageRequest, schedule: Option<BackupSchedule>) -> Markup {
    let choices = [("", "never"), ("day", "every day"), ("week", "every week")];
    let chosen = schedule.map_or("", |schedule| schedule.every.name());
    let kept = schedule.map_or(KEPT, |schedule| schedule.kept);
    html! {
        section class="card" {
            h2 { "Schedule" }
            p class="why" {
                "Saved only if the memory has changed. The oldest scheduled backups make room; no \
                 other file is removed."
            }
            (form(visit, "/care/schedule", &html! {
                div class="fields" {
                    label {
                        "Save a backup"
                        select name="every" {
                            @for (value, label) in choices {
                                option value=(value) selected[value == chosen] { (label) }
                            }
                        }
                    }
                    label {
                        "Number of backups to keep"
                        input type="number" name="kept" value=(kept) min="1"
                            max=(SCHEDULED_KEPT_MAX) required;
                    }
                    button data-command="Save the schedule" { "Save the schedule" }
                }
            }))
        }
    }
}

/// Renders a form that sends a file.
fn render_upload_form(
    visit: &PageRequest,
    action: &str,
    label: &str,
    accepted: Option<&str>,
    button: &str,
) -> Markup {
    html! {
        form method="post" action=(action) enctype="multipart/form-data" {
            (render_form_token_field(visit))
            div class="fields" {
                label { (label) input type="file" name="file" required accept=[accepted]; }
                button { (button) }
            }
        }
    }
}

fn render_restore_form(visit: &PageRequest) -> Markup {
    html! {
        section class="card" {
            h2 { "Restore from a file" }
            p class="why" {
                "You see what would change before anything is replaced."
            }
            (render_upload_form(visit, "/care/upload", "Backup file", Some(".rvf"), "Check the backup"))
        }
    }
}

fn render_import_form(visit: &PageRequest) -> Markup {
    html! {
        section class="card" id="import" {
            h2 { "Import" }
            p class="why" {
                "JSON lines, Markdown notes, exports of ChatGPT and claude.ai, sessions of Claude \
                 Code, Codex and others. Memories are added, none is replaced; secrets are removed."
            }
            (render_upload_form(visit, "/care/import", "File to import", None, "Import the file"))
            p class="faint" { "For a folder:" }
            pre class="block" data-copy { (visit.command("reprise import FOLDER")) }
        }
    }
}

fn render_export(visit: &PageRequest) -> Markup {
    html! {
        section class="card" {
            h2 { "Export" }
            div class="acts" {
                a class="button" href="/care/export" download { "Download as JSON lines" }
            }
            p class="faint" { "As Markdown notes:" }
            pre class="block" data-copy {
                (visit.command("reprise export --format markdown --out notes"))
            }
        }
    }
}

fn render_move(visit: &PageRequest) -> Markup {
    html! {
        section class="card" {
            h2 { "To another machine" }
            p class="why" { "Save a backup here and copy it:" }
            pre class="block" data-copy {
                (visit.command("reprise backup memory.rvf")) " && scp memory.rvf OTHER:"
            }
            p class="why" { "Restore it there:" }
            pre class="block" data-copy { (visit.command("reprise backup restore memory.rvf")) }
        }
    }
}

/// Saves a backup among the daemon's own files.
pub(crate) async fn save(posted: Posted) -> PageResult<Redirect> {
    let visit = &posted.visit;
    visit.page.host().save_backup(&visit.user).await?;
    Ok(Redirect::to("/care/backups?done=saved"))
}

pub(crate) async fn set_schedule(posted: Posted) -> PageResult<Redirect> {
    let visit = &posted.visit;
    let schedule = match posted.text("every") {
        "" => None,
        every => {
            let every = every.parse::<BackupInterval>();
            let every =
                every.map_err(|()| PageError::invalid(bad_value("every", posted.text("every"))))?;
            let kept = posted.parse_value::<u16>("kept")?;
            Some(BackupSchedule { every, kept })
        }
    };
    let host = visit.page.host();
    host.set_backup_schedule(&visit.user, schedule).await?;
    let done = if schedule.is_some() {
        "scheduled"
    } else {
        "unscheduled"
    };
    Ok(Redirect::to(&format!("{BACKUPS}?done={done}")))
}

/// Takes an uploaded backup in, and leads to what a restore of it would replace.
pub(crate) async fn upload(upload: Upload) -> PageResult<Redirect> {
    let Upload { visit, file } = &upload;
    let host = visit.page.host();
    let path = host.keep_uploaded_backup(&visit.user, file).await?;
    let to = format!("/care/restore?file={}", percent_encode(&path));
    Ok(Redirect::to(&to))
}

/// Shows what a restore would replace.
pub(crate) async fn confirm_restore(visit: PageRequest, pairs: QueryPairs) -> PageResult<Response> {
    match pairs.get("file") {
        None => Ok(Redirect::to(BACKUPS).into_response()),
        Some(file) => {
            let page = render_confirmation(&visit, file, &html! {}).await?;
            Ok(page.into_response())
        }
    }
}

async fn render_confirmation(
    visit: &PageRequest,
    file: &str,
    notice: &Markup,
) -> PageResult<Markup> {
    let seen = read_state(visit).await?;
    let preview = visit.page.host().preview_restore(&visit.user, file).await?;
    let body = html! {
        (notice)
        section class="card confirm" {
            h2 { "Replace the memory of " (visit.user) " by this backup?" }
            (comparison::render_comparison(visit, file, &preview))
            div class="acts" {
                (form(visit, "/care/restore", &html! {
                    input type="hidden" name="file" value=(file);
                    input type="hidden" name=(SEEN) value=(seen);
                    button class="danger" { "Replace the memory" }
                }))
                a class="button" href=(BACKUPS) { "Cancel" }
            }
        }
    };
    Ok(render_page(visit, BACKUPS, "Restore", &body))
}

/// Returns the state of the memory as a text, which is another one after each change.
async fn read_state(visit: &PageRequest) -> PageResult<String> {
    let stats = visit.run_optional::<Stats>(NoArguments {}).await?;
    let state = stats.map(|stats: EngineStats| {
        let EngineStats {
            live,
            forgotten,
            superseded,
            last_ingest,
            ..
        } = stats;
        let last = last_ingest.map_or(0, |at| at.timestamp_micros());
        format!("{live} {superseded} {forgotten} {last}")
    });
    Ok(state.unwrap_or_default())
}

pub(crate) async fn restore(posted: Posted) -> PageResult<Response> {
    let (visit, file) = (&posted.visit, posted.text("file"));
    if posted.text(SEEN) != read_state(visit).await? {
        let notice = html! {
            p class="notice" role="status" {
                "The memory has changed since this page was shown, and nothing was replaced. Look again."
            }
        };
        let page = render_confirmation(visit, file, &notice).await?;
        return Ok((StatusCode::CONFLICT, page).into_response());
    }
    let restored = visit.page.host().restore_backup(&visit.user, file).await?;
    visit.page.kept_reviews().remove(&visit.user);
    let done = if restored.came_back > 0 {
        "returned"
    } else {
        "restored"
    };
    Ok(Redirect::to(&format!("{BACKUPS}?done={done}")).into_response())
}

/// Imports an uploaded file, and shows what came in and what was refused.
pub(crate) async fn import(upload: Upload) -> Response {
    let Upload { visit, file } = upload;
    let frame = PageFrame {
        tab: BACKUPS,
        title: "Import",
        progress: "Importing the file \u{2026}",
        before: html! {},
    };
    stream_page(visit, &frame, |visit| {
        Box::pin(async move {
            let imported = visit.page.host().import_upload(&visit.user, &file).await?;
            Ok(render_imported(file.name(), &imported))
        })
    })
}

fn render_imported(name: &str, imported: &UploadedImport) -> Markup {
    let count = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let more = imported.problems.len().saturating_sub(PROBLEMS);
    html! {
        p class="lead" {
            (text::pluralize(count(imported.inserted), "memory", "memories")) " added from "
            b { (text::shorten(name, 120)) } "."
        }
        section class="card" {
            (figures(&list_import_figures(imported)))
            div class="acts" {
                a class="button first" href="/timeline" { "See the memories" }
                a class="button" href=(BACKUPS) { "Back to the backups" }
            }
        }
        @if !imported.problems.is_empty() {
            section {
                h2 { "What was not taken as it is" }
                ul class="plain" {
                    @for problem in imported.problems.iter().take(PROBLEMS) {
                        li { (text::shorten(problem, 400)) }
                    }
                }
                @if more > 0 { p class="faint" { "And " (more) " more." } }
            }
        }
    }
}

fn list_import_figures(imported: &UploadedImport) -> Vec<(&'static str, String)> {
    let counts = [
        ("added", imported.inserted),
        ("replaced by a newer version", imported.replaced),
        ("known already", imported.known),
        ("refused", imported.refused),
        ("cut, because they are too long", imported.truncated),
        ("secrets removed", imported.secrets),
    ];
    let counts = counts.into_iter();
    let counts = counts.filter(|(name, count)| *count > 0 || *name == "added");
    let mut rows: Vec<(&str, String)> = counts
        .map(|(name, count)| (name, text::format_count(count)))
        .collect();
    rows.extend(imported.kind.clone().map(|kind| ("recognised as", kind)));
    rows
}

/// Sends the file as it is now.
pub(crate) async fn download(visit: PageRequest) -> PageResult<Response> {
    let bytes = visit.page.host().backup(&visit.user).await?;
    Ok(send_file(&visit, "rvf", bytes))
}

/// Sends every memory as JSON lines.
pub(crate) async fn download_export(visit: PageRequest) -> PageResult<Response> {
    let lines = visit.page.host().export(&visit.user).await?;
    Ok(send_file(&visit, "jsonl", lines))
}

/// Sends a file for the browser to save, with the user and the day in its name.
fn send_file(visit: &PageRequest, extension: &str, bytes: ByteStream) -> Response {
    let day = visit.page.calendar().day_of(visit.page.now());
    let (user, kind) = (&visit.user, "application/octet-stream");
    let name = format!("attachment; filename=\"reprise-{user}-{day}.{extension}\"");
    let headers = [(CONTENT_TYPE, kind.to_owned()), (CONTENT_DISPOSITION, name)];
    (headers, Body::from_stream(bytes)).into_response()
}
