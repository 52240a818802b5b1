//! The coordination loop: what many users' runs report of a published thing moves its score for
//! everybody, within a bound.
//!
//! In go (id, score, count) by contributor, out come quality and boost. A contributor is one voice,
//! however often he speaks; nothing is counted of a thing before `users_min` have spoken; voices
//! fade; who contradicts what broad parts of the community found is heard less; and no boost is
//! beyond the cap. What is folded is pure: time is an argument.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, Utc};
use reprise_types::{
    LearnedAdjustment, RankExplanation, RankSignal, RecordId, UserId, lock, sha256_hex,
};

use crate::caller::Caller;
use crate::record::{GlobalRecord, QualityMetrics};
use crate::store::{GlobalHit, GlobalQuery};

/// How far the loop goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoordinationSettings {
    /// Contributors below which nothing is told of a thing.
    pub users_min: usize,
    /// The most that a score moves when few contributors have reported.
    pub cap: f32,
    /// The most that a score moves when many trusted contributors agree; between the two it grows.
    pub cap_sustained: f32,
    /// Days after which a voice counts half.
    pub half_life_days: f32,
}

impl Default for CoordinationSettings {
    fn default() -> Self {
        Self {
            users_min: 5,
            cap: 0.05,
            cap_sustained: 0.15,
            half_life_days: 90.0,
        }
    }
}

/// The trust behind a thing from which on the higher cap is whole.
const SUSTAINED_FROM: f32 = 8.0;
/// Times that one contributor was given one thing that count as uses.
pub const USES_MAX: u32 = 10;
/// Trust in a contributor of whom nothing is known yet.
const TRUST_UNKNOWN: f32 = 0.2;
/// How many judged things the trust in an unknown contributor weighs as much as.
const TRUST_PRIOR: f32 = 3.0;
/// This far from what the others found, a voice agrees no more.
const DISAGREES_AT: f32 = 0.35;
/// The part of all contributors that must have judged a thing before it can tell who is right.
const BROAD_SHARE: f32 = 0.05;
/// Things that a contributor can speak of with his whole voice; beyond that it is shared out, so
/// that nobody gains by speaking of everything.
const WHOLE_VOICE_THINGS: f32 = 12.0;
/// The trust that a thing needs before its score moves by the whole amount, as a part of all
/// contributors.
const SUPPORT_SHARE: f32 = 0.04;
/// The most trust that is required. Half of it moves nothing: a tenth of a community of unknown
/// contributors has that much.
const SUPPORT_MAX: f32 = 8.0;
/// Voices of nobody, which hold a thing to what all are like.
const PRIOR_VOICES: f32 = 2.0;
const PRIOR_SPREAD: f32 = 0.25;
/// This much better than the rest earns the whole cap.
const ADVANTAGE_WHOLE: f32 = 0.3;

/// Beyond what was asked for, so that a boost can lift something into the answer.
pub const CANDIDATE_RESERVE: usize = 20;
/// From this part of the best score on, a thing is about the question, and its boost is whole.
const AS_NEAR: f32 = 0.05;

/// One contributor's word on one thing.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Voice {
    /// Mean score of his runs, 0..1.
    score: f32,
    count: u32,
    /// When he last spoke.
    at: DateTime<Utc>,
}

/// What contributors together report of one thing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Reputation {
    pub metrics: QualityMetrics,
    /// What is added to its score, -cap..cap.
    pub boost: f32,
    /// The cap in force for it.
    pub cap: f32,
    /// How far its evidence is believed, 0..1.
    pub gate: f32,
}

impl Reputation {
    /// What is added to a thing's score; `best` is the best score of the answer.
    pub fn boost_at(&self, score: f32, best: f32) -> f32 {
        // What is about something else is no better for having helped there.
        let near = (score / (best * AS_NEAR)).min(1.0);
        if near.is_finite() {
            self.boost * near
        } else {
            0.0
        }
    }

    /// Builds a hit without its vector, moved by this reputation.
    pub fn build_hit(
        &self,
        record: GlobalRecord,
        score: f32,
        mut why: RankExplanation,
        best: f32,
    ) -> GlobalHit {
        let boost = self.boost_at(score, best);
        if boost != 0.0 {
            let gates = (self.gate, 0.0);
            why.learning = Some(LearnedAdjustment::from_capped_parts(
                self.cap, gates, boost, 0.0,
            ));
            why.signals.push(RankSignal {
                name: "coordination".to_owned(),
                value: boost,
                weight: 0.0,
                contribution: 0.0,
            });
        }
        GlobalHit {
            record: GlobalRecord {
                embedding: Vec::new(),
                ..record
            },
            score,
            sona_score: (score + boost).clamp(0.0, 1.0),
            why,
        }
    }
}

