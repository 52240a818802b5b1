//! What `deploy/` holds fits the program that it deploys: each file is read as what it is, the
//! chart is rendered, and every command in it is one that the binary takes; and where the program
//! keeps what is its own.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use reprise_tests::{finish, has, reprise, reprise_binary};
use serde_json::{Value, json};

use crate::away::serve;
use crate::home::Home;
use crate::together::Mcp;

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

fn text(file: &str) -> String {
    fs::read_to_string(deploy().join(file)).expect(file)
}

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).expect("it is YAML")
}

/// The flags of `reprise global serve`, as its help has them.
fn known_flags() -> BTreeSet<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = reprise(folder.path()).expect("reprise is built");
    let finished = finish(command.args(["global", "serve", "--help"])).expect("it runs");
    flags(&finished.stdout)
}

#[test]
fn what_the_program_keeps_stands_in_its_xdg_directories_and_nowhere_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    for name in ["home", "config/reprise", "cache", "data", "state", "run"] {
        fs::create_dir_all(at(name)).expect("made");
    }
    fs::write(at("config/reprise/config.toml"), "user = \"ada\"\n").expect("written");
    let command = |words: &[&str]| {
        let mut command = Command::new(reprise_binary().expect("reprise is built"));
        command
            .env_clear()
            .env("HOME", at("home"))
            .env("XDG_CONFIG_HOME", at("config"))
            .env("XDG_CACHE_HOME", at("cache"))
            .env("XDG_DATA_HOME", at("data"))
            .env("XDG_STATE_HOME", at("state"))
            .env("XDG_RUNTIME_DIR", at("run"))
            .args(words);
        command
    };
    let learned = finish(&mut command(&["--no-model", "learn", "the lift is broken"]));
    assert_eq!(learned.expect("it runs").code, Some(0));
    // The user is the configuration's.
    assert!(at("data/reprise/ada/memory.rvf").is_file());
    let looked = finish(&mut command(&["doctor", "--json"])).expect("it runs");
    let models = at("cache/reprise/models");
    let models = models.to_string_lossy();
    assert!(looked.stdout.contains(&*models), "{}", looked.stdout);
    // An agent's program starts a daemon, which answers on its socket.
    let mut server = Mcp::start(&mut command(&["--no-model", "mcp"]));
    let answer = server.call("tags", &json!({})).to_string();
    server.end();
    let sockets: Vec<_> = fs::read_dir(at("run/reprise")).expect("there").collect();
    finish(&mut command(&["stop"])).expect("it runs").ended(0);
    assert_eq!(sockets.len(), 1, "{answer}");
    assert!(answer.contains("0 tags"), "{answer}");
    let left: Vec<_> = fs::read_dir(at("home")).expect("there").collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Every `--flag` of a text.
fn flags(text: &str) -> BTreeSet<String> {
    let is_in = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let words = text.split(|c: char| !is_in(c));
    let flags = words.filter(|word| word.starts_with("--") && word.len() > 2);
    flags.map(str::to_owned).collect()
}

/// What a value of the chart is at a path such as `.Values.quotas.userThings`.
fn value_at<'v>(values: &'v Value, path: &str) -> &'v Value {
    let path = path.strip_prefix(".Values.").expect("a value of the chart");
    let found = path.split('.').fold(values, |value, name| &value[name]);
    assert!(!found.is_null(), "values.yaml has no `{path}`");
    found
}

/// The part of Helm's language that the chart uses: values, the release's name, `quote`, `toJson`.
fn rendered(template: &str, values: &Value) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let (inside, after) = after.split_once("}}").expect("`{{` is closed");
        let (what, how) = inside
            .trim()
            .split_once(" | ")
            .unwrap_or((inside.trim(), ""));
        out += before;
        let value = match what {
            ".Release.Name" => Value::from("demo"),
            path => value_at(values, path).clone(),
        };
        assert!(
            ["", "quote", "toJson"].contains(&how),
            "`{how}` is not rendered here"
        );
        out += &match (how, &value) {
            ("", Value::String(text)) => text.clone(),
            (_, value) => value.to_string(),
        };
        rest = after;
    }
    out + rest
}

