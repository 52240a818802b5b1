//! Hooks that call a tool of our server, so that no process starts at a prompt.

use serde_json::Value;

use super::super::apply::apply;
use super::super::entry::{ProgramEntry, TOOL_CALLERS, is_version_since};
use super::super::plan_connection;
use super::{Home, PROGRAM, build_entry};
use crate::args::HostProgram;
use reprise_server::HookProgram;

const SETTINGS: &str = r#"{
  // mine
  "theme": 1,
  "hooks": {
    "Stop": [ { "hooks": [
      { "type": "mcp_tool", "server": "security", "tool": "hook", "input": {} },
    ] } ],
  },
}
"#;

/// Connects, and returns each hook of ours as its event and its type.
fn connect(home: &Home, calls_tools: bool) -> Vec<(String, String)> {
    let callers = if calls_tools {
        vec![HookProgram::ClaudeCode]
    } else {
        Vec::new()
    };
    let entry = ProgramEntry {
        tool_callers: callers,
        ..build_entry()
    };
    let changes = plan_connection(PROGRAM, home.0.path(), &entry).unwrap();
    apply(&changes, &mut |_| Ok(())).unwrap();
    let text = home.read(".claude/settings.json");
    let file = super::edit::parse_json_object(&text).unwrap();
    let hooks = file["hooks"].as_object().unwrap().iter();
    let all = hooks.flat_map(|(event, groups)| {
        let groups = groups.as_array().unwrap().iter();
        let hooks = groups.flat_map(|group| group["hooks"].as_array().unwrap());
        hooks.map(move |hook| (event, hook))
    });
    let ours = all.filter(|(_, hook)| hook["server"] != "security");
    let kind = |hook: &Value| hook["type"].as_str().unwrap().to_owned();
    ours.map(|(event, hook)| (event.clone(), kind(hook)))
        .collect()
}

#[test]
fn no_process_starts_at_a_prompt_and_undo_restores_the_file_to_the_letter() {
    let home = Home::new();
    let file = home.0.path().join(".claude/settings.json");
    fs_err::write(&file, SETTINGS).unwrap();
    let commands = connect(&home, false);
    assert!(commands.iter().all(|(_, kind)| kind == "command"));
    let mut tools = connect(&home, true);
    assert_eq!(tools, connect(&home, true), "twice the same");
    assert_eq!(
        tools.len(),
        commands.len(),
        "none is left of the earlier form"
    );
    tools.sort();
    let kinds: Vec<(&str, &str)> = tools
        .iter()
        .map(|(event, kind)| (event.as_str(), kind.as_str()))
        .collect();
    assert_eq!(
        kinds,
        [
            ("PostToolUse", "mcp_tool"),
            ("PostToolUseFailure", "mcp_tool"),
            ("PreCompact", "command"),
            ("SessionEnd", "command"),
            ("SessionStart", "command"),
            ("Stop", "mcp_tool"),
            ("UserPromptSubmit", "mcp_tool"),
        ]
    );
    let text = home.read(".claude/settings.json");
    let file = super::edit::parse_json_object(&text).unwrap();
    let hook = &file["hooks"]["UserPromptSubmit"][0]["hooks"][0];
    assert_eq!(hook["server"], "memory");
    assert_eq!(hook["input"]["prompt"], "${prompt}");
    assert_eq!(connect(&home, false), commands, "an older version again");
    connect(&home, true);
    home.disconnect();
    assert_eq!(home.read(".claude/settings.json"), SETTINGS);
    assert_eq!(home.files(), [".claude.json", "settings.json"]);
}

#[test]
fn codex_calls_the_tool_too_where_its_servers_are_connected() {
    let home = Home::new();
    fs_err::create_dir_all(home.0.path().join(".codex")).unwrap();
    let entry = ProgramEntry {
        tool_callers: vec![HookProgram::Codex],
        ..build_entry()
    };
    let changes = plan_connection(HostProgram::Codex, home.0.path(), &entry).unwrap();
    apply(&changes, &mut |_| Ok(())).unwrap();
    let file: Value = serde_json::from_str(&home.read(".codex/hooks.json")).unwrap();
    let hook = |event: &str| &file["hooks"][event][0]["hooks"][0];
    for (event, kind) in [
        ("SessionStart", "command"),
        ("UserPromptSubmit", "mcp_tool"),
        ("PostToolUse", "mcp_tool"),
        ("Stop", "mcp_tool"),
        ("SessionEnd", "command"),
    ] {
        assert_eq!(hook(event)["type"], kind, "{event}");
    }
    assert_eq!(hook("Stop")["input"]["program"], "codex");
    assert_eq!(hook("Stop")["server"], "memory");
    // A field that the event does not have fails the whole hook.
    assert_eq!(hook("PostToolUse")["input"]["error"], Value::Null);
    // Of a program whose version is not known, nothing is expected.
    let changes = plan_connection(PROGRAM, home.0.path(), &entry).unwrap();
    apply(&changes, &mut |_| Ok(())).unwrap();
    assert!(!home.read(".claude/settings.json").contains("mcp_tool"));
}

#[test]
fn a_version_without_such_hooks_gets_commands() {
    let [claude_code, codex] = TOOL_CALLERS.map(|(_, _, since)| since);
    for (printed, since, can) in [
        ("2.1.118 (Claude Code)\n", claude_code, true),
        ("2.1.332 (Claude Code)", claude_code, true),
        ("3.0.0 (Claude Code)", claude_code, true),
        ("2.1.117 (Claude Code)", claude_code, false),
        ("2.0.300 (Claude Code)", claude_code, false),
        ("1.9.999", claude_code, false),
        ("2.1", claude_code, false),
        ("claude: not found", claude_code, false),
        ("", claude_code, false),
        ("codex-cli 0.155.0\n", codex, true),
        ("codex-cli 0.171.0", codex, true),
        ("codex-cli 0.154.9", codex, false),
        ("codex-cli 1.0.0", codex, true),
    ] {
        assert_eq!(is_version_since(printed, since), can, "{printed}");
    }
}
