//! Which records are meant: the same words wherever records are chosen.

use reprise_global::ListPage;
use reprise_types::TimeError;
use serde::Deserializer;
use serde::de::Error as _;

use crate::prelude::*;

arguments! {
    /// Every part that is given must hold.
    #[serde_with::apply(
        Vec => #[serde(deserialize_with = "deserialize_list", skip_serializing_if = "Vec::is_empty")]
    )]
    #[skip_serializing_none]
    #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::Args)]
    #[serde(default)]
    pub struct Filter {
        /// Only these types.
        #[serde(rename = "type")]
        #[schemars(extend("x-rare" = true))]
        #[arg(
            long = "type",
            value_delimiter = ',',
            value_name = "TYPE",
            help = "Only these types, as a person would say: note, prompt, answer, commit, test, \
                    command, run, decision, lesson or document"
        )]
        pub record_type | "types": Vec<RecordType>,
        /// Only these kinds.
        #[schemars(extend("x-rare" = true))]
        #[arg(
            long,
            help = "Only these kinds of knowledge: episode (what happened), finding, strategy or pattern"
        )]
        pub kind | "kinds": Vec<MemoryKind>,
        /// Only these sources.
        #[schemars(extend("x-rare" = true))]
        #[arg(
            long,
            help = "Only from these origins: user_input (you), worker_result (an agent), \
                    conductor_plan, writer_revision or trajectory_outcome"
        )]
        pub source | "sources": Vec<MemorySource>,
        /// Only memories with all of these tags.
        #[schemars(extend("type" = ["array", "string"]))]
        #[arg(long, value_delimiter = ',')]
        pub tag: Vec<String> as SelectorName,
        /// With one of these tags or more.
        // `tags` is ai-lessons' word, where a search names several to have any of them.
        #[schemars(extend("type" = ["array", "string"], "x-rare" = true))]
        #[arg(
            long,
            aliases = ["any-tags", "tags"],
            value_delimiter = ',',
            value_name = "TAG"
        )]
        pub any_tag | "any_tags" | "tags": Vec<String> as SelectorNames,
        /// Only memories since: 2026-02-16, 7d, yesterday.
        #[arg(long, value_name = "TIME")]
        pub since: Option<String> as TimeText,
        /// Only up to and including this time.
        #[schemars(extend("x-rare" = true))]
        #[arg(long, value_name = "TIME")]
        pub until: Option<String> as TimeText,
        /// Only this session.
        #[schemars(extend("x-rare" = true))]
        #[arg(long)]
        pub session | "session_id": Option<String> as StoredSession,
        /// Only this project.
        #[schemars(extend("x-rare" = true))]
        #[arg(long, value_name = "NAME")]
        pub project: Option<String> as SelectorName,
        /// Only this author.
        #[schemars(extend("x-rare" = true))]
        #[arg(long, value_name = "NAME")]
        pub author: Option<String> as SelectorName,
    }
}

impl Filter {
    /// The filter that it asks for, times as the calendar has them; the error is a sentence about
    /// it.
    pub fn to_memory_filter(&self, calendar: &Calendar) -> Result<MemoryFilter, String> {
        Ok(MemoryFilter {
            types: non_empty(&self.record_type),
            kinds: non_empty(&self.kind),
            sources: non_empty(&self.source),
            since: parse_time(calendar, self.since.as_deref(), Calendar::parse_since)?,
            until: parse_time(calendar, self.until.as_deref(), Calendar::parse_until)?,
            tags: non_empty(&self.tag),
            any_tags: non_empty(&self.any_tag),
            tag_spellings: Vec::new(),
            session_id: self.session.clone(),
            project: self.project.clone(),
            author: self.author.clone(),
        })
    }
}

/// An empty list asks for all.
fn non_empty<T: Clone>(list: &[T]) -> Option<Vec<T>> {
    (!list.is_empty()).then(|| list.to_vec())
}

/// The instant that a text names; the error is a sentence about it.
pub(crate) fn parse_time(
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
fn deserialize_list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
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
    let read = words.iter().map(|word| {
        word.parse().map_err(|error| {
            let said = format!("{error}");
            let is_type = word.parse::<RecordType>().is_ok();
            D::Error::custom(if is_type {
                format!("{said}; `{word}` is a type: give it as `type`")
            } else {
                said
            })
        })
    });
    read.collect()
}

arguments! {
    /// Which part of a list.
    #[skip_serializing_none]
    #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[schemars(rename = "PageAsked")]
    pub struct PageArguments {
        /// Maximum number of entries [default: 50; at most 1000].
        #[schemars(range(max = 1_000))]
        pub limit: Option<usize> as LimitCount,
        /// How many of the newest to skip.
        pub offset: Option<usize> as ItemCount,
    }
}

/// Returns the page of a list that a request asks for.
pub(crate) fn list_page(offset: Option<usize>, limit: Option<usize>) -> ListPage {
    ListPage {
        offset: offset.unwrap_or_default(),
        limit: limit.unwrap_or(PAGE_DEFAULT).min(PAGE_MAX),
    }
}

/// Returns a page of a whole list, and where the next one begins; `None` on the last.
pub(crate) fn cut_page<T>(page: ListPage, all: Vec<T>) -> (Vec<T>, Option<usize>) {
    let end = page.offset.saturating_add(page.limit);
    let next = (end < all.len()).then_some(end);
    (page.slice_list(all), next)
}
