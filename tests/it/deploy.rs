//! What `deploy/` holds fits the program that it deploys: each file is read as what it is, the
//! chart is rendered, and every command in it is one that the binary takes; and where the program
//! keeps what is its own.

mod image;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use reprise_tests::{
    assert_contains, assert_fields, find_reprise_binary, reprise_command, run_to_end,
    workspace_root,
};
use reprise_types::sha256_hex;
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
    let mut command = reprise_command(folder.path()).expect("reprise is built");
    let finished = run_to_end(command.args(["global", "serve", "--help"])).expect("it runs");
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
        let mut command = Command::new(find_reprise_binary().expect("reprise is built"));
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
    let learned = run_to_end(&mut command(&[
        "--no-model",
        "learn",
        "the lift is broken",
        "--project",
        "none",
    ]));
    assert_eq!(learned.expect("it runs").code, Some(0));
    // The user is the configuration's.
    assert!(at("data/reprise/ada/memory.rvf").is_file());
    let looked = run_to_end(&mut command(&["doctor", "--json"])).expect("it runs");
    let models = at("cache/reprise/models");
    let models = models.to_string_lossy();
    assert!(looked.stdout.contains(&*models), "{}", looked.stdout);
    // An agent's program starts a daemon, which answers on its socket.
    let mut server = Mcp::start(&mut command(&["--no-model", "mcp"]));
    let answer = server.call("tags", &json!({})).to_string();
    server.end();
    let sockets: Vec<_> = fs::read_dir(at("run/reprise")).expect("there").collect();
    run_to_end(&mut command(&["serve", "stop"]))
        .expect("it runs")
        .expect_code(0);
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

/// The part of Helm's language that the chart uses: values, the release's name, `quote`, `toJson`,
/// `range` over a list and `if`.
fn rendered(template: &str, values: &Value) -> String {
    let (mut out, mut rest) = (String::new(), template);
    while let Some((before, after)) = rest.split_once("{{") {
        let (inside, after) = after.split_once("}}").expect("`{{` is closed");
        let is_trimmed = inside.starts_with('-');
        out += if is_trimmed {
            before.trim_end()
        } else {
            before
        };
        let inside = inside.trim_start_matches('-').trim();
        let block = inside.strip_prefix("range ").map(|path| (path, true));
        let block = block.or_else(|| inside.strip_prefix("if ").map(|path| (path, false)));
        rest = after;
        let Some((path, is_range)) = block else {
            out += &rendered_value(inside, values);
            continue;
        };
        let (body, after) = after.split_once("{{- end }}").expect("a block ends");
        rest = after;
        let value = value_at(values, path);
        if let Some(all) = value.as_array().filter(|_| is_range) {
            out.extend(
                all.iter()
                    .map(|one| rendered(body.trim_end(), &json!({ ".": one }))),
            );
        } else if value == &Value::Bool(true) {
            out += &rendered(body, values);
        }
    }
    out + rest
}

/// One `{{ }}` of a template: a value, with what is made of it.
fn rendered_value(inside: &str, values: &Value) -> String {
    let (what, how) = inside.split_once(" | ").unwrap_or((inside, ""));
    let value = match what {
        ".Release.Name" => Value::from("demo"),
        "." => values["."].clone(),
        path => value_at(values, path).clone(),
    };
    match (how, &value) {
        ("", Value::String(text)) => text.clone(),
        ("" | "quote" | "toJson", value) => value.to_string(),
        ("toJson | quote", value) => Value::from(value.to_string()).to_string(),
        ("sha256sum | quote", Value::String(text)) => {
            Value::from(sha256_hex(text.as_bytes())).to_string()
        }
        (how, _) => {
            assert!(how.is_empty(), "`{how}` is not rendered here");
            String::new()
        }
    }
}

/// Every template of the chart, by the kind of what it renders to.
fn rendered_chart(values: &Value) -> BTreeMap<String, Value> {
    let folder = deploy().join("helm/reprise-global/templates");
    let files = fs::read_dir(folder).expect("templates").flatten();
    let templates = files.map(|file| fs::read_to_string(file.path()).expect("a template"));
    let made = templates.map(|template| rendered(&template, values));
    let made = made.filter(|text| !text.trim().is_empty());
    let made = made.map(|text| yaml(&text));
    made.map(|one| (one["kind"].as_str().unwrap_or_default().to_owned(), one))
        .collect()
}

