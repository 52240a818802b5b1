//! Styles and layout for a terminal; colours only if a person reads.

use std::fmt::Display;
use std::ops::Range;

use clap::builder::styling::{AnsiColor, Style};
use reprise_types::is_invisible;

/// Renders an error and its causes on one line; a cause is left out if the text ends with it.
pub fn render_error(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    let red = AnsiColor::Red.on_default().bold();
    format!("{} {text}", paint(red, "error:"))
}

/// Returns whether an error means that the reader of our output has closed it.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref().map(std::io::Error::kind);
        let json = cause
            .downcast_ref()
            .and_then(serde_json::Error::io_error_kind);
        io.or(json) == Some(std::io::ErrorKind::BrokenPipe)
    })
}

/// Returns a text in this style.
fn paint(style: Style, text: impl Display) -> String {
    format!("{style}{text}{style:#}")
}

pub fn title(text: impl Display) -> String {
    paint(Style::new().bold(), text)
}

pub fn faint(text: impl Display) -> String {
    paint(Style::new().dimmed(), text)
}

/// Marks the words at `ranges` in a line, without colour, so that it is readable on any background.
pub(crate) fn mark_words(line: &str, ranges: &[Range<usize>]) -> String {
    let mark = Style::new().bold().underline();
    let mut out = String::with_capacity(line.len());
    let mut from = 0;
    for range in ranges {
        out.push_str(line.get(from..range.start).unwrap_or_default());
        let word = line.get(range.clone()).unwrap_or_default();
        out.push_str(&paint(mark, word));
        from = range.end;
    }
    out.push_str(line.get(from..).unwrap_or_default());
    out
}

/// Width for which a text is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Page {
    /// Columns of the terminal; `None` if a program reads, and lines are not wrapped.
    columns: Option<usize>,
}

impl Page {
    /// Returns the layout of a terminal with this many columns.
    #[cfg(test)]
    pub(crate) fn of(columns: usize) -> Self {
        Self {
            columns: Some(columns),
        }
    }

    pub(crate) fn stdout() -> Self {
        let size = terminal_size::terminal_size_of(std::io::stdout());
        Self {
            columns: size.map(|(width, _)| usize::from(width.0)),
        }
    }

    /// Wraps a text with folded white space: the first line begins after `first` columns, the
    /// others after `rest`. Words longer than a line are broken.
    pub(crate) fn wrap(self, text: &str, first: usize, rest: usize) -> Vec<String> {
        let text = fold_whitespace(text);
        let Some(columns) = self.columns else {
            return vec![text];
        };
        let (first, rest) = (" ".repeat(first), " ".repeat(rest));
        let lines = textwrap::wrap(&text, wrap_options(columns.max(COLUMNS_MIN), &first, &rest));
        lines.iter().map(|line| line.trim().to_owned()).collect()
    }

    /// Wraps the lines of a text that are too long, and indents what follows.
    pub(crate) fn fit(self, text: &str) -> String {
        let Some(columns) = self.columns else {
            return text.to_owned();
        };
        let columns = columns.max(COLUMNS_MIN);
        let fitting = text.lines().map(|line| {
            if textwrap::core::display_width(line) <= columns {
                return line.to_owned();
            }
            let said = line.trim_start();
            let indent = (line.len() - said.len()).min(columns / 3);
            let (first, rest) = (" ".repeat(indent), " ".repeat(indent + 2));
            textwrap::fill(&fold_whitespace(said), wrap_options(columns, &first, &rest))
        });
        fitting.collect::<Vec<_>>().join("\n")
    }

    /// Returns the columns of a line after `indent`; `otherwise` if lines are not limited.
    pub(crate) fn columns_left(self, indent: usize, otherwise: usize) -> usize {
        self.columns.map_or(otherwise, |columns| {
            columns.max(COLUMNS_MIN).saturating_sub(indent)
        })
    }

    /// Returns whether the output is a terminal.
    pub(crate) fn is_terminal(self) -> bool {
        self.columns.is_some()
    }

    /// Wraps a list of short items without breaking an item if there is room.
    pub(crate) fn wrap_items(self, items: &[String], between: &str, indent: usize) -> Vec<String> {
        const GLUE: char = '\u{e000}';
        let glued = |text: &str| text.replace(' ', GLUE.encode_utf8(&mut [0; 4]));
        let items: Vec<String> = items
            .iter()
            .map(|item| glued(&fold_whitespace(item)))
            .collect();
        let lines = self.wrap(
            &items.join(&[&glued(between), " "].concat()),
            indent,
            indent,
        );
        lines.iter().map(|line| line.replace(GLUE, " ")).collect()
    }

