//! Every wait of shipped code against the tables of `docs/builders/deadlines.md`: each has a row
//! that says whom it serves and for how long, and each row has a wait.

use std::collections::BTreeMap;

use reprise_tests::SourceFile;

/// The page that has a row for each wait.
pub(super) const PAGE: &str = "docs/builders/deadlines.md";
/// Measures a memory and waits for nobody.
const BENCHES: &str = "crates/reprise/src/cli/bench";
/// Moments and distances of data, not waits.
const DATA: [&str; 4] = [
    "OLDEST_SECONDS",
    "MESSAGE_SECONDS",
    "TURN_SECONDS",
    "YEAR_SECONDS",
];

/// The file and the name of a wait.
type Wait = (String, String);

pub(super) fn waits_without_row(sources: &[SourceFile], page: &str) -> Vec<String> {
    let mut rows = read_rows(page);
    let mut complaints = Vec::new();
    for source in sources {
        if source.path.starts_with(BENCHES) {
            continue;
        }
        let file = source.path.trim_start_matches("crates/");
        for (name, time) in find_waits(source) {
            let wait = (file.to_owned(), name);
            let (file, name) = &wait;
            match (rows.remove(&wait), time) {
                (None, _) => complaints.push(format!("{file}: `{name}` has no row in {PAGE}")),
                (Some(said), Some(time)) if said != time => {
                    complaints.push(format!("{file}: `{name}` is {time}, its row says {said}"));
                }
                (Some(_), _) => {}
            }
        }
    }
    let idle = rows.into_keys();
    complaints.extend(idle.map(|(file, name)| format!("{file}: no wait is called `{name}`")));
    complaints
}

/// Returns how long each wait is by the rows of the page.
fn read_rows(page: &str) -> BTreeMap<Wait, String> {
    page.lines().filter_map(read_row).collect()
}

fn read_row(line: &str) -> Option<(Wait, String)> {
    let mut cells = line.strip_prefix("| `")?.split(" | ");
    let name = cells.next()?.trim_end_matches('`').to_owned();
    let file = cells.next()?.trim_matches('`').to_owned();
    let time = cells.nth(1)?.to_owned();
    Some(((file, name), time))
}

/// The waits of a source, with how long each is where that is a number.
fn find_waits(source: &SourceFile) -> BTreeMap<String, Option<String>> {
    let lines = source.product_lines().map(|(_, line)| line);
    let waits = lines.flat_map(|line| {
        let built = line.split("Duration::from_").skip(1);
        let before = line.split("Duration::from_").next().unwrap_or_default();
        let built = built.filter_map(move |call| {
            let (unit, argument) = call.split_once('(')?;
            let argument = argument.split(')').next()?;
            let is_constant = argument.starts_with(|first: char| !first.is_lowercase());
            is_constant.then(|| (name_in(before), time_of(argument, unit)))
        });
        built.chain(counted_constant(line))
    });
    waits
        .filter(|(name, _)| !DATA.contains(&name.as_str()))
        .collect()
}

/// A constant that counts milliseconds or seconds by its name.
fn counted_constant(line: &str) -> Option<(String, Option<String>)> {
    let (_, rest) = line.split_once("const ")?;
    let (name, rest) = rest.split_once(": ")?;
    let (_, value) = rest.split_once(" = ")?;
    let unit = match name.rsplit_once('_')?.1 {
        "MS" => "millis",
        "SECONDS" => "secs",
        _ => return None,
    };
    let value = value.trim_matches(['"', ';']);
    Some((name.to_owned(), time_of(value, unit)))
}

/// The constant, field or function that a wait is given to.
fn name_in(before: &str) -> String {
    let is_word = |one: char| one.is_alphanumeric() || one == '_';
    if let Some((_, named)) = before.split_once("const ") {
        return named
            .split(|one| !is_word(one))
            .next()
            .map_or_else(String::new, str::to_owned);
    }
    let before = before.trim_end_matches("std::time::");
    let mut words = before.split(|one| !is_word(one)).rev();
    let last = words.find(|word| !word.is_empty());
    last.unwrap_or("without a name").to_owned()
}

/// A product of numbers in the largest unit that it fills; `None` for what a name says.
fn time_of(product: &str, unit: &str) -> Option<String> {
    let product = product.split(" << ").next()?;
    let factors = product
        .split(" * ")
        .map(|factor| factor.replace('_', "").parse::<u64>());
    let count = factors.product::<Result<u64, _>>().ok()?;
    let in_ms: u64 = match unit {
        "micros" => return Some(format!("{count} us")),
        "millis" => count,
        "secs" => count * 1_000,
        "mins" => count * 60_000,
        "hours" => count * 3_600_000,
        _ => return None,
    };
    let units = [("h", 3_600_000), ("min", 60_000), ("s", 1_000)];
    let (unit, size) = units
        .into_iter()
        .find(|(_, size)| in_ms.is_multiple_of(*size))
        .unwrap_or(("ms", 1));
    Some(format!("{} {unit}", in_ms / size))
}

#[test]
fn a_wait_without_a_row_and_a_row_that_is_wrong_are_seen() {
    let page = "# Deadlines\n\n| wait | where | whom | how long | seen |\n|---|---|---|---|---|\n\
        | `TURN` | `a/src/lib.rs` | a person | 20 s | a sentence |\n\
        | `GONE` | `a/src/lib.rs` | nobody | 1 s | nothing |\n\
        | `CALL_MS` | `a/src/lib.rs` | the log | 2 min | nothing |\n";
    let text = "const TURN: Duration = Duration::from_secs(20);\n\
        pub(crate) const CALL_MS: u64 = 15 * 60 * 1_000;\n\
        const LATER: Duration = Duration::from_mins(1);\n\
        fn wait(given: u64) {\n    sleep(Duration::from_millis(given));\n    \
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;\n}\n";
    let complaints = waits_without_row(&[SourceFile::new("crates/a/src/lib.rs", text)], page);
    assert_eq!(
        complaints,
        [
            "a/src/lib.rs: `CALL_MS` is 15 min, its row says 2 min",
            "a/src/lib.rs: `LATER` has no row in docs/builders/deadlines.md",
            "a/src/lib.rs: `sleep` has no row in docs/builders/deadlines.md",
            "a/src/lib.rs: no wait is called `GONE`",
        ]
    );
}
