//! A team and its operator: what is taken down and told, tokens that end and are replaced,
//! invitations, quotas, the access log, one person's export and erasure, through the real service.

use std::fs;
use std::path::Path;

use reprise_tests::{RunOutput, assert_contains, assert_fields, assert_lacks};
use serde_json::{Value, json};

use super::service::{Service, furnished};
use super::{ingest, refused, run, run_json};
use crate::home::rows;

/// An answer of the service: status, Retry-After, request id, body as JSON and as it is.
pub(super) struct Answer {
    pub(super) status: u16,
    retry: Option<String>,
    request: Option<String>,
    pub(super) body: Value,
    pub(super) text: String,
}

#[expect(clippy::disallowed_methods, reason = "the test is the client")]
pub(super) fn ask(
    url: &str,
    method: &str,
    path: &str,
    token: &str,
    body: Option<&Value>,
) -> Answer {
    let agent = ureq::Agent::config_builder().http_status_as_error(false);
    let agent: ureq::Agent = agent.build().into();
    let request = ureq::http::Request::builder()
        .method(method)
        .uri(format!("{url}{path}"))
        .header("authorization", format!("Bearer {token}"))
        .header("x-request-id", "complaint-7")
        .body(body.map(Value::to_string).unwrap_or_default())
        .expect("a request");
    let mut answer = agent.run(request).expect("it answers");
    let header = |name: &str| {
        let value = answer.headers().get(name)?;
        Some(value.to_str().ok()?.to_owned())
    };
    let (retry, request) = (header("retry-after"), header("x-request-id"));
    let text = answer.body_mut().read_to_string().expect("a body");
    Answer {
        status: answer.status().as_u16(),
        retry,
        request,
        body: serde_json::from_str(&text).unwrap_or_default(),
        text,
    }
}

fn thing(number: usize, policy: &str) -> Value {
    json!({ "origin": format!("o{number}"), "content_type": "document", "summary": "",
        "title": format!("Rivers {number}"), "content": "Otters of the marked river.",
        "tags": [], "access_policy": policy, "licence": "" })
}

fn token(data: &Path, name: &str, more: &[&str]) -> String {
    let made = run_json(
        data,
        &[&["global", "token", "add", name, "--user", name], more].concat(),
    );
    made["token"].as_str().expect("a token").to_owned()
}

/// A machine whose configuration names a service.
pub(super) fn machine(data: &Path, url: &str, user: &str, token: &str) -> String {
    fs::create_dir_all(data).expect("a data directory");
    let config = data.join("config.toml");
    let text = format!(
        "user = \"{user}\"\n[global]\nurl = \"{url}\"\ndeadline_ms = 30000\n[global.tokens]\n\
         {user} = \"{token}\"\n"
    );
    fs::write(&config, text).expect("a configuration");
    config.display().to_string()
}

