//! One Markdown note: its front matter, its sections, and basic-memory's observations and
//! relations.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use std::ops::Range;

use crate::prelude::*;
use crate::values::read_yaml;

/// Longest section that is one record: about what the model reads of a text.
const SECTION_CHARS_MAX: usize = 2_000;
/// Longest title or heading: each record below it repeats it. A longer one is text.
pub(super) const HEADING_BYTES_MAX: usize = 1_024;

#[derive(Debug, Default, PartialEq)]
pub(super) struct Note {
    /// YAML at its head; empty where there is none, or none that can be read.
    pub(super) front: Map<String, Value>,
    pub(super) sections: Vec<Section>,
    pub(super) observations: Vec<Observation>,
    pub(super) relations: Vec<Relation>,
}

/// What stands below one heading, or a part of it where that is long.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Section {
    /// The heading, with those above it.
    pub(super) headings: Vec<String>,
    pub(super) line: usize,
    pub(super) text: String,
    /// Words that begin with `#`, without it.
    pub(super) tags: Vec<String>,
}

/// A list item `[category] content #tag (context)`.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Observation {
    pub(super) headings: Vec<String>,
    pub(super) line: usize,
    pub(super) category: Option<String>,
    pub(super) content: String,
    pub(super) tags: Vec<String>,
    pub(super) context: Option<String>,
}

/// A list item `type [[Target]] (context)`, or any other `[[Target]]`, which is `links_to`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Relation {
    pub(super) line: usize,
    pub(super) kind: String,
    pub(super) target: String,
}

impl Note {
    pub(super) fn read(text: &str) -> Self {
        let text = text.trim_start_matches('\u{feff}').replace('\0', "");
        let (front, broken, body) = front_matter(&text);
        let before = text.len() - body.len();
        let broken = broken.map(|broken| Section {
            line: 1,
            text: broken.to_owned(),
            ..Section::default()
        });
        let breaks = text.match_indices('\n').map(|(at, _)| at);
        let (earlier, breaks): (Vec<usize>, Vec<usize>) = breaks.partition(|at| *at < before);
        let mut reader = Reader {
            body,
            first_line: 1 + earlier.len(),
            breaks: breaks.into_iter().map(|at| at - before).collect(),
            line: 1 + earlier.len(),
            note: Self {
                front,
                sections: broken.into_iter().collect(),
                ..Self::default()
            },
            ..Reader::default()
        };
        reader.read();
        reader.note
    }
}

/// A note's front matter and what stands after it, without the end of its last line.
pub(crate) fn parts_of(text: &str) -> (Map<String, Value>, &str) {
    let (front, _, body) = front_matter(text);
    (front, body.strip_suffix('\n').unwrap_or(body))
}

