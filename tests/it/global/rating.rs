//! What readers give what others published.

use serde_json::{Value, json};

use super::{call, data, done, refused};

#[test]
fn a_reader_rates_what_others_published() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let data = data(&folder);
    let published = done(&data, &["publish", "--user", "ann", "tokio", "--yes"]);
    let id = published["published"][0]["id"].as_str().expect("an id");
    let rated = done(&data, &["rate", id, "0.2", "--user", "bob"]);
    assert_eq!((&rated["id"], &rated["rating"]), (&json!(id), &json!(0.2)));
    let given = || {
        let thing = call(&data, "ann", "published_thing", &json!({ "id": id }));
        thing["quality_metrics"]["user_rating"].clone()
    };
    assert_eq!(given(), Value::Null, "one reader is not told");
    // The last word of a reader counts, and a reader needs no memory.
    for user in ["bob", "eva", "fay", "gil", "hal"] {
        done(&data, &["rate", id, "0.8", "--user", user]);
    }
    let given = given().as_f64().expect("a rating");
    assert!((given - 0.8).abs() < 0.01, "{given}");

    for (user, id, rating, word) in [
        ("ann", id, "0.9", "is yours"),
        ("bob", id, "5", "between 0 and 1"),
        (
            "bob",
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "0.5",
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        ),
    ] {
        let said = refused(&data, &["rate", id, rating, "--user", user]);
        assert!(said.contains(word), "{said}");
    }
}
