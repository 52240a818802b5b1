//! One thing said in several forms: support that was dropped, approvals that are enough, what was
//! turned off, who is vegetarian, the version of something named.

use super::*;

#[test]
fn what_is_said_in_another_form_stands_against_what_was_so() {
    let contrary = [
        // Support, added and dropped.
        ("We support Node 16.", "Dropped support for Node 16."),
        (
            "The CLI supports Solaris.",
            "Support for Solaris was removed from the CLI.",
        ),
        (
            "The plugin supports themes.",
            "The plugin's support for themes was discontinued.",
        ),
        (
            "The importer does not support ODS files.",
            "We added support for ODS files to the importer.",
        ),
        (
            "The gateway accepts SOAP requests.",
            "The gateway stopped accepting SOAP requests.",
        ),
        (
            "Push messages are available on watches.",
            "Push messages are no longer available on watches.",
        ),
        (
            "The old printer works with the new driver.",
            "The old printer does not work with the new driver.",
        ),
        (
            "Wir unterstützen Safari 12.",
            "Wir unterstützen Safari 12 nicht mehr.",
        ),
        ("这个插件支持深色模式。", "这个插件不再支持深色模式。"),
        // How many are needed.
        (
            "Two approvals are needed to merge.",
            "One approval is enough to merge.",
        ),
        (
            "A hotfix requires two signatures.",
            "A single signature suffices for a hotfix.",
        ),
        (
            "Every design needs 3 votes.",
            "Only 2 votes are required for every design.",
        ),
        // Versions of something named.
        ("The backend runs Node 18.", "The backend runs Node 22."),
        ("We are on Django 4.2.", "We upgraded to Django 5.1."),
        (
            "The image is built on Debian 11.",
            "The image was bumped to Debian 12.",
        ),
        (
            "The index is at generation 7.",
            "The index is at generation 9.",
        ),
        // States that somebody changed.
        (
            "The nightly sweep is enabled.",
            "We turned off the nightly sweep.",
        ),
        (
            "Two-factor sign-in is off.",
            "We switched two-factor sign-in on.",
        ),
        ("The audit stream is active.", "The audit stream is paused."),
        (
            "The coffee machine is broken.",
            "The coffee machine works again.",
        ),
        // What somebody eats, drinks and prefers.
        ("Nora is vegetarian.", "Nora eats meat."),
        ("Nora eats no fish.", "Nora eats fish again."),
        ("Omar is a vegan.", "Omar eats eggs now."),
        ("Omar drinks wine.", "Omar is a teetotaller."),
        ("Nora prefers trains.", "Nora prefers planes over trains."),
        ("Petra isst kein Fleisch.", "Petra isst wieder Fleisch."),
        ("小李吃素。", "小李现在吃肉了。"),
    ];
    let missed = contrary.iter().filter(|(old, new)| {
        let is_contrary = |a, b| matches!(judge_texts(a, b), Judgement::Contradiction(_));
        !is_contrary(old, new) || !is_contrary(new, old)
    });
    let missed: Vec<_> = missed.collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn forms_that_are_about_something_else_hold_beside_each_other() {
    let both_hold = [
        ("We support Node 18.", "Dropped support for Node 16."),
        (
            "The CLI supports Solaris.",
            "Support for Solaris was removed from the installer.",
        ),
        (
            "Added support for ODS files.",
            "Dropped support for XLS files.",
        ),
        (
            "The gateway accepts SOAP requests.",
            "The archive stopped accepting SOAP requests.",
        ),
        (
            "Two approvals are needed to merge.",
            "One approval is enough for a hotfix.",
        ),
        ("Every design needs 3 votes.", "Every design needs 2 weeks."),
        ("We need three chairs.", "We need five chairs."),
        ("The backend runs Node 18.", "The frontend runs Node 22."),
        ("The backend runs Node 18.", "The backend runs Python 3."),
        (
            "Step 3 fails on revision 41.",
            "Step 3 passes on revision 57.",
        ),
        (
            "We turned off the nightly sweep.",
            "The weekly sweep is enabled.",
        ),
        ("Nora is vegetarian.", "Omar eats meat."),
        ("Nora is vegetarian.", "Nora eats bread and cheese."),
        ("Nora is vegan.", "Nora ate meat as a child."),
        ("Nora eats no red meat.", "Nora eats meat on Sundays."),
        ("Nora is vegan.", "Nora is vegetarian."),
        (
            "The coffee machine is broken.",
            "The tea machine works again.",
        ),
        ("I eat meat.", "Nora is vegetarian."),
        ("We may drop support for Node 16.", "We support Node 16."),
        ("小李吃素。", "小王现在吃肉了。"),
        (
            "The auditors visited Lyon in March.",
            "The auditors visited Lyon again in October.",
        ),
        ("Petra met Jonas in Rome.", "Petra met Jonas in Oslo again."),
    ];
    let alarms = both_hold.iter().filter(|(one, other)| {
        let is_contrary = |a, b| matches!(judge_texts(a, b), Judgement::Contradiction(_));
        is_contrary(one, other) || is_contrary(other, one)
    });
    let alarms: Vec<_> = alarms.collect();
    assert!(alarms.is_empty(), "{alarms:#?}");
}

#[test]
fn numbers_in_words_differ_as_numbers_in_digits_do() {
    for (one, other) in [("fifteen", "sixty"), ("eleven", "forty"), ("fifteen", "60")] {
        let [one, other] =
            [one, other].map(|count| format!("The session cookie lives for {count} minutes"));
        let judged = judge_texts(&one, &other);
        assert!(
            matches!(judged, Judgement::Contradiction(_)),
            "{one} / {other}: {judged:?}"
        );
    }
    let same = "The session cookie lives for 15 minutes";
    let words = "The session cookie lives for fifteen minutes";
    assert_eq!(judge_texts(same, words), Judgement::Same);
}

#[test]
fn a_number_is_one_however_its_thousands_are_parted() {
    let says = |amount: &str| format!("Claims over {amount} need two signatures.");
    let notations = |amount: &str| {
        let parted = [" ", ",", ".", "'", "\u{a0}", "\u{202f}"];
        let parted = parted.map(|mark| format!("{amount}{mark}000"));
        let whole = [format!("{amount}000"), format!("{amount}k")];
        parted.into_iter().chain(whole).collect::<Vec<String>>()
    };
    for one in notations("50") {
        for same in notations("50") {
            let judged = judge_texts(&says(&one), &says(&same));
            assert_eq!(judged, Judgement::Same, "{one} / {same}");
        }
        for other in notations("80") {
            let judged = judge_texts(&says(&one), &says(&other));
            assert!(
                matches!(judged, Judgement::Contradiction(_)),
                "{one} / {other}: {judged:?}"
            );
        }
    }
    // Of another kind of thing another amount may hold.
    let judged = judge_texts(&says("50 000"), "Loans over 80 000 need two signatures.");
    assert!(!matches!(judged, Judgement::Contradiction(_)), "{judged:?}");
    // Neither a version, a list nor a decimal has thousands.
    for (one, other) in [
        (
            "The worker needs version 1.25",
            "The worker needs version 125",
        ),
        ("The rooms 12, 345 are locked", "The rooms 12345 are locked"),
        (
            "The ratio of the mixer is 1.250",
            "The ratio of the mixer is 1250",
        ),
    ] {
        assert_ne!(judge_texts(one, other), Judgement::Same, "{one} / {other}");
    }
}
