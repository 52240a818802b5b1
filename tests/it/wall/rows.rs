//! Every way out, a row each: a route, a tool or a room of the page without one fails the build.

use std::collections::BTreeSet;

use reprise_operations::{Catalogue, Profile};
use reprise_tests::WorkspaceTree;
use reprise_workspace_operations::{GovernedWorkspaces, PROFILE};

/// What an answer to the memory's own owner may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// What was asked for: texts of the memory.
    Memory,
    /// Counts, states and names of the program: no text of any memory, not even for its owner.
    Nothing,
}

use Holds::{Memory, Nothing};

/// The operations, and the routes that are none, by their names in `/openapi.json`.
pub(super) const OPERATIONS: &[(&str, Holds)] = &[
    ("brief", Memory),
    ("checkpoint", Nothing),
    ("compact", Nothing),
    // A dry run shows how the texts begin.
    ("delete", Memory),
    ("episode", Memory),
    ("episodes", Memory),
    ("forget", Memory),
    ("get", Memory),
    ("growth", Nothing),
    ("history", Memory),
    ("hook", Memory),
    ("host_config", Nothing),
    ("host_stats", Nothing),
    ("learn", Memory),
    ("learning", Nothing),
    ("landscape", Memory),
    ("withdraw_outcome", Nothing),
    ("learning_report", Memory),
    ("link", Nothing),
    ("link_many", Nothing),
    ("list", Memory),
    ("merge", Nothing),
    ("merge_tags", Nothing),
    ("moments", Nothing),
    ("observe", Nothing),
    ("outcome", Nothing),
    ("publish", Nothing),
    ("publish_branch", Nothing),
    ("publish_preview", Memory),
    ("published", Nothing),
    ("published_thing", Nothing),
    ("rate", Nothing),
    ("recall", Memory),
    ("receipts", Nothing),
    ("related", Memory),
    ("release", Nothing),
    ("resource", Memory),
    ("revise", Memory),
    ("search", Memory),
    ("show", Memory),
    ("stats", Nothing),
    ("tags", Memory),
    ("unforget", Nothing),
    ("unlink", Nothing),
    ("unpublish", Nothing),
    ("update", Nothing),
    ("visibility", Nothing),
    ("workspace_abandon", Nothing),
    ("workspace_approve", Nothing),
    ("workspace_audit", Memory),
    ("workspace_checkpoint", Nothing),
    ("workspace_decline", Nothing),
    ("workspace_diff", Memory),
    ("workspace_events", Memory),
    ("workspace_graph", Memory),
    ("workspace_log", Memory),
    ("workspace_merge", Nothing),
    ("workspace_propose", Nothing),
    ("workspace_read", Memory),
    ("workspace_recover", Nothing),
    ("workspace_restore", Nothing),
    ("workspace_review", Memory),
    ("workspace_rollback", Nothing),
    ("workspace_snapshot", Nothing),
    ("workspace_snapshots", Memory),
    ("workspace_state", Memory),
    ("workspace_status", Nothing),
    ("workspace_write", Nothing),
    ("live", Nothing),
    ("ready", Nothing),
    ("metrics", Nothing),
    ("status", Nothing),
    ("shutdown", Nothing),
    ("mcp", Memory),
    ("mcp_workspace", Memory),
    ("export", Memory),
    ("audit", Memory),
    ("runs", Memory),
    ("diary", Memory),
    ("pause", Memory),
    ("resume", Memory),
    ("pauses", Memory),
    ("prompts", Memory),
    ("replay", Memory),
    ("consolidate", Memory),
    ("review", Memory),
    ("undo", Memory),
    ("backup", Memory),
    ("changes", Memory),
    ("tool", Memory),
    ("add_learning", Memory),
    ("bridges", Memory),
    ("cluster", Memory),
    ("compact_observations", Nothing),
    ("define_evidence", Memory),
    ("evidence", Memory),
    ("extract_learnings", Memory),
    ("how", Memory),
    ("knowledge", Memory),
    ("merge_evidence", Memory),
    ("observations", Memory),
    ("path", Memory),
    ("rebuild", Nothing),
    ("record", Memory),
    ("reembed", Nothing),
];

/// The tools that stand in no row above by their own operation's name.
pub(super) const PROFILES: [Profile; 2] = [Profile::Full, Profile::Added(PROFILE)];