/// The mapping between two lines of dashes, and what comes after it. What stands there and is no
/// YAML mapping is handed back as it is.
fn front_matter(text: &str) -> (Map<String, Value>, Option<&str>, &str) {
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
            return match read_yaml(&text[first.len()..at]) {
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
struct Reader<'a> {
    body: &'a str,
    first_line: usize,
    /// Where each line of the body ends.
    breaks: Vec<usize>,
    note: Note,
    headings: Vec<(usize, String)>,
    /// Where the section begins, and the line of its heading.
    begins: usize,
    line: usize,
    /// Whether nothing below the last heading has named it yet.
    untold: bool,
    /// What of it are observations, which are things of their own.
    taken: Vec<Range<usize>>,
    tags: Vec<String>,
}

impl Reader<'_> {
    fn read(&mut self) {
        let body = self.body;
        let events = Parser::new_ext(body, Options::ENABLE_TABLES).into_offset_iter();
        let (mut items, mut quotes, mut raw) = (0_usize, 0_usize, 0_usize);
        // What is said in one paragraph, heading, cell or tight item.
        let mut said: Option<Range<usize>> = None;
        let mut heading = None;
        for (event, at) in events {
            match event {
                Event::Start(tag) => match tag {
                    Tag::Heading { level, .. } => {
                        self.close(at.start, Some(level as usize));
                        heading = Some((level as usize, self.line(at.start)));
                    }
                    Tag::BlockQuote(_) => quotes += 1,
                    Tag::CodeBlock(_) | Tag::HtmlBlock => raw += 1,
                    Tag::Emphasis
                    | Tag::Strong
                    | Tag::Strikethrough
                    | Tag::Link { .. }
                    | Tag::Image { .. } => widen(&mut said, &at),
                    tag => {
                        self.leaf(said.take(), items, quotes);
                        items += usize::from(matches!(tag, Tag::Item));
                    }
                },
                Event::End(tag) => match tag {
                    TagEnd::Heading(_) => {
                        let words = said.take().map(|at| inline(body, &at)).unwrap_or_default();
                        self.heading(heading.take().unwrap_or((1, 1)), words, &at);
                    }
                    TagEnd::BlockQuote(_) => {
                        self.leaf(said.take(), items, quotes);
                        quotes = quotes.saturating_sub(1);
                    }
                    TagEnd::CodeBlock | TagEnd::HtmlBlock => raw = raw.saturating_sub(1),
                    TagEnd::Emphasis
                    | TagEnd::Strong
                    | TagEnd::Strikethrough
                    | TagEnd::Link
                    | TagEnd::Image => {}
                    tag => {
                        self.leaf(said.take(), items, quotes);
                        items -= usize::from(matches!(tag, TagEnd::Item) && items > 0);
                    }
                },
                Event::Rule => self.leaf(said.take(), items, quotes),
                _ if raw > 0 => {}
                _ => widen(&mut said, &at),
            }
        }
        self.leaf(said.take(), items, quotes);
        self.close(body.len(), None);
    }

    fn line(&self, at: usize) -> usize {
        self.first_line + self.breaks.partition_point(|end| *end < at)
    }

    fn path(&self) -> Vec<String> {
        self.headings
            .iter()
            .map(|(_, words)| words.clone())
            .collect()
    }

    fn heading(&mut self, (level, line): (usize, usize), words: String, at: &Range<usize>) {
        self.tags.extend(marked(&words));
        self.headings.retain(|(above, _)| *above < level);
        let is_text = words.len() > HEADING_BYTES_MAX;
        if !words.is_empty() && !is_text {
            self.headings.push((level, words));
            self.untold = true;
        }
        (self.begins, self.line) = (if is_text { at.start } else { at.end }, line);
    }

    /// One piece of running text is over.
    fn leaf(&mut self, at: Option<Range<usize>>, items: usize, quotes: usize) {
        let Some(at) = at else {
            return;
        };
        let said = inline(self.body, &at);
        let line = self.line(at.start);
        let is_item = items > 0;
        let relation = is_item.then(|| relation(&said)).flatten();
        match relation {
            Some((kind, target)) => self.note.relations.push(Relation { line, kind, target }),
            None => self
                .note
                .relations
                .extend(links(&said).into_iter().map(|target| Relation {
                    line,
                    kind: "links_to".to_owned(),
                    target,
                })),
        }
        if quotes > 0 {
            return;
        }
        let observed = is_item.then(|| observation(&said)).flatten();
        if let Some(observed) = observed {
            let headings = self.path();
            self.note.observations.push(Observation {
                headings,
                line,
                ..observed
            });
            let start = self.body[..at.start].rfind('\n').map_or(0, |end| end + 1);
            let end = self.body[at.end..]
                .find('\n')
                .map_or(self.body.len(), |end| at.end + end + 1);
            self.taken.push(start.max(self.begins)..end);
        } else {
            self.tags.extend(marked(&said));
        }
    }

    /// The section ends here, at a heading of the next level or at the end.
    fn close(&mut self, end: usize, next: Option<usize>) {
        let mut text = String::new();
        let mut at = self.begins.min(end);
        for taken in std::mem::take(&mut self.taken) {
            let taken = taken.start.clamp(at, end)..taken.end.clamp(at, end);
            text.push_str(&self.body[at..taken.start]);
            at = taken.end;
            self.untold = false;
        }
        text.push_str(&self.body[at..end]);
        let tags = distinct(std::mem::take(&mut self.tags));
        let mut parts = parts(&text);
        let level = self.headings.last().map_or(0, |(level, _)| *level);
        // A heading that nothing stands under says something by itself.
        if parts.is_empty() && self.untold && next.is_none_or(|next| next <= level) {
            parts.push(String::new());
        }
        self.untold = false;
        for text in parts {
            self.note.sections.push(Section {
                headings: self.path(),
                line: self.line,
                text,
                tags: tags.clone(),
            });
        }
        self.begins = end;
    }
}

