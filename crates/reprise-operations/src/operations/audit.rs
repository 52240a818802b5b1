//! How memory is, and what was done to it.

use chrono::{Datelike, NaiveDate};
use reprise_knowledge::{Action, Plan, actions, scores};

use crate::memories::{Doubted, Merged, beginning, told_of};
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
    pub contradictions: Vec<Doubted>,
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
    pub actions: Vec<Acted>,
    /// The share of records without trouble, 0..1.
    pub score: f64,
    /// The same at the end of each of the latest days on which something changed.
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
    Spec::reads(
        "audit",
        "Duplicates, contradictions, stale facts, secrets, growth, and a score over time.",
    )
    .tool("audit", Profile::Full);
    Audit(memory, _: NoArguments) -> Audited {
        let for_agent = memory.is_for_agent();
        let mut audited = memory
            .planned(move |memory, plan| audited(&Names { memory, for_agent }, &plan))
            .await?;
        let stats = memory.stats().await?;
        audited.unembedded = stats.unembedded;
        Ok(audited)
    }

    fn text(audited: &Audited) -> Cow<'_, str> {
        let holding = audited.actions.iter().filter(|action| !action.undone);
        let said = format!(
            "{}, score {:.3}: {}, {}, {} stale, {}, {} without a vector, {}; {} never used; {} to \
             review; {} can be undone",
            counted(audited.records, "record"),
            audited.score,
            counted(audited.duplicates, "duplicate"),
            counted(
                audited.contradictions.len() + audited.contradictions_more,
                "contradiction"
            ),
            audited.stale.len(),
            counted(audited.orphans.len(), "orphan"),
            audited.unembedded,
            counted(audited.possible_secrets.len(), "possible secret"),
            audited.never_used,
            counted(audited.review, "pair"),
            counted(holding.count(), "action")
        );
        let text = format!("{said}\n{}", audited.named());
        text.trim_end().to_owned().into()
    }
}

