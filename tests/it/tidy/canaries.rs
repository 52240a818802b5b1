//! Each rule of tidiness fed a bad example, and a good one that must pass.
//!
//! One canary a rule, so that every rule has been seen to fail.

use reprise_tests::{Manifest, Source};

use super::adr::misnumbered;
use super::orphans::unreached;
use super::text::{
    RULES, complaints_of, crowded_lib, forbidden_words, headless, idle_matches, mod_file,
    names_outside, non_ascii, outside_names, too_long, wide_lines,
};

const SHIPPED: &str = "crates/reprise-store/src/log.rs";
const TEST: &str = "crates/reprise-store/src/log/tests.rs";

#[test]
fn every_rule_has_a_canary_here() {
    assert_eq!(
        RULES.len(),
        9,
        "a rule was added or taken away: so is its canary"
    );
}

#[test]
fn a_file_too_long_is_noticed() {
    assert_eq!(complaints_of(too_long, SHIPPED, &"//! x\n".repeat(601)), 1);
    assert_eq!(complaints_of(too_long, SHIPPED, &"//! x\n".repeat(600)), 0);
}

#[test]
fn a_missing_head_comment_is_noticed() {
    assert_eq!(complaints_of(headless, SHIPPED, "// not it\nfn f() {}"), 1);
    assert_eq!(complaints_of(headless, SHIPPED, ""), 1);
    assert_eq!(complaints_of(headless, SHIPPED, "//! Head.\nfn f() {}"), 0);
}

#[test]
fn a_mod_file_is_noticed() {
    assert_eq!(
        complaints_of(mod_file, "crates/reprise-store/src/log/mod.rs", ""),
        1
    );
    assert_eq!(complaints_of(mod_file, SHIPPED, ""), 0);
}

#[test]
fn code_in_lib_is_noticed() {
    let lib = "crates/reprise-store/src/lib.rs";
    let contents = "//! Head; with more.\n#![deny(x)]\nmod log;\n#[cfg(feature = \"testing\")]\n\
                    pub mod testing;\npub use log::{Log, Seq};\n";
    assert_eq!(complaints_of(crowded_lib, lib, contents), 0);
    assert_eq!(
        complaints_of(crowded_lib, lib, &format!("{contents}fn f() {{ g(); }}\n")),
        1
    );
    assert_eq!(
        complaints_of(crowded_lib, lib, "pub mod m { fn f() { g(); } }"),
        1
    );
    assert_eq!(complaints_of(crowded_lib, lib, "use log::Log;"), 1);
    assert_eq!(complaints_of(crowded_lib, SHIPPED, "fn f() {}"), 0);
}

#[test]
fn switched_off_tests_stubs_and_reminders_are_noticed() {
    for bad in [
        concat!("#[ig", "nore = \"slow\"]"),
        "#[should_panic(expected = \"x\")]",
        concat!("fn f() { todo", "!() }"),
        concat!("dbg", "!(x);"),
        concat!("unimplemented", "!();"),
        "// TODO: later",
        concat!("/// FIX", "ME(me) later"),
        concat!("/* XX", "X */"),
    ] {
        assert_eq!(complaints_of(forbidden_words, SHIPPED, bad), 1, "{bad}");
    }
    let good = "let s = \"todo! dbg! TODO\"; // a todo list";
    assert_eq!(complaints_of(forbidden_words, SHIPPED, good), 0);
}

#[test]
fn a_match_that_asserts_nothing_is_noticed() {
    let bad = "fn f() {\n    matches!(\n        g(1),\n        Err(2)\n    );\n}";
    assert_eq!(complaints_of(idle_matches, TEST, bad), 1);
    let good = "fn f() -> bool { assert!(matches!(a, B)); let b = matches!(c, D); matches!(b, E) }";
    assert_eq!(complaints_of(idle_matches, TEST, good), 0);
}

#[test]
fn a_path_outside_the_checkout_is_noticed() {
    let outside = ["/work", "shared/eval"].join("/");
    assert_eq!(
        complaints_of(outside_names, TEST, &format!("let p = \"{outside}\";")),
        1
    );
    assert_eq!(
        names_outside("docs/X.md", &["..", "shared"].join("/")).len(),
        1
    );
    assert_eq!(complaints_of(outside_names, TEST, "// shared state"), 0);
}

#[test]
fn a_wide_line_is_noticed() {
    let words = "x ".repeat(60);
    let complaints = |path, text: String| complaints_of(wide_lines, path, &text);
    assert_eq!(complaints(SHIPPED, format!("// {words}")), 1);
    assert_eq!(complaints(TEST, format!("// {words}")), 1);
    assert_eq!(complaints(SHIPPED, format!("f(\"{words}\");")), 0);
    assert_eq!(
        complaints(SHIPPED, format!("// https://x.invalid/{words}")),
        0
    );
    let row = |columns: usize| format!("f({}\"{words}\");", "1, ".repeat(columns / 3));
    assert_eq!(complaints(SHIPPED, row(60)), 1);
    assert_eq!(complaints(TEST, row(60)), 0);
    assert_eq!(complaints(TEST, row(180)), 1);
}

#[test]
fn a_character_beyond_ascii_is_noticed() {
    assert_eq!(complaints_of(non_ascii, SHIPPED, "let s = \"\u{e9}\";"), 1);
    assert_eq!(complaints_of(non_ascii, TEST, "let s = \"\u{e9}\";"), 0);
    assert_eq!(complaints_of(non_ascii, TEST, "// \u{2192}"), 1);
}

#[test]
fn a_source_that_nothing_names_is_noticed() {
    let text = "[package]\nname = \"reprise-store\"\nautotests = false\n\
                [[bench]]\nname = \"append\"\npath = \"benches/append.rs\"";
    let manifest = Manifest::parse("crates/reprise-store", text).expect("well-formed");
    let at = |path: &str, text: &str| Source::new(&format!("crates/reprise-store/{path}"), text);
    let sources = vec![
        at(
            "src/lib.rs",
            "mod log;\n#[path = \"odd/place.rs\"]\nmod odd;",
        ),
        at("src/log.rs", "#[cfg(test)] mod tests;\n// mod gone;"),
        at("src/log/tests.rs", ""),
        at("src/odd/place.rs", "mod below;"),
        at("src/odd/below.rs", ""),
        at("benches/append.rs", "mod table;"),
        at("benches/table.rs", ""),
    ];
    assert_eq!(
        unreached(std::slice::from_ref(&manifest), &sources),
        Vec::<String>::new()
    );
    let lost = ["src/log/gone.rs", "src/gone.rs", "tests/forgotten.rs"];
    let more = [sources, lost.map(|path| at(path, "")).to_vec()].concat();
    assert_eq!(unreached(&[manifest], &more).len(), lost.len());
}

#[test]
fn a_misnumbered_decision_is_noticed() {
    let page = |name: &str, title: &str| {
        let text = format!("# {title}\n\n## Context\n\n## Decision\n\n## Consequences\n");
        (name.to_owned(), text)
    };
    let zero = page("0000-template.md", "0000 Title");
    assert!(misnumbered(&[zero.clone(), page("0001-a.md", "0001 A")]).is_empty());
    assert_eq!(
        misnumbered(&[zero.clone(), page("0002-a.md", "0001 A")]).len(),
        1
    );
    assert_eq!(misnumbered(&[zero, page("0001-a.md", "A")]).len(), 1);
    assert_eq!(
        misnumbered(&[("0000-x.md".to_owned(), "# 0000 X".to_owned())]).len(),
        3
    );
    assert_eq!(misnumbered(&[]).len(), 1);
}
