//! A library that looks right and cannot be started spoils ONNX Runtime for its whole process, so
//! this test has a process of its own.

use reprise_embed::{EmbedderFactory, EngineKind, LibraryError, Variant, testing};

/// New enough by its version, and without the interface it promises: `ort` panics on it.
const SOURCE: &str = r#"
struct base { const void *(*api)(unsigned); const char *(*version)(void); };
static const void *api(unsigned version) { (void)version; return 0; }
static const char *version(void) { return "1.31.1"; }
static const struct base the_base = { api, version };
const struct base *OrtGetApiBase(void) { return &the_base; }
"#;

#[test]
fn a_runtime_that_does_not_start_means_the_built_in_engine_for_this_process() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("empty.c");
    std::fs::write(&source, SOURCE).unwrap();
    let library = directory.path().join("libonnxruntime.so");
    let status = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source)
        .status()
        .expect("the tests need a C compiler, as the README says");
    assert!(status.success());

    let store = testing::shared_models();
    let open = |library| EmbedderFactory::from_store(&store, Variant::Int8, library).unwrap();
    for _ in 0..2 {
        let report = open(Some(&*library)).report();
        assert_eq!(report.engine, EngineKind::BuiltIn);
        let error = &report.refused[0].error;
        assert!(matches!(error, LibraryError::Start { .. }), "{error}");
    }
    // Even a good library cannot be loaded after it, and the error tells so.
    let factory = open(None);
    let report = factory.report();
    assert_eq!(report.engine, EngineKind::BuiltIn);
    let other_loaded = |error: &LibraryError| matches!(error, LibraryError::OtherLoaded { .. });
    assert!(
        report
            .refused
            .iter()
            .any(|refused| other_loaded(&refused.error))
    );
    factory
        .open_embedder()
        .unwrap()
        .embed("still at work")
        .unwrap();
}
