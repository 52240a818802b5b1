//! The daemon with its real doors, over a memory without a model.

use std::num::NonZeroU32;

use reprise_tests::{assert_contains, assert_fields, assert_lacks};
use reprise_types::{MemoryRecord, UserId};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{Call, Client};
use crate::daemon::{Daemon, DaemonExit, DaemonOptions};
use crate::place::DaemonPaths;
use crate::testing::{RunningDaemon, config, options, run, run_in, run_with_options};
use crate::tokens::{Scope, TokenFile};
use reprise_operations::operations::records::list::ListedRecords;
use reprise_operations::{OutcomeReport, Problem, ProblemKind, RecallAnswer, WriteReport};

mod added;
mod careless;
mod oauth;
mod sessions;
mod waiting;
mod workspaces;

/// Status and body of one request over TCP, head as given.
async fn raw(running: &RunningDaemon, head: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(running.http).await.unwrap();
    let length = body.len();
    let text = format!("{head}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}");
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer)
}

fn ada() -> UserId {
    "ada".parse().unwrap()
}

fn at(parts: &[&str]) -> String {
    Call::path_of(&ada(), parts)
}

fn problem<T: std::fmt::Debug>(answer: Result<T, Problem>) -> ProblemKind {
    answer.unwrap_err().kind
}

#[tokio::test]
async fn what_is_kept_over_the_socket_is_found_corrected_and_forgotten() {
    let running = run().await;
    let client = &running.client;
    let one = json!({"external_id": "m1", "text": "the token refresh raced the logout",
        "tags": ["auth"], "confidence": "high"});
    let bad = json!({"text": "x", "source": "gossip"});
    let call = Call::post(at(&["records"]), &json!([one, bad, one]));
    let report: WriteReport = client.ask_ok(&call).await;
    assert_eq!(
        (report.inserted, report.duplicate, report.rejected),
        (1, 1, 1)
    );

    let ask = Call::post(at(&["recall"]), &json!({"query": "logout race"}));
    let answer: RecallAnswer = client.ask_ok(&ask).await;
    assert_eq!(answer.results[0].external_id.as_deref(), Some("m1"));
    assert_eq!(answer.results[0].tags, ["auth"]);
    let id = answer.results[0].id.to_string();

    let outcome = json!({"recall_id": answer.recall_id, "used": ["m1"], "quality": 0.9});
    let report: OutcomeReport = client.ask_ok(&Call::post(at(&["outcome"]), &outcome)).await;
    assert_eq!(report.runs, 1);

    let change = Call::patch(
        at(&["records", "m1"]),
        &json!({"text": "the logout won the race"}),
    );
    let new: MemoryRecord = client.ask_ok(&change).await;
    assert_eq!(new.supersedes.unwrap().to_string(), id);
    assert_eq!((new.confidence, new.tags.len()), (Some(0.7), 1));
    // Its name, and the id that somebody still has, lead to the present version.
    for name in ["m1", &id] {
        let shown: Value = client.ask_ok(&Call::get(at(&["records", name]))).await;
        assert_eq!(shown["id"], new.id.to_string());
    }

    // Corrected once more, and the request sent twice.
    let change = Call::patch(at(&["records", "m1"]), &json!({"text": "nobody won"}));
    let change = change.with_idempotency_key("third");
    let third: MemoryRecord = client.ask_ok(&change).await;
    let sent_again: MemoryRecord = client.ask_ok(&change).await;
    assert_eq!((third.id, third.supersedes), (sent_again.id, Some(new.id)));

    // So is what takes it away: sent again it tells what it did, and another one finds nothing.
    let delete = Call::delete(at(&["records", "m1"]));
    let named = delete.clone().with_idempotency_key("fourth");
    for _ in 0..2 {
        let gone: Value = client.ask_ok(&named).await;
        assert_eq!(gone["forgotten"], json!([third.id, new.id, id]));
    }
    let missing = client.ask::<Value>(&delete).await.unwrap_err();
    assert_eq!(missing.kind, ProblemKind::NotFound);
    let forget =
        Call::post(at(&["forget"]), &json!({"session": "s9"})).with_idempotency_key("fifth");
    let kept = json!({"text": "for a while", "session_id": "s9"});
    let kept: Value = client.ask_ok(&Call::post(at(&["records"]), &kept)).await;
    for _ in 0..2 {
        let gone: Value = client.ask_ok(&forget).await;
        assert_eq!(
            gone["forgotten"],
            json!([kept["outcomes"][0]["id"]]),
            "{kept}"
        );
    }
    let answer: RecallAnswer = client.ask_ok(&ask).await;
    assert!(answer.results.is_empty(), "{:?}", answer.results);
    running.end().await;
}

