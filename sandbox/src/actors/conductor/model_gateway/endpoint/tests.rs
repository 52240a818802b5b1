//! A real server on the loopback, with every failure of a provider.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use reprise_tests::{assert_contains, assert_lacks};
use reprise_types::{FailKind, RecordId};

use super::super::super::super::testing::{
    FakeMemory, MemoryBehaviour, TestConductor, new_answer, new_lesson,
};
use super::super::super::super::turn::FailureKind;
use super::super::super::{RunReport, RunStatus};
use super::*;

const KEY: &str = "sk-very-secret";

#[derive(Clone)]
enum ScriptedResponse {
    Reply(u16, &'static str, String),
    /// The connection stays open without a response.
    Hang,
    /// The connection is closed at once.
    Close,
}

struct ScriptedServer {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl ScriptedServer {
    /// Responds by the script, repeating its last entry.
    fn new(script: Vec<ScriptedResponse>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&requests);
        thread::spawn(move || {
            let mut open_streams = Vec::new();
            for (at, stream) in listener.incoming().enumerate() {
                let mut stream = stream.unwrap();
                noted.lock().unwrap().push(read_request(&stream));
                match script[at.min(script.len() - 1)].clone() {
                    ScriptedResponse::Reply(status, headers, body) => {
                        let length = body.len();
                        let head = format!(
                            "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n{headers}\
                             connection: close\r\n\r\n{body}"
                        );
                        let _receiver_gone = stream.write_all(head.as_bytes()).is_err();
                    }
                    ScriptedResponse::Hang => open_streams.push(stream),
                    ScriptedResponse::Close => {}
                }
            }
        });
        Self { address, requests }
    }

    fn new_endpoint(&self, timeout: Duration) -> ModelEndpoint {
        let url = format!("http://{}/v1/", self.address);
        let config = EndpointConfig::new(url, "m-1".to_owned(), Some(KEY.to_owned()));
        ModelEndpoint::new(EndpointConfig {
            timeout,
            wait_first: Duration::from_millis(1),
            ..config
        })
    }

