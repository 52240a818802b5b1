//! `reprise graph`: what links make of records.

use reprise_operations::operations::{bridges, cluster, path};

use super::Context;
use super::said::run as say;
use crate::args::GraphCommand;
use crate::exit::Exit;

pub(super) fn run(context: &Context, command: &GraphCommand) -> anyhow::Result<Exit> {
    match command {
        GraphCommand::Path(arguments) => {
            let (from, to) = (arguments.from.clone(), arguments.to.clone());
            say::<path::Path>(context, &arguments.whose, path::Arguments { from, to })
        }
        GraphCommand::Around(arguments) => {
            let what = cluster::Arguments {
                id: Some(arguments.named.id.clone()),
                depth: Some(arguments.depth),
                limit: None,
            };
            say::<cluster::ClusterOf>(context, &arguments.named.whose, what)
        }
        GraphCommand::Clusters(arguments) => {
            let what = cluster::Arguments {
                limit: Some(arguments.limit),
                ..cluster::Arguments::default()
            };
            say::<cluster::ClusterOf>(context, &arguments.whose, what)
        }
        GraphCommand::Bridges(arguments) => {
            let mut tags = arguments.tags.iter().cloned();
            let what = bridges::Arguments {
                from: tags.next(),
                to: tags.next(),
                limit: Some(arguments.limit),
            };
            say::<bridges::BridgesOf>(context, &arguments.whose, what)
        }
    }
}
