//! The query pairs of an address, the filter in them, and the chips that show it.

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use chrono::{DateTime, Utc};
use maud::{Markup, html};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use reprise_types::{Calendar, MemoryFilter, MemoryKind, MemorySource, RecordType, TimeError};

use crate::page::{PageError, PageResult, WebPage, bad_field, bad_value};
use crate::text;

/// The fields of a filter, named as on the command line, each with the label of its chip.
pub(crate) const FILTERS: [(&str, &str); 9] = [
    ("type", "Type"),
    ("project", "Project"),
    ("tag", "Tag"),
    ("session", "Session"),
    ("author", "Agent or author"),
    ("since", "From"),
    ("until", "To"),
    ("kind", "Kind"),
    ("source", "Source"),
];
/// Fields that only old addresses have; their chips are shown only if they are set.
const RARE: [&str; 2] = ["kind", "source"];

/// The pairs of a query string; of a repeated name the first counts.
#[derive(Debug, Default)]
pub(crate) struct QueryPairs(Vec<(String, String)>);

impl FromRequestParts<WebPage> for QueryPairs {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, page: &WebPage) -> PageResult<Self> {
        let read = Query::<Vec<(String, String)>>::from_request_parts(parts, page).await;
        let read = read.map_err(|_| PageError::invalid(bad_field("the address")))?;
        Ok(Self(read.0))
    }
}

impl QueryPairs {
    /// Returns a value that is not empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.raw_value(name).filter(|value| !value.is_empty())
    }

    /// Returns a value without outer spaces, which may be empty.
    pub(crate) fn raw_value(&self, name: &str) -> Option<&str> {
        let mut found = self.0.iter().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value.trim())
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// Parses a value, or fails with a message about it.
    pub(crate) fn parse_value<T: std::str::FromStr>(&self, name: &str) -> PageResult<Option<T>> {
        let read = self.get(name).map(str::parse).transpose();
        read.map_err(|_| PageError::invalid(bad_value(name, self.text(name))))
    }

    /// Parses a value as a time, to its first and its last instant.
    pub(crate) fn parse_span(
        &self,
        name: &str,
        calendar: &Calendar,
    ) -> PageResult<Option<(DateTime<Utc>, DateTime<Utc>)>> {
        let Some(time) = self.get(name) else {
            return Ok(None);
        };
        let since = calendar.parse_since(time)?;
        let until = calendar.parse_until(time)?;
        Ok(Some((since, until)))
    }

    /// Builds the filter that the pairs describe.
    pub(crate) fn filter(&self, calendar: &Calendar) -> PageResult<MemoryFilter> {
        let since = self.get("since").map(|text| calendar.parse_since(text));
        let until = self.get("until").map(|text| calendar.parse_until(text));
        Ok(MemoryFilter {
            types: self.parse_value::<RecordType>("type")?.map(|one| vec![one]),
            kinds: self
                .parse_value::<MemoryKind>("kind")?
                .map(|kind| vec![kind]),
            sources: self
                .parse_value::<MemorySource>("source")?
                .map(|source| vec![source]),
            since: since.transpose()?,
            until: until.transpose()?,
            session_id: self.get("session").map(str::to_owned),
            tags: self.get("tag").map(|tag| vec![tag.to_owned()]),
            project: self.get("project").map(str::to_owned),
            author: self.get("author").map(str::to_owned),
            ..MemoryFilter::default()
        })
    }

    /// Iterates over all non-empty pairs except these names and the notes of a redirect.
    pub(crate) fn except<'a>(
        &'a self,
        names: &'a [&str],
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        let is_redirect_note =
            move |key: &str| names.contains(&key) || ["done", "part", "open"].contains(&key);
        let pairs = self.0.iter();
        let pairs = pairs.map(|(key, value)| (key.as_str(), value.trim()));
        pairs.filter(move |(key, value)| !is_redirect_note(key) && !value.is_empty())
    }

    /// Formats the pairs as a query string with some changed; an empty value removes one.
    pub(crate) fn to_query_with(&self, changed: &[(&str, &str)]) -> String {
        let names: Vec<&str> = changed.iter().map(|(name, _)| *name).collect();
        let kept = self.except(&names);
        let new = changed.iter().copied();
        let all = kept.chain(new).filter(|(_, value)| !value.is_empty());
        let all =
            all.map(|(key, value)| format!("{}={}", percent_encode(key), percent_encode(value)));
        all.collect::<Vec<_>>().join("&")
    }
}

impl From<TimeError> for PageError {
    fn from(error: TimeError) -> Self {
        Self::invalid(text::to_sentence(&error.to_string()))
    }
}

