//! How memory is, and what was done to it.

use chrono::{Datelike, NaiveDate};
use reprise_engine::Contradiction;
use reprise_knowledge::{ConsolidationAction, Plan, compute_day_scores, list_actions};

use super::{DoubtfulPair, MergedSet};
use crate::operations::records::{hide_sensitive, short_beginning};
use crate::prelude::*;

/// Records of a kind that are told with their beginnings.
const NAMED: usize = 10;

/// A memory as an auditor sees it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Audited {
    /// Records that answer.
    pub records: usize,
    /// Of these, those that `consolidate` would put behind another one.
    pub duplicates: usize,
    /// Pairs that wait for `review`.
    pub review: usize,
    /// Pairs that cannot both hold.
    pub contradictions: Vec<DoubtfulPair>,
    /// Such pairs that are not listed.
    #[serde(default)]
    pub contradictions_more: usize,
    /// Their time is over: `consolidate` would put them away.
    pub stale: Vec<String>,
    /// Records that no run was told to have used.
    pub never_used: usize,
    /// Made of records of which none is left, or correcting one that is not.
    pub orphans: Vec<String>,
    /// Records without a vector of the model in use.
    pub unembedded: u32,
    /// May hold a secret.
    pub possible_secrets: Vec<String>,
    /// How the first of those that are named begin, without secrets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub beginnings: BTreeMap<String, String>,
    /// Records kept, by month.
    pub growth: BTreeMap<String, usize>,
    /// What was done, oldest first.
    pub actions: Vec<MaintenanceAction>,
    /// The share of records without trouble, 0..1.
    pub score: f64,
    /// The score at the end of each of the latest days on which something changed.
    pub history: Vec<Day>,
}

/// The score of a day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Day {
    /// Which, as year, month and day.
    pub day: String,
    /// Records that answered at its end.
    pub records: usize,
    /// The share of them without trouble, 0..1.
    pub score: f64,
}

operation! {
    Spec::for_reading(
        "audit",
        "Duplicates, contradictions, stale facts, secrets, growth, and a score over time.",
    )
    .with_tool("audit", Profile::Full);
    Audit(memory, _: NoArguments) -> Audited {
        let for_agent = memory.is_for_agent();
        let mut audited = memory
            .run_on_plan(move |memory, plan| audit_memory(&RecordNames { memory, for_agent }, &plan))
            .await?;
        let stats = memory.stats().await?;
        audited.unembedded = stats.unembedded;
        Ok(audited)
    }

    fn render_text(audited: &Audited) -> Cow<'_, str> {
        // 100 % is exactly all.
        let most = if audited.score < 1.0 { 99.0 } else { 100.0 };
        let percent = (100.0 * audited.score).round().min(most);
        let memories = format_count(audited.records, "memory");
        let mut lines = vec![format!("{memories}, {percent:.0} % without problems")];
        lines.extend(audited.count_problems());
        if lines.len() == 1 {
            lines.push("no problems found".to_owned());
        }
        if audited.never_used > 0 {
            let unused = format_count(audited.never_used, "memory");
            lines.push(format!("not used by any run yet: {unused}"));
        }
        let holding = audited.actions.iter().filter(|action| !action.undone).count();
        if holding > 0 {
            lines.push(format!("{} can be undone", format_count(holding, "action")));
        }
        let text = format!("{}\n{}", lines.join("\n"), audited.list_findings());
        text.trim_end().to_owned().into()
    }
}

impl Audited {
    /// Counts what is wrong, a line for each kind, and says what to do about some.
    fn count_problems(&self) -> Vec<String> {
        let contradictions = self.contradictions.len() + self.contradictions_more;
        let tidy = "; `reprise doctor tidy` merges them";
        let review = "; decide with `reprise doctor review`";
        let all = [
            (self.duplicates, "duplicate", tidy),
            (self.review, "possible duplicate", review),
            (contradictions, "contradiction", review),
            (
                self.stale.len(),
                "expired memory",
                "; `reprise doctor tidy` puts them away",
            ),
            (self.orphans.len(), "broken link", ""),
            (self.unembedded as usize, "memory", " without an embedding"),
            (
                self.possible_secrets.len(),
                "possible secret",
                "; forget it or edit it",
            ),
        ];
        let found = all.into_iter().filter(|(count, ..)| *count > 0);
        let lines = found.map(|(count, what, hint)| format_count(count, what) + hint);
        lines.collect()
    }

