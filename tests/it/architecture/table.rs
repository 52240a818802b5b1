//! The permitted dependencies of docs/ARCHITECTURE.md as data. A change here is a decision: write
//! its ADR.

/// A package, and the Reprise packages that its shipped code may name (each without `reprise-`).
/// In order: a room's tests may name any room above it, so no order of tests makes a cycle.
pub(super) const ROOMS: &[(&str, &str)] = &[
    // The kit of every room's tests, and in the same folder the tests of the whole.
    ("tests", "*"),
    ("types", ""),
    ("files", ""),
    ("redact", "types"),
    // A second store of vectors, which a program plugs in (ADR 0058).
    ("rvf", "types"),
    // A disk that fails, for the tests of the store and above.
    ("simulation", "types store"),
    ("store", "types files"),
    // The graph's arithmetic: no `std`, no dependencies.
    ("hnsw", ""),
    ("index", "types hnsw"),
    ("learn", "types"),
    // It is given measures and returns an order with reasons (ADR 0060).
    ("rank", "types index"),
    ("embed", "types files"),
    ("engine", "types store index learn rank"),
    ("knowledge", "types files redact engine"),
    // What every global store must do, for the tests of all of them.
    ("conformance", "types global tests"),
    ("global", "types files redact engine"),
    // The last for its tests' server of PostgreSQL.
    ("postgres", "types redact engine global tests"),
    ("agent", "types redact engine embed"),
    // What is said of a governed workspace, for those who ask one without linking it (ADR 0054).
    ("workspace-types", ""),
    // Memory meets it through events and records, in the host and its program.
    ("workspace", "types files workspace-types"),
    // What its model's endpoint is sent passes the gate of `reprise-redact`.
    ("sandbox", "types redact agent"),
    // A host with a governed workspace links both (ADR 0054).
    ("sandbox-workspace", "types sandbox workspace"),
    // What other rooms know and memory does not, they offer as operations here (ADR 0013).
    ("operations", "types redact engine knowledge global agent"),
    // Operations of another context, which a program adds to a memory's own (ADR 0063).
    ("workspace-operations", "types operations workspace-types"),
    // A face like the others: it runs operations (ADR 0040).
    ("page", "types engine operations"),
    // What a command's end says is read alike by hooks and from histories (ADR 0045).
    (
        "server",
        "types files redact knowledge global agent operations page",
    ),
    // The composition root chooses the disk, the model and, for the demo, the host: ADR 0003.
    (
        "reprise",
        "types files redact rvf engine knowledge global agent operations workspace-operations \
         server workspace-types store embed sandbox tests",
    ),
    // Programs next to `reprise`, as git and cargo have them: ADR 0052 and 0054.
    (
        "workspace-cli",
        "types workspace-types operations workspace reprise",
    ),
    ("seal", "files"),
    (
        "global-cli",
        "types files global postgres operations server reprise",
    ),
    // The laboratory measures with what the commands open, and compares learners and rankings.
    (
        "lab",
        "types rvf index learn engine knowledge global postgres agent operations server store embed \
         sandbox reprise tests",
    ),
];

/// Rooms without `std` and without a dependency, their tests included.
pub(super) const BARE: &[&str] = &["hnsw"];

/// Outside crates held in certain rooms, so that each can be replaced in one place; and the rooms
/// whose tests and benches may use them besides, as referee or competitor.
pub(super) const FENCES: &[(&str, &str, &str)] = &[
    ("ort ort-sys tokenizers rten rten-tensor", "embed", ""),
    // A model's package, and the export of a chat (ADR 0045).
    ("zip", "embed knowledge", ""),
    // Knowledge reads and writes other programs' files (ADR 0022).
    ("rvf-types rvf-runtime", "store knowledge rvf", "reprise"),
    ("rvf-wire", "store", "reprise"),
    ("multiversion rust-stemmers rvf-index", "index", ""),
    ("ruvector-sona", "lab", "learn"),
    ("git2", "workspace", "knowledge"),
    ("serde-saphyr", "reprise knowledge", ""),
    // Sunwell's lines are held against its schemas.
    (
        "jsonschema regorus tar",
        "workspace",
        "knowledge server reprise",
    ),
    ("ractor", "agent workspace sandbox sandbox-workspace", ""),
    (
        "tokio",
        "agent global postgres workspace sandbox sandbox-workspace operations workspace-operations page server reprise global-cli lab",
        "",
    ),
    ("rusqlite", "sandbox knowledge", "index reprise"),
    // The ways out of the machine, each only to where somebody has named an address: a host's
    // model endpoint, a service of published knowledge, a daemon's collector of traces. What
    // they send is an `OutboundBody`.
    ("ureq", "sandbox reprise", ""),
    // Arguments of an operation are typed as they are (ADR 0039).
    (
        "clap",
        "reprise operations workspace-cli seal global-cli lab",
        "",
    ),
    ("age", "seal", ""),
    (
        "clap_complete clap_mangen jsonc-parser anstream",
        "reprise",
        "",
    ),
    ("http-body-util hyper hyper-util ring rmcp", "server", ""),
    ("anyhow", "reprise workspace-cli seal global-cli lab", ""),
    ("indicatif", "lab", ""),
    ("axum tokio-stream", "server page", ""),
    ("maud similar", "page", ""),
    ("aho-corasick", "redact", ""),
    (
        "deadpool-postgres tokio-postgres tokio-postgres-rustls uuid",
        "postgres",
        "",
    ),
    // A database's certificate, and that of a daemon on another machine (ADR 0047).
    ("rustls", "postgres server", ""),
    ("rustls-native-certs tokio-rustls", "server", ""),
];

/// In a folder a crate is named in one file and nowhere else.
pub(super) const COMPOSITION: &[(&str, &str, &str)] = &[
    (
        "sandbox/",
        "reprise_agent::",
        "sandbox/src/memory_bridge.rs",
    ),
    // The program's way to the example host.
    (
        "crates/reprise/src/",
        "reprise_sandbox::",
        "crates/reprise/src/cli/host.rs",
    ),
];

/// What belongs to crates for tests alone. It is always built, so that `cargo run` and `cargo test`
/// share one build.
pub(super) const DOUBLES: [&str; 4] = [
    "testing::",
    "FakeEmbedder",
    "hot_statements",
    "policies_alone",
];
