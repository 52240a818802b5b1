//! Which models and engines a factory takes, and what it says where there is none.

use super::*;
use crate::engine::INPUT_IDS;
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
fn of_a_model_that_the_configured_library_cannot_run_the_reason_is_told() {
    let store = shared_models();
    let library = store.library().unwrap();
    let mut opened = Opened::new(&store, Variant::Int8).unwrap();
    // A value of the graph, of which the built-in engine takes any, and no output of it.
    INPUT_IDS.clone_into(&mut opened.reading.output);
    let factory = EmbedderFactory::of_opened(&store, opened, Some(&library)).unwrap();
    let report = factory.describe();
    assert_eq!(report.engine, EngineKind::BuiltIn);
    let why = report.why_not_onnx_runtime.unwrap();
    assert!(why.contains("it is another kind of model"), "{why}");
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
