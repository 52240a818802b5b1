//! A Rust source seen three ways: as code, as comments, and with its string literals emptied.
//!
//! The one lexer the rules share, so that a rule never fires on its own description. Blanked
//! characters become spaces, so lines and columns stay.

/// One source text, split by what its characters are.
#[derive(Debug, Clone)]
pub struct Masked {
    /// Code only: comments and the contents of literals are spaces.
    pub code: String,
    /// Comments only: all else is spaces.
    pub comments: String,
    /// Everything but the contents of string and character literals.
    pub without_literals: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Code,
    Comment,
    Literal,
}

impl Masked {
    /// Splits `text`. An unterminated literal or comment runs to the end of the text.
    pub fn of(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let parts = parts_of(&chars);
        let keep = |wanted: &dyn Fn(Part) -> bool| -> String {
            chars
                .iter()
                .zip(&parts)
                .map(|(&c, &part)| if c == '\n' || wanted(part) { c } else { ' ' })
                .collect()
        };
        Self {
            code: keep(&|part| part == Part::Code),
            comments: keep(&|part| part == Part::Comment),
            without_literals: keep(&|part| part != Part::Literal),
        }
    }
}

fn parts_of(chars: &[char]) -> Vec<Part> {
    let mut parts = vec![Part::Code; chars.len()];
    let mut at = 0;
    while at < chars.len() {
        let (part, from, to, next) = step(chars, at);
        if part != Part::Code {
            let end = to.min(chars.len());
            parts
                .get_mut(from.min(end)..end)
                .into_iter()
                .flatten()
                .for_each(|slot| *slot = part);
        }
        at = next;
    }
    parts
}

/// What starts at `at`: its part, the span to mark, and where to go on.
fn step(chars: &[char], at: usize) -> (Part, usize, usize, usize) {
    let here = char_at(chars, at);
    let next = char_at(chars, at + 1);
    if here == '/' && next == '/' {
        let end = find(chars, at, |i| char_at(chars, i) == '\n');
        return (Part::Comment, at, end, end);
    }
    if here == '/' && next == '*' {
        let end = block_comment_end(chars, at);
        return (Part::Comment, at, end, end);
    }
    if here == '"' {
        let end = quoted_end(chars, at + 1, '"');
        return (Part::Literal, at + 1, end, end + 1);
    }
    if let Some((from, end, after)) = raw_string(chars, at) {
        return (Part::Literal, from, end, after);
    }
    if here == '\'' && is_char_literal(chars, at) {
        let end = quoted_end(chars, at + 1, '\'');
        return (Part::Literal, at + 1, end, end + 1);
    }
    (Part::Code, at, at, at + 1)
}

fn char_at(chars: &[char], at: usize) -> char {
    chars.get(at).copied().unwrap_or('\0')
}

fn find(chars: &[char], from: usize, hit: impl Fn(usize) -> bool) -> usize {
    (from..chars.len()).find(|&i| hit(i)).unwrap_or(chars.len())
}

fn block_comment_end(chars: &[char], from: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = from;
    while at < chars.len() {
        match (char_at(chars, at), char_at(chars, at + 1)) {
            ('/', '*') => {
                depth += 1;
                at += 2;
            }
            ('*', '/') => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    chars.len()
}

fn quoted_end(chars: &[char], from: usize, quote: char) -> usize {
    let mut at = from;
    while at < chars.len() {
        match char_at(chars, at) {
            '\\' => at += 2,
            c if c == quote => return at,
            _ => at += 1,
        }
    }
    chars.len()
}

/// `r"..."`, `r#"..."#`, `br"..."`, `cr"..."`: contents' start and end, and what follows.
fn raw_string(chars: &[char], at: usize) -> Option<(usize, usize, usize)> {
    if char_at(chars, at) != 'r' {
        return None;
    }
    let before = at.checked_sub(1).map_or(' ', |i| char_at(chars, i));
    let prefixed = matches!(before, 'b' | 'c') && {
        let further = at.checked_sub(2).map_or(' ', |i| char_at(chars, i));
        !further.is_alphanumeric() && further != '_'
    };
    if (before.is_alphanumeric() || before == '_') && !prefixed {
        return None;
    }
    let open = find(chars, at + 1, |i| char_at(chars, i) != '#');
    let hashes = open - at - 1;
    if char_at(chars, open) != '"' {
        return None;
    }
    let closes =
        |i: usize| char_at(chars, i) == '"' && (1..=hashes).all(|n| char_at(chars, i + n) == '#');
    let end = find(chars, open + 1, closes);
    Some((open + 1, end, end + 1 + hashes))
}

/// Tells `'x'` and `'\n'` from a lifetime.
fn is_char_literal(chars: &[char], at: usize) -> bool {
    char_at(chars, at + 1) == '\\' || char_at(chars, at + 2) == '\''
}

#[cfg(test)]
mod tests {
    use super::Masked;

    #[test]
    fn strings_comments_and_code_are_told_apart() {
        let masked = Masked::of("let a = \"x // y\"; // z \"q\"\nb('\"', 'l: 'c')");
        assert_eq!(masked.code, "let a = \"      \";         \nb(' ', 'l: ' ')");
        assert_eq!(masked.comments.trim(), "// z \"q\"");
    }

    #[test]
    fn raw_strings_escapes_and_nested_comments_end_where_rust_ends_them() {
        let masked = Masked::of("r#\"a\"b\"#; \"\\\"c\"; br\"d\" /* e /* f */ g */ h; for_r\"i\"");
        assert_eq!(
            masked.code.split_whitespace().collect::<String>(),
            "r#\"\"#;\"\";br\"\"h;for_r\"\""
        );
        assert!(masked.comments.contains("g */"));
    }

    #[test]
    fn an_open_literal_runs_to_the_end() {
        assert_eq!(Masked::of("a \"b c").code, "a \"   ");
        assert_eq!(Masked::of("a /* b").code, "a     ");
        assert_eq!(Masked::of("a \"b\\").code, "a \"  ");
    }
}
