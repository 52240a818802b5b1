//! Milliseconds per text by token count: ONNX Runtime int8 and f32, the built-in engine int8.
//!
//! One run, engines interleaved, so that the ratios hold on a busy machine: `cargo bench -p
//! reprise-embed`. Each figure is the fastest of its rounds.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

use std::time::{Duration, Instant};

use reprise_embed::{EmbedderFactory, EngineKind, Variant, testing};
use reprise_types::Embedder;
use tokenizers::Tokenizer;

const LENGTHS: [usize; 7] = [8, 12, 16, 32, 64, 128, 256];
/// Time given to each engine at each length.
const TIME: Duration = Duration::from_millis(600);
const ROUNDS_MIN: usize = 5;

fn main() {
    let store = testing::shared_models();
    let onnx = |variant| {
        let factory = EmbedderFactory::from_store(&store, variant, None).unwrap();
        assert_eq!(factory.report().engine, EngineKind::OnnxRuntime);
        factory.open_embedder().unwrap()
    };
    let mut int8 = onnx(Variant::Int8);
    let mut f32 = onnx(Variant::F32);
    let built_in = EmbedderFactory::with_built_in_engine(&store, Variant::Int8).unwrap();
    let mut built_in = built_in.open_embedder().unwrap();
    let installed = store.find_installed().unwrap();
    let tokenizer = Tokenizer::from_file(installed.tokenizer()).unwrap();

    println!("ms per text, fastest of its rounds, one thread");
    println!("tokens | ort int8 | ort f32 | rten int8 | f32/int8 | rten/ort | tokenising");
    for tokens in LENGTHS {
        let text = text_of(tokens);
        let [mut fast, mut exact, mut pure, mut words] = [Duration::MAX; 4];
        let started = Instant::now();
        let mut rounds = 0;
        while rounds < ROUNDS_MIN || started.elapsed() < TIME * 3 {
            fast = fast.min(time_embedding(&mut *int8, &text));
            exact = exact.min(time_embedding(&mut *f32, &text));
            pure = pure.min(time_embedding(&mut *built_in, &text));
            let start = Instant::now();
            tokenizer.encode_fast(&*text, true).unwrap();
            words = words.min(start.elapsed());
            rounds += 1;
        }
        let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
        println!(
            "{tokens:6} | {:8.2} | {:7.2} | {:9.2} | {:8.2} | {:8.2} | {:.3} ({:.1} %)",
            ms(fast),
            ms(exact),
            ms(pure),
            ms(exact) / ms(fast),
            ms(pure) / ms(fast),
            ms(words),
            100.0 * ms(words) / ms(fast),
        );
    }
}

/// A text of this many tokens, special ones included: common words are one token each.
fn text_of(tokens: usize) -> String {
    const WORDS: [&str; 8] = [
        "the", "memory", "of", "an", "agent", "keeps", "what", "helped",
    ];
    let words: Vec<_> = WORDS.iter().cycle().take(tokens - 2).copied().collect();
    words.join(" ")
}

fn time_embedding(embedder: &mut dyn Embedder, text: &str) -> Duration {
    let start = Instant::now();
    embedder.embed(text).unwrap();
    start.elapsed()
}
