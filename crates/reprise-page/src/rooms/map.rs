//! The map: what is alike, and what records are linked with, as a picture that can be walked,
//! beside a list that says the same.

use axum::Json;
use reprise_operations::operations::graph::Tie;
use reprise_operations::operations::landscape::{Landscape, LandscapeArguments, LandscapeOf, Spot};
use reprise_operations::operations::links::{Direction, Related, RelatedArguments};
use reprise_operations::operations::tags;

use super::memory::projects_of;
use crate::prelude::*;

/// Records of one picture, steps over links, and projects that are offered.
const RECORDS: usize = 60;
const DEPTH: usize = 2;
const PROJECTS: usize = 8;
/// Records of a group that are listed.
const LISTED: usize = 12;

/// What is around a record.
async fn picture(visit: &Visit, id: &str) -> Answer<Landscape> {
    let asked = HistoryArguments { id: id.to_owned() };
    let middle = visit.ask::<History>(asked).await?.present;
    let asked = RelatedArguments {
        id: middle.id.to_string(),
        depth: Some(DEPTH),
        limit: Some(RECORDS),
        direction: Some(Direction::Both),
        ..RelatedArguments::default()
    };
    let related = visit.ask::<Related>(asked).await?.related;
    let mut picture = Landscape::default();
    picture.records.push(Spot {
        id: middle.id,
        title: rows::title(&middle).chars().take(80).collect(),
        record_type: middle.record_type(),
        group: None,
    });
    for one in related {
        let (from, to) = if one.outgoing {
            (one.via, one.id)
        } else {
            (one.id, one.via)
        };
        picture.ties.push(Tie {
            from,
            to,
            relation: one.relation,
        });
        if picture.records.iter().all(|spot| spot.id != one.id) {
            picture.records.push(Spot {
                id: one.id,
                title: one.title,
                record_type: one.record_type.unwrap_or(RecordType::Note),
                group: None,
            });
        }
    }
    Ok(picture)
}

/// Around a record where one is named, else the newest, of a project or of all, in groups.
async fn drawn(visit: &Visit, pairs: &Pairs) -> Answer<Landscape> {
    if let Some(id) = pairs.get("around") {
        return picture(visit, id).await;
    }
    let asked = LandscapeArguments {
        project: pairs.get("project").map(str::to_owned),
        limit: None,
    };
    Ok(visit
        .ask_if::<LandscapeOf>(asked)
        .await?
        .unwrap_or_default())
}

pub(crate) async fn around(visit: Visit, pairs: Pairs) -> Answer<Json<Landscape>> {
    drawn(&visit, &pairs).await.map(Json)
}

pub(crate) async fn show(visit: Visit, pairs: Pairs) -> Answer<Markup> {
    let picture = drawn(&visit, &pairs).await?;
    let (around, project) = (pairs.get("around"), pairs.get("project"));
    let beside = match around {
        Some(_) => listed(&picture),
        None => grouped(&picture, &pairs),
    };
    if pairs.get("part").is_some() {
        return Ok(beside);
    }
    let known = visit
        .ask_if::<tags::Tags>(tags::TagsArguments::default())
        .await?;
    let projects = known.map(|known| projects_of(&known)).unwrap_or_default();
    let bar = html! {
        @if !projects.is_empty() {
            nav class="tabs" aria-label="Projects" {
                a href="/map" aria-current=[(around.or(project).is_none()).then_some("page")] {
                    "all"
                }
                @for one in projects.iter().take(PROJECTS) {
                    a href=(format!("/map?project={}", encoded(one)))
                        aria-current=[(project == Some(one.as_str())).then_some("page")] {
                        (text::line(one, 24))
                    }
                }
            }
        }
    };
    let asked = match (around, project) {
        (Some(id), _) => format!("around={}", encoded(id)),
        (None, Some(project)) => format!("project={}", encoded(project)),
        (None, None) => String::new(),
    };
    let body = html! {
        @if picture.records.is_empty() {
            div class="panel empty" {
                h2 { "Nothing to draw yet" }
                p { "What is kept stands here in groups of what is alike." }
            }
        } @else {
            div class="split" {
                div class="map" data-map=(asked) {
                    canvas aria-hidden="true" {}
                    p class="faint" {
                        "Click a record to walk on, drag to move. "
                        @if around.is_some() { "The list beside it says the same." }
                        @else {
                            "The list beside it names the groups, and of a record its links and \
                             group."
                        }
                    }
                }
                div class="aside" { section id="map-list" { (beside) } }
            }
        }
    };
    Ok(room_with(&visit, "/map", "Map", &bar, &body))
}

/// The groups of a picture, or what stands around the record that was walked to.
fn grouped(picture: &Landscape, pairs: &Pairs) -> Markup {
    let at: Option<RecordId> = pairs.read("at").ok().flatten();
    let place = |id: RecordId| {
        format!(
            "/map?{}",
            pairs.with(&[("at", &id.to_string()), ("part", "")])
        )
    };
    let spot = |id: RecordId| picture.records.iter().find(|spot| spot.id == id);
    let Some(middle) = at.and_then(spot) else {
        return html! {
            h2 {
                "Groups " small { "of the newest " (picture.records.len()) " records" }
            }
            ul {
                @for (number, group) in picture.groups.iter().enumerate() {
                    li class="put" {
                        a href=(place(group.centre)) {
                            span class=(format!("dot dot-{}", number % 8)) {}
                            (text::line(&group.title, 70))
                        }
                        small { (text::of(group.size, "record", "records")) }
                    }
                }
            }
        };
    };
    let ties = picture.ties.iter().filter_map(|tie| match middle.id {
        id if id == tie.from => Some((tie.to, &tie.relation)),
        id if id == tie.to => Some((tie.from, &tie.relation)),
        _ => None,
    });
    let of_group = picture
        .records
        .iter()
        .filter(|one| one.id != middle.id && one.group.is_some() && one.group == middle.group);
    html! {
        h2 {
            a href=(format!("/records/{}", middle.id)) { (text::line(&middle.title, 90)) }
        }
        p class="faint" {
            a href=(format!("/map?around={}", middle.id)) { "Its links alone" } " \u{b7} "
            a href=(format!("/map?{}", pairs.with(&[("at", ""), ("part", "")]))) { "all groups" }
        }
        ul {
            @for (id, relation) in ties {
                @if let Some(one) = spot(id) {
                    li class="put" {
                        a href=(place(id)) { (text::line(&one.title, 70)) }
                        small { (text::line(&relation.replace('_', " "), 30)) }
                    }
                }
            }
        }
        h2 { "In the same group" }
        ul {
            @for one in of_group.take(LISTED) {
                li class="put" { a href=(place(one.id)) { (text::line(&one.title, 70)) } }
            }
        }
    }
}

fn listed(picture: &Landscape) -> Markup {
    let title = |id: RecordId| {
        let found = picture.records.iter().find(|spot| spot.id == id);
        found.map_or("", |spot| spot.title.as_str())
    };
    html! {
        h2 {
            @if let Some(middle) = picture.records.first() {
                a href=(format!("/records/{}", middle.id)) { (text::line(&middle.title, 90)) }
            }
            " " small { (text::of(picture.ties.len(), "link", "links")) }
        }
        ul {
            @for tie in &picture.ties {
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