#[test]
fn the_chart_takes_an_issuer_private_authorities_and_who_may_connect() {
    let mut values = yaml(&text("helm/reprise-global/values.yaml"));
    let plain = rendered_chart(&values);
    let kinds: Vec<&str> = plain.keys().map(String::as_str).collect();
    let expected = "ConfigMap Deployment NetworkPolicy PodDisruptionBudget Service";
    assert_eq!(kinds.join(" "), expected);
    // The section that the chart's comment names is one that the program knows.
    let comments = text("helm/reprise-global/values.yaml");
    let section = comments
        .split_once("([")
        .and_then(|(_, rest)| rest.split_once("])"));
    let (section, _) = section.expect("a comment names a section of the configuration");
    let audience = "https://knowledge.example";
    let people =
        format!("[{section}]\nissuer = \"https://id.example\"\naudience = \"{audience}\"\n");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("config.toml");
    fs::write(&file, &people).expect("a configuration");
    let mut command = reprise_command(folder.path()).expect("reprise is built");
    command
        .arg("--config")
        .arg(&file)
        .args(["global", "token", "list"]);
    run_to_end(&mut command).expect("it runs").expect_code(0);
    values["config"] = people.clone().into();
    let authority = "--database-authority=/etc/reprise/ca/database.pem";
    values["extraArgs"] = json!([authority]);
    values["extraEnv"] = json!([{ "name": "SSL_CERT_FILE", "value": "/etc/reprise/ca/all.pem" }]);
    values["volumes"] = json!([{ "name": "ca", "configMap": { "name": "authorities" } }]);
    values["volumeMounts"] = json!([{ "name": "ca", "mountPath": "/etc/reprise/ca" }]);
    values["clients"] = json!([{ "namespaceSelector": {} }]);
    values["monitoring"]["enabled"] = true.into();
    let chart = rendered_chart(&values);
    assert_eq!(chart["ConfigMap"]["data"]["config.toml"], people);
    // A changed configuration makes new pods.
    let config = |chart: &BTreeMap<String, Value>| {
        let pod = &chart["Deployment"]["spec"]["template"]["metadata"];
        pod["annotations"]["checksum/config"].to_string()
    };
    assert_ne!(config(&plain), config(&chart));
    let pod = &chart["Deployment"]["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let arguments = container["args"].to_string();
    assert!(flags(&arguments).is_subset(&known_flags()), "{arguments}");
    assert_contains!(arguments, authority);
    assert_contains!(container["env"].to_string(), "SSL_CERT_FILE");
    let mounted = container["volumeMounts"].as_array().expect("mounts");
    let volumes = pod["volumes"].as_array().expect("volumes");
    for mount in mounted {
        let is_there = volumes.iter().any(|volume| volume["name"] == mount["name"]);
        assert!(is_there, "{mount}");
    }
    let from = &chart["NetworkPolicy"]["spec"]["ingress"][0]["from"];
    assert_eq!(from[0], json!({ "namespaceSelector": {} }));
    let endpoint = &chart["ServiceMonitor"]["spec"]["endpoints"][0];
    assert_eq!(endpoint["path"], "/metrics");
    assert_eq!(chart["PodDisruptionBudget"]["spec"]["maxUnavailable"], 1);
}

#[test]
fn the_chart_renders_to_a_deployment_that_the_program_can_run() {
    let chart = yaml(&text("helm/reprise-global/Chart.yaml"));
    assert_fields!(chart, "apiVersion": "v2", "type": "application");
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
    assert!(!whole.contains("POSTGRES_PASSWORD:"), "{whole}");
    // The service has its own password, and not the administrator's.
    let secrets = |service: &Value| service["secrets"].to_string();
    assert_eq!(secrets(service), "[\"service-password\"]");
    assert_contains!(secrets(database), "administrator-password");
    let ignored = fs::read_to_string(workspace_root().join(".gitignore")).expect("there");
    for (secret, from) in compose["secrets"].as_object().expect("secrets") {
        // A secret is read by another user than the one who wrote it: the file is open, and its
        // folder is closed.
        assert_eq!(from["file"], format!("./secrets/{secret}"));
        assert_contains!(whole, "mkdir -m 700 deploy/secrets", "chmod 644");
    }
    let is_ignored = ignored.lines().any(|line| line == "/deploy/secrets/");
    assert!(is_ignored, "git keeps no secret");
    let entry = service["entrypoint"].to_string();
    assert!(flags(&entry).is_subset(&known_flags()), "{entry}");
    for volume in ["database", "service"] {
        assert!(!compose["volumes"][volume].is_null(), "{volume}");
    }
}

#[test]
fn the_image_and_the_debian_package_have_every_program() {
    let package = workspace_root().join("crates/reprise/Cargo.toml");
    let package = fs::read_to_string(package).expect("there");
    let image = text("Dockerfile");
    for program in [
        "reprise",
        "reprise-workspace",
        "reprise-global",
        "reprise-seal",
    ] {
        let built = format!("target/release/{program}");
        let mut words = image.split_whitespace();
        assert!(words.any(|word| word == built), "{built} in the image");
        assert!(
            package.contains(&format!("[\"{built}\"")),
            "{built} in the package"
        );
    }
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
            // Which answers a service has given, differs from run to run.
            let labels = labels.map(|label| match label.split_once('=') {
                Some((name, value)) if value.starts_with('~') || name == "status" => {
                    format!("{name}=\"")
                }
                _ => label.to_owned(),
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
    // As systemd reads it, with the path of the program here.
    let folder = tempfile::tempdir().expect("a folder");
    let here = find_reprise_binary().expect("reprise is built");
    let here = unit.replace("/usr/bin/reprise ", &format!("{} ", here.display()));
    let file = folder.path().join("reprise-global.service");
    fs::write(&file, here).expect("written");
    let mut verify = Command::new("systemd-analyze");
    match run_to_end(verify.arg("verify").arg(&file)) {
        Ok(verified) => {
            // What is wrong with other units of this machine is told as well.
            let said = verified.stderr;
            assert_eq!(verified.code, Some(0), "{said}");
            assert!(!said.contains("reprise-global"), "{said}");
        }
        Err(error) => eprintln!("systemd-analyze is not here, so no unit was verified: {error}"),
    }
}

/// Lists what an archive of a package holds, with what a person may do with each file.
const LIST_ARCHIVE: &str = "import sys, tarfile, zipfile
for path in sys.argv[1:]:
    if path.endswith('.whl'):
        for one in zipfile.ZipFile(path).infolist():
            print(one.filename, oct(one.external_attr >> 16 & 0o777))
    else:
        for one in tarfile.open(path).getmembers():
            print(one.name, oct(one.mode))
";

/// A program that answers what the packing asks of `reprise`. The real one is packed by
/// `tests/clients/packages.sh`, which takes minutes with a build for tests.
const STAND_IN: &str = "#!/bin/sh
case \"$*\" in
--version) echo 'reprise 1.2.3' ;;
*--man*) echo page >\"$3/reprise.1\" ;;
*) echo script ;;
esac
";

