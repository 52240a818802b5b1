//! DESIGN section 2's table as data. A change here is a decision: write its ADR.
//!
//! Rooms, fences and composition roots.

/// A package, and the Reprise packages that its shipped code may name.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) package: &'static str,
    pub(super) may_name: &'static [&'static str],
}

/// Outside crates held in certain rooms, so that each can be replaced in one place.
#[derive(Debug)]
pub(super) struct Fence {
    pub(super) outside: &'static [&'static str],
    pub(super) rooms: &'static [&'static str],
    /// Rooms whose tests and benches may use them besides, as referee or competitor.
    pub(super) tests_of: &'static [&'static str],
}

/// In `folder`, `path_root` may stand in the file `only_in` and nowhere else.
#[derive(Debug)]
pub(super) struct Composition {
    pub(super) folder: &'static str,
    pub(super) path_root: &'static str,
    pub(super) only_in: &'static str,
}

/// In order: a room's tests may name any room above it, so no order of tests makes a cycle.
pub(super) const ROOMS: &[Room] = &[
    // The kit of every room's tests, and in the same folder the tests of the whole.
    Room {
        package: "reprise-tests",
        may_name: &["*"],
    },
    Room {
        package: "reprise-types",
        may_name: &[],
    },
    Room {
        package: "reprise-files",
        may_name: &[],
    },
    Room {
        package: "reprise-redact",
        may_name: &["reprise-types"],
    },
    Room {
        package: "reprise-store",
        may_name: &["reprise-types", "reprise-files"],
    },
    Room {
        package: "reprise-index",
        may_name: &["reprise-types"],
    },
    Room {
        package: "reprise-learn",
        may_name: &["reprise-types"],
    },
    Room {
        package: "reprise-embed",
        may_name: &["reprise-types", "reprise-files"],
    },
    Room {
        package: "reprise-engine",
        may_name: &[
            "reprise-types",
            "reprise-store",
            "reprise-index",
            "reprise-learn",
        ],
    },
    Room {
        package: "reprise-knowledge",
        may_name: &["reprise-types", "reprise-files", "reprise-engine"],
    },
    Room {
        package: "reprise-eval",
        // It times and compares; the store and the model are lent to it.
        may_name: &[
            "reprise-types",
            "reprise-index",
            "reprise-learn",
            "reprise-engine",
        ],
    },
    Room {
        package: "reprise-global",
        may_name: &[
            "reprise-types",
            "reprise-files",
            "reprise-redact",
            "reprise-engine",
            // Its tests' server of PostgreSQL.
            "reprise-tests",
        ],
    },
    Room {
        package: "reprise-agent",
        may_name: &[
            "reprise-types",
            "reprise-redact",
            "reprise-engine",
            "reprise-embed",
        ],
    },
    Room {
        package: "reprise-workspace",
        // Memory meets it through events and records, in the host and the binary.
        may_name: &["reprise-types", "reprise-files"],
    },
    Room {
        package: "reprise-page",
        // What it asks of memory is lent to it.
        may_name: &["reprise-types", "reprise-engine"],
    },
    Room {
        package: "reprise-sandbox",
        // What its model's endpoint is sent passes the gate of `reprise-redact`.
        may_name: &[
            "reprise-types",
            "reprise-redact",
            "reprise-agent",
            "reprise-workspace",
        ],
    },
    Room {
        package: "reprise-operations",
        // What other rooms know and memory does not, they offer as operations here (ADR 0013).
        may_name: &[
            "reprise-types",
            "reprise-redact",
            "reprise-engine",
            "reprise-knowledge",
            "reprise-global",
            "reprise-agent",
            "reprise-workspace",
        ],
    },
    Room {
        package: "reprise-server",
        may_name: &[
            "reprise-types",
            "reprise-files",
            "reprise-redact",
            "reprise-global",
            "reprise-agent",
            "reprise-operations",
            "reprise-page",
        ],
    },
    Room {
        package: "reprise",
        may_name: &[
            "reprise-types",
            "reprise-files",
            "reprise-redact",
            "reprise-engine",
            "reprise-eval",
            "reprise-knowledge",
            "reprise-global",
            "reprise-agent",
            "reprise-operations",
            "reprise-server",
            "reprise-workspace",
            // The composition root chooses the disk, the model and, for the demo, the host: ADR
            // 0003.
            "reprise-store",
            "reprise-embed",
            "reprise-sandbox",
            // Its integration tests' kit.
            "reprise-tests",
        ],
    },
];

