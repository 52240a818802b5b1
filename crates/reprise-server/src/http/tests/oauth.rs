//! OAuth through the daemon's real door: what a client without a token is told, the whole way in,
//! and the tokens of somebody else's issuer.

use std::sync::Arc;

use reprise_tests::{assert_contains, assert_lacks};
use reprise_types::{Clock, SystemClock};

use super::*;
use crate::issuer::tests::Signer;
use crate::issuer::{Fetch, Issuer, IssuerSettings};
use crate::oauth::OauthOptions;

const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

async fn run_with_oauth(oauth: OauthOptions) -> RunningDaemon {
    let folder = tempfile::tempdir().unwrap();
    let place = DaemonPaths::new(&folder.path().join("d"), Some(folder.path()));
    let options = DaemonOptions {
        oauth: Some(oauth),
        ..options(&place)
    };
    run_with_options(folder, place, options).await
}

fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let lines = answer.split("\r\n\r\n").next()?.lines();
    let mut fields = lines.filter_map(|line| line.split_once(": "));
    let found = fields.find(|(field, _)| field.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value)
}

fn body(answer: &str) -> Value {
    let body = answer.split_once("\r\n\r\n").unwrap().1;
    serde_json::from_str(body).unwrap_or_else(|_| panic!("{answer}"))
}

async fn get(running: &RunningDaemon, path: &str, more: &str) -> (u16, String) {
    let host = running.http;
    raw(
        running,
        &format!("GET {path} HTTP/1.1\r\nHost: {host}{more}"),
        "",
    )
    .await
}

async fn post(running: &RunningDaemon, path: &str, media: &str, text: &str) -> (u16, String) {
    let host = running.http;
    let head = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {media}");
    raw(running, &head, text).await
}

const FORM: &str = "application/x-www-form-urlencoded";
const JSON: &str = "application/json";

/// Text in the answer of a tool that could open the memory.
const OPENED: &str = "structuredContent";

async fn mcp(running: &RunningDaemon, token: &str, user: &str) -> (u16, String) {
    let host = running.http;
    let call = json!({ "name": "tags", "arguments": {} });
    let asked = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call });
    let head = format!(
        "POST /mcp?user={user} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {JSON}\r\n\
         MCP-Protocol-Version: 2025-06-18\r\nAuthorization: Bearer {token}"
    );
    raw(running, &head, &asked.to_string()).await
}

#[tokio::test]
async fn a_refusal_names_what_a_client_reads_to_find_its_way_in() {
    let running = run_with_oauth(OauthOptions::default()).await;
    let base = format!("http://{}", running.http);
    let (status, refused) = mcp(&running, "rpr_0", "ada").await;
    assert_eq!(status, 401);
    let challenge = header(&refused, "www-authenticate").unwrap();
    let named = challenge.split('"').nth(1).unwrap();
    assert_eq!(
        named,
        format!("{base}/.well-known/oauth-protected-resource/mcp")
    );

    // A page of any origin may read what is public, and nothing else.
    let origin = "\r\nOrigin: https://inspector.example";
    let (status, answer) = get(&running, named.strip_prefix(&base).unwrap(), origin).await;
    assert_eq!(
        (status, header(&answer, "access-control-allow-origin")),
        (200, Some("*"))
    );
    let resource = body(&answer);
    assert_eq!(resource["resource"], format!("{base}/mcp"));
    assert_eq!(resource["authorization_servers"], json!([base]));
    assert_eq!(get(&running, "/oauth/approve", origin).await.0, 403);
    // By a stranger's name nobody signs in, whatever he shows, and that name is not repeated.
    for other in [
        "GET /.well-known/oauth-authorization-server HTTP/1.1\r\nHost: eve.example",
        "GET /oauth/approve HTTP/1.1\r\nHost: eve.example\r\nAuthorization: Bearer rpr_0",
        "OPTIONS /oauth/token HTTP/1.1\r\nHost: eve.example",
    ] {
        assert_eq!(raw(&running, other, "").await.0, 403, "{other}");
    }
    let named = "POST /mcp HTTP/1.1\r\nAuthorization: Bearer rpr_0\r\nHost: eve.example\", x=\"";
    let (_, refused) = raw(&running, named, "").await;
    assert_eq!(header(&refused, "www-authenticate"), Some("Bearer"));
    let asked = format!(
        "OPTIONS /oauth/token HTTP/1.1\r\nHost: {}{origin}",
        running.http
    );
    let (status, answer) = raw(&running, &asked, "").await;
    assert_eq!(
        (status, header(&answer, "access-control-allow-origin")),
        (200, Some("*"))
    );
    let (_, answer) = get(&running, "/.well-known/oauth-authorization-server", "").await;
    let server = body(&answer);
    assert_eq!(server["issuer"], base);
    assert_eq!(server["code_challenge_methods_supported"], json!(["S256"]));
    running.end().await;
}