    fn count_requests(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

/// Reads a whole request: head and body.
fn read_request(stream: &TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return head;
        }
    }
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse::<usize>().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    head + &String::from_utf8(body).unwrap()
}

fn completion(content: &str) -> ScriptedResponse {
    let body = json!({ "choices": [{ "message": { "role": "assistant", "content": content } }] });
    ScriptedResponse::Reply(200, "", body.to_string())
}

fn plan_json() -> String {
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

async fn request_plan(server: &ScriptedServer) -> Result<RoutingPlan, GatewayError> {
    let history = new_answer(vec![new_lesson(
        0,
        "by `the right way`: worked",
        "completed",
        0.6,
    )]);
    let request = RoutingRequest {
        objective: "make a clock",
        history: &history,
        failed: &[],
    };
    server
        .new_endpoint(Duration::from_secs(20))
        .make_plan(&request)
        .await
}

#[tokio::test]
async fn no_secret_and_no_private_part_reaches_the_model() {
    let server = ScriptedServer::new(vec![completion(&plan_json())]);
    let request = RoutingRequest {
        objective: "log in with password=hunter2secret <private>at home</private> and build",
        history: &new_answer(Vec::new()),
        failed: &[],
    };
    let endpoint = server.new_endpoint(Duration::from_secs(20));
    endpoint.make_plan(&request).await.unwrap();
    let requests = server.requests.lock().unwrap()[0].clone();
    assert_contains!(requests, "log in with password=[redacted:assigned]");
    assert_lacks!(requests, "hunter2", "at home");
}

#[tokio::test]
async fn a_key_goes_to_another_machine_by_https_alone() {
    let url = "http://models.invalid/v1".to_owned();
    let config = EndpointConfig::new(url, "m-1".to_owned(), Some(KEY.to_owned()));
    let request = RoutingRequest {
        objective: "build",
        history: &new_answer(Vec::new()),
        failed: &[],
    };
    let refused = ModelEndpoint::new(config)
        .make_plan(&request)
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("over plain HTTP"), "{refused}");
}

#[tokio::test]
async fn a_model_gets_memory_in_its_context_and_its_plan_is_read() {
    for content in [plan_json(), format!("```json\n{}\n```", plan_json())] {
        let server = ScriptedServer::new(vec![completion(&content)]);
        let routing = request_plan(&server).await.unwrap();
        assert_eq!(routing.plan, "ask 'nicely'");
        assert_eq!(routing.used, [RecordId::from_u128(1)]);
        assert_eq!(routing.assignments.len(), 3);
        let requests = server.requests.lock().unwrap()[0].clone();
        assert!(
            requests.starts_with("POST /v1/chat/completions HTTP/1.1"),
            "{requests}"
        );
        assert!(requests.contains(&format!("Bearer {KEY}")));
        assert_contains!(
            requests,
            "Relevant history:\\n<reprise-memory-000000000007>\\n",
            "\\n- 2026-02-02 0.60 ["
        );
        assert!(requests.contains("make a clock") && requests.contains("m-1"));
    }
}

#[tokio::test]
async fn what_may_pass_is_asked_again_and_what_stays_is_not() {
    let wait = || ScriptedResponse::Reply(429, "retry-after: 0\r\n", String::new());
    let long = ScriptedResponse::Reply(429, "retry-after: 3600\r\n", String::new());
    let broken = || ScriptedResponse::Reply(500, "", "oh".to_owned());
    for (script, requests) in [
        (vec![wait(), completion(&plan_json())], 2),
        (vec![broken(), broken(), completion(&plan_json())], 3),
        (vec![ScriptedResponse::Close, completion(&plan_json())], 2),
    ] {
        let server = ScriptedServer::new(script);
        request_plan(&server).await.unwrap();
        assert_eq!(server.count_requests(), requests);
    }
    for (script, failure, requests) in [
        (wait(), FailureKind::RateLimit, 3),
        (long, FailureKind::RateLimit, 1),
        (broken(), FailureKind::Provider, 3),
        (ScriptedResponse::Close, FailureKind::Network, 3),
        (
            ScriptedResponse::Reply(401, "", String::new()),
            FailureKind::Auth,
            1,
        ),
        (
            ScriptedResponse::Reply(404, "", String::new()),
            FailureKind::Provider,
            1,
        ),
        (
            ScriptedResponse::Reply(302, "location: /elsewhere\r\n", String::new()),
            FailureKind::Provider,
            1,
        ),
    ] {
        let server = ScriptedServer::new(vec![script]);
        let error = request_plan(&server).await.unwrap_err();
        assert_eq!(
            (error.failure_kind(), server.count_requests()),
            (failure, requests),
            "{error}"
        );
        assert!(!format!("{error} {error:?}").contains(KEY));
    }
}

#[tokio::test]
async fn a_model_that_never_answers_is_given_up() {
    let server = ScriptedServer::new(vec![ScriptedResponse::Hang]);
    let endpoint = server.new_endpoint(Duration::from_millis(50));
    let nothing = new_answer(Vec::new());
    let request = RoutingRequest {
        objective: "make a clock",
        history: &nothing,
        failed: &[],
    };
    let error = endpoint.make_plan(&request).await.unwrap_err();
    assert!(
        matches!(error, GatewayError::TimedOut { limit_ms: 50, .. }),
        "{error}"
    );
    assert_eq!(server.count_requests(), 3);
    assert!(!format!("{endpoint:?}").contains(KEY));
    let nowhere = EndpointConfig::new("not an address".to_owned(), "m".to_owned(), None);
    let error = ModelEndpoint::new(nowhere)
        .make_plan(&request)
        .await
        .unwrap_err();
    assert_eq!(error.failure_kind(), FailureKind::Network, "{error}");
}

#[tokio::test]
async fn an_answer_that_is_no_plan_is_said_to_be_none() {
    let unknown = plan_json().replace("researcher", "astrologer");
    let huge = "x".repeat(2 * 1024 * 1024);
    for (script, says) in [
        (
            ScriptedResponse::Reply(200, "", "not json".to_owned()),
            "not JSON",
        ),
        (
            ScriptedResponse::Reply(200, "", "{}".to_owned()),
            "no choice",
        ),
        (ScriptedResponse::Reply(200, "", huge), "bytes"),
        (completion("I would rather not."), "not a plan"),
        (completion(&unknown), "astrologer"),
        (
            completion(r#"{"plan": "", "assignments": []}"#),
            "needs a name",
        ),
    ] {
        let server = ScriptedServer::new(vec![script]);
        let error = request_plan(&server).await.unwrap_err();
        assert_eq!(error.failure_kind(), FailureKind::Provider);
        assert!(error.to_string().contains(says), "{error}");
        assert_eq!(server.count_requests(), 1, "the same model says the same");
    }
}

/// Runs a request that this server's model plans; returns the report and the fake memory.
async fn run_with_model(server: &ScriptedServer) -> (RunReport, TestConductor, Arc<FakeMemory>) {
    let lessons = vec![new_lesson(
        0,
        "by `the right way`: worked",
        "completed",
        0.6,
    )];
    let memory = FakeMemory::new(MemoryBehaviour::Good(lessons));
    let gateway = Arc::new(server.new_endpoint(Duration::from_secs(20)));
    let bench = TestConductor::from_gateway(Some(memory.clone()), gateway).await;
    let report = bench.execute("make a clock").await.unwrap();
    (report, bench, memory)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_models_plan_is_done_and_a_providers_failure_is_not_the_runs_own() {
    let (report, bench, memory) =
        run_with_model(&ScriptedServer::new(vec![completion(&plan_json())])).await;
    assert_eq!(report.status, RunStatus::Completed, "{report:?}");
    assert_eq!(bench.read_file("clock/a.txt"), "tick");
    assert_eq!(report.used, [RecordId::from_u128(1)]);
    assert_eq!(memory.endings.lock().unwrap()[0].fail_kind, None);
    let wait = ScriptedResponse::Reply(429, "retry-after: 0\r\n", String::new());
    let (report, _bench, memory) = run_with_model(&ScriptedServer::new(vec![wait])).await;
    assert_eq!(report.failure, Some(FailureKind::RateLimit));
    let endings = memory.endings.lock().unwrap();
    assert_eq!(
        endings[0].fail_kind,
        Some(FailKind::RateLimit),
        "marked as from outside"
    );
}