pub(super) const FENCES: &[Fence] = &[
    Fence {
        outside: &["ort", "ort-sys", "tokenizers", "rten", "rten-tensor", "zip"],
        rooms: &["reprise-embed"],
        tests_of: &[],
    },
    Fence {
        // Knowledge reads and writes other programs' files (ADR 0022).
        outside: &["rvf-types", "rvf-runtime"],
        rooms: &["reprise-store", "reprise-knowledge"],
        tests_of: &["reprise"],
    },
    Fence {
        outside: &["rvf-wire"],
        rooms: &["reprise-store"],
        tests_of: &["reprise"],
    },
    Fence {
        outside: &["multiversion", "rust-stemmers", "rvf-index"],
        rooms: &["reprise-index"],
        tests_of: &[],
    },
    Fence {
        outside: &["ruvector-sona"],
        rooms: &["reprise-learn"],
        tests_of: &[],
    },
    Fence {
        outside: &["git2"],
        rooms: &["reprise-workspace", "reprise-knowledge"],
        tests_of: &[],
    },
    Fence {
        outside: &["serde-saphyr"],
        rooms: &["reprise", "reprise-knowledge"],
        tests_of: &[],
    },
    Fence {
        outside: &["jsonschema", "regorus", "tar"],
        rooms: &["reprise-workspace"],
        // Sunwell's lines are held against its schemas.
        tests_of: &["reprise-knowledge"],
    },
    Fence {
        outside: &["ractor"],
        rooms: &["reprise-agent", "reprise-workspace", "reprise-sandbox"],
        tests_of: &[],
    },
    Fence {
        outside: &["tokio"],
        rooms: &[
            "reprise-agent",
            "reprise-global",
            "reprise-workspace",
            "reprise-sandbox",
            "reprise-operations",
            "reprise-server",
            "reprise",
        ],
        tests_of: &[],
    },
    Fence {
        outside: &["rusqlite"],
        rooms: &["reprise-sandbox", "reprise-knowledge"],
        tests_of: &["reprise-index", "reprise"],
    },
    Fence {
        // The ways out of the machine, each only to where somebody has named an address: a host's
        // model endpoint, a service of published knowledge, a daemon's collector of traces. What
        // they send is an `Outbound`.
        outside: &["ureq"],
        rooms: &["reprise-sandbox", "reprise"],
        tests_of: &[],
    },
    Fence {
        outside: &["sqlite-vec"],
        rooms: &[],
        tests_of: &["reprise-index"],
    },
    Fence {
        outside: &[
            "clap",
            "clap_complete",
            "clap_mangen",
            "anyhow",
            "indicatif",
            "anstream",
            "opentelemetry",
            "opentelemetry-http",
            "opentelemetry-otlp",
            "opentelemetry_sdk",
            "owo-colors",
            "tracing-opentelemetry",
        ],
        rooms: &["reprise"],
        tests_of: &[],
    },
    Fence {
        outside: &["http-body-util", "hyper", "governor", "hyper-util", "rmcp"],
        rooms: &["reprise-server"],
        tests_of: &[],
    },
    Fence {
        outside: &["axum", "tokio-stream"],
        rooms: &["reprise-server", "reprise-page"],
        tests_of: &[],
    },
    Fence {
        outside: &["maud", "similar"],
        rooms: &["reprise-page"],
        tests_of: &[],
    },
    Fence {
        outside: &["aho-corasick"],
        rooms: &["reprise-redact"],
        tests_of: &[],
    },
    Fence {
        outside: &[
            "deadpool-postgres",
            "rustls",
            "tokio-postgres",
            "tokio-postgres-rustls",
            "uuid",
        ],
        rooms: &["reprise-global"],
        tests_of: &[],
    },
    Fence {
        outside: &["arc-swap"],
        rooms: &["reprise-agent", "reprise-engine"],
        tests_of: &[],
    },
];

pub(super) const COMPOSITION: &[Composition] = &[Composition {
    folder: "sandbox",
    path_root: "reprise_agent",
    only_in: "sandbox/src/memory_bridge.rs",
}];
