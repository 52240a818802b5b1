//! Notes that are plain, broken, long.

use serde_json::json;

use super::*;

#[test]
fn sections_keep_their_place_and_long_ones_are_cut_at_blank_lines() {
    let long = "A sentence of a long section.\n\n".repeat(200);
    let text = format!("intro\n\n# One\n\n## Two\n\nshort\n\n# Three\n{long}");
    let note = ParsedNote::parse(&text);
    let heads: Vec<String> = note
        .sections
        .iter()
        .map(|section| section.headings.join("/"))
        .collect();
    assert_eq!(heads[..3], ["", "One/Two", "Three"]);
    assert_eq!(
        (note.sections[1].line, note.sections[1].text.as_str()),
        (5, "short")
    );
    let whole: String = note.sections[2..]
        .iter()
        .map(|part| part.text.clone() + "\n\n")
        .collect();
    assert_eq!(whole.trim_end(), long.trim_end());
    assert!(
        note.sections
            .iter()
            .all(|part| part.text.len() <= SECTION_CHARS_MAX)
    );
}

#[test]
fn what_is_no_front_matter_is_text() {
    for text in [
        "---\nno x end",
        "---\n[1, x]\n---\nx",
        "--- x\n---\n",
        "---",
        "# x\n## y\n",
    ] {
        let note = ParsedNote::parse(text);
        assert!(note.front.is_empty(), "{text}");
        let said = |part: &NoteSection| part.headings.concat() + &part.text;
        let words: String = note.sections.iter().map(said).collect();
        assert_eq!(
            text.matches('x').count(),
            words.matches('x').count(),
            "{text:?}: {words}"
        );
    }
    let bomb: String = (0..40).fold("a0: &a0 [x, x]\n".to_owned(), |text, at| {
        let before = format!("*a{at}, ").repeat(9);
        format!("{text}a{0}: &a{0} [{before}*a{at}]\n", at + 1)
    });
    let note = ParsedNote::parse(&format!("---\n{bomb}---\nafter\n"));
    assert!(note.front.is_empty(), "a YAML bomb is text");
}

#[test]
fn a_second_front_matter_adds_to_the_first_and_text_between_rules_stays_text() {
    let head = "---\ntitle: T1\ntags: [a]\n---\n";
    for between in ["", "\n", "\r\n\n"] {
        let text =
            format!("{head}{between}---\ntitle: T2\ntags: [b]\nowner: Ann\n---\n# Head\n\nBody.\n");
        let note = ParsedNote::parse(&text);
        assert_eq!(note.front["title"], "T1");
        assert_eq!(note.front["tags"], json!(["a", "b"]));
        assert_eq!(note.front["owner"], "Ann");
        let texts: Vec<&str> = note.sections.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts.len(), 1, "{texts:?}");
        assert!(texts[0].contains("Body."), "{texts:?}");
    }
    let note = ParsedNote::parse(&format!("{head}---\nImportant: read this\n---\nBody.\n"));
    // A line above a rule is a heading.
    let all = format!("{:?}", note.sections);
    assert!(
        all.contains("Important: read this") && all.contains("Body."),
        "{all}"
    );
    assert!(!note.front.contains_key("Important"));
}
