//! The one binary of the product; what it does is in the library of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    reprise::main()
}
