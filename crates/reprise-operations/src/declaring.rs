//! What another crate declares the arguments of its operations with, next to the macro
//! [`arguments!`](crate::arguments).

pub use schemars::Schema;

pub use crate::bounds::{
    ArgumentKind, CountContent, DescribedArguments, FreeContent, FreeObject, LimitCount, LineText,
    LongText, NameText, OtherType, PlainType, RecordKey, TextContent, TextKind, TextRule, TimeText,
    TypeCheck, note_former_names, require_arguments,
};
