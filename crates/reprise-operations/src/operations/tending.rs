//! Memory tended: put away, decided by a person, taken back.

use reprise_knowledge::{Distillate, Plan, actions, are_related, carry_out, undo};

use crate::memories::{Doubted, Merged, changed, live};
use crate::prelude::*;
use crate::wire::external_id_of;

/// What was done, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Consolidated {
    /// For `undo`; null where nothing was done.
    pub action: Option<String>,
    pub dry_run: bool,
    pub merged: Vec<Merged>,
    /// Pairs that wait for `review`.
    pub review: Vec<Doubted>,
    /// Pairs in doubt that are not listed.
    pub review_more: usize,
    /// Pairs that cannot both hold.
    pub contradictions: Vec<Doubted>,
    /// Such pairs that are not listed.
    #[serde(default)]
    pub contradictions_more: usize,
    /// Put away because their time was over; forgotten a week later.
    pub purged: Vec<String>,
    /// Had their time, and stay because something speaks for them.
    pub promoted: Vec<String>,
    /// Records made of what recurs.
    pub distilled: Vec<String>,
}

operation! {
    Spec::destroys(
        "consolidate",
        "Merge duplicates, purge what had its time, name contradictions; `undo` takes it back.",
    )
    .tool("consolidate", Profile::Full);
    /// How far to go.
    #[derive(Default, clap::Args)]
    Consolidate(memory, arguments: ConsolidateArguments {
        /// Only say what would be done.
        #[arg(long)]
        pub dry_run: bool,
    }) -> Consolidated {
        let (dry_run, for_agent) = (arguments.dry_run, memory.is_for_agent());
        let (plan, mut done) = memory
            .planned(move |memory, plan| {
                let done = told(&Names { memory, for_agent }, &plan, dry_run);
                (plan, done)
            })
            .await?;
        if dry_run {
            return Ok(done);
        }
        let now = memory.now();
        let work = move |engine: &mut Engine| carry_out(engine, plan, now);
        let acted = memory.with_engine(work).await??;
        done.distilled = acted.distilled.iter().map(ToString::to_string).collect();
        memory.tell_tended(changed(&acted));
        done.action = acted.action;
        Ok(done)
    }

    fn effect(arguments: &ConsolidateArguments) -> Effect {
        if arguments.dry_run {
            return Effect::Reads;
        }
        Self::SPEC.effect
    }

    fn text(done: &Consolidated) -> Cow<'_, str> {
        let mut text = format!(
            "{}; {} purged, {} distilled; for a review: {} in doubt, {}",
            behind(done),
            done.purged.len(),
            done.distilled.len(),
            counted(done.review.len() + done.review_more, "pair"),
            counted(
                done.contradictions.len() + done.contradictions_more,
                "contradiction"
            ),
        );
        let mut quoted = QuotedMemory::new(system_entropy());
        Merged::quote(&done.merged, &mut quoted);
        if !done.merged.is_empty() {
            text.push_str(&["\n", quoted.into_text().trim_end()].concat());
        }
        if let Some(action) = &done.action {
            text.push_str(&["\nundo ", action, " takes it back"].concat());
        }
        text.into()
    }
}

fn behind(done: &Consolidated) -> String {
    let gone: usize = done.merged.iter().map(|merge| merge.gone.len()).sum();
    let will = match (done.dry_run, gone) {
        (true, _) => "would be",
        (false, 1) => "was",
        (false, _) => "were",
    };
    let (gone, kept) = (counted(gone, "record"), done.merged.len());
    format!("{gone} {will} put behind {kept} that said the same")
}

fn told(names: &Names<'_>, plan: &Plan, dry_run: bool) -> Consolidated {
    let sets = plan.merged.iter();
    let sets = sets.map(|merge| [&[merge.kept], &merge.gone[..]].concat());
    Consolidated {
        action: None,
        dry_run,
        merged: names.merged(&sets.collect::<Vec<_>>()),
        review: names.pairs(&plan.review, false),
        review_more: plan.review_more,
        contradictions: names.pairs(&plan.contradictions, false),
        contradictions_more: plan.contradictions_more,
        purged: names.all(&plan.purged),
        promoted: names.all(&plan.promoted),
        distilled: plan.distilled.iter().map(Distillate::name).collect(),
    }
}

/// What somebody says of a pair.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Relation")]
pub enum Verdict {
    /// They say the same: the newer answers for both.
    #[value(alias = "s")]
    Same,
    /// Both stay, and are not asked about again.
    #[value(alias = "d")]
    Different,
    /// The newer holds, the older no more.
    #[value(alias = "n")]
    Newer,
    /// The older holds.
    #[value(alias = "o")]
    Older,
}

