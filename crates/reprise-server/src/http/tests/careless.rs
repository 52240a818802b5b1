//! Careless neighbours and slips: who reads nothing, reuses a key, misspells a field.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_is_there_while_it_is_corrected() {
    let running = run().await;
    let client = &running.client;
    let kept = json!({"external_id": "m1", "text": "version 0"});
    let _kept: WriteReport = client.ask_ok(&Call::post(at(&["records"]), &kept)).await;
    let reader = Client::new(running.place.clone());
    let done = Arc::new(AtomicBool::new(false));
    let reading = tokio::spawn({
        let done = Arc::clone(&done);
        async move {
            let mut read = 0;
            while !done.load(Ordering::SeqCst) || read == 0 {
                let shown = reader
                    .ask::<Value>(&Call::get(at(&["records", "m1"])))
                    .await;
                assert!(shown.is_ok(), "{shown:?} after {read}");
                read += 1;
            }
        }
    });
    for version in 1..60 {
        let change = json!({"text": format!("version {version}")});
        let change = Call::patch(at(&["records", "m1"]), &change);
        client.read(&change).await;
    }
    done.store(true, Ordering::SeqCst);
    reading.await.unwrap();
    running.end().await;
}

#[tokio::test]
async fn who_reads_nothing_of_many_exports_keeps_nobody_else_from_theirs() {
    let running = run().await;
    let line = "long enough that no buffer takes a whole export ".repeat(200);
    // Past what the kernel's buffers of one connection grow to.
    for part in 0..5 {
        let records: Vec<Value> = (0..400)
            .map(|n| json!({"text": format!("{part} {n} {line}")}))
            .collect();
        let call = Call::post(at(&["records"]), &Value::from(records));
        let _kept: WriteReport = running.client.ask_ok(&call).await;
    }
    let tokens = TokenFile::new(running.place.tokens());
    let now = reprise_types::parse_timestamp("2026-02-16T09:00:00Z").unwrap();
    let [greedy, calm] = ["greedy", "calm"].map(|name| tokens.add(name, Scope::All, now).unwrap());
    let host = running.http;
    let export = |token: &str| {
        let path = at(&["export"]);
        format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}")
    };
    let mut unread = Vec::new();
    let mut begun = 0;
    for _ in 0..20 {
        let mut stream = TcpStream::connect(host).await.unwrap();
        let head = export(&greedy) + "\r\n\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).await.unwrap();
        begun += usize::from(status.ends_with(b"200"));
        unread.push(stream);
    }
    assert_eq!(begun, 4, "a quarter of the places");
    assert_eq!(raw(&running, &export(&calm), "").await.0, 200);
    assert!(
        running
            .client
            .ask_bytes(&Call::get(at(&["export"])))
            .await
            .is_ok()
    );
    drop(unread);
    running.end().await;
}

#[tokio::test]
async fn a_key_stands_for_one_body() {
    let running = run().await;
    let send = async |body: Value| {
        let call = Call::post(at(&["records"]), &body).with_idempotency_key("k");
        running.client.ask::<WriteReport>(&call).await
    };
    let first = send(json!({"text": "one"})).await.unwrap();
    assert_eq!(first.inserted, 1);
    assert_eq!(send(json!({"text": "one"})).await.unwrap().duplicate, 1);
    assert_eq!(
        problem(send(json!({"text": "two"})).await),
        ProblemKind::Conflict
    );
    let longer = json!([{"text": "two"}, {"text": "three"}]);
    assert_eq!(problem(send(longer).await), ProblemKind::Conflict);
    let stats: Value = running.client.ask_ok(&Call::get(at(&["stats"]))).await;
    assert_eq!(stats["live"], 1, "nothing of a refused request is kept");
    running.end().await;
}

