//! A disk in memory that fails as real ones do, workloads for it with a model to compare a log
//! with, and the real disk with a test that observes its calls. For tests of the store and of the
//! crates above it.

mod disk;
mod heard;
mod workload;

pub use disk::{Crash, SimDisk};
pub use heard::{DiskCall, ObservedDisk};
pub use workload::{
    DIMENSIONS, LogModel, SECTION_TAG, WIDER_DIMENSIONS, WorkloadStep, apply_step, check_sections,
    embedding_space, generate_workload, log_path, make_record, mix_hash, open_log, open_options,
    section_pages, unit_vector, write_checkpoint,
};
