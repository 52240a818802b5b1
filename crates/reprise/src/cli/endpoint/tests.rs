//! Against a real server on this machine that answers as servers do, well and badly.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use serde_json::Value;

use super::*;

/// What the server answers to one request.
struct Says {
    status: u16,
    headers: &'static str,
    body: String,
    after: Duration,
}

impl Says {
    fn well(body: String) -> Self {
        Self {
            status: 200,
            headers: "",
            body,
            after: Duration::ZERO,
        }
    }
}

type Script = fn(&Value) -> Says;

/// A head and a body as they came.
type ReceivedRequest = (String, Value);

/// A server that answers by a script, and tells what it was asked.
fn start_server(script: Script) -> (EndpointSetting, Receiver<ReceivedRequest>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (told, asked) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            answer(stream.unwrap(), script, &told);
        }
    });
    let named = EndpointSetting::parse(&format!("http://{address}/v1/embeddings#tiny")).unwrap();
    (named, asked)
}

fn answer(mut stream: TcpStream, script: Script, told: &Sender<ReceivedRequest>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap() == 0 {
            return;
        }
    }
    let lower = head.to_ascii_lowercase();
    let length = lower
        .split("content-length:")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap();
    let mut body = vec![0; length.trim().parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    let says = script(&body);
    drop(told.send((head, body)));
    thread::sleep(says.after);
    let Says {
        status,
        headers,
        body,
        ..
    } = says;
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n"
    );
    // The client may have gone: it waits only so long.
    drop(stream.write_all([head.as_bytes(), body.as_bytes()].concat().as_slice()));
}

/// A vector of four numbers for each text, by its length, the last text first.
fn by_length(asked: &Value) -> Says {
    let texts = asked["input"].as_array().unwrap().iter().enumerate();
    let items = texts.map(|(index, text)| {
        let length = text.as_str().unwrap().len();
        json!({ "object": "embedding", "index": index, "embedding": [3.0, length, 0.0, -1.0] })
    });
    let items: Vec<Value> = items.rev().collect();
    Says::well(json!({ "object": "list", "data": items }).to_string())
}

fn card(named: &EndpointSetting) -> EndpointCard {
    EndpointCard {
        url: named.url.clone(),
        model: named.model.clone(),
        dimensions: 4,
        unrelated: None,
    }
}

fn endpoint(script: Script) -> (Endpoint, Receiver<ReceivedRequest>) {
    let (named, asked) = start_server(script);
    let card = card(&named);
    (Endpoint::new(named, &card), asked)
}

#[test]
fn a_batch_is_one_request_and_its_vectors_are_unit_and_in_order() {
    let (mut embedder, asked) = endpoint(by_length);
    let texts = ["a", "four", "", "a longer text"];
    let vectors = embedder.embed_batch(&texts).unwrap();
    for (text, vector) in texts.iter().zip(&vectors) {
        // An empty text is sent as a blank.
        let length = text.len().max(1) as f32;
        let size = (10.0 + length * length).sqrt();
        assert!(
            (vector[1] - length / size).abs() < 1e-6,
            "{text}: {vector:?}"
        );
        let norm: f32 = vector.iter().map(|x| x * x).sum();
        assert!((norm - 1.0).abs() < 1e-5);
    }
    let (head, body) = asked.recv().unwrap();
    assert!(head.starts_with("POST /v1/embeddings "), "{head}");
    assert_eq!(
        (&body["model"], &body["input"][1]),
        (&json!("tiny"), &json!("four"))
    );
    assert!(asked.try_recv().is_err(), "one request");
    assert_eq!(embedder.embed_query("four").unwrap(), vectors[1]);
    assert_eq!(embedder.batch_size_max(), BATCH);
}

#[test]
fn no_secret_leaves_and_a_key_goes_along() {
    let (named, asked) = start_server(by_length);
    let card = card(&named);
    let named = EndpointSetting {
        key: Some("sesame".to_owned()),
        ..named
    };
    let mut endpoint = Endpoint::new(named, &card);
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let text = format!("the token is {secret} and <private>my salary</private> is mine");
    endpoint.embed(&text).unwrap();
    let (head, body) = asked.recv().unwrap();
    assert!(
        head.to_ascii_lowercase()
            .contains("authorization: bearer sesame"),
        "{head}"
    );
    let sent = body.to_string();
    assert!(sent.contains("the token is"), "{sent}");
    assert!(!sent.contains(secret) && !sent.contains("salary"), "{sent}");
}

