//! Retrieval quality: readers of the public data sets, the protocol, metrics, baselines, reports.

mod answer;
mod baselines;
mod calibration;
mod dataset;
mod error;
mod learning;
mod offtopic;
mod own_records;
mod ranking_metrics;
mod read;
mod report;
mod run;
mod stage;
mod store;
mod vectors;

pub use answer::{
    AnswerOptions, AnswerReport, Answered, AskModel, answer_questions, print_answer_report,
};
pub use calibration::{Calibration, Cut, Silence};
pub use dataset::{Corpus, Dataset, Format, Protocol, Question, Rated};
pub use error::EvalError;
pub use learning::{
    LearningReport, Loop, RetainedGain, ScenarioReport, System, evaluate_learning, print_learning,
};
pub use offtopic::{OffTopic, Pair, evaluate_off_topic, print_off_topic};
pub use own_records::{ModelComparison, ModelFigures, compare_models, print_model_comparison};
pub use ranking_metrics::{DEPTHS, Gold, RankingMetrics, measure_ranking};
pub use read::{ReadRecord, read, read_git, read_with_protocol};
pub use report::{
    EvalReport, Interval, Latency, Summary, SystemReport, percentile, print_brief, print_evaluation,
};
pub use run::{EACH, Options, evaluate};
pub use stage::EvalStage;
pub use store::{JudgeTexts, OpenStoreEngine, Tools};
pub use vectors::OpenEmbedder;
