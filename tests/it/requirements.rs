//! `docs/requirements.md` as data: every row well-formed, and what it points to really there.
//!
//! The rule over the table.

use std::collections::BTreeSet;

use reprise_tests::Tree;

#[test]
fn every_row_is_well_formed_and_points_to_something() {
    let tree = Tree::read().expect("the workspace is readable");
    let page = tree
        .text("docs/requirements.md")
        .expect("docs/requirements.md is there");
    let complaints = check(&page, &|path| tree.text(path).ok());
    assert!(
        complaints.is_empty(),
        "docs/requirements.md:\n{}",
        complaints.join("\n")
    );
}

/// Complaints about the table in `page`; `read` gives a file's text, if the file is there.
fn check(page: &str, read: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut seen = BTreeSet::new();
    let mut rows = 0_usize;
    for line in page.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [id, what, place, shown] = cells.as_slice() else {
            complaints.push(format!("{line}: four cells, no | inside them"));
            continue;
        };
        if *id == "id" || id.starts_with('-') {
            continue;
        }
        rows += 1;
        if !is_id(id) || !seen.insert((*id).to_owned()) {
            complaints.push(format!("{id}: not an id, or there twice"));
        }
        let open = shown.starts_with("open");
        if what.is_empty() || place.is_empty() || shown.is_empty() {
            complaints.push(format!("{id}: an empty cell"));
        }
        let named = [ticked(place), ticked(shown)].concat();
        if !open && ticked(shown).is_empty() {
            complaints.push(format!("{id}: shown by nothing that is named"));
        }
        if !open {
            complaints.extend(named.iter().filter_map(|name| missing(id, name, read)));
        }
    }
    if rows == 0 {
        complaints.push("no row at all".to_owned());
    }
    complaints
}

fn is_id(id: &str) -> bool {
    let digits = id.get(1..).unwrap_or_default();
    id.starts_with(['M', 'S', 'A', 'W', 'R', 'C'])
        && !digits.is_empty()
        && digits.chars().all(|c| c.is_ascii_digit())
}

/// What stands between backticks and has a slash: a path, or `path::test`.
fn ticked(cell: &str) -> Vec<String> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .filter(|name| name.contains('/'))
        .map(str::to_owned)
        .collect()
}

fn missing(id: &str, name: &str, read: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let (path, test) = name
        .split_once("::")
        .map_or((name, None), |(path, test)| (path, Some(test)));
    if path.ends_with('/') {
        let contents = ["lib.rs", "main.rs", "src/lib.rs", "src/main.rs"];
        let there = contents
            .iter()
            .any(|file| read(&format!("{path}{file}")).is_some());
        return (!there).then(|| format!("{id}: {path} is not a room"));
    }
    let Some(text) = read(path) else {
        return Some(format!("{id}: {path} is not there"));
    };
    let test = test?;
    let found = text.contains(&format!("fn {test}("));
    (!found).then(|| format!("{id}: {path} holds no fn {test}"))
}

#[cfg(test)]
mod canaries {
    //! The table's rule fed bad rows.

    use super::check;

    fn complaints(rows: &str) -> usize {
        let read = |path: &str| match path {
            "src/a.rs" => Some("fn shows_it() {}".to_owned()),
            "crates/a/src/lib.rs" => Some(String::new()),
            _ => None,
        };
        check(
            &format!("# Title\n\n| id | what | where | shown by |\n|---|---|---|---|\n{rows}"),
            &read,
        )
        .len()
    }

    #[test]
    fn good_rows_pass() {
        assert_eq!(
            complaints("| M1 | x | `crates/a/` | `src/a.rs::shows_it` |"),
            0
        );
        assert_eq!(complaints("| C10 | x | `src/not-yet.rs` | open |"), 0);
        assert_eq!(
            complaints("| M2 | x | `src/a.rs` | partial: `src/a.rs` only |"),
            0
        );
    }

    #[test]
    fn bad_rows_are_noticed() {
        assert_eq!(complaints(""), 1);
        assert_eq!(complaints("| M1 | x | `src/a.rs` |"), 2);
        assert_eq!(complaints("| Q1 | x | `src/a.rs` | open |"), 1);
        assert_eq!(
            complaints("| M1 | x | a | open |\n| M1 | x | a | open |"),
            1
        );
        assert_eq!(complaints("| M1 |  | a | open |"), 1);
        assert_eq!(complaints("| M1 | x | a | yes |"), 1);
        assert_eq!(complaints("| M1 | x | a | `src/gone.rs::t` |"), 1);
        assert_eq!(complaints("| M1 | x | a | `src/a.rs::shows_nothing` |"), 1);
        assert_eq!(
            complaints("| M1 | x | `crates/b/` | `src/a.rs::shows_it` |"),
            1
        );
    }
}
