//! What `deploy/` holds fits the program that it deploys: each file is read as what it is, the
//! chart is rendered, and every command in it is one that the binary takes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use reprise_tests::{finish, reprise};
use serde_json::Value;

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
    assert_eq!(
        (&chart["apiVersion"], &chart["type"]),
        (&"v2".into(), &"application".into())
    );
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

#[test]
fn alerts_and_panels_ask_for_metrics_that_there_are() {
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
        .map(|one| one["expr"].to_string());
    let asked = asked.collect::<Vec<_>>().join("\n");
    let is_in = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let names = asked
        .split(|c: char| !is_in(c))
        .filter(|word| word.starts_with("reprise_"));
    let known = [
        "reprise_http_request_duration_seconds_count",
        "reprise_http_request_duration_seconds_bucket",
        "reprise_global_ready",
        "reprise_global_requests_free",
    ];
    let names: BTreeSet<&str> = names.collect();
    assert!(names.len() >= 4, "{names:?}");
    assert!(names.iter().all(|name| known.contains(name)), "{names:?}");
    for rule in rules {
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
}
