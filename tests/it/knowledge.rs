//! Learnings as Sunwell keeps them, through the operations that every face has.

use std::fs;
use std::path::Path;

use reprise_tests::{assert_contains, assert_fields, assert_lacks};
use serde_json::{Value, json};

use crate::home::Home;

pub(crate) fn call(home: &Home, operation: &str, arguments: &Value) -> Value {
    let arguments = arguments.to_string();
    home.run_json(&[
        "--no-daemon",
        "call",
        operation,
        &arguments,
        "--user",
        "ada",
    ])
}

pub(crate) fn refused(home: &Home, operation: &str, arguments: &Value) -> String {
    let arguments = arguments.to_string();
    let finished = home.run(&[
        "--no-daemon",
        "call",
        operation,
        &arguments,
        "--user",
        "ada",
    ]);
    assert_ne!(finished.code, Some(0), "{operation} {arguments}");
    finished.stderr
}

pub(crate) fn view(home: &Home, asked: &Value) -> Value {
    call(home, "knowledge", asked)
}

fn golden() -> Value {
    let text = include_str!("../../crates/reprise-knowledge/tests/fixtures/expected.json");
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn what_was_learned_is_kept_once_and_scored_as_the_original_does() {
    let home = Home::new();
    let golden = golden();
    assert_eq!(view(&home, &json!({"view": "loaded"})), json!({}));
    for (fact, category, confidence) in [
        ("User model has email field", "type", 0.9),
        ("API uses REST authentication", "api", 0.8),
        ("user authentication via JWT tokens", "pattern", 0.6),
        ("low confidence user authentication note", "pattern", 0.4),
        ("Authentication", "fix", 1.0),
    ] {
        let learning = json!({"fact": fact, "category": category, "confidence": confidence});
        assert_eq!(call(&home, "add_learning", &learning)["is_new"], true);
    }
    let again = json!({"fact": "Authentication", "category": "fix", "confidence": 0.2});
    assert_eq!(call(&home, "add_learning", &again)["is_new"], false);
    let found = view(
        &home,
        &json!({"view": "search", "query": "user authentication"}),
    );
    let expected = golden["search_user_authentication"]
        .as_array()
        .expect("a list");
    let results = found["results"].as_array().expect("results");
    assert_eq!(results.len(), expected.len());
    for (result, expected) in results.iter().zip(expected) {
        assert_eq!(result["learning"]["fact"], expected[0]);
        let score = |value: &Value| value.as_f64().expect("a number");
        assert!(
            (score(&result["score"]) - score(&expected[1])).abs() < 1e-9,
            "{result}"
        );
    }
}

#[test]
fn each_view_of_what_was_learned_has_its_readers_words() {
    let home = Home::new();
    let golden = golden();
    let task = json!({"fact": "Create model", "category": "task_completion", "source": "task1",
        "goal": "forum"});
    let task = call(&home, "add_learning", &task)["learning"].clone();
    assert_eq!(
        task["id"],
        golden["ids"]["learning task_completion/Completed: Create model"]
    );
    assert_fields!(task, "confidence": 1.0, "source": "task1", "source_type": "task", "goal": "forum");
    let decision = json!({"fact": "Use PostgreSQL for persistence", "category": "decision",
        "rationale": "It is there"});
    let decision = call(&home, "add_learning", &decision)["learning"].clone();
    assert_eq!(
        decision["id"],
        golden["ids"]["decision Use PostgreSQL for persistence"]
    );
    let failure = json!({"fact": "Memory leak under load", "approach": "Unbounded cache",
        "category": "failure"});
    call(&home, "add_learning", &failure);
    let event = json!({"learning": task, "fact": "x"});
    assert_eq!(
        call(&home, "add_learning", &event)["is_new"],
        false,
        "an event is known"
    );

    let all = view(&home, &json!({}));
    assert_fields!(all, "totalLearnings": 3, "totalDecisions": 1);
    assert_eq!(all["deadEnds"][0]["approach"], "Unbounded cache");
    let stats = view(&home, &json!({"view": "stats", "session": "s"}));
    assert_eq!(
        (&stats["sessionId"], &stats["byCategory"]["failure"]),
        (&json!("s"), &json!(1))
    );
    let project = view(&home, &json!({"view": "project", "goal": "forum"}));
    assert_eq!(project["completedTasks"], json!(["Create model"]));
    assert_eq!(project["decisions"][0]["rationale"], "It is there");
    let context = view(&home, &json!({"view": "context", "goal": "persistence"}));
    let lines = context["lines"].as_array().expect("lines");
    assert!(
        lines.contains(&json!("Avoid: Unbounded cache (Memory leak under load)")),
        "{lines:?}"
    );
    let loaded = view(&home, &json!({"view": "loaded"}));
    assert_eq!(
        (&loaded["total"], &loaded["by_category"]["decision"]),
        (&json!(3), &json!(1))
    );
    let said = refused(
        &home,
        "add_learning",
        &json!({"fact": "x", "category": "gossip"}),
    );
    assert!(said.contains("task_completion"), "{said}");
}

/// Learnings of every category, a plan and what a conversation left, as a host sends them.
fn a_project(home: &Home) {
    let folder = home.folder().join("forum/.sunwell");
    fs::create_dir_all(folder.join("plans")).expect("a folder");
    let plan =
        r#"{"goal":"forum","tasks":[{"id":"t1","description":"Create model"},"Add routes"]}"#;
    fs::write(folder.join("plans/a.json"), plan).expect("written");
    let tree = home.path("forum");
    let done = home.run_json(&["--no-daemon", "import", &tree, "--user", "ada"]);
    assert_fields!(done, "inserted": 1, "rejected": 0);
    let backup = done["backup"].as_str().expect("a copy is kept (S40)");
    assert!(Path::new(backup).join("plans/a.json").exists(), "{backup}");
    for learning in [
        json!({"fact": "Create model", "category": "task_completion", "source": "t1",
            "goal": "forum"}),
        json!({"fact": "User has email", "category": "type", "goal": "forum"}),
        json!({"fact": "Use PostgreSQL", "category": "decision", "rationale": "It is there"}),
        json!({"fact": "Leak", "approach": "Unbounded cache", "category": "failure"}),
    ] {
        call(home, "add_learning", &learning);
    }
    let turns = ["How is a user kept?", "With an email."].into_iter();
    let turns = turns.zip(["user", "assistant"]).map(|(text, role)| {
        let source = if role == "user" {
            "user_input"
        } else {
            "worker_result"
        };
        json!({"text": text, "source": source, "kind": "episode", "session_id": "s1",
            "metadata": {"role": role}})
    });
    home.keep(
        &turns.collect::<Vec<_>>(),
        &["--no-daemon", "--user", "ada"],
    );
}

#[test]
fn views_have_types_that_a_compiler_holds_them_to() {
    let home = Home::new();
    a_project(&home);
    let id =
        view(&home, &json!({"view": "query", "category": "type"}))["learnings"][0]["id"].clone();
    let asked = [
        json!({"view": "intelligence"}),
        json!({"view": "stats", "session": "s1"}),
        json!({"view": "project"}),
        json!({"view": "get", "id": id}),
        json!({"view": "query"}),
        json!({"view": "search", "query": "email"}),
        json!({"view": "context", "goal": "forum"}),
        json!({"view": "index"}),
        json!({"view": "loaded"}),
    ];
    let types = view(&home, &json!({"view": "types"}))["typescript"].clone();
    let types = types.as_str().expect("a file").to_owned();
    let mut program = "import type { Views } from \"./views\";\n".to_owned();
    for (number, asked) in asked.iter().enumerate() {
        let name = asked["view"].as_str().expect("a name");
        let told = view(&home, asked);
        // Without a compiler: whatever is told has its key in the types.
        for key in told.as_object().expect("an object").keys() {
            let is_typed = [": ", "?: "].map(|mark| types.contains(&format!("  {key}{mark}")));
            assert!(is_typed.contains(&true), "{name}: {key}");
        }
        let told = format!("const told{number}: Views[\"{name}\"] = {told};\nvoid told{number};\n");
        program.push_str(&told);
    }
    let programs = [
        ("told.ts", program.clone()),
        ("gossip.ts", program.replace("\"type\"", "\"gossip\"")),
        ("made.ts", program.replace("\"createdAt\"", "\"madeAt\"")),
    ];
    let Some(said) = run_compiler(&home, &types, &programs) else {
        return;
    };
    let is_refused = |file: &str| said.lines().any(|line| line.starts_with(file));
    let refused = programs.map(|(file, _)| is_refused(file));
    assert_eq!(refused, [false, true, true], "{said}");
}

/// Holds programs to the types and returns what the compiler says of them, each line beginning with
/// the name of a program. Where npm cannot fetch the compiler nothing is said, except in CI, where
/// that fails.
fn run_compiler(home: &Home, types: &str, programs: &[(&str, String)]) -> Option<String> {
    let folder = home.folder().join("types");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("views.d.ts"), types).expect("written");
    for (file, program) in programs {
        fs::write(folder.join(file), program).expect("written");
    }
    let options = json!({ "noEmit": true, "strict": true, "types": [] });
    let files = programs.iter().map(|(file, _)| *file).collect::<Vec<_>>();
    let project = json!({ "compilerOptions": options, "files": files });
    fs::write(folder.join("tsconfig.json"), project.to_string()).expect("written");
    let mut command = std::process::Command::new("npx");
    // With its version it says in its first line that it is there.
    let compiler = "tsc --version && tsc -p . --pretty false";
    command.args(["-y", "-p", "typescript@5.9.3", "-c", compiler]);
    let said = command.current_dir(&folder).output().ok();
    let said = said.map(|done| String::from_utf8_lossy(&done.stdout).into_owned());
    let said = said.filter(|said| said.starts_with("Version 5.9.3"));
    let is_ci = std::env::var_os("CI").is_some();
    assert!(
        said.is_some() || !is_ci,
        "CI has no npx that runs tsc; install Node.js there"
    );
    said
}

