//! A governed workspace: what waits for a person, what was done, and who did it under which rule.
//! Whoever signed in acts as the person of that name.

use reprise_operations::operations::workspace::{
    Approve, ApproveArguments, Audit, AuditArguments, Decline, DeclineArguments, Diff,
    DiffArguments, Log, LogArguments, Merge, MergeArguments, Recover, RecoverArguments, Review,
    ReviewArguments, Status, StatusArguments,
};

use crate::prelude::*;

/// Commits that the room lists.
const COMMITS: usize = 30;
/// Lines of the audit trail that one page shows where it is not asked for more, and at most.
const LINES: usize = 50;
const LINES_MAX: usize = 2_000;
/// Digits of a hash that are shown.
const HASH: usize = 10;
const ACTIONS: [&str; 11] = [
    "init",
    "write",
    "merge",
    "rollback",
    "approve",
    "decline",
    "violation",
    "git",
    "snapshot",
    "prune",
    "rewritten",
];

pub(crate) async fn show(visit: Visit, pairs: Pairs) -> Answer<Markup> {
    let names = visit.memory().workspaces();
    let Some(name) = pairs.get("tree").or(names.first().map(String::as_str)) else {
        let body = html! {
            div class="panel empty" {
                h2 { "No governed workspace is registered for you" }
                p { "Whoever owns the machine registers one in the daemon's configuration:" }
                pre class="block" {
                    "[workspaces.app]\npath = \"/path/to/tree\"\nusers = { " (visit.user)
                    " = [\"human\"] }"
                }
            }
        };
        return Ok(room(&visit, "/workspace", "Workspace", &body));
    };
    let name = own(&names, name)?;
    let asked = StatusArguments {
        workspace: Some(name.to_owned()),
        ..StatusArguments::default()
    };
    let tree = visit.ask::<Status>(asked).await?;
    let body = html! {
        @if names.len() > 1 {
            nav class="tabs" aria-label="Workspaces" {
                @for one in &names {
                    a href=(format!("/workspace?tree={}", encoded(one)))
                        aria-current=[(one == name).then_some("page")] { (one) }
                }
            }
        }
        (difference(&visit, name, &tree.main, &pairs).await?)
        (waiting(&visit, name, &tree.main).await?)
        (state(&visit, name, &tree))
        (transactions(&visit, name).await?)
        (audit(&visit, name, &pairs).await?)
    };
    Ok(room(&visit, "/workspace", "Workspace", &body))
}

/// One of those that the user may see.
fn own<'a>(names: &'a [String], name: &str) -> Answer<&'a str> {
    let found = names.iter().find(|own| *own == name);
    let said = "There is no such workspace for you; the room lists those there are.";
    found
        .map(String::as_str)
        .ok_or_else(|| Trouble::new(StatusCode::NOT_FOUND, said))
}

async fn waiting(visit: &Visit, name: &str, main: &str) -> Answer<Markup> {
    let asked = ReviewArguments {
        workspace: Some(name.to_owned()),
        ..ReviewArguments::default()
    };
    let reviews = visit.ask::<Review>(asked).await?.reviews;
    Ok(html! {
        section {
            h2 { "Waits for you " small { (reviews.len()) } }
            @if reviews.is_empty() { p class="why" { "Nothing waits for a person's word." } }
            @for one in &reviews {
                @let is_shared = one.branch == main;
                @let is_approved = one.word.as_ref().is_some_and(|word| word.is_approved);
                @let hidden = html! {
                    input type="hidden" name="tree" value=(name);
                    input type="hidden" name="branch" value=(one.branch);
                    input type="hidden" name="commit" value=(one.commit);
                };
                article class="card" aria-label=(one.branch) {
                    h3 { (text::line(&one.branch, 120)) }
                    p class="why" {
                        code { (short(&one.commit)) } " "
                        @if is_shared { "its rules are in force once a person says so" }
                        @else {
                            (text::of(one.ahead, "commit", "commits")) " ahead, "
                            (one.behind) " behind"
                        }
                    }
                    @if let Some(word) = &one.word {
                        p class="notice" {
                            (if word.is_approved { "Approved" } else { "Declined" }) " by "
                            (text::line(&word.human, 60)) ". " (text::line(&word.message, 300))
                        }
                    }
                    ul {
                        @for (path, _) in &one.paths {
                            li { code { (text::line(&path.to_string(), 200)) } }
                        }
                    }
                    div class="acts" {
                        @if !is_approved {
                            (form(visit, "/workspace/approve", &html! {
                                (hidden)
                                button class="first" data-command="Approve what waits" {
                                    "Approve this commit"
                                }
                            }))
                        }
                        @if is_approved && !is_shared {
                            (form(visit, "/workspace/merge", &html! {
                                (hidden)
                                button class="first" data-command="Merge what is approved" {
                                    "Merge"
                                }
                            }))
                        }
                        @if !is_shared {
                            a class="button" href=(to(name, "branch", &one.branch)) {
                                "Show what it would bring"
                            }
                        }
                        @if !visit.read_only {
                            details class="act" {
                                summary class="button danger" { "Decline\u{2026}" }
                                div class="stack" { (form(visit, "/workspace/decline", &html! {
                                    (hidden)
                                    label { "Why" input name="message" maxlength="2000"; }
                                    button class="danger first" { "Decline" }
                                })) }
                            }
                        }
                    }
                }
            }
        }
    })
}

