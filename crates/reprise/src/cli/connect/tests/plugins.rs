//! The plugin folders in `packaging/plugins`: they say what `connect` writes, and have what each
//! program demands of them as far as it is documented.

use std::path::{Path, PathBuf};

use reprise_operations::HookEvent;
use reprise_server::HookProgram;
use serde_json::{Map, Value, json};

use super::super::entry::{self, HookForm, ProgramEntry, SERVER};
use super::super::plan::SNIPPET;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/plugins")
}

fn text(path: &str) -> String {
    fs_err::read_to_string(folder().join(path)).unwrap()
}

fn read(path: &str) -> Value {
    serde_json::from_str(&text(path)).unwrap()
}

/// What `connect` writes, with `reprise` from the path and nobody's data.
fn expected_hooks(form: HookForm) -> Value {
    let entry = ProgramEntry {
        program: "reprise".to_owned(),
        data: "D".to_owned(),
        models: None,
        config: None,
        user: "U".to_owned(),
        of_project: false,
        replaces: false,
        // A plugin cannot ask for a version: its page names the one that it needs.
        tool_callers: vec![HookProgram::ClaudeCode, HookProgram::Codex],
    };
    let mut file = Map::new();
    entry::add_hooks(&mut file, form, &entry).unwrap();
    let text = Value::from(file).to_string();
    let text = text.replace("'reprise' --data-dir 'D'", "reprise");
    // Claude Code names the server of a plugin after both, Codex as the plugin does.
    let text = if form == entry::CLAUDE_CODE {
        text.replace(
            r#""server":"memory""#,
            r#""server":"plugin:reprise:memory""#,
        )
    } else {
        text
    };
    serde_json::from_str(&text.replace(" --user 'U'", "")).unwrap()
}

#[test]
fn a_plugin_calls_the_hooks_that_connect_writes() {
    for (path, form) in [
        ("claude-code/hooks/hooks.json", entry::CLAUDE_CODE),
        ("codex/hooks/hooks.json", entry::CODEX),
        ("cursor/hooks/hooks.json", entry::CURSOR),
        ("gemini/hooks/hooks.json", entry::GEMINI),
    ] {
        assert_eq!(read(path), expected_hooks(form), "{path}");
    }
    let plugin = text("opencode/reprise.js");
    let called = plugin.split("hook(\"").skip(1);
    let mut named: Vec<&str> = called.filter_map(|rest| rest.split('"').next()).collect();
    // Not a moment of a session, but of what the model is sent.
    named.retain(|name| !["prompt", "context", "execute.after"].contains(name));
    named.extend(["stop", "pre-compact"].map(|name| {
        assert!(plugin.contains(&format!("\"{name}\")")), "{name}");
        name
    }));
    let program = HookProgram::Opencode;
    let wanted: Vec<&str> = program
        .triggers()
        .iter()
        .map(|moment| moment.name)
        .collect();
    assert_eq!(named, wanted);
    for name in named {
        assert!(name.parse::<HookEvent>().is_ok(), "{name}");
    }
}

#[test]
fn a_plugin_has_what_its_program_demands() {
    for path in [
        "claude-code/.claude-plugin/plugin.json",
        "codex/.codex-plugin/plugin.json",
        "cursor/.cursor-plugin/plugin.json",
        "gemini/gemini-extension.json",
    ] {
        let manifest = read(path);
        assert_eq!(manifest["name"], "reprise", "{path}");
        assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"), "{path}");
        assert!(manifest["description"].as_str().is_some(), "{path}");
    }
    let server = json!({ SERVER: { "command": "reprise", "args": ["mcp"] } });
    for path in [
        "claude-code/.mcp.json",
        "codex/.mcp.json",
        "cursor/mcp.json",
        "gemini/gemini-extension.json",
    ] {
        assert_eq!(read(path)["mcpServers"], server, "{path}");
    }
    // Codex takes a path only where it begins so and stays within the plugin.
    let codex = read("codex/.codex-plugin/plugin.json");
    for field in ["skills", "mcpServers", "hooks"] {
        let path = codex[field].as_str().unwrap().strip_prefix("./").unwrap();
        assert!(folder().join("codex").join(path).exists(), "{path}");
    }
    let claude = read(".claude-plugin/marketplace.json");
    let source = claude["plugins"][0]["source"].as_str().unwrap();
    let manifest = folder().join(source).join(".claude-plugin/plugin.json");
    assert!(manifest.exists(), "{source}");
    let codex = read(".agents/plugins/marketplace.json");
    let source = codex["plugins"][0]["source"]["path"].as_str().unwrap();
    let manifest = folder().join(source).join(".codex-plugin/plugin.json");
    assert!(manifest.exists(), "{source}");
}