    /// What is wrong, a line for each of the first records of a kind.
    fn list_findings(&self) -> String {
        let mut quoted = QuotedMemory::new(system_entropy());
        let mut line = |label: &str, name: &str| {
            let begins = self.beginnings.get(name).map_or("", String::as_str);
            quoted.add_line(label, &[name, ": ", begins].concat());
        };
        for (label, names) in [
            ("- expired: ", &self.stale),
            ("- broken link: ", &self.orphans),
            ("- possible secret: ", &self.possible_secrets),
        ] {
            names.iter().take(NAMED).for_each(|name| line(label, name));
        }
        for doubted in self.contradictions.iter().take(NAMED) {
            let [older, newer] = &doubted.pair;
            line("- contradiction: ", older);
            line("             with: ", newer);
        }
        quoted.into_text()
    }
}

fn audit_memory(names: &RecordNames<'_>, plan: &Plan) -> Audited {
    let memory = names.memory;
    let redactor = Redactor::new();
    let used: HashSet<RecordId> = memory.valid_runs().flat_map(|(_, used)| used).collect();
    let mut audited = Audited {
        duplicates: plan.merged.iter().map(|merge| merge.gone.len()).sum(),
        review: plan.review.len() + plan.review_more,
        contradictions: names.describe_pairs(&plan.contradictions, false),
        contradictions_more: plan.contradictions_more,
        stale: names.record_names(&plan.purged),
        actions: list_actions(memory)
            .into_iter()
            .map(|action| MaintenanceAction::of(names, action))
            .collect(),
        growth: count_records_by_month(memory),
        ..Audited::default()
    };
    let doubted = plan.contradictions.iter().take(NAMED);
    let mut told: Vec<RecordId> = doubted.flat_map(|doubted| doubted.pair).collect();
    told.extend(plan.purged.iter().take(NAMED));
    let all = memory.records().flatten();
    for record in all.filter(|record| !record.is_receipt()) {
        audited.records += 1;
        audited.never_used += usize::from(!used.contains(&record.id));
        let is_made = record
            .details
            .as_ref()
            .is_some_and(|d| d["type"] == "distilled");
        let corrects = record
            .supersedes
            .map(|old| memory.get_stored(old).is_some());
        if corrects == Some(false) || (is_made && memory.sources(record.id).is_empty()) {
            told.extend((audited.orphans.len() < NAMED).then_some(record.id));
            audited.orphans.push(names.record_name(record.id));
        }
        if !redactor.redact_text(&record.text).removed.is_empty() {
            told.extend((audited.possible_secrets.len() < NAMED).then_some(record.id));
            audited.possible_secrets.push(names.record_name(record.id));
        }
    }
    audited.beginnings = told
        .into_iter()
        .filter_map(|id| {
            let record = memory.get_stored(id)?.ok()?;
            let text = redactor.redact_text(&record.text).text;
            let text = hide_sensitive(names.for_agent, &record, short_beginning(&text));
            Some((names.record_name(id), text))
        })
        .collect();
    let history = compute_day_scores(memory, plan, audited.possible_secrets.len());
    audited.score = history.last().map_or(1.0, |last| last.score);
    audited.history = history
        .into_iter()
        .map(|score| Day {
            day: score.day.to_string(),
            records: score.records,
            score: score.score,
        })
        .collect();
    audited
}

