//! The terms that the analyser makes of texts and queries.

use super::*;

fn stems(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let reading = AnalyserConfig::for_text(Language::detect(text));
    for_each_term(text, &reading, |term| all.push(term.key.to_owned()));
    all
}

#[test]
fn english_is_stemmed_and_loses_its_stop_words() {
    assert_eq!(
        stems("The races were racing, and I fixed the race conditions"),
        ["race", "race", "fix", "race", "condit"]
    );
}

#[test]
fn contractions_leave_no_crumbs() {
    assert_eq!(
        stems("I'm sure it\u{2019}s Bob's, they'd don't"),
        ["sure", "bob", "don"]
    );
    // These letters are words when they are separate.
    assert_eq!(stems("plan d t"), ["plan", "d", "t"]);
}

#[test]
fn identifiers_are_found_by_their_parts_and_as_a_whole() {
    assert_eq!(stems("session_manager.rs"), ["session", "manag", "rs"]);
    assert_eq!(stems("HTTPServer"), ["http", "server", "httpserver"]);
    assert_eq!(stems("iPhone"), ["phone", "iphon"]);
    assert_eq!(stems("SHA256 D1:17"), ["sha256", "d1", "17"]);
    assert_eq!(stems("NASA Maria"), ["nasa", "maria"]);
}

#[test]
fn other_scripts_are_findable() {
    assert_eq!(
        stems("\u{732b}\u{5728}Kyoto"),
        ["\u{732b}", "\u{5728}", "\u{732b}\u{5728}", "kyoto"]
    );
    assert_eq!(stems("\u{732b}"), ["\u{732b}"]);
    // A Korean word is split into pairs, so that a joined particle does not hide it.
    let (server, of_server) = ("\u{c11c}\u{bc84}", "\u{c11c}\u{bc84}\u{b97c}");
    assert!(stems(of_server).contains(&server.to_owned()));
    // Composed and decomposed accents, and none, are one word.
    for word in ["cafe\u{301}", "caf\u{e9}", "CAFE", "\u{ff23}afe"] {
        assert_eq!(stems(word), ["cafe"], "{word}");
    }
    assert_eq!(
        stems("Stra\u{df}e \u{141}\u{f3}d\u{17a}"),
        ["strass", "lodz"]
    );
    assert_eq!(
        stems("\u{1f600}\u{1f680} go!!"),
        ["\u{1f600}", "\u{1f680}", "go"]
    );
}

#[test]
fn a_letter_that_is_written_in_two_ways_is_one() {
    let parts = |text: &str| text.nfd().collect::<String>();
    let korean = "\u{bc30}\u{d3ec} \u{c804}\u{c5d0} \u{bc31}\u{c5c5}\u{c744}";
    let kana = "\u{30d0}\u{30c3}\u{30af}\u{30a2}\u{30c3}\u{30d7} \u{304c}\u{304e}";
    for text in [korean, kana, "Caf\u{e9} \u{dc}bung"] {
        assert_ne!(parts(text), text);
        assert_eq!(stems(&parts(text)), stems(text), "{text}");
    }
    assert_eq!(stems("o\u{fb03}ce \u{fb02}oor"), stems("office floor"));
    assert_eq!(stems("\u{1d41d}eploy"), stems("deploy"));
    assert_eq!(stems("STRA\u{1e9e}E"), stems("stra\u{df}e"));
    assert_eq!(stems("\u{130}stanbul"), stems("istanbul"));
}

#[test]
fn each_language_has_its_own_stems() {
    let russian = "\u{41c}\u{438}\u{433}\u{440}\u{430}\u{446}\u{438}\u{438}";
    let one = "\u{43c}\u{438}\u{433}\u{440}\u{430}\u{446}\u{438}\u{44f}";
    assert_eq!(stems(russian), stems(one));
    for (text, language) in [
        (
            "Der Server startet nicht, weil der Speicher voll ist",
            Language::German,
        ),
        (
            "El servidor no arranca porque la memoria est\u{e1} llena",
            Language::Spanish,
        ),
        (
            "Le serveur ne d\u{e9}marre pas car la m\u{e9}moire est pleine",
            Language::French,
        ),
        (
            "De server start niet omdat het geheugen vol is",
            Language::Dutch,
        ),
        (
            "O servidor n\u{e3}o inicia porque a mem\u{f3}ria est\u{e1} cheia",
            Language::Portuguese,
        ),
        (
            "Servern startar inte f\u{f6}r att minnet \u{e4}r fullt",
            Language::Swedish,
        ),
        (
            "\u{30b5}\u{30fc}\u{30d0}\u{30fc}\u{304c}\u{8d77}\u{52d5}\u{3057}\u{306a}\u{3044}",
            Language::Japanese,
        ),
        (
            "\u{670d}\u{52a1}\u{5668}\u{65e0}\u{6cd5}\u{542f}\u{52a8} redis",
            Language::Chinese,
        ),
        (russian, Language::Russian),
        (
            "The server does not start because its memory is full",
            Language::English,
        ),
        ("kill -9 did not help: the die was cast", Language::English),
        ("restart redis-cache-2", Language::English),
        (
            "Der Spiegel wrote about the outage that we had in May",
            Language::English,
        ),
    ] {
        assert_eq!(Language::detect(text), language, "{text}");
    }
}

