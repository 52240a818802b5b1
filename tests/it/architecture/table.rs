//! DESIGN section 2's table as data. A change here is a decision: write its ADR.

/// A package, and the Reprise packages that its shipped code may name (each without `reprise-`).
/// In order: a room's tests may name any room above it, so no order of tests makes a cycle.
pub(super) const ROOMS: &[(&str, &str)] = &[
    // The kit of every room's tests, and in the same folder the tests of the whole.
    ("tests", "*"),
    ("types", ""),
    ("files", ""),
    ("redact", "types"),
    // A disk that fails, for the tests of the store and above.
    ("simulation", "types store"),
    ("store", "types files"),
    // The graph's arithmetic: no `std`, no dependencies (M22).
    ("graph", ""),
    ("index", "types graph"),
    ("learn", "types"),
    ("embed", "types files"),
    ("engine", "types store index learn"),
    ("knowledge", "types files redact engine"),
    // It times and compares; the store and the model are lent to it.
    ("eval", "types index learn engine"),
    // What every global store must do, for the tests of all of them.
    ("conformance", "types global tests"),
    // The last for its tests' server of PostgreSQL.
    ("global", "types files redact engine tests"),
    ("agent", "types redact engine embed"),
    // Memory meets it through events and records, in the host and the binary.
    ("workspace", "types files"),
    // What its model's endpoint is sent passes the gate of `reprise-redact`.
    ("sandbox", "types redact agent workspace"),
    // What other rooms know and memory does not, they offer as operations here (ADR 0013).
    (
        "operations",
        "types redact engine knowledge global agent workspace",
    ),
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
        "types files redact engine eval knowledge global agent operations server workspace \
         store embed sandbox tests",
    ),
];

/// Rooms without `std` and without a dependency, their tests included.
pub(super) const BARE: &[&str] = &["graph"];

/// Outside crates held in certain rooms, so that each can be replaced in one place; and the rooms
/// whose tests and benches may use them besides, as referee or competitor.
pub(super) const FENCES: &[(&str, &str, &str)] = &[
    ("ort ort-sys tokenizers rten rten-tensor", "embed", ""),
    // A model's package, and the export of a chat (ADR 0045).
    ("zip", "embed knowledge", ""),
    // Knowledge reads and writes other programs' files (ADR 0022).
    ("rvf-types rvf-runtime", "store knowledge", "reprise"),
    ("rvf-wire", "store", "reprise"),
    ("multiversion rust-stemmers rvf-index", "index", ""),
    ("ruvector-sona", "learn", ""),
    ("git2", "workspace knowledge", ""),
    ("serde-saphyr", "reprise knowledge", ""),
    // Sunwell's lines are held against its schemas.
    (
        "jsonschema regorus tar",
        "workspace",
        "knowledge server reprise",
    ),
    ("ractor", "agent workspace sandbox", ""),
    (
        "tokio",
        "agent global workspace sandbox operations page server reprise",
        "",
    ),
    ("rusqlite", "sandbox knowledge", "index reprise"),
    // The ways out of the machine, each only to where somebody has named an address: a host's
    // model endpoint, a service of published knowledge, a daemon's collector of traces. What
    // they send is an `Outbound`.
    ("ureq", "sandbox reprise", ""),
    // Arguments of an operation are typed as they are (ADR 0039).
    ("clap", "reprise operations", ""),
    (
        "age clap_complete clap_mangen anyhow indicatif jsonc-parser anstream opentelemetry opentelemetry-http \
         opentelemetry-otlp opentelemetry_sdk owo-colors tracing-opentelemetry",
        "reprise",
        "",
    ),
    (
        "http-body-util hyper governor hyper-util jsonwebtoken ring rmcp",
        "server",
        "",
    ),
    ("axum tokio-stream", "server page", ""),
    ("maud similar", "page", ""),
    ("aho-corasick", "redact", ""),
    (
        "deadpool-postgres tokio-postgres tokio-postgres-rustls uuid",
        "global",
        "",
    ),
    // A database's certificate, and that of a daemon on another machine (ADR 0047).
    ("rustls", "global server", ""),
    ("rustls-native-certs tokio-rustls", "server", ""),
    ("arc-swap", "agent engine", ""),
];

/// In a folder a crate is named in one file and nowhere else.
pub(super) const COMPOSITION: &[(&str, &str, &str)] = &[(
    "sandbox/",
    "reprise_agent::",
    "sandbox/src/memory_bridge.rs",
)];

/// What stands in crates for tests alone. It is always built, so that `cargo run` and `cargo test`
/// share one build.
pub(super) const DOUBLES: [&str; 4] = [
    "testing::",
    "FakeEmbedder",
    "hot_statements",
    "policies_alone",
];
