//! A real server on the loopback, with every failure of a provider.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use reprise_tests::{lacks, says};
use reprise_types::{FailKind, RecordId};

use super::super::super::super::testing::{Bench, Fake, Temper, lesson, remembered};
use super::super::super::super::turn::FailureKind;
use super::super::super::{RunReport, RunStatus};
use super::*;

const KEY: &str = "sk-very-secret";

#[derive(Clone)]
enum Script {
    Reply(u16, &'static str, String),
    /// The connection stays open without a response.
    Hang,
    /// The connection is closed at once.
    Close,
}

struct Server {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Responds by the script, repeating its last entry.
    fn new(script: Vec<Script>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&heard);
        thread::spawn(move || {
            let mut held = Vec::new();
            for (at, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                noted.lock().unwrap().push(request(&stream));
                match script[at.min(script.len() - 1)].clone() {
                    Script::Reply(status, headers, body) => {
                        let length = body.len();
                        let head = format!(
                            "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n{headers}\
                             connection: close\r\n\r\n{body}"
                        );
                        let _gone = stream.write_all(head.as_bytes()).is_err();
                    }
                    Script::Hang => held.push(stream),
                    Script::Close => {}
                }
            }
        });
        Self { address, heard }
    }

    fn endpoint(&self, timeout: Duration) -> ModelEndpoint {
        let url = format!("http://{}/v1/", self.address);
        let config = EndpointConfig::new(url, "m-1".to_owned(), Some(KEY.to_owned()));
        ModelEndpoint::new(EndpointConfig {
            timeout,
            wait_first: Duration::from_millis(1),
            ..config
        })
    }

    fn requests(&self) -> usize {
        self.heard.lock().unwrap().len()
    }
}

/// A whole request: head and body.
fn request(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return head;
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let named = name.eq_ignore_ascii_case("content-length");
        named.then(|| value.trim().parse::<usize>().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    head + &String::from_utf8(body).unwrap()
}

fn said(content: &str) -> Script {
    let body = json!({ "choices": [{ "message": { "role": "assistant", "content": content } }] });
    Script::Reply(200, "", body.to_string())
}

fn plan() -> String {
    json!({
        "plan": "ask `nicely`", "reason": "it worked before",
        "used": [RecordId::from_u128(1).to_string(), "no id"],
        "assignments": [
            { "worker": "researcher", "objective": "look", "words": ["clock"] },
            { "worker": "terminal", "objective": "do it", "folder": "clock",
              "files": { "a.txt": "tick" }, "command": "grep tick a.txt" },
            { "worker": "writer", "objective": "note it", "path": "clock/NOTES.md",
              "text": "ticks", "summary": "it ticks" },
        ],
    })
    .to_string()
}

async fn asked(server: &Server) -> Result<Routing, GatewayError> {
    let lessons = remembered(vec![lesson(
        0,
        "by `the right way`: worked",
        "completed",
        0.6,
    )]);
    let request = RoutingRequest {
        objective: "make a clock",
        history: &remembered(Vec::new()),
        lessons: &lessons,
        failed: &[],
    };
    server
        .endpoint(Duration::from_secs(20))
        .conduct(&request)
        .await
}

#[tokio::test]
async fn no_secret_and_no_private_part_reaches_the_model() {
    let server = Server::new(vec![said(&plan())]);
    let request = RoutingRequest {
        objective: "log in with password=hunter2secret <private>at home</private> and build",
        history: &remembered(Vec::new()),
        lessons: &remembered(Vec::new()),
        failed: &[],
    };
    let endpoint = server.endpoint(Duration::from_secs(20));
    endpoint.conduct(&request).await.unwrap();
    let heard = server.heard.lock().unwrap()[0].clone();
    says!(heard, "log in with password=[redacted:assigned]");
    lacks!(heard, "hunter2", "at home");
}

#[tokio::test]
async fn a_key_goes_to_another_machine_by_https_alone() {
    let url = "http://models.invalid/v1".to_owned();
    let config = EndpointConfig::new(url, "m-1".to_owned(), Some(KEY.to_owned()));
    let request = RoutingRequest {
        objective: "build",
        history: &remembered(Vec::new()),
        lessons: &remembered(Vec::new()),
        failed: &[],
    };
    let refused = ModelEndpoint::new(config)
        .conduct(&request)
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("over plain HTTP"), "{refused}");
}

#[tokio::test]
async fn a_model_gets_memory_in_its_context_and_its_plan_is_read() {
    for content in [plan(), format!("```json\n{}\n```", plan())] {
        let server = Server::new(vec![said(&content)]);
        let routing = asked(&server).await.unwrap();
        assert_eq!(routing.plan, "ask 'nicely'");
        assert_eq!(routing.used, [RecordId::from_u128(1)]);
        assert_eq!(routing.assignments.len(), 3);
        let heard = server.heard.lock().unwrap()[0].clone();
        assert!(
            heard.starts_with("POST /v1/chat/completions HTTP/1.1"),
            "{heard}"
        );
        assert!(heard.contains(&format!("Bearer {KEY}")));
        says!(
            heard,
            "What came of it:\\n<reprise-memory-000000000007>\\n",
            "\\n- [2026-02-02 finding 0.60"
        );
        assert!(heard.contains("make a clock") && heard.contains("m-1"));
    }
}

