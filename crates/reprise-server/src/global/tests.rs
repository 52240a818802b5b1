//! The doors that need no token, and the people who bring one of an issuer's.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use reprise_conformance::{DIMENSIONS, document, user, with_policy};
use reprise_engine::Engine;
use reprise_global::{
    AwaitedHandle, CoordinationSettings, EmbeddedOptions, EmbeddedStore, GlobalStore, Hold,
    Publication,
};
use reprise_store::RealDisk;
use reprise_tests::{seen_if, wait_for_async};
use reprise_types::{Clock, SystemClock, lock};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use std::sync::Mutex;

use reprise_global::AuditLine;

use super::*;
use crate::issuer::tests::Signer;
use crate::tokens::{Grant, NewToken, Scope, TokenFile};
use reprise_operations::Right;

/// The model hangs at a text with this word until it is let go.
const HANGS: &str = "hangsword";
static LET_GO: AtomicBool = AtomicBool::new(false);

/// Lets the model go when it is dropped, so that a test that fails ends, too.
struct ModelRelease;

impl Drop for ModelRelease {
    fn drop(&mut self) {
        LET_GO.store(true, Ordering::SeqCst);
    }
}

/// A store that counts how often its file is opened.
fn store(folder: &TempDir, opened: &Arc<AtomicUsize>) -> EmbeddedStore {
    let opened = Arc::clone(opened);
    EmbeddedStore::new(EmbeddedOptions {
        folder: folder.path().join("store"),
        dimensions: DIMENSIONS,
        space: None,
        open: Arc::new(move |path, options| {
            opened.fetch_add(1, Ordering::SeqCst);
            Engine::open(Arc::new(RealDisk), path, options)
        }),
        vectors: Arc::new(|text| {
            while text.contains(HANGS) && !LET_GO.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(5));
            }
            None
        }),
        clock: Arc::new(SystemClock),
        hold: Hold::EachWrite,
        patience: Duration::from_mins(1),
        coordination: CoordinationSettings::default(),
    })
}

/// A service over that store; its address.
async fn start_service(
    folder: &TempDir,
    opened: &Arc<AtomicUsize>,
    people: Option<People>,
    requests_max: usize,
) -> SocketAddr {
    start_service_with_log(folder, opened, (people, None), requests_max).await
}

async fn start_service_with_log(
    folder: &TempDir,
    opened: &Arc<AtomicUsize>,
    (people, access_log): (Option<People>, Option<AccessLog>),
    requests_max: usize,
) -> SocketAddr {
    let tokens = Arc::new(TokenFile::new(folder.path().join("tokens.json")));
    let service = GlobalService::start(GlobalServiceOptions {
        store: AwaitedHandle::from_value(Arc::new(store(folder, opened))),
        tokens: ServiceTokens::new(tokens, None),
        people,
        user_requests_a_minute: None,
        org_requests_a_minute: None,
        access_log,
        http: "127.0.0.1:0".parse().unwrap(),
        requests_per_second: None,
        requests_max,
    });
    let service = service.await.unwrap();
    let address = service.address().unwrap();
    tokio::spawn(service.run());
    address
}

async fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_probe_without_a_token_asks_the_store_for_nothing_but_an_answer() {
    let folder = tempfile::tempdir().unwrap();
    let opened = Arc::new(AtomicUsize::new(0));
    let first = store(&folder, &opened);
    let plan = document("plan", "words");
    first.publish(&user("ann"), plan).await.unwrap();
    opened.store(0, Ordering::SeqCst);
    let address = start_service(&folder, &opened, None, 1).await;
    for path in ["/health/live", "/health/ready", "/health/ready"] {
        let answer = get(address, path).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    }
    assert_eq!(opened.load(Ordering::SeqCst), 0, "the store was read");
}

