//! How something like this was done before.

use crate::operations::recall::AskedRecall;
use crate::prelude::*;

/// Runs that are looked at for the best of them.
const CANDIDATES: usize = 32;
const LIMIT_DEFAULT: usize = 3;
/// Records of one run whose texts are shown.
const USED_MAX: usize = 8;
/// Quality from which on a run went well.
const WELL: f32 = 0.6;
/// One minus the cosine up to which a run is of the same kind, where no word is shared.
const NEAR: f32 = 0.5;

/// Said where there is no run.
const NONE: &str = "no runs like this yet: agents report their runs, and `reprise outcome --jsonl \
                    FILE` reports one by hand";

/// A run that had a task like it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Run")]
pub struct TaskRun {
    /// The record that it left.
    pub id: RecordId,
    /// The host's name for it.
    pub run_id: String,
    /// When it ended.
    pub at: String,
    /// Its task.
    pub question: String,
    /// What was done, in order.
    pub steps: Vec<String>,
    /// Records of earlier work that it used.
    pub used: Vec<RecordId>,
    /// What those of them say in short that are still there.
    pub used_texts: Vec<String>,
    /// How it went, 0..1.
    pub quality: f32,
    /// How likely it is of the same kind, 0..1.
    pub likeness: f32,
}

/// The best runs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Done")]
pub struct TaskRunList {
    /// Those that went well first, and of these the likest.
    pub runs: Vec<TaskRun>,
}

operation! {
    Spec::for_reading(
        "how",
        "How a task like this was done before: the runs that went best, with their steps.",
    )
    .with_tool("how", Profile::Full);
    /// What is to be done.
    #[derive(Default, clap::Args)]
    How(memory, arguments: Arguments {
        /// Description of the task.
        pub query: String as QuestionText,
        /// Maximum number of runs [default: 3].
        #[arg(long)]
        pub limit: Option<usize> as LimitCount,
    }) -> TaskRunList {
        let request = RecallRequest {
            top_k: CANDIDATES,
            filter: MemoryFilter {
                kinds: Some(vec![MemoryKind::Strategy]),
                sources: Some(vec![MemorySource::TrajectoryOutcome]),
                ..MemoryFilter::default()
            },
            ..RecallRequest::new(arguments.query)
        };
        let request = request.with_times_from_query(&memory.calendar());
        let asked = AskedRecall::new(request, memory.is_for_agent());
        let found = memory.answer(asked).await?.recall;
        let found = found.results.iter();
        let mut runs: Vec<TaskRun> = found.filter_map(TaskRun::of).collect();
        // Stable: of one kind the likest stays first.
        runs.sort_by_key(|run| run.quality < WELL);
        runs.truncate(arguments.limit.unwrap_or(LIMIT_DEFAULT));
        let runs = memory.run_on_snapshot(move |memory| {
            for run in &mut runs {
                let used = run.used.iter().take(USED_MAX);
                let used = used.filter_map(|id| memory.get(*id)?.ok());
                let used = used.filter(|record| !record.is_sensitive());
                run.used_texts = used.map(|record| title_or_beginning(&record)).collect();
            }
            runs
        });
        Ok(TaskRunList { runs: runs.await? })
    }

    fn render_text(done: &TaskRunList) -> Cow<'_, str> {
        if done.runs.is_empty() {
            return NONE.into();
        }
        let mut quoted = QuotedMemory::new(system_entropy());
        for run in &done.runs {
            let day = run.at.get(..10).unwrap_or_default();
            let label = format!("- {day} [{}], quality {:.2}: ", run.id, run.quality);
            quoted.add_line(&label, &run.question);
            if run.steps.is_empty() && run.used_texts.is_empty() {
                quoted.add_line("  no step was told, and nothing that it used", "");
            }
            for (number, step) in run.steps.iter().enumerate() {
                quoted.add_line(&format!("  {}. ", number + 1), step);
            }
            for used in &run.used_texts {
                quoted.add_line("  used: ", used);
            }
        }
        let text = format!(
            "{}\n{}",
            format_count(done.runs.len(), "run"),
            quoted.into_text()
        );
        text.trim_end().to_owned().into()
    }
}

impl TaskRun {
    fn of(found: &RetrievedMemory) -> Option<Self> {
        let near = found.why.raw_distance.is_some_and(|far| far <= NEAR);
        if !near && found.why.matched_words.is_empty() {
            return None;
        }
        let record = &found.record;
        let details = record.details.as_ref()?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let list = |name: &str| details[name].as_array().into_iter().flatten();
        Some(Self {
            id: record.id,
            run_id: text(&details["run_id"])?,
            at: format_instant(record.timestamp),
            question: text(&details["question"])?,
            steps: list("steps").filter_map(text).collect(),
            used: list("used")
                .filter_map(|id| id.as_str()?.parse().ok())
                .collect(),
            used_texts: Vec::new(),
            quality: record.quality_score.unwrap_or_default(),
            likeness: found.score,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_says_its_steps_and_what_it_used_or_that_none_were_told() {
        let run = |steps: &[&str], used: &[&str]| TaskRun {
            id: RecordId::from_u128(7),
            run_id: "r".to_owned(),
            at: "2026-02-02T09:00:00Z".to_owned(),
            question: "rotate the key".to_owned(),
            steps: steps.iter().map(|step| (*step).to_owned()).collect(),
            used: Vec::new(),
            used_texts: used.iter().map(|text| (*text).to_owned()).collect(),
            quality: 0.9,
            likeness: 0.5,
        };
        let runs = vec![
            run(&["ask the vault"], &["Keys live in the vault"]),
            run(&[], &[]),
        ];
        assert_eq!(How::render_text(&TaskRunList::default()), NONE);
        let said = How::render_text(&TaskRunList { runs }).into_owned();
        assert!(said.starts_with("2 runs\n"), "{said}");
        for part in [
            "  1. ask the vault\n",
            "  used: Keys live in the vault\n",
            "  no step was told, and nothing that it used\n",
        ] {
            assert_eq!(said.matches(part).count(), 1, "{part}: {said}");
        }
    }
}