/// Whether a query finds a text by one of its words, in a store with the languages `held`.
fn finds(question: &str, text: &str, held: &[Language]) -> bool {
    let own: BTreeSet<String> = stems(text).into_iter().collect();
    let asked = analyse_query(question, held).terms;
    asked.iter().any(|term| {
        let mut keys = std::iter::once(&term.stem).chain(&term.forms);
        keys.any(|key| own.contains(key))
    })
}

#[test]
fn a_question_is_read_in_every_language_of_the_store() {
    let german =
        "Die Sicherungen der Datenbanken werden nachts auf den Speicherger\u{e4}ten abgelegt";
    let held = [Language::German];
    assert!(finds("Sicherung", german, &held));
    assert!(finds("Geraet", german, &held), "a part, without umlauts");
    assert!(finds("Bank", german, &held), "a part at the end");
    assert!(!finds("Rate", german, &held));
    let spanish = "La navegaci\u{f3}n fall\u{f3} y hubo que reiniciar los servidores";
    assert!(
        finds("navegacion", spanish, &[Language::Spanish]),
        "without accents"
    );
    assert!(finds("servidor", spanish, &[Language::Spanish]));
    // Stop words of the query's language are removed; in English they are words.
    let words = |question: &str, held: &[Language]| {
        let terms = analyse_query(question, held).terms.into_iter();
        terms.map(|term| term.surface).collect::<Vec<_>>()
    };
    assert_eq!(
        words("Wann lief die Sicherung?", &held),
        ["lief", "Sicherung"]
    );
    assert_eq!(words("why did the worker die?", &held), ["worker", "die"]);
    assert_eq!(words("Wann lief die Sicherung?", &[]).len(), 4);
}

#[test]
fn what_a_text_is_taken_for_hides_it_from_no_english_question() {
    let text = "Deploying the caches was faster; universities' queries die in an RPCServer, cafes";
    let english: Vec<QueryTerm> = analyse_query(text, &[]).terms;
    let of = |language| {
        let mut keys = Vec::new();
        for_each_term(text, &AnalyserConfig::for_text(language), |term| {
            if term.role == TermRole::Word {
                keys.push(term.key.to_owned());
            }
        });
        keys
    };
    let own = of(Language::English);
    assert!(english.iter().all(|term| own.contains(&term.stem)));
    for language in [Language::Spanish, Language::Russian, Language::Swedish] {
        assert_eq!(of(language), own, "{language:?}");
    }
}

#[test]
fn joined_words_are_taken_apart_into_what_the_store_holds() {
    let held = |known: &'static [&'static str]| move |key: &str| known.contains(&key);
    let parts = |word: &str, known| split_compound(word, &[Language::German], held(known));
    let both = Some(["sicher".to_owned(), "lauf".to_owned()]);
    assert_eq!(parts("Sicherungslauf", &["sicher", "lauf"]), both);
    assert_eq!(parts("Sicherungslauf", &["sicher"]), None);
    assert_eq!(parts("Lauf", &["lauf"]), None);
    assert_eq!(split_compound("Sicherungslauf", &[], |_| true), None);
}

proptest::proptest! {
    #[test]
    fn no_text_is_too_strange(text in r"(\PC|[\u{e4}\u{f6}\u{df}a-z]|[\u{430}-\u{44f}]|[\u{621}-\u{64a}]){0,40}") {
        for number in 0..22_u8 {
            let language = ALL_CODES.split(' ').nth(usize::from(number)).and_then(Language::from_code);
            let language = language.unwrap();
            language.stem_variants(&text.to_lowercase());
            for_each_term(&text, &AnalyserConfig::for_text(language), |term| {
                assert!(!term.key.is_empty() && term.key.len() <= TERM_BYTES_MAX);
                assert!(text.contains(term.surface));
            });
            analyse_query(&text, &[language]);
        }
    }
}

const ALL_CODES: &str = "en da de es fi fr hu it nl no pt ro sv tr ru el ar ta zh ja ko th";

#[test]
fn blobs_are_cut_not_exploded() {
    let blob = "aB".repeat(5_000);
    let terms = stems(&blob);
    assert_eq!(terms.len(), 1);
    assert_eq!(terms[0].len(), TERM_BYTES_MAX);
}

#[test]
fn a_question_counts_its_repetitions_and_keeps_its_spelling() {
    let query = analyse_query("Running, ran; runs the RACE", &[]);
    let seen: Vec<_> = query
        .terms
        .iter()
        .map(|t| (t.stem.as_str(), t.surface.as_str(), t.count))
        .collect();
    assert_eq!(seen, [("run", "Running", 3), ("race", "RACE", 1)]);
}

#[test]
fn an_endless_question_is_cut() {
    let query = analyse_query(&"\u{e9}tude ".repeat(100_000), &[]);
    assert_eq!(query.terms.len(), 2);
    let bytes: usize = query.terms.iter().map(|t| t.count as usize * 7).sum();
    assert!(bytes <= QUERY_BYTES_MAX + 7, "{bytes}");
}

#[test]
fn words_are_found_in_every_form_and_identifiers_whole_or_in_part() {
    let text = "It races; the authModule raced on caf\u{e9} RACE day.";
    let found = |words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let ranges = find_ranges_of_words(text, &words);
        ranges.into_iter().map(|r| &text[r]).collect::<Vec<_>>()
    };
    assert_eq!(found(&["racing"]), ["races", "raced", "RACE"]);
    assert_eq!(found(&["auth"]), ["auth"]);
    assert_eq!(found(&["authModule", "module"]), ["authModule"]);
    assert_eq!(found(&["caf\u{e9}", "the"]), ["caf\u{e9}"]);
    assert!(found(&[]).is_empty());
}