#[tokio::test]
async fn a_client_signs_in_with_a_code_that_a_person_confirms() {
    let running = run_with_oauth(OauthOptions::default()).await;
    let program = json!({ "client_name": "<Eve> & co", "redirect_uris": ["http://localhost/cb"] });
    let (status, answer) = post(&running, "/oauth/register", JSON, &program.to_string()).await;
    assert_eq!(status, 201, "{answer}");
    let client = body(&answer)["client_id"].as_str().unwrap().to_owned();
    let asked = format!(
        "/oauth/authorize?response_type=code&client_id={client}&state=x&code_challenge={CHALLENGE}\
         &code_challenge_method=S256&redirect_uri=http%3A%2F%2Flocalhost%3A5555%2Fcb"
    );
    let (status, answer) = get(&running, &asked, "").await;
    assert_eq!(status, 303, "{answer}");
    let wait = header(&answer, "location").unwrap().to_owned();
    let (_, shown) = get(&running, &wait, "").await;
    assert_contains!(shown, "&lt;Eve&gt; &amp; co");
    assert_lacks!(shown, "<Eve>");
    assert!(
        header(&shown, "content-security-policy")
            .unwrap()
            .contains("default-src 'none'")
    );
    let code = shown.split("token approve ").nth(1).unwrap()[..9].to_owned();

    // With a token of one's own in the browser; a wrong one confirms nothing.
    let tokens = TokenFile::new(running.place.tokens());
    let own = tokens
        .add("phone", Scope::User(ada()), SystemClock.now())
        .unwrap();
    for (token, user, status) in [
        ("rpr_0", "", 403),
        (own.as_str(), "bob", 400),
        (own.as_str(), "a%2Fda", 400),
        (own.as_str(), "", 200),
    ] {
        let form = format!("code={code}&token={token}&user={user}&answer=yes");
        assert_eq!(
            post(&running, "/oauth/approve", FORM, &form).await.0,
            status
        );
    }
    let (status, answer) = get(&running, &wait, "").await;
    let to = header(&answer, "location").unwrap();
    assert_eq!(status, 303);
    let code = to.strip_prefix("http://localhost:5555/cb?code=").unwrap();
    let code = code.split('&').next().unwrap();
    let form = format!(
        "grant_type=authorization_code&client_id={client}&code={code}&code_verifier={VERIFIER}\
         &redirect_uri=http%3A%2F%2Flocalhost%3A5555%2Fcb"
    );
    let (status, answer) = post(&running, "/oauth/token", FORM, &form).await;
    assert_eq!(
        (status, header(&answer, "cache-control")),
        (200, Some("no-store")),
        "{answer}"
    );
    let made = body(&answer);
    let access = made["access_token"].as_str().unwrap();
    let (status, answer) = mcp(&running, access, "ada").await;
    assert!(status == 200 && answer.contains(OPENED), "{answer}");
    let (_, answer) = mcp(&running, access, "bob").await;
    assert_lacks!(answer, OPENED);
    // A token that a program has lets no other program in.
    let form = format!("code=AAAA-AAAA&token={access}");
    assert_eq!(post(&running, "/oauth/approve", FORM, &form).await.0, 403);
    let refresh = made["refresh_token"].as_str().unwrap();
    let form = format!("token={refresh}");
    assert_eq!(post(&running, "/oauth/revoke", FORM, &form).await.0, 200);
    assert_eq!(mcp(&running, access, "ada").await.0, 401);
    running.end().await;
}

