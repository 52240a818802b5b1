//! Memory maintained: put away, decided by a person, taken back.

pub mod audit;
mod plans;
mod undoing;

use reprise_knowledge::{
    Distillate, Merge, Plan, are_related, execute_plan, name_distinction, undo_action,
};

use crate::operations::records::{get_live_record_id, get_named_record_id};
use crate::prelude::*;
use crate::wire::UndoneReport;
use plans::maintenance_report;
use undoing::{get_newest_undoable_action, list_texts, list_upkeep, plan_undo};

pub use plans::{DoubtfulPair, MergedSet, maintenance_factory};
pub(crate) use plans::{PLANNERS_MAX, SharedPlanner};

/// What was done, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Consolidated {
    /// For `undo`; null where nothing was done.
    pub action: Option<String>,
    pub dry_run: bool,
    pub merged: Vec<MergedSet>,
    /// Pairs that wait for `review`.
    pub review: Vec<DoubtfulPair>,
    /// Pairs in doubt that are not listed.
    pub review_more: usize,
    /// Pairs that cannot both hold.
    pub contradictions: Vec<DoubtfulPair>,
    /// Such pairs that are not listed.
    #[serde(default)]
    pub contradictions_more: usize,
    /// Put away because their time was over; forgotten a week later.
    pub purged: Vec<String>,
    /// Had their time, and stay because something speaks for them.
    pub promoted: Vec<String>,
    /// Records made of what recurs.
    pub distilled: Vec<String>,
    /// What those say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<String>,
}

/// Lets the first of these memories that is in a group stay in place of the others; returns whether
/// one is.
fn choose_kept(merge: &mut Merge, chosen: &[String], names: &RecordNames<'_>) -> bool {
    let is_chosen = |id: &RecordId| chosen.contains(&names.record_name(*id));
    if is_chosen(&merge.kept) {
        return true;
    }
    match merge.gone.iter_mut().find(|gone| is_chosen(gone)) {
        Some(gone) => {
            std::mem::swap(gone, &mut merge.kept);
            true
        }
        None => false,
    }
}

operation! {
    Spec::for_destroying(
        "consolidate",
        "Merge duplicates, expire old memories, report contradictions; `undo` reverts it.",
    )
    .with_tool("consolidate", Profile::Full);
    /// How far to go.
    #[derive(Default, clap::Args)]
    Consolidate(memory, arguments: ConsolidateArguments {
        /// Show what would be done; change nothing.
        #[arg(long)]
        pub dry_run: bool,
        /// Merge only the groups with these memories, keep these, and change nothing else.
        #[schemars(extend("x-rare" = true))]
        #[arg(long = "group", value_name = "ID")]
        pub groups: Option<Vec<String>> as RecordKeys,
        /// Merge no duplicates: only put away what expired, and write summaries.
        #[schemars(extend("x-rare" = true))]
        #[arg(long, conflicts_with = "groups")]
        pub skip_groups: bool,
    }) -> Consolidated {
        let (dry_run, for_agent) = (arguments.dry_run, memory.is_for_agent());
        let (groups, skip_groups) = (arguments.groups, arguments.skip_groups);
        for name in groups.iter().flatten() {
            memory.get_record(name).await?;
        }
        let (plan, mut done) = memory
            .run_on_plan(move |memory, mut plan| {
                let names = RecordNames { memory, for_agent };
                if let Some(groups) = &groups {
                    plan.merged.retain_mut(|merge| choose_kept(merge, groups, &names));
                    plan.purged.clear();
                    plan.distilled.clear();
                }
                if skip_groups {
                    plan.merged.clear();
                }
                let done = build_plan_answer(&names, &plan, dry_run);
                (plan, done)
            })
            .await?;
        if dry_run {
            return Ok(done);
        }
        let now = memory.now();
        let work = move |engine: &mut Engine| execute_plan(engine, plan, now);
        let acted = memory.run_on_engine(work).await??;
        done.distilled = acted.distilled.iter().map(ToString::to_string).collect();
        memory.notify_maintenance(maintenance_report(&acted));
        done.action = acted.action;
        Ok(done)
    }

    fn effect(arguments: &ConsolidateArguments) -> Effect {
        if arguments.dry_run {
            return Effect::Reads;
        }
        Self::SPEC.effect
    }

    fn render_text(done: &Consolidated) -> Cow<'_, str> {
        let mut parts = vec![describe_merges(done)];
        let doubts = done.review.len() + done.review_more;
        let contradictions = done.contradictions.len() + done.contradictions_more;
        for (count, what) in [(done.purged.len(), "expired"), (done.distilled.len(), "summarized")] {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        for (count, what) in [(doubts, "possible duplicate"), (contradictions, "contradiction")] {
            if count > 0 {
                let count = format_count(count, what);
                parts.push(format!("{count} to decide with `reprise doctor review`"));
            }
        }
        let mut text = parts.join("; ");
        let mut quoted = QuotedMemory::new(system_entropy());
        MergedSet::quote_sets(&done.merged, &mut quoted);
        if !done.merged.is_empty() {
            text.push_str(&["\n", quoted.into_text().trim_end()].concat());
        }
        if let Some(action) = &done.action {
            text.push_str(&["\nundo with `reprise doctor undo ", action, "`"].concat());
        }
        text.into()
    }
}

