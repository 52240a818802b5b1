//! Recall and false alarms of the rules on the labelled suite. `cargo bench -p reprise-redact`
//! prints the figures.

use reprise_redact::testing::{drawn, forms, innocent, is_clean};
use reprise_redact::{Rules, RulesError};

const SEEDS: std::ops::Range<u64> = 1..6;

fn built_in() -> Result<Rules, RulesError> {
    Rules::from_toml(include_str!("../src/rules.toml"))
}

#[test]
fn of_a_hundred_secrets_ninety_eight_go() {
    let rules = built_in().unwrap();
    let [held_out, beside] = forms();
    assert!(held_out.len() >= 100 && held_out.len() + beside.len() >= 400);
    for forms in [held_out, beside] {
        let all: Vec<_> = forms
            .iter()
            .flat_map(|form| SEEDS.map(|seed| drawn(form, seed)))
            .collect();
        let missed: Vec<&str> = all
            .iter()
            .filter(|labelled| !is_clean(&rules, labelled))
            .map(|labelled| labelled.text.as_str())
            .collect();
        let most = all.len() * 2 / 100;
        assert!(
            missed.len() <= most,
            "{} of {} stay:\n{}",
            missed.len(),
            all.len(),
            missed.join("\n")
        );
    }
}

#[test]
fn of_a_thousand_innocent_lines_one_is_touched_at_most() {
    let rules = built_in().unwrap();
    let lines = innocent();
    assert!(lines.len() >= 3_000);
    let touched: Vec<&&str> = lines
        .iter()
        .filter(|line| !rules.redact(line).removed.is_empty())
        .collect();
    assert!(touched.len() * 1_000 <= lines.len(), "{touched:#?}");
}

#[test]
fn the_suite_holds_what_it_says() {
    let labelled = drawn("a \u{ab}ghp_{w4}\u{bb} b\\nc \u{ab}{l3}\u{bb}", 7);
    assert_eq!(labelled.secrets.len(), 2);
    assert!(labelled.text.starts_with("a ghp_") && labelled.text.contains("\nc "));
    assert_eq!(labelled.secrets[0].len(), 8);
    let nothing = Rules::from_toml(
        "token = []\nshape = []\nphrase = []\nname = []\n[suffixes]\nwords = []\n\
         [placeholders]\nwords = []\nsaid = []",
    );
    assert!(
        !is_clean(&nothing.unwrap(), &labelled),
        "rules that find nothing leave it"
    );
    assert!(forms().iter().flatten().all(|form| form.contains('\u{ab}')));
}

/// Removing any rule misses a form that only it finds, or touches a line that only it protects.
#[test]
fn no_rule_can_be_taken_away_unnoticed() {
    let page: toml_edit::DocumentMut = include_str!("../src/rules.toml").parse().unwrap();
    let all = built_in().unwrap();
    let drawn = forms().concat().into_iter().map(|form| drawn(form, 1));
    let found: Vec<_> = drawn.filter(|labelled| is_clean(&all, labelled)).collect();
    let untouched = innocent().into_iter();
    let untouched: Vec<_> = untouched
        .filter(|line| all.redact(line).removed.is_empty())
        .collect();
    let mut unnoticed = Vec::new();
    for table in ["token", "shape", "phrase", "name"] {
        for place in 0..page[table].as_array_of_tables().unwrap().len() {
            let mut without = page.clone();
            let rules = without[table].as_array_of_tables_mut().unwrap();
            let rule = rules.get(place).unwrap().to_string();
            rules.remove(place);
            let rules = Rules::from_toml(&without.to_string()).unwrap();
            let missed = found.iter().any(|labelled| !is_clean(&rules, labelled));
            let touched = || {
                untouched
                    .iter()
                    .any(|line| !rules.redact(line).removed.is_empty())
            };
            if !missed && (table != "name" || !touched()) {
                unnoticed.push(format!("[[{table}]]\n{rule}"));
            }
        }
    }
    assert!(
        unnoticed.is_empty(),
        "{}:\n{}",
        unnoticed.len(),
        unnoticed.join("\n")
    );
}
