//! What may stand in the file, and what may not.

use std::sync::Arc;

use reprise_agent::MaintenancePlanner;
use reprise_embed::Variant;
use reprise_engine::Engine;
use reprise_store::RealDisk;
use reprise_tests::{assert_contains, assert_lacks};
use reprise_types::EmbedError;

use super::*;

#[test]
fn a_missing_file_is_the_defaults_and_a_wrong_one_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    assert_eq!(Config::read(&path, false).unwrap(), Config::default());
    assert!(Config::read(&path, true).is_err());
    for (text, word) in [
        ("[tags]\nalias = 1\n", "alias"),
        ("[learning]\nimplicit_weight = 2.0\n", "implicit_weight"),
        (
            "[[projections]]\nuser = \"a\"\nkind = \"papyrus\"\npath = \"/x\"\n",
            "ai-lessons",
        ),
        ("[memory]\nmodel = 16\n", "text"),
        ("[global]\nlocal_high = 1.5\n", "local_high is 1.5"),
        ("nonsense", "line 1"),
    ] {
        fs_err::write(&path, text).unwrap();
        let error = format!("{:#}", Config::read(&path, false).unwrap_err());
        assert_contains!(error, word, "config.toml");
    }
}

#[test]
fn a_number_that_no_machine_can_mean_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    for (text, said) in [
        (
            "[memory]\nembedder_threads = 99999999",
            "memory.embedder_threads is 99999999",
        ),
        ("[memory]\nopen_max = 10000000", "memory.open_max"),
        ("[recall]\nrerank_ms = 18446744073709", "recall.rerank_ms"),
        (
            "[serve]\nidle_exit_seconds = 9223372036854775807",
            "serve.idle_exit_seconds",
        ),
    ] {
        fs_err::write(&path, text).unwrap();
        let error = format!("{:#}", Config::read(&path, true).unwrap_err());
        assert_contains!(error, said, "it may be up to");
    }
}

#[test]
fn a_configuration_that_nobody_named_and_nobody_can_read_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    // A folder in its place is as unreadable to root as to others.
    let path = folder.path().join("config.toml");
    fs_err::create_dir(&path).unwrap();
    assert_eq!(Config::read(&path, false).unwrap(), Config::default());
    assert!(Config::read(&path, true).is_err());
    let empty = Path::new("/dev/null");
    assert_eq!(Config::read(empty, true).unwrap(), Config::default());
}

#[test]
fn a_token_goes_to_another_machine_by_https_alone_unless_that_is_written_out() {
    let token = |url: &str, more: &str| {
        let text = format!("[global]\nurl = \"{url}\"\ntoken = \"rpr_x\"\n{more}");
        let config: Config = toml_edit::de::from_str(&text).unwrap();
        config
            .global_service(&"ann".parse().unwrap())
            .unwrap()
            .token
    };
    let plain = "http://knowledge.example";
    let refused = token(plain, "").unwrap_err();
    assert_contains!(refused, "allow_plain_http");
    assert_lacks!(refused, "rpr_");
    for (url, more) in [
        ("http://127.0.0.1:9", ""),
        ("https://knowledge.example", ""),
        (plain, "allow_plain_http = true\n"),
    ] {
        assert_eq!(token(url, more).as_deref(), Ok("rpr_x"), "{url}");
    }
}

#[test]
fn a_service_is_connected_to_in_advance_where_it_will_be_asked_unbidden() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    for (text, expected) in [
        ("hooks = true", None),
        ("url = \"https://knowledge.example/\"", None),
        ("url = \"http://knowledge.example\"\nhooks = true", None),
        (
            "url = \"https://knowledge.example/\"\nhooks = true",
            Some("https://knowledge.example"),
        ),
        (
            "url = \"http://127.0.0.1:9\"\nscope = \"local+global\"",
            Some("http://127.0.0.1:9"),
        ),
    ] {
        fs_err::write(&path, format!("[global]\n{text}\n")).unwrap();
        let config = Config::read(&path, true).unwrap();
        assert_eq!(config.global_url_to_connect(), expected, "{text}");
    }
}

