//! Which models and engines a factory takes, and what it says where there is none.

use super::*;
use crate::testing::shared_models;

fn places(configured: Option<&str>, environment: Option<&str>) -> Vec<LibraryOrigin> {
    let installed = shared_models().installed().unwrap();
    candidates(
        configured.map(Path::new),
        environment.map(PathBuf::from),
        &installed,
    )
    .into_iter()
    .map(|(origin, _)| origin)
    .collect()
}

#[test]
fn places_are_tried_from_the_most_to_the_least_deliberate() {
    let all = places(None, Some("/somewhere/libonnxruntime.so"));
    assert_eq!(all[0], LibraryOrigin::Environment);
    assert_eq!(all[1], LibraryOrigin::Models);
    assert_eq!(all.last(), Some(&LibraryOrigin::System));
    assert!(!places(None, None).contains(&LibraryOrigin::Environment));
}

#[test]
fn a_configured_library_is_the_only_one_tried() {
    let only = places(Some("/mine.so"), Some("/somewhere/libonnxruntime.so"));
    assert_eq!(only, [LibraryOrigin::Configured]);
}
