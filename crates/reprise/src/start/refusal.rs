//! What is said of a command line that is refused: one sentence that says what was wrong, with
//! which word, and what to type. The parser's own messages have several lines and name no command.

use std::error::Error as _;
use std::ffi::OsStr;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use reprise_operations::find_meant_name;

use super::explain_unknown_command;
use crate::cli;

/// Commands whose words are a text, in which a word may begin like an option.
const TEXT_COMMANDS: [&str; 3] = ["recall", "learn", "edit"];
/// Commands that take a project as an option, and that people type as a word.
const PROJECT_COMMANDS: [&str; 2] = ["pause", "resume"];

/// Commands that take an empty value: it empties what a memory has or tells others, or a program
/// wrote it.
const EMPTY_COMMANDS: [&str; 4] = ["edit", "hook", "publish", "statusline"];

/// Returns the sentence about an option with an empty value, which would choose all or none; `None`
/// if there is no such option.
pub(crate) fn explain_empty_option(
    matches: &ArgMatches,
    command: &Command,
) -> Option<anyhow::Error> {
    let empty = command.get_arguments().find_map(|argument| {
        let (id, long) = (argument.get_id().as_str(), argument.get_long()?);
        let is_typed = matches.try_contains_id(id).is_ok()
            && matches.value_source(id) == Some(ValueSource::CommandLine);
        let mut values = matches
            .try_get_raw(id)
            .ok()
            .flatten()
            .filter(|_| is_typed)?;
        let is_blank = |value: &OsStr| value.to_str().is_some_and(|text| text.trim().is_empty());
        values.any(is_blank).then_some(long)
    });
    if let Some(long) = empty {
        return Some(anyhow::anyhow!(
            "`--{long}` is empty; give it a value, or leave it out"
        ));
    }
    let (name, below) = matches.subcommand()?;
    let command = command.find_subcommand(name)?;
    if EMPTY_COMMANDS.contains(&name) {
        return None;
    }
    explain_empty_option(below, command)
}

/// Returns an error without the name of the operation whose arguments it refuses: the person typed
/// a command, which may have another name.
pub(crate) fn without_operation_name(error: anyhow::Error) -> anyhow::Error {
    let said = error.to_string();
    let rest = said.strip_prefix("wrong arguments for `");
    match rest.and_then(|rest| rest.split_once("`: ")) {
        Some((_, said)) => anyhow::anyhow!("{said}"),
        None => error,
    }
}

/// Returns the sentence about an error of the parser, which refused the words of this process.
pub(crate) fn explain(error: &clap::Error, mut tree: Command) -> anyhow::Error {
    tree.build();
    let words = std::env::args_os().skip(1);
    let words: Vec<String> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    explain_words(error, &tree, &words)
}

/// Returns the sentence about an error of the parser, which refused these words.
fn explain_words(error: &clap::Error, tree: &Command, words: &[String]) -> anyhow::Error {
    let refused = RefusedLine::new(error, tree, words);
    anyhow::anyhow!(refused.explain().unwrap_or_else(|| refused.explain_rest()))
}

/// A command line that was refused.
struct RefusedLine<'a> {
    error: &'a clap::Error,
    tree: &'a Command,
    words: &'a [String],
    /// The command that was typed, and the names of those above it.
    command: &'a Command,
    path: Vec<&'a str>,
}

impl<'a> RefusedLine<'a> {
    fn new(error: &'a clap::Error, tree: &'a Command, words: &'a [String]) -> Self {
        let (mut command, mut path) = (tree, Vec::new());
        let mut words_left = words.iter();
        while let Some(word) = words_left.next() {
            if let Some(option) = word.strip_prefix("--") {
                let takes_value = |one: &Arg| one.get_action().takes_values();
                if find_option(command, option).is_some_and(takes_value) {
                    words_left.next();
                }
                continue;
            }
            let Some(below) = command.find_subcommand(word) else {
                break;
            };
            command = below;
            path.push(below.get_name());
        }
        Self {
            error,
            tree,
            words,
            command,
            path,
        }
    }

    /// Returns the command as it is typed.
    fn typed(&self) -> String {
        let name = self.command.get_bin_name();
        name.unwrap_or(self.command.get_name()).to_owned()
    }

