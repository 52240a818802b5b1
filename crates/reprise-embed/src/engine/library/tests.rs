//! Tests which files are accepted as ONNX Runtime, and the errors of the others.

use std::fs;

use super::*;

/// Runs a test in a process of its own: `ort` keeps the first library of a process, which another
/// test may have loaded.
fn run_alone(name: &str, test: impl FnOnce()) {
    const ALONE: &str = "REPRISE_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return test();
    }
    let done = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("engine::library::tests::{name}")])
        .env(ALONE, "1")
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&done.stdout);
    assert!(
        done.status.success() && output.contains("1 passed"),
        "{output}"
    );
}

/// Compiles a shared library that exports what a test needs of ONNX Runtime.
fn compile(directory: &Path, name: &str, source: &str) -> PathBuf {
    let source_file = directory.join(format!("{name}.c"));
    fs::write(&source_file, source).unwrap();
    let library = directory.join(format!("{name}{}", std::env::consts::DLL_SUFFIX));
    let status = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source_file)
        .status()
        .expect("the tests need a C compiler, as the README says");
    assert!(status.success());
    library
}

fn runtime_source(version: &str) -> String {
    format!(
        r#"struct base {{ const void *(*api)(unsigned); const char *(*version)(void); }};
static const void *api(unsigned version) {{ (void)version; return 0; }}
static const char *version(void) {{ return "{version}"; }}
static const struct base the_base = {{ api, version }};
const struct base *OrtGetApiBase(void) {{ return &the_base; }}
"#
    )
}

#[test]
fn a_missing_file_and_a_text_file_are_told_apart() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("libonnxruntime.so");
    let error = load_library(&missing).unwrap_err();
    assert!(matches!(error, LibraryError::Missing { .. }), "{error}");
    assert!(error.to_string().contains("reprise doctor models pull"));
    for content in [&b"just a text file"[..], b"", b"\x7fE"] {
        fs::write(&missing, content).unwrap();
        let error = load_library(&missing).unwrap_err();
        assert!(matches!(error, LibraryError::NotALibrary { .. }), "{error}");
    }
    let error = load_library(directory.path()).unwrap_err();
    assert!(matches!(error, LibraryError::NotALibrary { .. }), "{error}");
}

#[test]
fn a_library_cut_anywhere_never_reaches_the_loader() {
    let directory = tempfile::tempdir().unwrap();
    let whole = compile(directory.path(), "whole", "int nothing(void) { return 0; }");
    assert!(is_whole_elf(&whole).unwrap());
    let bytes = fs::read(&whole).unwrap();
    let cut = directory.path().join("cut.so");
    for eighth in 0..6 {
        fs::write(&cut, &bytes[..bytes.len() * eighth / 8]).unwrap();
        let error = load_library(&cut).unwrap_err();
        assert!(matches!(error, LibraryError::NotALibrary { .. }), "{error}");
    }
}

#[test]
fn a_library_for_another_machine_does_not_load() {
    let directory = tempfile::tempdir().unwrap();
    let path = compile(
        directory.path(),
        "foreign",
        "int nothing(void) { return 0; }",
    );
    let mut bytes = fs::read(&path).unwrap();
    // e_machine: SPARC V9.
    bytes[18] = 43;
    fs::write(&path, &bytes).unwrap();
    let error = load_library(&path).unwrap_err();
    assert!(matches!(error, LibraryError::Load { .. }), "{error}");
}

#[test]
fn another_library_and_a_runtime_too_old_are_refused_by_name() {
    run_alone(
        "another_library_and_a_runtime_too_old_are_refused_by_name",
        || {
            let directory = tempfile::tempdir().unwrap();
            let other = compile(directory.path(), "other", "int nothing(void) { return 0; }");
            let error = load_library(&other).unwrap_err();
            assert!(
                matches!(error, LibraryError::NotOnnxRuntime { .. }),
                "{error}"
            );

            let old = compile(directory.path(), "old", &runtime_source("1.16.3"));
            let error = load_library(&old).unwrap_err();
            assert!(
                matches!(&error, LibraryError::TooOld { got, .. } if got == "1.16.3"),
                "{error}"
            );
            assert!(error.to_string().contains("1.23"), "{error}");
        },
    );
}

#[test]
fn a_library_that_makes_ort_panic_is_an_error() {
    run_alone("a_library_that_makes_ort_panic_is_an_error", || {
        let directory = tempfile::tempdir().unwrap();
        let source = "const void *OrtGetApiBase(void) { return 0; }";
        let null = compile(directory.path(), "null", source);
        let error = load_library(&null).unwrap_err();
        assert!(
            matches!(error, LibraryError::NotOnnxRuntime { .. }),
            "{error}"
        );
    });
}
