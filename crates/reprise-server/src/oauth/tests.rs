//! Sign-ins from the first request to the last renewal, and everybody who is in the way.

use std::net::Ipv4Addr;

use tempfile::TempDir;

use super::*;
use crate::testing::AdjustableClock;
use crate::tokens::Scope;

const BASE: &str = "http://127.0.0.1:7341";
/// The address of the asking client.
const STRANGER: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 9));
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
/// Of the verifier, as RFC 7636 (appendix B) has it.
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

type SpoilExchange = fn(&mut TokenRequest, &str);
type SpoilAsking = fn(&mut AuthorizeRequest);

struct Home {
    oauth: Oauth,
    tokens: Arc<TokenFile>,
    clock: Arc<AdjustableClock>,
    place: DaemonPaths,
    folder: TempDir,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = DaemonPaths::new(&folder.path().join("d"), Some(folder.path()));
        place.create_folders().unwrap();
        // What a token opens is asked of the system's clock, for which none of these ends.
        let clock = AdjustableClock::to(4_000_000_000);
        let tokens = Arc::new(TokenFile::new(place.tokens()));
        let oauth = Self::new_oauth(&place, &tokens, &clock);
        Self {
            oauth,
            tokens,
            clock,
            place,
            folder,
        }
    }

    fn new_oauth(
        place: &DaemonPaths,
        tokens: &Arc<TokenFile>,
        clock: &Arc<AdjustableClock>,
    ) -> Oauth {
        let clock = Arc::clone(clock) as Arc<dyn Clock>;
        Oauth::new(OauthOptions::default(), place, Arc::clone(tokens), clock).unwrap()
    }

    fn advance(&self, by: TimeDelta) {
        self.clock.advance(by);
    }

    fn register_client(&self, name: &str) -> String {
        let metadata = json!({ "client_name": name, "redirect_uris": ["http://127.0.0.1/cb"] });
        let registered = self
            .oauth
            .register(serde_json::from_value(metadata).unwrap());
        registered.unwrap()["client_id"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    fn authorize_request(client: &str) -> AuthorizeRequest {
        let some = |text: &str| Some(text.to_owned());
        AuthorizeRequest {
            client_id: some(client),
            redirect_uri: some("http://127.0.0.1:51004/cb"),
            response_type: some("code"),
            code_challenge: some(CHALLENGE),
            code_challenge_method: some("S256"),
            state: some("s&1"),
            resource: some("http://127.0.0.1:7341/mcp"),
        }
    }

    /// What a browser waits by, and the code that a person is shown.
    fn begin(&self, client: &str) -> (String, String) {
        let handle = self
            .oauth
            .begin_browser_sign_in(Self::authorize_request(client), BASE, STRANGER)
            .unwrap();
        let SignInProgress::Asked { code, .. } = self.oauth.poll(&handle, BASE) else {
            panic!("it waits for a person");
        };
        (handle, code)
    }

    /// The code of a sign-in that ada confirmed.
    fn confirm_and_get_code(&self, client: &str) -> String {
        let (handle, code) = self.begin(client);
        self.oauth.decide(&code, "ada".parse().ok()).unwrap();
        let SignInProgress::Redirect(to) = self.oauth.poll(&handle, BASE) else {
            panic!("it goes back");
        };
        assert_eq!(
            self.oauth.poll(&handle, BASE),
            SignInProgress::Ended,
            "once"
        );
        let (at, code) = to.split_once("?code=").unwrap();
        assert_eq!(at, "http://127.0.0.1:51004/cb");
        let (code, rest) = code.split_once('&').unwrap();
        assert_eq!(rest, "iss=http%3A%2F%2F127.0.0.1%3A7341&state=s%261");
        code.to_owned()
    }

    fn code_exchange(client: &str, code: &str) -> TokenRequest {
        let some = |text: &str| Some(text.to_owned());
        TokenRequest {
            grant_type: some("authorization_code"),
            client_id: some(client),
            code: some(code),
            redirect_uri: some("http://127.0.0.1:51004/cb"),
            code_verifier: some(VERIFIER),
            ..TokenRequest::default()
        }
    }

    fn refresh_exchange(client: &str, refresh: &str) -> TokenRequest {
        TokenRequest {
            grant_type: Some("refresh_token".to_owned()),
            client_id: Some(client.to_owned()),
            refresh_token: Some(refresh.to_owned()),
            ..TokenRequest::default()
        }
    }

    fn device_exchange(client: &str, code: &Value) -> TokenRequest {
        TokenRequest {
            grant_type: Some(GRANTS[2].to_owned()),
            client_id: Some(client.to_owned()),
            device_code: code.as_str().map(str::to_owned),
            ..TokenRequest::default()
        }
    }

    fn opened_scope(&self, token: &str) -> Option<Scope> {
        self.tokens.recognise(token).map(|entry| entry.scope)
    }

    fn refusal_of(&self, with: &TokenRequest) -> &'static str {
        self.oauth.exchange(with).unwrap_err().error
    }
}

