//! The daemon and the file: what is set, what a compaction would give back.

use axum::extract::State;
use maud::{Markup, html};

use super::now::number;
use crate::door::Visit;
use crate::page::{Answer, Page};
use crate::shell::{self, Room, form};
use crate::{strings as s, text, words};

pub(crate) async fn show(State(page): State<Page>, visit: Visit) -> Answer<Markup> {
    let memory = page.memory();
    let overview = memory.overview(&visit.user).await?;
    let body = html! {
        @if let Some(overview) = &overview {
            section {
                h2 { (s::SPACE) }
                dl class="numbers" {
                    (number(s::FILE, &words::size(overview.file_bytes), None))
                    (number(s::RECLAIMABLE, &words::size(overview.reclaimable_bytes), None))
                    (number(s::RECORDS, &words::count(overview.live.into()), None))
                    (number(s::FORGOTTEN_TITLE, &words::count(overview.forgotten.into()), None))
                    (number(s::VERSIONS, &words::count(overview.superseded.into()), None))
                }
                (form(&visit, "/erase", &html! { button { (s::COMPACT) } }))
            }
        }
        section {
            h2 { (s::SETTINGS) }
            dl class="facts" {
                @for (name, value) in memory.settings() {
                    dt { (name) } dd { (text::line(&value, 300)) }
                }
            }
        }
        section {
            h2 { (s::CARE_COMMANDS) }
            dl class="commands" {
                @for (command, says) in s::CARE_LIST { dt { code { (command) } } dd { (says) } }
            }
        }
    };
    Ok(shell::room(&visit, Some(Room::Care), s::CARE, &body))
}