#[tokio::test]
async fn a_list_is_walked_page_by_page_and_says_what_is_wrong_with_it() {
    let running = run().await;
    let client = &running.client;
    let times = ["2026-02-01", "2026-02-03", "2026-02-02"];
    let records = times.map(|time| json!({"external_id": time, "text": time, "timestamp": time}));
    let keep = Call::post(at(&["records"]), &json!(records));
    assert!(client.ask_bytes(&keep).await.is_ok());
    let list = |pairs: &[(&str, &str)]| {
        let pairs: Vec<(&str, String)> = pairs
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect();
        Call::get(at(&["records"])).with_query(&pairs)
    };
    let first: ListedRecords = client.ask_ok(&list(&[("limit", "2")])).await;
    assert_eq!(first.records[0]["external_id"], "2026-02-03");
    assert_eq!(first.records[1]["external_id"], "2026-02-02");
    let cursor = first.next.unwrap().to_string();
    assert_eq!(first.records[1]["cursor"], cursor.as_str());
    for cursor in [cursor.as_str(), first.records[1]["id"].as_str().unwrap()] {
        let second: ListedRecords = client.ask_ok(&list(&[("cursor", cursor)])).await;
        assert_eq!(second.records[0]["external_id"], "2026-02-01");
        assert_eq!((second.records.len(), second.next), (1, None));
    }
    let narrow = [
        ("since", "2026-02-02"),
        ("kind", "episode,finding"),
        ("tag", "none such"),
    ];
    let none: ListedRecords = client.ask_ok(&list(&narrow)).await;
    assert!(
        none.notes[0].contains("tagged `none-such`"),
        "{:?}",
        none.notes
    );
    for (pairs, word) in [
        ([("limit", "0")], "between 1 and 1000"),
        ([("limit", "1001")], "between 1 and 1000"),
        ([("cursor", "x")], "not a cursor"),
        ([("since", "soon")], "RFC 3339"),
        ([("until", "2026-02-30")], "28 days"),
        ([("kind", "gossip")], "memory kind"),
        ([("page", "2")], "no field `page`"),
    ] {
        let refused = client.ask_bytes(&list(&pairs)).await.unwrap_err();
        assert_eq!(refused.kind, ProblemKind::Invalid);
        assert!(refused.detail.contains(word), "{refused}");
    }
    let gone = list(&[("cursor", "01ARZ3NDEKTSV4RRFFQ69G5FAV")]);
    let refused = client.ask_bytes(&gone).await.unwrap_err();
    assert_eq!(refused.kind, ProblemKind::NotFound);
    running.end().await;
}

#[tokio::test]
async fn a_request_sent_twice_is_kept_once_and_secrets_never() {
    let running = run().await;
    let secret = "AKIAIOSFODNN7EXAMPLE";
    let body = json!({"text": format!("deploy with {secret} works")});
    let call = Call::post(at(&["records"]), &body).with_idempotency_key("once");
    let first: WriteReport = running.client.ask_ok(&call).await;
    let second: WriteReport = running.client.ask_ok(&call).await;
    assert_eq!((first.inserted, second.duplicate), (1, 1));
    let export = running.client.read(&Call::get(at(&["export"]))).await;
    let export = String::from_utf8(export.to_vec()).unwrap();
    assert_eq!(export.lines().count(), 1);
    assert_contains!(export, "[redacted");
    assert_lacks!(export, secret);
    assert_contains!(export, "\"external_id\":null");
    running.end().await;
}