#[test]
fn a_memory_is_tended_unless_the_file_says_no() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    let open = Arc::new(|path: &Path, options: &_| Engine::open(Arc::new(RealDisk), path, options));
    for (text, expected) in [
        ("", true),
        ("[memory]\ntend = true\n", true),
        ("[memory]\ntend = false\n", false),
    ] {
        fs_err::write(&path, text).unwrap();
        let mut config = MemoryConfig::new(
            folder.path().into(),
            384,
            open.clone(),
            Arc::new(|| {
                Err(EmbedError::Unavailable {
                    message: String::new(),
                })
            }),
        );
        config.maintenance = Some(Arc::new(|_| -> MaintenancePlanner {
            Box::new(|_, _, _| None)
        }));
        Config::read(&path, true)
            .unwrap()
            .apply(&mut config)
            .unwrap();
        assert_eq!(config.maintenance.is_some(), expected, "{text}");
    }
}

#[test]
fn where_the_buckets_of_a_merge_end_can_be_configured() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config.toml");
    let tier = |said: &str| {
        fs_err::write(&path, said).expect("written");
        let config = Config::read(&path, true).expect("it can be read");
        config.tier_options()
    };
    let usual = tier("").expect("nothing is said").thresholds;
    assert_eq!((usual.local_high, usual.global_quality), (0.6, 0.7));
    let own = tier("[global]\nlocal_high = 0.4\nquality_high = 0.9\n");
    let own = own.expect("both can be").thresholds;
    assert_eq!((own.local_high, own.global_quality), (0.4, 0.9));
}

#[test]
fn where_nobody_says_a_recall_asks_the_users_own_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("config.toml");
    let scope = |said: &str| {
        fs_err::write(&path, said).expect("written");
        Config::read(&path, true)
            .expect("it can be read")
            .global
            .scope
    };
    assert_eq!(scope(""), RecallScope::Local);
    let own = scope("[global]\nscope = \"local+global\"\n");
    assert_eq!(own, RecallScope::LocalAndGlobal);
}

#[test]
fn what_the_guide_shows_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    let guide = include_str!("../../../../docs/guide/config.md");
    let text = guide.split("```toml\n").nth(1).unwrap();
    fs_err::write(&path, text.split("```").next().unwrap()).unwrap();
    let config = Config::read(&path, true).unwrap();
    assert_eq!(
        config.tag_rules().resolve_tags(&["rs".to_owned()]),
        ["rust"]
    );
    assert_eq!(config.memory.model, ModelName::BuiltIn(Variant::F32));
    assert!(config.serve.http.is_some() && config.serve.otlp.is_some());
    let ada: UserId = "ada".parse().unwrap();
    let own = config.projections(&ada);
    assert_eq!((own.len(), own[0].project.as_deref()), (1, Some("shop")));
    let named: Vec<&str> = config
        .workspaces
        .list_paths()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(named, ["app"]);
    let named = ["reprise", "--config", path.to_str().unwrap(), "stats"];
    let user = find_configured_user(named.into_iter().map(OsString::from));
    assert_eq!(user.as_deref(), Some("ada"));
}

#[test]
fn every_key_in_the_tables_of_the_guide_exists() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    let guide = include_str!("../../../../docs/guide/config.md");
    let (mut header, mut count) = (String::new(), 0);
    for line in guide.split("\n## Variables").next().unwrap().lines() {
        match line.strip_prefix("## ") {
            Some("Top" | "eval.answer, eval.judge") => header = String::new(),
            Some("projections") => "[[projections]]".clone_into(&mut header),
            Some(section) => header = format!("[{section}]"),
            None => {}
        }
        let Some((key, _)) = line
            .strip_prefix("| `")
            .and_then(|row| row.split_once("` |"))
        else {
            continue;
        };
        fs_err::write(&path, format!("{header}\n{key} = 1\n")).unwrap();
        let said = Config::read(&path, true).err();
        let said = said.map_or_else(String::new, |error| format!("{error:#}"));
        assert_lacks!(said, "unknown field");
        count += 1;
    }
    assert!(count > 40, "only {count} keys were found");
}

#[test]
fn a_word_that_a_key_does_not_know_is_named_with_the_key_and_the_words_that_it_knows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    fs_err::write(&path, "[memory]\nvectors = \"xx\"\n").unwrap();
    let said = format!("{:#}", Config::read(&path, true).unwrap_err());
    let wanted = "line 2: `vectors` cannot be `xx`; use `log` or `rvf-runtime`";
    assert!(said.ends_with(wanted), "{said}");
}