/// A person of an issuer: whose groups say what is open.
#[tokio::test]
async fn people_of_an_issuer_come_in_by_their_groups_and_nobody_else_s_do() {
    let folder = tempfile::tempdir().unwrap();
    let signer = Signer::ed();
    let keys = json!({ "keys": [signer.jwk("one")] }).to_string();
    let home = json!({ "issuer": "https://id.example", "jwks_uri": "https://id.example/keys" });
    let fetch = move |url: &str| match url {
        "https://id.example/keys" => Ok(keys.clone().into_bytes()),
        "https://id.example/.well-known/openid-configuration" => Ok(home.to_string().into_bytes()),
        other => Err(format!("nothing is at {other}")),
    };
    let settings = json!({ "issuer": "https://id.example", "audience": "https://k.example",
        "user_claim": "name", "organisations": { "staff": "acme", "guests": "other" },
        "projects": { "pay": "acme/payments" },
        "writers": ["staff"], "operators": ["desk"] });
    let settings: PeopleSettings = serde_json::from_value(settings).unwrap();
    let people = People::new(settings, Arc::new(fetch), Arc::new(SystemClock));
    let address = start_service(&folder, &Arc::default(), Some(people), 8).await;
    let now = SystemClock.now().timestamp();
    let claims = |name: &str, groups: Value, audience: &str| {
        json!({ "iss": "https://id.example", "aud": audience, "exp": now + 300,
            "name": name, "groups": groups })
    };
    let here = "https://k.example";
    let ann = signer.token("one", &claims("ann", json!(["staff"]), here));
    let mia = signer.token("one", &claims("mia", json!(["staff", "desk"]), here));
    let sam = signer.token("one", &claims("sam", json!("guests"), here));
    let ours = document("plan", "words of acme");
    let ours = with_policy(reprise_global::AccessPolicy::Org, ours);
    let ours = String::from_utf8(ours.to_json_bytes()).unwrap();
    let publish = async |token: &str| send(address, "POST", "/v1/publications", token, &ours).await;
    let status = |answer: &str| answer[9..12].to_owned();
    assert_eq!(status(&publish(&ann).await), "200");
    assert_eq!(status(&publish(&sam).await), "403", "guests write nothing");
    let ask = "{\"text\": \"words\"}";
    let found = async |token: &str| send(address, "POST", "/v1/query", token, ask).await;
    assert!(found(&mia).await.contains("words of acme"));
    let pam = signer.token("one", &claims("pam", json!(["staff", "pay"]), here));
    let gus = signer.token("one", &claims("gus", json!(["guests", "pay"]), here));
    let for_project = Publication {
        access_policy: reprise_global::AccessPolicy::Org,
        project: Some("payments".parse().unwrap()),
        ..document("debts", "words of payments")
    };
    let for_project = String::from_utf8(for_project.to_json_bytes()).unwrap();
    let publish = async |token: &str| {
        status(&send(address, "POST", "/v1/publications", token, &for_project).await)
    };
    assert_eq!(publish(&ann).await, "403", "ann is in no project");
    assert_eq!(publish(&pam).await, "200");
    for (token, finds) in [(&pam, true), (&ann, false), (&mia, false), (&gus, false)] {
        assert_eq!(found(token).await.contains("words of payments"), finds);
    }
    let theirs = found(&sam).await;
    assert!(
        status(&theirs) == "200" && !theirs.contains("acme"),
        "{theirs}"
    );
    let members = async |token: &str| send(address, "GET", "/v1/members", token, "").await;
    assert_eq!(status(&members(&mia).await), "200");
    assert_eq!(status(&members(&ann).await), "403");
    let odd_method = send(address, "PATCH", "/v1/publications", &ann, "").await;
    assert_eq!(status(&odd_method), "405");
    let others = "\r\nallow: POST,GET,HEAD\r\n";
    assert!(odd_method.contains(others), "{odd_method}");
    let both = signer.token("one", &claims("eve", json!(["staff", "guests"]), here));
    let elsewhere = signer.token("one", &claims("ann", json!(["staff"]), "https://other"));
    let odd = signer.token("one", &claims("../ann", json!(["staff"]), here));
    let forged = Signer::ed().token("one", &claims("ann", json!(["staff"]), here));
    for (token, expected) in [
        (both, "403"),
        (elsewhere, "401"),
        (odd, "401"),
        (forged, "401"),
    ] {
        assert_eq!(status(&found(&token).await), expected);
    }
}

