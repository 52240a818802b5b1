//! Tests which models and engines a factory chooses, and which reasons it gives.

use super::*;
use crate::engine::onnx::can_saturate;
use crate::graph_reading::INPUT_IDS;
use crate::testing::shared_models;

fn candidate_origins(configured: Option<&str>, environment: Option<&str>) -> Vec<LibraryOrigin> {
    let installed = shared_models().find_installed().unwrap();
    library_candidates(
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
    let all = candidate_origins(None, Some("/somewhere/libonnxruntime.so"));
    assert_eq!(all[0], LibraryOrigin::Environment);
    assert_eq!(all[1], LibraryOrigin::Models);
    assert_eq!(all.last(), Some(&LibraryOrigin::System));
    assert!(!candidate_origins(None, None).contains(&LibraryOrigin::Environment));
}

#[test]
fn a_configured_library_is_the_only_one_tried() {
    let only = candidate_origins(Some("/mine.so"), Some("/somewhere/libonnxruntime.so"));
    assert_eq!(only, [LibraryOrigin::Configured]);
}

#[test]
fn of_a_model_that_the_configured_library_cannot_run_the_reason_is_told() {
    let store = shared_models();
    let library = store.library_path().unwrap();
    let mut opened = OpenedModel::new(&store, Variant::Int8).unwrap();
    // A value of the graph that is not an output; the built-in engine can read any value.
    INPUT_IDS.clone_into(&mut opened.reading.output);
    let factory = EmbedderFactory::from_opened(&store, opened, Some(&library)).unwrap();
    let report = factory.report();
    assert_eq!(report.engine, EngineKind::BuiltIn);
    let why = report.why_not_onnx_runtime.unwrap();
    assert!(why.contains("it is another kind of model"), "{why}");
}

#[test]
fn sessions_share_one_model_and_the_last_of_them_gives_it_back() {
    let factory = EmbedderFactory::from_store(&shared_models(), Variant::Int8, None).unwrap();
    let Engine::OnnxRuntime(model, _) = &factory.state.engine else {
        panic!("ONNX Runtime is in the models directory");
    };
    let sharing = |count| if can_saturate() { 0 } else { count };
    let sessions = [
        factory.open_embedder().unwrap(),
        factory.open_embedder().unwrap(),
    ];
    assert_eq!(model.sharing_count(), sharing(2));
    drop(sessions);
    assert_eq!(model.sharing_count(), 0);
    let again = factory.open_embedder().unwrap();
    assert_eq!(model.sharing_count(), sharing(1));
    drop(again);
    // The tensors are shared even on a processor where sessions do not use them.
    let shared = [
        model.read_shared_weights().unwrap(),
        model.read_shared_weights().unwrap(),
    ];
    assert!(Arc::ptr_eq(&shared[0], &shared[1]));
    assert_eq!(model.sharing_count(), 2);
}