fn state(visit: &Visit, name: &str, tree: &<Status as Operation>::Answer) -> Markup {
    let at = tree.commit.as_deref().map_or("nothing", short);
    html! {
        section class="card" {
            h2 { (text::line(name, 120)) }
            p class="why" {
                @match &tree.branch {
                    Some(branch) => { "On " code { (text::line(branch, 80)) } }
                    None => "On no branch",
                }
                " at " code { (at) } "; shared is " code { (text::line(&tree.main, 80)) } "."
            }
            p class="chips" {
                @for (class, count) in &tree.artifacts {
                    span class="chip" { (text::word(class)) "\u{a0}" (text::count(*count as u64)) }
                }
            }
            @if !tree.loose_ends.is_empty() {
                p {
                    (text::of(tree.loose_ends.len(), "transaction", "transactions"))
                    " was not ended by a process that is gone."
                }
                div class="acts" { (form(visit, "/workspace/recover", &html! {
                    input type="hidden" name="tree" value=(name);
                    button { "Finish what was begun" }
                })) }
            }
            @if let Some(first) = tree.trail_missing.first() {
                p role="alert" {
                    (text::of(tree.trail_missing.len(), "line", "lines"))
                    " of the trail are missing, such as " code { (first) }
                }
            }
            @if !tree.edited.is_empty() {
                h3 { "Not committed" }
                ul { @for one in &tree.edited {
                    li { (one.how) " " code { (text::line(&one.path, 200)) } }
                } }
            }
        }
    }
}

async fn transactions(visit: &Visit, name: &str) -> Answer<Markup> {
    let asked = LogArguments {
        workspace: Some(name.to_owned()),
        limit: Some(COMMITS),
        ..LogArguments::default()
    };
    let commits = visit.ask::<Log>(asked).await?.commits;
    let calendar = visit.page.calendar();
    let rows = commits.iter().map(|one| {
        html! {
            td { (calendar.minute_of(one.ts)) }
            td { (text::line(&one.actor, 64)) }
            td { (text::line(&one.subject, 120)) }
            td {
                a href=(to(name, "of", &one.commit)) { code { (short(&one.commit)) } }
                @if one.tx.is_none() { " " span class="chip" { "plain git" } }
            }
        }
    });
    Ok(html! {
        section {
            h2 { "Transactions" }
            (table("Transactions", &["When", "Who", "What", "Commit"], rows))
        }
    })
}

async fn audit(visit: &Visit, name: &str, pairs: &Pairs) -> Answer<Markup> {
    let limit = pairs.read("limit")?.unwrap_or(LINES).min(LINES_MAX);
    let (shown, trail) = trail(visit, name, pairs, limit).await?;
    let more = pairs.with(&[("limit", &(limit * 4).to_string())]);
    Ok(html! {
        section {
            h2 { "Audit trail" }
            form class="stack" role="search" aria-label="Audit trail" action="/workspace" {
                input type="hidden" name="tree" value=(name);
                div class="fields" {
                    label { "Who" input name="actor" value=(pairs.text("actor")); }
                    label { "Where" input name="path" value=(pairs.text("path")); }
                    label { "Action" select name="action" {
                        option value="" { "any" }
                        @for action in ACTIONS {
                            option value=(action) selected[pairs.get("action") == Some(action)] {
                                (action)
                            }
                        }
                    } }
                    button { "Filter" }
                    a class="button quiet" href=(format!("/workspace?tree={}", encoded(name))) {
                        "Clear"
                    }
                }
            }
            @if shown == 0 { p class="why" { "No line fits." } } @else { (trail) }
            @if shown == limit && limit < LINES_MAX {
                nav class="pages" aria-label="More lines" {
                    a rel="next" href=(format!("/workspace?{more}")) { "More lines" }
                }
            }
        }
    })
}

