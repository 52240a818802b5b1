//! `reprise consolidate`, `review`, `undo`, `audit` and `diary`: memory is tended, and shows all
//! that was done to it.

use std::io::Write;

use reprise_operations::operations::audit::{self, Audit};
use reprise_operations::operations::consolidate::{self, Consolidate};
use reprise_operations::operations::diary::{self, Diary};
use reprise_operations::operations::review::{self, Review, Verdict};
use reprise_operations::operations::undo::{self, Undo};
use reprise_operations::{Effect, Operation};
use reprise_types::{UserId, unframed};

use super::Context;
use super::session::Session;
use crate::args::{
    ConsolidateArguments, ReviewAnswer, ReviewArguments, TendArguments, UndoArguments,
};
use crate::exit::Exit;

pub(super) fn run(context: &Context, arguments: &ConsolidateArguments) -> anyhow::Result<Exit> {
    let dry_run = arguments.dry_run;
    let effect = if dry_run {
        Effect::Reads
    } else {
        Consolidate::SPEC.effect
    };
    let asked = consolidate::Arguments { dry_run };
    ask::<Consolidate>(context, &arguments.tend.user, effect, asked)
}

pub(super) fn review(context: &Context, arguments: &ReviewArguments) -> anyhow::Result<Exit> {
    let user = &arguments.tend.user;
    let ([one, other], Some(answer)) = (&arguments.pair[..], arguments.answer) else {
        let asked = review::Arguments::default();
        return ask::<Review>(context, user, Effect::Reads, asked);
    };
    let answer = match answer {
        ReviewAnswer::Same => Verdict::Same,
        ReviewAnswer::Different => Verdict::Different,
        ReviewAnswer::Newer => Verdict::Newer,
        ReviewAnswer::Older => Verdict::Older,
    };
    let asked = review::Arguments {
        pair: Some([one.clone(), other.clone()]),
        answer: Some(answer),
    };
    ask::<Review>(context, user, Review::SPEC.effect, asked)
}

pub(super) fn take_back(context: &Context, arguments: &UndoArguments) -> anyhow::Result<Exit> {
    let action = arguments.action.clone();
    let asked = undo::Arguments { action };
    ask::<Undo>(context, &arguments.tend.user, Undo::SPEC.effect, asked)
}

pub(super) fn audit(context: &Context, arguments: &TendArguments) -> anyhow::Result<Exit> {
    let asked = audit::Arguments::default();
    ask::<Audit>(context, &arguments.user, Effect::Reads, asked)
}

pub(super) fn diary(context: &Context, arguments: &TendArguments) -> anyhow::Result<Exit> {
    let asked = diary::Arguments::default();
    ask::<Diary>(context, &arguments.user, Effect::Reads, asked)
}

/// Prints what an operation answers.
pub(super) fn ask<O: Operation>(
    context: &Context,
    user: &UserId,
    effect: Effect,
    arguments: O::Arguments,
) -> anyhow::Result<Exit> {
    let session = Session::open(context, user, effect)?;
    let answer = session.call::<O>(arguments);
    session.close();
    let answer = answer?;
    let mut out = crate::printer::stdout();
    if context.json {
        writeln!(out, "{}", serde_json::to_string(&answer)?)?;
    } else {
        writeln!(out, "{}", unframed(&O::text(&answer)))?;
    }
    Ok(Exit::Success)
}
