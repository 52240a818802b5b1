//! Tests of the programs' files after `connect` and after `disconnect`.

use std::ffi::OsStr;
use std::path::Path;

use reprise_server::HookProgram;
use reprise_tests::{assert_contains, assert_fields};

use super::*;
use crate::args::HostProgram;
use crate::cli::connect::plan::{self, Target};

const PROGRAMS: [HostProgram; 10] = [
    HostProgram::ClaudeCode,
    HostProgram::Codex,
    HostProgram::Cursor,
    HostProgram::Gemini,
    HostProgram::Opencode,
    HostProgram::Vscode,
    HostProgram::CopilotCli,
    HostProgram::Windsurf,
    HostProgram::Zed,
    HostProgram::Kiro,
];

fn build_entry() -> ProgramEntry {
    ProgramEntry {
        program: "/opt/it's here/reprise".to_owned(),
        data: "/home/ada/data".to_owned(),
        models: None,
        config: None,
        user: "ada".to_owned(),
        of_project: false,
        replaces: false,
        tool_callers: Vec::new(),
    }
}

fn targets(program: HostProgram) -> Vec<Target> {
    plan::targets(program, Path::new("/home/ada"))
}

fn target(program: HostProgram, ending: &str) -> Target {
    let mut targets = targets(program).into_iter();
    targets
        .find(|target| target.path.ends_with(ending))
        .unwrap()
}

fn parse_json_object(text: &str) -> Value {
    Value::Object(super::parse_json_object(text).unwrap())
}

/// Zed's own template, with what its owner wrote.
const ZED: &str = r#"// Zed settings
//
// To see all of them: `zed: open default settings`
{
  "theme": "One Dark", // by day
  /* servers */
  "context_servers": {
    // for the files
    "files": {
      "command": "files",
      "args": ["--root", "/"],
    },
  },
  "vim_mode": true,
}
"#;

/// A file as its owner may have it, for each kind.
fn foreign(target: &Target) -> &'static str {
    let name = target.path.file_name().unwrap().to_str().unwrap();
    let versioned = [".cursor/hooks.json", ".copilot/hooks/reprise.json"];
    if versioned.iter().any(|path| target.path.ends_with(path)) {
        return r#"{
  "version": 1,
  "hooks": {
    "stop": [
      {
        "command": "./hooks/audit.sh",
        "loop_limit": 10
      }
    ],
    "preToolUse": []
  }
}
"#;
    }
    if target.path.ends_with("zed/settings.json") {
        return ZED;
    }
    match name.rsplit('.').next() {
        Some("toml") => "model = \"x\"\n",
        Some("md") => "# Mine\n\n- Say please.\n",
        Some("js") => "",
        _ => {
            r#"{
  "theme": "dark",
  "mcpServers": {
    "files": {
      "command": "files"
    }
  },
  "hooks": {
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "say done"
          }
        ]
      }
    ]
  }
}
"#
        }
    }
}

#[test]
fn what_is_connected_twice_stands_once_and_disconnect_leaves_no_trace() {
    leaves_no_trace(&build_entry());
}

#[test]
fn a_program_of_another_name_knows_what_it_wrote() {
    let renamed = ProgramEntry {
        program: "/opt/memory-1.2".to_owned(),
        ..build_entry()
    };
    leaves_no_trace(&renamed);
}

fn leaves_no_trace(entry: &ProgramEntry) {
    // A shell quotes what is before it.
    let called = entry.program.rsplit('\'').next().unwrap();
    for program in PROGRAMS {
        for target in targets(program) {
            let before = foreign(&target);
            let once = target.with(before, entry).unwrap();
            let is_told = target.path.extension().is_some_and(|e| e == "md");
            assert_contains!(once, if is_told { "`recall`" } else { called });
            assert_eq!(target.with(&once, entry).unwrap(), once, "{program:?}");
            let after = target.without(&once).unwrap();
            if target.path.extension().is_some_and(|e| e == "json") {
                assert_eq!(parse_json_object(&after), parse_json_object(before));
                let comments = |text: &str| text.matches("//").count();
                assert_eq!(comments(&after), comments(before), "{after}");
            } else {
                assert_eq!(after, before);
            }
            assert_eq!(target.without(before).unwrap(), before);
            let fresh = target.with("", entry).unwrap();
            let empty = target.without(&fresh).unwrap();
            assert!(["", "{}"].contains(&empty.trim()), "{program:?}: {empty}");
        }
    }
}