/// The pairs that wait, or what an answer to one did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reviewed {
    /// Alike, and perhaps the same.
    #[serde(default)]
    pub review: Vec<Doubted>,
    /// Pairs in doubt that are not listed.
    #[serde(default)]
    pub review_more: usize,
    /// Cannot both hold.
    #[serde(default)]
    pub contradictions: Vec<Doubted>,
    /// Such pairs that are not listed.
    #[serde(default)]
    pub contradictions_more: usize,
    /// Of an answer: for `undo`; null where both stay.
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
    Spec::adds(
        "review",
        "The pairs that may say the same or contradict each other; or an answer to one.",
    )
    .tool("review", Profile::Full);
    /// Nothing, to see the pairs; or a pair with the answer.
    #[derive(Default)]
    #[schemars(transform = asks::all_or_none(&["pair", "answer"]))]
    Review(memory, arguments: ReviewArguments {
        /// The two records.
        pub pair: Option<[String; 2]>,
        /// What they are to each other.
        pub answer: Option<Verdict>,
    }) -> Reviewed {
        match (arguments.pair, arguments.answer) {
            (Some(pair), Some(answer)) => decide(memory, pair, answer).await,
            (None, None) => listed(memory).await,
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

    fn text(reviewed: &Reviewed) -> Cow<'_, str> {
        if let Some([older, newer]) = &reviewed.pair {
            return match (&reviewed.kept, &reviewed.action) {
                (Some(kept), Some(action)) => {
                    let gone = if kept == older { newer } else { older };
                    format!("{kept} answers for {gone} too; undo {action} takes it back").into()
                }
                _ => format!("{older} and {newer} both stay, and are not asked about again").into(),
            };
        }
        let left = [
            counted(reviewed.review.len() + reviewed.review_more, "pair") + " in doubt",
            counted(
                reviewed.contradictions.len() + reviewed.contradictions_more,
                "contradiction",
            ),
        ];
        let mut quoted = QuotedMemory::new(system_entropy());
        for doubted in reviewed.review.iter().chain(&reviewed.contradictions) {
            for (name, text) in doubted.pair.iter().zip(doubted.texts.iter().flatten()) {
                quoted.line("- ", &[name, ": ", text].concat());
            }
            quoted.line("  ", &doubted.why);
        }
        let text = format!("{}\n{}", left.join(", "), quoted.into_text());
        text.trim_end().to_owned().into()
    }
}

async fn listed(memory: &Memory) -> Result<Reviewed, Problem> {
    let for_agent = memory.is_for_agent();
    let listed = memory.planned(move |memory, plan| {
        let names = Names { memory, for_agent };
        Reviewed {
            review: names.pairs(&plan.review, true),
            review_more: plan.review_more,
            contradictions: names.pairs(&plan.contradictions, true),
            contradictions_more: plan.contradictions_more,
            ..Reviewed::default()
        }
    });
    listed.await
}

/// A live pair by its names; refused where nobody was asked about it.
async fn asked_about(memory: &Memory, pair: [String; 2]) -> Result<[RecordId; 2], Problem> {
    let find = move |engine: &mut Engine| -> Result<_, Problem> {
        let two = [live(engine, &pair[0])?, live(engine, &pair[1])?];
        if two[0] == two[1] {
            return Err(Problem::invalid(format!(
                "`{}` and `{}` are one record by now; name two",
                pair[0], pair[1]
            )));
        }
        Ok((two, are_related(&engine.snapshot(), two[0], two[1]), pair))
    };
    let (two, is_known, pair) = memory.with_engine(find).await??;
    if is_known {
        return Ok(two);
    }
    // What was found of a record that is to be merged is listed for the one that stays.
    let plan = memory.planned(|_, plan| plan).await?;
    let mut pairs = plan.review.iter().chain(&plan.contradictions);
    if pairs.any(|found| two.iter().all(|id| found.pair.contains(id))) {
        return Ok(two);
    }
    Err(Problem::invalid(format!(
        "`{}` and `{}` are no pair of `review`: nothing says that they are the same or contradict \
         each other; to let one go all the same, `edit` or `forget` it",
        pair[0], pair[1]
    )))
}

