//! Odd texts and damaged files on both engines: a unit vector or a typed error, never a panic.

use std::fs;
use std::path::{Path, PathBuf};

use reprise_embed::{
    EmbedderFactory, EngineKind, LibraryError, LibraryOrigin, ModelStore, Variant, testing,
};
use reprise_types::{EmbedError, Embedder, check_unit_vector};

fn both_engines() -> [Box<dyn Embedder>; 2] {
    let store = testing::shared_models();
    let onnx_runtime = EmbedderFactory::from_store(&store, Variant::Int8, None).unwrap();
    assert_eq!(onnx_runtime.report().engine, EngineKind::OnnxRuntime);
    onnx_runtime.self_test().unwrap();
    let built_in = EmbedderFactory::with_built_in_engine(&store, Variant::Int8).unwrap();
    [
        onnx_runtime.open_embedder().unwrap(),
        built_in.open_embedder().unwrap(),
    ]
}

fn odd_texts() -> Vec<String> {
    vec![
        String::new(),
        " \t\r\n\u{a0}\u{3000}".to_owned(),
        "\u{1f600}\u{1f389}\u{1f469}\u{200d}\u{1f467}".to_owned(),
        "\u{6211}\u{6628}\u{5929}\u{5728}\u{5317}\u{4eac}".to_owned(),
        "the quick brown fox ".repeat(2_500),
        (0..32).filter_map(char::from_u32).collect(),
        "\u{0}\u{7f}\u{fffd}\u{202e}\u{feff}".to_owned(),
        "[CLS] [SEP] [MASK] [PAD] [UNK]".to_owned(),
        "x".repeat(100_000),
        "e\u{301}".repeat(20_000),
    ]
}

#[test]
fn every_odd_text_has_a_unit_vector_and_the_same_one_twice() {
    for mut embedder in both_engines() {
        assert_eq!(embedder.token_limit(), 256);
        for text in odd_texts() {
            let first = embedder.embed(&text).unwrap();
            assert_eq!(check_unit_vector(&first, 384), Ok(()));
            assert_eq!(embedder.embed(&text).unwrap(), first, "bit for bit");
        }
    }
}

#[test]
fn a_vector_does_not_depend_on_what_was_embedded_before_or_on_which_session() {
    let factory = EmbedderFactory::from_store(&testing::shared_models(), Variant::Int8, None);
    let factory = factory.unwrap();
    let mut used = factory.open_embedder().unwrap();
    for text in odd_texts() {
        used.embed(&text).unwrap();
    }
    let mut fresh = factory.clone().open_embedder().unwrap();
    let text = "fix the race condition in the auth module";
    assert_eq!(used.embed(text).unwrap(), fresh.embed(text).unwrap());
}

#[test]
fn sessions_work_on_threads_of_their_own() {
    let store = testing::shared_models();
    for factory in [
        EmbedderFactory::from_store(&store, Variant::Int8, None).unwrap(),
        EmbedderFactory::with_built_in_engine(&store, Variant::Int8).unwrap(),
    ] {
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let factory = factory.clone();
                std::thread::spawn(move || factory.open_embedder().unwrap().embed("hello").unwrap())
            })
            .collect();
        let vectors: Vec<_> = threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect();
        assert_eq!(vectors[0], vectors[1]);
        assert_eq!(vectors[0], vectors[2]);
    }
}

/// Configures a library that cannot be used, checks that the built-in engine works, and returns the
/// error.
fn fall_back_error(library: &Path) -> LibraryError {
    let store = testing::shared_models();
    let factory = EmbedderFactory::from_store(&store, Variant::Int8, Some(library)).unwrap();
    let report = factory.report();
    assert_eq!(report.engine, EngineKind::BuiltIn);
    assert_eq!(report.refused.len(), 1);
    let refused = &report.refused[0];
    assert_eq!(refused.origin, LibraryOrigin::Configured);
    let why = report.why_not_onnx_runtime.unwrap();
    assert_eq!(why, refused.error.to_string());
    let vector = factory.open_embedder().unwrap().embed("hello").unwrap();
    assert_eq!(check_unit_vector(&vector, 384), Ok(()));
    refused.error.clone()
}

#[test]
fn an_unusable_library_means_the_built_in_engine_and_a_reason() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("libonnxruntime.so");
    assert!(matches!(
        fall_back_error(&path),
        LibraryError::Missing { .. }
    ));
    fs::write(&path, "a text file").unwrap();
    assert!(matches!(
        fall_back_error(&path),
        LibraryError::NotALibrary { .. }
    ));
}

/// Copies the shared models, so that a test can damage them.
fn copy_of_models(directory: &Path) -> ModelStore {
    let shared = testing::shared_models();
    for entry in fs::read_dir(shared.dir()).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        // The float model is large and not needed; the stamp must be written again.
        if entry.file_type().unwrap().is_file()
            && !name.to_string_lossy().contains("f32")
            && name != "installed.json"
        {
            fs::copy(entry.path(), directory.join(name)).unwrap();
        }
    }
    ModelStore::new(directory.to_owned())
}

fn model_file(store: &ModelStore) -> PathBuf {
    let installed = store.find_installed().unwrap();
    installed.model(Variant::Int8).unwrap().to_owned()
}

fn assert_unavailable(store: &ModelStore) {
    for result in [
        EmbedderFactory::from_store(store, Variant::Int8, None),
        EmbedderFactory::with_built_in_engine(store, Variant::Int8),
    ] {
        let error = result.unwrap_err();
        assert!(matches!(error, EmbedError::Unavailable { .. }), "{error}");
        assert!(
            error.to_string().contains("reprise doctor models pull"),
            "{error}"
        );
    }
}

#[test]
fn missing_truncated_and_foreign_model_files_are_errors_that_say_what_to_run() {
    let directory = tempfile::tempdir().unwrap();
    let store = copy_of_models(directory.path());
    let model = model_file(&store);
    let whole = fs::read(&model).unwrap();

    // The float variant was never installed here.
    let error = EmbedderFactory::from_store(&store, Variant::F32, None).unwrap_err();
    assert!(error.to_string().contains("f32-1"), "{error}");

    fs::write(&model, &whole[..whole.len() / 2]).unwrap();
    assert_unavailable(&store);
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    fs::write(&model, &flipped).unwrap();
    assert_unavailable(&store);
    fs::write(&model, b"not a model").unwrap();
    assert_unavailable(&store);
    fs::remove_file(&model).unwrap();
    assert_unavailable(&store);
    assert_unavailable(&ModelStore::new(directory.path().join("nothing")));

    fs::write(&model, &whole).unwrap();
    EmbedderFactory::with_built_in_engine(&store, Variant::Int8).unwrap();
}