fn describe_merges(done: &Consolidated) -> String {
    let gone: usize = done.merged.iter().map(|merge| merge.gone.len()).sum();
    if gone == 0 {
        return "nothing to merge".to_owned();
    }
    let will = match (done.dry_run, gone) {
        (true, _) => "would be",
        (false, 1) => "was",
        (false, _) => "were",
    };
    let kept = match done.merged.len() {
        1 => "another".to_owned(),
        several => format!("{several} others"),
    };
    format!("{} {will} merged into {kept}", format_count(gone, "memory"))
}

fn build_plan_answer(names: &RecordNames<'_>, plan: &Plan, dry_run: bool) -> Consolidated {
    let sets = plan.merged.iter();
    let sets = sets.map(|merge| [&[merge.kept], &merge.gone[..]].concat());
    Consolidated {
        action: None,
        dry_run,
        merged: names.describe_merged_sets(&sets.collect::<Vec<_>>()),
        review: names.describe_pairs(&plan.review, false),
        review_more: plan.review_more,
        contradictions: names.describe_pairs(&plan.contradictions, false),
        contradictions_more: plan.contradictions_more,
        purged: names.record_names(&plan.purged),
        promoted: names.record_names(&plan.promoted),
        distilled: plan.distilled.iter().map(Distillate::name).collect(),
        summaries: plan.distilled.iter().map(|one| one.text.clone()).collect(),
    }
}

/// What somebody says of a pair.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Relation")]
pub enum PairVerdict {
    /// Duplicates: merge them.
    #[value(alias = "s")]
    Same,
    /// Keep both and do not ask again.
    #[value(alias = "d")]
    Different,
    /// Keep the newer.
    #[value(alias = "n")]
    Newer,
    /// Keep the older.
    #[value(alias = "o")]
    Older,
}

/// The pairs that wait, or what an answer to one did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reviewed {
    /// Alike, and perhaps the same.
    #[serde(default)]
    pub review: Vec<DoubtfulPair>,
    /// Pairs in doubt that are not listed.
    #[serde(default)]
    pub review_more: usize,
    /// Cannot both hold.
    #[serde(default)]
    pub contradictions: Vec<DoubtfulPair>,
    /// Such pairs that are not listed.
    #[serde(default)]
    pub contradictions_more: usize,
    /// Of an answer: for `undo`.
    #[serde(default)]
    pub action: Option<String>,
    /// Of an answer: the record that answers for both.
    #[serde(default)]
    pub kept: Option<String>,
    /// Of an answer: whether both stay.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub apart: bool,
    /// Of an answer: the two records, the older first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<[String; 2]>,
}

