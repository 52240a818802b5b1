//! The permission table, whole, and a project's own rules.

use super::*;

const ACTORS: [&str; 8] = [
    "prm",
    "tsm",
    "vectorizer",
    "governor",
    "orchestrator",
    "human:ada",
    "researcher",
    "TSM-002",
];
/// With the name that owns it, where one does.
const PLACES: [(&str, &[&str]); 9] = [
    ("core/prd/PRD-001.json", &[]),
    ("core/tsd/TSD-001.json", &[]),
    ("core/adr/0001.md", &[]),
    ("extensions/researcher/x.md", &["researcher"]),
    ("memory/long_term/x.jsonl", &[]),
    ("memory/agent_state/tsm.checkpoint.json", &["TSM-001"]),
    ("embeddings/index/m.json", &[]),
    ("cache/x", &[]),
    (".sdlc_ide/logs/agent.jsonl", &[]),
];
const ACTS: [PathAction; 4] = [
    PathAction::Write,
    PathAction::Append,
    PathAction::Merge,
    PathAction::Rollback,
];

/// Who may, on main, with a PRD that is there and a merge that a person approved: a row for each
/// place, a word for each act in the order of `ACTS`, a letter for each actor in the order of
/// `ACTORS`. Written by hand from ADR-008 section 9.
const TABLE: [&str; 9] = [
    // p = prm, t = tsm, v = vectorizer, g = governor, o = orchestrator, h = human, r = researcher,
    // T = TSM-002
    "p......._p......._p..goh.._...g.h..", // PRD: PRM only; a person's review for merges
    ".t.....T_.t.....T_.t.goh.T_...g.h..", // TSD: TSM only
    "ptvgohrT_ptvgohrT_ptvgohrT_...g.h..", // ADR: section 9 names no owner
    "...g.hr._...g.hr._...gohr._........", // extensions: the mesh
    "ptvgohrT_ptvgohrT_ptvgohrT_........", // long-term memory
    ".t......_.t......_.t.goh.._........", // checkpoints: the owner; TSM-002 is not TSM-001
    "..v....._..v....._..vgoh.._........", // embeddings: the Vectorizer
    "ptvgohrT_ptvgohrT_........_........", // cache: all
    "........_ptvgohrT_........_........", // logs: all, append only
];

fn ask<'a>(
    actor: &'a Actor,
    act: PathAction,
    path: &'a RepoPath,
    owners: &'a [String],
    upstream: &'a Upstream,
) -> PermissionRequest<'a> {
    PermissionRequest {
        actor,
        act,
        path,
        branch: "main",
        on_main: true,
        owners,
        approved: true,
        shortens: false,
        upstream,
    }
}

fn present_upstream() -> Upstream {
    Upstream {
        named: true,
        ..Upstream::default()
    }
}

#[test]
fn the_table_of_section_nine_holds_for_every_actor_place_and_act() {
    let mut governor = Governor::new(&[]).unwrap();
    let upstream = present_upstream();
    let mut decisions = 0;
    for ((place, owners), row) in PLACES.into_iter().zip(TABLE) {
        let owners: Vec<String> = owners.iter().map(|name| (*name).to_owned()).collect();
        for (act, allowed) in ACTS.into_iter().zip(row.split('_')) {
            for (name, letter) in ACTORS.into_iter().zip(allowed.chars()) {
                let actor = Actor::new(name).unwrap();
                let path = RepoPath::trusted(place);
                let verdict = governor
                    .judge(&ask(&actor, act, &path, &owners, &upstream))
                    .unwrap();
                let may = verdict.refusal.is_none();
                assert_eq!(may, letter != '.', "{name} {act:?} {place}: {verdict:?}");
                decisions += 1;
            }
        }
    }
    assert_eq!(decisions, 8 * 9 * 4);
}

