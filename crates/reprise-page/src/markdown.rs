//! Renders the Markdown in stored texts: headings, lists, quotes, code, and nothing that acts.
//! Anything else stays as it was written, line by line. An address is shown as text, without a
//! link.

use maud::{Markup, html};

use crate::text;

enum Block<'a> {
    Heading(&'a str),
    Items(bool, Vec<&'a str>),
    Quote(Vec<&'a str>),
    Code(Vec<&'a str>),
    Plain(Vec<&'a str>),
}

/// Renders a whole text.
pub(crate) fn render(source: &str) -> Markup {
    html! {
        @for block in parse_blocks(source) {
            @match block {
                Block::Heading(line) => { h3 dir="auto" { (render_inline(line)) } }
                Block::Items(false, items) => {
                    ul dir="auto" { @for item in items { li { (render_inline(item)) } } }
                }
                Block::Items(true, items) => {
                    ol dir="auto" { @for item in items { li { (render_inline(item)) } } }
                }
                Block::Quote(lines) => {
                    blockquote class="text" dir="auto" { (render_inline(&lines.join("\n"))) }
                }
                Block::Code(lines) => {
                    pre dir="auto" { code { (text::render_revealed(&lines.join("\n"))) } }
                }
                Block::Plain(lines) => { p class="text" dir="auto" { (render_inline(&lines.join("\n"))) } }
            }
        }
    }
}

fn parse_item(line: &str) -> Option<(bool, &str)> {
    let line = line.trim_start();
    if let Some(rest) = line.strip_prefix("- ").or_else(|| line.strip_prefix("* ")) {
        return Some((false, rest));
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = line.get(digits..)?.strip_prefix(". ")?;
    (1..4).contains(&digits).then_some((true, rest))
}

fn parse_heading(line: &str) -> Option<&str> {
    let depth = line.bytes().take_while(|byte| *byte == b'#').count();
    let rest = line.get(depth..)?.strip_prefix(' ')?;
    (1..7).contains(&depth).then_some(rest)
}

fn parse_blocks(source: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut lines = source.split('\n');
    let mut is_new = true;
    while let Some(line) = lines.next() {
        if let Some(fence) = ["```", "~~~"].into_iter().find(|it| line.starts_with(it)) {
            // A fence without an end contains the rest.
            let code = lines.by_ref().take_while(|line| line.trim_end() != fence);
            blocks.push(Block::Code(code.collect()));
            is_new = true;
            continue;
        }
        if line.trim().is_empty() {
            is_new = true;
            continue;
        }
        let quoted = line.strip_prefix("> ");
        match (
            blocks.last_mut(),
            parse_item(line),
            parse_heading(line),
            quoted,
        ) {
            (_, _, Some(content), _) => {
                blocks.push(Block::Heading(content));
                is_new = true;
                continue;
            }
            (Some(Block::Items(own, items)), Some((numbered, content)), ..) if *own == numbered => {
                items.push(content);
            }
            (_, Some((numbered, content)), ..) => {
                blocks.push(Block::Items(numbered, vec![content]));
            }
            (Some(Block::Quote(lines)), _, _, Some(content)) if !is_new => lines.push(content),
            (.., Some(content)) => blocks.push(Block::Quote(vec![content])),
            (Some(Block::Plain(lines)), ..) if !is_new => lines.push(line),
            _ => blocks.push(Block::Plain(vec![line])),
        }
        is_new = false;
    }
    blocks
}

/// Renders `code` and **strong**; everything else stays as it was written.
fn render_inline(line: &str) -> Markup {
    let mut parts = Vec::new();
    let mut rest = line;
    while let Some((at, mark)) = find_mark(rest) {
        let (before, from) = rest.split_at(at);
        let inner = from.get(mark.len()..).unwrap_or_default();
        let Some(end) = inner.find(mark).filter(|end| *end > 0) else {
            let (upto, after) = rest.split_at(at + mark.len());
            parts.push((upto, ""));
            rest = after;
            continue;
        };
        parts.push((before, ""));
        parts.push((inner.get(..end).unwrap_or_default(), mark));
        rest = inner.get(end + mark.len()..).unwrap_or_default();
    }
    parts.push((rest, ""));
    html! {
        @for (part, mark) in parts {
            @match mark {
                "`" => { code { (text::render_revealed(part)) } }
                "**" => { strong { (text::render_revealed(part)) } }
                _ => (text::render_revealed(part)),
            }
        }
    }
}

fn find_mark(text: &str) -> Option<(usize, &'static str)> {
    let mut at = 0;
    loop {
        at += text.get(at..)?.find(['`', '*'])?;
        let from = text.get(at..)?;
        let mut marks = ["`", "**"].into_iter();
        if let Some(mark) = marks.find(|mark| from.starts_with(mark)) {
            return Some((at, mark));
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_markdown_is_formed_and_nothing_of_it_acts() {
        let source = "# Head\n\nPlain `a<b` and **so**\nnext\n- one\n- two\n1. first\n> said\n\
                      ```sh\n<script>x</script>\n```\n[a](javascript:alert(1)) <img src=x>\n\
                      ``` open";
        let shown = render(source).into_string();
        for part in [
            "<h3 dir=\"auto\">Head</h3>",
            "Plain <code>a&lt;b</code> and <strong>so</strong>\nnext",
            "<li>one</li><li>two</li>",
            "<ol dir=\"auto\"><li>first</li></ol>",
            "<code>&lt;script&gt;x&lt;/script&gt;</code>",
            "[a](javascript:alert(1)) &lt;img",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert!(!shown.contains("<script") && !shown.contains("<img") && !shown.contains("href"));
    }

    #[test]
    fn marks_that_nobody_closes_are_text_and_nothing_is_lost() {
        for source in ["a ` b", "** a", "``", "****", "`a", "1.5 s", "#tag", "-5"] {
            let shown = render_inline(source).into_string();
            assert_eq!(shown, source, "{source}");
        }
        let many = "`**".repeat(20_000);
        assert!(render_inline(&many).into_string().len() >= many.len() / 3);
    }
}
