//! The configuration page: the settings that people change most, as forms; and every setting that
//! is in force, where it comes from, and what it does.

use crate::page::bad_value;
use crate::prelude::*;

/// The addresses to which a saved setting comes back.
const CONFIGURATION: &str = "/care/configuration";
const AGENTS: &str = "/agents";

/// The beginning of the settings that only the builders of Reprise need.
const BUILDERS_SETTINGS: &str = "eval.";

/// What each setting does, in a line.
const SETTING_MEANINGS: [(&str, &str); 43] = [
    ("version", "The version of Reprise."),
    ("process", "The process id of the daemon."),
    ("running for", "The time since the daemon started."),
    (
        "socket",
        "The socket by which programs on this machine reach the daemon.",
    ),
    ("data", "The folder with the memories."),
    ("models", "The folder with the downloaded models."),
    ("configuration", "The file that these settings come from."),
    ("model", "Whether texts are compared by meaning."),
    (
        "user",
        "The user whose memory is used if a command names none.",
    ),
    ("serve.http", "The address for programs that use HTTP."),
    (
        "serve.idle_exit_seconds",
        "Seconds without a request after which the daemon stops.",
    ),
    (
        "serve.requests_per_second",
        "Maximum number of requests per second with one token.",
    ),
    (
        "serve.oauth",
        "The service that signs programs in over HTTP.",
    ),
    (
        "serve.otlp",
        "The address to which traces of the daemon are sent.",
    ),
    (
        "memory.tend",
        "Whether duplicates are merged and expired memories removed while the daemon is idle.",
    ),
    ("memory.model", "The model that compares texts by meaning."),
    (
        "memory.vectors",
        "Where new memories keep their vectors: in their own file, or in one of `rvf-runtime`.",
    ),
    ("memory.models", "Single users with another model."),
    (
        "memory.prompt_tokens_per_day",
        "Maximum number of tokens that hooks add to the prompts of a day.",
    ),
    (
        "memory.language",
        "Whether a model for more languages is proposed if most memories are not in English.",
    ),
    (
        "memory.redact",
        "Kinds of secrets that are redacted besides the usual ones.",
    ),
    (
        "memory.passivate_after_seconds",
        "Seconds without a request after which a memory is closed.",
    ),
    (
        "memory.open_max",
        "Maximum number of memories that are open at once.",
    ),
    (
        "memory.embedder_threads",
        "Maximum number of processor cores that the model uses.",
    ),
    (
        "planner.url",
        "The language model that plans in `reprise demo week`, if any.",
    ),
    (
        "remote.url",
        "The daemon on another machine that is used in place of this one.",
    ),
    (
        "learning.exogenous_weight",
        "How much a failure from an outside cause counts, from 0 to 1.",
    ),
    (
        "learning.implicit_weight",
        "How much a result counts if the used memories were inferred, from 0 to 1.",
    ),
    (
        "recall.reranker",
        "The model that checks the first results of a question again.",
    ),
    (
        "recall.rerank_first",
        "Maximum number of results that the reranker checks.",
    ),
    (
        "recall.rerank_ms",
        "Maximum time of the reranker for a question, in milliseconds.",
    ),
    (
        "recall.rerank_prompt_ms",
        "Maximum time of the reranker for a prompt, in milliseconds.",
    ),
    (
        "tags.aliases",
        "The number of tags that are stored under another spelling.",
    ),
    (
        "tags.known",
        "The number of tags that are preferred to new ones.",
    ),
    ("global.url", "The service for published knowledge."),
    (
        "global.scope",
        "Where a question is searched if it does not say where.",
    ),
    (
        "global.deadline_ms",
        "Maximum time that a question waits for published knowledge, in milliseconds.",
    ),
    (
        "global.hooks",
        "Whether prompts also get what others published.",
    ),
    (
        "global.hook_deadline_ms",
        "Maximum time that a prompt waits for published knowledge, in milliseconds.",
    ),
    (
        "global.allow_plain_http",
        "Whether the service for published knowledge may be reached without encryption.",
    ),
    (
        "global.local_high",
        "Your own memories with at least this score come before all published ones, from 0 to 1.",
    ),
    (
        "global.quality_high",
        "Published memories of at least this quality come before your own below \
         `global.local_high`, from 0 to 1.",
    ),
    (
        "global.token",
        "Whether a token for the service for published knowledge is set.",
    ),
];

