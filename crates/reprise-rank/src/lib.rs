//! Ranks what was found: reads a question, turns the measures of each candidate into signals and
//! these into one probability, decides the order, and says why each result is in the answer.
//!
//! Nothing here reads a memory. The caller, who has one, measures its candidates
//! ([`MeasuredCandidate`]), has them scored ([`Fusion::fuse_candidates`]) and ordered
//! ([`decide_order`]), and reads back those that are chosen.

mod answer;
mod candidate;
mod explain;
mod external_hits;
mod fuse;
mod logits;
mod names;
mod order;
mod question;
mod signals;

#[cfg(test)]
mod tests;

pub use answer::context::{build_context_block, context_candidate_count, estimate_tokens};
pub use answer::excerpt::{excerpt, sentence_ranges};
pub use answer::judgements::{apply_judgements, is_first_settled, texts_to_judge};
pub use answer::merge_wordings::merge_wordings;
pub use answer::{decide_shown, judge_relevance, remove_sensitive};
pub use candidate::{
    MeasuredCandidate, Nearness, OutcomeMeasures, SignalContext, compute_evidence,
};
pub use explain::{ExplainedQuestion, ResultFacts, Surroundings, WeighedWord, is_mostly_unknown};
pub use external_hits::{CorpusStats, ExternalHit, ScoredHit};
pub use fuse::scored::ScoredCandidate;
pub use fuse::{Fusion, ScoreModel};
pub use names::identifiers::{
    HASH_PREFIX_MIN, HASH_TERMS_MAX, IdentifierShape, bare_words, identifiers, is_hash, is_hex,
    is_number, is_uuid, normalize_name, visit_identifiers, visit_word,
};
pub use names::terms::{
    BARE_RUN_TERM, EXTERNAL_ID_PREFIX, external_id_term, lookup_terms, pair_term, run_term,
    type_term, value_term, visit_metadata,
};
pub use names::{NamedThing, NamesInQuestion, asks_about_named_thing, fold_case, is_filler_word};
pub use order::contradictions::Contradictions;
pub use order::leads::{
    FOLLOWERS_MAX, Leads, PromptAnswers, StepOfTurn, lift_answers, put_steps_below,
};
pub use order::{RankedCandidate, decide_order, order_by_tier, put_contradicting_first};
pub use question::asked_type::find_asked_type;
pub use question::prompt_aim::PromptAim;
pub use question::prompt_parts::{
    AskedParts, merge_question_answers, merge_thing_answers, split_prompt,
};
pub use question::required_content::RequiredContent;
pub use question::times::{QuestionTimes, blank_out, date_parts};
pub use question::told::{asks_for_fact, only_takes_note, read_told_clauses};
pub use question::{QuestionTraits, embed_question, question_subject};
pub use signals::ablation::{Ablation, UnknownSignal};
pub use signals::languages::LanguageOffsets;
pub use signals::scale::{CosineFloor, Scale, share_variance};