    /// Returns whether a text is short enough for one result.
    pub(crate) fn has_room(self, text: &str, first: usize, rest: usize) -> bool {
        match self.columns {
            Some(_) => self.wrap(text, first, rest).len() <= TEXT_LINES,
            None => text.chars().count() <= TEXT_CHARS,
        }
    }

    /// Renders a score of 0..1 as two digits, after a bar if there is room; also returns its
    /// columns.
    pub(crate) fn render_score(self, score: f32) -> (String, usize) {
        let style = if score >= 0.6 {
            AnsiColor::Green.on_default()
        } else {
            Style::new()
        };
        let digits = format!("{score:.2}");
        let (full, empty) = match self.columns {
            Some(0..BAR_FROM) => return (paint(style, digits), 4),
            Some(_) => ("\u{2588}", "\u{2591}"),
            None => ("#", "."),
        };
        let filled = (score * BAR as f32).round().clamp(0.0, BAR as f32) as usize;
        let (full, empty) = (full.repeat(filled), empty.repeat(BAR - filled));
        let bar = format!("{}{}", paint(style, full), faint(empty));
        (format!("{bar} {digits}"), BAR + 5)
    }
}

/// Returns options that break lines between words and begin them with these indents.
fn wrap_options<'a>(columns: usize, first: &'a str, rest: &'a str) -> textwrap::Options<'a> {
    textwrap::Options::new(columns)
        .initial_indent(first)
        .subsequent_indent(rest)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .wrap_algorithm(textwrap::WrapAlgorithm::FirstFit)
}

/// Most lines of one result's text; `TEXT_CHARS` is the limit if lines are not wrapped.
const TEXT_LINES: usize = 3;
const TEXT_CHARS: usize = 240;
/// Cells of a bar; `BAR_FROM` is the smallest terminal width with a bar.
const BAR: usize = 10;
const BAR_FROM: usize = 50;
/// Smallest width for which text is laid out.
const COLUMNS_MIN: usize = 24;

/// Characters of a session's name that stand for a UUID; every command takes them for it.
const SESSION_CHARS: usize = 8;
/// Fewest digits of a name that a program made of a hash.
const DIGEST_DIGITS_MIN: usize = 12;

/// Returns the form in which a session is shown: of a UUID its beginning, any other name whole.
pub(crate) fn shorten_session(name: &str) -> &str {
    let is_uuid = name.len() == 36
        && name.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        });
    if is_uuid {
        &name[..SESSION_CHARS]
    } else {
        name
    }
}

