//! The commands that `connect` and the plugins write into the settings of programs, which run at
//! every prompt: they are parsed without the tree of all commands. Whatever else is typed is left
//! to that tree.

use std::num::NonZeroU16;

use reprise_server::HookProgram;
use reprise_types::UserId;

use super::{Common, HookArguments, WhoseArguments};
use crate::env;

/// Seconds that a daemon may be silent, as in the tree of commands.
const PATIENCE: NonZeroU16 = NonZeroU16::MIN.saturating_add(4);

/// A command that runs at every prompt.
#[derive(Debug)]
pub(crate) enum WrittenCommand {
    Hook(HookArguments),
    StatusLine(WhoseArguments),
}

/// Parses the words after the program's name; `None` if they are not what is written there, or if
/// the environment has a say in them. Plugins name no user, so that it is `find_user`'s.
pub(crate) fn parse_written(
    words: &[&str],
    find_user: impl FnOnce() -> Option<UserId>,
) -> Option<(Common, WrittenCommand)> {
    let (data, rest) = split_option(words, "--data-dir");
    let (models, rest) = split_option(rest, "--models-dir");
    let (config, rest) = split_option(rest, "--config");
    let (named, rest) = match rest {
        [name, "--user", user] => (Some(user), vec![*name]),
        [name, event, "--user", user, rest @ ..] => (Some(user), [&[*name, *event], rest].concat()),
        rest => (None, rest.to_vec()),
    };
    let always = [env::MODELS_DIR, env::CONFIG, env::DAEMON_PATIENCE];
    let unnamed = [
        (data.is_none(), env::DATA_DIR),
        (named.is_none(), env::USER),
    ];
    let unnamed = unnamed.into_iter().filter(|(is_unnamed, _)| *is_unnamed);
    let overrides = always.into_iter().chain(unnamed.map(|(_, name)| name));
    if overrides.into_iter().any(env::is_set) {
        return None;
    }
    let find_user = || match named {
        Some(user) => user.parse().ok(),
        None => Some(find_user().unwrap_or_default()),
    };
    let command = match rest[..] {
        ["statusline"] => WrittenCommand::StatusLine(WhoseArguments { user: find_user()? }),
        ["hook", event] => parse_hook_words(event, find_user, HookProgram::ClaudeCode)?,
        ["hook", event, "--program", program] => {
            parse_hook_words(event, find_user, program.parse().ok()?)?
        }
        _ => return None,
    };
    let common = Common {
        data_dir: data.map(Into::into),
        models_dir: models.map(Into::into),
        config: config.map(Into::into),
        json: false,
        no_model: false,
        no_daemon: false,
        daemon_patience: PATIENCE,
    };
    Some((common, command))
}

/// Splits off an option with its value, if the words begin with it.
fn split_option<'w, 'a>(words: &'w [&'a str], name: &str) -> (Option<&'a str>, &'w [&'a str]) {
    match words {
        [first, value, rest @ ..] if *first == name => (Some(*value), rest),
        rest => (None, rest),
    }
}

fn parse_hook_words(
    event: &str,
    find_user: impl FnOnce() -> Option<UserId>,
    program: HookProgram,
) -> Option<WrittenCommand> {
    let event = event.parse().ok()?;
    Some(WrittenCommand::Hook(HookArguments {
        event,
        whose: WhoseArguments { user: find_user()? },
        program,
        text: false,
        deadline_ms: None,
    }))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::{Arguments, Command};
    use super::*;

    /// What both parsers make of words, as text.
    fn parse_both(words: &[&str]) -> [String; 2] {
        let written = parse_written(words, || None);
        let (common, command) = written.expect("these words are written");
        let command = match command {
            WrittenCommand::Hook(arguments) => Command::Hook(arguments),
            WrittenCommand::StatusLine(whose) => Command::Statusline(whose),
        };
        let all = std::iter::once(&"reprise").chain(words);
        let tree = Arguments::try_parse_from(all).expect("the tree knows these words");
        [
            format!("{:?}", Arguments { common, command }),
            format!("{tree:?}"),
        ]
    }

    #[test]
    fn what_connect_writes_is_parsed_as_the_tree_of_commands_does() {
        let data = ["--data-dir", "/data"];
        let named = ["--data-dir", "/data", "--config", "/a b/c.toml"];
        for options in [&data[..], &named, &[]] {
            for command in [
                &["statusline", "--user", "ada"][..],
                &["hook", "session-start", "--user", "ada"],
                &["hook", "user-prompt", "--user", "ada", "--program", "codex"],
                &["hook", "user-prompt", "--program", "codex"],
                &["hook", "stop"],
            ] {
                let [written, tree] = parse_both(&[options, command].concat());
                assert_eq!(written, tree);
            }
        }
    }

    #[test]
    fn what_names_no_user_is_the_configured_users() {
        let find = || Some("ada".parse().unwrap());
        let (_, command) = parse_written(&["hook", "stop"], find).unwrap();
        let WrittenCommand::Hook(arguments) = command else {
            panic!("{command:?}");
        };
        assert_eq!(arguments.whose.user.as_str(), "ada");
    }

    #[test]
    fn anything_else_is_left_to_the_tree() {
        for words in [
            &["hook", "stop", "--text"][..],
            &["hook", "stop", "--program"],
            &["hook", "--user", "ada"],
            &["hook"],
            &["--data-dir", "/data", "hook", "nothing", "--user", "ada"],
            &["--data-dir", "/data", "hook", "stop", "--user", "../ada"],
            &[
                "--data-dir",
                "/data",
                "hook",
                "stop",
                "--user",
                "ada",
                "--text",
            ],
            &["--data-dir", "/data", "recall", "x"],
            &["--data-dir"],
            &[],
        ] {
            assert!(parse_written(words, || None).is_none(), "{words:?}");
        }
    }
}