#[test]
fn what_an_operator_takes_down_is_told_to_its_author_and_another_org_s_is_not_his() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = folder.path().join("server");
    let (_postgres, url) = furnished(&[]);
    let service = Service::start(&server, &["--database-url", &url]);
    let ann = token(&server, "ann", &["--org", "acme"]);
    let olga = token(&server, "olga", &["--org", "acme", "--may", "read,operate"]);
    let oda = token(&server, "oda", &["--org", "other", "--may", "read,operate"]);
    let data = folder.path().join("ann");
    let config = machine(&data, &service.url, "ann", &ann);
    let with = |arguments: &[&str]| -> RunOutput {
        run(&data, &[&["--config", &config], arguments].concat())
    };
    ingest(
        &data,
        "ann",
        &[json!({"external_id": "rivers", "text": "Otters of our own river"})],
    );
    let publish = [
        "share", "publish", "rivers", "--user", "ann", "--yes", "--policy", "org",
    ];
    let published = with(&publish);
    let published: Value = serde_json::from_str(&published.stdout).expect("JSON");
    let id = published["published"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();

    let order = json!({ "reason": "it names a customer" });
    let path = format!("/v1/publications/{id}/takedown");
    // Not by a writer, and not by the operator of another organisation.
    assert_eq!(
        ask(&service.url, "POST", &path, &ann, Some(&order)).status,
        403
    );
    assert_eq!(
        ask(&service.url, "POST", &path, &oda, Some(&order)).status,
        404
    );
    let listed = |token: &str| ask(&service.url, "GET", "/v1/catalogue", token, None).body;
    assert_eq!(listed(&olga)[0]["id"], id.as_str());
    assert_eq!(listed(&oda), json!([]));
    assert_eq!(
        ask(&service.url, "GET", "/v1/catalogue", &ann, None).status,
        403
    );

    // The operator's own machine has the same as commands.
    let desk = folder.path().join("olga");
    let config_of_olga = machine(&desk, &service.url, "olga", &olga);
    let operate = |arguments: &[&str]| {
        let whole = [&["--config", &config_of_olga, "global"], arguments].concat();
        run_json(&desk, &[&whole[..], &["--user", "olga"]].concat())
    };
    assert_eq!(operate(&["catalogue"])["title"], "Otters of our own river");
    let taken = operate(&["takedown", &id, "--reason", "it names a customer"]);
    assert_fields!(taken, "verified": true, "author": "ann");
    let own = with(&["share", "list", "--user", "ann"]);
    let own: Value = serde_json::from_str(&own.stdout).expect("JSON");
    assert_eq!(own["published"], json!([]));
    assert_eq!(own["taken_down"][0]["reason"], "it names a customer");
    assert_eq!(own["taken_down"][0]["operator"], "olga");
    let told = reprise_tests::run_to_end(
        reprise_tests::reprise_command(&data)
            .expect("reprise is built")
            .args([
                "--no-model",
                "--config",
                &config,
                "share",
                "list",
                "--user",
                "ann",
            ]),
    );
    let told = told.expect("it runs").stdout;
    assert_contains!(told, "taken down", "names a customer");
    let refused = with(&publish).expect_code(2);
    assert_contains!(refused.stderr, "taken down by an operator");
    let back = operate(&["putback", &id]);
    assert!(back["published"]["id"].is_string(), "{back}");
    let own = with(&["share", "list", "--user", "ann"]);
    assert_contains!(own.stdout, "Otters of our own river");
    assert_lacks!(own.stdout, "taken_down");
}

#[test]
fn tokens_end_are_replaced_with_time_and_come_by_invitation_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = folder.path().join("server");
    let service = Service::start(&server, &[]);
    let opens = |token: &str| ask(&service.url, "GET", "/v1/publications", token, None).status;
    let first = token(&server, "ann", &["--expires-days", "1"]);
    assert_eq!(opens(&first), 200);
    let rotated = run_json(&server, &["global", "token", "rotate", "ann"]);
    let second = rotated["token"].as_str().expect("a token").to_owned();
    assert_eq!(
        (opens(&first), opens(&second)),
        (200, 200),
        "the old one opens for a time"
    );
    let rotate = ["global", "token", "rotate", "ann", "--grace-hours", "0"];
    let third = run_json(&server, &rotate)["token"]
        .as_str()
        .expect("a token")
        .to_owned();
    assert_eq!((opens(&second), opens(&third)), (401, 200));
    // One that has ended: the file says so, as it would tomorrow.
    let file = server.join(".global/tokens.json");
    let text = fs::read_to_string(&file).expect("tokens");
    let mut tokens: Value = serde_json::from_str(&text).expect("JSON");
    tokens[0]["expires"] = "2020-01-01T00:00:00Z".into();
    fs::write(&file, tokens.to_string()).expect("written");
    assert_eq!(opens(&third), 401);

    let invite = [
        "global",
        "token",
        "invite",
        "bob",
        "--user",
        "bob",
        "--org",
        "acme",
        "--url",
        &service.url,
    ];
    let link = run_json(&server, &invite)["link"]
        .as_str()
        .expect("a link")
        .to_owned();
    let code = link.split_once('#').expect("a code").1.to_owned();
    assert_eq!(opens(&code), 401, "an invitation is no token");
    let machine = folder.path().join("bob");
    let joined = run_json(&machine, &["global", "join", &link]);
    assert_fields!(joined, "user": "bob", "org": "acme");
    assert_eq!(opens(joined["token"].as_str().expect("a token")), 200);
    let again = run(&machine, &["global", "join", &link]).expect_code(2);
    assert_contains!(again.stderr, "not open");
    let odd = run(&machine, &["global", "join", "http://127.0.0.1:1/nothing"]);
    assert_contains!(odd.stderr, "/join#");
    let audit = run(&server, &["global", "audit"]).stdout;
    for what in ["\"grant\"", "\"rotate\"", "\"invite\"", "\"join\""] {
        assert!(audit.contains(what), "{what}: {audit}");
    }
    assert_lacks!(audit, &code, &third);
}

