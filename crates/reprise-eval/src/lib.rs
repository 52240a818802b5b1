//! Retrieval quality: readers of the public data sets, the protocol, metrics, baselines, reports.
//!
//! Lives here: everything between a data set on disk and a table of figures. Must never live here:
//! a data set, a ranking rule, a model, a terminal; the store and the embedder are arguments.

mod baselines;
mod bootstrap;
mod calibration;
mod dataset;
mod error;
mod learning;
mod marks;
mod read;
mod report;
mod run;
mod table;
mod vectors;

pub use calibration::{Calibration, Cut, Silence};
pub use dataset::{Corpus, Dataset, Format, Gold, Question, Rated};
pub use error::EvalError;
pub use learning::{Kept, LearningReport, Loop, ScenarioReport, System, print_learning, prove};
pub use marks::{DEPTHS, Marks, marks};
pub use read::{ReadRecord, read};
pub use report::{Interval, Latency, Report, Summary, SystemReport};
pub use run::{EACH, OpenEngine, Options, Stage, Tools, evaluate};
pub use table::print;
pub use vectors::OpenEmbedder;
