//! A memory that is left alone for a year: what its file and its memory come to, and whether what
//! was said lately is found as well as in the first month.
//!
//! A day is worked through as an agent would: mostly routine, a quarter scratch that has its time,
//! a quarter things that happen once, some facts, some corrections. At its end the memory is
//! tended, and compacted where that is due. A text that comes again is embedded once.

use reprise_engine::RecallCall;
use reprise_knowledge::{Planner, execute_plan};
use reprise_types::{Retention, WriteOutcome};

use super::corpus::{self, Dice, EVENTS, FACTS, FactTemplate, Statement, make_thing_name};
use super::figures::{print_all, resident_bytes};
use crate::prelude::*;

/// Days after which figures are taken, and the last one.
const MARKS: [usize; 4] = [30, 90, 180, 365];
/// Fresh is what was said in so many days.
const FRESH_DAYS: usize = 7;
/// Questions of a mark.
const QUESTIONS: usize = 200;
const TOP: usize = 10;
/// Questions that are told where they were not answered first, and what is told to stand above.
const MISSED_MAX: usize = 12;
const ABOVE_MAX: usize = 3;
/// For so long scratch is kept.
const SCRATCH_SECONDS: u32 = 7 * 24 * 3_600;
/// Things that routine is about.
const ROUTINE_THINGS: u64 = 60;
const ROUTINE: [&str; 8] = [
    "Ran the tests of the {s}, all pass",
    "Pulled main and rebuilt the {s}",
    "Looked through the open issues of the {s}",
    "Formatted and linted the {s}",
    "Deployed the {s} to staging",
    "Answered a review of the {s}",
    "Updated the dependencies of the {s}",
    "Checked the dashboards of the {s}, nothing unusual",
];
/// Things are far apart in the order of their names.
const STRIDE: usize = 7_919;

/// The figures after a day.
#[derive(Debug, Clone, Default, Serialize)]
struct Mark {
    day: usize,
    /// Events that came until then.
    events: usize,
    /// Records that answer.
    live: u32,
    file_bytes: u64,
    index_bytes: usize,
    resident_bytes: u64,
    /// Of fresh questions, each with one record that answers it.
    ndcg: f64,
    /// How long it took to tend the memory on that day, in seconds.
    tended_s: f64,
    /// The longest day of all until then.
    tended_s_max: f64,
    merged: usize,
    purged: usize,
    compactions: usize,
    /// Some of the questions that were not answered first.
    missed: Vec<Missed>,
}

/// A question that was not answered first.
#[derive(Debug, Clone, Serialize)]
struct Missed {
    question: String,
    /// What would have answered it, and where that stood, from 1 on.
    wanted: String,
    place: Option<usize>,
    /// What stood above it, the first few.
    above: Vec<String>,
}

/// What somebody may ask for.
struct Answer {
    day: usize,
    id: RecordId,
    question: String,
    /// Which fact, and with which value; `None` for what happened once.
    fact: Option<(usize, usize)>,
}

/// Where records and questions get their vectors.
struct Vectors {
    embedder: Option<Box<dyn Embedder>>,
    /// Of texts that come again.
    seen: BTreeMap<String, Vec<f32>>,
}

pub(super) fn run(context: &Context, days: usize, events: usize) -> anyhow::Result<Exit> {
    let factory = model::factory(context).context("this bench needs the model")?;
    let embedder = Some(factory.open()?);
    let mut said = Ok(Exit::Success);
    simulate_days(days, events, embedder, |mark| {
        if said.is_ok() {
            said = print_all(context, mark);
        }
    })?;
    said
}