operation! {
    Spec::for_adding(
        "review",
        "Pairs that may be duplicates or contradict each other; or a decision about one.",
    )
    .with_tool("review", Profile::Full);
    /// Nothing, to see the pairs; or a pair with the answer.
    #[derive(Default)]
    #[schemars(transform = schema_rules::require_all_or_none(&["pair", "answer"]))]
    Review(memory, arguments: ReviewArguments {
        /// The two records.
        pub pair: Option<[String; 2]> as RecordKeys,
        /// What they are to each other.
        pub answer: Option<PairVerdict>,
    }) -> Reviewed {
        match (arguments.pair, arguments.answer) {
            (Some(pair), Some(answer)) => decide_pair(memory, pair, answer, PairOrigin::Asked).await,
            (None, None) => list_pairs(memory).await,
            _ => Err(Problem::invalid(
                "a pair needs an answer, and an answer a pair; name both, or neither to see the \
                 pairs",
            )),
        }
    }

    fn effect(arguments: &ReviewArguments) -> Effect {
        if arguments.pair.is_none() {
            return Effect::Reads;
        }
        Self::SPEC.effect
    }

    fn render_text(reviewed: &Reviewed) -> Cow<'_, str> {
        if let Some([older, newer]) = &reviewed.pair {
            return match (&reviewed.kept, &reviewed.action) {
                (Some(kept), Some(action)) => {
                    let gone = if kept == older { newer } else { older };
                    format!("merged {gone} into {kept}; undo with `reprise doctor undo {action}`").into()
                }
                (_, Some(action)) => format!(
                    "{older} and {newer} both stay, and are not asked about again; undo with \
                     `reprise doctor undo {action}`"
                )
                .into(),
                _ => format!("{older} and {newer} both stay, and are not asked about again").into(),
            };
        }
        let left = [
            format_count(
                reviewed.review.len() + reviewed.review_more,
                "possible duplicate",
            ),
            format_count(
                reviewed.contradictions.len() + reviewed.contradictions_more,
                "contradiction",
            ),
        ];
        let mut quoted = QuotedMemory::new(system_entropy());
        for doubted in reviewed.review.iter().chain(&reviewed.contradictions) {
            for (name, text) in doubted.pair.iter().zip(doubted.texts.iter().flatten()) {
                quoted.add_line("- ", &[name, ": ", text].concat());
            }
            quoted.add_line("  ", &doubted.why);
        }
        let text = format!("{}\n{}", left.join(", "), quoted.into_text());
        text.trim_end().to_owned().into()
    }
}

async fn list_pairs(memory: &Memory) -> Result<Reviewed, Problem> {
    let for_agent = memory.is_for_agent();
    let listed = memory.run_on_plan(move |memory, plan| {
        let names = RecordNames { memory, for_agent };
        Reviewed {
            review: names.describe_pairs(&plan.review, true),
            review_more: plan.review_more,
            contradictions: names.describe_pairs(&plan.contradictions, true),
            contradictions_more: plan.contradictions_more,
            ..Reviewed::default()
        }
    });
    listed.await
}

/// Who named a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PairOrigin {
    /// It is answered because it was asked about; any other is refused.
    Asked,
    /// A person chose the two.
    Chosen,
}

/// A live pair by its names; refused where nobody was asked about it and no person chose it.
async fn find_pair(
    memory: &Memory,
    pair: [String; 2],
    origin: PairOrigin,
) -> Result<[RecordId; 2], Problem> {
    let find = move |memory: &Snapshot| -> Result<_, Problem> {
        let two = [
            get_live_record_id(memory, &pair[0])?,
            get_live_record_id(memory, &pair[1])?,
        ];
        if two[0] == two[1] {
            return Err(Problem::invalid(format!(
                "`{}` and `{}` are the same memory by now; name two",
                pair[0], pair[1]
            )));
        }
        let is_known = origin == PairOrigin::Chosen || are_related(memory, two[0], two[1]);
        Ok((two, is_known, pair))
    };
    let (two, is_known, pair) = memory.run_on_snapshot(find).await??;
    if is_known {
        return Ok(two);
    }
    // What was found of a record that is to be merged is listed for the one that stays.
    let plan = memory.run_on_plan(|_, plan| plan).await?;
    let mut pairs = plan.review.iter().chain(&plan.contradictions);
    if pairs.any(|found| two.iter().all(|id| found.pair.contains(id))) {
        return Ok(two);
    }
    Err(Problem::invalid(format!(
        "`{}` and `{}` are not a pair that `reprise doctor review` lists: nothing says that they \
         are the same or contradict each other; edit or forget one of them instead",
        pair[0], pair[1]
    )))
}

