//! Plans the compaction of a long session's frames: old, unimportant ones are replaced by a summary
//! in their own words; important ones stay as they are.
//!
//! The originals stay in the log, so that a compaction can be undone.

use super::store::{frame_type, is_observation};
use super::{Observation, ObservationType};
use crate::prelude::*;

/// Rules for the compaction of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameRules {
    /// Fewest frames of a session that is compacted.
    pub threshold_frames: usize,
    /// Number of the newest frames, which stay as they are.
    pub recent_count: usize,
    /// Number of frames of the medium tier, before the newest.
    pub medium_count: usize,
    pub preserve_errors: bool,
    pub preserve_decisions: bool,
    pub max_summary_tokens: usize,
}

impl Default for FrameRules {
    fn default() -> Self {
        Self {
            threshold_frames: 50,
            recent_count: 10,
            medium_count: 20,
            preserve_errors: true,
            preserve_decisions: true,
            max_summary_tokens: 500,
        }
    }
}

/// What a compaction will do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FramePlan {
    pub summaries: Vec<FrameSummary>,
    pub frames_processed: usize,
    pub frames_compacted: usize,
    pub frames_preserved: usize,
    pub tokens_before: usize,
    pub tokens_after: usize,
}

impl FramePlan {
    /// Returns the share of tokens that are saved, in per cent.
    pub fn reduction_percentage(&self) -> f64 {
        if self.tokens_before == 0 {
            return 0.0;
        }
        let saved = self.tokens_before.saturating_sub(self.tokens_after);
        saved as f64 * 100.0 / self.tokens_before as f64
    }
}

/// A summary, and the frames that it replaces.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameSummary {
    /// Tier of the frames: `medium` or `old`.
    pub tier: &'static str,
    pub originals: Vec<RecordId>,
    pub observation: Observation,
    pub session: String,
    pub at: DateTime<Utc>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Low,
    High,
    Critical,
}

/// Least importance of a frame that is never compacted.
const CRITICAL: u64 = 9;
const HIGH: u64 = 7;

fn importance_level(record: &MemoryRecord, rules: &FrameRules) -> Level {
    let metadata = |name: &str| {
        let details = record.details.as_ref()?;
        let named = details.pointer(&["/metadata/", name].concat());
        named.or_else(|| details.pointer(&["/frame_metadata/", name].concat()))
    };
    let importance = metadata("importance").and_then(Value::as_u64);
    let kind = detail_word(record, "observation_type").and_then(ObservationType::of);
    let preserved = match (kind, frame_type(record)) {
        (Some(ObservationType::Error), _) => rules.preserve_errors,
        (Some(ObservationType::Decision), _) => rules.preserve_decisions,
        (_, "git_commit") => true,
        _ => metadata("compacted").and_then(Value::as_bool) == Some(true),
    };
    match (importance.unwrap_or_default(), kind) {
        _ if preserved => Level::Critical,
        (CRITICAL.., _) => Level::Critical,
        (HIGH.., _) | (_, Some(ObservationType::Learning | ObservationType::Preference)) => {
            Level::High
        }
        _ => Level::Low,
    }
}

/// Counts the tokens of a text as ralph does.
pub fn count_frame_tokens(text: &str) -> usize {
    text.chars().count() / 4 + 1
}

/// Plans the compaction of frames, session by session. A second plan has nothing to do.
pub fn plan_frame_compaction(records: &[MemoryRecord], rules: &FrameRules) -> FramePlan {
    let mut sessions: BTreeMap<&str, Vec<&MemoryRecord>> = BTreeMap::new();
    for record in records.iter().filter(|record| is_observation(record)) {
        sessions.entry(&record.session_id).or_default().push(record);
    }
    let mut plan = FramePlan::default();
    for (session, mut frames) in sessions {
        frames.sort_by_key(|record| std::cmp::Reverse((record.timestamp, record.id)));
        let tokens: usize = frames
            .iter()
            .map(|record| count_frame_tokens(&record.text))
            .sum();
        plan.frames_processed += frames.len();
        plan.tokens_before += tokens;
        plan.tokens_after += tokens;
        if frames.len() >= rules.threshold_frames {
            for (tier, group) in group_by_tier(&frames, rules) {
                add_summary(&mut plan, session, tier, &group, rules);
            }
        }
    }
    plan.frames_preserved = plan.frames_processed - plan.frames_compacted;
    plan
}

