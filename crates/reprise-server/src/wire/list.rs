//! Pages of a list.

use reprise_engine::Snapshot;
use reprise_types::limits::{PAGE_DEFAULT, PAGE_MAX};
use reprise_types::{
    Calendar, Cursor, ListRequest, MemoryFilter, MemoryKind, MemoryRecord, MemorySource, RecordId,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record::ExportLine;

/// What is to be listed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ListBody {
    /// Only these kinds; empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kind: Vec<MemoryKind>,
    /// Only these sources; empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub source: Vec<MemorySource>,
    /// Only what has every one of these tags; empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tag: Vec<String>,
    /// Only what happened at this time or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Only what happened at this time or earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Only this session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Only this project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Only this author.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Most records of the page; 50 where it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Go on after the record with this cursor, or with this id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A page: each record in its export form, with the `cursor` of its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    /// The newest first.
    pub records: Vec<Value>,
    /// The cursor of the next page; null on the last.
    pub next: Option<Cursor>,
    /// Records that the filter admits, on all pages.
    pub considered: u32,
    /// Records of this page that are damaged and left out.
    pub damaged: usize,
    /// Sentences for a reader: why there is nothing.
    pub notes: Vec<String>,
}

#[derive(Serialize)]
struct ListLine<'a> {
    #[serde(flatten)]
    line: ExportLine<'a>,
    cursor: Cursor,
}

impl ListBody {
    /// From the pairs of a query string; a list is named several times, kinds and sources also once
    /// with commas.
    pub fn from_pairs(pairs: &[(String, String)]) -> Result<Self, String> {
        let mut body = Self::default();
        for (name, value) in pairs {
            let items = || value.split(',').filter(|item| !item.is_empty());
            let once = |place: &mut Option<String>| match place.replace(value.clone()) {
                None => Ok(()),
                Some(_) => Err(format!("`{name}` is given twice; give it once")),
            };
            match name.as_str() {
                "kind" => {
                    for item in items() {
                        body.kind.push(item.parse().map_err(sentence)?);
                    }
                }
                "source" => {
                    for item in items() {
                        body.source.push(item.parse().map_err(sentence)?);
                    }
                }
                "tag" => body.tag.push(value.clone()),
                "since" => once(&mut body.since)?,
                "until" => once(&mut body.until)?,
                "session" => once(&mut body.session)?,
                "project" => once(&mut body.project)?,
                "author" => once(&mut body.author)?,
                "cursor" => once(&mut body.cursor)?,
                "limit" => {
                    let limit = value.parse().map_err(|_| not_a_limit(value))?;
                    body.limit = Some(limit);
                }
                _ => {
                    return Err(format!(
                        "`{}` is no part of a list; use kind, source, tag, since, until, session, \
                         project, author, limit and cursor",
                        name.chars().take(64).collect::<String>()
                    ));
                }
            }
        }
        Ok(body)
    }

    /// The body as a query string's pairs.
    #[must_use]
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let mut pairs: Vec<(&'static str, String)> = Vec::new();
        pairs.extend(self.kind.iter().map(|kind| ("kind", kind.to_string())));
        pairs.extend(self.source.iter().map(|it| ("source", it.to_string())));
        pairs.extend(self.tag.iter().map(|tag| ("tag", tag.clone())));
        let given = [
            ("since", &self.since),
            ("until", &self.until),
            ("session", &self.session),
            ("project", &self.project),
            ("author", &self.author),
            ("cursor", &self.cursor),
        ];
        for (name, value) in given {
            pairs.extend(value.iter().map(|value| (name, value.clone())));
        }
        pairs.extend(self.limit.map(|limit| ("limit", limit.to_string())));
        pairs
    }

    /// The page that it asks for; the error is a sentence about it.
    pub fn page(&self, snapshot: &Snapshot, calendar: &Calendar) -> Result<Listed, String> {
        let request = self.request(snapshot, calendar)?;
        let page = snapshot.list(&request);
        let line = |record: &MemoryRecord| {
            let line = ExportLine::new(record);
            let cursor = Cursor::of(record);
            serde_json::to_value(ListLine { line, cursor }).map_err(sentence)
        };
        Ok(Listed {
            records: page.records.iter().map(line).collect::<Result<_, _>>()?,
            next: page.next,
            considered: page.considered,
            damaged: page.damaged,
            notes: page.notes,
        })
    }

    fn request(&self, snapshot: &Snapshot, calendar: &Calendar) -> Result<ListRequest, String> {
        let since = self.since.as_deref().map(|text| calendar.since(text));
        let until = self.until.as_deref().map(|text| calendar.until(text));
        let limit = self.limit.unwrap_or(PAGE_DEFAULT);
        if !(1..=PAGE_MAX).contains(&limit) {
            return Err(not_a_limit(&limit.to_string()));
        }
        Ok(ListRequest {
            filter: MemoryFilter {
                kinds: (!self.kind.is_empty()).then(|| self.kind.clone()),
                sources: (!self.source.is_empty()).then(|| self.source.clone()),
                since: since.transpose().map_err(sentence)?,
                until: until.transpose().map_err(sentence)?,
                session_id: self.session.clone(),
                tags: (!self.tag.is_empty()).then(|| self.tag.clone()),
                project: self.project.clone(),
                author: self.author.clone(),
            },
            limit,
            after: match &self.cursor {
                None => None,
                Some(cursor) => Some(place(snapshot, cursor)?),
            },
        })
    }
}

/// The place that a cursor or a record's id names.
fn place(snapshot: &Snapshot, cursor: &str) -> Result<Cursor, String> {
    let Ok(id) = cursor.parse::<RecordId>() else {
        return cursor.parse().map_err(sentence);
    };
    snapshot.cursor(id).ok_or_else(|| {
        format!("there is no record `{id}` any more to go on from; pass its `cursor` instead")
    })
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it stands in `map_err`, which hands over the error"
)]
fn sentence(error: impl ToString) -> String {
    error.to_string()
}

fn not_a_limit(given: &str) -> String {
    format!("a page has 1 to {PAGE_MAX} records, not `{given}`; take more pages with `cursor`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_string_says_what_a_body_says() {
        let body = ListBody {
            kind: vec![MemoryKind::Finding, MemoryKind::Pattern],
            source: vec![MemorySource::UserInput],
            tag: vec!["a".into(), "b".into()],
            since: Some("7d".into()),
            until: Some("today".into()),
            session: Some("s".into()),
            project: Some("p".into()),
            author: Some("ada".into()),
            limit: Some(3),
            cursor: Some("1.2".into()),
        };
        let pairs = body.pairs().into_iter();
        let pairs: Vec<(String, String)> = pairs.map(|(name, v)| (name.to_owned(), v)).collect();
        assert_eq!(ListBody::from_pairs(&pairs).as_ref(), Ok(&body));
        let one =
            |name: &str, value: &str| ListBody::from_pairs(&[(name.to_owned(), value.to_owned())]);
        assert_eq!(one("tag", "a,b").unwrap().tag, ["a,b"]);
        assert_eq!(one("kind", "finding,pattern").unwrap().kind, body.kind);
        for (name, value, word) in [
            ("kind", "gossip", "memory kind"),
            ("limit", "many", "1 to 1000"),
            ("topic", "x", "no part of a list"),
        ] {
            let error = one(name, value).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
        let twice = [
            ("since".to_owned(), "7d".to_owned()),
            ("since".to_owned(), "1d".to_owned()),
        ];
        assert!(ListBody::from_pairs(&twice).unwrap_err().contains("twice"));
    }
}