#[test]
fn a_program_signs_in_through_a_browser_once_somebody_confirms() {
    let home = Home::new();
    let client = home.register_client("Claude");
    let code = home.confirm_and_get_code(&client);
    let tokens = home
        .oauth
        .exchange(&Home::code_exchange(&client, &code))
        .unwrap();
    let ada = Scope::User("ada".parse().unwrap());
    assert_eq!(home.opened_scope(&tokens.access), Some(ada));
    assert_eq!(
        home.opened_scope(&tokens.refresh),
        None,
        "it renews and opens nothing"
    );
    assert!(tokens.name.starts_with("oauth-Claude-"), "{}", tokens.name);
    let text = fs_err::read_to_string(home.place.tokens()).unwrap();
    assert!(!text.contains(&tokens.access) && !text.contains(&tokens.refresh));
    // A code that comes twice is in two hands: what came of it is withdrawn.
    assert_eq!(
        home.refusal_of(&Home::code_exchange(&client, &code)),
        "invalid_grant"
    );
    assert_eq!(home.opened_scope(&tokens.access), None);
    assert_eq!(
        home.refusal_of(&Home::code_exchange(&client, &code)),
        "invalid_grant"
    );
    assert!(home.tokens.list().unwrap().is_empty());
    // A restart forgets what was under way, and no registration.
    let again = Home::new_oauth(&home.place, &home.tokens, &home.clock);
    assert!(
        again
            .begin_browser_sign_in(Home::authorize_request(&client), BASE, STRANGER)
            .is_ok()
    );
}

#[test]
fn a_code_is_for_whoever_asked_for_it_and_for_a_minute() {
    let home = Home::new();
    let (client, other) = (home.register_client("one"), home.register_client("two"));
    let spoils: [SpoilExchange; 5] = [
        |with, _| with.code_verifier = Some("x".repeat(43)),
        |with, _| with.code_verifier = None,
        |with, _| with.redirect_uri = Some("http://127.0.0.1:1/cb".to_owned()),
        |with, other| with.client_id = Some(other.to_owned()),
        |with, _| with.code = Some("0".repeat(64)),
    ];
    for spoil in spoils {
        let mut with = Home::code_exchange(&client, &home.confirm_and_get_code(&client));
        spoil(&mut with, &other);
        assert_eq!(home.refusal_of(&with), "invalid_grant", "{with:?}");
    }
    let code = home.confirm_and_get_code(&client);
    home.advance(CODE_LIFETIME);
    assert_eq!(
        home.refusal_of(&Home::code_exchange(&client, &code)),
        "invalid_grant"
    );
    // Nobody confirms in time, or somebody refuses.
    let (late, code) = home.begin(&client);
    home.advance(CONFIRM_WITHIN);
    assert_eq!(home.oauth.poll(&late, BASE), SignInProgress::Ended);
    assert_eq!(home.oauth.decide(&code, "ada".parse().ok()), None);
    let (handle, code) = home.begin(&client);
    let decided = home
        .oauth
        .decide(&code.to_lowercase().replace('-', " "), None)
        .unwrap();
    assert_eq!(decided.client, "one");
    let SignInProgress::Redirect(to) = home.oauth.poll(&handle, BASE) else {
        panic!("it goes back");
    };
    assert!(to.contains("?error=access_denied&iss="), "{to}");
    assert!(home.tokens.list().unwrap().is_empty());
}