#[test]
fn the_chart_renders_to_a_deployment_that_the_program_can_run() {
    let chart = yaml(&text("helm/reprise-global/Chart.yaml"));
    has!(chart, "apiVersion": "v2", "type": "application");
    let values = yaml(&text("helm/reprise-global/values.yaml"));
    let deployment = text("helm/reprise-global/templates/deployment.yaml");
    let deployment = yaml(&rendered(&deployment, &values));
    assert_eq!(deployment["kind"], "Deployment");
    let pod = &deployment["spec"]["template"];
    let selected = &deployment["spec"]["selector"]["matchLabels"]["app.kubernetes.io/instance"];
    assert_eq!(
        *selected,
        pod["metadata"]["labels"]["app.kubernetes.io/instance"]
    );
    assert_eq!(pod["spec"]["securityContext"]["runAsNonRoot"], true);
    let container = &pod["spec"]["containers"][0];
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
    assert_eq!(
        container["readinessProbe"]["httpGet"]["path"],
        "/health/ready"
    );
    assert!(
        container["resources"]["limits"]["memory"].is_string(),
        "{container}"
    );
    let arguments = container["args"].to_string();
    assert!(flags(&arguments).is_subset(&known_flags()), "{arguments}");
    let service = text("helm/reprise-global/templates/service.yaml");
    let service = yaml(&rendered(&service, &values));
    let port = &container["ports"][0];
    assert_eq!(service["spec"]["ports"][0]["targetPort"], port["name"]);
    assert_eq!(
        service["spec"]["selector"]["app.kubernetes.io/instance"],
        *selected
    );
}

#[test]
fn compose_keeps_its_password_out_of_the_file_and_its_database_inside() {
    let whole = text("compose.yaml");
    let compose = yaml(&whole);
    let (database, service) = (
        &compose["services"]["database"],
        &compose["services"]["service"],
    );
    assert_eq!(
        service["depends_on"]["database"]["condition"],
        "service_healthy"
    );
    assert!(
        database["ports"].is_null(),
        "the database is nobody's outside"
    );
    assert_eq!(compose["networks"]["inside"]["internal"], true);
    assert!(compose["secrets"]["database-password"]["file"].is_string());
    assert!(!whole.contains("POSTGRES_PASSWORD:"), "{whole}");
    let entry = service["entrypoint"][2].to_string();
    assert!(flags(&entry).is_subset(&known_flags()), "{entry}");
    for volume in ["database", "service"] {
        assert!(!compose["volumes"][volume].is_null(), "{volume}");
    }
}

#[test]
fn the_image_runs_as_nobody_and_is_of_both_architectures() {
    let image = text("Dockerfile");
    let stages = image
        .lines()
        .filter(|line| line.starts_with("FROM "))
        .count();
    assert_eq!(stages, 3);
    let last = image.rsplit("\nFROM ").next().expect("a stage");
    let user = last.lines().find_map(|line| line.strip_prefix("USER "));
    assert!(
        user.is_some_and(|user| !user.starts_with('0') && user != "root"),
        "{user:?}"
    );
    for word in [
        "HEALTHCHECK",
        "VOLUME /data",
        "STOPSIGNAL SIGTERM",
        "ENTRYPOINT [\"reprise\"]",
    ] {
        assert!(last.contains(word), "{word}");
    }
    assert!(
        !last.contains("cargo") && image.contains("--locked"),
        "{last}"
    );
    assert!(image.contains("linux/amd64,linux/arm64"));
    // What is copied in is there, and the build sees no data and no history.
    let ignored = text("Dockerfile.dockerignore");
    for copied in ["crates", "Cargo.lock", "deploy/healthcheck.sh"] {
        assert!(deploy().join("..").join(copied).exists(), "{copied}");
        assert!(
            ignored.lines().any(|line| line == format!("!{copied}")),
            "{copied}"
        );
    }
    assert!(ignored.lines().any(|line| line == "*"));
}

