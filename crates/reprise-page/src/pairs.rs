//! What an address asks for: its pairs, and the filter that they name, shown as chips.

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use maud::{Markup, html};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};
use reprise_types::{Calendar, MemoryFilter, MemoryKind, MemorySource, RecordType, TimeError};

use crate::page::{Answer, Page, Trouble, bad_field};
use crate::text;

/// The fields of a filter, named as the command line names them, each with what the chip says.
pub(crate) const FILTERS: [(&str, &str); 9] = [
    ("type", "kind"),
    ("project", "project"),
    ("tag", "tag"),
    ("session", "session"),
    ("author", "who said it"),
    ("since", "since"),
    ("until", "until"),
    ("kind", "sort"),
    ("source", "source"),
];
/// Those that stand in old addresses and are shown only where they are set.
const RARE: [&str; 2] = ["kind", "source"];

/// The pairs of a query string; of a name given twice the first counts.
#[derive(Debug, Default)]
pub(crate) struct Pairs(Vec<(String, String)>);

impl FromRequestParts<Page> for Pairs {
    type Rejection = Trouble;

    async fn from_request_parts(parts: &mut Parts, page: &Page) -> Answer<Self> {
        let read = Query::<Vec<(String, String)>>::from_request_parts(parts, page).await;
        let read = read.map_err(|_| Trouble::invalid(bad_field("the address")))?;
        Ok(Self(read.0))
    }
}

impl Pairs {
    /// A value that says something.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.given(name).filter(|value| !value.is_empty())
    }

    /// A value, which may be empty.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        let mut found = self.0.iter().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value.trim())
    }

    pub(crate) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// A value that is read as something else, or a sentence about it.
    pub(crate) fn read<T: std::str::FromStr>(&self, name: &str) -> Answer<Option<T>> {
        let read = self.get(name).map(str::parse).transpose();
        read.map_err(|_| Trouble::invalid(bad_field(name)))
    }

    /// The filter that they name.
    pub(crate) fn filter(&self, calendar: &Calendar) -> Answer<MemoryFilter> {
        let bad_time = |error: TimeError| Trouble::invalid(error.to_string());
        let since = self.get("since").map(|text| calendar.since(text));
        let until = self.get("until").map(|text| calendar.until(text));
        Ok(MemoryFilter {
            types: self.read::<RecordType>("type")?.map(|one| vec![one]),
            kinds: self.read::<MemoryKind>("kind")?.map(|kind| vec![kind]),
            sources: self
                .read::<MemorySource>("source")?
                .map(|source| vec![source]),
            since: since.transpose().map_err(bad_time)?,
            until: until.transpose().map_err(bad_time)?,
            session_id: self.get("session").map(str::to_owned),
            tags: self.get("tag").map(|tag| vec![tag.to_owned()]),
            project: self.get("project").map(str::to_owned),
            author: self.get("author").map(str::to_owned),
            ..MemoryFilter::default()
        })
    }

    /// Every pair that says something, but these and what a redirect told.
    pub(crate) fn but<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = (&'a str, &'a str)> {
        let told = move |key: &str| names.contains(&key) || key == "done" || key == "part";
        let pairs = self.0.iter();
        let pairs = pairs.map(|(key, value)| (key.as_str(), value.trim()));
        pairs.filter(move |(key, value)| !told(key) && !value.is_empty())
    }

    /// The same as a query string with some pairs changed; an empty value takes one away.
    pub(crate) fn with(&self, changed: &[(&str, &str)]) -> String {
        let names: Vec<&str> = changed.iter().map(|(name, _)| *name).collect();
        let kept = self.but(&names);
        let new = changed.iter().copied();
        let all = kept.chain(new).filter(|(_, value)| !value.is_empty());
        let all = all.map(|(key, value)| format!("{}={}", encoded(key), encoded(value)));
        all.collect::<Vec<_>>().join("&")
    }
}

/// A text as part of a path or a query.
pub(crate) fn encoded(text: &str) -> PercentEncode<'_> {
    const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~');
    utf8_percent_encode(text, UNRESERVED)
}

/// The chips of a filter inside its form: those that are set can be taken away, the others open
/// over their field, which completes from the list of its name.
pub(crate) fn chips(pairs: &Pairs, path: &str) -> Markup {
    html! {
        @for (name, says) in FILTERS {
            @match pairs.get(name) {
                Some(value) => {
                    span class="f set" {
                        (says) " " b { (text::line(value, 80)) }
                        input type="hidden" name=(name) value=(value);
                        a href=(format!("{path}?{}", pairs.with(&[(name, ""), ("after", "")])))
                            aria-label=(format!("Without this {says}")) { "\u{d7}" }
                    }
                }
                None if RARE.contains(&name) => {}
                None => {
                    details class="f" {
                        summary { (says) }
                        div class="pop" { (field(name, says)) button { "Apply" } }
                    }
                }
            }
        }
    }
}

/// The ways to the first page of a list and to the next one.
pub(crate) fn pages(pairs: &Pairs, path: &str, next: Option<impl ToString>) -> Markup {
    html! {
        nav class="pages" aria-label="Pages" {
            @if pairs.get("after").is_some() {
                a href=(format!("{path}?{}", pairs.with(&[("after", "")]))) { "Newest" }
            }
            @if let Some(next) = next {
                @let next = pairs.with(&[("after", &next.to_string())]);
                a rel="next" href=(format!("{path}?{next}")) { "Older" }
            }
        }
    }
}

fn field(name: &str, says: &str) -> Markup {
    html! {
        label {
            (says)
            @match name {
                "type" => {
                    select name="type" {
                        option value="" { "any" }
                        @for one in RecordType::ALL {
                            option value=(one.name()) { (one.name()) }
                        }
                    }
                }
                "since" | "until" => { input type="date" name=(name); }
                _ => {
                    input name=(name) list=(format!("known-{name}")) autocomplete="off"
                        spellcheck="false";
                }
            }
        }
    }
}

/// What the fields of chips complete from.
pub(crate) fn known(name: &str, values: impl Iterator<Item = String>) -> Markup {
    html! {
        datalist id=(format!("known-{name}")) {
            @for value in values { option value=(value) {} }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_stands_in_an_address_and_a_pair_is_changed_in_its_place() {
        assert_eq!(
            encoded("a b&c=\u{fc}/?#").to_string(),
            "a%20b%26c%3D%C3%BC%2F%3F%23"
        );
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let pairs = Pairs(vec![pair("q", "a b"), pair("tag", "x"), pair("done", "1")]);
        assert_eq!(
            pairs.with(&[("tag", ""), ("type", "note")]),
            "q=a%20b&type=note"
        );
        assert_eq!(pairs.with(&[]), "q=a%20b&tag=x");
    }
}
