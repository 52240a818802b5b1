//! Which records are meant: the same words wherever records are chosen.

use reprise_types::TimeError;
use serde::Deserializer;
use serde::de::Error as _;

use crate::prelude::*;

/// Every part that is given must hold.
#[serde_with::apply(
    Vec => #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
)]
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(default)]
pub struct Filter {
    /// Only these types.
    #[serde(rename = "type", alias = "types")]
    #[schemars(extend("x-rare" = true))]
    #[arg(long = "type", value_name = "TYPE")]
    pub record_type: Vec<RecordType>,
    /// Only these kinds.
    #[serde(alias = "kinds")]
    #[schemars(extend("x-rare" = true))]
    #[arg(long)]
    pub kind: Vec<MemoryKind>,
    /// Only these sources.
    #[serde(alias = "sources")]
    #[schemars(extend("x-rare" = true))]
    #[arg(long)]
    pub source: Vec<MemorySource>,
    /// Only what has all of these.
    #[serde(alias = "tags")]
    #[schemars(extend("type" = ["array", "string"]))]
    #[arg(long, alias = "tags", value_delimiter = ',')]
    pub tag: Vec<String>,
    /// What else a tag may be kept as, `(spelling, tag)`.
    #[serde(skip)]
    #[serde_with(skip_apply)]
    #[arg(skip)]
    pub spellings: Vec<(String, String)>,
    /// From: 2026-02-16, 7d, yesterday.
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Up to this time, which belongs to it.
    #[schemars(extend("x-rare" = true))]
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Only this session.
    #[serde(alias = "session_id")]
    #[schemars(extend("x-rare" = true))]
    #[arg(long)]
    pub session: Option<String>,
    /// Only this project.
    #[schemars(extend("x-rare" = true))]
    #[arg(long, value_name = "NAME")]
    pub project: Option<String>,
    /// Only this author.
    #[schemars(extend("x-rare" = true))]
    #[arg(long, value_name = "NAME")]
    pub author: Option<String>,
}

impl Filter {
    /// The filter that it asks for, times as the calendar has them; the error is a sentence about
    /// it.
    pub fn read(&self, calendar: &Calendar) -> Result<MemoryFilter, String> {
        Ok(MemoryFilter {
            types: given(&self.record_type),
            kinds: given(&self.kind),
            sources: given(&self.source),
            since: time(calendar, self.since.as_deref(), Calendar::since)?,
            until: time(calendar, self.until.as_deref(), Calendar::until)?,
            tags: given(&self.tag),
            spellings: self.spellings.clone(),
            session_id: self.session.clone(),
            project: self.project.clone(),
            author: self.author.clone(),
        })
    }
}

impl From<MemoryFilter> for Filter {
    fn from(filter: MemoryFilter) -> Self {
        Self {
            record_type: filter.types.unwrap_or_default(),
            kind: filter.kinds.unwrap_or_default(),
            source: filter.sources.unwrap_or_default(),
            tag: filter.tags.unwrap_or_default(),
            spellings: filter.spellings,
            since: filter.since.map(instant),
            until: filter.until.map(instant),
            session: filter.session_id,
            project: filter.project,
            author: filter.author,
        }
    }
}

/// An empty list asks for all.
fn given<T: Clone>(list: &[T]) -> Option<Vec<T>> {
    (!list.is_empty()).then(|| list.to_vec())
}

/// The instant that a text names; the error is a sentence about it.
pub(crate) fn time(
    calendar: &Calendar,
    text: Option<&str>,
    read: fn(&Calendar, &str) -> Result<DateTime<Utc>, TimeError>,
) -> Result<Option<DateTime<Utc>>, String> {
    let read = text.map(|text| read(calendar, text)).transpose();
    read.map_err(|error| error.to_string())
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

/// A list, or the one thing in it.
fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    let words = match OneOrMore::deserialize(deserializer) {
        Ok(OneOrMore::One(word)) => vec![word],
        Ok(OneOrMore::More(words)) => words,
        Err(_) => {
            return Err(D::Error::custom(
                "`type`, `kind`, `source` and `tag` are lists of words",
            ));
        }
    };
    let read = words
        .iter()
        .map(|word| word.parse().map_err(D::Error::custom));
    read.collect()
}

/// Which part of a list.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageAsked {
    /// Most of it; 50 by default, 1000 at most.
    #[schemars(range(max = 1_000))]
    pub limit: Option<usize>,
    /// How many of the newest to pass over.
    pub offset: Option<usize>,
}

/// A part of a list that is made whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) offset: usize,
    pub(crate) limit: usize,
}

impl Part {
    /// What a request says of it.
    pub(crate) fn of(offset: Option<usize>, limit: Option<usize>) -> Self {
        Self {
            offset: offset.unwrap_or_default(),
            limit: limit.unwrap_or(PAGE_DEFAULT).min(PAGE_MAX),
        }
    }

    /// The part, and where the next one begins; `None` on the last.
    pub(crate) fn cut<T>(self, all: Vec<T>) -> (Vec<T>, Option<usize>) {
        let end = self.offset.saturating_add(self.limit);
        let next = (end < all.len()).then_some(end);
        let part = all.into_iter().skip(self.offset).take(self.limit);
        (part.collect(), next)
    }
}
