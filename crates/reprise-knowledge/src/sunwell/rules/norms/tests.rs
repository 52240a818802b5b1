//! Sentences that set a rule by their grammar alone, and those that look like it.

use crate::sunwell::rules::is_rule;

/// What holds, and what it is told from: both have the same words of grammar.
const PAIRS: &[(&str, &str)] = &[
    (
        "Backups must not be kept without encryption.",
        "This backup must not be kept without encryption, encrypt it.",
    ),
    (
        "It is not allowed to call the mail gateway from a migration.",
        "My address is not allowed to call the mail gateway.",
    ),
    (
        "`eval` is banned outside of the sandbox.",
        "The account is banned.",
    ),
    (
        "Whenever you change the schema, regenerate the client.",
        "Whenever I change the schema, the client panics.",
    ),
    (
        "Update the lock file with every release.",
        "The lock file grows with every release.",
    ),
    (
        "Weights are grams, everywhere.",
        "The weights are gone, everywhere.",
    ),
    (
        "Invoices are only ever numbered by the database.",
        "Invoices are numbered by the database.",
    ),
    (
        "As a rule, columns get a comment.",
        "As an example, columns get a comment.",
    ),
    (
        "And generally: no abbreviations in names.",
        "And then: no abbreviation was found.",
    ),
    (
        "Nobody deploys without a second pair of eyes.",
        "Nobody sees the banner without a reload.",
    ),
    (
        "Could you add a test for it, please? That goes for every endpoint.",
        "Could you add a test for it, please? That goes wrong too often.",
    ),
    (
        "Can we agree that migrations never run without a backup?",
        "Can we agree on a name?",
    ),
    (
        "alwyas squash before a merge",
        "always the same crash before a merge",
    ),
    ("no default exports, ever", "slower than ever"),
    (
        "Vor jedem Release muss das Changelog stimmen.",
        "Vor jedem Release muss ich mich neu anmelden.",
    ),
    (
        "Passwoerter duerfen nie in Logs stehen.",
        "Die Liste darf nie leer sein.",
    ),
    (
        "Es ist verboten, aus Tests das Netz zu nutzen.",
        "Der Zugriff ist verboten.",
    ),
    (
        "Wir haben ab jetzt keine Tabs mehr, bitte nur Leerzeichen.",
        "Ab und zu haben wir keine Verbindung mehr.",
    ),
    (
        "Our policy for branches is: one per ticket.",
        "The policy of the bucket: which one is it",
    ),
];

#[test]
fn grammar_tells_a_rule_from_what_happens() {
    let missed = PAIRS.iter().filter(|(rule, _)| !is_rule(rule));
    let missed: Vec<_> = missed.map(|(rule, _)| rule).collect();
    let alarms = PAIRS.iter().filter(|(_, other)| is_rule(other));
    let alarms: Vec<_> = alarms.map(|(_, other)| other).collect();
    assert!(
        missed.is_empty() && alarms.is_empty(),
        "{missed:#?} {alarms:#?}"
    );
}

#[test]
fn what_somebody_else_says_is_no_rule_where_it_is_taken_back() {
    assert!(!is_rule(
        "My colleague says we must never use triggers, but I don't agree."
    ));
    assert!(is_rule("Security says we must never use triggers."));
}