#[tokio::test]
async fn bad_requests_get_a_problem_and_harm_nothing() {
    let running = run().await;
    let client = &running.client;
    let nested = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let cases = [
        (
            Call::post(at(&["records"]), &json!("text")),
            ProblemKind::Invalid,
        ),
        (
            Call::post_lines(at(&["records"]), nested),
            ProblemKind::Invalid,
        ),
        // Blanks are no JSON, where a body may be left out too.
        (
            Call::post_lines(at(&["knowledge"]), "\t".to_owned()),
            ProblemKind::Invalid,
        ),
        (
            Call::post(at(&["recall"]), &json!({"query": "a", "topk": 3})),
            ProblemKind::Invalid,
        ),
        (
            Call::post(at(&["recall"]), &json!({"query": "a", "since": "soon"})),
            ProblemKind::Invalid,
        ),
        (
            Call::post(at(&["outcome"]), &json!({"quality": 0.5})),
            ProblemKind::Invalid,
        ),
        (
            Call::post(at(&["forget"]), &json!({})),
            ProblemKind::Invalid,
        ),
        (
            Call::patch(at(&["records", "m1"]), &json!({"id": 1})),
            ProblemKind::Invalid,
        ),
        (
            Call::get(at(&["records", "01J0000000000000000000000Z"])),
            ProblemKind::NotFound,
        ),
        (
            Call::get("/v1/users/..%2F..%2Fetc/stats"),
            ProblemKind::Invalid,
        ),
        (Call::get("/v1/users/a%00b/stats"), ProblemKind::Invalid),
        (Call::get("/v1/nowhere"), ProblemKind::NotFound),
        (Call::delete(at(&["stats"])), ProblemKind::Method),
        (
            Call::post(at(&["records"]), &json!({"text": "a"}))
                .with_idempotency_key("k".repeat(200)),
            ProblemKind::Invalid,
        ),
    ];
    for (call, kind) in cases {
        assert_eq!(problem(client.ask_bytes(&call).await), kind, "{call:?}");
    }
    let large = Call::post(at(&["records"]), &json!({"text": "x".repeat(33 << 20)}));
    assert_eq!(
        problem(client.ask_bytes(&large).await),
        ProblemKind::TooLarge
    );
    // No memory was made either.
    let stats = client.ask_bytes(&Call::get(at(&["stats"]))).await;
    assert_eq!(problem(stats), ProblemKind::NotFound);
    assert!(!running.place.data().join("ada").exists());
    running.end().await;
}

#[tokio::test]
async fn over_tcp_only_the_right_token_opens_the_right_memory() {
    let running = run().await;
    let now = reprise_types::parse_timestamp("2026-02-16T09:00:00Z").unwrap();
    let tokens = TokenFile::new(running.place.tokens());
    let token = tokens.add("ada", Scope::User(ada()), now).unwrap();
    let port = running.http.port();
    let with = |path: &str, host: &str, more: &str| {
        format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}{more}")
    };
    let own = format!("127.0.0.1:{port}");
    let path = "/v1/users/ada/records";
    let body = r#"{"text":"over tcp"}"#;
    let naked = format!("POST {path} HTTP/1.1\r\nHost: {own}");
    let foreign = "\r\nOrigin: http://evil.example";
    let cases = [
        (with(path, &own, ""), 200),
        (naked.clone(), 401),
        (format!("{naked}\r\nAuthorization: Bearer rpr_00"), 401),
        (with("/v1/users/bob/records", &own, ""), 403),
        // By a name of a proxy, which a page that was pointed here has no token for.
        (with(path, "memory.example:443", ""), 200),
        (
            format!("GET /health/live HTTP/1.1\r\nHost: evil.example:{port}"),
            403,
        ),
        (with(path, &own, foreign), 403),
        (with(path, &own, &format!("\r\nOrigin: http://{own}")), 200),
        (with(&format!("{path}?verbatim=true"), &own, ""), 403),
        (with("/v1/shutdown", &own, ""), 403),
        (format!("GET /health/live HTTP/1.1\r\nHost: {own}"), 200),
        (format!("GET /metrics HTTP/1.1\r\nHost: {own}"), 401),
    ];
    for (head, expected) in cases {
        let (status, answer) = raw(&running, &head, body).await;
        assert_eq!(status, expected, "{head}\n{answer}");
        assert!(!answer.contains(&token));
        if status == 401 {
            let said = if head.contains("Bearer") {
                "this token opens nothing here"
            } else {
                "send `Authorization: Bearer TOKEN`"
            };
            assert_contains!(answer, "application/problem+json", said);
        }
    }
    tokens.revoke("ada").unwrap();
    let (status, answer) = raw(&running, &with(path, &own, ""), body).await;
    assert_eq!(status, 401);
    assert_contains!(answer, "this token opens nothing here");
    running.end().await;
}

