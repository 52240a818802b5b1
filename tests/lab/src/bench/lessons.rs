//! Lessons with tags and links: what a tag filter costs a recall, and what a walk of three links
//! takes.

use reprise_engine::RecallCall;
use reprise_types::MemoryFilter;

use super::corpus::{self, Dice};
use super::figures::{Times, row};
use crate::prelude::*;

const RELATIONS: [&str; 4] = ["related_to", "derived_from", "contradicts", "learned_from"];
/// Lessons share one of so many tags.
const AREAS: u64 = 10;
const LINKS_EACH: usize = 5;
const QUESTIONS: usize = 400;
const WALKS: usize = 400;
const DEPTH: usize = 3;

pub(super) fn run(context: &Context, records: usize) -> anyhow::Result<Exit> {
    let folder = tempfile::tempdir()?;
    let mut engine = corpus::create_filled_store(&folder.path().join("memory.rvf"), 0)?;
    let mut dice = Dice(11);
    let space = Variant::Int8.space();
    let ids = corpus::insert_records(&mut engine, records, |number| {
        let mut lesson = corpus::make_record(&mut dice, number, &space);
        lesson.tags = vec![make_area_tag(&mut dice)];
        lesson
    })?;
    ensure!(ids.len() == records, "a lesson was not kept");
    let links = insert_links(&mut engine, &mut dice, &ids)?;
    engine.checkpoint()?;
    engine.load()?;
    let snapshot = engine.snapshot();
    let [plain, tagged] = time_questions(&snapshot, &mut dice)?;
    let (mut walks, mut reached) = (Vec::with_capacity(WALKS), 0);
    for _ in 0..WALKS {
        let from = pick_id(&mut dice, &ids);
        let began = Instant::now();
        let found = snapshot.related(from, DEPTH, usize::MAX);
        walks.push(began.elapsed().as_secs_f64() * 1e3);
        reached += found.len();
    }
    let reached = reached as f64 / WALKS as f64;
    for (name, times) in [
        ("recall, vector given", plain),
        ("the same with a tag", tagged),
        ("walk of three links", walks),
    ] {
        let Times { p50, p99, .. } = Times::from_times(times);
        row!(context, { "records": records, "links": links, "what": name, "ms_p50": p50,
            "ms_p99": p99, "reached": reached })?;
    }
    Ok(Exit::Success)
}

fn make_area_tag(dice: &mut Dice) -> String {
    format!("area-{}", dice.roll() % AREAS)
}

fn pick_id(dice: &mut Dice, ids: &[RecordId]) -> RecordId {
    let place = (dice.roll() % ids.len().max(1) as u64) as usize;
    ids.get(place).copied().unwrap_or(RecordId::from_u128(0))
}

/// Answers how many links there are.
fn insert_links(engine: &mut Engine, dice: &mut Dice, ids: &[RecordId]) -> anyhow::Result<usize> {
    let from = ids.iter().copied().cycle().take(ids.len() * LINKS_EACH);
    let links = from.map(|from| (from, pick_id(dice, ids), dice.pick(&RELATIONS).to_owned()));
    let links: Vec<(RecordId, RecordId, String)> = links.collect();
    let made = engine.link_all(&links, SystemClock.now())?;
    Ok(made.into_iter().filter(|new| *new).count())
}

/// The times of questions without a tag, and of the same with one.
fn time_questions(snapshot: &Snapshot, dice: &mut Dice) -> anyhow::Result<[Vec<f64>; 2]> {
    let space = Variant::Int8.space();
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..QUESTIONS {
        let (text, topic) = corpus::make_question(dice);
        let vector = corpus::make_vector(dice, topic, usize::from(DIMENSIONS));
        let tag = make_area_tag(dice);
        for (times, tags) in times.iter_mut().zip([None, Some(vec![tag])]) {
            let request = RecallRequest {
                top_k: 10,
                filter: MemoryFilter {
                    tags: tags.clone(),
                    ..MemoryFilter::default()
                },
                ..RecallRequest::new(text.as_str())
            };
            let question = [(&space, vector.as_slice())];
            let call = RecallCall::new(&request, RecallId::from_u128(1), &NoLearning);
            let began = Instant::now();
            let found = snapshot.recall(&call.with_vectors(&question));
            times.push(began.elapsed().as_secs_f64() * 1e3);
            ensure!(!found.results.is_empty(), "a question found nothing");
            let mut results = found.results.iter();
            let wanted = tags.into_iter().flatten().next();
            let has_it = |tags: &[String]| wanted.as_ref().is_none_or(|tag| tags.contains(tag));
            ensure!(
                results.all(|one| has_it(&one.record.tags)),
                "the filter let another record by"
            );
        }
    }
    Ok(times)
}
