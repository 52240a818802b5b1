//! The limits that several crates share, with the relations that must hold between them.
//!
//! A limit of one algorithm is defined with that algorithm.

/// Longest text of a record, in bytes of UTF-8. Longer text is cut on a character boundary and the
/// record's metadata says so (`truncated_from_bytes`).
pub const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Longest query text that is used, in bytes of UTF-8; the rest is ignored.
pub const QUERY_BYTES_MAX: usize = 16 * 1024;
/// Longest metadata or details object, in bytes of JSON.
pub const METADATA_BYTES_MAX: usize = 64 * 1024;
/// Longest session id, external id, namespace, run id, actor id or source reference, in bytes.
pub const IDENTIFIER_BYTES_MAX: usize = 512;
/// Longest user id, in bytes: it is the name of a directory.
pub const USER_ID_BYTES_MAX: usize = 128;
/// Most tags or source references of one record, and most external ids that its sender names.
pub const LIST_ITEMS_MAX: usize = 64;
/// Most external ids of one record: those of the list, and one each of the batch, the request and
/// another memory.
pub const EXTERNAL_IDS_MAX: usize = LIST_ITEMS_MAX + 3;
/// Most dimensions that an embedding space may have.
pub const DIMENSIONS_MAX: usize = 4096;
/// Most results one recall returns.
pub const TOP_K_MAX: usize = 1_000;
/// Results that a recall returns if the caller does not say.
pub const TOP_K_DEFAULT: usize = 5;
/// Most records of one page of a list.
pub const PAGE_MAX: usize = 1_000;
/// Records of a page if the caller does not say.
pub const PAGE_DEFAULT: usize = 50;
/// How far a vector's length may be from 1 before it is refused.
pub const UNIT_NORM_TOLERANCE: f32 = 1e-3;
/// How long a host that asks unbidden waits for a recall before it goes on without, in
/// milliseconds.
pub const RECALL_BUDGET_MS: u64 = 500;
/// How long a person or a tool call of a model waits for a recall, in milliseconds. A model that is
/// still being loaded is waited for.
pub const PURPOSEFUL_BUDGET_MS: u64 = 10_000;
/// Runs below which learning moves no score.
pub const LEARNING_RUNS_MIN: u32 = 15;
/// Most records in one file: ordinals are `u32` and the highest value means "none".
pub const RECORDS_MAX: u32 = u32::MAX - 1;

const _: () = assert!(IDENTIFIER_BYTES_MAX >= USER_ID_BYTES_MAX);
const _: () = assert!(TEXT_BYTES_MAX >= QUERY_BYTES_MAX);
const _: () = assert!(TOP_K_MAX >= TOP_K_DEFAULT);
const _: () = assert!(PAGE_MAX >= PAGE_DEFAULT);
const _: () = assert!(PURPOSEFUL_BUDGET_MS > RECALL_BUDGET_MS);
