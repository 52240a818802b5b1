//! The configuration page: every setting that is in force, where it comes from, and what it does.

use crate::prelude::*;

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

/// Shows every setting that is in force, and where it comes from.
pub(crate) async fn show_configuration(visit: PageRequest) -> Markup {
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
                    td { (one.name) } td { (text::shorten(&one.value, 300)) }
                    td class="faint nowrap" { (one.from) }
                    td class="faint" { (explain_setting(&one.name)) }
                }
            }),
    );
    let body = html! {
        p class="why" {
            "To change a setting, edit "
            code { (text::shorten(file.map_or("config.toml", |file| &file.value), 200)) }
            ", then run " code { "reprise serve --replace" } "."
        }
        (listed)
    };
    render_page(&visit, "/care/configuration", "Settings", &body)
}

/// Returns what a setting does, in a line; empty for one that is not known here.
fn explain_setting(name: &str) -> &'static str {
    let known = SETTING_MEANINGS.iter().find(|(own, _)| *own == name);
    known.map_or("", |(_, meaning)| *meaning)
}
