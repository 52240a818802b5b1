//! Every command with words that the parser refuses: what is said is one sentence of ours.

use super::*;
use crate::args::build_command;

/// Beginnings of the parser's own messages.
const OWN_WORDS: [&str; 12] = [
    "error:",
    "tip:",
    "Usage:",
    "possible values",
    "For more information",
    "unexpected argument",
    "unrecognized subcommand",
    "invalid value",
    "were not provided",
    "none was supplied",
    "unknown variant",
    "in string",
];

/// Returns what is said of these words; `None` if they are not refused.
fn refuse(tree: &mut Command, words: &[&str]) -> Option<String> {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    let line = std::iter::once("reprise".to_owned()).chain(words.clone());
    let error = tree.try_get_matches_from_mut(line).err()?;
    let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    (error.use_stderr() && !is_help).then(|| explain_words(&error, tree, &words).to_string())
}

/// Lists the words of every command.
fn list_commands(command: &Command, path: &[String], all: &mut Vec<(Vec<String>, Command)>) {
    for below in command.get_subcommands() {
        let path = [path, &[below.get_name().to_owned()]].concat();
        list_commands(below, &path, all);
        all.push((path, below.clone()));
    }
}

#[test]
fn whatever_is_typed_wrong_is_refused_by_one_sentence_that_says_what_to_do() {
    let mut tree = build_command();
    tree.build();
    let mut commands = Vec::new();
    list_commands(&tree, &[], &mut commands);
    let mut refused = 0;
    for (path, command) in &commands {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let mut tried: Vec<Vec<&str>> =
            vec![vec![], vec!["--wrong"], vec!["wrong", "wrong", "wrong"]];
        for option in own_options(command) {
            tried.push(vec![option]);
            tried.push(vec![option, "\u{2603}"]);
            tried.push(vec![option, ""]);
            tried.push(vec![option, "-7"]);
            tried.push(vec![option, "1", option, "2"]);
        }
        for words in tried {
            let words = [&path, &words[..]].concat();
            let Some(said) = refuse(&mut tree, &words) else {
                continue;
            };
            refused += 1;
            assert_eq!(said.lines().count(), 1, "{words:?}: {said}");
            for own in OWN_WORDS {
                assert!(!said.contains(own), "{words:?}: {said}");
            }
            let is_advice = [";", " needs ", ": "]
                .iter()
                .any(|mark| said.contains(mark));
            assert!(is_advice, "{words:?}: {said}");
        }
    }
    assert!(refused > commands.len() * 2, "{refused}");
}

/// Lists the options of a command, without those of all commands, as they are typed.
fn own_options(command: &Command) -> Vec<&'static str> {
    let own = command.get_arguments().filter(|one| !one.is_global_set());
    let own = own.filter_map(Arg::get_long);
    own.map(|name| &*String::leak(["--", name].concat()))
        .collect()
}

#[test]
fn a_refusal_names_the_command_the_word_and_what_to_type() {
    let mut tree = build_command();
    tree.build();
    for (words, expected) in [
        (
            &["doctor", "tydy"][..],
            "`reprise doctor` has no command `tydy` (did you mean `tidy`?); its commands are check, tidy",
        ),
        (
            &["doctor", "tidy", "--dry-rn"],
            "`reprise doctor tidy` has no option `--dry-rn` (did you mean `--dry-run`?); `reprise doctor tidy --help` lists them",
        ),
        (
            &["doctor", "tidy", "--nope"],
            "`reprise doctor tidy` has no option `--nope`; `reprise",
        ),
        (
            &["stats", "all"],
            "`reprise stats` takes no `all`; `reprise stats --help` says what it takes",
        ),
        (
            &["pause", "."],
            "`reprise pause` takes its project as an option; type `reprise pause --project .`",
        ),
        (
            &["tags", "link"],
            "`reprise tags link` needs `<FROM>` and `<TO>`; type `reprise tags link <FROM> <TO>",
        ),
        (
            &["outcome", "explain", "x"],
            "`reprise outcome explain` needs `<RECORD>`; type",
        ),
        (&["list", "--limit"], "`--limit` needs a value"),
        (
            &["connect", "--scope", "x"],
            "`x` is no value for `--scope`; give user or project",
        ),
        (
            &["connect", "emacs"],
            "`emacs` is no value for `<AGENT>`; give claude-code, codex",
        ),
        (
            &["list", "--type", "gossip"],
            "`--type <TYPE>`: `gossip` is not a known type; use one of note",
        ),
        (
            &["ingest", "x", "--group", "99"],
            "`99` is no value for `--group <N>`; give a number from 1 to 64",
        ),
        (
            &["tags", "--merge", "a"],
            "`--merge <FROM> <INTO>` needs 2 values, and 1 came",
        ),
        (
            &["tags", "--review", "--merge", "a", "b"],
            "exclude each other; give one of the two",
        ),
        (
            &["list", "--limit", "1", "--limit", "2"],
            "`--limit` is given twice; give it once",
        ),
        (
            &["branch", "frok"],
            "`reprise branch` has no command `frok` (did you mean `fork`?)",
        ),
        (
            &["tags", "merge", "a", "b"],
            "`reprise tags` has no command `merge`, but an option of that name: `reprise tags --merge`",
        ),
        (
            &["hook", "nope"],
            "`<EVENT>`: the events are session-start, user-prompt",
        ),
    ] {
        let said = refuse(&mut tree, words).unwrap_or_default();
        assert!(said.contains(expected), "{words:?}: {said}");
    }
}

/// Lists the options of a command that take a value, with a value that each may have.
fn list_value_options(command: &Command) -> Vec<String> {
    let takes = |one: &&Arg| one.get_action().takes_values() && !one.is_positional();
    let options = command.get_arguments().filter(takes);
    options
        .filter_map(|one| one.get_long())
        .map(str::to_owned)
        .collect()
}

#[test]
fn an_option_with_an_empty_value_is_refused_wherever_the_parser_takes_it() {
    let mut tree = build_command();
    tree.build();
    let mut commands = Vec::new();
    list_commands(&tree, &[], &mut commands);
    let (mut refused, mut taken) = (0, Vec::new());
    for (path, command) in &commands {
        for long in list_value_options(command) {
            for value in ["", " "] {
                let option = format!("--{long}={value}");
                let line = std::iter::once("reprise".to_owned()).chain(path.clone());
                let tree = tree.clone();
                let built = std::cell::RefCell::new(tree);
                let matches = built
                    .borrow_mut()
                    .try_get_matches_from_mut(line.chain([option.clone()]));
                let Ok(matches) = matches else {
                    refused += 1;
                    continue;
                };
                match explain_empty_option(&matches, &built.borrow()) {
                    Some(said) => {
                        assert!(said.to_string().contains(&format!("--{long}")), "{said}");
                        refused += 1;
                    }
                    None => taken.push(format!("{} {option}", path.join(" "))),
                }
            }
        }
    }
    taken.retain(|line| !EMPTY_COMMANDS.iter().any(|name| line.starts_with(name)));
    assert!(refused > 400, "{refused}");
    assert!(taken.is_empty(), "{taken:#?}");
}