async fn decide(memory: &Memory, pair: [String; 2], answer: Verdict) -> Result<Reviewed, Problem> {
    let now = memory.now();
    let [one, other] = asked_about(memory, pair).await?;
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
        let names = Names {
            memory: &snapshot,
            for_agent: false,
        };
        let pair = Some([names.of(older), names.of(newer)]);
        let (gone, kept) = match answer {
            Verdict::Different => {
                engine.set_apart(one, other, now)?;
                let reviewed = Reviewed {
                    apart: true,
                    pair,
                    ..Reviewed::default()
                };
                return Ok((reviewed, vec![one, other]));
            }
            Verdict::Same | Verdict::Newer => (older, newer),
            Verdict::Older => (newer, older),
        };
        engine.retire(&[(gone, kept)], now)?;
        let reviewed = Reviewed {
            action: Some(gone.to_string()),
            kept: Some(names.of(kept)),
            pair,
            ..Reviewed::default()
        };
        Ok((reviewed, vec![gone]))
    };
    let (reviewed, changed) = memory.with_engine(work).await??;
    memory.tell("consolidated", changed);
    Ok(reviewed)
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TakenBack {
    /// Records that answer again.
    pub restored: Vec<String>,
    /// Records that the action had made, which answer no more.
    pub withdrawn: Vec<String>,
    /// Pairs that were named as contradicting each other; the newer stands above the older no more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradictions: Vec<[String; 2]>,
    /// Records that are again as they were before their last correction, or have their tags again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reverted: Vec<String>,
}

impl TakenBack {
    /// That a record is as it was.
    pub(crate) fn reverted(record: &MemoryRecord) -> Self {
        Self {
            reverted: vec![external_id_of(record).unwrap_or_else(|| record.id.to_string())],
            ..Self::default()
        }
    }
}

operation! {
    Spec::adds(
        "undo",
        "Take back an action of `consolidate` or `review`, or a correction.",
    )
    .tool("undo", Profile::Full);
    /// What is to be taken back.
    #[derive(Default, clap::Args)]
    Undo(memory, asked: UndoArguments {
        /// An action of `diary`, a record that was put away, or one that was corrected; the latest
        /// action that holds by default.
        pub action: Option<String>,
    }) -> TakenBack {
        let (now, of) = (memory.now(), memory.clone());
        let work = move |engine: &mut Engine| -> Result<_, Problem> {
            // To a request that comes again, because its answer was lost, the first one's is told.
            if let Some(said) = of.undone_before() {
                return Ok(Ok((said, Vec::new())));
            }
            let action = match asked.action {
                Some(action) => action,
                None => newest(&engine.snapshot())?,
            };
            // A record may be named as its own system names it.
            let named = resolve(engine, &action).map(|id| id.to_string());
            let undone = undo(engine, named.as_deref().unwrap_or(&action), now)?;
            if undone.is_empty() {
                return Ok(Err(action));
            }
            let snapshot = engine.snapshot();
            let names = Names {
                memory: &snapshot,
                for_agent: false,
            };
            let said = TakenBack {
                restored: names.all(&undone.restored),
                withdrawn: names.all(&undone.withdrawn),
                contradictions: names.ends(&undone.contradictions),
                reverted: Vec::new(),
            };
            of.note_taken_back(said.clone());
            Ok(Ok((said, [undone.restored, undone.withdrawn].concat())))
        };
        match memory.with_engine(work).await?? {
            Ok((said, changed)) => {
                memory.tell("restored", changed);
                Ok(said)
            }
            Err(action) => reverted(memory, &action).await,
        }
    }

    fn text(done: &TakenBack) -> Cow<'_, str> {
        if !done.reverted.is_empty() {
            return "the record is again as it was before its last correction".into();
        }
        let [back, gone] =
            [&done.restored, &done.withdrawn].map(|ids| counted(ids.len(), "record"));
        let pairs = match done.contradictions.len() {
            0 => String::new(),
            pairs => format!(", {} ranked as before", counted(pairs, "contradiction")),
        };
        format!("{back} back in answers, {gone} out of them{pairs}").into()
    }
}

/// The latest action that holds.
fn newest(memory: &Snapshot) -> Result<String, Problem> {
    let held = actions(memory).into_iter().rev().find(|one| !one.undone);
    held.map(|one| one.action).ok_or_else(|| {
        Problem::not_found(
            "there is nothing to undo: nothing was merged, put away or answered, or all of it was \
             taken back; `undo ID` takes the last correction of a record back",
        )
    })
}

/// Takes back the last correction of a record of this name.
async fn reverted(memory: &Memory, name: &str) -> Result<TakenBack, Problem> {
    let record = match memory.revert(name).await {
        Ok(record) => record,
        Err(problem) if problem.kind == ProblemKind::NotFound => None,
        Err(problem) => return Err(problem),
    };
    let record = record.ok_or_else(|| {
        let name: String = name.chars().take(64).collect();
        Problem::not_found(format!(
            "there is no action `{name}` that holds, and no record of that name was corrected; \
             `diary` lists the actions"
        ))
    })?;
    Ok(TakenBack::reverted(&record))
}

#[cfg(test)]
mod tests;