#[tokio::test]
async fn a_client_reads_how_to_connect_before_it_has_a_token() {
    let running = run().await;
    let own = format!("127.0.0.1:{}", running.http.port());
    let ask = |host: &str| {
        format!("GET /mcp/server-card HTTP/1.1\r\nHost: {host}\r\nOrigin: http://page.example")
    };
    let (status, answer) = raw(&running, &ask(&own), "").await;
    assert_eq!(status, 200, "{answer}");
    assert_contains!(
        answer.to_lowercase(),
        "content-type: application/mcp-server-card+json",
        "access-control-allow-origin: *"
    );
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let card: Value = serde_json::from_str(body).unwrap();
    let remote = &card["remotes"][0];
    assert_eq!(remote["url"], format!("http://{own}/mcp"));
    let versions = remote["supportedProtocolVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{card}");
    assert_eq!(card["name"].as_str().unwrap().matches('/').count(), 1);
    assert!(card["description"].as_str().unwrap().len() <= 100);
    assert_eq!(raw(&running, &ask("evil.example"), "").await.0, 403);
    running.end().await;
}

#[tokio::test]
async fn a_second_daemon_is_refused_and_a_successor_finds_everything() {
    let running = run().await;
    let call = Call::post(
        at(&["records"]),
        &json!({"text": "kept before the restart"}),
    );
    let _kept: WriteReport = running.client.ask_ok(&call).await;
    let second = Daemon::start(config(&running.place), options(&running.place)).await;
    let said = second.unwrap_err().to_string();
    assert_contains!(said, &std::process::id().to_string());
    let folder = running.end().await;
    // What a daemon that was killed leaves: a socket that nobody answers.
    let place = DaemonPaths::new(&folder.path().join("d"), Some(folder.path()));
    drop(std::os::unix::net::UnixListener::bind(place.socket()).unwrap());
    let running = run_in(folder).await;
    let stats: Value = running.client.ask_ok(&Call::get(at(&["stats"]))).await;
    assert_eq!(stats["live"], 1);
    // A client that knows of no runtime directory finds it all the same.
    let elsewhere = Client::new(DaemonPaths::new(running.place.data(), None));
    let found: Value = elsewhere.ask(&Call::get("/v1/status")).await.unwrap();
    assert_eq!(found["pid"], std::process::id());
    let metrics = running.client.read(&Call::get("/metrics")).await;
    let metrics = String::from_utf8(metrics.to_vec()).unwrap();
    assert_contains!(metrics, "route=\"/v1/users/{user}/stats\"");
    assert_lacks!(metrics, "ada");
    // Each family is explained.
    let names = |what: &str| {
        let lines = metrics.lines().filter_map(|line| line.strip_prefix(what));
        let names = lines.filter_map(|line| line.split(' ').next());
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(names("# HELP "), names("# TYPE "));
    assert_eq!(names("# HELP ").len(), 13, "{metrics}");
    running.end().await;
}

#[tokio::test]
async fn a_hosts_own_routes_answer_too() {
    let running = run().await;
    let client = &running.client;
    let records = json!([
        {"text": "the auth module keeps tokens in redis", "session_id": "s1"},
        {"text": "the auth tests need a clock", "session_id": "s1"},
    ]);
    let call = Call::post("/v1/users/default/records", &records);
    let _kept: WriteReport = client.ask_ok(&call).await;
    let found: RecallAnswer = client
        .ask_ok(&Call::get("/api/memory/search?q=auth%20clock&k=1"))
        .await;
    assert_eq!(found.results[0].text, "the auth tests need a clock");
    let all: Value = client.ask_ok(&Call::get("/api/memory/episodes")).await;
    assert_eq!(all["episodes"][0]["records"].as_array().unwrap().len(), 2);
    let one: Value = client.ask_ok(&Call::get("/api/memory/episodes/s1")).await;
    assert_eq!(one["records"][0]["text"], records[0]["text"]);
    let stats: Value = client.ask_ok(&Call::get("/api/memory/stats")).await;
    assert_fields!(stats, "live": 2, "total_vectors": 0);
    let none = client.ask_bytes(&Call::get("/api/memory/search?k=1")).await;
    assert_eq!(problem(none), ProblemKind::Invalid);
    running.end().await;
}

#[tokio::test]
async fn an_idle_daemon_ends_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let place = DaemonPaths::new(&folder.path().join("d"), Some(folder.path()));
    let idle_exit = Some(std::time::Duration::from_millis(1));
    let options = DaemonOptions {
        idle_exit,
        ..options(&place)
    };
    let daemon = Daemon::start(config(&place), options).await.unwrap();
    assert_eq!(daemon.run().await.unwrap(), DaemonExit::Idle);
    assert!(!place.socket().exists());
}