/// Encodes a text as part of a path or a query.
pub(crate) fn percent_encode(text: &str) -> PercentEncode<'_> {
    const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~');
    utf8_percent_encode(text, UNRESERVED)
}

/// What the filters of a list offer: values, each with its label.
#[derive(Debug, Default)]
pub(crate) struct FilterChoices {
    pub(crate) projects: Vec<(String, String)>,
    pub(crate) authors: Vec<(String, String)>,
    pub(crate) sessions: Vec<(String, String)>,
    /// There may be very many, so a field completes from them.
    pub(crate) tags: Vec<String>,
}

impl FilterChoices {
    fn of(&self, name: &str) -> &[(String, String)] {
        match name {
            "project" => &self.projects,
            "author" => &self.authors,
            "session" => &self.sessions,
            _ => &[],
        }
    }

    /// Returns what people call a value.
    fn label<'a>(&'a self, name: &str, value: &'a str) -> &'a str {
        let mut all = self.of(name).iter();
        let found = all.find(|(own, _)| own == value);
        found.map_or(value, |(_, label)| label)
    }
}

/// Renders the chips of a filter inside its form: a set one can be removed, the others open over a
/// list to choose from, or over a field if there is none.
pub(crate) fn render_chips(pairs: &QueryPairs, path: &str, choices: &FilterChoices) -> Markup {
    html! {
        datalist id="known-tag" { @for tag in &choices.tags { option value=(tag) {} } }
        @for (name, label) in FILTERS {
            @if pairs.get(name).is_some() || !RARE.contains(&name) {
                (render_chip(pairs, path, choices, name, label))
            }
        }
    }
}

/// Renders one chip of a filter.
pub(crate) fn render_chip(
    pairs: &QueryPairs,
    path: &str,
    choices: &FilterChoices,
    name: &str,
    label: &str,
) -> Markup {
    html! {
        @match pairs.get(name) {
            Some(value) => {
                span class="f set" {
                    (label) " " b title=(value) { (text::shorten(choices.label(name, value), 80)) }
                    input type="hidden" name=(name) value=(value);
                    a href=(format!("{path}?{}", pairs.to_query_with(&[(name, ""), ("after", "")])))
                        aria-label=(format!("Remove the {name} filter")) { "\u{d7}" }
                }
            }
            None => {
                details class="f" {
                    summary { (label) }
                    div class="pop" { (render_filter_field(name, label, choices)) button { "Apply" } }
                }
            }
        }
    }
}

/// Renders the links to the first page of a list and to the next one.
pub(crate) fn render_page_links(
    pairs: &QueryPairs,
    path: &str,
    next: Option<impl ToString>,
) -> Markup {
    html! {
        nav class="pages" aria-label="Pages" {
            @if pairs.get("after").is_some() {
                a href=(format!("{path}?{}", pairs.to_query_with(&[("after", "")]))) { "Newest" }
            }
            @if let Some(next) = next {
                @let next = pairs.to_query_with(&[("after", &next.to_string())]);
                a rel="next" href=(format!("{path}?{next}")) { "Older" }
            }
        }
    }
}

fn render_filter_field(name: &str, label: &str, choices: &FilterChoices) -> Markup {
    html! {
        label {
            (label)
            @match name {
                "type" => {
                    select name="type" {
                        option value="" { "any" }
                        @for one in RecordType::ALL {
                            option value=(one.name()) { (one.name()) }
                        }
                    }
                }
                "since" | "until" | "day" => { input type="date" name=(name); }
                _ if !choices.of(name).is_empty() => {
                    select name=(name) {
                        option value="" { "any" }
                        @for (value, label) in choices.of(name) {
                            option value=(value) { (text::plain_line(label, 80)) }
                        }
                    }
                }
                _ => {
                    input name=(name) list=[(name == "tag").then_some("known-tag")]
                        autocomplete="off" spellcheck="false";
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_stands_in_an_address_and_a_pair_is_changed_in_its_place() {
        assert_eq!(
            percent_encode("a b&c=\u{fc}/?#").to_string(),
            "a%20b%26c%3D%C3%BC%2F%3F%23"
        );
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let pairs = QueryPairs(vec![pair("q", "a b"), pair("tag", "x"), pair("done", "1")]);
        assert_eq!(
            pairs.to_query_with(&[("tag", ""), ("type", "note")]),
            "q=a%20b&type=note"
        );
        assert_eq!(pairs.to_query_with(&[]), "q=a%20b&tag=x");
    }
}
