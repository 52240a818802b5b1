//! The suite that every store passes, over the wire; and the doors of the service.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::sync::atomic::{AtomicUsize, Ordering};

use reprise_conformance::{DIMENSIONS, document, member, user, word_space, word_vectors};
use reprise_engine::Engine;
use reprise_global::{
    AccessPolicy, AwaitedHandle, CoordinationSettings, EmbeddedOptions, EmbeddedStore, Hold,
};
use reprise_server::{
    GlobalService, GlobalServiceOptions, Grant, Right, Scope, ServiceTokens, TokenFile,
};
use reprise_store::RealDisk;
use reprise_tests::{assert_contains, assert_lacks};
use reprise_types::{Clock, SystemClock, lock};
use ureq::http::Method;

use super::*;

/// A service over an embedded store, and what goes with it.
struct House {
    url: String,
    tokens: Arc<TokenFile>,
    folder: tempfile::TempDir,
}

impl House {
    async fn open(requests_per_second: Option<u32>) -> Self {
        Self::with(requests_per_second, Duration::from_mins(1)).await
    }

    async fn with(requests_per_second: Option<u32>, patience: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::new(EmbeddedOptions {
            folder: folder.path().join("store"),
            dimensions: DIMENSIONS,
            space: Some(word_space()),
            open: Arc::new(|path, options| Engine::open(Arc::new(RealDisk), path, options)),
            vectors: word_vectors(),
            clock: Arc::new(SystemClock),
            hold: Hold::UntilIdle,
            patience,
            coordination: CoordinationSettings::default(),
        });
        let tokens = Arc::new(TokenFile::new(folder.path().join("tokens.json")));
        let service = GlobalService::start(GlobalServiceOptions {
            store: AwaitedHandle::from_value(Arc::new(store)),
            tokens: ServiceTokens::new(Arc::clone(&tokens), None),
            people: None,
            user_requests_a_minute: None,
            org_requests_a_minute: None,
            access_log: None,
            http: "127.0.0.1:0".parse().unwrap(),
            requests_per_second: requests_per_second.and_then(std::num::NonZeroU32::new),
            requests_max: 64,
        })
        .await
        .unwrap();
        let url = format!("http://{}", service.address().unwrap());
        tokio::spawn(service.run());
        Self {
            url,
            tokens,
            folder,
        }
    }

    fn token(&self, caller: &Caller, may: &[Right]) -> String {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let name = format!("{}-{}", caller.user, MADE.fetch_add(1, Ordering::Relaxed));
        let grant = Grant {
            org: caller.org.as_ref().map(ToString::to_string),
            projects: caller.projects.clone(),
            paid: caller.paid,
            may: may.to_vec(),
        };
        let scope = Scope::User(caller.user.clone());
        self.tokens
            .add_with(&name, scope, Some(grant), SystemClock.now())
            .unwrap()
    }

    /// The store as its callers see it, each with a token of his own.
    fn store(self: &Arc<Self>) -> RemoteStore {
        let known: Mutex<HashMap<String, String>> = Mutex::default();
        let house = Arc::clone(self);
        let token_of = move |caller: &Caller| {
            let key = format!("{caller:?}");
            let mut known = lock(&known);
            let all = [Right::Read, Right::Write, Right::Review, Right::Operate];
            // One who was erased has none any more.
            known.retain(|_, token| house.tokens.recognise(token).is_some());
            let token = known
                .entry(key)
                .or_insert_with(|| house.token(caller, &all));
            Ok(Some(token.clone()))
        };
        RemoteStore::new(&self.url, Arc::new(token_of), Duration::from_secs(30))
    }

    /// Sends a request as it is, and returns its status and body.
    async fn raw(&self, token: &str, method: Method, path: &str, body: &str) -> (u16, String) {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .build()
            .into();
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("authorization", format!("Bearer {token}"))
            .body(body.to_owned())
            .unwrap();
        let asked = tokio::task::spawn_blocking(move || {
            #[expect(clippy::disallowed_methods, reason = "a stranger's program")]
            let mut answer = agent.run(request).unwrap();
            let status = answer.status().as_u16();
            (
                status,
                answer.body_mut().read_to_string().unwrap_or_default(),
            )
        });
        asked.await.unwrap()
    }
}

