//! `reprise demo week`: three weeks of a host that asks memory before it plans. Its runs succeed or
//! fail by what they really did: small Rust programs, compiled and tested in a scratch directory.
//!
//! The weeks, played and noted in the story's own time.

mod told;

use reprise_sandbox::{
    AppConfig, AppState, MemoryBridge, ModelEndpoint, ModelGateway, Planner, Repertoire, RunReport,
    Turn, WorkersConfig,
};
use reprise_types::{LearningEngine as _, MemoryFilter, RetrievedMemory, TimestampError};

use super::super::model::Maker;
use crate::args::KeptDemo;
use crate::cli::prelude::*;
use crate::env;
use told::{Learned, PlanTold, Remembered, RunTold, Story, Taught, WeekTold};

/// Memories asked for by each week's question, and the first of them that are shown.
const ASKED: usize = 20;
const SHOWN: usize = 5;

/// The first Monday.
const BEGIN: &str = "2026-02-02T09:00:00Z";
/// Between two requests: far enough apart that the next one is no retry of the last.
const BETWEEN: TimeDelta = TimeDelta::minutes(45);

/// Some requests insist on a way that cannot work here: that is what lets one tell what helps.
const WEEKS: &str = include_str!("week/weeks.txt");

/// The runs so far: in which week each was, and what it was asked for.
type Asked = BTreeMap<String, (usize, &'static str)>;

pub(super) fn run(context: &Context, arguments: &KeptDemo) -> anyhow::Result<Exit> {
    let user: UserId = "ada".parse()?;
    needs_rustc()?;
    let (context, _temporary) = super::stage(context, arguments.keep.as_deref())?;
    let factory = model::factory(&context);
    let story = runtime::threaded()?.block_on(play(&context, &user, factory))?;
    output::print(&context, &story, |out| Ok(told::story(out, &story)?))
}

/// The runs compile real programs; without a compiler all of them would fail for the same reason.
fn needs_rustc() -> anyhow::Result<()> {
    let mut rustc = Command::new("rustc");
    rustc.arg("--version").stdout(Stdio::null());
    let found = rustc.stderr(Stdio::null()).status();
    let works = found.is_ok_and(|status| status.success());
    works.then_some(()).context(
        "`demo week` compiles small Rust programs and there is no rustc on the PATH; install Rust \
         and try again",
    )
}

/// Workers under the configured model, or under the planner without one.
fn workers(context: &Context, workspace: &Path) -> anyhow::Result<WorkersConfig> {
    let gateway: Arc<dyn ModelGateway> = match context.config.planner.endpoint() {
        Some(endpoint) => Arc::new(ModelEndpoint::new(endpoint)),
        None => Arc::new(Planner::new(Repertoire::builtin()?)),
    };
    let mut workers = WorkersConfig::new(workspace.to_owned(), gateway);
    workers.commands.environment = env::for_commands();
    Ok(workers)
}

async fn play(context: &Context, user: &UserId, factory: Option<Maker>) -> anyhow::Result<Story> {
    let clock = Arc::new(StoryClock::new()?);
    let workers = Some(workers(context, &context.places.data.join("workspace"))?);
    let events = super::events(context);
    let host = Host::start_with(context, user, events, factory, workers, clock.clone()).await?;
    let mut asked = Asked::new();
    let mut weeks = Vec::new();
    let mut trace = Vec::new();
    for (number, week) in (1..).zip(all_weeks()) {
        clock.start_week(number - 1);
        let (recall, brings_back) = recall(&host, week.question, &asked).await?;
        let mut runs = Vec::new();
        for &request in &week.requests {
            clock.next_request();
            let desktop = format!("week-{number}");
            let report = host.execute(request, &desktop).await?;
            asked.insert(report.run_id.clone(), (number, request));
            runs.push(told(request, &report));
            trace = report.turns;
        }
        let first_try = runs.iter().filter(|run| run.at_first_try()).count();
        weeks.push(WeekTold {
            week: number,
            title: week.title,
            question: week.question,
            recall,
            brings_back,
            runs,
            first_try,
            first_try_without_memory: without_memory(context, user, &week).await?,
        });
    }
    let learning = host
        .engine(|engine| {
            let learner = engine.learning().learner();
            let (evidence_gate, adapter_gate) = learner.gates();
            Learned {
                runs: engine.learning().runs(),
                evidence_gate,
                adapter_gate,
                cap: learner.cap(),
            }
        })
        .await?;
    host.shut_down().await?;
    Ok(Story {
        weeks,
        trace,
        learning,
    })
}

/// The week's question to memory, with where each answer comes from, and all weeks that it brings
/// back.
async fn recall(
    host: &Host,
    question: &str,
    asked: &Asked,
) -> anyhow::Result<(Vec<Remembered>, BTreeSet<usize>)> {
    let request = RecallRequest {
        top_k: ASKED,
        filter: MemoryFilter {
            kinds: Some(vec![MemoryKind::Finding, MemoryKind::Pattern]),
            ..MemoryFilter::default()
        },
        ..RecallRequest::new(question)
    };
    let found = host.memory.recall_request(request).await?.results;
    let place_before = |one: &RetrievedMemory| {
        let better = found.iter().filter(|other| other.score > one.score);
        better.count() + 1
    };
    let week_of = |one: &RetrievedMemory| {
        let run = one.record.provenance.run_id.as_ref()?;
        Some(asked.get(run)?.0)
    };
    let remembered = found.iter().take(SHOWN).map(|one| Remembered {
        text: one.record.text.clone(),
        score: one.score,
        sona_score: one.sona_score,
        week: week_of(one),
        learning: one.why.learning,
        place_before: place_before(one),
        taught_by: one
            .why
            .taught_by
            .iter()
            .map(|run| Taught {
                request: asked
                    .get(&run.run_id)
                    .map_or_else(|| run.run_id.clone(), |&(_, request)| request.to_owned()),
                quality: run.quality,
                similarity: run.similarity,
            })
            .collect(),
    });
    Ok((
        remembered.collect(),
        found.iter().filter_map(week_of).collect(),
    ))
}

/// The same week on a host without memory: how many requests it does with its first plan.
async fn without_memory(context: &Context, user: &UserId, week: &Week) -> anyhow::Result<usize> {
    let folder = tempfile::tempdir()?;
    let config = AppConfig {
        workers: Some(workers(context, &folder.path().join("workspace"))?),
        ..AppConfig::new(
            folder.path().join("events.db"),
            MemoryBridge::without_memory(),
        )
    };
    let app = AppState::start(config).await?;
    let mut first_try = 0;
    for &request in &week.requests {
        let report = app.execute(user, request, "without").await?;
        first_try += usize::from(told(request, &report).at_first_try());
    }
    app.shut_down().await?;
    Ok(first_try)
}

fn told(request: &'static str, report: &RunReport) -> RunTold {
    let plans = report.attempts.iter().map(|attempt| PlanTold {
        plan: attempt.plan.clone(),
        reason: attempt.reason.clone(),
        worked: attempt.failure.is_none(),
        outcome: attempt.outcome.clone(),
    });
    RunTold {
        request,
        status: report.status,
        plans: plans.collect(),
        used: report.used.len(),
        turns: report.turns.len(),
        turns_with_memory: with_memory(&report.turns),
    }
}

fn with_memory(turns: &[Turn]) -> usize {
    let injected = turns.iter().filter(|turn| turn.injected_bytes > 0);
    injected.count()
}

/// One week's work.
#[derive(Debug)]
struct Week {
    title: &'static str,
    /// What memory is asked before the week begins: the documents' own words.
    question: &'static str,
    requests: Vec<&'static str>,
}

fn all_weeks() -> impl Iterator<Item = Week> {
    WEEKS.split("\n\n").map(|week| {
        let mut lines = week.lines();
        let mut line = || lines.next().unwrap_or_default();
        let (title, question) = (line(), line());
        let requests = lines.collect();
        Week {
            title,
            question,
            requests,
        }
    })
}

/// Three weeks in a few seconds.
#[derive(Debug)]
struct StoryClock {
    begin: DateTime<Utc>,
    now: Mutex<DateTime<Utc>>,
}

impl StoryClock {
    fn new() -> Result<Self, TimestampError> {
        let begin = parse_timestamp(BEGIN)?;
        let now = Mutex::new(begin);
        Ok(Self { begin, now })
    }

    /// Monday morning of a week, counted from 0; time only goes on.
    fn start_week(&self, number: usize) {
        let weeks = i64::try_from(number).unwrap_or_default();
        let monday = self.begin + TimeDelta::weeks(weeks);
        let mut now = lock(&self.now);
        *now = monday.max(*now);
    }

    /// The time of the next request.
    fn next_request(&self) {
        *lock(&self.now) += BETWEEN;
    }
}

impl Clock for StoryClock {
    fn now(&self) -> DateTime<Utc> {
        *lock(&self.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_begin_on_mondays_and_time_only_goes_on() {
        let clock = StoryClock::new().unwrap();
        clock.next_request();
        assert_eq!(clock.now().to_rfc3339(), "2026-02-02T09:45:00+00:00");
        clock.start_week(0);
        assert_eq!(clock.now().to_rfc3339(), "2026-02-02T09:45:00+00:00");
        clock.start_week(2);
        assert_eq!(clock.now().to_rfc3339(), "2026-02-16T09:00:00+00:00");
    }
}