#[test]
fn what_an_older_version_wrote_is_replaced() {
    let settings = target(HostProgram::ClaudeCode, "settings.json");
    let old = json!({"hooks": {"PostToolUse": [{"hooks": [{"type": "command",
        "command": "'/old/reprise' --data-dir '/d' hook post-tool --user 'ada'"}]}]}});
    let new = parse_json_object(&settings.with(&old.to_string(), &build_entry()).unwrap());
    let groups = new["hooks"]["PostToolUse"].as_array().unwrap();
    assert_eq!(groups.len(), 1);
    assert_eq!(
        groups[0]["matcher"],
        "Bash|Edit|MultiEdit|Write|NotebookEdit"
    );
}

#[test]
fn each_program_gets_its_hooks_in_its_own_form() {
    let hooks = |program, ending: &str| {
        let text = target(program, ending).with("", &build_entry()).unwrap();
        parse_json_object(&text)["hooks"].clone()
    };
    let claude = hooks(HostProgram::ClaudeCode, "settings.json");
    let failed = &claude["PostToolUseFailure"][0];
    let command = failed["hooks"][0]["command"].as_str().unwrap();
    assert_eq!(
        command,
        r"'/opt/it'\''s here/reprise' --data-dir '/home/ada/data' hook post-tool --user 'ada'"
    );
    assert_eq!(failed["matcher"], "Bash");
    let codex = hooks(HostProgram::Codex, "hooks.json");
    let stop = &codex["Stop"][0]["hooks"][0];
    assert_eq!(stop["timeout"], 3);
    let command = stop["command"].as_str().unwrap();
    assert!(command.ends_with("hook stop --user 'ada' --program codex"));
    let gemini = hooks(HostProgram::Gemini, "settings.json");
    let tools = "run_shell_command|replace|write_file";
    assert_eq!(gemini["AfterTool"][0]["matcher"], tools);
    assert_eq!(gemini["BeforeAgent"][0]["hooks"][0]["timeout"], 5_000);
    let file = target(HostProgram::Cursor, "hooks.json");
    let cursor = parse_json_object(&file.with("", &build_entry()).unwrap());
    assert_eq!(cursor["version"], 1);
    let ran = &cursor["hooks"]["postToolUse"][0];
    assert_fields!(ran, "matcher": "Shell", "timeout": 5);
    let command = ran["command"].as_str().unwrap();
    assert!(command.ends_with("hook post-tool --user 'ada' --program cursor"));
    let plugin = target(HostProgram::Opencode, "reprise.js");
    let plugin = plugin.with("", &build_entry()).unwrap();
    let called = "{ program: \"/opt/it's here/reprise\", \
                  before: [\"--data-dir\",\"/home/ada/data\"], after: [\"--user\",\"ada\"] }";
    assert_contains!(plugin, called);
}

#[test]
fn a_file_that_is_something_else_is_left_alone() {
    for program in [
        HostProgram::ClaudeCode,
        HostProgram::Cursor,
        HostProgram::Gemini,
    ] {
        for target in targets(program) {
            assert!(target.with("[1]", &build_entry()).is_err());
            let odd = "{\"hooks\":1,\"mcpServers\":1}";
            assert!(target.with(odd, &build_entry()).is_err());
        }
    }
    let codex = target(HostProgram::Codex, "config.toml");
    for foreign in [
        "[mcp_servers.memory]\n",
        "[ mcp_servers . \"memory\" ] # mine\ncommand = \"mine\"\n",
        "[mcp_servers]\nmemory = { command = \"mine\" }\n",
        "mcp_servers.memory.command = \"mine\"\n",
        "mcp_servers = { files = { command = \"files\" } }\n",
        "mcp_servers = 1\n",
        "model = \n",
    ] {
        assert!(codex.with(foreign, &build_entry()).is_err(), "{foreign}");
    }
    let commented = "# [mcp_servers.memory]\n[mcp_servers]\nfiles = { command = \"files\" }\n";
    let connected = codex.with(commented, &build_entry()).unwrap();
    let read: DocumentMut = connected.parse().unwrap();
    assert!(read["mcp_servers"]["memory"]["command"].is_str());
    assert!(read["mcp_servers"]["files"]["command"].is_str());
    let plugin = target(HostProgram::Opencode, "reprise.js");
    let foreign = "export const Mine = async () => ({})\n";
    assert!(plugin.with(foreign, &build_entry()).is_err());
    assert_eq!(plugin.without(foreign).unwrap(), foreign);
}