/// Records kept, by month.
fn count_records_by_month(memory: &Snapshot) -> BTreeMap<String, usize> {
    let mut months: BTreeMap<(i32, u32), usize> = BTreeMap::new();
    for at in memory
        .known_at_micros()
        .filter_map(DateTime::from_timestamp_micros)
    {
        *months.entry((at.year(), at.month())).or_default() += 1;
    }
    let named = months.into_iter();
    named
        .map(|((year, month), count)| (format!("{year:04}-{month:02}"), count))
        .collect()
}

/// What was done at one instant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Acted")]
pub struct MaintenanceAction {
    /// For `undo`.
    pub action: String,
    /// When.
    pub at: String,
    pub merged: Vec<MergedSet>,
    /// Put away because their time was over.
    pub purged: Vec<String>,
    /// Made of others.
    pub distilled: Vec<String>,
    /// Pairs that contradict each other, the older first: the newer one ranks above it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradictions: Vec<[String; 2]>,
    /// What became of each of these pairs, in the same order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradiction_states: Vec<ContradictionState>,
    /// Pairs of which a person said that both stay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub apart: Vec<KeptPair>,
    /// Whether all of it was taken back.
    pub undone: bool,
}

/// Two memories that both stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptPair {
    pub pair: [String; 2],
    /// How the two begin.
    pub texts: [String; 2],
}

/// What agents see of two memories that contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContradictionState {
    /// How the two begin, the older first.
    pub texts: [String; 2],
    /// Whether each is still recalled.
    pub is_recalled: [bool; 2],
    /// The instant until which agents are told that the older one held; null if they are not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_until: Option<String>,
}

impl ContradictionState {
    fn of(names: &RecordNames<'_>, noted: &[Contradiction], pair: [RecordId; 2]) -> Self {
        let memory = names.memory;
        let is_recalled = pair.map(|id| memory.is_live(id));
        let is_open = noted
            .iter()
            .any(|one| [one.older, one.newer] == pair && one.undone_micros.is_none());
        let newer = memory.get(pair[1]).and_then(Result::ok);
        let newer = newer.filter(|_| is_open && is_recalled == [true, true]);
        Self {
            texts: pair.map(|id| names.text_beginning(id)),
            is_recalled,
            held_until: newer.map(|newer| format_instant(newer.timestamp)),
        }
    }
}

impl MaintenanceAction {
    /// Says what was done, and how to undo it.
    fn describe(&self) -> String {
        let merged: usize = self.merged.iter().map(|merge| merge.gone.len()).sum();
        let all = [
            ("replaced ", merged, "memory"),
            ("put away ", self.purged.len(), "expired memory"),
            ("made ", self.distilled.len(), "summary"),
            ("found ", self.contradictions.len(), "contradiction"),
            ("kept both of ", self.apart.len(), "pair"),
        ];
        let done = all.into_iter().filter(|(_, count, _)| *count > 0);
        let done = done.map(|(verb, count, what)| [verb, &format_count(count, what)].concat());
        let done: Vec<String> = done.collect();
        let undo = if self.undone {
            " (undone)".to_owned()
        } else {
            format!("; undo with `reprise doctor undo {}`", self.action)
        };
        done.join(", ") + &undo
    }

    fn list_states(names: &RecordNames<'_>, pairs: &[[RecordId; 2]]) -> Vec<ContradictionState> {
        if pairs.is_empty() {
            return Vec::new();
        }
        let noted = names.memory.contradictions();
        let pairs = pairs.iter();
        pairs
            .map(|pair| ContradictionState::of(names, &noted, *pair))
            .collect()
    }

    fn list_kept_pairs(names: &RecordNames<'_>, pairs: &[[RecordId; 2]]) -> Vec<KeptPair> {
        let pairs = pairs.iter().map(|pair| KeptPair {
            pair: pair.map(|id| names.record_name(id)),
            texts: pair.map(|id| names.text_beginning(id)),
        });
        pairs.collect()
    }

