//! What must be redacted, what must stay, and that no listed secret survives in any context.

use proptest::prelude::*;
use reprise_types::{MemoryKind, MemorySource, NewRecord};
use serde_json::json;

use super::Redactor;

fn clean(text: &str) -> String {
    Redactor::new().redact_text(text).text
}

#[test]
fn what_people_say_of_a_place_or_a_key_is_a_password_too() {
    for (text, secret) in [
        ("the password at the office is Elder7flower", "Elder7flower"),
        ("password in the meeting room is blau-wal9", "blau-wal9"),
        (
            "ssh key passphrase correct-horse-9-battery",
            "correct-horse-9-battery",
        ),
        (
            "ssh key passphrase velvet-Otter-41 unlocks the jump host",
            "velvet-Otter-41",
        ),
        (
            "the vault password Br0mbeere77 opens the safe",
            "Br0mbeere77",
        ),
        (
            "log in with mysql -u root -p=Tr0ub4dor&3 shop",
            "Tr0ub4dor&3",
        ),
        (
            "AKIAIOSFODNN7EXAMPLE with the key wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        ),
        (
            "AKIAIOSFODNN7EXAMPLE\nwJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        ),
    ] {
        assert!(!clean(text).contains(secret), "{text}");
    }
    for innocent in [
        "the password in the form is required",
        "the password at the prompt is not shown",
        "an ssh key passphrase protects the key on the disk",
        "the password dialog of version 2 opens twice",
        "a passphrase unlocks the key for 8 hours",
        "docker run -p=8080:80 and cargo test -p=core",
    ] {
        assert_eq!(clean(innocent), innocent);
    }
}

#[test]
fn the_digits_of_an_id_are_no_card_and_a_card_is_one_beside_an_id() {
    let id = "11111111-2222-3333-4444-555555550002";
    for text in [
        id.to_owned(),
        format!("session {id} ended"),
        format!("({id})"),
    ] {
        assert_eq!(clean(&text), text);
    }
    let mut name = id.to_owned();
    assert_eq!(Redactor::new().redact_name("session_id", &mut name), vec![]);
    assert_eq!(name, id);
    for text in [
        "4444-5555-5555-0002",
        "the card 4444555555550002 was charged",
        "11111111-2222-3333-4444-555555550002 4444-5555-5555-0002",
        "order-4444-555555550002",
    ] {
        assert_ne!(clean(text), text);
    }
}

#[test]
fn an_optional_kind_is_redacted_once_it_is_switched_on() {
    let page = include_str!("../rules.toml");
    let mut rules = crate::RedactionRules::from_toml(page).unwrap();
    let secrets = [
        ("iban", "DE89 3704 0044 0532 0130 00"),
        ("iban", "GB29NWBK60161331926819"),
        ("us_ssn", "219-09-9999"),
    ];
    let innocent = "call 555-01-22, order DE88 3704 0044 0532 0130 00, build 000-12-3456";
    for (_, secret) in secrets {
        assert_eq!(rules.redact(secret).text, secret);
    }
    rules.switch_on(&["iban".to_owned(), "us_ssn".to_owned()]);
    for (kind, secret) in secrets {
        let text = format!("it is {secret}, keep it");
        let expected = format!("it is [redacted:{kind}], keep it");
        assert_eq!(rules.redact(&text).text, expected);
    }
    assert_eq!(rules.redact(innocent).text, innocent);
    let unknown = crate::switch_on_kinds(&["passport".to_owned()]).unwrap_err();
    assert!(unknown.contains("choose from iban, us_ssn"), "{unknown}");
}

#[test]
fn each_shape_of_secret_is_replaced_by_its_kind() {
    let cases = [
        (
            "curl -H 'Authorization: Bearer abc123def456'",
            "authorization",
            "abc123def456",
        ),
        (
            "use bearer eW91LWZvdW5kLW1l1234 here",
            "bearer",
            "eW91LWZvdW5kLW1l1234",
        ),
        (
            "key AKIAIOSFODNN7EXAMPLE set",
            "aws_key",
            "AKIAIOSFODNN7EXAMPLE",
        ),
        (
            "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
            "github_token",
            "ghp_",
        ),
        (
            "github_pat_11ABCDEFG0abcdefghijklmnop",
            "github_token",
            "github_pat_",
        ),
        ("sk-proj-abcDEF123456ghiJKL789", "openai_key", "sk-proj"),
        (
            "sk-ant-api03-abcdefghijklmnopqrst",
            "anthropic_key",
            "sk-ant",
        ),
        ("xoxb-123456789012-abcdefGHIJ", "slack_token", "xoxb"),
        (
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.c2lnbmF0dXJl",
            "jwt",
            "eyJ",
        ),
        ("postgres://ada:hunter2@db/main", "url_password", "hunter2"),
        ("PASSWORD=correcthorse ./run", "assigned", "correcthorse"),
        ("export DB_PASSWORD='battery staple'", "assigned", "battery"),
        ("{\"api_key\": \"abcdef\"}", "assigned", "abcdef"),
        ("{\\\"client_secret\\\":\\\"zyx\\\"}", "assigned", "zyx"),
        (
            "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG",
            "assigned",
            "wJalrXUtnFEMI",
        ),
        ("password: hunter22", "assigned", "hunter22"),
    ];
    for (text, kind, secret) in cases {
        let redacted = Redactor::new().redact_text(text);
        assert!(
            redacted.text.contains(&format!("[redacted:{kind}]")),
            "{text} -> {}",
            redacted.text
        );
        assert!(
            !redacted.text.contains(secret),
            "{text} -> {}",
            redacted.text
        );
        assert_eq!(redacted.removed.len(), 1, "{text} -> {}", redacted.text);
    }
}

#[test]
fn a_private_key_goes_whole_even_when_its_end_is_missing() {
    let pem = "before\n-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nAAAA\n-----END RSA PRIVATE KEY-----\nafter";
    assert_eq!(clean(pem), "before\n[redacted:private_key]\nafter");
    let cut = "x -----BEGIN PRIVATE KEY-----\nMIIEow";
    assert_eq!(clean(cut), "x [redacted:private_key]");
}

#[test]
fn ordinary_prose_stays() {
    for text in [
        "the token bucket refills every second",
        "secret santa is on Friday",
        "Guard token refresh with a mutex",
        "session_manager.rs writes the token without a lock",
        "forgot password: click the link",
        "the secret: be kind to people",
        "bearer of bad news",
        "the bearer authentication-mechanisms are documented",
        "max_tokens: 256 and token count is low",
        "use sk-learn-style-estimators-everywhere",
        "author: Ada; authorization was discussed",
        "see https://example.org:8080/path?q=1",
        "risk-averse-planning-for-all-of-us",
    ] {
        assert_eq!(clean(text), text);
    }
}

#[test]
fn secret_keys_hide_their_values_at_any_depth_and_spelling() {
    let mut value = json!({
        "API-Key": "abc",
        "nested": [{"refreshToken": "def", "fine": "stays"}],
        "Authorization": {"scheme": "x"},
        "client_secret": 42,
        "token_count": 7,
        "has_token": true,
        "password": "",
        "x_credentials": ["a"],
    });
    assert_eq!(Redactor::new().redact_value("", &mut value).len(), 5);
    assert_eq!(
        value,
        json!({
            "API-Key": "[redacted:apikey]",
            "nested": [{"refreshToken": "[redacted:token]", "fine": "stays"}],
            "Authorization": "[redacted:authorization]",
            "client_secret": "[redacted:secret]",
            "token_count": 7,
            "has_token": true,
            "password": "",
            "x_credentials": "[redacted:credentials]",
        })
    );
    assert_eq!(Redactor::new().redact_value("", &mut value), []);
}

#[test]
fn a_record_is_clean_in_every_text_it_carries() {
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let mut record = NewRecord::new(secret, MemorySource::UserInput, MemoryKind::Episode);
    record.session_id = secret.to_owned();
    record.tags = vec![secret.to_owned()];
    record
        .metadata
        .insert(secret.to_owned(), json!([{"deep": secret}]));
    record.provenance.run_id = Some(secret.to_owned());
    record.provenance.source_refs = vec![secret.to_owned()];
    record.details = Some(json!({"text": secret}));
    record.text = format!(
        "one\n{secret}\nand -----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n\n{secret}"
    );
    let redactions = Redactor::new().redact_record(&mut record);
    let redactions: Vec<(&str, &str, u32)> = redactions
        .iter()
        .map(|one| (one.field.as_str(), one.rule.as_str(), one.line))
        .collect();
    assert_eq!(
        redactions,
        [
            ("text", "github_token", 2),
            ("text", "private_key", 3),
            ("text", "github_token", 7),
            ("session_id", "github_token", 1),
            ("tags.0", "github_token", 1),
            ("provenance.source_refs.0", "github_token", 1),
            ("provenance.run_id", "github_token", 1),
            ("metadata.[redacted:github_token].0.deep", "github_token", 1),
            ("metadata", "github_token", 1),
            ("details.text", "github_token", 1),
        ]
    );
    assert!(!format!("{record:?}").contains("ghp_"));
}

#[test]
fn names_lose_their_secrets_and_stay_equal_and_different() {
    let redactor = Redactor::new();
    let secrets = [
        "job ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "job ghp_bbcdefghijklmnopqrstuvwxyz0123456789",
        "AKIAIOSFODNN7EXAMPLE",
        "password=hunter22",
        "postgres://ada:hunter2@db/main",
    ];
    let mut seen = std::collections::BTreeSet::new();
    for secret in secrets {
        let stored = redactor.redacted_name(secret).into_owned();
        assert!(stored.contains("[redacted:"), "{stored}");
        assert_eq!(
            redactor.redacted_name(&stored),
            stored,
            "a redacted name does not change"
        );
        assert_eq!(redactor.redacted_name(secret), stored);
        assert!(seen.insert(stored));
    }
    assert_eq!(
        redactor
            .redacted_name("job 17 of 01ARZ3NDEKTSV4RRFFQ69G5FAV")
            .len(),
        36
    );
    let mut record = NewRecord::new("t", MemorySource::UserInput, MemoryKind::Episode);
    let name = reprise_types::ExternalId::new("batch", secrets[0]);
    record.external_ids = vec![name];
    record.session_id = secrets[1].to_owned();
    record.provenance.run_id = Some(secrets[2].to_owned());
    let redactions = redactor.redact_record(&mut record);
    let fields: Vec<&str> = redactions.iter().map(|one| one.field.as_str()).collect();
    assert_eq!(fields, ["session_id", "provenance.run_id", "external_id"]);
    assert_eq!(
        record.external_ids[0].id,
        redactor.redacted_name(secrets[0])
    );
    assert!(!format!("{record:?}").contains("ghp_"), "{record:?}");
}

#[test]
fn two_keys_that_redact_alike_keep_both_their_values() {
    let mut value = json!({
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789": "first",
        "ghp_bbcdefghijklmnopqrstuvwxyz0123456789": "second",
        "[redacted:github_token]": "third",
    });
    assert_eq!(Redactor::new().redact_value("", &mut value).len(), 2);
    assert_eq!(value.as_object().unwrap().len(), 3);
    let mut kept: Vec<&str> = value
        .as_object()
        .unwrap()
        .values()
        .filter_map(|v| v.as_str())
        .collect();
    kept.sort_unstable();
    assert_eq!(kept, ["first", "second", "third"]);
    let once = value.clone();
    assert_eq!(Redactor::new().redact_value("", &mut value), []);
    assert_eq!(value, once);
}

#[test]
fn a_long_text_is_cut_before_it_is_looked_at_and_no_secret_is_cut_in_half() {
    let secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let limit = reprise_types::limits::TEXT_BYTES_MAX;
    for before in [limit - 10, 2 * limit - 10] {
        let filler = "ab ".repeat(before / 3);
        let text = format!("{filler}{secret} {}", "cd ".repeat(200_000));
        let mut record = NewRecord::new(text.clone(), MemorySource::UserInput, MemoryKind::Episode);
        Redactor::new().redact_record(&mut record);
        assert!(record.text.len() <= 2 * limit, "it was cut first");
        assert_eq!(
            record.truncate_text(limit),
            Some(text.len()),
            "and is said whole"
        );
        assert!(!record.text.contains("ghp_"));
    }
}

#[test]
fn netrc_is_no_rule_for_prose() {
    for text in [
        "login qa@example.io, password is in 1Password",
        "login qa@example.io password is in 1Password",
        "the machine login password reset flow",
        "default login ada password policy applies",
    ] {
        assert_eq!(clean(text), text);
    }
    for text in [
        "machine a.example.org login ada password hunter",
        "machine a.example.org\n  login ada\n  password hunter\nmachine b.example.org",
        "machine build login ada password Tr0ub4dor&3",
    ] {
        assert!(clean(text).contains("[redacted:netrc]"), "{text}");
    }
}

fn secret() -> impl Strategy<Value = String> {
    prop_oneof![
        "AKIA[A-Z0-9]{16}",
        "gh[pousr]_[A-Za-z0-9]{36}",
        "github_pat_[A-Za-z0-9_]{22,60}",
        "sk-[A-Za-z0-9]{20,40}7[A-Za-z0-9]{4}",
        "sk-proj-[A-Za-z0-9]{20,40}7[A-Za-z0-9]{4}",
        "sk-ant-api03-[A-Za-z0-9]{20,60}",
        "xox[bpars]-[0-9]{10,12}-[A-Za-z0-9]{20,24}",
        "eyJ[A-Za-z0-9_-]{10,30}\\.eyJ[A-Za-z0-9_-]{10,30}\\.[A-Za-z0-9_-]{10,30}",
        "Bearer [A-Za-z0-9._-]{16,30}5",
        "password=[a-z]{2}[0-9!#][A-Za-z0-9!#]{2,16}",
        "-----BEGIN (RSA |EC |OPENSSH )?PRIVATE KEY-----\n[A-Za-z0-9+/\n]{20,90}\n-----END",
    ]
}

proptest! {
    #[test]
    fn no_listed_secret_survives_wherever_it_stands(
        before in "[ -~\\n\u{e9}\u{65e5}]{0,40}",
        secret in secret(),
        after in "[ -~\\n]{0,40}",
    ) {
        let redacted = Redactor::new().redact_text(&format!("{before} {secret} {after}"));
        let core = secret.trim_start_matches("Bearer ").trim_start_matches("password=");
        prop_assert!(!redacted.text.contains(core), "{}", redacted.text);
        prop_assert!(!redacted.removed.is_empty());
    }

    #[test]
    fn redacting_twice_changes_nothing_more(
        text in "([ -~\\n]|password=|token: |\"secret\": \"|password:\n|\\| key \\||\u{ff1a}|\u{200b}\
            |Kx7!mmQ2|<private>|</private>|&quot;|login: |://a:b@|kind: Secret\ndata:\n){0,60}"
    ) {
        let once = Redactor::new().redact_text(&text);
        let twice = Redactor::new().redact_text(&once.text);
        prop_assert_eq!(&twice.text, &once.text);
    }
}