#[test]
fn every_bad_answer_is_one_sentence_and_the_endpoint_is_left_alone_for_a_while() {
    let cases: [(&str, Script); 12] = [
        ("numbers and had 4", |_| {
            Says::well(r#"{"data":[{"embedding":[1,2,3]}]}"#.into())
        }),
        ("not JSON with vectors", |_| {
            Says::well(r#"{"data":[{"embedding":[1,NaN,3,4]}]}"#.into())
        }),
        ("no number", |_| {
            Says::well(r#"{"data":[{"embedding":[1,null,3,4]}]}"#.into())
        }),
        ("not JSON with vectors", |_| {
            Says::well(r#"{"data":[{"embedding":[1,1e39,3,4]}]}"#.into())
        }),
        ("all zeros", |_| {
            Says::well(r#"{"data":[{"embedding":[0,0,0,0]}]}"#.into())
        }),
        ("not JSON with vectors", |_| {
            Says::well("<html><body>Sign in</body></html>".into())
        }),
        ("0 vectors for 1", |_| Says::well(r#"{"data":[]}"#.into())),
        ("out of range", |_| {
            Says::well(r#"{"data":[{"index":7,"embedding":[1,2,3,4]}]}"#.into())
        }),
        ("status 500", |_| Says {
            status: 500,
            ..Says::well(String::new())
        }),
        ("status 302", |_| Says {
            status: 302,
            headers: "location: http://127.0.0.1:1/\r\n",
            ..Says::well(String::new())
        }),
        ("status 401", |_| Says {
            status: 401,
            ..Says::well(String::new())
        }),
        ("status 429", |_| Says {
            status: 429,
            headers: "retry-after: 30\r\n",
            ..Says::well(String::new())
        }),
    ];
    for (says, script) in cases {
        let (mut embedder, asked) = endpoint(script);
        let error = embedder.embed("text").unwrap_err();
        let EmbedError::Unavailable { message } = &error else {
            panic!("{says}: {error}");
        };
        assert!(
            message.contains(says) && !message.contains('\n'),
            "{says}: {message}"
        );
        let again = embedder.embed("text").unwrap_err().to_string();
        assert!(again.contains("asked again in"), "{again}");
        assert!(says != "status 429" || again.contains("30 s"), "{again}");
        assert_eq!(asked.try_iter().count(), 1, "{says}: asked once");
    }
}

#[test]
fn a_slow_one_costs_its_deadline_and_a_refused_text_is_that_texts_alone() {
    let (slow, _asked) = endpoint(|asked| Says {
        after: Duration::from_secs(4),
        ..by_length(asked)
    });
    // Were it waited for, its answer would be there.
    let error = slow
        .request_vectors(&["text"], Duration::from_millis(200))
        .unwrap_err();
    assert!(matches!(error, EmbedError::Unavailable { .. }), "{error}");

    let (mut embedder, asked) = endpoint(|asked| {
        if asked.to_string().contains("forbidden") {
            return Says {
                status: 400,
                ..Says::well(r#"{"error":"too long"}"#.into())
            };
        }
        by_length(asked)
    });
    let error = embedder.embed("forbidden").unwrap_err();
    assert!(matches!(error, EmbedError::Engine { .. }), "{error}");
    embedder.embed("another").unwrap();
    assert_eq!(asked.try_iter().count(), 2);
}

#[test]
fn a_closed_port_plain_http_to_another_machine_and_no_address_are_said() {
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for (setting, says) in [
        (
            format!("http://{closed}/v1/embeddings#m"),
            "gives no vectors",
        ),
        (
            "http://models.example/v1/embeddings#m".to_owned(),
            "plain HTTP",
        ),
    ] {
        let named = EndpointSetting::parse(&setting).unwrap();
        let card = card(&named);
        let mut embedder = Endpoint::new(named, &card);
        let error = embedder.embed("text").unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    for bad in [
        "https://",
        "https://host/v1/embeddings",
        "https:///x#m",
        "https://host#",
    ] {
        assert!(
            EndpointSetting::parse(bad)
                .unwrap_err()
                .contains("no endpoint"),
            "{bad}"
        );
    }
    let leaves = |setting: &str| EndpointSetting::parse(setting).unwrap().leaves_machine();
    assert!(leaves("https://api.example/v1/embeddings#m"));
    assert!(!leaves("http://localhost:11434/v1/embeddings#m"));
    assert!(!leaves("http://[::1]:80/v1/embeddings#m"));
}
