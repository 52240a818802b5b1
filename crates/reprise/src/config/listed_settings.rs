//! The settings that are listed for people, with their defaults.

use std::path::Path;

use reprise_embed::Variant;
use reprise_types::RecallScope;

use super::model::LanguageProposal;
use super::{Config, ModelName, VectorsChoice};

impl Config {
    /// Lists the other settings as name, value and default; for tokens only whether they are set.
    pub(crate) fn list_other_settings(&self) -> Vec<(&'static str, Option<String>, &'static str)> {
        fn setting_row(
            name: &'static str,
            value: Option<impl ToString>,
            default: &'static str,
        ) -> (&'static str, Option<String>, &'static str) {
            (name, value.map(|value| value.to_string()), default)
        }
        let several = |count: usize| Some(count).filter(|count| *count > 0);
        let (memory, recall, learning) = (&self.memory, &self.recall, &self.learning);
        let (tags, global) = (&self.tags, &self.global);
        let model = Some(&memory.model).filter(|model| **model != ModelName::default());
        let model = model.map(ModelName::name);
        let reranker = recall.reranker.as_deref().map(Path::display);
        let vectors = (memory.vectors == VectorsChoice::RvfRuntime).then_some("rvf-runtime");
        let (idle, threads) = (memory.passivate_after_seconds, memory.embedder_threads);
        let (exogenous, implicit) = (learning.exogenous_weight, learning.implicit_weight);
        let plain_http = global.allow_plain_http.then_some(true);
        let has_token = global.token.is_some() || !global.tokens.is_empty();
        let daily_tokens = memory.prompt_tokens_per_day;
        let language = (memory.language == LanguageProposal::Any).then_some("any");
        let redact = Some(memory.redact.join(", ")).filter(|kinds| !kinds.is_empty());
        let scope = Some(global.scope).filter(|scope| *scope != RecallScope::default());
        let scope = scope.map(RecallScope::name);
        let own_store = "the data directory's own store";
        vec![
            setting_row("memory.tend", memory.tend, "true"),
            setting_row("memory.model", model, Variant::default().name()),
            setting_row("memory.passivate_after_seconds", idle, "600"),
            setting_row("memory.models", several(memory.models.len()), "none"),
            setting_row("planner.url", self.planner.url.as_ref(), "none"),
            setting_row("eval.answer.url", self.eval.answer.url.as_ref(), "none"),
            setting_row("eval.judge.url", self.eval.judge.url.as_ref(), "none"),
            setting_row("remote.url", self.remote.url.as_ref(), "none"),
            setting_row("memory.prompt_tokens_per_day", daily_tokens, "no limit"),
            setting_row("memory.language", language, "auto"),
            setting_row("memory.redact", redact, "none besides the usual kinds"),
            setting_row("memory.open_max", memory.open_max, "256"),
            setting_row("memory.vectors", vectors, "log"),
            setting_row("memory.embedder_threads", threads, "one a core"),
            setting_row("learning.exogenous_weight", exogenous, "0.25"),
            setting_row("learning.implicit_weight", implicit, "0.5"),
            setting_row("recall.reranker", reranker, "none"),
            setting_row("recall.rerank_first", recall.rerank_first, "8"),
            setting_row("recall.rerank_ms", recall.rerank_ms, "150"),
            setting_row("recall.rerank_prompt_ms", recall.rerank_prompt_ms, "60"),
            setting_row("tags.aliases", several(tags.aliases.len()), "none"),
            setting_row("tags.known", several(tags.known.len()), "none"),
            setting_row("global.url", global.url.as_ref(), own_store),
            setting_row("global.allow_plain_http", plain_http, "false"),
            setting_row("global.scope", scope, RecallScope::default().name()),
            setting_row("global.deadline_ms", global.deadline_ms, "400"),
            setting_row("global.hooks", global.hooks.then_some(true), "false"),
            setting_row("global.hook_deadline_ms", global.hook_deadline_ms, "150"),
            setting_row("global.local_high", global.local_high, "0.6"),
            setting_row("global.quality_high", global.quality_high, "0.7"),
            setting_row("global.token", has_token.then_some("set"), "none"),
        ]
    }
}