#[test]
fn nothing_is_sent_to_an_address_that_nobody_registered() {
    let home = Home::new();
    let client = home.register_client("one");
    let ask = |change: &dyn Fn(&mut AuthorizeRequest)| {
        let mut asking = Home::authorize_request(&client);
        change(&mut asking);
        home.oauth
            .begin_browser_sign_in(asking, BASE, STRANGER)
            .unwrap_err()
    };
    for elsewhere in [
        "https://eve.example/cb",
        "http://127.0.0.1:1/other",
        "http://127.0.0.1@e/",
    ] {
        let stopped = ask(&|asking| asking.redirect_uri = Some(elsewhere.to_owned()));
        assert_eq!(stopped.error, "invalid_request");
    }
    let (body, tag) = client.split_once('.').unwrap();
    let mut forged = BASE64URL_NOPAD.decode(body.as_bytes()).unwrap();
    forged[20] ^= 1;
    let forged = format!("{}.{tag}", BASE64URL_NOPAD.encode(&forged));
    for client in [
        forged.as_str(),
        "",
        ".",
        "a.b",
        &"a".repeat(CLIENT_BYTES_MAX + 1),
    ] {
        let stopped = ask(&|asking| asking.client_id = Some(client.to_owned()));
        assert_eq!(stopped, UNKNOWN_CLIENT);
    }
    let spoils: [(SpoilAsking, &str); 5] = [
        (
            |asking| asking.response_type = Some("token".to_owned()),
            "unsupported_response_type",
        ),
        (
            |asking| asking.code_challenge_method = Some("plain".to_owned()),
            "invalid_request",
        ),
        (
            |asking| asking.code_challenge = Some("short".to_owned()),
            "invalid_request",
        ),
        (|asking| asking.code_challenge = None, "invalid_request"),
        (
            |asking| asking.resource = Some("https://other.example/mcp".to_owned()),
            "invalid_target",
        ),
    ];
    for (spoil, error) in spoils {
        assert_eq!(ask(&spoil).error, error, "it is shown, and goes nowhere");
    }
    for bad in [
        json!({ "redirect_uris": ["http://eve.example/cb"] }),
        json!({ "redirect_uris": vec!["https://a.example/"; REDIRECTS_MAX + 1] }),
        json!({ "token_endpoint_auth_method": "client_secret_post" }),
    ] {
        let registered = home
            .oauth
            .register(serde_json::from_value(bad.clone()).unwrap());
        assert!(registered.is_err(), "{bad}");
    }
}

#[test]
fn a_terminal_signs_in_by_a_code_that_a_person_types() {
    let home = Home::new();
    let client = home.register_client("cli");
    let begun = home
        .oauth
        .begin_device_sign_in(Some(&client), BASE, STRANGER)
        .unwrap();
    let with = Home::device_exchange(&client, &begun["device_code"]);
    assert_eq!(home.refusal_of(&with), "authorization_pending");
    assert_eq!(home.refusal_of(&with), "slow_down");
    home.advance(POLL_INTERVAL);
    assert_eq!(home.refusal_of(&with), "authorization_pending");
    let typed = begun["user_code"].as_str().unwrap();
    assert_eq!(typed.len(), sign::CODE_LETTERS + 1);
    let decided = home.oauth.decide(typed, "ada".parse().ok()).unwrap();
    assert_eq!(decided.to, "a terminal");
    assert_eq!(
        home.oauth.decide(typed, "eve".parse().ok()),
        None,
        "decided once"
    );
    let others = Home::device_exchange(&home.register_client("other"), &begun["device_code"]);
    assert_eq!(home.refusal_of(&others), "invalid_grant");
    let tokens = home.oauth.exchange(&with).unwrap();
    assert!(home.opened_scope(&tokens.access).is_some());
    assert_eq!(home.refusal_of(&with), "expired_token", "once");
    let begun = home
        .oauth
        .begin_device_sign_in(Some(&client), BASE, STRANGER)
        .unwrap();
    home.oauth
        .decide(begun["user_code"].as_str().unwrap(), None)
        .unwrap();
    let with = Home::device_exchange(&client, &begun["device_code"]);
    assert_eq!(home.refusal_of(&with), "access_denied");
}