#[test]
fn a_server_of_one_project_is_known_as_ours() {
    let of_project = ProgramEntry {
        of_project: true,
        ..build_entry()
    };
    let arguments = of_project.mcp_arguments();
    assert_eq!(arguments[5..], ["--scope", "project"]);
    assert!(
        ProgramEntry::is_own_mcp_command(&arguments)
            && ProgramEntry::is_own_mcp_command(&build_entry().mcp_arguments())
    );
    assert!(!ProgramEntry::is_own_mcp_command(
        &[&arguments[..6], &["other"]].concat()
    ));
}

#[test]
fn a_configuration_that_was_named_is_written_everywhere_and_known_as_ours() {
    let configured = ProgramEntry {
        config: Some("/etc/it's mine.toml".to_owned()),
        ..build_entry()
    };
    let arguments = configured.mcp_arguments();
    assert_eq!(arguments[2..5], ["--config", "/etc/it's mine.toml", "mcp"]);
    assert!(ProgramEntry::is_own_mcp_command(&arguments));
    let hook = configured.hook_command(HookProgram::ClaudeCode, "stop");
    assert_contains!(hook, r" --config '/etc/it'\''s mine.toml' hook stop ");
    assert!(ProgramEntry::is_own_hook_command(&hook));
    for (program, file) in [
        (HostProgram::ClaudeCode, ".claude.json"),
        (HostProgram::ClaudeCode, "settings.json"),
        (HostProgram::Codex, "config.toml"),
        (HostProgram::Opencode, "opencode.json"),
        (HostProgram::Opencode, "reprise.js"),
    ] {
        let target = target(program, file);
        let with = target.with("", &configured).unwrap();
        assert!(with.contains("--config"), "{file}: {with}");
        let again = target.with(&with, &build_entry()).unwrap();
        assert!(!again.contains("--config"), "{file}: {again}");
        let without = target.without(&with).unwrap();
        assert!(!without.contains("reprise"), "{file}: {without}");
    }
}

#[test]
fn another_programs_server_of_our_name_makes_way_only_where_that_is_wanted_and_comes_back() {
    let replacing = ProgramEntry {
        replaces: true,
        ..build_entry()
    };
    for (program, file, outer) in [
        (HostProgram::ClaudeCode, ".claude.json", "mcpServers"),
        (HostProgram::Opencode, "opencode.json", "mcp"),
    ] {
        let target = target(program, file);
        let theirs = json!({outer: {"memory": {"command": "npx", "args": ["server-memory"]}}});
        let before = theirs.to_string();
        let error = target
            .with(&before, &build_entry())
            .unwrap_err()
            .to_string();
        assert_contains!(error, "of another program");
        let after = target.with(&before, &replacing).unwrap();
        assert_contains!(after, "here/reprise");
        let without = target.without(&after).unwrap();
        let back = target.restore_replaced(&without, Some(&before)).unwrap();
        assert_eq!(parse_json_object(&back), theirs);
        // Not ours to take out, nor to bring back where somebody has put another there.
        assert_eq!(target.without(&before).unwrap(), before);
        assert_eq!(
            target.restore_replaced(&before, Some("{}")).unwrap(),
            before
        );
    }
}