/// Returns the name under which a record is shown: one that its source gave it, unless that is
/// longer than its id or has nothing but digits: a program made that, and a hook shows the id.
pub(crate) fn choose_shown_name<'a>(id: &'a str, external: Option<&'a str>) -> &'a str {
    let is_digest = |name: &str| {
        name.len() >= DIGEST_DIGITS_MIN && name.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    // A person copies it into the next command: the name of a turn of a session has a path in it.
    let given = external.filter(|name| name.len() <= id.len() && !is_digest(name));
    given.unwrap_or(id)
}

fn fold_whitespace(text: &str) -> String {
    replace_invisible_characters(&reprise_types::to_one_line(text))
}

/// Replaces characters that would act on the terminal or reverse a line by their names.
fn replace_invisible_characters(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for part in text.split_inclusive(is_invisible) {
        let hidden = part.chars().next_back().filter(|c| is_invisible(*c));
        shown.push_str(part.strip_suffix(is_invisible).unwrap_or(part));
        shown.extend(hidden.map(|c| format!("U+{:04X}", u32::from(c))));
    }
    shown
}

/// Returns a text as one line with folded white space, cut at `columns` characters.
pub fn one_line(text: &str, columns: usize) -> String {
    let folded = fold_whitespace(text);
    if folded.chars().count() <= columns {
        return folded;
    }
    folded
        .chars()
        .take(columns.saturating_sub(3))
        .collect::<String>()
        + "..."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_left_is_known_also_behind_a_writer_of_json() {
        struct Closed;
        impl std::io::Write for Closed {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let error = anyhow::Error::from(serde_json::to_writer(Closed, &1).unwrap_err());
        assert!(is_broken_pipe(&error.context("an export")));
        let other: serde_json::Error = serde_json::from_str::<u8>("x").unwrap_err();
        assert!(!is_broken_pipe(&other.into()));
    }

    #[test]
    fn a_cause_that_was_told_is_not_told_again() {
        let denied = std::io::Error::other("access is denied");
        let told = anyhow::anyhow!("cannot open `a`: access is denied");
        let error = anyhow::Error::from(denied).context(told.to_string());
        let text =
            |error: &anyhow::Error| anstream::adapter::strip_str(&render_error(error)).to_string();
        assert_eq!(text(&error), "error: cannot open `a`: access is denied");
        let error = error.context("no backup");
        assert_eq!(
            text(&error),
            "error: no backup: cannot open `a`: access is denied"
        );
    }

    #[test]
    fn lines_are_cut_between_characters() {
        assert_eq!(one_line("a\n b", 10), "a b");
        assert_eq!(one_line("a\u{1b}[2J\u{202e}b", 80), "aU+001B[2JU+202Eb");
        assert_eq!(one_line(&"\u{65e5}".repeat(20), 10).chars().count(), 10);
    }

    #[test]
    fn texts_are_wrapped_on_words_by_what_they_take_on_the_screen() {
        let text = "the  quick brown fox\njumps over the lazy dog";
        let lines = Page::of(24).wrap(text, 8, 4);
        assert_eq!(lines, ["the quick brown", "fox jumps over the", "lazy dog"]);
        assert_eq!(Page { columns: None }.wrap(text, 8, 4).len(), 1);
        // A wide character takes two columns; a word longer than a line is broken.
        let wide = Page::of(24).wrap(&"\u{65e5}".repeat(15), 4, 4);
        assert_eq!(wide, ["\u{65e5}".repeat(10), "\u{65e5}".repeat(5)]);
    }

    #[test]
    fn lines_that_are_too_long_go_on_below() {
        let text = "short as  it is\n\n  the quick brown fox jumps over";
        let said = "short as  it is\n\n  the quick brown fox\n    jumps over";
        assert_eq!(Page::of(24).fit(text), said);
        assert_eq!(Page { columns: None }.fit(text), text);
    }

    #[test]
    fn a_session_and_a_record_have_one_short_name() {
        let uuid = "01a21432-7777-4aaa-bbbb-cccccccccccc";
        assert_eq!(shorten_session(uuid), "01a21432");
        for name in ["s-17", "the-week-before-the-move-of-the-shop", &uuid[1..]] {
            assert_eq!(shorten_session(name), name);
        }
        let id = "01JQ8Z3V5N8M6T2R4W7X9YABCD";
        assert_eq!(choose_shown_name(id, Some("ticket-17")), "ticket-17");
        assert_eq!(choose_shown_name(id, Some("aefd379e428272a8")), id);
        assert_eq!(choose_shown_name(id, Some("4711")), "4711");
        assert_eq!(choose_shown_name(id, Some(&uuid.repeat(2))), id);
        assert_eq!(choose_shown_name(id, None), id);
    }

    #[test]
    fn items_stay_whole() {
        let items = ["two days ago", "a finding", "of the shop"].map(str::to_owned);
        let lines = Page::of(28).wrap_items(&items, " |", 0);
        assert_eq!(lines, ["two days ago | a finding |", "of the shop"]);
    }

    #[test]
    fn marks_and_bars_need_no_colour() {
        let line = mark_words("a race was lost", &[2..6, 11..15]);
        assert!(line.starts_with("a \u{1b}["), "{line:?}");
        let plain = anstream::adapter::strip_str(&line).to_string();
        assert_eq!(plain, "a race was lost");
        let plain =
            |page: Page| anstream::adapter::strip_str(&page.render_score(0.62).0).to_string();
        assert_eq!(plain(Page { columns: None }), "######.... 0.62");
        assert_eq!(plain(Page::of(40)), "0.62");
        for (page, score) in [
            (Page::of(80), 1.0),
            (Page::of(80), 0.0),
            (Page::of(40), 0.3),
        ] {
            let (bar, columns) = page.render_score(score);
            let bar = anstream::adapter::strip_str(&bar).to_string();
            assert_eq!(bar.chars().count(), columns, "{bar}");
        }
    }
}
