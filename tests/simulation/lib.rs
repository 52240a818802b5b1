//! A disk in memory that fails as real ones do, and workloads for it with the model that a log is
//! held against; and the real one, with a test that hears of its calls. For tests of the store
//! and of the rooms above it.

mod disk;
mod heard;
mod workload;

pub use disk::{Crash, SimDisk};
pub use heard::{Heard, HeardDisk};
pub use workload::{
    DERIVED_TAG, DIMENSIONS, Model, Step, WIDER, apply, derived, mix, open, options, path, record,
    space, unit_vector, workload,
};