#[tokio::test]
async fn a_token_that_asks_too_fast_waits_and_the_others_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let place = DaemonPaths::new(&folder.path().join("d"), Some(folder.path()));
    let limited = DaemonOptions {
        requests_per_second: NonZeroU32::new(2),
        ..options(&place)
    };
    let running = run_with_options(folder, place, limited).await;
    let tokens = TokenFile::new(running.place.tokens());
    let now = reprise_types::parse_timestamp("2026-02-16T09:00:00Z").unwrap();
    let tokens = ["a", "b"].map(|name| tokens.add(name, Scope::All, now).unwrap());
    let [eager, calm] = [0, 1].map(|place| {
        let host = running.http;
        let token = &tokens[place];
        format!("GET /v1/status HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}")
    });
    let mut statuses = Vec::new();
    for _ in 0..20 {
        let (status, answer) = raw(&running, &eager, "").await;
        assert_eq!(status == 429, answer.contains("retry-after: 1"), "{answer}");
        statuses.push(status);
    }
    assert!(
        statuses.contains(&200) && statuses.contains(&429),
        "{statuses:?}"
    );
    assert_eq!(raw(&running, &calm, "").await.0, 200);
    running.end().await;
}

#[tokio::test]
async fn an_export_leaves_out_what_is_sensitive_and_a_backup_is_the_file() {
    let running = run().await;
    let client = &running.client;
    let records = json!([{"text": "open"}, {"text": "closed", "tags": ["Sensitive"]}]);
    let _report: WriteReport = client.ask_ok(&Call::post(at(&["records"]), &records)).await;
    for (query, lines) in [("", 1), ("?sensitive=false", 1), ("?sensitive=true", 2)] {
        let export = client.ask_bytes(&Call::get(at(&["export"]) + query)).await;
        let export = String::from_utf8(export.unwrap().to_vec()).unwrap();
        assert_eq!(export.lines().count(), lines, "{query}: {export}");
    }
    let wrong = client
        .ask_bytes(&Call::get(at(&["export"]) + "?sensitive=maybe"))
        .await;
    assert_eq!(problem(wrong), ProblemKind::Invalid);
    let copy = client.read(&Call::get(at(&["backup"]))).await;
    let file = running.place.data().join("ada/memory.rvf");
    let file = fs_err::read(file).unwrap();
    assert!(file.starts_with(&copy), "{} of {}", copy.len(), file.len());
    assert!(!copy.is_empty());
    running.end().await;
}