#[test]
fn the_packages_carry_the_program_and_what_is_next_to_it() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["reprise", "reprise-global", "reprise-seal"] {
        let file = folder.path().join(name);
        fs::write(&file, STAND_IN).expect("written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("set");
    }
    let out = folder.path().join("out");
    let mut pack = Command::new(deploy().join("package.sh"));
    pack.arg("--binary").arg(folder.path().join("reprise"));
    run_to_end(pack.arg("--out").arg(&out))
        .expect("it runs")
        .expect_code(0);
    let files = fs::read_dir(&out).expect("packed").flatten();
    let mut files: Vec<PathBuf> = files.map(|file| file.path()).collect();
    files.sort();
    let names: Vec<_> = files.iter().filter_map(|file| file.file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let mut list = Command::new("python3");
    let listed = run_to_end(list.args(["-c", LIST_ARCHIVE]).args(&files)).expect("it runs");
    assert_contains!(
        listed.stdout,
        "reprise-1.2.3.data/scripts/reprise 0o755",
        "reprise-1.2.3.data/scripts/reprise-global 0o755",
        "reprise-1.2.3.data/scripts/reprise-seal 0o755",
        "reprise-1.2.3.data/data/share/man/man1/reprise.1 0o644",
        "reprise-1.2.3.dist-info/RECORD 0o644",
        "package/package.json 0o644",
        "package/bin/reprise.js 0o755",
        "package/share/bash-completion/completions/reprise 0o644"
    );
    assert_contains!(listed.stdout, "/bin/reprise-global 0o755");

    let mut missing = Command::new(deploy().join("package.sh"));
    let refused = run_to_end(missing.args(["--binary", "/nowhere", "--out", "/tmp/none"]));
    assert_contains!(
        refused.expect("it runs").expect_code(1).stderr,
        "`/nowhere` does not exist; build it with cargo build --release -p reprise"
    );
}
