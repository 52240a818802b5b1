//! Parses one Markdown note: its front matter, its sections, and the observations and relations of
//! basic-memory.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::ops::Range;

use crate::prelude::*;
use crate::values::parse_yaml;

/// Longest section that is one record: about as much as the embedding model reads of a text.
const SECTION_CHARS_MAX: usize = 2_000;
/// Longest title or heading, because each record below it repeats it. A longer one is text.
pub(super) const HEADING_BYTES_MAX: usize = 1_024;

#[derive(Debug, Default, PartialEq)]
pub(super) struct ParsedNote {
    /// YAML at its head; empty if it is missing or unreadable.
    pub(super) front: Map<String, Value>,
    pub(super) sections: Vec<NoteSection>,
    pub(super) observations: Vec<NoteObservation>,
    pub(super) relations: Vec<NoteRelation>,
}

/// The text below one heading, or a part of it if it is long.
#[derive(Debug, Default, PartialEq)]
pub(super) struct NoteSection {
    /// The heading, with those above it.
    pub(super) headings: Vec<String>,
    pub(super) line: usize,
    pub(super) text: String,
    /// Hashtags, without the `#`.
    pub(super) tags: Vec<String>,
}

/// A list item `[category] content #tag (context)`.
#[derive(Debug, Default, PartialEq)]
pub(super) struct NoteObservation {
    pub(super) headings: Vec<String>,
    pub(super) line: usize,
    pub(super) category: Option<String>,
    pub(super) content: String,
    pub(super) tags: Vec<String>,
    pub(super) context: Option<String>,
}

/// A list item `type [[Target]] (context)`, or any other `[[Target]]` as `links_to`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoteRelation {
    pub(super) line: usize,
    pub(super) kind: String,
    pub(super) target: String,
}

impl ParsedNote {
    pub(super) fn parse(text: &str) -> Self {
        let text = text.trim_start_matches('\u{feff}').replace('\0', "");
        let (mut front, broken, mut body) = parse_front_matter(&text);
        if broken.is_none() && body.len() < text.len() {
            let begins = body.trim_start_matches(['\n', '\r']);
            if let (second, None, rest) = parse_front_matter(begins)
                && FRONT_FIELDS.iter().any(|name| second.contains_key(*name))
            {
                add_missing_fields(&mut front, second);
                body = rest;
            }
        }
        let before = text.len() - body.len();
        let broken = broken.map(|broken| NoteSection {
            line: 1,
            text: broken.to_owned(),
            ..NoteSection::default()
        });
        let breaks = text.match_indices('\n').map(|(at, _)| at);
        let (earlier, breaks): (Vec<usize>, Vec<usize>) = breaks.partition(|at| *at < before);
        let mut reader = NoteParser {
            body,
            first_line: 1 + earlier.len(),
            breaks: breaks.into_iter().map(|at| at - before).collect(),
            line: 1 + earlier.len(),
            note: Self {
                front,
                sections: broken.into_iter().collect(),
                ..Self::default()
            },
            ..NoteParser::default()
        };
        reader.parse_body();
        reader.note
    }
}

/// Fields by which a second front matter, that another program has put below the first, is known:
/// text between two rules is none.
const FRONT_FIELDS: [&str; 6] = ["title", "name", "tags", "type", "permalink", "description"];