#[tokio::test]
async fn a_key_stands_for_one_body_on_every_write_and_with_all_that_it_says() {
    let running = run().await;
    let record = json!({"external_id": "m", "text": "one", "tags": ["a"]});
    running
        .client
        .read(&Call::post(at(&["records"]), &record))
        .await;
    let said = json!({"title": "one lesson"});
    let writes = [
        (
            at(&["learn"]),
            said.clone(),
            json!({"title": "another lesson"}),
        ),
        (
            at(&["learn"]),
            said.clone(),
            json!({"title": "one lesson", "tags": ["b"]}),
        ),
        (
            at(&["tools", "learn"]),
            said,
            json!({"title": "a third lesson"}),
        ),
        (
            at(&["records"]),
            json!({"text": "two", "external_id": "n"}),
            json!({"text": "two", "external_id": "o"}),
        ),
        (
            at(&["records"]),
            json!({"text": "three", "metadata": {"a": 1}}),
            json!({"text": "three", "metadata": {"a": 2}}),
        ),
        (
            at(&["outcome"]),
            json!({"query": "q", "used": ["m"], "quality": 0.9}),
            json!({"query": "q", "used": ["m"], "quality": 0.1}),
        ),
        (
            at(&["link"]),
            json!({"from": "m", "to": "n", "relation": "see"}),
            json!({"from": "n", "to": "m", "relation": "see"}),
        ),
        (
            at(&["forget"]),
            json!({"external_id": "n"}),
            json!({"external_id": "m"}),
        ),
    ];
    for (turn, (path, first, second)) in writes.into_iter().enumerate() {
        let call = |body| Call::post(path.clone(), body).with_idempotency_key(format!("k{turn}"));
        for _ in 0..2 {
            running.client.read(&call(&first)).await;
        }
        let refused = running.client.ask_bytes(&call(&second)).await;
        assert_eq!(problem(refused), ProblemKind::Conflict, "{path}: {second}");
        running.client.read(&call(&first)).await;
    }
    running.end().await;
}

#[tokio::test]
async fn of_two_bodies_under_one_key_at_once_one_is_kept_and_the_other_refused() {
    let running = run().await;
    let send = async |turn: usize, text: String| {
        let body = json!([{"text": text}, {"text": format!("{text} too")}]);
        let call = Call::post(at(&["records"]), &body).with_idempotency_key(format!("k{turn}"));
        running.client.ask::<WriteReport>(&call).await
    };
    for turn in 0..20 {
        let texts = ["left", "right"].map(|side| format!("{side} {turn}"));
        let [left, right] = texts.map(|text| send(turn, text));
        let (left, right) = tokio::join!(left, right);
        let kept = [&left, &right]
            .into_iter()
            .flatten()
            .map(|report| report.inserted);
        assert_eq!(kept.collect::<Vec<_>>(), [2], "{left:?} {right:?}");
        let refused = left.err().or(right.err()).unwrap();
        assert_eq!(refused.kind, ProblemKind::Conflict);
    }
    running.end().await;
}

#[tokio::test]
async fn a_key_stands_for_one_body_after_a_restart_too() {
    let calls = |second: bool| {
        let told = if second { "b" } else { "a" };
        let record = json!({"text": "one", "metadata": {"told": told}});
        let bodies = [
            (at(&["records"]), record),
            (at(&["learn"]), json!({"title": "a lesson", "tags": [told]})),
        ];
        let call = |(turn, (path, body)): (usize, (String, Value))| {
            Call::post(path, &body).with_idempotency_key(format!("k{turn}"))
        };
        bodies.into_iter().enumerate().map(call).collect::<Vec<_>>()
    };
    let mut running = run().await;
    for call in calls(false) {
        running.client.read(&call).await;
    }
    running = run_in(running.end().await).await;
    for call in calls(true) {
        let refused = running.client.ask_bytes(&call).await;
        assert_eq!(problem(refused), ProblemKind::Conflict, "{call:?}");
    }
    for call in calls(false) {
        running.client.read(&call).await;
    }
    running.end().await;
}

#[tokio::test]
async fn a_key_whose_request_was_refused_is_free_again() {
    let running = run().await;
    let send = async |body: Value| {
        let call = Call::post(at(&["learn"]), &body).with_idempotency_key("k");
        running.client.ask::<Value>(&call).await
    };
    assert_eq!(
        problem(send(json!({"title": ""})).await),
        ProblemKind::Invalid
    );
    send(json!({"title": "a lesson"})).await.unwrap();
    running.end().await;
}

