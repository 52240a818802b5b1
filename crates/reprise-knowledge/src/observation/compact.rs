//! Story 3.8: a long session's frames become fewer. Old ones that nobody has to read again are put
//! behind a summary of their own words; what matters stays as it is.
//!
//! The plan; the originals stay in the log, and what was put away can be taken back.

use super::store::{frame_type, is_frame};
use super::{Observation, ObservationType};
use crate::prelude::*;

/// How far a session is compacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameRules {
    /// Fewer frames are left alone.
    pub threshold_frames: usize,
    /// The newest, which stay as they are.
    pub recent_count: usize,
    /// Those before them.
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

/// What is to be done to a session's frames.
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
    /// Tokens saved, as a share of 100.
    pub fn reduction_percentage(&self) -> f64 {
        if self.tokens_before == 0 {
            return 0.0;
        }
        let saved = self.tokens_before.saturating_sub(self.tokens_after);
        saved as f64 * 100.0 / self.tokens_before as f64
    }
}

/// A summary, and the frames that it stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameSummary {
    /// Where they stood: `medium` or `old`.
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

/// From which of its metadata's importance on a frame is never, and only late, compacted.
const CRITICAL: u64 = 9;
const HIGH: u64 = 7;

fn level(record: &MemoryRecord, rules: &FrameRules) -> Level {
    let metadata = |name: &str| {
        let details = record.details.as_ref()?;
        let named = details.pointer(&["/metadata/", name].concat());
        named.or_else(|| details.pointer(&["/frame_metadata/", name].concat()))
    };
    let importance = metadata("importance").and_then(Value::as_u64);
    let kind = word_of(record, "observation_type").and_then(ObservationType::of);
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

/// Tokens of a text, as ralph counts them.
pub fn frame_tokens(text: &str) -> usize {
    text.chars().count() / 4 + 1
}

/// What is to be done to these frames, session by session. Done again it does nothing more.
pub fn plan_frames(records: &[MemoryRecord], rules: &FrameRules) -> FramePlan {
    let mut sessions: BTreeMap<&str, Vec<&MemoryRecord>> = BTreeMap::new();
    for record in records.iter().filter(|record| is_frame(record)) {
        sessions.entry(&record.session_id).or_default().push(record);
    }
    let mut plan = FramePlan::default();
    for (session, mut frames) in sessions {
        frames.sort_by_key(|record| std::cmp::Reverse((record.timestamp, record.id)));
        let tokens: usize = frames.iter().map(|record| frame_tokens(&record.text)).sum();
        plan.frames_processed += frames.len();
        plan.tokens_before += tokens;
        plan.tokens_after += tokens;
        if frames.len() >= rules.threshold_frames {
            for (tier, group) in tiers(&frames, rules) {
                add(&mut plan, session, tier, &group, rules);
            }
        }
    }
    plan.frames_preserved = plan.frames_processed - plan.frames_compacted;
    plan
}

/// The frames of each tier that may be summarised: of middle age those that matter little, of the
/// old all but those that matter most (C27).
fn tiers<'a>(
    frames: &[&'a MemoryRecord],
    rules: &FrameRules,
) -> [(&'static str, Vec<&'a MemoryRecord>); 2] {
    let later = frames.iter().skip(rules.recent_count);
    let below = |most: Level| move |record: &&&MemoryRecord| level(record, rules) < most;
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

fn add(
    plan: &mut FramePlan,
    session: &str,
    tier: &'static str,
    group: &[&MemoryRecord],
    rules: &FrameRules,
) {
    let before: usize = group.iter().map(|record| frame_tokens(&record.text)).sum();
    let most = rules.max_summary_tokens.min(before / 3);
    let (Some(newest), 2..) = (group.first(), group.len()) else {
        return;
    };
    let text = summary(group, most);
    let tokens = frame_tokens(&text);
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

/// What the frames are, and their most telling sentences in the order in which they were said,
/// within so many tokens. No word is made up.
fn summary(group: &[&MemoryRecord], most: usize) -> String {
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
        .flat_map(|record| sentences(&record.text))
        .collect();
    let mut uses: HashMap<String, usize> = HashMap::new();
    for sentence in &sentences {
        for word in words(sentence) {
            *uses.entry(word).or_default() += 1;
        }
    }
    // A sentence tells much whose words the others share, for its length.
    let weight = |sentence: &str| {
        let words: Vec<String> = words(sentence).collect();
        let shared: usize = words
            .iter()
            .map(|word| uses.get(word).copied().unwrap_or(0))
            .sum();
        shared as f64 / (words.len() as f64 + 3.0)
    };
    let mut order: Vec<usize> = (0..sentences.len()).collect();
    let weights: Vec<f64> = sentences.iter().map(|sentence| weight(sentence)).collect();
    order.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]).then(a.cmp(b)));
    let (mut chosen, mut left): (Vec<usize>, usize) =
        (Vec::new(), most.saturating_sub(frame_tokens(&text)));
    for place in order {
        let sentence = sentences[place];
        let tokens = frame_tokens(sentence);
        let known = chosen.iter().any(|other| sentences[*other] == sentence);
        if tokens <= left && !known {
            left -= tokens;
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

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().flat_map(|line| line.split_inclusive(". "));
    lines.map(str::trim).filter(|sentence| !sentence.is_empty())
}

fn words(text: &str) -> impl Iterator<Item = String> {
    const LEAST: usize = 3;
    let words = text.split(|c: char| !c.is_alphanumeric());
    words
        .filter(|word| word.len() > LEAST)
        .map(str::to_lowercase)
}
