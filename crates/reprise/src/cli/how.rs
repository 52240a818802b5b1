//! `reprise how`: how a task like this was done before.

use reprise_operations::Effect;
use reprise_operations::operations::how::{self, How};

use super::Context;
use super::consolidate::ask;
use crate::args::HowArguments;
use crate::exit::Exit;

pub(super) fn run(context: &Context, arguments: &HowArguments) -> anyhow::Result<Exit> {
    let asked = how::Arguments {
        query: arguments.query.clone(),
        limit: arguments.limit,
    };
    ask::<How>(context, &arguments.tend.user, Effect::Reads, asked)
}