/// How the value of a setting is chosen.
enum SettingChoice {
    /// A whole number up to this one; an empty field means `none`.
    Number { most: u32, none: &'static str },
    /// One of these values, each with its label.
    OneOf(&'static [(&'static str, &'static str)]),
}

/// A setting that can be changed here.
struct EditableSetting {
    name: &'static str,
    label: &'static str,
    meaning: &'static str,
    choice: SettingChoice,
}

const ON_OR_OFF: &[(&str, &str)] = &[("true", "yes"), ("false", "no")];

/// The settings that people change most.
const EDITABLE_SETTINGS: [EditableSetting; 6] = [
    EditableSetting {
        name: "memory.prompt_tokens_per_day",
        label: "Daily token limit",
        meaning: "Most tokens that memory adds to your agents' prompts on one day. After that, \
                  prompts get nothing until midnight.",
        choice: SettingChoice::Number {
            most: 100_000_000,
            none: "no limit",
        },
    },
    EditableSetting {
        name: "memory.tend",
        label: "Tidy up automatically",
        meaning: "Merge duplicates and remove expired memories while nobody uses the daemon. What \
                  it merged can be undone.",
        choice: SettingChoice::OneOf(ON_OR_OFF),
    },
    EditableSetting {
        name: "global.hooks",
        label: "Published knowledge in prompts",
        meaning: "Prompts also get what other users published.",
        choice: SettingChoice::OneOf(ON_OR_OFF),
    },
    EditableSetting {
        name: "global.scope",
        label: "Where questions search",
        meaning: "Where a question is searched if it does not say where.",
        choice: SettingChoice::OneOf(&[
            ("local", "your memory"),
            ("local+global", "your memory and what others published"),
            ("global", "what others published"),
        ]),
    },
    EditableSetting {
        name: "memory.language",
        label: "Model for other languages",
        meaning: "Propose a model for more languages if most memories are not in English.",
        choice: SettingChoice::OneOf(&[("auto", "propose it"), ("any", "never propose it")]),
    },
    EditableSetting {
        name: "serve.idle_exit_seconds",
        label: "Stop when unused",
        meaning: "Seconds without a request after which the daemon stops. It starts again by itself.",
        choice: SettingChoice::Number {
            most: 31_000_000,
            none: "never",
        },
    },
];

/// What holds before a saved setting does.
const RESTART: &str = "Each change is saved in the configuration file and holds from the next start \
    of the daemon:";

/// Renders one setting that can be changed, where a page is about it; saving comes back to `path`.
pub(super) fn render_setting_card(visit: &PageRequest, name: &str, path: &str) -> Markup {
    let found = EDITABLE_SETTINGS.iter().find(|one| one.name == name);
    html! {
        @if let Some(setting) = found {
            div class="card settings" {
                (render_editable_setting(visit, setting, path))
                p class="faint" { (RESTART) " " code { "reprise serve --replace" } }
            }
        }
    }
}

/// Renders the form of a setting, with what it does and what holds now.
fn render_editable_setting(visit: &PageRequest, setting: &EditableSetting, path: &str) -> Markup {
    let host = visit.page.host();
    let settings = host.settings();
    let Some(now) = settings.iter().find(|one| one.name == setting.name) else {
        return html! {};
    };
    let saved = host.saved_settings();
    let saved = saved.get(setting.name);
    // A flag or a variable of the environment is stronger than the file.
    let is_fixed = ["flag", "environment"].contains(&now.from.as_str());
    let chosen = saved.map_or(now.value.as_str(), |value| value.as_str());
    html! {
        div class="setting" id=(setting.name.replace('.', "-")) {
            div {
                h3 { (setting.label) }
                p class="why" { (setting.meaning) }
                @if saved.is_some() {
                    p class="waits" {
                        span class="chip warn" { "needs a restart" }
                        " Now: " (text::shorten(setting.choice.describe(&now.value), 60))
                        ", from the next start: " (text::shorten(setting.choice.describe(chosen), 60)) "."
                    }
                }
            }
            @if is_fixed {
                p class="faint" { "Set by a " (now.from) ": " b { (text::shorten(&now.value, 60)) } }
            } @else if visit.read_only {
                p { b { (text::shorten(setting.choice.describe(&now.value), 60)) } }
            } @else {
                (form(visit, "/care/configuration", &html! {
                    input type="hidden" name="name" value=(setting.name);
                    input type="hidden" name="path" value=(path);
                    div class="fields" {
                        (setting.choice.render(setting.label, chosen))
                        button aria-label=(format!("Save: {}", setting.label)) { "Save" }
                    }
                }))
            }
        }
    }
}

impl SettingChoice {
    /// Returns what people call a value.
    fn describe<'v>(&self, value: &'v str) -> &'v str
    where
        Self: 'static,
    {
        match self {
            Self::Number { none, .. } if value.is_empty() => none,
            Self::Number { .. } => value,
            Self::OneOf(all) => all
                .iter()
                .find(|(own, _)| *own == value)
                .map_or(value, |(_, label)| label),
        }
    }

    fn render(&self, label: &str, chosen: &str) -> Markup {
        html! {
            @match self {
                Self::Number { most, none } => {
                    input type="number" name="value" min="0" max=(most) aria-label=(label)
                        value=(if chosen.parse::<u32>().is_ok() { chosen } else { "" })
                        placeholder=(none);
                }
                Self::OneOf(all) => {
                    select name="value" aria-label=(label) {
                        @for (value, name) in *all {
                            option value=(value) selected[*value == chosen] { (name) }
                        }
                    }
                }
            }
        }
    }
}

/// Saves one of the settings that can be changed here.
pub(crate) async fn save(posted: Posted) -> PageResult<Redirect> {
    let name = posted.text("name");
    let found = EDITABLE_SETTINGS.iter().find(|one| one.name == name);
    let setting = found.ok_or_else(|| PageError::invalid(bad_value("setting", name)))?;
    let host = posted.visit.page.host();
    host.save_setting(setting.name, posted.text("value"))
        .await?;
    // Only addresses of this page are named here.
    let path = match posted.text("path") {
        AGENTS => AGENTS,
        _ => CONFIGURATION,
    };
    let place = setting.name.replace('.', "-");
    Ok(Redirect::to(&format!("{path}?done=setting#{place}")))
}

/// Shows the settings that people change most, and every setting that is in force.
pub(crate) async fn show(visit: PageRequest, pairs: QueryPairs) -> Markup {
    let settings = visit.page.host().settings();
    let file = settings.iter().find(|one| one.name == "configuration");
    let listed = table(
        "Configuration",
        &["Setting", "Value", "From", "Meaning"],
        settings
            .iter()
            .filter(|one| !one.name.starts_with(BUILDERS_SETTINGS))
            .map(|one| {
                html! {
                    td { code { (one.name) } } td { (text::shorten(&one.value, 300)) }
                    td class="faint nowrap" { (one.from) }
                    td class="faint" { (text::shorten_title(explain_setting(&one.name), 300)) }
                }
            }),
    );
    let body = html! {
        (undo::render_done_toast(&visit, pairs.get("done")))
        section class="card settings" {
            h2 { "Common settings" }
            p class="why" { (RESTART) " " code { "reprise serve --replace" } }
            @for setting in &EDITABLE_SETTINGS { (render_editable_setting(&visit, setting, CONFIGURATION)) }
        }
        section {
            h2 { "All settings" }
            p class="why" {
                "To change another setting, edit "
                code { (text::shorten(file.map_or("config.toml", |file| &file.value), 200)) }
                ", then run " code { "reprise serve --replace" } "."
            }
            (listed)
        }
    };
    render_page(&visit, CONFIGURATION, "Settings", &body)
}

/// Returns what a setting does, in a line; empty for one that is not known here.
fn explain_setting(name: &str) -> &'static str {
    let known = SETTING_MEANINGS.iter().find(|(own, _)| *own == name);
    known.map_or("", |(_, meaning)| *meaning)
}