/// Works through the days; answers every mark, and tells it as it is taken.
fn simulate_days(
    days: usize,
    events: usize,
    embedder: Option<Box<dyn Embedder>>,
    mut tell: impl FnMut(&Mark),
) -> anyhow::Result<Vec<Mark>> {
    let folder = tempfile::tempdir()?;
    let begin = parse_timestamp("2025-01-01T08:00:00Z")?;
    let mut engine = corpus::create_store(&folder.path().join("memory.rvf"), begin)?;
    let mut vectors = Vectors {
        embedder,
        seen: BTreeMap::new(),
    };
    let (mut planner, mut dice) = (Planner::resume_from(0), Dice(365));
    let mut answers: Vec<Answer> = Vec::new();
    let mut mark = Mark::default();
    let mut marks = Vec::new();
    for day in 1..=days {
        let morning = begin + TimeDelta::days(i64::try_from(day)?);
        work_one_day(
            &mut engine,
            &mut vectors,
            &mut dice,
            &mut answers,
            (day, events),
            morning,
        )?;
        mark.events += events;
        let night = morning + TimeDelta::hours(14);
        let begun = Instant::now();
        let plan = planner.plan(&engine.snapshot(), night, &|| true);
        mark.merged += plan
            .merged
            .iter()
            .map(|merge| merge.gone.len())
            .sum::<usize>();
        mark.purged += plan.purged.len();
        execute_plan(&mut engine, plan, night)?;
        mark.tended_s = begun.elapsed().as_secs_f64();
        mark.tended_s_max = mark.tended_s_max.max(mark.tended_s);
        engine.checkpoint_if_due()?;
        if engine.is_compaction_due() {
            engine.compact()?;
            mark.compactions += 1;
        }
        if MARKS.contains(&day) || day == days {
            mark.day = day;
            let stats = engine.stats();
            (mark.live, mark.file_bytes) = (stats.live, stats.file_bytes);
            mark.index_bytes = engine.snapshot().memory_bytes();
            mark.resident_bytes = resident_bytes();
            mark.missed.clear();
            mark.ndcg = measure_ndcg(&engine, &mut vectors, &answers, day, &mut mark.missed)?;
            tell(&mark);
            marks.push(mark.clone());
        }
    }
    Ok(marks)
}

/// What comes on a day, an hour's worth at a time.
fn work_one_day(
    engine: &mut Engine,
    vectors: &mut Vectors,
    dice: &mut Dice,
    answers: &mut Vec<Answer>,
    (day, events): (usize, usize),
    morning: DateTime<Utc>,
) -> anyhow::Result<()> {
    for event in 0..events {
        let minutes = event * 600 / events.max(1);
        let now = morning + TimeDelta::minutes(i64::try_from(minutes)?);
        let number = day * events + event;
        let share = dice.roll() % 100;
        let mut asked = None;
        let mut record = match share {
            0..40 => {
                let about = usize::try_from(dice.roll() % ROUTINE_THINGS)?;
                let form = usize::try_from(dice.roll())? % ROUTINE.len();
                let form = ROUTINE.get(form).copied().unwrap_or_default();
                new_record(
                    form.replace("{s}", &make_thing_name(about * STRIDE)),
                    MemoryKind::Episode,
                )
            }
            40..65 => {
                let text = format!(
                    "build {number} of the {} took {} ms and left {} warnings",
                    make_thing_name(number * STRIDE),
                    dice.roll() % 90_000,
                    dice.roll() % 40
                );
                let mut record = new_record(text, MemoryKind::Episode);
                record.retention = Retention::Scratch {
                    ttl_seconds: SCRATCH_SECONDS,
                };
                record
            }
            65..90 => {
                let said_now = pick_template(&EVENTS, number).fill_in(number * STRIDE, number);
                let record = new_record(said_now.text.clone(), MemoryKind::Episode);
                asked = Some((said_now, None, None));
                record
            }
            _ => {
                let (fact, value, place) = if share < 98 {
                    (number, number, None)
                } else {
                    let facts = answers.iter().enumerate().rev();
                    let mut facts = facts.filter_map(|(at, answer)| Some((at, answer.fact?)));
                    let back = usize::try_from(dice.roll() % 120)?;
                    let Some((place, (fact, value))) = facts.nth(back) else {
                        continue;
                    };
                    (fact, value + 1, Some(place))
                };
                let said_now = pick_template(&FACTS, fact).fill_in(fact * STRIDE, value);
                let mut record = new_record(said_now.text.clone(), MemoryKind::Finding);
                let old = place.and_then(|place| answers.get(place));
                record.supersedes = old.map(|answer| answer.id);
                asked = Some((said_now, Some((fact, value)), place));
                record
            }
        };
        record.session_id = format!("day-{day}-{}", event * 8 / events.max(1));
        record.timestamp = Some(now);
        record.embedding = vectors.embed_record(&record.text, share < 40)?;
        let kept = engine.observe(vec![record], None, now)?;
        let Some(WriteOutcome::Inserted { id }) = kept.first() else {
            anyhow::bail!("an event was not kept: {kept:?}");
        };
        if let Some((Statement { question, .. }, fact, replaces)) = asked {
            let answer = Answer {
                day,
                id: *id,
                question,
                fact,
            };
            match replaces.and_then(|place| answers.get_mut(place)) {
                Some(old) => *old = answer,
                None => answers.push(answer),
            }
        }
    }
    Ok(())
}