#[test]
fn comments_and_the_order_of_keys_stay_where_they_are() {
    let settings = target(HostProgram::Zed, "settings.json");
    let with = settings.with(ZED, &build_entry()).unwrap();
    let ours = parse_json_object(&with)["context_servers"]["memory"]["command"].clone();
    assert_eq!(ours, "/opt/it's here/reprise");
    let mut kept = with.lines();
    let marked = |line: &&str| {
        ["//", "/*", "theme", "vim_mode"]
            .iter()
            .any(|mark| line.contains(mark))
    };
    for line in ZED.lines().filter(marked) {
        assert!(
            kept.any(|kept| kept == line),
            "{line} is not where it was:\n{with}"
        );
    }
    for broken in ["{ a: 1 }", "{'a': 1}", "{\"a\": 1 \"b\": 2}", "[1]", "1"] {
        assert!(settings.with(broken, &build_entry()).is_err(), "{broken}");
    }
    assert!(settings.with("// nothing yet\n", &build_entry()).is_ok());
}

#[test]
fn each_of_the_newer_programs_gets_its_own_form() {
    let fresh = |program, ending: &str| target(program, ending).with("", &build_entry()).unwrap();
    let vscode = parse_json_object(&fresh(HostProgram::Vscode, "mcp.json"));
    assert_eq!(vscode["servers"]["memory"]["type"], "stdio");
    let told = fresh(HostProgram::Vscode, "reprise.instructions.md");
    assert!(
        told.starts_with("---\napplyTo: \"**\"\n---\n<!-- "),
        "{told}"
    );
    let copilot = parse_json_object(&fresh(HostProgram::CopilotCli, "mcp-config.json"));
    let server = &copilot["mcpServers"]["memory"];
    assert_eq!(
        (&server["type"], &server["tools"]),
        (&json!("local"), &json!(["*"]))
    );
    let hooks = parse_json_object(&fresh(HostProgram::CopilotCli, "hooks/reprise.json"));
    let stop = &hooks["hooks"]["Stop"][0];
    assert_eq!(
        (&hooks["version"], &stop["timeoutSec"]),
        (&json!(1), &json!(5))
    );
    let command = stop["bash"].as_str().unwrap();
    assert!(
        command.ends_with("hook stop --user 'ada' --program copilot"),
        "{command}"
    );
    let hooks = parse_json_object(&fresh(HostProgram::Windsurf, "hooks.json"));
    let prompt = &hooks["hooks"]["pre_user_prompt"][0];
    assert_eq!(prompt["show_output"], false);
    let command = prompt["command"].as_str().unwrap();
    assert!(
        command.ends_with("hook user-prompt --user 'ada' --program windsurf"),
        "{command}"
    );
    let kiro = fresh(HostProgram::Kiro, "reprise.md");
    assert_contains!(kiro, "inclusion: always", "`outcome`");
}

#[test]
fn what_is_written_is_found_again_after_an_upgrade() {
    use super::super::entry::find_lasting_path;
    let home = tempfile::tempdir().unwrap();
    let at = |path: &str| home.path().join(path);
    for folder in ["cellar/1.0/bin", "bin", "other"] {
        fs_err::create_dir_all(at(folder)).unwrap();
    }
    let program = at("cellar/1.0/bin/reprise");
    fs_err::write(&program, "").unwrap();
    fs_err::write(at("other/reprise"), "").unwrap();
    std::os::unix::fs::symlink(&program, at("bin/reprise")).unwrap();
    let search =
        |folders: &[&str]| std::env::join_paths(folders.iter().map(|one| at(one))).unwrap();
    let path = search(&["none", "other", "bin", "cellar/1.0/bin"]);
    assert_eq!(find_lasting_path(&program, Some(&path)), at("bin/reprise"));
    // Where no name leads to it, it is called by its place.
    assert_eq!(
        find_lasting_path(&program, Some(&search(&["other"]))),
        program
    );
    assert_eq!(find_lasting_path(&program, None), program);
    assert_eq!(
        find_lasting_path(&program, Some(OsStr::new("bin:."))),
        program
    );
}