#[test]
fn a_quota_is_said_with_when_to_come_again_and_every_request_has_a_line_without_a_text() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = folder.path().join("server");
    let log = folder.path().join("access.jsonl");
    let log_name = log.display().to_string();
    let limits = ["--user-things", "2", "--user-requests-a-minute", "8"];
    let of_a_folder = refused(
        &server,
        &[&["global", "serve", "--http", "127.0.0.1:0"], &limits[..]].concat(),
    );
    assert_contains!(of_a_folder, "--database-url");
    let (_postgres, url) = furnished(&[]);
    let service = Service::start(
        &server,
        &[
            &limits[..],
            &["--access-log", &log_name, "--database-url", &url],
        ]
        .concat(),
    );
    let ann = token(&server, "ann", &[]);
    let publish = |number| {
        let thing = thing(number, "public");
        ask(&service.url, "POST", "/v1/publications", &ann, Some(&thing))
    };
    assert_eq!(
        [publish(1).status, publish(2).status, publish(1).status],
        [200, 200, 200]
    );
    let over = publish(3);
    assert_eq!(
        (over.status, over.retry.as_deref()),
        (429, Some("3600")),
        "{}",
        over.body
    );
    assert_eq!(over.body["error"]["code"], "quota");
    assert_eq!(over.request.as_deref(), Some("complaint-7"));
    // The rest of this minute's, and one too many; a slow machine is given some more meanwhile.
    let mut asked = 0;
    let last = loop {
        asked += 1;
        let answer = ask(&service.url, "GET", "/v1/takedowns", &ann, None);
        if answer.status != 200 || asked == 100 {
            break answer;
        }
    };
    assert_eq!(last.status, 429);
    let retry: u64 = last
        .retry
        .as_deref()
        .expect("when")
        .parse()
        .expect("seconds");
    assert!((1..=60).contains(&retry), "{retry}");

    let lines = rows(&fs::read_to_string(&log).expect("a log"));
    assert_eq!(lines.len(), 4 + asked, "{lines:?}");
    assert_fields!(lines[0], "user": "ann", "token": "ann");
    assert_eq!(lines[0]["route"], "/v1/publications");
    assert_fields!(lines[3], "status": 429, "request": "complaint-7");
    let all = format!("{lines:?}");
    assert_lacks!(all, "marked", &ann);
    check_that_operators_limit_their_own(&server, &service);
}

/// Checks that an operator limits who has a token where he operates, and nobody else.
fn check_that_operators_limit_their_own(server: &Path, service: &Service) {
    let olga = token(server, "olga", &["--may", "read,operate"]);
    let oda = token(server, "oda", &["--org", "other", "--may", "read,operate"]);
    let limit = |token: &str, holder: &str| {
        let change = json!({ "holder": holder, "things": 1 });
        ask(&service.url, "PUT", "/v1/quotas", token, Some(&change))
    };
    for (token, holder, status) in [
        (&olga, "user:ann", 200),
        (&olga, "user:zoe", 404),
        (&oda, "user:ann", 404),
        (&oda, "org:other", 200),
        (&oda, "org:acme", 409),
    ] {
        let done = limit(token, holder);
        assert_eq!(done.status, status, "{holder}: {}", done.body);
    }
    let listed = ask(&service.url, "GET", "/v1/quotas", &olga, None).body;
    let ann = listed[0].clone();
    assert_fields!(ann, "holder": "user:ann", "things": 2);
    assert_eq!(
        (&ann["quota"]["things"], &ann["set"]["things"]),
        (&1.into(), &1.into())
    );
}