#[tokio::test]
async fn what_may_pass_is_asked_again_and_what_stays_is_not() {
    let wait = || Script::Reply(429, "retry-after: 0\r\n", String::new());
    let long = Script::Reply(429, "retry-after: 3600\r\n", String::new());
    let broken = || Script::Reply(500, "", "oh".to_owned());
    for (script, requests) in [
        (vec![wait(), said(&plan())], 2),
        (vec![broken(), broken(), said(&plan())], 3),
        (vec![Script::Close, said(&plan())], 2),
    ] {
        let server = Server::new(script);
        asked(&server).await.unwrap();
        assert_eq!(server.requests(), requests);
    }
    for (script, failure, requests) in [
        (wait(), FailureKind::RateLimit, 3),
        (long, FailureKind::RateLimit, 1),
        (broken(), FailureKind::Provider, 3),
        (Script::Close, FailureKind::Network, 3),
        (Script::Reply(401, "", String::new()), FailureKind::Auth, 1),
        (
            Script::Reply(404, "", String::new()),
            FailureKind::Provider,
            1,
        ),
        (
            Script::Reply(302, "location: /elsewhere\r\n", String::new()),
            FailureKind::Provider,
            1,
        ),
    ] {
        let server = Server::new(vec![script]);
        let error = asked(&server).await.unwrap_err();
        assert_eq!(
            (error.failure(), server.requests()),
            (failure, requests),
            "{error}"
        );
        assert!(!format!("{error} {error:?}").contains(KEY));
    }
}

#[tokio::test]
async fn a_model_that_never_answers_is_given_up() {
    let server = Server::new(vec![Script::Hang]);
    let endpoint = server.endpoint(Duration::from_millis(50));
    let nothing = remembered(Vec::new());
    let request = RoutingRequest {
        objective: "make a clock",
        history: &nothing,
        lessons: &nothing,
        failed: &[],
    };
    let error = endpoint.conduct(&request).await.unwrap_err();
    assert!(
        matches!(error, GatewayError::TimedOut { limit_ms: 50, .. }),
        "{error}"
    );
    assert_eq!(server.requests(), 3);
    assert!(!format!("{endpoint:?}").contains(KEY));
    let nowhere = EndpointConfig::new("not an address".to_owned(), "m".to_owned(), None);
    let error = ModelEndpoint::new(nowhere)
        .conduct(&request)
        .await
        .unwrap_err();
    assert_eq!(error.failure(), FailureKind::Network, "{error}");
}

#[tokio::test]
async fn an_answer_that_is_no_plan_is_said_to_be_none() {
    let unknown = plan().replace("researcher", "astrologer");
    let huge = "x".repeat(2 * 1024 * 1024);
    for (script, says) in [
        (Script::Reply(200, "", "not json".to_owned()), "not JSON"),
        (Script::Reply(200, "", "{}".to_owned()), "no choice"),
        (Script::Reply(200, "", huge), "bytes"),
        (said("I would rather not."), "not a plan"),
        (said(&unknown), "astrologer"),
        (said(r#"{"plan": "", "assignments": []}"#), "needs a name"),
    ] {
        let server = Server::new(vec![script]);
        let error = asked(&server).await.unwrap_err();
        assert_eq!(error.failure(), FailureKind::Provider);
        assert!(error.to_string().contains(says), "{error}");
        assert_eq!(server.requests(), 1, "the same model says the same");
    }
}

/// A run planned by this server's model, with the calls to memory.
async fn run_by(server: &Server) -> (RunReport, Bench, Arc<Fake>) {
    let lessons = vec![lesson(0, "by `the right way`: worked", "completed", 0.6)];
    let memory = Fake::new(Temper::Good(lessons));
    let gateway = Arc::new(server.endpoint(Duration::from_secs(20)));
    let bench = Bench::with(Some(memory.clone()), gateway).await;
    let report = bench.execute("make a clock").await.unwrap();
    (report, bench, memory)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_models_plan_is_done_and_a_providers_failure_is_not_the_runs_own() {
    let (report, bench, memory) = run_by(&Server::new(vec![said(&plan())])).await;
    assert_eq!(report.status, RunStatus::Completed, "{report:?}");
    assert_eq!(bench.file("clock/a.txt"), "tick");
    assert_eq!(report.used, [RecordId::from_u128(1)]);
    assert_eq!(memory.endings.lock().unwrap()[0].fail, None);
    let wait = Script::Reply(429, "retry-after: 0\r\n", String::new());
    let (report, _bench, memory) = run_by(&Server::new(vec![wait])).await;
    assert_eq!(report.failure, Some(FailureKind::RateLimit));
    let endings = memory.endings.lock().unwrap();
    assert_eq!(
        endings[0].fail,
        Some(FailKind::RateLimit),
        "marked as from outside"
    );
}