fn pick_template(forms: &[FactTemplate], number: usize) -> &FactTemplate {
    &forms[number % forms.len()]
}

fn new_record(text: String, kind: MemoryKind) -> NewRecord {
    NewRecord::new(text, MemorySource::WorkerResult, kind)
}

/// Measures the nDCG of the first ten places over fresh questions.
fn measure_ndcg(
    engine: &Engine,
    vectors: &mut Vectors,
    answers: &[Answer],
    day: usize,
    missed: &mut Vec<Missed>,
) -> anyhow::Result<f64> {
    let memory = engine.snapshot();
    let fresh = answers
        .iter()
        .filter(|answer| answer.day + FRESH_DAYS > day);
    let fresh: Vec<&Answer> = fresh.collect();
    let step = fresh.len().div_ceil(QUESTIONS).max(1);
    let (mut questions, mut gained) = (0_usize, 0.0);
    for answer in fresh.iter().step_by(step) {
        let mut request = RecallRequest::new(answer.question.clone());
        request.top_k = TOP;
        let vector = vectors.embed_question(&answer.question)?;
        let space = vectors.embedder.as_ref().map(|embedder| embedder.space());
        let query = space.zip(vector.as_deref());
        let learner = memory.learner();
        let call = RecallCall::new(&request, RecallId::from_u128(1), learner.as_ref());
        let found = memory.recall(&call.with_vectors(query.as_slice()));
        // A copy answers for what it says, too.
        let wanted = memory.current_version(answer.id);
        let mut places = found.results.iter();
        let place = places.position(|one| Some(one.record.id) == wanted);
        questions += 1;
        gained += place.map_or(0.0, |place| 1.0 / ((place + 2) as f64).log2());
        if place != Some(0) && missed.len() < MISSED_MAX {
            let text = |id| {
                memory
                    .get(id)
                    .and_then(Result::ok)
                    .map(|found| found.body.text)
            };
            let above = found
                .results
                .iter()
                .take(place.unwrap_or(TOP).min(ABOVE_MAX));
            missed.push(Missed {
                question: answer.question.clone(),
                wanted: wanted.and_then(text).unwrap_or_default(),
                place: place.map(|place| place + 1),
                above: above.map(|one| one.record.text.clone()).collect(),
            });
        }
    }
    Ok(gained / questions.max(1) as f64)
}

impl Vectors {
    fn embed_record(&mut self, text: &str, comes_again: bool) -> anyhow::Result<Option<Embedding>> {
        let Some(embedder) = &mut self.embedder else {
            return Ok(None);
        };
        let space = embedder.space().clone();
        if let Some(seen) = self.seen.get(text) {
            return Ok(Some(Embedding::new(space, seen.clone())));
        }
        let vector = embedder.embed(text)?;
        if comes_again {
            self.seen.insert(text.to_owned(), vector.clone());
        }
        Ok(Some(Embedding::new(space, vector)))
    }

    fn embed_question(&mut self, text: &str) -> anyhow::Result<Option<Vec<f32>>> {
        let embedder = self.embedder.as_mut();
        Ok(embedder.map(|embedder| embedder.embed(text)).transpose()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By words alone: the model has its own tests, and a bench.
    #[test]
    fn a_month_and_a_half_leaves_memory_as_sharp_as_a_month() {
        let marks = simulate_days(45, 40, None, |_| ()).unwrap();
        let [month, end] = &marks[..] else {
            panic!("{marks:#?}");
        };
        assert_eq!((month.day, end.day), (30, 45));
        assert!(
            month.ndcg > 0.5 && end.ndcg >= month.ndcg - 0.02,
            "{marks:#?}"
        );
        assert!(end.merged > 0 && end.purged > 0, "{marks:#?}");
        // Routine and scratch leave: what answers is what was said once, and a week of scratch.
        assert!((end.live as usize) * 3 < end.events * 2, "{marks:#?}");
        let bytes = |mark: &Mark| mark.file_bytes as f64 / mark.events as f64;
        assert!(bytes(end) <= bytes(month) * 1.2, "{marks:#?}");
    }
}