/// Returns the frames of each tier that may be summarised: unimportant ones of the medium tier, and
/// all but the critical ones of the old tier.
fn group_by_tier<'a>(
    frames: &[&'a MemoryRecord],
    rules: &FrameRules,
) -> [(&'static str, Vec<&'a MemoryRecord>); 2] {
    let later = frames.iter().skip(rules.recent_count);
    let below = |most: Level| move |record: &&&MemoryRecord| importance_level(record, rules) < most;
    let medium = later
        .clone()
        .take(rules.medium_count)
        .filter(below(Level::High));
    let old = later
        .skip(rules.medium_count)
        .filter(below(Level::Critical));
    [
        ("medium", medium.copied().collect()),
        ("old", old.copied().collect()),
    ]
}

fn add_summary(
    plan: &mut FramePlan,
    session: &str,
    tier: &'static str,
    group: &[&MemoryRecord],
    rules: &FrameRules,
) {
    let before: usize = group
        .iter()
        .map(|record| count_frame_tokens(&record.text))
        .sum();
    let most = rules.max_summary_tokens.min(before / 3);
    let (Some(newest), 2..) = (group.first(), group.len()) else {
        return;
    };
    let text = summarize_frames(group, most);
    let tokens = count_frame_tokens(&text);
    if tokens >= before {
        return;
    }
    plan.frames_compacted += group.len();
    plan.tokens_after = plan.tokens_after + tokens - before;
    let originals: Vec<RecordId> = group.iter().map(|record| record.id).collect();
    let mut observation = Observation::new(text, ObservationType::Summary);
    observation.tags = ["summary", "compacted", tier].map(str::to_owned).into();
    for (name, value) in [
        ("compacted", json!(true)),
        ("tier", json!(tier)),
        ("original_ids", json!(originals)),
        ("original_count", json!(group.len())),
        ("original_tokens", json!(before)),
    ] {
        observation.metadata.insert(name.to_owned(), value);
    }
    plan.summaries.push(FrameSummary {
        tier,
        originals,
        observation,
        session: session.to_owned(),
        at: newest.timestamp,
    });
}

/// Returns the number of frames of each type, and their most telling sentences in their order,
/// within `most` tokens. No word is made up.
fn summarize_frames(group: &[&MemoryRecord], most: usize) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for record in group {
        *counts.entry(frame_type(record)).or_default() += 1;
    }
    let counted = counts.iter().map(|(name, count)| format!("{count} {name}"));
    let mut text = format!(
        "{} frames: {}.",
        group.len(),
        counted.collect::<Vec<_>>().join(", ")
    );
    let oldest_first = group.iter().rev();
    let sentences: Vec<&str> = oldest_first
        .flat_map(|record| split_sentences(&record.text))
        .collect();
    let mut uses: HashMap<String, usize> = HashMap::new();
    for sentence in &sentences {
        for word in split_long_words(sentence) {
            *uses.entry(word).or_default() += 1;
        }
    }
    // A sentence is telling if the others share many of its words, relative to its length.
    let weight = |sentence: &str| {
        let words: Vec<String> = split_long_words(sentence).collect();
        let shared: usize = words
            .iter()
            .map(|word| uses.get(word).copied().unwrap_or(0))
            .sum();
        shared as f64 / (words.len() as f64 + 3.0)
    };
    let mut order: Vec<usize> = (0..sentences.len()).collect();
    let weights: Vec<f64> = sentences.iter().map(|sentence| weight(sentence)).collect();
    order.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]).then(a.cmp(b)));
    let (mut chosen, mut room): (Vec<usize>, usize) =
        (Vec::new(), most.saturating_sub(count_frame_tokens(&text)));
    for place in order {
        let sentence = sentences[place];
        let tokens = count_frame_tokens(sentence);
        let known = chosen.iter().any(|other| sentences[*other] == sentence);
        if tokens <= room && !known {
            room -= tokens;
            chosen.push(place);
        }
    }
    chosen.sort_unstable();
    for place in chosen {
        text.push('\n');
        text.push_str(sentences[place]);
    }
    text
}

fn split_sentences(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().flat_map(|line| line.split_inclusive(". "));
    lines.map(str::trim).filter(|sentence| !sentence.is_empty())
}

fn split_long_words(text: &str) -> impl Iterator<Item = String> {
    const LEAST: usize = 3;
    let words = text.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| word.len() > LEAST)
        .map(str::to_lowercase)
}