/// A user as a contributor of a store with this salt: one voice, and nobody's name.
pub fn contributor_id(salt: &str, user: &UserId) -> u128 {
    let hash = sha256_hex(format!("{salt}/{user}").as_bytes());
    let digits = hash.get(..32).unwrap_or_default();
    u128::from_str_radix(digits, 16).unwrap_or_default()
}

/// The reputation of each thing.
pub type Reputations = Arc<HashMap<RecordId, Reputation>>;

/// Most things by reader that wait to be counted, and how long they do.
const RETRIEVED_MAX: usize = 4_096;
pub const RETRIEVED_AFTER: Duration = Duration::from_secs(2);

/// How often readers were given things, as a store does not say yet. No answer waits until it is
/// written: that is done a moment later, with the next word of anybody, or at the end.
#[derive(Debug, Default)]
pub struct RetrievalCounter(Mutex<BTreeMap<(UserId, RecordId), u32>>);

impl RetrievalCounter {
    /// Counts the hits that an answer gave a reader, without his own things and his drafts. Returns
    /// whether nothing was waiting before.
    pub fn add_hits(&self, caller: &Caller, query: &GlobalQuery, hits: &[GlobalHit]) -> bool {
        let mut waiting = lock(&self.0);
        let was_empty = waiting.is_empty();
        for hit in hits.iter().filter(|hit| query.is_retrieval(caller, hit)) {
            if waiting.len() < RETRIEVED_MAX {
                let key = (caller.user.clone(), hit.record.id);
                *waiting.entry(key).or_default() += 1;
            }
        }
        was_empty && !waiting.is_empty()
    }

    /// Removes the waiting counts of a thing that was taken back.
    pub fn forget_thing(&self, gone: RecordId) {
        lock(&self.0).retain(|(_, id), _| *id != gone);
    }

    /// Removes the waiting counts of this reader.
    pub fn forget_reader(&self, reader: &UserId) {
        lock(&self.0).retain(|(user, _), _| user != reader);
    }

    /// Takes out all counts that wait.
    pub fn drain(&self) -> BTreeMap<(UserId, RecordId), u32> {
        std::mem::take(&mut *lock(&self.0))
    }

    pub fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }
}

/// Everything that contributors have said.
#[derive(Debug, Clone, Default)]
pub struct Coordination {
    settings: CoordinationSettings,
    voices: BTreeMap<RecordId, BTreeMap<u128, Voice>>,
    ratings: BTreeMap<RecordId, BTreeMap<u128, f32>>,
    /// How often each contributor was given a thing in an answer.
    retrieved: BTreeMap<RecordId, BTreeMap<u128, u32>>,
}

