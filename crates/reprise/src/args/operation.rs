//! Commands that are an operation as it is: a line for each, from which its arguments and what it
//! does derive.

use clap::Args;
use reprise_operations::Operation;
use reprise_types::UserId;

#[derive(Debug, Clone, Args)]
pub(crate) struct WhoseArguments {
    /// User whose memories are used.
    #[arg(long, env = crate::env::USER, default_value_t)]
    pub(crate) user: UserId,
}

#[derive(Debug, Args)]
pub(crate) struct OperationArguments<A: Args> {
    #[command(flatten)]
    pub(crate) asked: A,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
}

/// What carries out the operation that was typed.
pub(crate) trait OperationRunner {
    type Done;

    fn run_operation<O>(&self, asked: OperationArguments<O::Arguments>) -> Self::Done
    where
        O: Operation<Arguments: Args>;
}

/// Commands with their help, each with its operation.
macro_rules! operation_commands {
    ($name:ident { $($(#[$help:meta])* $command:ident($operation:ty),)+ }) => {
        #[derive(Debug, clap::Subcommand)]
        pub(crate) enum $name {
            $(
                $(#[$help])*
                $command($crate::args::OperationArguments<
                    <$operation as reprise_operations::Operation>::Arguments,
                >),
            )+
        }

        impl $name {
            pub(crate) fn run_with<R: $crate::args::OperationRunner>(self, runner: &R) -> R::Done {
                match self {
                    $(Self::$command(asked) => runner.run_operation::<$operation>(asked),)+
                }
            }
        }
    };
}
pub(super) use operation_commands;
