//! The links of a record: the names of the relations, the list, and the form that adds one.

use reprise_operations::operations::links::Neighbours;

use super::wording::render_save_buttons;
use crate::prelude::*;

/// The choice of a relation that is not in the list.
pub(super) const OTHER_RELATION: &str = "other";
/// The relations that a person can choose from, and the names of links in both directions.
const RELATIONS: [(&str, &str, &str); 5] = [
    ("related_to", "related to", "related to"),
    ("caused_by", "caused by", "caused"),
    ("part_of", "part of", "includes"),
    ("follows", "follows", "followed by"),
    ("distilled_from", "summary of", "summarised in"),
];
/// The relation that only Reprise makes.
const OWN_RELATION: &str = "distilled_from";
/// Most links that are shown without a click.
const OPEN_MAX: usize = 10;

/// Renders the form that links the record to another one.
pub(super) fn render_link_form(visit: &PageRequest, path: &str) -> Markup {
    html! {
        details class="act" id="link" {
            summary class="button quiet" data-command="Link this memory" { "Link" }
            div class="stack" { (form(visit, &format!("{path}/link"), &html! {
                label {
                    "Id of the other memory"
                    input name="other" required autocomplete="off" spellcheck="false";
                }
                label {
                    "Relation"
                    select name="relation" {
                        @for (relation, label, _) in RELATIONS {
                            @if relation != OWN_RELATION { option value=(relation) { (label) } }
                        }
                        option value=(OTHER_RELATION) { "other" }
                    }
                }
                label {
                    "Other relation (only with \u{201c}other\u{201d})"
                    input name="other_relation" maxlength="60" autocomplete="off" spellcheck="false";
                }
                (render_save_buttons("Save link", path))
            })) }
        }
    }
}

/// Renders the linked records, each with a button that removes the link.
pub(super) fn render_links(visit: &PageRequest, around: &Neighbours, path: &str) -> Markup {
    let related = &around.related;
    html! {
        @if !related.is_empty() { details class="fold" open[related.len() <= OPEN_MAX] {
            summary { "Links " small { (related.len()) } }
            ul class="linked" {
                @for one in related {
                    li class="put" {
                        span {
                            span class="faint" {
                                (text::shorten(&name_relation(&one.relation, one.outgoing), 40)) " "
                            }
                            a href=(format!("/records/{}", one.id)) {
                                (text::shorten_title(&one.title, 100))
                            }
                        }
                        @if one.depth == 1 {
                            (form(visit, &format!("{path}/unlink"), &html! {
                                input type="hidden" name="other" value=(one.id);
                                input type="hidden" name="relation" value=(one.relation);
                                input type="hidden" name="outgoing" value=(one.outgoing);
                                button class="quiet" { "Unlink" }
                            }))
                        } @else { small title="Linked through another memory" { "indirect" } }
                    }
                }
            }
        } }
    }
}

/// Names a link as it is read from the memory at one of its ends.
fn name_relation(relation: &str, is_outgoing: bool) -> String {
    let known = RELATIONS.iter().find(|(own, ..)| *own == relation);
    match known {
        Some((_, outgoing, _)) if is_outgoing => (*outgoing).to_owned(),
        Some((.., incoming)) => (*incoming).to_owned(),
        None if is_outgoing => format!("{} \u{2192}", relation.replace('_', " ")),
        None => format!("{} \u{2190}", relation.replace('_', " ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_reads_from_both_of_its_ends() {
        assert_eq!(name_relation("distilled_from", true), "summary of");
        assert_eq!(name_relation("distilled_from", false), "summarised in");
        assert_eq!(name_relation("led_to", true), "led to \u{2192}");
    }
}