#[tokio::test]
async fn a_slip_in_a_field_is_refused_with_the_name_that_was_meant() {
    let running = run().await;
    let posts = [
        (
            "records",
            json!({"text": "a", "sesion_id": "s"}),
            "session_id",
        ),
        ("records", json!({"text": ""}), "text"),
        (
            "records",
            json!({"records": [], "verbatm": true}),
            "`verbatim`?",
        ),
        ("recall", json!({"query": "a", "topk": 3}), "limit"),
        (
            "outcome",
            json!({"query": "a", "qualty": 1, "quality": 1}),
            "`quality`?",
        ),
        ("learning", json!({"acton": "on"}), "`action`?"),
        ("records?verbatm=true", json!({"text": "a"}), "`verbatim`?"),
    ];
    let posts = posts.map(|(route, body, said)| {
        let path = format!("/v1/users/ada/{route}");
        (Call::post(path, &body), said)
    });
    let gets = [
        ("/v1/users/ada/export?sensitiv=true", "`sensitive`?"),
        ("/api/memory/search?q=a&user=ada&kk=1", "`k`?"),
    ];
    let gets = gets.map(|(path, said)| (Call::get(path), said));
    for (call, said) in posts.into_iter().chain(gets) {
        let refused = running.client.ask_bytes(&call).await.unwrap_err();
        assert_eq!(refused.kind, ProblemKind::Invalid, "{call:?}: {refused}");
        assert!(refused.detail.contains(said), "{call:?}: {refused}");
    }
    assert!(!running.place.data().join("ada").exists());
    running.end().await;
}

#[tokio::test]
async fn a_record_with_all_the_names_it_may_have_is_kept_and_forgotten_under_names_of_requests() {
    let running = run().await;
    let name = |n: usize| json!({"namespace": "other", "id": n.to_string()});
    let names: Vec<Value> = (0..64).map(name).collect();
    let record = json!({"text": "many names", "external_id": "m1", "external_ids": names});
    let kept = Call::post(at(&["records"]), &record).with_idempotency_key("first");
    let kept: WriteReport = running.client.ask_ok(&kept).await;
    assert_eq!(kept.inserted, 1, "{kept:?}");
    let gone = Call::delete(at(&["records", "m1"])).with_idempotency_key("second");
    running.client.read(&gone).await;
    running.end().await;
}

#[tokio::test]
async fn a_body_with_more_values_than_may_be_taken_is_refused_before_it_is_read() {
    let running = run().await;
    let many = json!({"title": "t", "tags": vec![json!([]); 200_000]});
    let params = json!({"name": "learn", "arguments": many});
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    for (path, body) in [
        (at(&["learn"]), &many),
        (at(&["tools", "learn"]), &many),
        ("/mcp?user=ada".to_owned(), &message),
    ] {
        let refused = running.client.ask_bytes(&Call::post(path, body)).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind, ProblemKind::TooLarge, "{refused}");
        assert!(refused.detail.contains("send it in parts"), "{refused}");
    }
    running.end().await;
}

#[tokio::test]
async fn a_failure_names_no_path_of_this_machine() {
    let running = run().await;
    // A file where the user's folder should be.
    fs_err::write(running.place.data().join("ada"), "").unwrap();
    let call = Call::post(at(&["records"]), &json!({"text": "x"}));
    let failed = running.client.ask_bytes(&call).await.unwrap_err();
    assert_eq!(failed.kind, ProblemKind::Internal, "{failed}");
    let data = running.place.data().display().to_string();
    assert!(!failed.detail.contains(&data), "{failed}");
    assert!(failed.detail.contains("ada"), "{failed}");
    running.end().await;
}

#[tokio::test]
async fn who_listens_to_changes_on_every_connection_leaves_room_for_requests() {
    let running = run().await;
    let tokens = TokenFile::new(running.place.tokens());
    let now = reprise_types::parse_timestamp("2026-02-16T09:00:00Z").unwrap();
    let token = tokens.add("greedy", Scope::All, now).unwrap();
    let host = running.http;
    let mut listening = Vec::new();
    let mut refused = 0;
    for _ in 0..200 {
        let mut stream = TcpStream::connect(host).await.unwrap();
        let path = at(&["changes"]);
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.unwrap();
        match head.as_slice() {
            b"HTTP/1.1 200" => listening.push(stream),
            b"HTTP/1.1 429" => refused += 1,
            other => panic!("{}", String::from_utf8_lossy(other)),
        }
    }
    assert!(
        refused > 100 && !listening.is_empty(),
        "{refused} of 200 were refused"
    );
    // Over the socket as many more are heard, and one that leaves makes room.
    let _live = running.client.read(&Call::get("/health/live")).await;
    drop(listening);
    running.end().await;
}