/// Listens to the changes of the test's user while `change` is asked for, until the daemon ends.
async fn collect_changes(running: RunningDaemon, changes: &[Call]) -> String {
    let mut stream = tokio::net::UnixStream::connect(running.place.socket())
        .await
        .unwrap();
    let head = format!(
        "GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        at(&["changes"])
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut begun = [0; 12];
    stream.read_exact(&mut begun).await.unwrap();
    for change in changes {
        let _done: Value = running.client.ask_ok(change).await;
    }
    let reading = tokio::spawn(async move {
        let mut events_text = String::new();
        stream
            .read_to_string(&mut events_text)
            .await
            .map(|_| events_text)
    });
    running.end().await;
    reading.await.unwrap().unwrap()
}

#[tokio::test]
async fn a_stream_of_changes_ends_with_the_daemon() {
    let kept = Call::post(at(&["records"]), &json!({"text": "heard"}));
    let events_text = collect_changes(run().await, &[kept]).await;
    assert_contains!(events_text, "event: inserted");
    // The last chunk says that the answer is whole: it was ended, not cut.
    assert!(events_text.ends_with("0\r\n\r\n"), "{events_text:?}");
}

#[tokio::test]
async fn a_learning_is_told_as_it_is_kept() {
    let learning = json!({"fact": "User model has email field", "category": "type"});
    let learning = Call::post(at(&["add_learning"]), &learning);
    let secret = json!({"fact": "The gift is a bicycle", "tags": ["sensitive"]});
    let secret = Call::post(at(&["add_learning"]), &secret);
    let loaded = Call::post(at(&["knowledge"]), &json!({"view": "loaded"}));
    let events_text = collect_changes(run().await, &[learning, secret, loaded]).await;
    let events = events_text.split("event: ").skip(1).filter_map(|event| {
        let (what, rest) = event.split_once('\n')?;
        let data = rest.strip_prefix("data: ")?.lines().next()?;
        Some((what, serde_json::from_str::<Value>(data).ok()?))
    });
    let events: Vec<(&str, Value)> = events.collect();
    let events_named = |wanted: &str| {
        let all = events.iter().filter(|(what, _)| *what == wanted);
        all.map(|(_, event)| event).collect::<Vec<_>>()
    };
    let [learned] = events_named("memory_learning")[..] else {
        panic!("{events_text}");
    };
    assert_eq!(learned["fact"], "User model has email field");
    assert_eq!(
        learned["learning"].as_object().map(serde_json::Map::len),
        Some(9)
    );
    assert_eq!(learned["ids"], events_named("inserted")[0]["ids"]);
    let [loaded] = events_named("memory_loaded")[..] else {
        panic!("{events_text}");
    };
    assert_eq!(
        (&loaded["total"], &loaded["by_category"]["type"]),
        (&json!(2), &json!(1))
    );
}

#[tokio::test]
async fn an_outcome_said_twice_teaches_once_and_is_no_failure() {
    let running = run().await;
    let client = &running.client;
    let kept = Call::post(
        at(&["records"]),
        &json!({"external_id": "m", "text": "use a mutex"}),
    );
    let _report: WriteReport = client.ask_ok(&kept).await;
    let said = json!({"query": "race", "used": ["m"], "quality": 0.9});
    let said = Call::post(at(&["outcome"]), &said).with_idempotency_key("once");
    for (learned, known) in [(1, 0), (0, 1)] {
        let report: OutcomeReport = client.ask_ok(&said).await;
        assert_eq!(
            (report.learned, report.known, report.runs),
            (learned, known, 1)
        );
    }
    running.end().await;
}