    fn text_of(&self, kind: ContextKind) -> Option<&'a str> {
        match self.error.get(kind)? {
            ContextValue::String(word) => Some(word),
            ContextValue::Strings(words) => words.first().map(String::as_str),
            _ => None,
        }
    }

    /// Returns the values that an option takes, as they are typed.
    fn list_values(&self) -> Vec<&'a str> {
        match self.error.get(ContextKind::ValidValue) {
            Some(ContextValue::Strings(values)) => values.iter().map(String::as_str).collect(),
            _ => Vec::new(),
        }
    }

    fn explain(&self) -> Option<String> {
        match self.error.kind() {
            ErrorKind::InvalidSubcommand => self.explain_subcommand(),
            ErrorKind::UnknownArgument => self.explain_word(),
            ErrorKind::MissingRequiredArgument => self.explain_missing(),
            ErrorKind::MissingSubcommand => {
                let (typed, known) = (self.typed(), name_subcommands(self.command));
                Some(format!("`{typed}` needs one of its commands: {known}"))
            }
            ErrorKind::InvalidValue => self.explain_value(),
            ErrorKind::ValueValidation => self.explain_refused_value(),
            ErrorKind::ArgumentConflict => self.explain_conflict(),
            ErrorKind::WrongNumberOfValues | ErrorKind::TooFewValues => self.explain_count(),
            ErrorKind::TooManyValues | ErrorKind::NoEquals => {
                let option = self.text_of(ContextKind::InvalidArg)?;
                let value = self.text_of(ContextKind::InvalidValue).unwrap_or_default();
                Some(format!(
                    "`{option}` does not take `{value}`; leave it out, or put quotes around a \
                     value with spaces"
                ))
            }
            ErrorKind::InvalidUtf8 => {
                Some("one of the words is not UTF-8; type it in UTF-8".to_owned())
            }
            _ => None,
        }
    }

    /// The first line of the parser's own words, which end with what to do.
    fn explain_rest(&self) -> String {
        let said = self.error.to_string();
        let said = said.lines().next().unwrap_or_default();
        let said = said.trim_start_matches("error: ");
        format!("{said}; `{} --help` says what it takes", self.typed())
    }

    fn explain_subcommand(&self) -> Option<String> {
        let word = self.text_of(ContextKind::InvalidSubcommand)?;
        if self.path.is_empty() {
            let similar = match self.error.get(ContextKind::SuggestedSubcommand) {
                Some(ContextValue::Strings(names)) => {
                    let begins = |name: &&String| name.chars().next() == word.chars().next();
                    names.iter().rev().find(begins)
                }
                _ => None,
            };
            let similar = similar.map(String::as_str);
            return Some(explain_unknown_command(word, similar));
        }
        let typed = self.typed();
        if self.path == ["tags"] && word == "list" {
            return Some(format!(
                "`tags` has no command `{word}`; `{typed}` alone lists the tags"
            ));
        }
        let mut options = self.command.get_arguments();
        if options.any(|option| option.get_long() == Some(word)) {
            return Some(format!(
                "`{typed}` has no command `{word}`, but an option of that name: `{typed} --{word}`"
            ));
        }
        let names = self.command.get_subcommands().map(Command::get_name);
        let names: Vec<&str> = names.collect();
        let similar = find_meant_name(word, names.iter().copied());
        let similar = similar.map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"));
        let known = name_subcommands(self.command);
        Some(format!(
            "`{typed}` has no command `{word}`{similar}; its commands are {known}"
        ))
    }

    fn explain_word(&self) -> Option<String> {
        let word = self.text_of(ContextKind::InvalidArg)?;
        if let Some(said) = self.explain_misplaced_word(word) {
            return Some(said);
        }
        let typed = self.typed();
        let Some(option) = word.strip_prefix("--").or(word.strip_prefix('-')) else {
            let is_of_project = self
                .path
                .last()
                .is_some_and(|name| PROJECT_COMMANDS.contains(name));
            return Some(if is_of_project {
                format!("`{typed}` takes its project as an option; type `{typed} --project {word}`")
            } else {
                format!("`{typed}` takes no `{word}`; `{typed} --help` says what it takes")
            });
        };
        let known = list_options(self.command);
        let option = option.split('=').next().unwrap_or_default();
        let similar = find_meant_name(option, known.iter().copied());
        let similar =
            similar.map_or_else(String::new, |known| format!(" (did you mean `--{known}`?)"));
        let is_text = self
            .path
            .first()
            .is_some_and(|name| TEXT_COMMANDS.contains(name));
        Some(if is_text {
            format!(
                "unknown option `{word}`{similar}; if it is part of the text, put `--` before the \
                 text"
            )
        } else if self.path.is_empty() {
            format!("there is no option `{word}`{similar}; `{typed} help --all` lists them")
        } else {
            format!("`{typed}` has no option `{word}`{similar}; `{typed} --help` lists them")
        })
    }

    /// Explains a negative number in the place of a value, and an option of a command before its
    /// name.
    fn explain_misplaced_word(&self, word: &str) -> Option<String> {
        let at = self.words.iter().position(|other| other == word);
        let before = at.and_then(|at| at.checked_sub(1));
        let before = before.and_then(|at| self.words.get(at));
        if word.parse::<i64>().is_ok()
            && let Some(option) = before.filter(|before| before.starts_with("--"))
        {
            return Some(format!(
                "`{word}` is no value for `{option}`; give a number that is not negative"
            ));
        }
        let (at, long) = (at?, word.strip_prefix("--")?);
        if !self.path.is_empty() {
            return None;
        }
        let after = self.words.iter().enumerate().skip(at + 1);
        let mut commands =
            after.filter_map(|(place, name)| Some((place, self.tree.find_subcommand(name)?)));
        let (place, command) = commands.next()?;
        let (name, option) = (command.get_name(), self.words.get(at..place)?.join(" "));
        find_option(command, long)?;
        Some(format!(
            "write `{word}` after the command: `{} {name} {option}`",
            self.tree.get_name()
        ))
    }

    fn explain_missing(&self) -> Option<String> {
        match self.path.as_slice() {
            ["forget"] => {
                return Some(
                    "nothing to forget is named; give an ID, --external-id, --session, --before, \
                     --tag, --project or --everything"
                        .to_owned(),
                );
            }
            ["outcome"] => {
                let known = name_subcommands(self.command);
                return Some(format!(
                    "`outcome` needs --jsonl FILE with finished runs, or one of its commands: \
                     {known}"
                ));
            }
            ["connect"] => return Some(explain_missing_agent()),
            _ => {}
        }
        let missing = match self.error.get(ContextKind::InvalidArg)? {
            ContextValue::Strings(missing) => missing.clone(),
            ContextValue::String(one) => vec![one.clone()],
            _ => return None,
        };
        let missing: Vec<String> = missing.iter().map(|one| format!("`{one}`")).collect();
        let (typed, missing) = (self.typed(), missing.join(" and "));
        Some(format!(
            "`{typed}` needs {missing}; type `{}`",
            self.render_usage()
        ))
    }

    /// Returns the first form in which the command is typed.
    fn render_usage(&self) -> String {
        let usage = self.command.clone().render_usage().to_string();
        let first = usage.lines().next().unwrap_or_default();
        let first = first.trim_start_matches("Usage:").replace(" [OPTIONS]", "");
        first.trim().to_owned()
    }

    fn explain_value(&self) -> Option<String> {
        let option = name_option(self.text_of(ContextKind::InvalidArg)?);
        let value = self.text_of(ContextKind::InvalidValue).unwrap_or_default();
        let expected = list_choices(&self.list_values());
        Some(match (value, expected) {
            ("", Some(expected)) => format!("`{option}` needs a value; give {expected}"),
            ("", None) => format!(
                "`{option}` needs a value; `{} --help` says which",
                self.typed()
            ),
            (value, Some(expected)) => {
                format!("`{value}` is no value for `{option}`; give {expected}")
            }
            (value, None) => format!(
                "`{value}` is no value for `{option}`; `{} --help` says which there are",
                self.typed()
            ),
        })
    }

    fn explain_refused_value(&self) -> Option<String> {
        let option = self.text_of(ContextKind::InvalidArg)?;
        let value = self.text_of(ContextKind::InvalidValue)?;
        let refusal = self.error.source()?.to_string();
        if let Some(expected) = describe_expected_value(&refusal) {
            return Some(format!("`{value}` is no value for `{option}`; {expected}"));
        }
        let words: Vec<&str> = refusal.split('`').skip(3).step_by(2).collect();
        if refusal.starts_with("unknown variant")
            && let Some(expected) = list_choices(&words)
        {
            return Some(format!(
                "`{value}` is no value for `{option}`; give {expected}"
            ));
        }
        if let Some((given, range)) = refusal.split_once(" is not in ")
            && given == value
        {
            let range = range.replace("..=", " to ").replace("..", " or more");
            return Some(format!(
                "`{value}` is no value for `{option}`; give a number from {range}"
            ));
        }
        Some(format!("`{option}`: {refusal}"))
    }

    fn explain_conflict(&self) -> Option<String> {
        if self.path == ["show"] {
            return Some("`reprise show` takes one ID; show one memory at a time".to_owned());
        }
        let one = name_option(self.text_of(ContextKind::InvalidArg)?);
        let other = self.text_of(ContextKind::PriorArg).map(name_option);
        Some(match other {
            Some(other) if other == one => format!("`{one}` is given twice; give it once"),
            Some(other) => format!("`{one}` and `{other}` exclude each other; give one of the two"),
            None => format!(
                "`{one}` does not go with the rest; `{} --help` says what does",
                self.typed()
            ),
        })
    }

    fn explain_count(&self) -> Option<String> {
        let option = self.text_of(ContextKind::InvalidArg)?;
        let number = |kind| match self.error.get(kind)? {
            ContextValue::Number(number) => Some(*number),
            _ => None,
        };
        let needed = number(ContextKind::ExpectedNumValues).or(number(ContextKind::MinValues))?;
        let given = number(ContextKind::ActualNumValues)?;
        Some(format!(
            "`{option}` needs {needed} values, and {given} came; give all of them after it"
        ))
    }
}