    pub(super) fn of(names: &RecordNames<'_>, action: ConsolidationAction) -> Self {
        let mut sets: Vec<Vec<RecordId>> = Vec::new();
        for (gone, kept) in action.merged {
            match sets.iter_mut().find(|set| set.first() == Some(&kept)) {
                Some(set) => set.push(gone),
                None => sets.push(vec![kept, gone]),
            }
        }
        Self {
            action: action.action,
            at: format_instant(action.at),
            merged: names.describe_merged_sets(&sets),
            purged: names.record_names(&action.purged),
            distilled: names.record_names(&action.distilled),
            contradictions: names.pair_names(&action.contradictions),
            contradiction_states: Self::list_states(names, &action.contradictions),
            apart: Self::list_kept_pairs(names, &action.apart),
            undone: action.undone,
        }
    }
}

/// The latest actions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Told")]
pub struct ActionList {
    /// The latest first; what was forgotten since is not among them.
    pub actions: Vec<MaintenanceAction>,
}

operation! {
    Spec::for_reading("diary", "What tidying up did, newest first.").with_tool("diary", Profile::Full);
    /// How much of it.
    #[derive(Default, clap::Args)]
    Diary(memory, arguments: DiaryArguments {
        /// Maximum number of actions [default: 50].
        #[arg(long)]
        pub limit: Option<usize> as LimitCount,
    }) -> ActionList {
        let limit = arguments.limit.unwrap_or(PAGE_DEFAULT);
        let for_agent = memory.is_for_agent();
        let told = memory.run_on_snapshot(move |memory| {
            let latest = list_actions(memory).into_iter().rev().take(limit);
            let names = RecordNames { memory, for_agent };
            let actions = latest.map(|action| MaintenanceAction::of(&names, action));
            ActionList {
                actions: actions.collect(),
            }
        });
        told.await
    }

    fn render_text(told: &ActionList) -> Cow<'_, str> {
        let lines = told.actions.iter().map(|acted| {
            let mut line = format!("\n{}: {}", acted.at, acted.describe());
            if !acted.merged.is_empty() {
                let mut quoted = QuotedMemory::new(system_entropy());
                MergedSet::quote_sets(&acted.merged, &mut quoted);
                line.push_str(&["\n", quoted.into_text().trim_end()].concat());
            }
            line
        });
        let lines: String = lines.collect();
        let actions = format_count(told.actions.len(), "action");
        [actions, lines].concat().into()
    }
}

const QUARTER_MICROS: i64 = 15 * 60 * 1_000_000;

/// The days on which something was kept that is still live.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Growing {
    /// Oldest first.
    pub days: Vec<DayOfGrowth>,
}

/// A day of the machine's calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DayOfGrowth {
    /// Which.
    #[schemars(with = "String")]
    pub day: NaiveDate,
    /// Live records that had been kept by its end.
    pub records: u64,
}

operation! {
    Spec::for_reading("growth", "How many records there were, day by day.");
    Growth(memory, _: NoArguments) -> Growing {
        let calendar = memory.calendar();
        let grown = memory.run_on_snapshot(move |memory| {
            let mut kept: BTreeMap<NaiveDate, u64> = BTreeMap::new();
            // A day ends with a quarter of an hour in every zone: most records share one with the
            // record before, whose day is known.
            let mut together = 0;
            let mut times = memory.known_at_micros().peekable();
            while let Some(micros) = times.next() {
                together += 1;
                let quarter = micros.div_euclid(QUARTER_MICROS);
                let is_same = |next: &i64| next.div_euclid(QUARTER_MICROS) == quarter;
                if !times.peek().is_some_and(is_same)
                    && let Some(at) = DateTime::from_timestamp_micros(micros)
                {
                    *kept.entry(calendar.day_of(at)).or_default() += together;
                    together = 0;
                }
            }
            let days = kept.into_iter().scan(0, |records, (day, more)| {
                *records += more;
                Some(DayOfGrowth {
                    day,
                    records: *records,
                })
            });
            Growing {
                days: days.collect(),
            }
        });
        grown.await
    }
}
