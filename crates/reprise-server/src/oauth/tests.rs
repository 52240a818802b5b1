//! Sign-ins from the first request to the last renewal, and everybody who is in the way.

use tempfile::TempDir;

use super::*;
use crate::testing::Set;
use crate::tokens::Scope;

const BASE: &str = "http://127.0.0.1:7341";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
/// Of the verifier, as RFC 7636 (appendix B) has it.
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

type SpoilExchange = fn(&mut Exchange, &str);
type SpoilAsking = fn(&mut Asking);

struct Home {
    oauth: Oauth,
    tokens: Arc<TokenFile>,
    clock: Arc<Set>,
    place: Place,
    folder: TempDir,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::new(&folder.path().join("d"), Some(folder.path()));
        place.prepare().unwrap();
        // What a token opens is asked of the system's clock, for which none of these ends.
        let clock = Set::to(4_000_000_000);
        let tokens = Arc::new(TokenFile::new(place.tokens()));
        let oauth = Self::begun(&place, &tokens, &clock);
        Self {
            oauth,
            tokens,
            clock,
            place,
            folder,
        }
    }

    fn begun(place: &Place, tokens: &Arc<TokenFile>, clock: &Arc<Set>) -> Oauth {
        let clock = Arc::clone(clock) as Arc<dyn Clock>;
        Oauth::new(OauthOptions::default(), place, Arc::clone(tokens), clock).unwrap()
    }

    fn advance(&self, by: TimeDelta) {
        self.clock.advance(by);
    }

    fn client(&self, name: &str) -> String {
        let asked = json!({ "client_name": name, "redirect_uris": ["http://127.0.0.1/cb"] });
        let registered = self.oauth.register(serde_json::from_value(asked).unwrap());
        registered.unwrap()["client_id"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    fn asking(client: &str) -> Asking {
        let some = |text: &str| Some(text.to_owned());
        Asking {
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
        let known_by = self.oauth.authorize(Self::asking(client), BASE).unwrap();
        let Waited::Asked { code, .. } = self.oauth.wait(&known_by, BASE) else {
            panic!("it waits for a person");
        };
        (known_by, code)
    }

    /// The code of a sign-in that ada confirmed.
    fn confirmed(&self, client: &str) -> String {
        let (known_by, code) = self.begin(client);
        self.oauth.decide(&code, "ada".parse().ok()).unwrap();
        let Waited::Back(to) = self.oauth.wait(&known_by, BASE) else {
            panic!("it goes back");
        };
        assert_eq!(self.oauth.wait(&known_by, BASE), Waited::Over, "once");
        let (at, code) = to.split_once("?code=").unwrap();
        assert_eq!(at, "http://127.0.0.1:51004/cb");
        let (code, rest) = code.split_once('&').unwrap();
        assert_eq!(rest, "iss=http%3A%2F%2F127.0.0.1%3A7341&state=s%261");
        code.to_owned()
    }

    fn by_code(client: &str, code: &str) -> Exchange {
        let some = |text: &str| Some(text.to_owned());
        Exchange {
            grant_type: some("authorization_code"),
            client_id: some(client),
            code: some(code),
            redirect_uri: some("http://127.0.0.1:51004/cb"),
            code_verifier: some(VERIFIER),
            ..Exchange::default()
        }
    }

    fn by_refresh(client: &str, refresh: &str) -> Exchange {
        Exchange {
            grant_type: Some("refresh_token".to_owned()),
            client_id: Some(client.to_owned()),
            refresh_token: Some(refresh.to_owned()),
            ..Exchange::default()
        }
    }

    fn by_device(client: &str, code: &Value) -> Exchange {
        Exchange {
            grant_type: Some(GRANTS[2].to_owned()),
            client_id: Some(client.to_owned()),
            device_code: code.as_str().map(str::to_owned),
            ..Exchange::default()
        }
    }

    fn opens(&self, token: &str) -> Option<Scope> {
        self.tokens.recognise(token).map(|entry| entry.scope)
    }

    fn refused(&self, with: &Exchange) -> &'static str {
        self.oauth.exchange(with).unwrap_err().error
    }
}

#[test]
fn a_program_signs_in_through_a_browser_once_somebody_confirms() {
    let home = Home::new();
    let client = home.client("Claude");
    let code = home.confirmed(&client);
    let tokens = home.oauth.exchange(&Home::by_code(&client, &code)).unwrap();
    let ada = Scope::User("ada".parse().unwrap());
    assert_eq!(home.opens(&tokens.access), Some(ada));
    assert_eq!(
        home.opens(&tokens.refresh),
        None,
        "it renews and opens nothing"
    );
    assert!(tokens.name.starts_with("oauth-Claude-"), "{}", tokens.name);
    let text = fs_err::read_to_string(home.place.tokens()).unwrap();
    assert!(!text.contains(&tokens.access) && !text.contains(&tokens.refresh));
    // A code that comes twice is in two hands: what came of it is withdrawn.
    assert_eq!(
        home.refused(&Home::by_code(&client, &code)),
        "invalid_grant"
    );
    assert_eq!(home.opens(&tokens.access), None);
    assert_eq!(
        home.refused(&Home::by_code(&client, &code)),
        "invalid_grant"
    );
    assert!(home.tokens.list().unwrap().is_empty());
    // A restart forgets what was under way, and no registration.
    let again = Home::begun(&home.place, &home.tokens, &home.clock);
    assert!(again.authorize(Home::asking(&client), BASE).is_ok());
}

#[test]
fn a_code_is_for_whoever_asked_for_it_and_for_a_minute() {
    let home = Home::new();
    let (client, other) = (home.client("one"), home.client("two"));
    let spoils: [SpoilExchange; 5] = [
        |with, _| with.code_verifier = Some("x".repeat(43)),
        |with, _| with.code_verifier = None,
        |with, _| with.redirect_uri = Some("http://127.0.0.1:1/cb".to_owned()),
        |with, other| with.client_id = Some(other.to_owned()),
        |with, _| with.code = Some("0".repeat(64)),
    ];
    for spoil in spoils {
        let mut with = Home::by_code(&client, &home.confirmed(&client));
        spoil(&mut with, &other);
        assert_eq!(home.refused(&with), "invalid_grant", "{with:?}");
    }
    let code = home.confirmed(&client);
    home.advance(CODE_FOR);
    assert_eq!(
        home.refused(&Home::by_code(&client, &code)),
        "invalid_grant"
    );
    // Nobody confirms in time, or somebody refuses.
    let (late, code) = home.begin(&client);
    home.advance(ASKED_FOR);
    assert_eq!(home.oauth.wait(&late, BASE), Waited::Over);
    assert_eq!(home.oauth.decide(&code, "ada".parse().ok()), None);
    let (known_by, code) = home.begin(&client);
    let decided = home
        .oauth
        .decide(&code.to_lowercase().replace('-', " "), None)
        .unwrap();
    assert_eq!(decided.client, "one");
    let Waited::Back(to) = home.oauth.wait(&known_by, BASE) else {
        panic!("it goes back");
    };
    assert!(to.contains("?error=access_denied&iss="), "{to}");
    assert!(home.tokens.list().unwrap().is_empty());
}

#[test]
fn nothing_is_sent_to_an_address_that_nobody_registered() {
    let home = Home::new();
    let client = home.client("one");
    let ask = |change: &dyn Fn(&mut Asking)| {
        let mut asking = Home::asking(&client);
        change(&mut asking);
        home.oauth.authorize(asking, BASE).unwrap_err()
    };
    for elsewhere in [
        "https://eve.example/cb",
        "http://127.0.0.1:1/other",
        "http://127.0.0.1@e/",
    ] {
        let stopped = ask(&|asking| asking.redirect_uri = Some(elsewhere.to_owned()));
        assert!(matches!(stopped, Stopped::Here(_)), "{stopped:?}");
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
        assert_eq!(stopped, Stopped::Here(NO_CLIENT));
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
        let Stopped::Back(to) = ask(&spoil) else {
            panic!("{error} is told to the program");
        };
        assert!(
            to.starts_with(&format!("http://127.0.0.1:51004/cb?error={error}&")),
            "{to}"
        );
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
    let client = home.client("cli");
    let begun = home.oauth.device(Some(&client), BASE).unwrap();
    let with = Home::by_device(&client, &begun["device_code"]);
    assert_eq!(home.refused(&with), "authorization_pending");
    assert_eq!(home.refused(&with), "slow_down");
    home.advance(INTERVAL);
    assert_eq!(home.refused(&with), "authorization_pending");
    let typed = begun["user_code"].as_str().unwrap();
    assert_eq!(typed.len(), sign::CODE_LETTERS + 1);
    let decided = home.oauth.decide(typed, "ada".parse().ok()).unwrap();
    assert_eq!(decided.to, "a terminal");
    assert_eq!(
        home.oauth.decide(typed, "eve".parse().ok()),
        None,
        "decided once"
    );
    let others = Home::by_device(&home.client("other"), &begun["device_code"]);
    assert_eq!(home.refused(&others), "invalid_grant");
    let tokens = home.oauth.exchange(&with).unwrap();
    assert!(home.opens(&tokens.access).is_some());
    assert_eq!(home.refused(&with), "expired_token", "once");
    let begun = home.oauth.device(Some(&client), BASE).unwrap();
    home.oauth
        .decide(begun["user_code"].as_str().unwrap(), None)
        .unwrap();
    let with = Home::by_device(&client, &begun["device_code"]);
    assert_eq!(home.refused(&with), "access_denied");
}

#[test]
fn a_refresh_token_works_once_and_a_stolen_one_ends_the_sign_in() {
    let home = Home::new();
    let client = home.client("one");
    let sign_in = || {
        let code = home.confirmed(&client);
        home.oauth.exchange(&Home::by_code(&client, &code)).unwrap()
    };
    let first = sign_in();
    let second = home
        .oauth
        .exchange(&Home::by_refresh(&client, &first.refresh))
        .unwrap();
    assert_eq!(second.name, first.name);
    assert_eq!(home.opens(&first.access), None, "the old one is gone");
    assert!(home.opens(&second.access).is_some());
    let other = Home::by_refresh(&home.client("two"), &second.refresh);
    assert_eq!(home.refused(&other), "invalid_grant");
    assert_eq!(
        home.refused(&Home::by_refresh(&client, &first.refresh)),
        "invalid_grant"
    );
    assert_eq!(
        home.opens(&second.access),
        None,
        "nobody knows who the thief is"
    );
    assert_eq!(
        home.refused(&Home::by_refresh(&client, &second.refresh)),
        "invalid_grant"
    );
    // Whoever guesses makes nothing be written.
    let file = || {
        let file = fs_err::metadata(home.place.tokens()).unwrap();
        std::os::unix::fs::MetadataExt::ino(&file)
    };
    let before = file();
    let guess = Home::by_refresh(&client, "rpr_0");
    assert_eq!(home.refused(&guess), "invalid_grant");
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
        home.refused(&Home::by_refresh(&client, &third.refresh)),
        "invalid_grant"
    );
    let fourth = sign_in();
    assert_eq!(
        home.tokens.list().unwrap().len(),
        1,
        "what nobody renews makes room"
    );
    home.tokens.sign_out(&fourth.refresh).unwrap();
    assert_eq!(home.opens(&fourth.access), None);
    drop(home.folder);
}

#[test]
fn what_is_under_way_has_a_bound() {
    let home = Home::new();
    let client = home.client("one");
    let (first, _) = home.begin(&client);
    for _ in 0..ASKED_MAX {
        home.oauth.device(Some(&client), BASE).unwrap();
    }
    assert_eq!(
        home.oauth.wait(&first, BASE),
        Waited::Over,
        "the oldest made room"
    );
    assert_eq!(home.oauth.signs().len(), ASKED_MAX);
}