/// Returns the option of this name, of the command itself or of all commands.
fn find_option<'c>(command: &'c Command, name: &str) -> Option<&'c Arg> {
    let name = name.split('=').next()?;
    let mut options = command.get_arguments();
    options.find(|option| {
        let others = option.get_all_aliases().unwrap_or_default();
        option.get_long() == Some(name) || others.contains(&name)
    })
}

/// Lists the options of a command that its help shows.
fn list_options(command: &Command) -> Vec<&str> {
    let shown = command.get_arguments().filter(|one| !one.is_hide_set());
    shown.filter_map(Arg::get_long).collect()
}

/// Returns an option without the names of its values.
fn name_option(option: &str) -> &str {
    let end = option.find([' ', '=']).filter(|_| option.starts_with('-'));
    end.map_or(option, |end| &option[..end])
}

/// Lists the commands below a command.
fn name_subcommands(command: &Command) -> String {
    let below = command.get_subcommands();
    let below = below.filter(|one| !one.is_hide_set() && one.get_name() != "help");
    let names: Vec<&str> = below.map(Command::get_name).collect();
    names.join(", ")
}

/// Joins values as in `a, b or c`; `None` if there is none.
fn list_choices(values: &[&str]) -> Option<String> {
    match values {
        [] => None,
        [only] => Some((*only).to_owned()),
        [others @ .., last] => Some(format!("{} or {last}", others.join(", "))),
    }
}

/// Returns what to write instead of a value that the standard library refused with these words.
fn describe_expected_value(refusal: &str) -> Option<&'static str> {
    Some(match refusal {
        "invalid digit found in string"
        | "cannot parse integer from empty string"
        | "number too large to fit in target type" => "give a whole number",
        "invalid float literal" | "cannot parse float from empty string" => "give a number",
        "invalid socket address syntax" => "give an address and a port, such as 127.0.0.1:7341",
        _ => return None,
    })
}

/// Names the agents that can be connected, those of this machine first.
fn explain_missing_agent() -> String {
    let here = cli::list_agents_here();
    if here.is_empty() {
        return "`connect` needs the name of an agent, and none is found here; `reprise connect \
                --help` lists all that can be connected"
            .to_owned();
    }
    format!(
        "`connect` needs the name of an agent; on this machine are {}, and `reprise setup` connects \
         all of them",
        here.join(", ")
    )
}

#[cfg(test)]
mod tests;
