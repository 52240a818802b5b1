//! How a memory grew.

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Operation, Spec};
use crate::memories::Memory;
use crate::problem::Problem;

const QUARTER_SECONDS: i64 = 15 * 60;

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

/// The operation.
#[derive(Debug)]
pub struct Growth;

impl Operation for Growth {
    const SPEC: Spec = Spec::reads("growth", "How many records there were, day by day.");
    type Arguments = Arguments;
    type Answer = Days;

    async fn run(memory: &Memory, Arguments {}: Arguments) -> Result<Days, Problem> {
        let calendar = memory.calendar();
        let grown = memory.read(move |memory| {
            // A day ends with a quarter of an hour in every zone: most records share one with the
            // record before, whose day is known.
            let mut known: Option<(i64, NaiveDate)> = None;
            let days = memory.kept_at().map(|at| {
                let quarter = at.timestamp().div_euclid(QUARTER_SECONDS);
                if let Some((same, day)) = known
                    && same == quarter
                {
                    return day;
                }
                let day = calendar.day_of(at);
                known = Some((quarter, day));
                day
            });
            let mut kept: Vec<NaiveDate> = days.collect();
            kept.sort_unstable();
            let mut days: Vec<Day> = Vec::new();
            for (place, day) in kept.into_iter().enumerate() {
                let records = place as u64 + 1;
                match days.last_mut() {
                    Some(last) if last.day == day => last.records = records,
                    _ => days.push(Day { day, records }),
                }
            }
            Days { days }
        });
        grown.await
    }
}
