//! What the parts of a score are called, and what each means: the names of the engine's signals
//! are for programs.

/// The name of each part in an answer, its name for people, and what it means.
const SIGNALS: [(&str, &str, &str); 27] = [
    ("base_rate", "starting value", "equal for every memory"),
    (
        "doubt",
        "doubt",
        "equal for every memory: the question fits none well",
    ),
    (
        "meaning",
        "meaning",
        "how close the text is in meaning to the question",
    ),
    (
        "meaning_of_short_turn",
        "meaning of a short turn",
        "how close a short text is in meaning, which says less",
    ),
    ("words", "words", "rare words of the question in the text"),
    (
        "words_of_short_turn",
        "words of a short turn",
        "rare words of the question in a short text",
    ),
    (
        "coverage",
        "words covered",
        "share of the question's words in the text",
    ),
    (
        "same_text",
        "same text",
        "the text says hardly more than the question",
    ),
    (
        "near_meaning",
        "meaning nearby",
        "meaning of the messages before and after it",
    ),
    (
        "near_words",
        "words nearby",
        "words of the messages before and after it",
    ),
    (
        "near_coverage",
        "words covered nearby",
        "share of the words in those messages",
    ),
    (
        "session_words",
        "words of its session",
        "words in the rest of its session",
    ),
    (
        "session_meaning",
        "meaning of its session",
        "meaning of the rest of its session",
    ),
    (
        "own_words",
        "said by the person",
        "a person's own words; a prompt's only if asked for",
    ),
    (
        "asked_of_assistant",
        "said by the agent",
        "the question asks what the agent said",
    ),
    ("speaker", "speaker", "the question names who said it"),
    (
        "standing_instruction",
        "standing instruction",
        "the text tells agents what to do always",
    ),
    (
        "substance",
        "length",
        "very short texts say little and count less",
    ),
    (
        "time_asked",
        "time in the question",
        "the question names the time of this memory",
    ),
    (
        "time_told",
        "time in the text",
        "the question asks when, and the text names a time",
    ),
    (
        "unknown_context",
        "a statement, not talk",
        "the text is part of no conversation",
    ),
    (
        "steps_of_run",
        "steps of its run",
        "other steps of its run fit the question",
    ),
    (
        "asked_before",
        "asked before",
        "it answered the question before this one",
    ),
    (
        "asked_type",
        "asked type",
        "the question asks for a memory of this type",
    ),
    (
        "named",
        "named",
        "the question names it, for example by a file, a tag or an id",
    ),
    (
        "newer",
        "newer",
        "of two memories that contradict each other, the newer one",
    ),
    (
        "second_judge",
        "second model",
        "whether a second model takes it for an answer",
    ),
];

/// Returns what a part of a score is called, and what it means, as the rest of a sentence; of a
/// part that is not known here, its own name and nothing.
#[must_use]
pub fn describe_signal(name: &str) -> (String, &'static str) {
    let known = SIGNALS.iter().find(|(own, ..)| *own == name);
    known.map_or_else(
        || (name.replace('_', " "), ""),
        |(_, called, meaning)| ((*called).to_owned(), *meaning),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::Ada;

    #[tokio::test]
    async fn each_part_of_a_score_has_a_meaning_and_a_new_one_its_own_name() {
        let ada = Ada::new().await;
        let lesson = json!({ "text": "the timeout of the gateway is thirty seconds" });
        ada.call("learn", lesson).await;
        let asked = json!({ "query": "which timeout has the gateway" });
        let found = ada.call("recall", asked).await;
        let signals = found["results"][0]["why"]["signals"].as_array().unwrap();
        let unknown: Vec<_> = signals
            .iter()
            .filter(|one| describe_signal(one["name"].as_str().unwrap()).1.is_empty())
            .collect();
        assert!(signals.len() >= 18 && unknown.is_empty(), "{unknown:?}");
        assert_eq!(describe_signal("some_part"), ("some part".to_owned(), ""));
    }
}
