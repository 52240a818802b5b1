//! The learning evaluation on one seed, with the real model, and with inverted outcomes.

use std::sync::LazyLock;

use reprise_embed::testing::shared_models;
use reprise_embed::{EmbedderFactory, Variant};

use super::*;

/// The world of every test: its texts are embedded once.
fn world() -> &'static LearningWorld {
    static WORLD: LazyLock<LearningWorld> = LazyLock::new(|| {
        let factory = EmbedderFactory::from_store(&shared_models(), Variant::Int8, None).unwrap();
        LearningWorld::new(&mut *factory.open_embedder().unwrap()).unwrap()
    });
    &WORLD
}

#[test]
fn a_preference_is_learned_noise_is_not_and_the_cap_holds() {
    let world = world();
    let global = run_seed(world, Scenario::Global, 11);
    assert!(global.learned - global.cosine >= 0.15);
    let topic = run_seed(world, Scenario::PerTopic, 11);
    assert!(topic.learned - topic.cosine >= 0.08);
    let unseen = run_seed(world, Scenario::Unseen, 11);
    assert!(unseen.learned - unseen.cosine >= 0.08);
    let random = run_seed(world, Scenario::Random, 11);
    assert!(random.learned - random.cosine >= -0.001 && random.changed <= 0.07);
    let inverted = run_seed(world, Scenario::Inverted, 11);
    assert!(
        inverted.learned < inverted.cosine,
        "lies are learned as well"
    );
    for outcome in [global, topic, unseen, random, inverted] {
        assert!(outcome.largest <= outcome.cap, "the cap is the cap");
        assert!(
            (outcome.shipped - outcome.cosine).abs() < 0.001,
            "shipped moves nothing"
        );
    }
}

#[test]
fn learning_other_topics_leaves_what_was_learned_first() {
    let world = world();
    let gains: Vec<(f64, f64)> = (101..104)
        .map(|seed| measure_retained_gain(world, seed))
        .collect();
    let kept = RetainedGain::from_gains(&gains);
    assert!(kept.after_a >= 0.08, "nothing to keep: {kept:?}");
    assert!(kept.share >= 0.9, "{kept:?}");
}