#[tokio::test]
async fn a_terminal_is_confirmed_on_the_daemons_machine_alone() {
    let running = run_with_oauth(OauthOptions::default()).await;
    let (_, answer) = post(&running, "/oauth/register", JSON, "{}").await;
    let client = body(&answer)["client_id"].as_str().unwrap().to_owned();
    let form = format!("client_id={client}");
    let (_, answer) = post(&running, "/oauth/device", FORM, &form).await;
    let begun = body(&answer);
    let decision = json!({ "code": begun["user_code"], "user": "ada" });
    let tokens = TokenFile::new(running.place.tokens());
    let all = tokens.add("all", Scope::All, SystemClock.now()).unwrap();
    let head = format!(
        "POST /v1/oauth/approve HTTP/1.1\r\nHost: {}\r\nContent-Type: {JSON}\r\n\
         Authorization: Bearer {all}",
        running.http
    );
    assert_eq!(raw(&running, &head, &decision.to_string()).await.0, 403);
    let call = Call::post("/v1/oauth/approve", &decision);
    let decided: Value = running.client.ask(&call).await.unwrap();
    assert_eq!(decided["to"], "a terminal");
    let again = running.client.ask::<Value>(&call).await.unwrap_err();
    assert_eq!(again.kind, ProblemKind::NotFound);
    let device = begun["device_code"].as_str().unwrap();
    let grant = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code";
    let form = format!("grant_type={grant}&client_id={client}&device_code={device}");
    let (status, answer) = post(&running, "/oauth/token", FORM, &form).await;
    assert_eq!(status, 200, "{answer}");
    // What is wrong is said as the protocol has it, never as a 500.
    for (path, media, text) in [
        ("/oauth/token", FORM, "grant_type=password&client_id=x"),
        ("/oauth/token", JSON, "{}"),
        ("/oauth/device", FORM, "client_id=x"),
        ("/oauth/register", JSON, "[1]"),
        (
            "/oauth/register",
            JSON,
            "{\"redirect_uris\":[\"javascript:x\"]}",
        ),
    ] {
        let (status, answer) = post(&running, path, media, text).await;
        assert!((400..500).contains(&status), "{answer}");
        assert!(body(&answer)["error"].is_string(), "{answer}");
    }
    running.end().await;
}

#[tokio::test]
async fn without_oauth_nothing_of_it_is_there() {
    let running = run().await;
    for path in ["/.well-known/oauth-protected-resource", "/oauth/approve"] {
        assert_eq!(get(&running, path, "").await.0, 404);
    }
    let (_, refused) = mcp(&running, "rpr_0", "ada").await;
    assert_eq!(header(&refused, "www-authenticate"), Some("Bearer"));
    let asked = format!("OPTIONS /oauth/token HTTP/1.1\r\nHost: {}", running.http);
    let (_, answer) = raw(&running, &asked, "").await;
    assert_eq!(header(&answer, "access-control-allow-origin"), None);
    running.end().await;
}

#[tokio::test]
async fn a_configured_issuers_tokens_open_their_users_memory_and_no_other() {
    let signer = Signer::ed();
    let keys = json!({ "keys": [signer.jwk("k")] });
    let described =
        json!({ "issuer": "https://id.example", "jwks_uri": "https://id.example/keys" });
    let fetch: Fetch = Arc::new(move |url| {
        let is_keys = url.ends_with("/keys");
        let document = if is_keys { &keys } else { &described };
        Ok(document.to_string().into_bytes())
    });
    let settings = IssuerSettings {
        issuer: "https://id.example".to_owned(),
        audience: "https://memory.example/mcp".to_owned(),
        user_claim: "sub".to_owned(),
        scopes: Vec::new(),
    };
    let issuer = Issuer::new(settings, fetch, Arc::new(SystemClock));
    let running = run_with_oauth(OauthOptions {
        url: Some("https://memory.example".to_owned()),
        issuer: Some(issuer),
    })
    .await;
    let token = |audience: &str| {
        let ends = SystemClock.now().timestamp() + 60;
        let claims =
            json!({ "iss": "https://id.example", "aud": audience, "sub": "ada", "exp": ends });
        signer.token("k", &claims)
    };
    let good = token("https://memory.example/mcp");
    assert!(mcp(&running, &good, "ada").await.1.contains(OPENED));
    let (_, answer) = mcp(&running, &good, "bob").await;
    assert_lacks!(answer, OPENED);
    let (status, refused) = mcp(&running, &token("https://other.example"), "ada").await;
    assert_eq!(status, 401);
    assert_contains!(refused, "the token is for another server");
    let challenge = header(&refused, "www-authenticate").unwrap();
    assert_contains!(challenge, "\"https://memory.example/.well-known/");
    assert!(!challenge.contains("scope="), "none of ours: {challenge}");
    // Behind a proxy it is known by its public name; it issues nothing itself.
    let head = "GET /.well-known/oauth-protected-resource/mcp HTTP/1.1\r\nHost: memory.example";
    let (_, answer) = raw(&running, head, "").await;
    assert_eq!(
        body(&answer)["authorization_servers"],
        json!(["https://id.example"])
    );
    assert_eq!(
        get(&running, "/.well-known/oauth-authorization-server", "")
            .await
            .0,
        404
    );
    assert_eq!(post(&running, "/oauth/register", JSON, "{}").await.0, 404);
    running.end().await;
}