/// Decides about two memories that a person chose, whether or not they are alike.
pub async fn decide_chosen_pair(
    memory: &Memory,
    pair: [String; 2],
    answer: PairVerdict,
) -> Result<Reviewed, Problem> {
    decide_pair(memory, pair, answer, PairOrigin::Chosen).await
}

async fn decide_pair(
    memory: &Memory,
    pair: [String; 2],
    answer: PairVerdict,
    origin: PairOrigin,
) -> Result<Reviewed, Problem> {
    let now = memory.now();
    let [one, other] = find_pair(memory, pair, origin).await?;
    let work = move |engine: &mut Engine| -> Result<_, Problem> {
        let snapshot = engine.snapshot();
        let at = |id| {
            let record = snapshot.get(id).and_then(Result::ok);
            record.map(|record| (record.timestamp, record.id))
        };
        let (older, newer) = if at(one) <= at(other) {
            (one, other)
        } else {
            (other, one)
        };
        let names = RecordNames {
            memory: &snapshot,
            for_agent: false,
        };
        let pair = Some([names.record_name(older), names.record_name(newer)]);
        let (gone, kept) = match answer {
            PairVerdict::Different => {
                engine.mark_distinct(one, other, now)?;
                let reviewed = Reviewed {
                    action: name_distinction(&engine.snapshot(), one, other),
                    apart: true,
                    pair,
                    ..Reviewed::default()
                };
                return Ok((reviewed, vec![one, other]));
            }
            PairVerdict::Same | PairVerdict::Newer => (older, newer),
            PairVerdict::Older => (newer, older),
        };
        engine.retire(&[(gone, kept)], now)?;
        let reviewed = Reviewed {
            action: Some(gone.to_string()),
            kept: Some(names.record_name(kept)),
            pair,
            ..Reviewed::default()
        };
        Ok((reviewed, vec![gone]))
    };
    let (reviewed, changed) = memory.run_on_engine(work).await??;
    memory.announce_decision(changed, answer == PairVerdict::Same);
    Ok(reviewed)
}

