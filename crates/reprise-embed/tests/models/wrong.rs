//! Tests of folders without a model or with an unsuitable one: each gives a one-sentence error and
//! leaves no files.

use std::fs;
use std::path::Path;

use reprise_embed::{ModelStore, Variant};
use safetensors::tensor::Dtype;
use serde_json::json;

use super::{add, make_foreign, make_mpnet, set_json_key, write_folder};

#[expect(clippy::too_many_lines, reason = "a table of nineteen folders")]
#[test]
fn a_wrong_or_foreign_folder_is_one_sentence_and_leaves_nothing() {
    type Spoil = fn(&Path);
    let cases: [(Spoil, &str); 19] = [
        (
            |at| fs::remove_file(at.join("tokenizer.json")).unwrap(),
            "tokenizer.json",
        ),
        (
            |at| fs::write(at.join("tokenizer.json"), "<html>").unwrap(),
            "tokeniser",
        ),
        (
            |at| set_json_key(at, "config.json", "vocab_size", json!(5000)),
            "another",
        ),
        (
            |at| set_json_key(at, "config.json", "vocab_size", json!(39)),
            "another",
        ),
        (
            |at| set_json_key(at, "config.json", "model_type", json!("t5")),
            "t5",
        ),
        (
            |at| set_json_key(at, "config.json", "hidden_act", json!("relu")),
            "relu",
        ),
        (
            |at| set_json_key(at, "config.json", "hidden_size", json!(16)),
            "hidden_size is 16",
        ),
        (
            |at| set_json_key(at, "config.json", "num_attention_heads", json!(0)),
            "num_attention_heads",
        ),
        (
            |at| set_json_key(at, "config.json", "num_hidden_layers", json!(3)),
            "encoder.layer.2",
        ),
        (
            |at| {
                set_json_key(
                    at,
                    "1_Pooling/config.json",
                    "pooling_mode_cls_token",
                    json!(true),
                );
            },
            "pooling",
        ),
        (
            |at| fs::write(at.join("model.safetensors"), [0x80; 99]).unwrap(),
            "weights file",
        ),
        (|at| write_folder(at, false, "", Dtype::I16), "I16"),
        (
            |at| {
                make_foreign(at, "model.onnx");
                set_json_key(at, "config.json", "hidden_size", json!(64));
            },
            "32",
        ),
        (
            |at| {
                make_foreign(at, "model.onnx");
                let file = at.join("model.onnx");
                let graph = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
                assert!(graph.contains("token_type_ids"));
                let mut graph = fs::read(&file).unwrap();
                while let Some(place) = graph.windows(14).position(|w| w == b"token_type_ids") {
                    graph[place..place + 14].copy_from_slice(b"token_task_ids");
                }
                fs::write(&file, graph).unwrap();
            },
            "token_task_ids",
        ),
        (
            |at| {
                make_foreign(at, "model.onnx");
                fs::write(at.join("model.onnx"), "<html>").unwrap();
            },
            "no ONNX file",
        ),
        (
            |at| {
                make_foreign(at, "model.onnx");
                let file = at.join("model.onnx");
                fs::rename(&file, at.with_extension("outside")).unwrap();
                std::os::unix::fs::symlink(at.with_extension("outside"), file).unwrap();
            },
            "model.onnx",
        ),
        (
            |at| {
                make_mpnet(at);
                set_json_key(
                    at,
                    "config.json",
                    "relative_attention_num_buckets",
                    json!(0),
                );
            },
            "relative_attention_num_buckets",
        ),
        (
            |at| fs::rename(at.join("model.safetensors"), at.join("pytorch_model.bin")).unwrap(),
            "pickle",
        ),
        (
            |at| {
                let file = at.join("model.safetensors");
                fs::rename(&file, at.with_extension("outside")).unwrap();
                std::os::unix::fs::symlink(at.with_extension("outside"), file).unwrap();
            },
            "model.safetensors",
        ),
    ];
    for (number, (spoil, word)) in cases.into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("tiny");
        write_folder(&source, false, "", Dtype::F32);
        spoil(&source);
        let store = ModelStore::new(folder.path().join("models"));
        let error = add(&store, &source, Variant::Int8).unwrap_err().to_string();
        assert!(
            error.contains(word) && !error.contains('\n'),
            "{number}: {error}"
        );
        assert_eq!(store.list_added(), [], "{number}");
        assert!(!store.dir().join("added/.tiny").exists(), "{number}");
    }
}