/// A published schema, as `tests/fixtures/schemas` has it.
fn valid(schema: &str, value: &Value) -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/schemas");
    let schema = fs_err::read_to_string(root.join(schema)).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    jsonschema::is_valid(&schema, value)
}

#[test]
fn the_portable_plugin_says_what_claude_codes_does_in_the_form_of_agent_plugins() {
    const SCHEMAS: &str = "https://agent-plugins.org/schemas/1.0.0";
    let mut manifest = read("claude-code/.claude-plugin/plugin.json");
    manifest["$schema"] = json!(format!("{SCHEMAS}/plugin.schema.json"));
    assert_eq!(read("agent-plugins/plugin.json"), manifest);
    let mut servers = read("claude-code/.mcp.json");
    servers["$schema"] = json!(format!("{SCHEMAS}/mcp.schema.json"));
    servers["mcpServers"][SERVER]["type"] = json!("stdio");
    assert_eq!(read("agent-plugins/mcp.json"), servers);
    assert!(valid("agent-plugins-1.0.0-plugin.json", &manifest));
    assert!(valid("agent-plugins-1.0.0-mcp.json", &servers));
    manifest["hooks"] = json!("./hooks.json");
    assert!(!valid("agent-plugins-1.0.0-plugin.json", &manifest));
}

#[test]
fn the_registry_is_told_of_this_crate_under_a_name_that_its_page_shows() {
    let here = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        fs_err::read_to_string(path).unwrap()
    };
    let mut server: Value = serde_json::from_str(&here("server.json")).unwrap();
    assert!(valid("mcp-registry-2025-12-11.json", &server));
    let package = &server["packages"][0];
    assert_eq!(package["registryType"], "cargo");
    assert_eq!(package["identifier"], env!("CARGO_PKG_NAME"));
    for version in [&server["version"], &package["version"]] {
        assert_eq!(version, env!("CARGO_PKG_VERSION"));
    }
    // The owner of the source repository owns the name.
    let workspace = here("../../Cargo.toml");
    let host = workspace.split("repository = \"https://").nth(1).unwrap();
    let host = host.split('/').next().unwrap();
    let owner: Vec<&str> = host.rsplit('.').collect();
    let name = format!("{}/reprise", owner.join("."));
    assert_eq!(server["name"], name.as_str());
    // The registry looks for it where a reader sees it: crates.io drops what is hidden.
    let line = format!("mcp-name: {name}");
    assert!(here("README.md").lines().any(|shown| shown == line));
    server["packages"][0]["version"] = json!("latest");
    assert!(!valid("mcp-registry-2025-12-11.json", &server));
}

#[test]
fn every_plugin_has_the_same_skill_and_a_short_page() {
    let skill = text("claude-code/skills/memory/SKILL.md");
    let head = skill.split("---").nth(1).unwrap();
    let field = |name: &str| head.lines().find_map(|line| line.strip_prefix(name));
    assert_eq!(field("name: "), Some("memory"));
    let description = field("description: ").unwrap();
    assert!(description.len() < 1_024 && !description.contains(": "));
    assert_eq!(skill, reprise_server::SKILL);
    for program in ["agent-plugins", "codex", "cursor", "gemini"] {
        assert_eq!(text(&format!("{program}/skills/memory/SKILL.md")), skill);
    }
    for program in ["claude-code", "codex", "cursor", "gemini", "opencode"] {
        let page = text(&format!("{program}/README.md"));
        assert!(page.lines().count() <= 14, "{program}");
        assert!(page.contains(&format!("reprise connect {program}")));
    }
}

#[test]
fn the_suggestion_is_three_lines_and_names_tools_that_are_there() {
    let tools = ["recall", "outcome", "learn"];
    assert_eq!(SNIPPET.lines().count(), tools.len());
    for (line, tool) in SNIPPET.lines().zip(tools) {
        assert!(line.contains(&format!("`{tool}`")), "{line}");
        assert!(line.len() <= 100, "{line}");
    }
}
