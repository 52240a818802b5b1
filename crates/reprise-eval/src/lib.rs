//! Retrieval quality: readers of the public data sets, the protocol, metrics, baselines, reports.

mod answer;
mod baselines;
mod calibration;
mod dataset;
mod error;
mod learning;
mod marks;
mod mine;
mod offtopic;
mod read;
mod report;
mod run;
mod store;
mod vectors;

pub use answer::{AnswerOptions, AnswerReport, Answered, Ask, answer, print_answer};
pub use calibration::{Calibration, Cut, Silence};
pub use dataset::{Corpus, Dataset, Format, Protocol, Question, Rated};
pub use error::EvalError;
pub use learning::{Kept, LearningReport, Loop, ScenarioReport, System, print_learning, prove};
pub use marks::{DEPTHS, Gold, Marks, marks};
pub use mine::{Mine, MineModel, mine, print_mine};
pub use offtopic::{OffTopic, Pair, off_topic, print_off_topic};
pub use read::{ReadRecord, read, read_by, read_git};
pub use report::{
    Interval, Latency, Report, Summary, SystemReport, percentile, print, print_brief,
};
pub use run::{EACH, Options, Stage, evaluate};
pub use store::{Judge, OpenEngine, Tools};
pub use vectors::OpenEmbedder;