operation! {
    Spec::for_adding(
        "undo",
        "Undo an action of `consolidate` or `review`, or a correction.",
    )
    .with_tool("undo", Profile::Full);
    /// What is to be taken back.
    #[derive(Default, clap::Args)]
    Undo(memory, asked: UndoArguments {
        /// What to undo: an action id from `diary`, or a memory id; your latest action by default.
        pub action: Option<String> as RecordKey,
        /// Only say it.
        #[schemars(extend("x-rare" = true))]
        #[arg(long, help = "Only say what would be undone")]
        pub dry_run: bool,
    }) -> UndoneReport {
        let by_itself = list_upkeep(memory);
        if asked.dry_run {
            let plan = move |memory: &Snapshot| plan_undo(memory, asked.action, &by_itself);
            return memory.run_on_snapshot(plan).await?;
        }
        let (now, of) = (memory.now(), memory.clone());
        let work = move |engine: &mut Engine| -> Result<_, Problem> {
            // To a request that comes again, because its answer was lost, the first one's is told.
            if let Some(said) = of.find_earlier_undo() {
                return Ok(Ok((said, Vec::new())));
            }
            let action = match asked.action {
                Some(action) => action,
                None => get_newest_undoable_action(&engine.snapshot(), &by_itself)?,
            };
            // A record may be named as its own system names it.
            let named = get_named_record_id(&engine.snapshot(), &action);
            let named = named.ok().map(|id| id.to_string());
            let undone = undo_action(engine, named.as_deref().unwrap_or(&action), now)?;
            if undone.is_empty() {
                return Ok(Err(action));
            }
            let snapshot = engine.snapshot();
            let names = RecordNames {
                memory: &snapshot,
                for_agent: false,
            };
            let said = UndoneReport {
                restored: names.record_names(&undone.restored),
                withdrawn: names.record_names(&undone.withdrawn),
                contradictions: names.pair_names(&undone.contradictions),
                rejoined: names.pair_names(&undone.rejoined),
                texts: list_texts(&names, &undone),
                ..UndoneReport::default()
            };
            of.note_undo(said.clone());
            let changed = [undone.restored, undone.withdrawn, undone.rejoined.concat()];
            Ok(Ok((said, changed.concat())))
        };
        match memory.run_on_engine(work).await?? {
            Ok((said, changed)) => {
                memory.announce_change("restored", changed);
                Ok(said)
            }
            Err(action) => revert_last_correction(memory, &action).await,
        }
    }

    fn render_text(done: &UndoneReport) -> Cow<'_, str> {
        if done.planned && !done.reverted.is_empty() {
            return "would be undone: the last correction of the memory".into();
        }
        if !done.reverted.is_empty() {
            return "undone: the memory is as it was before its last correction".into();
        }
        let name = |ids: &[String]| match ids {
            [id] => format!("memory `{id}`"),
            ids => format_count(ids.len(), "memory"),
        };
        let mut parts = Vec::new();
        if !done.restored.is_empty() {
            parts.push(format!("restored {}", name(&done.restored)));
        }
        if !done.withdrawn.is_empty() {
            parts.push(format!("removed {}, which it had made", name(&done.withdrawn)));
        }
        if !done.contradictions.is_empty() {
            let pairs = format_count(done.contradictions.len(), "pair");
            parts.push(format!("{pairs} no longer marked as a contradiction"));
        }
        if !done.rejoined.is_empty() {
            let pairs = format_count(done.rejoined.len(), "pair");
            parts.push(format!("{pairs} to decide again with `reprise doctor review`"));
        }
        let head = if done.planned { "would be undone: " } else { "undone: " };
        let mut quoted = QuotedMemory::new(system_entropy());
        for text in &done.texts {
            quoted.add_line("- ", text);
        }
        let said = [head, &parts.join("; "), "\n", &quoted.into_text()].concat();
        said.trim_end().to_owned().into()
    }
}

impl Memory {
    /// What this request took back when it was sent before, as far as this process knows.
    pub(crate) fn find_earlier_undo(&self) -> Option<UndoneReport> {
        let key = self.request_key()?;
        let mut all = self.all.taken_back.list_for_user(&self.user).into_iter();
        all.find_map(|(of, said)| (of == key).then_some(said))
    }

    /// Notes what this request undid; between commits, so that a repeated request finds it.
    pub(crate) fn note_undo(&self, said: UndoneReport) {
        if let Some(key) = self.request_key() {
            self.all.taken_back.note(&self.user, (key.to_owned(), said));
        }
    }
}

/// Takes back the last correction of a record of this name.
async fn revert_last_correction(memory: &Memory, name: &str) -> Result<UndoneReport, Problem> {
    let record = match memory.revert_last_change(name).await {
        Ok(record) => record,
        Err(problem) if problem.kind == ProblemKind::NotFound => None,
        Err(problem) => return Err(problem),
    };
    let record = record.ok_or_else(|| {
        let name: String = name.chars().take(64).collect();
        Problem::not_found(format!(
            "there is no action `{name}` to undo, and no memory with this id was corrected; `reprise doctor diary` lists the actions"
        ))
    })?;
    Ok(UndoneReport::reverted(&record))
}

#[cfg(test)]
mod tests;
