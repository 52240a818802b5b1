//! How a memory grew.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Operation, Spec};
use crate::memories::Memory;
use crate::problem::Problem;

const QUARTER_MICROS: i64 = 15 * 60 * 1_000_000;

/// None.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {}

/// The days on which something was kept that is still live.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Days {
    /// Oldest first.
    pub days: Vec<Day>,
}

/// A day of the machine's calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Day {
    /// Which.
    #[schemars(with = "String")]
    pub day: NaiveDate,
    /// Live records that had been kept by its end.
    pub records: u64,
}

#[derive(Debug)]
pub struct Growth;

impl Operation for Growth {
    const SPEC: Spec = Spec::reads("growth", "How many records there were, day by day.");
    type Arguments = Arguments;
    type Answer = Days;

    async fn run(memory: &Memory, Arguments {}: Arguments) -> Result<Days, Problem> {
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
                Some(Day {
                    day,
                    records: *records,
                })
            });
            Days {
                days: days.collect(),
            }
        });
        grown.await
    }
}