/// The whole answer to a request with a token.
async fn send(address: SocketAddr, method: &str, path: &str, token: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         authorization: Bearer {token}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// Two questions hang: one whose caller waits no longer, one whose caller has left. Each gives its
/// place back, and the first is told to come again.
#[tokio::test]
async fn a_question_for_which_nobody_waits_gives_its_place_back() {
    let _release = ModelRelease;
    let folder = tempfile::tempdir().unwrap();
    let first = store(&folder, &Arc::default());
    let plan = document("plan", "words");
    first.publish(&user("ann"), plan).await.unwrap();
    let file = TokenFile::new(folder.path().join("tokens.json"));
    let grant = Grant {
        org: None,
        projects: Vec::new(),
        paid: false,
        may: vec![Right::Read],
    };
    let scope = Scope::User("ann".parse().unwrap());
    let token = file.add_with("ann", scope, Some(grant), SystemClock.now());
    let token = token.unwrap();
    let address = start_service(&folder, &Arc::default(), None, 1).await;
    let ask = format!("{{\"text\": \"{HANGS}\"}}");
    let late = format!("{token}\r\nx-reprise-deadline-ms: 50");
    let answer = send(address, "POST", "/v1/query", &late, &ask).await;
    assert!(answer.starts_with("HTTP/1.1 504"), "{answer}");
    assert!(answer.contains("retry-after"), "{answer}");
    let left = tokio::spawn(async move { send(address, "POST", "/v1/query", &token, &ask).await });
    let is_free = async |path: &str| !get(address, path).await.starts_with("HTTP/1.1 429");
    wait_for_async("the question has the only place", async || {
        seen_if(!is_free("/v1/catalogue").await, "free")
    })
    .await;
    left.abort();
    wait_for_async("the place is free again", async || {
        seen_if(is_free("/v1/catalogue").await, "taken")
    })
    .await;
}

#[tokio::test]
async fn the_page_of_operators_opens_to_their_tokens_and_takes_its_own_forms_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = TokenFile::new(folder.path().join("tokens.json"));
    let token = |name: &str, may: &[Right]| {
        let grant = Grant {
            org: None,
            projects: Vec::new(),
            paid: false,
            may: may.to_vec(),
        };
        let scope = Scope::User(name.parse().unwrap());
        let made = file.add_with(name, scope, Some(grant), SystemClock.now());
        made.unwrap()
    };
    let (reader, operator) = (
        token("ann", &[Right::Read]),
        token("olga", &[Right::Operate]),
    );
    let address = start_service(&folder, &Arc::default(), None, 4).await;
    let nobody = get(address, "/admin").await;
    assert!(nobody.starts_with("HTTP/1.1 401"), "{nobody}");
    for header in ["content-security-policy: default-src 'none'", "no-store"] {
        assert!(nobody.contains(header), "{nobody}");
    }
    let with_cookie = |token: &str| format!("none\r\ncookie: reprise-operator={token}");
    let show = async |token: &str| send(address, "GET", "/admin/people", token, "").await;
    let refused = show(&with_cookie(&reader)).await;
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    let header_alone = show(&operator).await;
    assert!(header_alone.starts_with("HTTP/1.1 401"), "{header_alone}");
    let shown = show(&with_cookie(&operator)).await;
    assert!(
        shown.starts_with("HTTP/1.1 200") && shown.contains("olga"),
        "{shown}"
    );
    assert!(!shown.contains(&operator), "no page holds a token");
    for origin in ["origin: https://evil.example", "sec-fetch-site: cross-site"] {
        let forged = format!("{}\r\n{origin}", with_cookie(&operator));
        let refused = send(address, "POST", "/admin/people/revoke", &forged, "").await;
        assert!(refused.contains("from another page"), "{refused}");
    }
}