fn widen(said: &mut Option<Range<usize>>, at: &Range<usize>) {
    *said = Some(match said.take() {
        Some(before) => before.start.min(at.start)..before.end.max(at.end),
        None => at.clone(),
    });
}

/// A piece of running text as it stands, without the indentation of its lines.
fn inline(body: &str, at: &Range<usize>) -> String {
    let lines = body[at.clone()].lines().map(str::trim);
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// A section in pieces of a readable length, cut at blank lines where it has any.
fn parts(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut part = String::new();
    for block in text.split_inclusive("\n\n").flat_map(|block| {
        let is_long = block.len() > SECTION_CHARS_MAX;
        let lines = block.split_inclusive(move |c| is_long && c == '\n');
        lines.flat_map(cut)
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

/// A line without an end is cut where it must.
fn cut(mut line: &str) -> Vec<&str> {
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

/// Words that begin with `#` and are no number.
fn marked(said: &str) -> Vec<String> {
    let words = hashed(said);
    let words = words.map(|word| word.trim_end_matches([',', '.', ';', ':', ')', '!', '?']));
    let named = words.filter(|word| word.chars().any(char::is_alphabetic));
    named.map(str::to_owned).collect()
}

/// What stands behind each `#` that begins a word or follows one such.
fn hashed(said: &str) -> impl Iterator<Item = &str> {
    let words = said.split_whitespace();
    let words = words.filter_map(|word| word.strip_prefix('#'));
    words.flat_map(|word| word.split('#'))
}

/// basic-memory's rule (`markdown/plugins.py`, 0.22): `[category] content`, or a word with `#`.
fn observation(said: &str) -> Option<Observation> {
    let is_task = ["[ ]", "[x]", "[-]"]
        .iter()
        .any(|task| said.starts_with(task));
    let is_link = said.starts_with('[')
        && (said.ends_with("]]") || said.ends_with(')'))
        && (said.starts_with("[[") || said.contains("]("));
    if is_task || is_link {
        return None;
    }
    let (category, content) = match said.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((word, rest))
            if rest.starts_with(char::is_whitespace) && !word.contains(['[', '(', ')']) =>
        {
            let word = word.trim();
            ((!word.is_empty()).then(|| word.to_owned()), rest.trim())
        }
        _ => (None, said),
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
    let tags = hashed(content).filter(|tag| !tag.is_empty());
    Some(Observation {
        tags: tags.map(str::to_owned).collect(),
        content: content.to_owned(),
        category,
        context,
        ..Observation::default()
    })
}

/// `type [[Target]]`, its type one word or several in quotes.
fn relation(said: &str) -> Option<(String, String)> {
    let (before, rest) = said.split_once("[[")?;
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
    let target = named(target)?;
    (!kind.is_empty()).then(|| (kind.to_owned(), target))
}

/// Every `[[Target]]` of a text.
fn links(said: &str) -> Vec<String> {
    let mut targets = Vec::new();
    let mut rest = said;
    while let Some((_, after)) = rest.split_once("[[") {
        let Some((target, after)) = after.split_once("]]") else {
            break;
        };
        targets.extend(named(target));
        rest = after;
    }
    targets
}

/// What a link names, without its alias and the heading within.
fn named(target: &str) -> Option<String> {
    let target = target.split(['|', '#']).next()?.trim();
    (!target.is_empty()).then(|| target.to_owned())
}

#[cfg(test)]
mod tests;