#[test]
fn a_tsd_needs_its_prd_and_a_prd_its_review() {
    let mut governor = Governor::new(&[]).unwrap();
    let tsm = Actor::new("tsm").unwrap();
    let tsd = RepoPath::trusted("core/tsd/TSD-001.json");
    let mut refusal = |upstream: Upstream| {
        let ask = ask(&tsm, PathAction::Write, &tsd, &[], &upstream);
        governor.judge(&ask).unwrap().refusal
    };
    assert_eq!(refusal(present_upstream()), None);
    let missing = vec!["PRD-009".to_owned()];
    let cases = [
        Upstream::default(),
        Upstream {
            missing: missing.clone(),
            ..present_upstream()
        },
        Upstream {
            stale: missing,
            ..present_upstream()
        },
    ];
    for upstream in cases {
        assert!(refusal(upstream).unwrap().contains("prd_id"));
    }
    let (governor_itself, upstream) = (Actor::governor(), present_upstream());
    let prd = RepoPath::trusted("core/prd/PRD-001.json");
    let mut merge = ask(&governor_itself, PathAction::Merge, &prd, &[], &upstream);
    merge.approved = false;
    let verdict = governor.judge(&merge).unwrap();
    assert_eq!(verdict.rule, "core-prd");
    assert!(
        verdict
            .refusal
            .unwrap()
            .contains("reprise workspace approve")
    );
}

#[test]
fn people_write_core_on_branches_and_agents_nothing_outside() {
    let mut governor = Governor::new(&[]).unwrap();
    let upstream = present_upstream();
    let mut may = |name: &str, place: &str, on_main: bool, shortens: bool| {
        let (actor, path) = (Actor::new(name).unwrap(), RepoPath::trusted(place));
        let mut ask = ask(&actor, PathAction::Write, &path, &[], &upstream);
        (ask.on_main, ask.shortens) = (on_main, shortens);
        governor.judge(&ask).unwrap().refusal.is_none()
    };
    for place in ["core/prd/x.json", "core/tsd/x.json"] {
        assert!(may("human:ada", place, false, false));
        assert!(!may("human:ada", place, true, false));
        assert!(!may("researcher", place, false, false));
    }
    assert!(!may("prm", "README.md", true, false));
    assert!(may("human:ada", "README.md", true, false));
    assert!(!may("governor", "extensions/policy/x.rego", true, false));
    for ledger in ["wal", "audit_trail", "merge_conflicts", "events"] {
        assert!(!may(
            "orchestrator",
            &format!(".sdlc_ide/logs/{ledger}.jsonl"),
            true,
            false
        ));
    }
    assert!(!may("prm", "memory/long_term/x.jsonl", true, true));
}

#[test]
fn a_projects_rules_refuse_and_open_but_not_the_ledger() {
    let path = RepoPath::trusted("extensions/policy/own.rego");
    let text = r#"package project
deny contains "no drafts on main" if { input.on_main; contains(input.path, "draft") }
allow if input.actor.role == "researcher"
"#;
    let mut governor = Governor::new(&[(path.clone(), text.to_owned())]).unwrap();
    let (actor, upstream) = (Actor::new("researcher").unwrap(), present_upstream());
    let mut judge = |place: &str| {
        let path = RepoPath::trusted(place);
        governor
            .judge(&ask(&actor, PathAction::Write, &path, &[], &upstream))
            .unwrap()
    };
    let denied = judge("core/adr/draft.md");
    assert_eq!(denied.rule, "project-deny");
    assert_eq!(denied.refusal.as_deref(), Some("no drafts on main"));
    let opened = judge("core/prd/PRD-001.json");
    assert_eq!(
        (opened.rule.as_str(), opened.refusal),
        ("project-allow", None)
    );
    assert!(judge(".sdlc_ide/logs/wal.jsonl").refusal.is_some());

    for bad in [
        "package project\nallow if {",
        "package other\nallow := true",
        "package project\ndeny := 7",
    ] {
        let error = check_policy(&path, bad).unwrap_err().to_string();
        assert!(error.contains("extensions/policy"), "{error}");
    }
    assert!(check_policy(&path, text).is_ok());
}

#[test]
fn a_rule_that_does_not_end_is_ended() {
    let path = RepoPath::trusted("extensions/policy/slow.rego");
    let text = "package project\n\
        deny contains \"slow\" if { some a in numbers.range(1, 3000); \
        some b in numbers.range(1, 3000); some c in numbers.range(1, 3000); a + b + c < 0 }\n";
    let error = check_policy(&path, text).unwrap_err().to_string();
    assert!(error.contains("extensions/policy"), "{error}");
}
