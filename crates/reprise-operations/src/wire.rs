//! The JSON that crosses a process boundary: the lines of `ingest` and `export`, and the same
//! things as HTTP bodies. One home, so that a file, a socket and a terminal say the same.

mod answer;
mod captions;
mod counts;
mod fields;
mod filter;
mod record;
mod results;
mod signals;
mod sureness;
mod undone;

use reprise_redact::Redaction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bounds::arguments;

pub use answer::{Hit, OutcomeLine, OutcomeReport, QueryLine, RecallAnswer, fresh_run_id};
pub use captions::LessonCard;
pub(crate) use captions::{
    describe_left_out_sensitive, drop_sensitive_records, excerpt_within, short_excerpt,
};
pub use counts::{format_count, format_size};
pub(crate) use fields::{add_fields, question_vector, refuse_misspelled_fields};
pub use fields::{add_hint, find_meant_name, parse_lenient_json};
pub use filter::{Filter, PageArguments};
pub(crate) use filter::{cut_page, list_page, parse_time};
pub use record::{
    ExportLine, IngestLine, RecordFate, WriteReport, external_id_of, is_sensitive, parse_record,
    read_line, read_records, to_ingest_line,
};
pub(crate) use record::{format_instant, read_value};
pub use results::{NothingAddedReason, PromptResult, RUNS_TO_COMPARE_MIN};
pub use signals::describe_signal;
pub(crate) use sureness::capitalize;
pub use sureness::{RELATED, UNLIKELY, WEAK};
pub(crate) use undone::UndoneReport;

/// A secret that was taken out of one of several records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RecordRedaction {
    /// Field, rule and line.
    #[serde(flatten)]
    pub redaction: Redaction,
    /// Which record of the request, or which line of the file, it was, from 1.
    pub record: u64,
}

arguments! {
    /// None.
    #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::Args)]
    #[serde(deny_unknown_fields)]
    pub struct NoArguments {}
}
