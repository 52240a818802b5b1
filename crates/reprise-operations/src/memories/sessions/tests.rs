//! What a hook puts into a prompt.

use reprise_types::{hostile_text, parse_timestamp, quoted_lines};

use super::*;

#[test]
fn no_memory_leaves_the_frame_of_a_hook() {
    let at = parse_timestamp("2026-02-02T09:00:00Z").unwrap();
    for seed in 0..10_000 {
        let found = [hostile_text(seed), "the clock is frozen".to_owned()];
        let found = found.map(|text| (at, RecordId::from_u128(7), text));
        let context = injected(&found, Verdict::Relevant, u128::from(seed)).context;
        let lines = quoted_lines(&context).map(|lines| lines.len());
        assert_eq!(lines, Some(3), "{seed}: {context}");
    }
}

#[test]
fn a_prompt_is_told_how_far_what_it_gets_can_be_trusted() {
    let at = parse_timestamp("2026-02-10T09:00:00Z").unwrap();
    let found = [(at, RecordId::from_u128(7), "Use the staging key".to_owned())];
    let said = |verdict| injected(&found, verdict, 1).context;
    for (verdict, expected) in [
        (Verdict::Relevant, "From earlier sessions; "),
        (Verdict::Weak, "From earlier sessions, weak matches: "),
        (
            Verdict::Nothing,
            "From earlier sessions, likely about something else: ",
        ),
    ] {
        let said = said(verdict);
        assert!(said.contains(expected), "{said}");
        assert_eq!(quoted_lines(&said).unwrap().len(), 2);
    }
    assert_eq!(injected(&[], Verdict::Nothing, 1).context, "");
}
