//! What waits for the disk holds nobody up who does not.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use reprise_types::{Clock as _, SystemClock};

use super::*;

/// However slow the machine is, a disk that does not answer is slower.
const SILENCE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_health_check_waits_for_no_file_of_tokens() {
    let running = run().await;
    let token = TokenFile::new(running.place.tokens());
    let token = token.add("ci", Scope::All, SystemClock.now()).unwrap();
    let ask = |path: &str| {
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}",
            running.http
        );
        let http = running.http;
        async move {
            let mut stream = TcpStream::connect(http).await.unwrap();
            let text = format!("{head}\r\nConnection: close\r\n\r\n");
            stream.write_all(text.as_bytes()).await.unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            answer
        }
    };
    let (held, holds) = channel();
    let (checked, ends) = channel::<()>();
    let tokens = Arc::clone(&running.tokens);
    let disk = std::thread::spawn(move || {
        let _reading = tokens.hold();
        held.send(()).unwrap();
        ends.recv_timeout(SILENCE).is_ok()
    });
    holds.recv().unwrap();
    let waits = tokio::spawn(ask("/v1/status"));
    for _ in 0..100 {
        running.client.read(&Call::get("/health/live")).await;
    }
    assert!(!waits.is_finished());
    let _is_over = checked.send(()).is_err();
    assert!(disk.join().unwrap(), "the checks waited, too");
    assert!(waits.await.unwrap().starts_with("HTTP/1.1 200"));
    running.end().await;
}