mod over_the_wire {
    use super::*;

    async fn store() -> (RemoteStore, Arc<House>) {
        let house = Arc::new(House::open(None).await);
        (house.store(), house)
    }

    reprise_conformance::conformance_suite!(store);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_opens_what_it_may_and_a_withdrawn_one_nothing() {
    let house = House::open(None).await;
    let ann = member("ann", "acme");
    let reads = house.token(&ann, &[Right::Read]);
    let body = json!(document("Otters", "Otters hold hands.")).to_string();
    let ask = r#"{"text":"otters","top_k":3}"#;
    let (query, publish) = ("/v1/query", "/v1/publications");
    assert_eq!(house.raw(&reads, Method::POST, query, ask).await.0, 200);
    assert_eq!(house.raw(&reads, Method::POST, publish, &body).await.0, 403);
    assert_eq!(house.raw(&reads, Method::GET, "/metrics", "").await.0, 403);
    let (status, said) = house.raw("rpr_unknown", Method::POST, query, ask).await;
    assert!(status == 401 && !said.contains("rpr_unknown"), "{said}");
    let name = house.tokens.list().unwrap().remove(0).name;
    house.tokens.revoke(&name).unwrap();
    assert_eq!(house.raw(&reads, Method::POST, query, ask).await.0, 401);
    let daemons = house.tokens.add("daemon", Scope::All, SystemClock.now());
    let daemons = daemons.unwrap();
    assert_eq!(house.raw(&daemons, Method::POST, query, ask).await.0, 403);
}

/// Every route, from the service's own description: none without a token, with an unknown or a
/// withdrawn one, or with one that may do everything else; none asks who it is in another way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_route_is_closed_to_whom_it_is_not_for() {
    let house = House::open(None).await;
    let all = [Right::Read, Right::Write, Right::Review, Right::Operate];
    let ann = member("ann", "acme");
    let withdrawn = house.token(&ann, &all);
    let name = house.tokens.list().unwrap().remove(0).name;
    house.tokens.revoke(&name).unwrap();
    let (status, text) = house.raw("", Method::GET, "/openapi.json", "").await;
    assert_eq!(status, 200);
    let described: Value = serde_json::from_str(&text).unwrap();
    let mut closed = 0;
    for (path, methods) in described["paths"].as_object().unwrap() {
        let asked = path.replace("{id}", "01JQ8Z3V5N8M6T2R4W7X9YABCD");
        let asked = asked.replace("{name}", "monday");
        for (method, operation) in methods.as_object().unwrap() {
            let method: Method = method.to_uppercase().parse().unwrap();
            if operation["security"] == json!([]) {
                continue;
            }
            for token in ["", "rpr_unknown", &withdrawn] {
                let (status, said) = house.raw(token, method.clone(), &asked, "").await;
                assert_eq!(status, 401, "{method} {path}: {said}");
            }
            let needs = operation["description"].as_str().unwrap_or_default();
            let others = all
                .into_iter()
                .filter(|right| !needs.contains(&json!(right).to_string().replace('"', "`")));
            let others: Vec<Right> = others.collect();
            assert_eq!(others.len(), 3, "{method} {path}: {needs}");
            let token = house.token(&ann, &others);
            let (status, said) = house.raw(&token, method.clone(), &asked, "").await;
            assert_eq!(status, 403, "{method} {path}: {said}");
            closed += 1;
        }
    }
    assert!(closed >= 16, "{closed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_requests_are_refused_with_a_sentence_each() {
    let house = House::open(None).await;
    let token = house.token(&user("ann"), &[Right::Read, Right::Write, Right::Operate]);
    let mut forged = json!(document("Otters", "Otters hold hands."));
    forged["author_id"] = json!("bob");
    let huge = json!(document("Otters", &"x".repeat(50_000_000))).to_string();
    // No vector crosses the wire, be it of another space or not finite.
    let mut vectored = json!(document("Otters", "Otters hold hands."));
    vectored["embedding"] = json!([0.5, 0.5]);
    let endless = vectored.to_string().replace("[0.5,0.5]", "[1e999]");
    let thing = "/v1/publications/01JQ8Z3V5N8M6T2R4W7X9YABCD";
    let bad = [
        (Method::POST, "/v1/publications", forged.to_string(), 400),
        (Method::POST, "/v1/publications", vectored.to_string(), 400),
        (Method::POST, "/v1/publications", endless, 400),
        (
            Method::POST,
            "/v1/branches/next/publications",
            forged.to_string(),
            400,
        ),
        (
            Method::POST,
            "/v1/query",
            r#"{"text":"a","top_k":1,"branch":"bob/next"}"#.to_owned(),
            404,
        ),
        (Method::POST, "/v1/branches/next/merge", String::new(), 404),
        (Method::DELETE, "/v1/branches/next", String::new(), 404),
        (Method::PUT, "/v1/branches/a b", String::new(), 400),
        (Method::POST, "/v1/publications", huge, 413),
        (Method::POST, "/v1/publications", "{".to_owned(), 400),
        (
            Method::POST,
            "/v1/query",
            r#"{"text":"a","top_k":99999999999}"#.to_owned(),
            400,
        ),
        (
            Method::POST,
            "/v1/query",
            r#"{"text":"a","top_k":1,"as":"bob"}"#.to_owned(),
            400,
        ),
        (Method::GET, thing, String::new(), 404),
        (
            Method::GET,
            "/v1/publications/'; DROP TABLE",
            String::new(),
            400,
        ),
        (Method::PATCH, thing, String::new(), 405),
        (Method::GET, "/v1/nothing", String::new(), 404),
    ];
    for (method, path, body, expected) in bad {
        let path = path.replace(' ', "%20");
        let (status, said) = house.raw(&token, method, &path, &body).await;
        assert_eq!(status, expected, "{path}: {said}");
        let said: Value = serde_json::from_str(&said).unwrap();
        let detail = said["detail"].as_str().unwrap();
        assert!(!detail.is_empty() && detail.len() < 300, "{path}: {detail}");
    }
    let said = house.raw(&token, Method::GET, "/v1/publications", "").await;
    assert_eq!(said, (200, "[]".to_owned()), "nothing was published");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_asks_too_fast_is_told_to_wait_and_others_are_not() {
    let house = House::open(Some(3)).await;
    let (one, two) = (
        house.token(&user("ann"), &[Right::Read]),
        house.token(&user("bob"), &[Right::Read]),
    );
    let mut statuses = Vec::new();
    for _ in 0..8 {
        statuses.push(house.raw(&one, Method::GET, "/v1/publications", "").await.0);
    }
    assert!(
        statuses.starts_with(&[200]) && statuses.contains(&429),
        "{statuses:?}"
    );
    let other = house.raw(&two, Method::GET, "/v1/publications", "").await;
    assert_eq!(other.0, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_busy_answers_429_and_keeps_nothing() {
    let house = House::with(None, Duration::ZERO).await;
    let token = house.token(&user("ann"), &[Right::Read, Right::Write]);
    let publish = async |title: &str| {
        let body = json!(document(title, "Otters hold hands.")).to_string();
        house
            .raw(&token, Method::POST, "/v1/publications", &body)
            .await
    };
    assert_eq!(publish("First").await.0, 200);
    let lock = std::fs::File::open(house.folder.path().join("store/writer.lock")).unwrap();
    lock.lock().unwrap();
    let (status, said) = publish("Second").await;
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(status, 429, "{said}");
    let detail = said["detail"].as_str().unwrap();
    assert_contains!(detail, "busy", "again");
    assert_eq!(said["error"]["code"], "busy");
    drop(lock);
    let own = house
        .raw(&token, Method::GET, "/v1/publications", "")
        .await
        .1;
    assert_eq!(own.matches("\"title\"").count(), 1, "{own}");
    assert_eq!(publish("Second").await.0, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_and_description_name_every_route_and_no_user() {
    let house = House::open(None).await;
    let token = house.token(&user("zacharias"), &[Right::Read, Right::Operate]);
    let (status, text) = house.raw("", Method::GET, "/openapi.json", "").await;
    let described: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(status, 200);
    for (path, methods) in described["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let method: Method = method.to_uppercase().parse().unwrap();
            let path = path.replace("{id}", "01JQ8Z3V5N8M6T2R4W7X9YABCD");
            let path = path.replace("{name}", "monday");
            let (status, said) = house.raw("", method, &path, "").await;
            let is_open = path.starts_with("/health") || path == "/openapi.json";
            assert_eq!(status, if is_open { 200 } else { 401 }, "{path}: {said}");
        }
    }
    house.raw(&token, Method::GET, "/v1/publications", "").await;
    let (status, text) = house.raw(&token, Method::GET, "/metrics", "").await;
    assert_eq!(status, 200);
    assert_contains!(text, "route=\"/v1/publications\"");
    assert_lacks!(text, "zacharias");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_reads_of_every_act_and_grant_and_nobody_else_does() {
    let house = Arc::new(House::open(None).await);
    let now = SystemClock.now();
    let line = AuditLine {
        at: now,
        who: "ann".to_owned(),
        what: "grant".to_owned(),
        id: None,
        version: None,
        name: Some("laptop".to_owned()),
        about: Some("bob".parse().unwrap()),
        reason: None,
        checksum: None,
    };
    house.tokens.audit(&line).unwrap();
    let store = house.store();
    let ann = user("ann");
    store
        .publish(&ann, document("Plums", "Plums are blue."))
        .await
        .unwrap();
    let lines = store.list_audit_lines(&ann, 10).await.unwrap();
    let told: Vec<&str> = lines.iter().map(|line| line.what.as_str()).collect();
    assert_eq!(told, ["publish", "grant"]);
    assert_eq!(lines[1], line);
    let reader = house.token(&user("bob"), &[Right::Read, Right::Write]);
    let (status, _) = house.raw(&reader, Method::GET, "/v1/audit", "").await;
    assert_eq!(status, 403);
    let operator = house.token(&user("eve"), &[Right::Operate]);
    for (path, expected) in [
        ("/v1/audit?limit=1", 200),
        ("/v1/audit?limit=10001", 400),
        ("/v1/audit?limit=x", 400),
        ("/v1/audit?page=2", 400),
    ] {
        let (status, said) = house.raw(&operator, Method::GET, path, "").await;
        assert_eq!(status, expected, "{path}: {said}");
    }
}

/// Answers every request with nothing found, and keeps it.
fn listening() -> (String, Arc<Mutex<String>>) {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let heard: Arc<Mutex<String>> = Arc::default();
    let kept = Arc::clone(&heard);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut bytes) = (stream.unwrap(), vec![0; 64 * 1024]);
            let mut request = String::new();
            while !request.trim_end().ends_with('}') {
                let count = stream.read(&mut bytes).unwrap();
                request += &String::from_utf8_lossy(&bytes[..count]);
                if count == 0 || request.starts_with("GET") {
                    break;
                }
            }
            *kept.lock().unwrap() += &request;
            let body = r#"{"hits": []}"#;
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n", body.len());
            let _gone = write!(stream, "{head}connection: close\r\n\r\n{body}").is_err();
        }
    });
    (url, heard)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_leaves_without_its_secrets_and_private_parts_and_a_publication_stays() {
    let (url, heard) = listening();
    let store = RemoteStore::new(&url, Arc::new(|_| Ok(None)), Duration::from_secs(30));
    let text = "why does AKIAIOSFODNN7EXAMPLE fail <private>in my flat</private> password=hunter22";
    let query = GlobalQuery::new(text, 3);
    assert!(
        store
            .query(&user("ann"), &query)
            .await
            .unwrap()
            .hits
            .is_empty()
    );
    let request = heard.lock().unwrap().clone();
    assert_contains!(request, "why does [redacted:aws_key] fail");
    for kept in ["AKIA", "in my flat", "hunter22"] {
        assert_lacks!(request, kept);
    }
    let mut publication = document("Keys", "Ours is AKIAIOSFODNN7EXAMPLE.");
    assert!(
        store
            .publish(&user("ann"), publication.clone())
            .await
            .is_err()
    );
    publication.content = "Ours <private>is here</private>.".to_owned();
    assert!(
        store
            .publish_on_branch(&user("ann"), "next", publication)
            .await
            .is_err()
    );
    let alone = GlobalQuery::new("<private>all of it</private>", 3);
    assert!(store.query(&user("ann"), &alone).await.is_err());
    assert_eq!(*heard.lock().unwrap(), request, "nothing else was sent");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_that_is_not_there_is_away_and_not_an_error_without_end() {
    let nobody = RemoteStore::new(
        "http://127.0.0.1:9",
        Arc::new(|_| Ok(None)),
        Duration::from_secs(2),
    );
    let asked = nobody
        .query(&user("ann"), &GlobalQuery::new("otters", 3))
        .await;
    assert!(
        matches!(asked, Err(GlobalError::Unavailable { .. })),
        "{asked:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bodies_are_described_take_the_daemons_words_and_no_unknown_parameter() {
    let house = House::open(None).await;
    let all = [Right::Read, Right::Write, Right::Operate];
    let token = house.token(&user("ann"), &all);
    let (_, text) = house.raw("", Method::GET, "/openapi.json", "").await;
    let described: Value = serde_json::from_str(&text).unwrap();
    let schemas = described["components"]["schemas"].as_object().unwrap();
    for (path, methods) in described["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let content = operation["responses"]["200"]["content"].as_object();
            let schema = content.and_then(|content| content.values().next());
            let schema = schema.map(|one| one["schema"].clone()).unwrap_or_default();
            assert!(schema.is_object(), "{method} {path}: {operation}");
        }
    }
    for name in text.split("#/components/schemas/").skip(1) {
        let name = name.split('"').next().unwrap();
        assert!(schemas.contains_key(name), "{name} is not described");
    }
    // A closed schema of an answer would refuse the fields next to the publication's.
    assert_ne!(
        schemas["GlobalRecord"]["additionalProperties"],
        json!(false)
    );
    assert_eq!(schemas["GlobalQuery"]["required"], json!(["text"]));

    let plums = json!(document("Plums", "Plums are blue.")).to_string();
    let bob = house.token(&user("bob"), &all);
    let path = "/v1/publications";
    assert_eq!(house.raw(&bob, Method::POST, path, &plums).await.0, 200);
    for asked in [
        r#"{"text": "plums"}"#,
        r#"{"query": "plums", "limit": 3}"#,
        r#"{"text": "plums", "top_k": 3}"#,
    ] {
        let (status, said) = house.raw(&token, Method::POST, "/v1/query", asked).await;
        assert!(status == 200 && said.contains("Plums"), "{asked}: {said}");
    }
    let both = r#"{"text": "plums", "query": "pears"}"#;
    assert_eq!(
        house.raw(&token, Method::POST, "/v1/query", both).await.0,
        400
    );
    for path in [
        "/v1/publications?bogus=1",
        "/v1/publications/01JQ8Z3V5N8M6T2R4W7X9YABCD?bogus=1",
        "/v1/audit?bogus=1",
    ] {
        let (status, said) = house.raw(&token, Method::GET, path, "").await;
        assert_eq!(status, 400, "{path}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_is_told_nothing_of_another_organisations_shelf() {
    let house = Arc::new(House::open(None).await);
    let plums = Publication {
        access_policy: AccessPolicy::Org,
        ..document("Plums", "Plums are blue.")
    };
    let store = house.store();
    store.publish(&member("ann", "acme"), plums).await.unwrap();
    for (who, lines) in [(member("olga", "acme"), 1), (member("eve", "other"), 0)] {
        let told = store.list_audit_lines(&who, 1).await.unwrap();
        assert_eq!(told.len(), lines, "{who:?}: {told:?}");
    }
}

/// A service that takes connections and requests and says nothing; what the requests begin with.
fn silent() -> (String, std::sync::mpsc::Receiver<String>) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut held = Vec::new();
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).unwrap();
            held.push(stream);
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    (url, heard)
}

#[tokio::test]
async fn a_service_that_says_nothing_is_asked_for_a_word_before_anything_is_sent_to_it() {
    let (url, heard) = silent();
    let store = RemoteStore::new(&url, Arc::new(|_| Ok(None)), Duration::from_secs(5));
    let published = store.publish(&user("ann"), document("plan", "words")).await;
    assert!(
        matches!(published, Err(GlobalError::Unavailable { .. })),
        "{published:?}"
    );
    let heard: Vec<String> = heard.try_iter().collect();
    assert_eq!(heard, ["GET /health/live HTTP/1.1\r\n"]);
}
