//! Each component of the page in each of its states, for whoever changes one; its pictures are
//! compared in the tests, so nothing here may depend on the memory or the hour.

use reprise_types::{MemorySource, RankSignal, RecordBody, Zone};

use crate::chart::{Bar, Line};
use crate::prelude::*;
use crate::rows::Told;

const COLOURS: [&str; 10] = [
    "text", "soft", "faint", "accent", "warn", "good", "bad", "note", "decision", "lesson",
];

pub(crate) async fn show(visit: Visit) -> Markup {
    let noon = DateTime::<Utc>::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::hours(12);
    let calendar = Calendar {
        now: noon,
        zone: Zone::Utc,
    };
    let parts = [
        ("Type and colour", type_and_colour()),
        ("Rows", records(noon, &calendar)),
        ("Chips and filters", chips()),
        ("Buttons and fields", fields()),
        ("What needs a person, notices, nothing", said()),
        (
            "A record's text",
            html! { div class="card said" { (markdown::shown(MARKDOWN)) } },
        ),
        ("Pictures", pictures()),
        ("Tables and figures", tables()),
    ];
    let body = html! {
        p class="lead" {
            "The tokens stand in " code { "assets/tokens.css" } ", the components in "
            code { "assets/page.css" } "; each is shown here in its states. The typeface is Inter, \
             under the SIL Open Font License."
        }
        @for (name, part) in &parts {
            section data-part=(name) { h2 { (name) } (part) }
        }
    };
    room(&visit, "/inventory", "How this page is made", &body)
}

const MARKDOWN: &str = "# A heading\nPlain words with `code` and **weight**.\n\n- one\n- two\n\n\
    > what somebody said\n\n```\nfn main() {}\n```\n\u{4f60}\u{597d}, \
    \u{645}\u{631}\u{62d}\u{628}\u{627} and \u{202e} named";

fn type_and_colour() -> Markup {
    html! {
        div class="card" {
            h1 { "A title" } h2 { "A heading " small { "with more" } }
            p {
                "Plain text, " a href="/inventory" { "a link" } ", " kbd { "Ctrl K" } " and "
                code { "code" } "."
            }
            p class="faint" { "What is said aside." }
            div class="chips" {
                @for colour in COLOURS { span class=(format!("chip {colour}")) { (colour) } }
            }
        }
    }
}

fn records(noon: DateTime<Utc>, calendar: &Calendar) -> Markup {
    let all = RecordType::ALL.iter().zip(0_u8..).map(|(kind, place)| {
        let name = kind.name();
        let article = if name.starts_with('a') { "an" } else { "a" };
        let text =
            format!("What {article} {name} says in its first line, and more in the next\nlines");
        let mut body = RecordBody::new(text, MemorySource::WorkerResult, MemoryKind::Finding);
        body.details = Some(json!({ "type": kind.name(), "passed": place % 2 == 0 }));
        body.tags = vec!["project:shop".to_owned()];
        if place == 1 {
            body.retention = Retention::Pinned;
            body.visibility = Visibility::Workspace;
        }
        if place < 6 {
            "checkout".clone_into(&mut body.session_id);
        }
        let id = RecordId::from_parts(1, place.into());
        body.kept(id, noon - TimeDelta::minutes(i64::from(place) * 95))
    });
    let all: Vec<MemoryRecord> = all.collect();
    let groups = rows::groups(&all, calendar, true);
    let told = groups.iter().map(|group| Told {
        name: "Why is the checkout total wrong?",
        says: "shop \u{b7} 09:12\u{2013}09:41".to_owned(),
        end: html! { span class="chip good" { "tests pass" } },
        ..Told::all(group, true)
    });
    let known = Known {
        calendar: *calendar,
        published: all.iter().skip(2).map(|one| one.id).take(1).collect(),
    };
    html! {
        (rows::by_day(&told.collect::<Vec<_>>(), &known))
        ol class="rows" {
            li class="row on" {
                span {} span class="lesson" { (icon("lesson")) } span class="k" { "lesson" }
                a class="x" href="/inventory" { "A row under the cursor" } span class="w" {
                    "09:38"
                }
            }
        }
    }
}

fn chips() -> Markup {
    html! {
        div class="bar" {
            span class="chip" { "plain" } span class="chip good" { "went well" }
            span class="chip bad" { "tests fail" } span class="chip warn" { "left open" }
            details class="f" { summary { "project" } }
            span class="f set" {
                "tag " b { "release" } a href="/inventory" aria-label="Without this tag" {
                    "\u{d7}"
                }
            }
        }
    }
}

fn fields() -> Markup {
    html! {
        label class="question" {
            (icon("search")) span class="unseen-text" { "Question" }
            input type="search" placeholder="What does my agent know about \u{2026}"; kbd { "/" }
        }
        div class="acts" {
            button type="button" class="first" { "The first" } button type="button" { "Another" }
            button type="button" class="quiet" { "Quiet" } button type="button" class="danger" {
                "Forget\u{2026}"
            }
            button type="button" class="danger first" { "Forget" }
        }
        div class="card fields" {
            label { "A field" input value="what stands in it"; }
            label { "A choice" select { option { "one" } } }
            label class="choice" { input type="checkbox" checked; "Checked" }
        }
    }
}

fn said() -> Markup {
    html! {
        div class="need" {
            b { "Which holds now?" } p {
                "\u{201c}It freezes on Thursday\u{201d} and \u{201c}on Friday\u{201d}"
            }
            button type="button" { "The newer holds " kbd { "n" } }
        }
        p class="notice" { "A notice: answers come from words alone." }
        div class="panel empty" { h2 { "Nothing here" } p { "And what to do about it." } }
        div class="card" { div class="said" { (text::whole("Hidden: \u{202e}\u{200b}")) } }
        (toast(&html! { "Saved. " button type="button" { "Undo" } }))
    }
}

fn pictures() -> Markup {
    let line = Line {
        name: "went",
        values: (0..40)
            .map(|at| 0.5 + 0.4 * (f64::from(at) / 6.0).sin())
            .collect(),
    };
    let bars: Vec<Bar> = (0..14)
        .map(|at| Bar {
            name: format!("day {at}"),
            count: (at * 7) % 11,
            path: Some("/inventory".to_owned()),
        })
        .collect();
    let signal = |name: &str, contribution: f32| RankSignal {
        name: name.to_owned(),
        value: 0.5,
        weight: contribution,
        contribution,
    };
    html! {
        div class="card" {
            (chart::lines("How runs went", &[line], ["run 1", "run 40"], Some(1.0)))
        }
        div class="card" { (chart::bars("By day", &bars)) }
        div class="card" { (chart::signals(&[signal("same_word", 2.1), signal("newer", -0.6)])) }
    }
}

fn tables() -> Markup {
    html! {
        @let days = ["yesterday", "today"].into_iter();
        (table("A table", &["When", "What", "Size"], days.map(|day| html! {
            td { (day) } td { "Something that happened" } td class="number" { "1.5 KiB" }
        })))
        div class="card" {
            (figures(&[("records", "4,844".to_owned()), ("file", "23.6 MiB".to_owned())]))
        }
        (fold("Folded", 3, &html! { p { "What was folded." } }))
    }
}