#[test]
fn what_studio_counts_is_counted_and_pending_tasks_stand_in_the_plan() {
    let home = Home::new();
    a_project(&home);
    home.run_ok(&["branch", "fork", "try", "--user", "ada"]);
    let stats = view(&home, &json!({"view": "stats"}));
    let whole = |name: &str| stats[name].as_u64().expect("a number");
    assert_eq!((whole("totalTurns"), whole("hotTurns")), (2, 2), "{stats}");
    assert_eq!((whole("branches"), whole("deadEnds")), (1, 1), "{stats}");
    assert_eq!(
        (whole("learnings"), whole("totalLearnings")),
        (4, 4),
        "{stats}"
    );
    assert_eq!(whole("coldFiles"), 1, "the copy of the plan: {stats}");
    assert!(whole("warmFiles") > 0, "{stats}");
    for size in ["warmSizeMb", "coldSizeMb"] {
        assert!(stats[size].as_f64().expect("a number") > 0.0, "{stats}");
    }
    let other = view(&home, &json!({"view": "stats", "session": "nope"}));
    assert_eq!(other["hotTurns"], 0);
    let asked = json!({"view": "project", "goal": "forum", "pending": ["Invented"]});
    let project = view(&home, &asked);
    assert_eq!(project["pendingTasks"], json!(["Add routes"]));
    assert_eq!(project["completedTasks"], json!(["Create model"]));
    let context = view(&home, &json!({"view": "context", "goal": "forum"}));
    assert_eq!(context["completed"], json!(["Create model"]));
    assert_eq!(context["decisions"], json!(["Use PostgreSQL: It is there"]));
    assert_eq!(
        context["failures"],
        json!(["Avoid: Unbounded cache (Leak)"])
    );
    assert_eq!(context["cwd"], Value::Null);
}

