//! A record is changed after it was published: what others still find is said.

use serde_json::{Value, json};

use super::{call, data, done, told};

#[test]
fn whoever_corrects_a_record_hears_that_its_former_version_is_published() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let data = data(&folder);
    let publish = ["publish", "--user", "ann", "--yes", "tokio"];
    let published = done(&data, &publish);
    let thing = published["published"][0]["id"].as_str().expect("an id");
    let take_back = format!("reprise unpublish {thing} --user ann");
    let is_former =
        |id: &str| call(&data, "ann", "visibility", &json!({ "id": id }))["is_former"] == true;
    assert!(!is_former("tokio"));

    let changes = json!({ "id": "tokio", "text": "A handler that blocks starves tokio." });
    let revised = call(&data, "ann", "revise", &changes);
    let id = revised["id"].as_str().expect("an id");
    let standing = json!({ "id": thing, "take_back": take_back,
        "publish_anew": format!("reprise publish {id} --user ann") });
    assert_eq!(revised["published"], standing);
    assert!(is_former(id));
    done(&data, &["publish", "--user", "ann", "--yes", id]);
    assert!(!is_former(id));

    // What changes nothing of what left is no matter.
    let pinned = call(
        &data,
        "ann",
        "revise",
        &json!({ "id": "tokio", "retention": "pinned" }),
    );
    assert_eq!(pinned.get("published"), None, "{pinned}");
    let said = told(
        &data,
        &["edit", "tokio", "--confidence", "high", "--user", "ann"],
    );
    assert!(!said.contains("publish"), "{said}");
    assert!(!is_former("tokio"));

    for change in [
        &["--content", "Blocking starves it."][..],
        &["--tags", "async"],
    ] {
        let edit = [&["edit", "tokio", "--user", "ann"], change].concat();
        let said = told(&data, &edit);
        let present: Value = call(&data, "ann", "get", &json!({ "id": "tokio" }));
        let id = present["records"][0]["id"].as_str().expect("an id");
        let anew = format!("`reprise publish {id} --user ann` publishes it as it is now");
        assert!(said.contains(&anew) && said.contains(&take_back), "{said}");
    }
}
