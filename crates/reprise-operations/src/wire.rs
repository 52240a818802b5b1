//! The JSON that crosses a process boundary: the batch contract's lines (DESIGN 10), and the same
//! things as HTTP bodies. One home, so that a file, a socket and a terminal say the same.

mod answer;
mod fields;
mod filter;
mod record;
mod told;

use reprise_redact::Redaction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use answer::{Answer, Hit, OutcomeLine, OutcomeReport, QueryLine, fresh_run_id};
pub(crate) use fields::{add, meant, question_vector, refuse_slips};
pub use fields::{from_json, hinted};
pub use filter::{Filter, PageAsked};
pub(crate) use filter::{Part, time};
pub use record::{
    ExportLine, Fate, IngestLine, WriteReport, external_id_of, is_sensitive, line_of, read_line,
    record_of_value,
};
pub(crate) use record::{instant, read_value};
pub use told::LessonCard;
pub(crate) use told::{Told, sensitive_left_out, short, take_sensitive, within};

/// A secret that was taken out of one of several records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordRedaction {
    /// Field, rule and line.
    #[serde(flatten)]
    pub redaction: Redaction,
    /// Which record of the request, or which line of the file, it was, from 1.
    pub record: u64,
}

/// None.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct NoArguments {}
