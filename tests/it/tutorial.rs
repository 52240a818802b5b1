//! The tutorial and the pages on the commands, line by line, as their reader would type them.

use std::fs;
use std::path::Path;
use std::process::Command;

use reprise_tests::find_reprise_binary;

/// Runs a page of the guide. Data and sockets are in `place`, and so are the folders that the
/// variables of `also` name.
fn page(name: &str, place: &Path, also: &[(&str, &str)]) {
    let path = place.display().to_string();
    let cases = trycmd::TestCases::new();
    cases
        .register_bin("reprise", find_reprise_binary().expect("reprise is built"))
        .env("REPRISE_DATA_DIR", format!("{path}/data"))
        .env("XDG_RUNTIME_DIR", &path)
        .env("TZ", "UTC")
        .env("NO_COLOR", "1");
    for (variable, folder) in also {
        cases.env(*variable, format!("{path}/{folder}"));
    }
    cases.case(format!("../../docs/guide/{name}.md"));
    cases.run();
}

#[test]
fn every_line_of_the_tutorial_does_what_it_says() {
    let place = tempfile::tempdir().expect("a temporary directory");
    page("tutorial", place.path(), &[]);
}

#[test]
fn every_command_does_what_its_page_shows() {
    for name in [
        "commands",
        "commands-agents",
        "commands-care",
        "tidy",
        "rules",
    ] {
        let place = tempfile::tempdir().expect("a temporary directory");
        // No model is there, and the reader's own configurations are left alone.
        let also = [("HOME", "home"), ("XDG_CACHE_HOME", "cache")];
        page(name, place.path(), &also);
    }
}

/// The steps of a page's examples in order: what is typed into a shell, and what it prints.
fn shell_steps(page: &str) -> Vec<(String, String)> {
    let mut steps: Vec<(String, String)> = Vec::new();
    // Every second part is between two fences; the first line of a block may name its language.
    for block in page.split("```").skip(1).step_by(2) {
        let lines = block.lines().skip(1);
        if !block.lines().nth(1).unwrap_or_default().starts_with("$ ") {
            continue;
        }
        for line in lines {
            if let Some(typed) = line.strip_prefix("$ ") {
                steps.push((typed.to_owned(), String::new()));
            } else {
                let printed = &mut steps.last_mut().expect("typed before").1;
                printed.extend([line, "\n"]);
            }
        }
    }
    steps
}

/// Returns a text with its white space folded: a page breaks long lines where it likes.
fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns whether a step printed what the page shows, where `[..]` and `...` stand for anything.
fn is_as_shown(shown: &str, printed: &str) -> bool {
    let shown = fold(&shown.replace("...", "[..]"));
    let printed = fold(printed);
    let pieces: Vec<&str> = shown.split("[..]").map(str::trim).collect();
    let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else {
        return false;
    };
    let mut rest = printed.as_str();
    for piece in &pieces {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    printed.starts_with(first) && printed.ends_with(last)
}

/// Types the examples of a page into a shell that begins in `place`, and holds what is printed
/// against the page. A step without output shown is only done.
fn type_into_shell(name: &str, place: &Path, before: &str) {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let page = fs::read_to_string(guide.join(format!("{name}.md"))).expect("the page");
    let binary = find_reprise_binary().expect("reprise is built");
    let folder = binary.parent().expect("it is in a folder");
    let path = std::env::var("PATH").expect("a search path");
    let mut faults = Vec::new();
    let run = |typed: &str| {
        let ran = Command::new("sh")
            .args(["-c", &format!("exec 2>&1; {typed}")])
            .current_dir(place)
            .env("PATH", format!("{}:{path}", folder.display()))
            .env("XDG_RUNTIME_DIR", place)
            .env("REPRISE_DATA_DIR", place.join("data"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("EDITOR", "sed -i s/draft/agreed/")
            .env("NO_COLOR", "1")
            .output();
        String::from_utf8_lossy(&ran.expect("a shell").stdout).into_owned()
    };
    run(before);
    let steps = shell_steps(&page);
    assert!(!steps.is_empty(), "{name} has no examples");
    for (typed, shown) in steps {
        let printed = run(&typed);
        if !shown.is_empty() && !is_as_shown(&shown, &printed) {
            faults.push(format!(
                "$ {typed}\n--- shown\n{shown}--- printed\n{printed}"
            ));
        }
    }
    assert!(faults.is_empty(), "{name}:\n{}", faults.join("\n"));
}

#[test]
fn the_examples_of_the_pages_on_learning_and_workspaces_are_what_is_printed() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let notes = guide.join("tutorial.in/notes.jsonl");
    let notes = format!("reprise ingest --no-model --jsonl {}", notes.display());
    type_into_shell("learning", place.path(), &notes);

    let place = tempfile::tempdir().expect("a temporary directory");
    let shop = place.path().join("shop");
    fs::create_dir(&shop).expect("it is made");
    let repository = "git init -q -b master . && git config user.name Ada && \
        git config user.email ada@example.com && echo 'Prices are in cents.' > notes.md";
    type_into_shell("workspace", &shop, repository);
}

#[test]
fn what_a_page_shows_is_held_against_what_is_printed() {
    assert!(is_as_shown("as [..]\nunder x\n", "as 12\nunder x"));
    assert!(is_as_shown("...\na  b\n...\n", "z\na b\nc"));
    assert!(!is_as_shown("as [..]\nunder x\n", "as 12\nbeside x"));
    assert!(!is_as_shown(
        "1 outcome recorded\n",
        "1 outcome recorded\nand more"
    ));
    let steps = shell_steps("t\n```\n$ a\nb\n$ c\n```\n```toml\nx = 1\n```\n");
    assert_eq!(
        steps,
        [("a".into(), "b\n".into()), ("c".into(), String::new())]
    );
}