/// How many lines of the trail fit, and those.
async fn trail(visit: &Visit, name: &str, pairs: &Pairs, limit: usize) -> Answer<(usize, Markup)> {
    let action = pairs
        .get("action")
        .map(|action| serde_json::from_value(json!(action)));
    let asked = AuditArguments {
        workspace: Some(name.to_owned()),
        actor: pairs.get("actor").map(str::to_owned),
        path: pairs.get("path").map(str::to_owned),
        action: action
            .transpose()
            .map_err(|_| Trouble::invalid("There is no such action; choose one of the list."))?,
        limit: Some(limit),
        ..AuditArguments::default()
    };
    let lines = visit.ask::<Audit>(asked).await?.lines;
    let calendar = visit.page.calendar();
    let rows = lines.iter().rev().map(|line| {
        let detail = |field: &str| line.details.get(field).and_then(Value::as_str);
        let named = detail("ref").or(detail("snapshot")).map(str::to_owned);
        let action = text::word(&line.action);
        // A commit by plain git has no transaction of its own.
        let of = detail("commit").filter(|_| action == "git");
        let places = match line.paths.as_slice() {
            [] => named.into_iter().collect(),
            paths => paths.to_vec(),
        };
        html! {
            td { (calendar.minute_of(line.ts)) }
            td {
                (text::line(&line.actor, 64))
                @if let Some(identity) = &line.identity {
                    br; span class="faint" { (text::line(identity, 120)) }
                }
            }
            td { (action) }
            td {
                @for place in &places { code { (text::line(place, 200)) } br; }
                (text::line(detail("why").unwrap_or(&line.message), 300))
            }
            td { @for rule in &line.rules { code { (text::line(rule, 64)) } " " } }
            td { a href=(to(name, "of", of.unwrap_or(&line.event_id))) { "Show" } }
        }
    });
    let heads = ["When", "Who", "Action", "Where", "Rules", "Changes"];
    Ok((lines.len(), table("Audit trail", &heads, rows)))
}

/// What a transaction changed, or what a branch would bring.
async fn difference(visit: &Visit, name: &str, main: &str, pairs: &Pairs) -> Answer<Markup> {
    let workspace = Some(name.to_owned());
    let mut asked = DiffArguments {
        workspace: workspace.clone(),
        ..DiffArguments::default()
    };
    let mut own = None;
    let Some(of) = pairs.get("of").or(pairs.get("branch")) else {
        return Ok(html! {});
    };
    if pairs.get("of").is_some() {
        asked.of = Some(of.to_owned());
    } else {
        let branch = ReviewArguments {
            workspace,
            branch: Some(of.to_owned()),
        };
        let reviews = visit.ask::<Review>(branch).await?.reviews;
        // What has changed on the shared branch meanwhile is no part of it.
        let paths = reviews.iter().flat_map(|one| &one.paths);
        own = Some(paths.map(|(path, _)| path.clone()).collect::<Vec<_>>());
        asked.from = Some(main.to_owned());
        asked.to = Some(of.to_owned());
    }
    let mut files = visit.ask::<Diff>(asked).await?.files;
    files.retain(|file| own.as_ref().is_none_or(|own| own.contains(&file.path)));
    Ok(html! {
        section class="card" {
            h2 { "Changes " code { (text::line(of, 80)) } }
            @if files.is_empty() { p class="why" { "Nothing changed." } }
            @for file in &files {
                details class="fold" open {
                    summary {
                        (file.how) " " code { (text::line(&file.path.to_string(), 200)) }
                        " " small { "+" (file.lines_added) " -" (file.lines_removed) }
                    }
                    pre class="block" {
                        @for line in file.patch.lines().skip_while(|line| !line.starts_with("@@")) {
                            @let shown = text::whole(line);
                            @match line.as_bytes().first() {
                                Some(b'+') => ins { (shown) },
                                Some(b'-') => del { (shown) },
                                _ => (shown),
                            }
                            "\n"
                        }
                    }
                }
            }
        }
    })
}

/// The room with one difference shown.
fn to(name: &str, field: &str, value: &str) -> String {
    format!(
        "/workspace?tree={}&{field}={}",
        encoded(name),
        encoded(value)
    )
}

fn short(commit: &str) -> &str {
    commit.get(..HASH).unwrap_or(commit)
}

/// Runs what a form asks of the workspace that it names; leads back to it.
async fn done<O: Operation>(
    posted: &Posted,
    asked: impl FnOnce(Option<String>) -> O::Arguments,
) -> Answer<Redirect> {
    let names = posted.visit.memory().workspaces();
    let name = own(&names, posted.get("tree"))?;
    posted.visit.ask::<O>(asked(Some(name.to_owned()))).await?;
    Ok(Redirect::to(&format!("/workspace?tree={}", encoded(name))))
}

pub(crate) async fn approve(posted: Posted) -> Answer<Redirect> {
    let asked = |workspace| ApproveArguments {
        workspace,
        human: posted.visit.user.to_string(),
        reference: posted.get("commit").to_owned(),
    };
    done::<Approve>(&posted, asked).await
}

pub(crate) async fn decline(posted: Posted) -> Answer<Redirect> {
    let asked = |workspace| DeclineArguments {
        workspace,
        human: posted.visit.user.to_string(),
        reference: posted.get("commit").to_owned(),
        message: Some(posted.get("message").to_owned()),
    };
    done::<Decline>(&posted, asked).await
}

pub(crate) async fn merge(posted: Posted) -> Answer<Redirect> {
    let asked = |workspace| MergeArguments {
        workspace,
        actor: format!("human:{}", posted.visit.user),
        from: posted.get("branch").to_owned(),
        ..MergeArguments::default()
    };
    done::<Merge>(&posted, asked).await
}

pub(crate) async fn recover(posted: Posted) -> Answer<Redirect> {
    let asked = |workspace| RecoverArguments {
        workspace,
        ..RecoverArguments::default()
    };
    done::<Recover>(&posted, asked).await
}
