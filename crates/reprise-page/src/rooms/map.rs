//! The map: what records are linked with, as a picture that can be walked, beside a list that says
//! the same.

use axum::Json;
use axum::extract::State;
use maud::{Markup, html};
use reprise_operations::operations::graph::{Cluster, ClusterArguments, ClusterOf};
use reprise_operations::operations::links::{Direction, Related, RelatedArguments};
use reprise_operations::operations::records::{History, HistoryArguments};
use reprise_types::RecordId;
use serde::Serialize;

use crate::door::Visit;
use crate::page::{Answer, Page};
use crate::pairs::Pairs;
use crate::shell::{Place, Room};
use crate::{rows, text, words};

/// Records of one picture, steps over links, and groups that are offered.
const RECORDS: usize = 60;
const DEPTH: usize = 2;
const GROUPS: usize = 12;

/// A picture: records, and the links between them.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Picture {
    records: Vec<Spot>,
    links: Vec<Tie>,
}

#[derive(Debug, Serialize)]
struct Spot {
    id: RecordId,
    title: String,
    kind: &'static str,
}

#[derive(Debug, Serialize)]
struct Tie {
    from: RecordId,
    to: RecordId,
    relation: String,
}

/// What is around a record.
async fn picture(page: &Page, visit: &Visit, id: &str) -> Answer<Picture> {
    let asked = HistoryArguments { id: id.to_owned() };
    let middle = page.ask::<History>(visit, asked).await?.present;
    let asked = RelatedArguments {
        id: middle.id.to_string(),
        depth: Some(DEPTH),
        limit: Some(RECORDS),
        direction: Some(Direction::Both),
        ..RelatedArguments::default()
    };
    let related = page.ask::<Related>(visit, asked).await?.related;
    let mut picture = Picture::default();
    picture.records.push(Spot {
        id: middle.id,
        title: rows::title(&middle).chars().take(80).collect(),
        kind: middle.record_type().name(),
    });
    for one in related {
        let (from, to) = if one.outgoing {
            (one.via, one.id)
        } else {
            (one.id, one.via)
        };
        picture.links.push(Tie {
            from,
            to,
            relation: one.relation,
        });
        if picture.records.iter().all(|spot| spot.id != one.id) {
            picture.records.push(Spot {
                id: one.id,
                title: one.title,
                kind: "note",
            });
        }
    }
    Ok(picture)
}

pub(crate) async fn around(
    State(page): State<Page>,
    visit: Visit,
    pairs: Pairs,
) -> Answer<Json<Picture>> {
    picture(&page, &visit, pairs.text("id")).await.map(Json)
}

pub(crate) async fn show(State(page): State<Page>, visit: Visit, pairs: Pairs) -> Answer<Markup> {
    let mut clusters = Vec::new();
    if pairs.get("around").is_none() {
        let asked = ClusterArguments {
            limit: Some(GROUPS),
            ..ClusterArguments::default()
        };
        let found = page.ask_if::<ClusterOf>(&visit, asked).await?;
        clusters = found.map(|found| found.clusters).unwrap_or_default();
    }
    let first = clusters.first().map(|cluster| cluster.centre.to_string());
    let middle = pairs.get("around").map(str::to_owned).or(first);
    let picture = match &middle {
        Some(id) => picture(&page, &visit, id).await?,
        None => Picture::default(),
    };
    if pairs.get("part").is_some() {
        return Ok(listed(&picture));
    }
    let body = html! {
        @if picture.records.is_empty() {
            div class="panel empty" {
                h2 { "No two records are linked yet" }
                p {
                    "A record's page links it with another; imports and agents do so by themselves."
                }
            }
        } @else {
            div class="split" {
                div class="map" data-map=(middle.unwrap_or_default()) {
                    canvas aria-hidden="true" {}
                    p class="faint" {
                        "Click a record to walk on, drag to move. The list beside it says the same."
                    }
                }
                div class="aside" {
                    section id="map-list" { (listed(&picture)) }
                    @if !clusters.is_empty() { (groups(&clusters)) }
                }
            }
        }
    };
    Ok(Room::new(Place::Memory, "/map", "Map").shows(&visit, &body))
}

fn listed(picture: &Picture) -> Markup {
    let title = |id: RecordId| {
        let found = picture.records.iter().find(|spot| spot.id == id);
        found.map_or("", |spot| spot.title.as_str())
    };
    html! {
        h2 {
            @if let Some(middle) = picture.records.first() {
                a href=(format!("/records/{}", middle.id)) { (text::line(&middle.title, 90)) }
            }
            " " small { (words::of(picture.links.len(), "link", "links")) }
        }
        ul {
            @for tie in &picture.links {
                li class="put" {
                    span {
                        a href=(format!("/map?around={}", tie.from)) {
                            (text::line(title(tie.from), 50))
                        }
                        span class="faint" {
                            " " (text::line(&tie.relation.replace('_', " "), 30)) " "
                        }
                        a href=(format!("/map?around={}", tie.to)) {
                            (text::line(title(tie.to), 50))
                        }
                    }
                }
            }
        }
    }
}

fn groups(clusters: &[Cluster]) -> Markup {
    html! {
        section {
            h2 { "Groups " small { "of records that hang together" } }
            ul {
                @for cluster in clusters {
                    li class="put" {
                        a href=(format!("/map?around={}", cluster.centre)) {
                            (text::line(&cluster.title, 70))
                        }
                        small { (words::of(cluster.size, "record", "records")) }
                    }
                }
            }
        }
    }
}