/// What the routers of the daemon, of the service and of the page are built of, apart from what the
/// catalogue brings: paths as the sources write them.
const ROUTES: &[(&str, &[&str])] = &[
    (
        "crates/reprise-server/src/http.rs",
        &[
            "/health/live",
            "/health/ready",
            "/metrics",
            "/openapi.json",
            "/v1/status",
            "/v1/shutdown",
            "/v1/page",
            "/v1/users/{user}/tools/{tool}",
            "/mcp",
            "/mcp/",
            "/mcp/workspace",
            "/mcp/workspace/",
        ],
    ),
    (
        "crates/reprise-server/src/http/oauth.rs",
        &[
            "/.well-known/oauth-authorization-server",
            "/.well-known/oauth-protected-resource",
            "/.well-known/oauth-protected-resource/{*path}",
            "/oauth/register",
            "/oauth/authorize",
            "/oauth/wait",
            "/oauth/approve",
            "/oauth/token",
            "/oauth/device",
            "/oauth/revoke",
            "/v1/oauth/approve",
        ],
    ),
    (
        "crates/reprise-server/src/http/streams.rs",
        &["/export", "/backup", "/changes"],
    ),
    (
        "crates/reprise-server/src/global/routes.rs",
        &["/health/live", "/health/ready", "/openapi.json"],
    ),
    (
        "crates/reprise-server/src/global/operations.rs",
        &[
            "/metrics",
            "/v1/publications",
            "/v1/publications/{id}",
            "/v1/publications/{id}/versions",
            "/v1/publications/{id}/rating",
            "/v1/query",
            "/v1/outcomes",
            "/v1/snapshots/{name}",
            "/v1/branches",
            "/v1/branches/{name}",
            "/v1/branches/{name}/publications",
            "/v1/branches/{name}/merge",
            "/v1/organisation",
            "/v1/reviews",
            "/v1/reviews/{id}",
            "/v1/projects",
            "/v1/submissions",
            "/v1/audit",
            "/v1/catalogue",
            "/v1/members",
            "/v1/quotas",
            "/v1/publications/{id}/takedown",
            "/v1/takedowns",
            "/v1/person",
        ],
    ),
];

/// Every operation of the product, described as its program puts them together.
pub(super) fn whole_catalogue() -> Catalogue {
    Catalogue::default().with_operations(GovernedWorkspaces::default().list_operations())
}

#[test]
fn every_operation_tool_and_route_has_its_row() {
    let catalogue = whole_catalogue();
    let rows: BTreeSet<&str> = OPERATIONS.iter().map(|(name, _)| *name).collect();
    assert_eq!(rows.len(), OPERATIONS.len(), "a row is there twice");
    for entry in catalogue.entries() {
        let name = entry.spec.name;
        assert!(
            rows.contains(name),
            "the operation `{name}` has no row in tests/it/wall/rows.rs: say what its answer holds"
        );
        if let Some(tool) = entry.spec.tool {
            let shown = PROFILES.iter().any(|profile| profile.shows(tool.profile));
            assert!(
                shown,
                "the tool `{}` is in no profile that is walked",
                tool.name
            );
        }
    }
    let tree = WorkspaceTree::read().expect("the workspace is readable");
    let routers = tree.sources.iter().filter(|source| {
        source.path.starts_with("crates/reprise-server/src/") && !source.path.contains("tests")
    });
    for source in routers {
        let text = tree.read_text(&source.path).expect("a source");
        let known = ROUTES.iter().find(|(path, _)| *path == source.path);
        let known = known.map_or(&[][..], |(_, routes)| routes);
        // The tests of a source are behind what it serves.
        let served = text
            .split("#[cfg(test)]\nmod tests {")
            .next()
            .unwrap_or_default();
        for path in routes_in(served) {
            assert!(
                known.contains(&path.as_str()),
                "{}: `{path}` has no row in tests/it/wall/rows.rs",
                source.path
            );
        }
    }
}

/// The paths that a source gives to a router.
pub(super) fn routes_in(source: &str) -> Vec<String> {
    // The operations of the service name the method before the path.
    let before = [
        "route(",
        ".route_service(",
        " Get ",
        " Post ",
        " Put ",
        " Delete ",
    ];
    let parts = before.iter().flat_map(|before| source.split(before));
    let mut paths: Vec<String> = parts
        .filter_map(|part| part.trim_start().strip_prefix('"'))
        .filter_map(|part| part.split('"').next())
        .filter(|path| path.starts_with('/'))
        .map(str::to_owned)
        .collect();
    paths.sort_unstable();
    paths.dedup();
    paths
}