impl Coordination {
    /// Creates a state without any report.
    pub fn new(settings: CoordinationSettings) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }

    /// Counts the reports and ratings.
    pub fn count_voices(&self) -> usize {
        let reports = self.voices.values().map(BTreeMap::len).sum::<usize>();
        reports + self.ratings.values().map(BTreeMap::len).sum::<usize>()
    }

    /// Adds how runs went that used a thing. Scores are 0..1; others are ignored.
    pub fn add_report(
        &mut self,
        id: RecordId,
        contributor: u128,
        score: f32,
        count: u32,
        at: DateTime<Utc>,
    ) {
        if !(0.0..=1.0).contains(&score) || count == 0 {
            return;
        }
        let voices = self.voices.entry(id).or_default();
        let voice = voices.entry(contributor).or_insert(Voice {
            score,
            count: 0,
            at,
        });
        let (old, new) = (voice.count as f32, count as f32);
        voice.score = (voice.score * old + score * new) / (old + new);
        voice.count = voice.count.saturating_add(count);
        voice.at = voice.at.max(at);
    }

    /// Replaces the whole report of a contributor on a thing, and returns whether it changed.
    pub fn set_report(
        &mut self,
        id: RecordId,
        contributor: u128,
        score: f32,
        count: u32,
        at: DateTime<Utc>,
    ) -> bool {
        let voice = Voice { score, count, at };
        (0.0..=1.0).contains(&score)
            && count > 0
            && self
                .voices
                .entry(id)
                .or_default()
                .insert(contributor, voice)
                != Some(voice)
    }

    /// Replaces a contributor's rating, 0..1, and returns whether it changed.
    pub fn set_rating(&mut self, id: RecordId, contributor: u128, rating: f32) -> bool {
        (0.0..=1.0).contains(&rating)
            && self
                .ratings
                .entry(id)
                .or_default()
                .insert(contributor, rating)
                != Some(rating)
    }

    /// Adds that answers to a contributor had this thing `count` times more.
    pub fn add_retrieved(&mut self, id: RecordId, contributor: u128, count: u32) {
        let by = self.retrieved.entry(id).or_default();
        let total_weight = by.entry(contributor).or_default();
        *total_weight = total_weight.saturating_add(count);
    }

    /// Returns whether one more retrieval by this contributor would count.
    pub fn would_count_retrieval(&self, id: RecordId, contributor: u128) -> bool {
        let by = self.retrieved.get(&id);
        by.and_then(|by| by.get(&contributor))
            .is_none_or(|total_weight| *total_weight < USES_MAX)
    }

    /// Replaces how often a contributor was given a thing in all, and returns whether it changed.
    pub fn set_retrieved(&mut self, id: RecordId, contributor: u128, count: u32) -> bool {
        let by = self.retrieved.entry(id).or_default();
        by.insert(contributor, count) != Some(count)
    }

    /// Removes everything that was reported of a thing.
    pub fn forget_thing(&mut self, id: RecordId) -> bool {
        let voices = self.voices.remove(&id).is_some();
        let retrieved = self.retrieved.remove(&id).is_some();
        self.ratings.remove(&id).is_some() || voices || retrieved
    }

    /// Computes the reputation of each thing at this moment; a thing without one is missing.
    pub fn compute_reputations(&self, now: DateTime<Utc>) -> HashMap<RecordId, Reputation> {
        let voice_shares = self.voice_shares();
        let trust = Trust::from_voices(&self.voices, &voice_shares, self.settings.users_min);
        let share = |contributor: &u128| voice_shares.get(contributor).copied().unwrap_or(1.0);
        let weight = |id: &RecordId, who: &u128, voice: &Voice| {
            trust.trust_on_thing(*id, *who, voice) * share(who) * self.age_weight(voice, now)
        };
        let all = self.voices.iter();
        let all = all.flat_map(|(id, voices)| voices.iter().map(move |(who, v)| (id, who, v)));
        let (sum, total) = all.fold((0.0, 0.0), |(sum, total), (id, who, voice)| {
            let weight = weight(id, who, voice);
            (sum + weight * voice.score, total + weight)
        });
        let neutral = QualityMetrics::UNKNOWN;
        let baseline = (sum + PRIOR_VOICES * neutral) / (total + PRIOR_VOICES);
        let support_min = (SUPPORT_SHARE * voice_shares.len() as f32).min(SUPPORT_MAX);
        let mut standings = HashMap::new();
        for (id, voices) in &self.voices {
            if voices.len() < self.settings.users_min {
                continue;
            }
            let weighted = voices
                .iter()
                .map(|(who, voice)| (weight(id, who, voice), voice));
            let weighted: Vec<(f32, &Voice)> = weighted.collect();
            let support: f32 = weighted.iter().map(|(weight, _)| weight).sum();
            let standing: &mut Reputation = standings.entry(*id).or_default();
            let believed_part = (2.0 * support / support_min - 1.0).min(1.0);
            if believed_part <= 0.0 {
                continue;
            }
            let weighted_sum: f32 = weighted.iter().map(|(w, voice)| w * voice.score).sum();
            let total_weight = support + PRIOR_VOICES;
            let mean = (weighted_sum + PRIOR_VOICES * baseline) / total_weight;
            let spread: f32 = weighted
                .iter()
                .map(|(w, voice)| w * (voice.score - mean).powi(2))
                .sum();
            let spread = (spread + PRIOR_VOICES * PRIOR_SPREAD.powi(2)) / total_weight;
            let advantage = mean - baseline;
            let t = advantage.abs() / (spread / total_weight).sqrt();
            standing.gate = (t - 1.0).clamp(0.0, 1.0) * believed_part;
            let (few, many) = (self.settings.cap, self.settings.cap_sustained);
            standing.cap = few + (support / SUSTAINED_FROM).min(1.0) * (many - few);
            let part = (advantage / ADVANTAGE_WHOLE).clamp(-1.0, 1.0);
            standing.boost = standing.cap * standing.gate * part;
            standing.metrics.avg_trajectory_score = mean.clamp(0.0, 1.0);
        }
        for (id, by) in &self.retrieved {
            if by.len() >= self.settings.users_min {
                let standing: &mut Reputation = standings.entry(*id).or_default();
                let counts = by.values().map(|count| (*count).min(USES_MAX));
                standing.metrics.usage_count = counts.map(u64::from).sum();
            }
        }
        for (id, ratings) in &self.ratings {
            if ratings.len() >= self.settings.users_min {
                let weighted = ratings
                    .iter()
                    .map(|(who, rating)| (trust.overall_trust(*who), rating));
                let (sum, total) = weighted.fold((0.0, 0.0), |(sum, total), (weight, rating)| {
                    (sum + weight * rating, total + weight)
                });
                let standing: &mut Reputation = standings.entry(*id).or_default();
                let rated = (total > 0.0).then(|| (sum / total).clamp(0.0, 1.0));
                standing.metrics.user_rating = rated;
            }
        }
        standings
    }

    fn age_weight(&self, voice: &Voice, now: DateTime<Utc>) -> f32 {
        let days = (now - voice.at).num_seconds().max(0) as f32 / 86_400.0;
        0.5_f32.powf(days / self.settings.half_life_days.max(1.0))
    }

    /// How much of his voice each contributor has for each thing that he speaks of, 0..1.
    fn voice_shares(&self) -> HashMap<u128, f32> {
        let mut things: HashMap<u128, f32> = HashMap::new();
        for contributor in self.voices.values().flat_map(BTreeMap::keys) {
            *things.entry(*contributor).or_default() += 1.0;
        }
        for count in things.values_mut() {
            *count = (WHOLE_VOICE_THINGS / *count).min(1.0);
        }
        things
    }
}

