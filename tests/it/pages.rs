//! Lists that are answered page by page: the pages together are the list, and the last says that it
//! is.

use serde_json::{Value, json};

use crate::home::Home;

/// The whole of a list, in pages of two: what each row is called.
fn walked(home: &Home, operation: &str, list: &str, name: &str) -> Vec<Value> {
    let mut all = Vec::new();
    let mut offset = json!(0);
    for _ in 0..10 {
        let asked = json!({ "limit": 2, "offset": offset });
        let page = home.run_json(&["call", operation, &asked.to_string()]);
        let rows = page[list].as_array().expect("a list");
        assert!(rows.len() <= 2, "{page}");
        let is_last = match page.get("total_count") {
            Some(total) => all.len() + rows.len() == total.as_u64().expect("a count") as usize,
            None => page["next"].is_null(),
        };
        assert!(
            !rows.is_empty() || is_last && all.is_empty(),
            "an empty page: {page}"
        );
        all.extend(rows.iter().map(|row| row[name].clone()));
        if is_last {
            return all;
        }
        offset = json!(all.len());
        assert!(
            page.get("total_count").is_some() || page["next"] == offset,
            "{page}"
        );
    }
    all
}

#[test]
fn the_pages_of_a_list_are_the_list() {
    let home = Home::new();
    let lines: Vec<Value> = (0..4)
        .map(|n| {
            json!({ "external_id": format!("e{n}"), "text": format!("The mill turned {n}."),
            "session_id": format!("s{n}"), "timestamp": format!("2026-02-0{}T08:00:00Z", n + 1) })
        })
        .collect();
    home.keep(&lines, &[]);
    for (number, line) in lines.iter().enumerate() {
        let name = line["external_id"].as_str().expect("a name");
        home.run_ok(&["share", "publish", name, "--yes"]);
        let kept = json!({ "type": "decision", "content": format!("Keep mill {number}") });
        home.run_ok(&["call", "record", &kept.to_string()]);
    }
    for (operation, list, name, count) in [
        ("published", "published", "id", 4),
        ("episodes", "episodes", "id", 4),
        ("observations", "observations", "id", 4),
    ] {
        let whole = home.run_json(&["call", operation, "{}"]);
        let rows = whole[list].as_array().expect("a list").iter();
        let rows: Vec<Value> = rows.map(|row| row[name].clone()).collect();
        assert_eq!(rows.len(), count, "{operation}: {whole}");
        assert_eq!(walked(&home, operation, list, name), rows, "{operation}");
        let far = json!({ "limit": 2, "offset": 1_000_000_000 }).to_string();
        let beyond = home.run_json(&["call", operation, &far]);
        assert_eq!(beyond[list], json!([]), "{operation}: {beyond}");
    }
}
