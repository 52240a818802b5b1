//! `reprise consolidate`, `review`, `undo` and `audit`: memory tends itself, and shows all it did.
//!
//! A daemon that has the memory lends it for as long as that takes.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::bail;
use reprise_engine::{Engine, Snapshot};
use reprise_knowledge::{Merge, Pair, Plan, actions, carry_out, plan, undo};
use reprise_operations::external_id_of;
use reprise_redact::Redactor;
use reprise_store::Verify;
use reprise_types::{Clock, RecordId, SystemClock, UserId};
use serde_json::{Value, json};

use super::Context;
use super::store::{self, Access};
use crate::args::{
    ConsolidateArguments, ReviewAnswer, ReviewArguments, TendArguments, UndoArguments,
};
use crate::exit::Exit;

/// Characters of a text that a person is shown.
const SHOWN_CHARS: usize = 120;

pub(super) fn run(context: &Context, arguments: &ConsolidateArguments) -> anyhow::Result<Exit> {
    let user = &arguments.tend.user;
    let now = SystemClock.now();
    let (action, plan, memory) = if arguments.dry_run {
        let (engine, _) = store::open(context, user, Access::Read, Verify::Tail)?;
        let memory = engine.snapshot();
        (None, plan(&memory, now), memory)
    } else {
        let mut engine = store::take_over(context, user)?;
        let memory = engine.snapshot();
        let done = carry_out(&mut engine, plan(&memory, now), now)?;
        engine.close()?;
        (done.action, done.plan, memory)
    };
    let names = Names { memory: &memory };
    let Plan {
        merged,
        review,
        contradictions,
        purged,
        promoted,
        review_more,
    } = &plan;
    let merged: Vec<Value> = merged
        .iter()
        .map(|Merge { kept, gone }| json!({ "kept": names.of(*kept), "gone": names.all(gone) }))
        .collect();
    let report = json!({
        "action": action,
        "dry_run": arguments.dry_run,
        "merged": merged,
        "review": names.pairs(review),
        "review_more": review_more,
        "contradictions": names.pairs(contradictions),
        "purged": names.all(purged),
        "promoted": names.all(promoted),
        "distilled": [],
    });
    let gone: usize = plan.merged.iter().map(|merge| merge.gone.len()).sum();
    let will = if arguments.dry_run {
        "would be"
    } else {
        "were"
    };
    let mut prose = format!(
        "{gone} records {will} put behind {} that say the same, {} purged; {} pairs wait for \
         `reprise review`, {} contradict each other",
        plan.merged.len(),
        plan.purged.len(),
        plan.review.len() + plan.review_more,
        plan.contradictions.len()
    );
    if let Some(action) = &action {
        let undo = format!("\n`reprise undo {action} --user {user}` takes the merges back");
        prose.push_str(&undo);
    }
    say(context, &report, &prose)
}

pub(super) fn review(context: &Context, arguments: &ReviewArguments) -> anyhow::Result<Exit> {
    let user = &arguments.tend.user;
    let now = SystemClock.now();
    if let ([one, other], Some(answer)) = (&arguments.pair[..], arguments.answer) {
        return decide(context, user, [one, other], answer);
    }
    let (engine, _) = store::open(context, user, Access::Read, Verify::Tail)?;
    let memory = engine.snapshot();
    let names = Names { memory: &memory };
    let plan = plan(&memory, now);
    let all = plan.review.iter().chain(&plan.contradictions);
    let mut prose = String::new();
    for pair in all {
        let [older, newer] = pair.pair;
        for id in [older, newer] {
            let line = format!("  {} {}\n", names.of(id), names.text(id));
            prose.push_str(&line);
        }
        let why = format!("  {}\n\n", pair.why);
        prose.push_str(&why);
    }
    prose.push_str("answer with `reprise review A B --answer same|different|newer|older --user U`");
    let report = json!({
        "review": names.pairs(&plan.review),
        "review_more": plan.review_more,
        "contradictions": names.pairs(&plan.contradictions),
    });
    say(context, &report, &prose)
}

/// What a person says of a pair.
fn decide(
    context: &Context,
    user: &UserId,
    pair: [&String; 2],
    answer: ReviewAnswer,
) -> anyhow::Result<Exit> {
    let now = SystemClock.now();
    let mut engine = store::take_over(context, user)?;
    let [one, other] = pair.map(|name| live(&engine, name));
    let (one, other) = (one?, other?);
    let at = |id| {
        let record = engine.snapshot().get(id).and_then(Result::ok);
        record.map(|record| (record.timestamp, record.id))
    };
    let (older, newer) = if at(one) <= at(other) {
        (one, other)
    } else {
        (other, one)
    };
    let put = match answer {
        ReviewAnswer::Different => None,
        ReviewAnswer::Same | ReviewAnswer::Newer => Some((older, newer)),
        ReviewAnswer::Older => Some((newer, older)),
    };
    let (action, prose) = if let Some(pair) = put {
        engine.retire(&[pair], now)?;
        (
            Some(pair.0.to_string()),
            format!("{} answers for {}", pair.1, pair.0),
        )
    } else {
        engine.set_apart(one, other, now)?;
        (None, "they stay two".to_owned())
    };
    engine.close()?;
    say(context, &json!({ "action": action }), &prose)
}

