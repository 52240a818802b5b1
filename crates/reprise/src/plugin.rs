//! Commands that are programs of their own, as git and cargo have them: `reprise global` runs
//! `reprise-global`, `reprise workspace` runs `reprise-workspace`. Here is also what such a program
//! is given: flags, settings, output, exit codes, and the store of published knowledge.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};

use clap::error::ErrorKind;
use clap::{ArgMatches, Command, FromArgMatches};

pub use crate::args::{CatalogueCommand, Common, since};
pub use crate::cli::store::{DIMENSIONS, make_folder, open_for_reading};
pub use crate::cli::{Context, Exit, confirm, input, note, output, runtime};
use crate::printer::print_failure;
pub use crate::printer::{stderr, stdout};
use crate::start::refusal;
use crate::terminal::is_broken_pipe;
pub use crate::terminal::one_line;
use crate::{args, config, process_limits, trace};

/// Names of variables of the environment, and what it says of the person at the machine.
pub mod env {
    use std::os::unix::fs::MetadataExt;

    pub use crate::env::{DATABASE_URL, USER, user_name};

    /// Returns who acts at this machine, for a log: the name, or the number of a user without one.
    pub fn operator_name() -> String {
        let name = user_name();
        if !name.is_empty() {
            return name;
        }
        let process = fs_err::metadata("/proc/self").ok();
        process.map_or_else(
            || "unknown".to_owned(),
            |process| format!("uid-{}", process.uid()),
        )
    }
}

/// Texts as a terminal shows them.
pub mod terminal {
    pub use crate::terminal::{faint, one_line, render_error, title};
}

/// Published knowledge as `reprise` itself reaches it.
pub mod global {
    pub use crate::cli::global::{PUBLISHED, embedded, folder, open, run, vectors};
    pub use crate::outbound::document_fetcher;
}

/// A command that is a program of its own.
#[derive(Debug)]
pub(crate) struct Plugin {
    name: &'static str,
    about: &'static str,
    /// Package that `cargo install` takes it from.
    package: &'static str,
}

/// Encrypts and opens backups and exports; no command of its own.
pub(crate) const SEAL: Plugin = Plugin {
    name: "seal",
    about: "",
    package: "reprise-seal",
};

/// Works on governed workspaces, and serves them to the daemon.
pub(crate) const WORKSPACE: Plugin = Plugin {
    name: "workspace",
    about: "Let agents change files in git under rules and human approval",
    package: "reprise-workspace-cli",
};

const PLUGINS: [Plugin; 2] = [
    Plugin {
        name: "global",
        about: "Run a server where a team shares memories",
        package: "reprise-global-cli",
    },
    WORKSPACE,
];

/// Adds the plug-ins to the commands that help, manual and completions list.
pub(crate) fn add_plugins(command: Command) -> Command {
    PLUGINS.iter().fold(command, |command, plugin| {
        let listed = Command::new(plugin.name).about(plugin.about);
        command.subcommand(listed.after_help(plugin.program()))
    })
}

/// Finds the plug-in that is asked for, with the words for it: all but its own name. For
/// `help NAME` they ask for its help.
pub(crate) fn find_requested_plugin(
    command: &Command,
    words: impl Iterator<Item = OsString>,
) -> Option<(&'static Plugin, Vec<OsString>)> {
    let mut words: Vec<OsString> = words.skip(1).collect();
    let mut at = position_of_plugin_name(command, &words, 0)?;
    let asks_help = words[at] == "help";
    if asks_help {
        words.remove(at);
        at = position_of_plugin_name(command, &words, at)?;
    }
    let plugin = PLUGINS.iter().find(|plugin| words[at] == plugin.name)?;
    words.remove(at);
    if asks_help {
        words.push("--help".into());
    }
    Some((plugin, words))
}

/// Position of the first word that is neither a global option nor the value of one.
fn position_of_plugin_name(command: &Command, words: &[OsString], from: usize) -> Option<usize> {
    let takes_value = |word: &str| {
        let options = command.get_arguments();
        let options = options.filter(|option| option.get_action().takes_values());
        let mut options = options.filter_map(|option| option.get_long());
        word.strip_prefix("--")
            .is_some_and(|word| options.any(|option| option == word))
    };
    let mut at = from;
    while let Some(word) = words.get(at) {
        let word = word.to_str()?;
        if !word.starts_with('-') {
            return Some(at);
        }
        at += if takes_value(word) { 2 } else { 1 };
    }
    None
}

