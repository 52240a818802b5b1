//! Bounds of what waits.

use super::*;

fn report(text: &str) -> HookReport {
    HookReport {
        session: "s".to_owned(),
        text: text.to_owned(),
        ..HookReport::default()
    }
}

fn empty_queue() -> (tempfile::TempDir, Unsent, UserId) {
    let folder = tempfile::tempdir().unwrap();
    let unsent = Unsent {
        folder: folder.path().join("unsent"),
        name: "a".to_owned(),
    };
    (folder, unsent, "ada".parse().unwrap())
}

#[test]
fn of_too_many_the_oldest_go_and_are_counted() {
    let (folder, unsent, ada) = empty_queue();
    unsent
        .push(&ada, "Stop", report("the first of all"))
        .unwrap();
    let file = folder.path().join("unsent/a.jsonl");
    let line = fs_err::read_to_string(&file).unwrap();
    let many: String = (0..MOMENTS_MAX)
        .map(|number| line.replace("the first of all", &format!("number {number}.")))
        .collect();
    fs_err::write(&file, many).unwrap();
    unsent.push(&ada, "Stop", report("one too many")).unwrap();
    let lines = unsent.read_lines().unwrap();
    let stay = MOMENTS_MAX * STAY_PERCENT / 100;
    assert_eq!(lines.len(), stay + 1);
    let dropped = MOMENTS_MAX - stay;
    assert_eq!(unsent.read_tally().dropped, dropped as u64);
    assert!(
        lines[0].contains(&format!("number {dropped}.")),
        "{}",
        lines[0]
    );
    assert!(lines[stay].contains("one too many"));
    // By bytes as by count.
    let long = report(&"x".repeat(8_000));
    let text = serde_json::to_string(&long).unwrap();
    let count = BYTES_MAX / text.len();
    fs_err::write(
        &file,
        line.replace("the first of all", &"x".repeat(8_000))
            .repeat(count),
    )
    .unwrap();
    unsent.push(&ada, "Stop", long).unwrap();
    let held: usize = unsent
        .read_lines()
        .unwrap()
        .iter()
        .map(|line| line.len() + 1)
        .sum();
    assert!(held <= BYTES_MAX, "{held}");
    assert!(unsent.read_tally().dropped > dropped as u64);
}

#[test]
fn a_batch_is_of_one_user_and_a_line_that_cannot_be_read_is_one_of_its_own() {
    let line = |user: &str| {
        let moment = HookArguments {
            event: "Stop".to_owned(),
            report: report("said"),
        };
        let user = user.parse().unwrap();
        let folder = None;
        serde_json::to_string(&UnsentLine {
            user,
            moment,
            folder,
        })
        .unwrap()
    };
    let lines = [line("ada"), line("ada"), line("bob"), "{".to_owned()];
    let taken = |from: usize, most: usize| {
        let (user, moments, sent) = next_batch(&lines[from..], most);
        (user.map(|user| user.to_string()), moments.len(), sent)
    };
    assert_eq!(taken(0, 8), (Some("ada".to_owned()), 2, 2));
    assert_eq!(taken(0, 1), (Some("ada".to_owned()), 1, 1));
    assert_eq!(taken(2, 8), (Some("bob".to_owned()), 1, 1));
    assert_eq!(taken(3, 8), (None, 0, 1));
}

#[test]
fn a_line_that_was_cut_within_a_letter_keeps_no_other_back() {
    let (folder, unsent, ada) = empty_queue();
    assert!(unsent.is_empty());
    unsent.push(&ada, "Stop", report("one")).unwrap();
    assert!(!unsent.is_empty());
    let file = folder.path().join("unsent/a.jsonl");
    let mut bytes = fs_err::read(&file).unwrap();
    bytes.extend(b"{\"user\":\"\xc3");
    fs_err::write(&file, bytes).unwrap();
    unsent.push(&ada, "Stop", report("two")).unwrap();
    let lines = unsent.read_lines().unwrap();
    let taken = |from: usize| next_batch(&lines[from..], 8).1.len();
    assert_eq!((lines.len(), [0, 1, 2].map(taken)), (3, [1, 0, 1]));
}

#[test]
fn an_event_that_a_hook_handed_over_waits_for_its_turn() {
    let (folder, unsent, ada) = empty_queue();
    unsent.push(&ada, "Stop", report("one")).unwrap();
    let line = fs_err::read(folder.path().join("unsent/a.jsonl")).unwrap();
    let others = Folder::open_or_create_no_follow(&folder.path().join("unsent")).unwrap();
    let turn = others.lock(unsent.file_name("lock"), TURN).unwrap();
    std::thread::scope(|scope| {
        let pushed = scope.spawn(|| unsent.push_from(&mut line.as_slice(), |_| Ok(String::new())));
        // Another process has the file for longer than a hook would wait.
        std::thread::sleep(TURN * 2);
        drop(turn);
        pushed.join().unwrap().unwrap();
    });
    assert_eq!(unsent.count_waiting(), 2);
}

#[test]
fn no_part_of_a_waiting_event_has_a_secret() {
    let (folder, unsent, ada) = empty_queue();
    let secret = ["sk-ant-api03", &"Ab1".repeat(31), "AA"].join("-");
    let with_secret = HookReport {
        text: format!("the key is {secret}"),
        command: format!("curl -H 'x-api-key: {secret}'"),
        printed: format!("ANTHROPIC_API_KEY={secret}"),
        files: vec![format!("keys/{secret}")],
        ..report("")
    };
    unsent.push(&ada, "PostToolUse", with_secret).unwrap();
    let kept = fs_err::read_to_string(folder.path().join("unsent/a.jsonl")).unwrap();
    assert!(!kept.contains(&secret), "{kept}");
}
