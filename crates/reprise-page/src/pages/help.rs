//! The help page: what is where, what the words mean, and where to read more.

use crate::prelude::*;

/// Each page with its address and what it is for.
const PAGES: [(&str, &str, &str); 15] = [
    (
        "/",
        "Home",
        "the last 7 days, the newest memories, and what needs a decision",
    ),
    ("/timeline", "Timeline", "every memory, by day and session"),
    (
        "/knowledge",
        "Knowledge",
        "lessons, decisions, notes and tags",
    ),
    (
        "/projects",
        "Projects",
        "each project, and whether it is remembered",
    ),
    ("/global", "Published", "what you published, and when"),
    (
        "/search",
        "Ask",
        "what an agent would be given for a question, and why",
    ),
    (
        "/prompts",
        "Prompts",
        "what was added to each prompt, and how its work went",
    ),
    (
        "/agents",
        "Agents",
        "connect an agent, or switch memory off for one",
    ),
    (
        "/activity",
        "Activity",
        "what programs asked and stored in the last hour",
    ),
    (
        "/learning",
        "Learning",
        "how well runs went, and what memory learned from that",
    ),
    (
        "/knowledge/review",
        "To decide",
        "contradictions and possible duplicates",
    ),
    ("/knowledge/tidy", "Duplicates", "merge them, and undo that"),
    (
        "/care/audit",
        "Health",
        "problems of the memory, with a history",
    ),
    (
        "/care",
        "Settings",
        "storage, backups, tokens, HTTP and the configuration",
    ),
    ("/done", "Recent changes", "undo what you changed"),
];

const WORDS: [(&str, &str); 11] = [
    (
        "memory",
        "one entry, such as a lesson, a decision, a prompt or a commit",
    ),
    ("session", "one conversation with an agent"),
    (
        "run",
        "one task or question whose outcome was reported; learning counts runs",
    ),
    ("lesson", "a memory that says what to do next time"),
    (
        "helped",
        "the agent used a memory that it received, and a passed test or a report confirms its work",
    ),
    (
        "done without a test",
        "the agent used a memory that it received and came to an end; nobody says whether its work is right",
    ),
    (
        "failed anyway",
        "the agent used a memory that it received, and its work failed",
    ),
    (
        "not used",
        "the work ended, and nothing of that memory is in the answer",
    ),
    (
        "quoted, not counted",
        "what followed has words of that memory, but no result of the work was counted for it",
    ),
    (
        "use not known yet",
        "the work has not ended; without \u{201c}yet\u{201d}, no answer and no result is stored",
    ),
    (
        "published",
        "visible to other users, until you unpublish it",
    ),
];

pub(crate) async fn show(visit: PageRequest) -> Markup {
    let body = html! {
        div class="split" {
            section class="card" {
                h2 { "What is where" }
                dl class="facts" {
                    @for (path, name, summary) in PAGES {
                        dt { a href=(path) { (name) } } dd { (summary) }
                    }
                }
            }
            div class="aside" {
                section class="card" {
                    h2 { "Words" }
                    dl class="facts" {
                        @for (word, meaning) in WORDS { dt { (word) } dd { (meaning) } }
                    }
                }
                section class="card" {
                    h2 { "More" }
                    p class="why" { "Press " kbd { "?" } " for the keys, " kbd { "Ctrl K" } " for every command." }
                    p class="why" {
                        code { "reprise help" } " lists what the terminal can do. The guide is in "
                        code { "docs/guide" } " of Reprise's source."
                    }
                }
            }
        }
    };
    render_page(&visit, "", "Help", &body)
}