/// Each use of a metric of ours by alerts and panels, with the labels by which it is chosen as the
/// program writes them: `route="/v1/query"`, or `status="` where several values are meant.
pub(crate) fn metrics() -> Vec<(String, Vec<String>)> {
    let alerts = yaml(&text("monitoring/alerts.yaml"));
    let rules = alerts["groups"][0]["rules"].as_array().expect("rules");
    let dashboard: Value = serde_json::from_str(&text("monitoring/dashboard.json")).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels
        .iter()
        .filter_map(|panel| panel["targets"].as_array());
    let asked = rules
        .iter()
        .chain(targets.flatten())
        .map(|one| one["expr"].as_str().expect("an expression"));
    let is_in = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut metrics = Vec::new();
    for expression in asked {
        for (at, _) in expression.match_indices("reprise_") {
            let rest = &expression[at..];
            let (name, after) = rest.split_at(rest.find(|c| !is_in(c)).unwrap_or(rest.len()));
            let chosen = after
                .strip_prefix('{')
                .and_then(|after| after.split_once('}'));
            let labels = chosen.map_or("", |(labels, _)| labels).split(',');
            // The job is the collector's own word.
            let labels = labels.filter(|label| !label.is_empty() && !label.starts_with("job="));
            let labels = labels.map(|label| match label.split_once("=~") {
                Some((name, _)) => format!("{name}=\""),
                None => label.to_owned(),
            });
            metrics.push((name.to_owned(), labels.collect()));
        }
    }
    metrics
}

#[test]
fn a_container_is_healthy_while_one_of_its_ports_is_ready() {
    let script = deploy().join("healthcheck.sh");
    let is_healthy = |ports: &str| {
        let mut command = Command::new("bash");
        command.arg(&script).env("REPRISE_HEALTH_PORT", ports);
        command.status().expect("bash runs").success()
    };
    let there = Home::new();
    let (mut daemon, url) = serve(&there, "127.0.0.1:0");
    let (_, port) = url.rsplit_once(':').expect("a port");
    // One that takes connections and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent = silent.local_addr().expect("an address").port();
    assert!(is_healthy(port));
    assert!(is_healthy(&format!("{silent} {port}")));
    assert!(!is_healthy(&silent.to_string()));
    daemon.kill().expect("it ends");
    daemon.wait().expect("it has ended");
    assert!(!is_healthy(port));
}

#[test]
fn alerts_say_what_is_wrong_and_whom_to_wake() {
    let alerts = yaml(&text("monitoring/alerts.yaml"));
    for rule in alerts["groups"][0]["rules"].as_array().expect("rules") {
        assert!(rule["annotations"]["summary"].is_string(), "{rule}");
        assert!(
            matches!(rule["labels"]["severity"].as_str(), Some("page" | "ticket")),
            "{rule}"
        );
    }
}

#[test]
fn the_unit_of_the_service_starts_what_there_is_and_gives_it_nothing_more() {
    let unit = text("systemd/reprise-global.service");
    let start = unit
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="));
    let start = start.expect("it starts something");
    assert!(
        start.starts_with("/usr/bin/reprise global serve"),
        "{start}"
    );
    assert!(flags(start).is_subset(&known_flags()), "{start}");
    for line in [
        "DynamicUser=yes",
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "UMask=0077",
    ] {
        assert!(unit.lines().any(|one| one == line), "{line}");
    }
    assert!(!unit.contains("postgresql://reprise:password"));
    // As systemd reads it, with the program where it stands here.
    let folder = tempfile::tempdir().expect("a folder");
    let here = reprise_binary().expect("reprise is built");
    let here = unit.replace("/usr/bin/reprise ", &format!("{} ", here.display()));
    let file = folder.path().join("reprise-global.service");
    fs::write(&file, here).expect("written");
    let mut verify = Command::new("systemd-analyze");
    match finish(verify.arg("verify").arg(&file)) {
        Ok(verified) => {
            // What is wrong with other units of this machine is told as well.
            let said = verified.stderr;
            assert_eq!(verified.code, Some(0), "{said}");
            assert!(!said.contains("reprise-global"), "{said}");
        }
        Err(error) => eprintln!("systemd-analyze is not here, so no unit was verified: {error}"),
    }
}
