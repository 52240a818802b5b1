//! Notes that are plain, broken, long.

use super::*;

#[test]
fn sections_keep_their_place_and_long_ones_are_cut_at_blank_lines() {
    let long = "A sentence of a long section.\n\n".repeat(200);
    let text = format!("intro\n\n# One\n\n## Two\n\nshort\n\n# Three\n{long}");
    let note = Note::read(&text);
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
        let note = Note::read(text);
        assert!(note.front.is_empty(), "{text}");
        let said = |part: &Section| part.headings.concat() + &part.text;
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
    let note = Note::read(&format!("---\n{bomb}---\nafter\n"));
    assert!(note.front.is_empty(), "a YAML bomb is text");
}