/// A link signs a browser in once, for some hours and for the page; a line of the access log says
/// whose each request was.
#[tokio::test]
async fn a_link_signs_an_operator_in_once_and_every_request_of_the_page_has_its_user() {
    let folder = tempfile::tempdir().unwrap();
    let file = Arc::new(TokenFile::new(folder.path().join("tokens.json")));
    let tokens = ServiceTokens::new(file, None);
    let new = |name: &str| NewToken {
        name: name.to_owned(),
        scope: Scope::User("olga".parse().unwrap()),
        grant: Some(Grant {
            org: Some("acme".to_owned()),
            projects: Vec::new(),
            paid: false,
            may: vec![Right::Read, Right::Operate],
        }),
        expires: Some(SystemClock.now() + chrono::TimeDelta::minutes(10)),
    };
    let line = || AuditLine::new(SystemClock.now(), "olga", "sign_in_link");
    let code = tokens.create_sign_in(new("page"), line()).await.unwrap();
    let invitation = tokens.invite(new("laptop"), line()).await.unwrap();
    let lines: Arc<Mutex<Vec<Value>>> = Arc::default();
    let kept = Arc::clone(&lines);
    let log: AccessLog =
        Arc::new(move |line| lock(&kept).push(serde_json::from_str(line).unwrap()));
    let opened = Arc::default();
    let address = start_service_with_log(&folder, &opened, (None, Some(log)), 4).await;

    let prefetch = "none\r\nsec-purpose: prefetch";
    let enter = format!("/admin/enter/{code}");
    let ahead = send(address, "GET", &enter, prefetch, "").await;
    assert!(ahead.starts_with("HTTP/1.1 204"), "{ahead}");
    let joined = send(address, "POST", "/v1/invitations", &code, "").await;
    assert!(joined.starts_with("HTTP/1.1 401"), "{joined}");
    let entered = get(address, &enter).await;
    assert!(entered.starts_with("HTTP/1.1 303"), "{entered}");
    let cookie = entered.split("reprise-operator=").nth(1).unwrap();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    for used_up in [enter, format!("/admin/enter/{invitation}")] {
        let refused = get(address, &used_up).await;
        assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
        assert!(refused.contains("reprise global open"), "{refused}");
    }
    let with_cookie = format!("none\r\ncookie: reprise-operator={cookie}");
    let shown = send(address, "GET", "/admin/people", &with_cookie, "").await;
    assert!(shown.starts_with("HTTP/1.1 200"), "{shown}");
    let of_form = "none\r\ncontent-type: application/x-www-form-urlencoded";
    let form = format!("{of_form}\r\ncookie: reprise-operator={cookie}");
    let changed = send(address, "POST", "/admin/quotas/set", &form, "").await;
    assert!(!changed.starts_with("HTTP/1.1 5"), "{changed}");
    let known = tokens.list().await.unwrap();
    let ends = known.iter().find(|one| one.entry.name == "page").unwrap();
    assert!(ends.entry.expires.is_some(), "a browser's sign-in ends");
    send(address, "POST", "/admin/sign-out", &with_cookie, "").await;
    let after = send(address, "GET", "/admin/people", &with_cookie, "").await;
    assert!(after.starts_with("HTTP/1.1 401"), "{after}");

    let lines = lock(&lines);
    let of = |route: &str| {
        let found = lines.iter().find(|line| line["route"] == route);
        found
            .unwrap_or_else(|| panic!("{route}: {lines:?}"))
            .clone()
    };
    let people = of("/admin/people");
    assert_eq!(
        (&people["user"], &people["org"]),
        (&json!("olga"), &json!("acme"))
    );
    assert!(!format!("{lines:?}").contains(&code), "a line has no path");
}

/// Reads one answer of a connection that stays open.
async fn read_answer(stream: &mut TcpStream) -> String {
    let mut answer = String::new();
    loop {
        let mut bytes = [0; 4_096];
        let count = stream.read(&mut bytes).await.unwrap();
        assert!(count > 0, "the connection is closed: {answer}");
        answer.push_str(&String::from_utf8_lossy(&bytes[..count]));
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let length = head.split_once("content-length: ");
        let length = length.and_then(|(_, rest)| rest.lines().next()?.parse().ok());
        if length.is_some_and(|length: usize| body.len() >= length) {
            return answer;
        }
    }
}

/// A client that is refused before its body has come can ask again on the same connection.
#[tokio::test]
async fn a_refusal_for_too_much_work_leaves_the_connection_open() {
    let folder = tempfile::tempdir().unwrap();
    let file = TokenFile::new(folder.path().join("tokens.json"));
    let grant = Grant {
        org: None,
        projects: Vec::new(),
        paid: false,
        may: vec![Right::Write],
    };
    let scope = Scope::User("ann".parse().unwrap());
    let token = file.add_with("ann", scope, Some(grant), SystemClock.now());
    let token = token.unwrap();
    let address = start_service(&folder, &Arc::default(), None, 1).await;
    let head = |path: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: 2\r\n\r\n"
        )
    };
    // A publication whose body does not come has the only place.
    let mut slow = TcpStream::connect(address).await.unwrap();
    let publish = head("/v1/publications");
    slow.write_all(publish.as_bytes()).await.unwrap();
    wait_for_async("the only place is taken", async || {
        let answer = get(address, "/v1/catalogue").await;
        seen_if(answer.starts_with("HTTP/1.1 429"), "free")
    })
    .await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    for _ in 0..2 {
        let ask = head("/v1/query");
        stream.write_all(ask.as_bytes()).await.unwrap();
        // The service has the head by then, and nothing else.
        get(address, "/health/live").await;
        stream.write_all(b"{}").await.unwrap();
        let answer = read_answer(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 429"), "{answer}");
    }
}