/// How far contributors are believed: as far as their voices agree with the middle of those on
/// things that a broad part of all has judged.
struct Trust {
    middles: BTreeMap<RecordId, f32>,
    /// How often each agreed, and of how many things he spoke.
    agreements: HashMap<u128, (f32, f32)>,
}

impl Trust {
    fn from_voices(
        voices: &BTreeMap<RecordId, BTreeMap<u128, Voice>>,
        voice_shares: &HashMap<u128, f32>,
        users_min: usize,
    ) -> Self {
        let enough = (BROAD_SHARE * voice_shares.len() as f32).max(users_min as f32);
        let broad = voices.iter().filter(|(_, on)| on.len() as f32 > enough);
        let middles: BTreeMap<RecordId, f32> = broad
            .map(|(id, on)| (*id, weighted_median(on, voice_shares)))
            .collect();
        let mut agreements: HashMap<u128, (f32, f32)> = HashMap::new();
        for (id, middle) in &middles {
            for (contributor, voice) in voices.get(id).into_iter().flatten() {
                let entry = agreements.entry(*contributor).or_default();
                entry.0 += agreement(voice, *middle);
                entry.1 += 1.0;
            }
        }
        Self {
            middles,
            agreements,
        }
    }

    /// Of one thing he is believed for what he says of others: strangers who agree on it among
    /// themselves earn nothing by that.
    fn trust_on_thing(&self, id: RecordId, contributor: u128, voice: &Voice) -> f32 {
        let (mut sum, mut count) = self
            .agreements
            .get(&contributor)
            .copied()
            .unwrap_or_default();
        if let Some(middle) = self.middles.get(&id) {
            sum -= agreement(voice, *middle);
            count -= 1.0;
        }
        (TRUST_PRIOR * TRUST_UNKNOWN + sum.max(0.0)) / (TRUST_PRIOR + count.max(0.0))
    }

    fn overall_trust(&self, contributor: u128) -> f32 {
        let (sum, count) = self
            .agreements
            .get(&contributor)
            .copied()
            .unwrap_or_default();
        (TRUST_PRIOR * TRUST_UNKNOWN + sum) / (TRUST_PRIOR + count)
    }
}

/// 1 where a voice says what the middle says, 0 from [`DISAGREES_AT`] on.
fn agreement(voice: &Voice, middle: f32) -> f32 {
    (1.0 - (voice.score - middle).abs() / DISAGREES_AT).clamp(0.0, 1.0)
}

/// The score that half of all voices, by their shares, are not above.
fn weighted_median(voices: &BTreeMap<u128, Voice>, voice_shares: &HashMap<u128, f32>) -> f32 {
    let share = |contributor: &u128| voice_shares.get(contributor).copied().unwrap_or_default();
    let mut weighted: Vec<(f32, f32)> = voices
        .iter()
        .map(|(contributor, voice)| (voice.score, share(contributor)))
        .collect();
    weighted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let half = weighted.iter().map(|(_, share)| share).sum::<f32>() / 2.0;
    let mut below = 0.0;
    for (score, share) in weighted {
        below += share;
        if below >= half {
            return score;
        }
    }
    QualityMetrics::UNKNOWN
}

#[cfg(test)]
mod tests;