fn live(engine: &Engine, name: &str) -> anyhow::Result<RecordId> {
    let id = store::record_named(engine, name).map_err(anyhow::Error::msg)?;
    match engine.snapshot().current(id) {
        Some(id) => Ok(id),
        None => bail!("the record `{name}` was forgotten; name one that is there"),
    }
}

pub(super) fn take_back(context: &Context, arguments: &UndoArguments) -> anyhow::Result<Exit> {
    let user = &arguments.tend.user;
    let mut engine = store::take_over(context, user)?;
    // A record may be named as its own system names it.
    let named = store::record_named(&engine, &arguments.action);
    let action = named.map_or_else(|_| arguments.action.clone(), |id| id.to_string());
    let restored = undo(&mut engine, &action, SystemClock.now())?;
    let memory = engine.snapshot();
    engine.close()?;
    if restored.is_empty() {
        bail!(
            "there is no action `{}` that holds; `reprise audit --user {user}` lists them",
            arguments.action
        );
    }
    let names = Names { memory: &memory };
    let report = json!({ "restored": names.all(&restored) });
    say(
        context,
        &report,
        &format!("{} records answer again", restored.len()),
    )
}

pub(super) fn audit(context: &Context, arguments: &TendArguments) -> anyhow::Result<Exit> {
    let (engine, _) = store::open(context, &arguments.user, Access::Read, Verify::Tail)?;
    let memory = engine.snapshot();
    let plan = plan(&memory, SystemClock.now());
    let unembedded = engine.stats().unembedded;
    let (mut records, mut secrets) = (0_usize, Vec::new());
    let mut months: BTreeMap<String, usize> = BTreeMap::new();
    for record in memory.records().flatten() {
        records += 1;
        *months
            .entry(record.known_at.format("%Y-%m").to_string())
            .or_default() += 1;
        if Redactor::new().redact_text(&record.text).count > 0 {
            secrets.push(record.id);
        }
    }
    let names = Names { memory: &memory };
    let duplicates: usize = plan.merged.iter().map(|merge| merge.gone.len()).sum();
    let acted: Vec<Value> = actions(&memory)
        .iter()
        .map(|action| {
            let merged = action.merged.iter();
            let merged = merged.map(|(gone, kept)| [names.of(*gone), names.of(*kept)]);
            let merged: Vec<[String; 2]> = merged.collect();
            json!({ "action": action.action, "at": action.at, "merged": merged })
        })
        .collect();
    let trouble = duplicates + plan.contradictions.len() + plan.purged.len() + secrets.len();
    let score = 1.0 - (trouble as f64 / records.max(1) as f64).min(1.0);
    let report = json!({
        "records": records,
        "duplicates": duplicates,
        "review": plan.review.len() + plan.review_more,
        "contradictions": names.pairs(&plan.contradictions),
        "stale": names.all(&plan.purged),
        "unembedded": unembedded,
        "possible_secrets": names.all(&secrets),
        "growth": months,
        "actions": acted,
        "score": (score * 1e3).round() / 1e3,
    });
    let prose = format!(
        "{records} records, score {score:.3}: {duplicates} duplicates, {} contradictions, {} stale, \
         {unembedded} without a vector, {} possible secrets; {} pairs to review; {} actions can be \
         undone",
        plan.contradictions.len(),
        plan.purged.len(),
        secrets.len(),
        plan.review.len() + plan.review_more,
        acted.len()
    );
    say(context, &report, &prose)
}

fn say(context: &Context, report: &Value, prose: &str) -> anyhow::Result<Exit> {
    let mut out = anstream::stdout().lock();
    if context.json {
        writeln!(out, "{report}")?;
    } else {
        writeln!(out, "{prose}")?;
    }
    Ok(Exit::Success)
}

/// Records by the ids that their own systems gave them, where there are any.
struct Names<'a> {
    memory: &'a Snapshot,
}

impl Names<'_> {
    fn of(&self, id: RecordId) -> String {
        let record = self.memory.version(id).and_then(Result::ok);
        let name = record.and_then(|record| external_id_of(&record));
        name.unwrap_or_else(|| id.to_string())
    }

    fn all(&self, ids: &[RecordId]) -> Vec<String> {
        ids.iter().map(|id| self.of(*id)).collect()
    }

    fn pairs(&self, pairs: &[Pair]) -> Vec<Value> {
        let pairs = pairs.iter().map(|Pair { pair, newest, why }| {
            json!({ "pair": pair.map(|id| self.of(id)), "newest": self.of(*newest), "why": why })
        });
        pairs.collect()
    }

    /// The beginning of a text, on one line.
    fn text(&self, id: RecordId) -> String {
        let record = self.memory.version(id).and_then(Result::ok);
        let text = record.map(|record| record.text).unwrap_or_default();
        let line: Vec<&str> = text.split_whitespace().collect();
        line.join(" ").chars().take(SHOWN_CHARS).collect()
    }
}
