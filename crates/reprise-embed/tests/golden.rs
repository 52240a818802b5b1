//! Compares both engines and both variants of the model with the reference's vectors, on the real
//! files.

#![expect(
    clippy::print_stdout,
    reason = "the measured figures are worth reading"
)]

use reprise_embed::{EmbedderFactory, EngineKind, Variant, testing};
use reprise_types::Embedder;
use serde::Deserialize;

const GOLDEN: &str = include_str!("../../../tests/fixtures/golden.json");

#[derive(Deserialize)]
struct Golden {
    items: Vec<ReferenceText>,
    pairs: Vec<Pair>,
}

#[derive(Deserialize)]
struct ReferenceText {
    text: String,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct Pair {
    a: usize,
    b: usize,
    cos: f32,
}

fn read_golden() -> Golden {
    serde_json::from_str(GOLDEN).unwrap()
}

fn on_onnx_runtime(variant: Variant) -> Box<dyn Embedder> {
    let factory = EmbedderFactory::from_store(&testing::shared_models(), variant, None).unwrap();
    let report = factory.report();
    assert_eq!(report.engine, EngineKind::OnnxRuntime, "{report:?}");
    factory.open_embedder().unwrap()
}

fn on_built_in(variant: Variant) -> Box<dyn Embedder> {
    let factory =
        EmbedderFactory::with_built_in_engine(&testing::shared_models(), variant).unwrap();
    assert_eq!(factory.report().engine, EngineKind::BuiltIn);
    factory.open_embedder().unwrap()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn embed_all(embedder: &mut dyn Embedder, golden: &Golden) -> Vec<Vec<f32>> {
    golden
        .items
        .iter()
        .map(|item| embedder.embed(&item.text).unwrap())
        .collect()
}

/// Returns mean and least cosine to the reference, and the largest error of the pairs' cosines.
fn against_reference(embedder: &mut dyn Embedder) -> (f32, f32, f32) {
    let golden = read_golden();
    let vectors = embed_all(embedder, &golden);
    let cosines: Vec<f32> = vectors
        .iter()
        .zip(&golden.items)
        .map(|(vector, item)| cosine(vector, &item.embedding))
        .collect();
    let mean = cosines.iter().sum::<f32>() / cosines.len() as f32;
    let least = cosines.iter().copied().fold(1.0, f32::min);
    let pairs = golden
        .pairs
        .iter()
        .map(|pair| (cosine(&vectors[pair.a], &vectors[pair.b]) - pair.cos).abs())
        .fold(0.0, f32::max);
    println!("mean {mean:.6}, least {least:.6}, pairs within {pairs:.6}");
    assert_eq!(golden.items.len(), 24);
    assert_eq!(golden.pairs.len(), 8);
    (mean, least, pairs)
}

#[test]
fn the_float_model_equals_the_reference_on_both_engines() {
    for mut embedder in [on_onnx_runtime(Variant::F32), on_built_in(Variant::F32)] {
        assert_eq!(embedder.space(), &Variant::F32.space());
        let (_, least, pairs) = against_reference(&mut *embedder);
        assert!(least >= 0.999_99, "{least}");
        assert!(pairs <= 1e-4, "{pairs}");
    }
}

#[test]
fn the_int8_model_stays_near_the_reference_on_both_engines() {
    for mut embedder in [on_onnx_runtime(Variant::Int8), on_built_in(Variant::Int8)] {
        assert_eq!(embedder.space(), &Variant::Int8.space());
        let (mean, least, pairs) = against_reference(&mut *embedder);
        assert!(mean >= 0.992, "{mean}");
        assert!(least >= 0.978, "{least}");
        assert!(pairs <= 0.02, "{pairs}");
    }
}

#[test]
fn the_two_engines_share_one_space() {
    let golden = read_golden();
    let onnx_runtime = embed_all(&mut *on_onnx_runtime(Variant::Int8), &golden);
    let built_in = embed_all(&mut *on_built_in(Variant::Int8), &golden);
    let least = onnx_runtime
        .iter()
        .zip(&built_in)
        .map(|(a, b)| cosine(a, b))
        .fold(1.0, f32::min);
    println!("least cosine between the engines: {least:.6}");
    // Measured .99858, because the last bit of an activation can change a quantised level; and
    // .98532 if the built-in engine's 16-bit sums overflow.
    let bound = if testing::can_saturate() { 0.98 } else { 0.998 };
    assert!(least >= bound, "{least}");
}
