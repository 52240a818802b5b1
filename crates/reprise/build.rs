//! Builds nothing: a build script lets this package name a feature of what macros are built
//! with, so that `cargo run` and `cargo test --workspace` share one build of them (see the end of
//! the workspace's dependencies).

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