#[test]
fn what_is_said_again_is_answered_as_it_was_kept_and_an_old_event_has_its_own_name() {
    let home = Home::new();
    let learn = |given: Value| call(&home, "add_learning", &given);
    learn(json!({"fact": "Use tabs", "category": "pattern", "confidence": 0.9, "goal": "style"}));
    let again = learn(json!({"fact": "Use tabs", "category": "pattern", "confidence": 0.1}));
    assert_eq!(again["is_new"], false);
    assert_eq!(
        (&again["learning"]["confidence"], &again["learning"]["goal"]),
        (&json!(0.9), &json!("style")),
        "what is kept is answered"
    );
    let event = |fact: &str| {
        let event = json!({"event": "memory_learning", "fact": fact, "goal": "forum"});
        let told = learn(event);
        assert_eq!(told["is_new"], true);
        told["learning"].clone()
    };
    let (one, other) = (event("It has email"), event("It has a name"));
    for old in [&one, &other] {
        let id = old["id"].as_str().expect("an id");
        assert!(id.starts_with("legacy-"), "{id}");
        assert_fields!(old, "category": "pattern", "goal": "forum");
        assert_eq!(
            view(&home, &json!({"view": "get", "id": id}))["fact"],
            old["fact"]
        );
    }
    assert_ne!(one["id"], other["id"]);
    let gossip = json!({"learning": {"fact": "x", "category": "type", "source_type": "gossip"}});
    assert!(refused(&home, "add_learning", &gossip).contains("unknown source type"));
}

#[test]
fn a_learning_that_names_its_end_has_one() {
    let home = Home::new();
    let learn = |fact: &str, end: &str| {
        let learning = json!({"fact": fact, "category": "fix", "expires_at": end});
        call(&home, "add_learning", &learning)
    };
    learn("The key of last year", "2020-01-01");
    learn("The key of next century", "2099-01-01");
    let known = view(&home, &json!({"view": "query"}));
    let facts: Vec<&Value> = known["learnings"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["fact"])
        .collect();
    assert_eq!(facts, ["The key of next century"]);
    home.run_ok(&["--no-daemon", "doctor", "tidy", "--user", "ada"]);
    let left = home.run_ok(&["--no-daemon", "list", "--user", "ada"]);
    assert_contains!(left, "next century");
    assert_lacks!(left, "last year");
    let soon = json!({"fact": "x", "expires_at": "soon"});
    assert!(!refused(&home, "add_learning", &soon).is_empty());
}