impl Audited {
    /// What is wrong, a line for each of the first records of a kind.
    fn named(&self) -> String {
        let mut quoted = QuotedMemory::new(system_entropy());
        let mut line = |label: &str, name: &str| {
            let begins = self.beginnings.get(name).map_or("", String::as_str);
            quoted.line(label, &[name, ": ", begins].concat());
        };
        for (label, names) in [
            ("- stale: ", &self.stale),
            ("- orphan: ", &self.orphans),
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

fn audited(names: &Names<'_>, plan: &Plan) -> Audited {
    let memory = names.memory;
    let redactor = Redactor::new();
    let used: HashSet<RecordId> = memory.standing_runs().flat_map(|(_, used)| used).collect();
    let mut audited = Audited {
        duplicates: plan.merged.iter().map(|merge| merge.gone.len()).sum(),
        review: plan.review.len() + plan.review_more,
        contradictions: names.pairs(&plan.contradictions, false),
        contradictions_more: plan.contradictions_more,
        stale: names.all(&plan.purged),
        actions: actions(memory)
            .into_iter()
            .map(|action| Acted::of(names, action))
            .collect(),
        growth: growth(memory),
        ..Audited::default()
    };
    let doubted = plan.contradictions.iter().take(NAMED);
    let mut told: Vec<RecordId> = doubted.flat_map(|doubted| doubted.pair).collect();
    told.extend(plan.purged.iter().take(NAMED));
    for record in memory.records().flatten() {
        audited.records += 1;
        audited.never_used += usize::from(!used.contains(&record.id));
        let is_made = record
            .details
            .as_ref()
            .is_some_and(|d| d["type"] == "distilled");
        let corrects = record.supersedes.map(|old| memory.version(old).is_some());
        if corrects == Some(false) || (is_made && memory.sources(record.id).is_empty()) {
            told.extend((audited.orphans.len() < NAMED).then_some(record.id));
            audited.orphans.push(names.of(record.id));
        }
        if !redactor.redact_text(&record.text).removed.is_empty() {
            told.extend((audited.possible_secrets.len() < NAMED).then_some(record.id));
            audited.possible_secrets.push(names.of(record.id));
        }
    }
    audited.beginnings = told
        .into_iter()
        .filter_map(|id| {
            let record = memory.version(id)?.ok()?;
            let text = redactor.redact_text(&record.text).text;
            let text = told_of(names.for_agent, &record, beginning(&text));
            Some((names.of(id), text))
        })
        .collect();
    let history = scores(memory, plan, audited.possible_secrets.len());
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
fn growth(memory: &Snapshot) -> BTreeMap<String, usize> {
    let mut months: BTreeMap<(i32, u32), usize> = BTreeMap::new();
    for at in memory
        .kept_micros()
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
pub struct Acted {
    /// For `undo`.
    pub action: String,
    /// When.
    pub at: String,
    pub merged: Vec<Merged>,
    /// Put away because their time was over.
    pub purged: Vec<String>,
    /// Made of others.
    pub distilled: Vec<String>,
    /// Pairs that contradict each other, the older first: the newer stands above it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradictions: Vec<[String; 2]>,
    /// Whether all of it was taken back.
    pub undone: bool,
}

impl Acted {
    pub(super) fn of(names: &Names<'_>, action: Action) -> Self {
        let mut sets: Vec<Vec<RecordId>> = Vec::new();
        for (gone, kept) in action.merged {
            match sets.iter_mut().find(|set| set.first() == Some(&kept)) {
                Some(set) => set.push(gone),
                None => sets.push(vec![kept, gone]),
            }
        }
        Self {
            action: action.action,
            at: instant(action.at),
            merged: names.merged(&sets),
            purged: names.all(&action.purged),
            distilled: names.all(&action.distilled),
            contradictions: names.ends(&action.contradictions),
            undone: action.undone,
        }
    }
}

/// The latest actions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Told {
    /// The latest first; what was forgotten since is not among them.
    pub actions: Vec<Acted>,
}

operation! {
    Spec::reads("diary", "What consolidation did, the latest first.").tool("diary", Profile::Full);
    /// How much of it.
    #[derive(Default, clap::Args)]
    Diary(memory, arguments: DiaryArguments {
        /// Actions at most; 50 by default.
        #[arg(long)]
        pub limit: Option<usize>,
    }) -> Told {
        let limit = arguments.limit.unwrap_or(PAGE_DEFAULT);
        let for_agent = memory.is_for_agent();
        let told = memory.read(move |memory| {
            let latest = actions(memory).into_iter().rev().take(limit);
            let names = Names { memory, for_agent };
            let actions = latest.map(|action| Acted::of(&names, action));
            Told {
                actions: actions.collect(),
            }
        });
        told.await
    }

    fn text(told: &Told) -> Cow<'_, str> {
        let lines = told.actions.iter().map(|acted| {
            let gone: usize = acted.merged.iter().map(|merge| merge.gone.len()).sum();
            let mut line = format!(
                "\n{} {}: {gone} merged, {} purged, {} distilled, {}{}",
                acted.at,
                acted.action,
                acted.purged.len(),
                acted.distilled.len(),
                counted(acted.contradictions.len(), "contradiction"),
                if acted.undone { ", undone" } else { "" }
            );
            if !acted.merged.is_empty() {
                let mut quoted = QuotedMemory::new(system_entropy());
                Merged::quote(&acted.merged, &mut quoted);
                line.push_str(&["\n", quoted.into_text().trim_end()].concat());
            }
            line
        });
        let lines: String = lines.collect();
        let actions = counted(told.actions.len(), "action");
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
    Spec::reads("growth", "How many records there were, day by day.");
    Growth(memory, _: NoArguments) -> Growing {
        let calendar = memory.calendar();
        let grown = memory.read(move |memory| {
            let mut kept: BTreeMap<NaiveDate, u64> = BTreeMap::new();
            // A day ends with a quarter of an hour in every zone: most records share one with the
            // record before, whose day is known.
            let mut together = 0;
            let mut times = memory.kept_micros().peekable();
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