/// Finds the program of a plug-in; the error says how to get it.
pub(crate) fn find(plugin: &Plugin) -> anyhow::Result<PathBuf> {
    let found = crate::env::find_program(&plugin.program());
    found.ok_or_else(|| plugin.missing())
}

impl Plugin {
    /// Name of its program.
    fn program(&self) -> String {
        ["reprise-", self.name].concat()
    }

    /// Replaces this process by its program; returns only if that is missing or does not start.
    pub(crate) fn run(&self, words: Vec<OsString>) -> ExitCode {
        let error = find(self).map_or_else(
            |missing| missing,
            |program| {
                let failed = process::Command::new(&program).args(words).exec();
                anyhow::anyhow!("`{}` does not start: {failed}", program.display())
            },
        );
        print_failure(&error);
        Exit::Failed.into()
    }

    /// The sentence about a program that is not installed.
    fn missing(&self) -> anyhow::Error {
        let (program, package) = (self.program(), self.package);
        anyhow::anyhow!(
            "this needs the program `{program}`, which is not installed; the Debian package and \
             the image contain it, and from a checkout `cargo install --path crates/{package}` \
             installs it"
        )
    }
}

/// Runs a plug-in with the words of this process: its flags, settings and exit codes are those of
/// `reprise`.
pub fn main<A: FromArgMatches>(
    command: Command,
    common: impl FnOnce(&A) -> &Common,
    carry_out: impl FnOnce(&Context, A) -> anyhow::Result<Exit>,
) -> ExitCode {
    process_limits::prepare_process();
    let command = args::shorten_global_options(command);
    let mut command = match config::find_configured_user(std::env::args_os()) {
        Some(user) => args::with_default_user(command, user.leak()),
        None => command,
    };
    let mut parse = || -> Result<A, clap::Error> {
        let matches: ArgMatches = command.try_get_matches_from_mut(std::env::args_os())?;
        A::from_arg_matches(&matches)
    };
    let arguments = match parse() {
        Ok(arguments) => arguments,
        Err(error) if is_answered_by_help(&error) => error.exit(),
        Err(error) => {
            print_failure(&refusal::explain(&error, command));
            return Exit::Failed.into();
        }
    };
    crate::env::restart_without_telemetry();
    let run = || {
        process_limits::check_address_space()?;
        let context = Context::new(common(&arguments).clone())?;
        let _tracing = trace::start_for_command()?;
        carry_out(&context, arguments)
    };
    let exit = run().unwrap_or_else(|error| {
        if is_broken_pipe(&error) {
            return Exit::Success;
        }
        print_failure(&error);
        Exit::Failed
    });
    exit.into()
}

/// Returns whether the parser has an answer, and no refusal.
fn is_answered_by_help(error: &clap::Error) -> bool {
    let is_bare = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    is_bare || !error.use_stderr()
}

/// Writes the manual of a program, a page for each command, into a folder.
pub fn write_manual(command: Command, folder: &Path) -> anyhow::Result<Exit> {
    fs_err::create_dir_all(folder)?;
    clap_mangen::generate_to(command, folder)?;
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_of(line: &str) -> Option<(&'static str, Vec<String>)> {
        let words = line.split_whitespace().map(OsString::from);
        let (plugin, words) = find_requested_plugin(&args::build_command(), words)?;
        let words = words.iter().map(|word| word.to_string_lossy().into_owned());
        Some((plugin.name, words.collect()))
    }

    #[test]
    fn a_plug_in_gets_every_word_but_its_name() {
        let given = |line, words: &[&str]| {
            let words = words.iter().map(ToString::to_string).collect();
            assert_eq!(words_of(line), Some(("global", words)), "{line}");
        };
        given("reprise global", &[]);
        given(
            "reprise --json global token list",
            &["--json", "token", "list"],
        );
        given(
            "reprise --data-dir global global serve --http x",
            &["--data-dir", "global", "serve", "--http", "x"],
        );
        given(
            "reprise --data-dir=a global audit",
            &["--data-dir=a", "audit"],
        );
        given("reprise help global serve", &["serve", "--help"]);
        assert_eq!(words_of("reprise recall global"), None);
        assert_eq!(words_of("reprise --data-dir global"), None);
    }
}