/// Adds the fields of a second front matter that the first does not have, and the items of lists.
fn add_missing_fields(front: &mut Map<String, Value>, second: Map<String, Value>) {
    for (name, value) in second {
        match (front.get_mut(&name), value) {
            (None, value) => {
                front.insert(name, value);
            }
            (Some(Value::Array(known)), Value::Array(more)) => {
                for item in more {
                    if !known.contains(&item) {
                        known.push(item);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Splits a note into its front matter and its text, without the last line break.
pub(crate) fn split_front_matter(text: &str) -> (Map<String, Value>, &str) {
    let (front, _, body) = parse_front_matter(text);
    (front, body.strip_suffix('\n').unwrap_or(body))
}

/// Parses the mapping between two lines of dashes, and returns it with the text after it. A head
/// that is no YAML mapping is returned as text in between.
fn parse_front_matter(text: &str) -> (Map<String, Value>, Option<&str>, &str) {
    let none = (Map::new(), None, text);
    let begins = |line: &str| matches!(line.trim_end(), "---");
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|first| begins(first)) else {
        return none;
    };
    let mut at = first.len();
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") {
            let (head, body) = text.split_at(at + line.len());
            return match parse_yaml(&text[first.len()..at]) {
                Ok(Value::Object(front)) => (front, None, body),
                Ok(Value::Null) => (Map::new(), None, body),
                _ => (Map::new(), Some(head.trim_end()), body),
            };
        }
        at += line.len();
    }
    none
}

#[derive(Default)]
struct NoteParser<'a> {
    body: &'a str,
    first_line: usize,
    /// Position of each line break of the body.
    breaks: Vec<usize>,
    note: ParsedNote,
    headings: Vec<(usize, String)>,
    /// Position at which the section begins.
    begins: usize,
    line: usize,
    /// Whether no piece below the last heading has named it yet.
    is_unnamed: bool,
    /// Ranges of its observations, which become pieces of their own.
    observed: Vec<Range<usize>>,
    tags: Vec<String>,
}

impl NoteParser<'_> {
    fn parse_body(&mut self) {
        let body = self.body;
        let events = Parser::new_ext(body, Options::ENABLE_TABLES).into_offset_iter();
        let (mut items, mut quotes, mut raw) = (0_usize, 0_usize, 0_usize);
        // The range of one paragraph, heading, cell or tight item.
        let mut text_range: Option<Range<usize>> = None;
        let mut heading = None;
        for (event, at) in events {
            match event {
                Event::Start(tag) => match tag {
                    Tag::Heading { level, .. } => {
                        self.end_section(at.start, Some(level as usize));
                        heading = Some((level as usize, self.line_number(at.start)));
                    }
                    Tag::BlockQuote(_) => quotes += 1,
                    Tag::CodeBlock(_) | Tag::HtmlBlock => raw += 1,
                    Tag::Emphasis
                    | Tag::Strong
                    | Tag::Strikethrough
                    | Tag::Link { .. }
                    | Tag::Image { .. } => extend_range(&mut text_range, &at),
                    tag => {
                        self.end_text(text_range.take(), items, quotes);
                        items += usize::from(matches!(tag, Tag::Item));
                    }
                },
                Event::End(tag) => match tag {
                    TagEnd::Heading(_) => {
                        let words = text_range
                            .take()
                            .map(|at| plain_text(body, &at))
                            .unwrap_or_default();
                        self.end_heading(heading.take().unwrap_or((1, 1)), words, &at);
                    }
                    TagEnd::BlockQuote(_) => {
                        self.end_text(text_range.take(), items, quotes);
                        quotes = quotes.saturating_sub(1);
                    }
                    TagEnd::CodeBlock | TagEnd::HtmlBlock => raw = raw.saturating_sub(1),
                    TagEnd::Emphasis
                    | TagEnd::Strong
                    | TagEnd::Strikethrough
                    | TagEnd::Link
                    | TagEnd::Image => {}
                    tag => {
                        self.end_text(text_range.take(), items, quotes);
                        items -= usize::from(matches!(tag, TagEnd::Item) && items > 0);
                    }
                },
                Event::Rule => self.end_text(text_range.take(), items, quotes),
                _ if raw > 0 => {}
                _ => extend_range(&mut text_range, &at),
            }
        }
        self.end_text(text_range.take(), items, quotes);
        self.end_section(body.len(), None);
    }

    fn line_number(&self, at: usize) -> usize {
        self.first_line + self.breaks.partition_point(|end| *end < at)
    }

    fn heading_path(&self) -> Vec<String> {
        self.headings
            .iter()
            .map(|(_, words)| words.clone())
            .collect()
    }

    fn end_heading(&mut self, (level, line): (usize, usize), words: String, at: &Range<usize>) {
        self.tags.extend(find_hashtags(&words));
        self.headings.retain(|(above, _)| *above < level);
        let is_text = words.len() > HEADING_BYTES_MAX;
        if !words.is_empty() && !is_text {
            self.headings.push((level, words));
            self.is_unnamed = true;
        }
        (self.begins, self.line) = (if is_text { at.start } else { at.end }, line);
    }

    /// Ends one piece of running text.
    fn end_text(&mut self, at: Option<Range<usize>>, items: usize, quotes: usize) {
        let Some(at) = at else {
            return;
        };
        let content = plain_text(self.body, &at);
        let line = self.line_number(at.start);
        let is_item = items > 0;
        let relation = is_item.then(|| parse_relation(&content)).flatten();
        match relation {
            Some((kind, target)) => self
                .note
                .relations
                .push(NoteRelation { line, kind, target }),
            None => self
                .note
                .relations
                .extend(
                    find_link_targets(&content)
                        .into_iter()
                        .map(|target| NoteRelation {
                            line,
                            kind: "links_to".to_owned(),
                            target,
                        }),
                ),
        }
        if quotes > 0 {
            return;
        }
        let observed = is_item.then(|| parse_observation(&content)).flatten();
        if let Some(observed) = observed {
            let headings = self.heading_path();
            self.note.observations.push(NoteObservation {
                headings,
                line,
                ..observed
            });
            let start = self.body[..at.start].rfind('\n').map_or(0, |end| end + 1);
            let end = self.body[at.end..]
                .find('\n')
                .map_or(self.body.len(), |end| at.end + end + 1);
            self.observed.push(start.max(self.begins)..end);
        } else {
            self.tags.extend(find_hashtags(&content));
        }
    }

    /// Ends the section, at a heading of level `next` or at the end of the note.
    fn end_section(&mut self, end: usize, next: Option<usize>) {
        let mut text = String::new();
        let mut at = self.begins.min(end);
        for observed in std::mem::take(&mut self.observed) {
            let observed = observed.start.clamp(at, end)..observed.end.clamp(at, end);
            text.push_str(&self.body[at..observed.start]);
            at = observed.end;
            self.is_unnamed = false;
        }
        text.push_str(&self.body[at..end]);
        let tags = deduplicate_texts(std::mem::take(&mut self.tags));
        let mut parts = split_section(&text);
        let level = self.headings.last().map_or(0, |(level, _)| *level);
        // A heading without any text below it is a piece by itself.
        if parts.is_empty() && self.is_unnamed && next.is_none_or(|next| next <= level) {
            parts.push(String::new());
        }
        self.is_unnamed = false;
        for text in parts {
            self.note.sections.push(NoteSection {
                headings: self.heading_path(),
                line: self.line,
                text,
                tags: tags.clone(),
            });
        }
        self.begins = end;
    }
}

fn extend_range(range: &mut Option<Range<usize>>, at: &Range<usize>) {
    *range = Some(match range.take() {
        Some(before) => before.start.min(at.start)..before.end.max(at.end),
        None => at.clone(),
    });
}

/// Returns a piece of running text without the indentation of its lines.
fn plain_text(body: &str, at: &Range<usize>) -> String {
    let lines = body[at.clone()].lines().map(str::trim);
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Splits a section into parts of limited length, at blank lines if it has any.
fn split_section(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut part = String::new();
    for block in text.split_inclusive("\n\n").flat_map(|block| {
        let is_long = block.len() > SECTION_CHARS_MAX;
        let lines = block.split_inclusive(move |c| is_long && c == '\n');
        lines.flat_map(cut_long_line)
    }) {
        if part.len() + block.len() > SECTION_CHARS_MAX {
            parts.push(std::mem::take(&mut part));
        }
        part.push_str(block);
    }
    parts.push(part);
    let parts = parts
        .iter()
        .map(|part| part.trim_matches(['\n', '\r']).trim_end().to_owned());
    parts.filter(|part| !part.trim().is_empty()).collect()
}

/// Cuts an overlong line into pieces.
fn cut_long_line(mut line: &str) -> Vec<&str> {
    const LINE_BYTES_MAX: usize = 16 * SECTION_CHARS_MAX;
    let mut pieces = Vec::new();
    while line.len() > LINE_BYTES_MAX {
        let (piece, rest) = line.split_at(line.floor_char_boundary(LINE_BYTES_MAX));
        pieces.push(piece);
        line = rest;
    }
    pieces.push(line);
    pieces
}

/// Finds the words that begin with `#` and are no numbers.
fn find_hashtags(text: &str) -> Vec<String> {
    let words = split_hashtags(text);
    let words = words.map(|word| word.trim_end_matches([',', '.', ';', ':', ')', '!', '?']));
    let named = words.filter(|word| word.chars().any(char::is_alphabetic));
    named.map(str::to_owned).collect()
}

/// Returns the text after each `#` of the words that begin with `#`.
fn split_hashtags(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split_whitespace();
    let words = words.filter_map(|word| word.strip_prefix('#'));
    words.flat_map(|word| word.split('#'))
}

/// Parses an observation by the rule of basic-memory (`markdown/plugins.py`, 0.22): `[category]
/// content`, or a text with a hashtag.
fn parse_observation(item: &str) -> Option<NoteObservation> {
    let is_task = ["[ ]", "[x]", "[-]"]
        .iter()
        .any(|task| item.starts_with(task));
    let is_link = item.starts_with('[')
        && (item.ends_with("]]") || item.ends_with(')'))
        && (item.starts_with("[[") || item.contains("]("));
    if is_task || is_link {
        return None;
    }
    let (category, content) = match item.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((word, rest))
            if rest.starts_with(char::is_whitespace) && !word.contains(['[', '(', ')']) =>
        {
            let word = word.trim();
            ((!word.is_empty()).then(|| word.to_owned()), rest.trim())
        }
        _ => (None, item),
    };
    if category.is_none() && !content.split_whitespace().any(|word| word.starts_with('#')) {
        return None;
    }
    let (content, context) = match content
        .strip_suffix(')')
        .and_then(|rest| rest.rsplit_once('('))
    {
        Some((content, context)) => (content.trim(), Some(context.trim().to_owned())),
        None => (content, None),
    };
    if content.is_empty() {
        return None;
    }
    let tags = split_hashtags(content).filter(|tag| !tag.is_empty());
    Some(NoteObservation {
        tags: tags.map(str::to_owned).collect(),
        content: content.to_owned(),
        category,
        context,
        ..NoteObservation::default()
    })
}

/// Parses `type [[Target]]`; the type is one word, or several in quotes.
fn parse_relation(text: &str) -> Option<(String, String)> {
    let (before, rest) = text.split_once("[[")?;
    let (target, _) = rest.split_once("]]")?;
    let before = before.trim();
    let quoted = ['\'', '"'].iter().find_map(|quote| {
        before
            .strip_prefix(*quote)
            .and_then(|inside| inside.strip_suffix(*quote))
    });
    let kind = match quoted {
        Some(quoted) => quoted.trim(),
        None if before.contains(char::is_whitespace) => return None,
        None => before,
    };
    let target = parse_link_target(target)?;
    (!kind.is_empty()).then(|| (kind.to_owned(), target))
}

/// Finds every `[[Target]]` of a text.
fn find_link_targets(text: &str) -> Vec<String> {
    let mut targets = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("[[") {
        let Some((target, after)) = after.split_once("]]") else {
            break;
        };
        targets.extend(parse_link_target(target));
        rest = after;
    }
    targets
}

/// Returns the target of a link, without its alias and heading.
fn parse_link_target(target: &str) -> Option<String> {
    let target = target.split(['|', '#']).next()?.trim();
    (!target.is_empty()).then(|| target.to_owned())
}

#[cfg(test)]
mod tests;
