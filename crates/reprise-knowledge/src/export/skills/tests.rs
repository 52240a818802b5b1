//! Tests of proposed skills, and of the files that are already there.

use std::fs;

use reprise_types::{MemorySource, NewRecord};

use super::*;
use crate::record_for_tests::record_from_new;

fn lesson(number: u32, text: &str, tags: &[&str], successes: usize) -> (MemoryRecord, usize) {
    let mut new = NewRecord::new(text, MemorySource::UserInput, MemoryKind::Finding);
    new.tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
    (record_from_new(new, number), successes)
}

#[test]
fn what_helped_three_times_is_proposed_in_the_form_of_agent_skills() {
    let shop = "project:github.com/acme/shop";
    let found = propose_skills(&[
        lesson(
            1,
            "Round coupons once.\n\nPer cart, never per line.",
            &[shop, "Money"],
            3,
        ),
        lesson(
            2,
            "Book refunds in the month of the sale.",
            &[shop, "Money"],
            5,
        ),
        lesson(3, "Only twice.", &[shop, "Money"], 2),
        lesson(4, "Between us.", &["sensitive"], 9),
        lesson(5, "Elsewhere.", &[], 4),
    ])
    .unwrap();
    let names: Vec<(&str, usize)> = found
        .iter()
        .map(|one| (one.name.as_str(), one.lessons))
        .collect();
    assert_eq!(names, [("lessons", 1), ("shop-money", 2)]);
    let (front, body) = crate::import::split_front_matter(&found[1].content);
    assert_eq!(front["name"], "shop-money");
    let description = front["description"].as_str().unwrap();
    assert!(description.len() <= 1_024 && description.contains("Round coupons once."));
    // The most helpful lesson comes first.
    let places = [
        "## Book refunds",
        "## Round coupons once.\n\nPer cart, never per line.\n",
    ];
    let places = places.map(|part| body.find(part).unwrap());
    assert!(places[0] < places[1], "{body}");
    assert!(!body.contains("Only twice") && !found[0].content.contains("Between us"));
}

#[test]
fn subjects_that_have_one_name_are_told_apart_within_its_bound() {
    let tags: Vec<String> = (0..40_u8)
        .map(|number| "\u{441}".repeat(number.into()))
        .collect();
    let lessons: Vec<_> = (1..)
        .zip(&tags)
        .map(|(number, tag)| lesson(number, "Deploy on Thursdays.", &[tag.as_str()], 3))
        .collect();
    let found = propose_skills(&lessons).unwrap();
    let names: BTreeSet<&str> = found.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names.len(), 40);
    assert!(names.iter().all(|name| name.len() <= 64), "{names:?}");
}

#[test]
fn a_file_that_a_person_wrote_or_changed_stays_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let (place, home) = (folder.path().join("skills"), folder.path().join("home"));
    fs::create_dir_all(&home).unwrap();
    let propose = |text: &str| {
        let one =
            propose_skills(&[lesson(1, text, &["ops"], 3), lesson(2, "b", &["dev"], 3)]).unwrap();
        write_skills(&place, &home, &one).unwrap()
    };
    let first = propose("Deploy on Thursdays.");
    assert_eq!(
        (first.written, first.unchanged, first.kept.len()),
        (2, 0, 0)
    );
    let again = propose("Deploy on Thursdays.");
    assert_eq!((again.written, again.unchanged), (0, 2));
    assert_eq!(propose("Deploy on Mondays.").written, 1);
    let file = place.join("ops/SKILL.md");
    fs::write(&file, "mine").unwrap();
    let kept = propose("Deploy on Fridays.");
    assert_eq!((kept.written, &kept.kept), (0, &vec![file.clone()]));
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    // One that stood there before.
    let theirs = place.join("net/SKILL.md");
    fs::create_dir(place.join("net")).unwrap();
    fs::write(&theirs, "theirs").unwrap();
    let one = propose_skills(&[lesson(3, "c", &["net"], 3)]).unwrap();
    assert_eq!(write_skills(&place, &home, &one).unwrap().kept, [theirs]);
}
