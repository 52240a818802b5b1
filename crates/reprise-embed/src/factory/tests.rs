//! Which models and engines a factory takes, and what it says where there is none.

use super::*;
use crate::engine::onnx::may_saturate;
use crate::testing::shared_models;

fn places(configured: Option<&str>, environment: Option<&str>) -> Vec<LibraryOrigin> {
    let installed = shared_models().installed().unwrap();
    candidates(
        configured.map(Path::new),
        environment.map(PathBuf::from),
        installed.library(),
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

#[test]
fn sessions_share_one_model_and_the_last_of_them_gives_it_back() {
    let factory = EmbedderFactory::from_store(&shared_models(), Variant::Int8, None).unwrap();
    let Engine::OnnxRuntime(model, _) = &factory.shared.engine else {
        panic!("ONNX Runtime is in the models directory");
    };
    let sharing = |count| if may_saturate() { 0 } else { count };
    let sessions = [factory.open().unwrap(), factory.open().unwrap()];
    assert_eq!(model.sharing(), sharing(2));
    drop(sessions);
    assert_eq!(model.sharing(), 0);
    let again = factory.open().unwrap();
    assert_eq!(model.sharing(), sharing(1));
    drop(again);
    // On a processor where sessions share nothing, too: whoever asks for the tensors gets the same.
    let asked = [model.read_once().unwrap(), model.read_once().unwrap()];
    assert!(Arc::ptr_eq(&asked[0], &asked[1]));
    assert_eq!(model.sharing(), 2);
}