#[test]
fn a_refresh_token_works_once_and_a_stolen_one_ends_the_sign_in() {
    let home = Home::new();
    let client = home.register_client("one");
    let sign_in = || {
        let code = home.confirm_and_get_code(&client);
        home.oauth
            .exchange(&Home::code_exchange(&client, &code))
            .unwrap()
    };
    let first = sign_in();
    let second = home
        .oauth
        .exchange(&Home::refresh_exchange(&client, &first.refresh))
        .unwrap();
    assert_eq!(second.name, first.name);
    assert_eq!(
        home.opened_scope(&first.access),
        None,
        "the old one is gone"
    );
    assert!(home.opened_scope(&second.access).is_some());
    let other = Home::refresh_exchange(&home.register_client("two"), &second.refresh);
    assert_eq!(home.refusal_of(&other), "invalid_grant");
    assert_eq!(
        home.refusal_of(&Home::refresh_exchange(&client, &first.refresh)),
        "invalid_grant"
    );
    assert_eq!(
        home.opened_scope(&second.access),
        None,
        "nobody knows who the thief is"
    );
    assert_eq!(
        home.refusal_of(&Home::refresh_exchange(&client, &second.refresh)),
        "invalid_grant"
    );
    // A guess writes nothing.
    let file = || {
        let file = fs_err::metadata(home.place.tokens()).unwrap();
        std::os::unix::fs::MetadataExt::ino(&file)
    };
    let before = file();
    let guess = Home::refresh_exchange(&client, "rpr_0");
    assert_eq!(home.refusal_of(&guess), "invalid_grant");
    assert_eq!(file(), before);
    home.tokens.sign_out("rpr_0").unwrap();
    assert_eq!(file(), before);
    // It ends by itself, and is withdrawn like any other.
    let third = sign_in();
    let entry = home.tokens.recognise(&third.access).unwrap();
    assert_eq!(
        entry.expires,
        Some(home.clock.now() + TimeDelta::seconds(third.seconds))
    );
    home.advance(TimeDelta::days(61));
    assert_eq!(
        home.refusal_of(&Home::refresh_exchange(&client, &third.refresh)),
        "invalid_grant"
    );
    let fourth = sign_in();
    assert_eq!(
        home.tokens.list().unwrap().len(),
        1,
        "what nobody renews makes room"
    );
    home.tokens.sign_out(&fourth.refresh).unwrap();
    assert_eq!(home.opened_scope(&fourth.access), None);
    drop(home.folder);
}

#[test]
fn a_stranger_who_asks_without_end_drives_out_no_other_sign_in() {
    let home = Home::new();
    let client = home.register_client("one");
    let own = |last| IpAddr::V4(Ipv4Addr::new(198, 51, 100, last));
    let request = || Home::authorize_request(&client);
    let begin = |from| home.oauth.begin_browser_sign_in(request(), BASE, from);
    let (waiting, approved) = (begin(own(1)).unwrap(), begin(own(2)).unwrap());
    let SignInProgress::Asked { code, .. } = home.oauth.poll(&approved, BASE) else {
        panic!("it waits for a person");
    };
    home.oauth.decide(&code, "ada".parse().ok()).unwrap();
    let asked = (0..200).map(|_| {
        home.oauth
            .begin_device_sign_in(Some(&client), BASE, STRANGER)
    });
    let asked: Vec<_> = asked.collect();
    let begun = asked.iter().filter(|begun| begun.is_ok()).count();
    assert_eq!(begun, PENDING_OF_CLIENT_MAX);
    assert_eq!(asked.last(), Some(&Err(TOO_MANY)));
    // Nor do many strangers together.
    for last in 3..=255 {
        for _ in 0..4 {
            let _begun = begin(own(last)).is_ok();
        }
    }
    assert_eq!(home.oauth.live_sign_ins().len(), PENDING_MAX);
    assert!(matches!(
        home.oauth.poll(&waiting, BASE),
        SignInProgress::Asked { .. }
    ));
    assert!(matches!(
        home.oauth.poll(&approved, BASE),
        SignInProgress::Redirect(_)
    ));
    // What has ended makes room.
    home.advance(CONFIRM_WITHIN);
    assert!(begin(STRANGER).is_ok());
}