#[test]
fn a_person_has_all_of_his_own_and_nothing_is_left_once_he_is_erased() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = folder.path().join("server");
    let (_postgres, url) = furnished(&[]);
    let database = ["--database-url", &url];
    let service = Service::start(&server, &database);
    let (ann, bob) = (token(&server, "ann", &[]), token(&server, "bob", &[]));
    let publish = |token: &str, number| {
        let thing = thing(number, "public");
        let done = ask(
            &service.url,
            "POST",
            "/v1/publications",
            token,
            Some(&thing),
        );
        assert_eq!(done.status, 200, "{}", done.body);
        done.body["id"].as_str().expect("an id").to_owned()
    };
    publish(&ann, 1);
    let theirs = publish(&bob, 2);
    let rating = json!({ "rating": 0.5 });
    let path = format!("/v1/publications/{theirs}/rating");
    assert_eq!(
        ask(&service.url, "PUT", &path, &ann, Some(&rating)).status,
        200
    );
    let own = ask(&service.url, "GET", "/v1/person", &ann, None)
        .body
        .to_string();
    assert_contains!(own, "Rivers 1", "\"rated\"");
    assert_lacks!(own, "Rivers 2");
    // A request that deletes everything names the person.
    for (path, status) in [("/v1/person", 400), ("/v1/person?confirm=bob", 409)] {
        let refused = ask(&service.url, "DELETE", path, &ann, None);
        assert_eq!(refused.status, status, "{path}: {}", refused.body);
    }
    let path = "/v1/person?confirm=ann";
    let erased = ask(&service.url, "DELETE", path, &ann, None);
    assert_eq!(erased.status, 200, "{}", erased.body);
    let [things, ratings, tokens, left] =
        ["things", "ratings", "tokens", "left"].map(|name| erased.body[name].as_u64());
    assert_eq!(
        [things, ratings, tokens, left],
        [Some(1), Some(1), Some(1), Some(0)]
    );
    let after = ask(&service.url, "GET", "/v1/person", &ann, None);
    assert_eq!(after.status, 401);
    assert!(after.text.contains("opens nothing here"), "{}", after.text);
    let path = format!("/v1/publications/{theirs}");
    assert_eq!(ask(&service.url, "GET", &path, &bob, None).status, 200);
    drop(service);
    // On the machine of the store the operator has the same as commands.
    let person = |act: &str, more: &[&str]| {
        let words = ["global", "person", act, "--user", "bob"];
        run(&server, &[&words[..], &database, more].concat())
    };
    let exported = person("export", &[]);
    assert!(exported.stdout.contains("Rivers 2"), "{}", exported.stderr);
    assert_contains!(person("erase", &[]).stderr, "without a yes");
    let gone: Value = serde_json::from_str(&person("erase", &["--yes"]).stdout).expect("JSON");
    assert_eq!((&gone["things"], &gone["left"]), (&1.into(), &0.into()));
    // Without a database there is no operator of persons.
    let of_a_folder = ["global", "person", "export", "--user", "bob"];
    assert_contains!(refused(&server, &of_a_folder), "PostgreSQL");
}

/// From the invitation to the first find it takes two commands, and none of them edits a file.
#[test]
fn who_accepts_an_invitation_finds_with_the_next_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = folder.path().join("server");
    let service = Service::start(&server, &[]);
    ingest(
        &server,
        "ann",
        &[json!({"external_id": "otters", "text": "Otters hold hands"})],
    );
    let publish = ["share", "publish", "otters", "--user", "ann", "--yes"];
    run_json(&server, &publish);
    let invite = [
        "global",
        "token",
        "invite",
        "bob",
        "--user",
        "bob",
        "--url",
        &service.url,
    ];
    let link = run_json(&server, &invite)["link"].clone();
    let link = link.as_str().expect("a link");
    let machine = folder.path().join("bob");
    let config = folder.path().join("config.toml");
    fs::write(&config, "# mine\n[memory]\n").expect("written");
    let config = config.display().to_string();
    let at = |words: &[&str]| run_json(&machine, &[&["--config", &config], words].concat());
    let joined = at(&["share", "join", link, "--yes"]);
    assert_fields!(joined, "user": "bob");
    let ask = [
        "recall",
        "otters",
        "--user",
        "bob",
        "--scope",
        "local+global",
    ];
    let found = at(&ask);
    assert_contains!(found["results"].to_string(), "Otters hold hands");
    assert_contains!(fs::read_to_string(&config).expect("there"), "# mine");
    let other = run(
        &machine,
        &[
            "--config",
            &config,
            "share",
            "join",
            "https://x.example/join#y",
        ],
    );
    assert_contains!(other.stderr, "already");
}
