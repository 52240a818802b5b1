//! Whether a correction ranks above what it corrects, and whether the past still knows the other:
//! pairs of facts with the real model, in one memory, asked for in other words.

use reprise_engine::RecallCall;
use reprise_knowledge::{Planner, execute_plan};
use reprise_types::WriteOutcome;

use super::corpus::{self, FACTS, FactTemplate, HELD_BACK_FACTS, MORE_FACTS, Statement};
use super::figures::row;
use crate::prelude::*;

const TOP: usize = 10;

/// How a correction is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Manner {
    /// It names what it corrects.
    Supersedes,
    /// It was kept like anything else, and a review said that the newer holds.
    Reviewed,
    /// It was kept like anything else, and nobody said more, in a memory never tended: told for
    /// comparison, for memory has two facts then.
    Unsaid,
    /// Corrections in a memory that was tended; also in other wordings, some of them held back.
    Tended,
    TendedMore,
    TendedHeldBack,
}

impl Manner {
    fn facts(self) -> &'static [FactTemplate] {
        match self {
            Self::TendedMore => &MORE_FACTS,
            Self::TendedHeldBack => &HELD_BACK_FACTS,
            _ => &FACTS,
        }
    }

    fn is_tended(self) -> bool {
        matches!(self, Self::Tended | Self::TendedMore | Self::TendedHeldBack)
    }
}

/// Of all pairs, how many.
#[derive(Debug, Default)]
struct Figures {
    /// The correction is among the first ten, and what it corrects is not above it.
    above: usize,
    /// What it corrects is not among the first ten at all.
    alone: usize,
    /// Tending named the two as contradicting each other, the correction as the newer.
    named: usize,
    /// Pairs that it named and that are none of these.
    named_wrongly: usize,
    /// A question about the time before finds what held then, and not the correction.
    past: usize,
}

/// A fact, its correction, and the question that both answer.
struct Pair {
    old: RecordId,
    new: RecordId,
    question: (String, Vec<f32>),
}

pub(super) fn run(context: &Context, pairs: usize) -> anyhow::Result<Exit> {
    let factory = model::factory(context).context("this bench needs the model")?;
    let mut embedder = factory.open()?;
    let mut exit = Exit::Success;
    for manner in [
        Manner::Supersedes,
        Manner::Reviewed,
        Manner::Unsaid,
        Manner::Tended,
        Manner::TendedMore,
        Manner::TendedHeldBack,
    ] {
        let figures = measure_manner(embedder.as_mut(), manner, pairs)?;
        let is_held = [Manner::Supersedes, Manner::Reviewed, Manner::Tended].contains(&manner);
        let above = !is_held || figures.above == pairs;
        if !above || figures.past < pairs {
            exit = Exit::Refused;
        }
        row!(context, { "manner": manner, "pairs": pairs, "above": figures.above,
            "alone": figures.alone, "past": figures.past, "named": figures.named,
            "named_wrongly": figures.named_wrongly })?;
    }
    Ok(exit)
}

fn measure_manner(
    embedder: &mut dyn Embedder,
    manner: Manner,
    pairs: usize,
) -> anyhow::Result<Figures> {
    let folder = tempfile::tempdir()?;
    let before = SystemClock.now() - TimeDelta::days(60);
    let mut engine = corpus::create_store(&folder.path().join("memory.rvf"), before)?;
    let (mut old, mut questions) = (Vec::new(), Vec::new());
    for pair in 0..pairs {
        let said = make_statement(manner.facts(), pair, 0);
        old.push(insert_statement(
            &mut engine,
            embedder,
            &said,
            None,
            instant_of_pair(before, pair),
        )?);
        let vector = embedder.embed(&said.question)?;
        questions.push((said.question, vector));
    }
    let between = instant_of_pair(before, pairs);
    let later = between + TimeDelta::days(30);
    let mut made: Vec<Pair> = Vec::new();
    for (pair, (old, question)) in old.into_iter().zip(questions).enumerate() {
        let corrects = (manner == Manner::Supersedes).then_some(old);
        let now = instant_of_pair(later, pair);
        let said = make_statement(manner.facts(), pair, 1);
        let new = insert_statement(&mut engine, embedder, &said, corrects, now)?;
        if manner == Manner::Reviewed {
            engine.retire(&[(old, new)], now)?;
        }
        made.push(Pair { old, new, question });
    }
    if manner.is_tended() {
        let now = instant_of_pair(later, pairs);
        let plan = Planner::resume_from(0).plan(&engine.snapshot(), now, &|| true);
        execute_plan(&mut engine, plan, now)?;
    }
    let memory = engine.snapshot();
    let named = memory.contradictions().into_iter();
    let named: BTreeSet<_> = named.map(|one| (one.older, one.newer)).collect();
    let wanted: BTreeSet<_> = made.iter().map(|pair| (pair.old, pair.new)).collect();
    let mut figures = Figures {
        named: named.intersection(&wanted).count(),
        named_wrongly: named.difference(&wanted).count(),
        ..Figures::default()
    };
    let space = embedder.space().clone();
    for pair in &made {
        let now = recall_ids(&memory, &space, &pair.question, None);
        let place = |id: RecordId| now.iter().position(|found| *found == id);
        let (new, old) = (place(pair.new), place(pair.old));
        let above = new.is_some_and(|new| old.is_none_or(|old| new < old));
        figures.above += usize::from(above);
        figures.alone += usize::from(above && old.is_none());
        let then = recall_ids(&memory, &space, &pair.question, Some(between));
        let past = then.contains(&pair.old) && !then.contains(&pair.new);
        figures.past += usize::from(past);
    }
    Ok(figures)
}

/// What is said of pair number `pair` at first, and what later.
fn make_statement(facts: &[FactTemplate], pair: usize, time: usize) -> Statement {
    facts[pair % facts.len()].fill_in(pair * 7, pair + time)
}

fn instant_of_pair(begin: DateTime<Utc>, pair: usize) -> DateTime<Utc> {
    begin + TimeDelta::minutes(i64::try_from(pair).unwrap_or_default())
}

fn insert_statement(
    engine: &mut Engine,
    embedder: &mut dyn Embedder,
    said: &Statement,
    supersedes: Option<RecordId>,
    now: DateTime<Utc>,
) -> anyhow::Result<RecordId> {
    let vector = embedder.embed(&said.text)?;
    let mut record = NewRecord::new(
        said.text.clone(),
        MemorySource::UserInput,
        MemoryKind::Finding,
    );
    record.embedding = Some(Embedding::new(embedder.space().clone(), vector));
    record.supersedes = supersedes;
    record.timestamp = Some(now);
    match engine.observe(vec![record], None, now)?.first() {
        Some(WriteOutcome::Inserted { id }) => Ok(*id),
        other => anyhow::bail!("a fact was not kept: {other:?}"),
    }
}

fn recall_ids(
    memory: &Snapshot,
    space: &EmbeddingSpace,
    (question, vector): &(String, Vec<f32>),
    as_of: Option<DateTime<Utc>>,
) -> Vec<RecordId> {
    let mut request = RecallRequest::new(question.clone());
    request.top_k = TOP;
    request.as_of = as_of;
    let learner = memory.learner();
    let id = RecallId::from_u128(1);
    let answer = memory
        .recall(&RecallCall::new(&request, id, learner.as_ref()).with_vectors(&[(space, vector)]));
    answer.results.iter().map(|one| one.record.id).collect()
}
