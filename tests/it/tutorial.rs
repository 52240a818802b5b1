//! The tutorial, line by line, as its reader would type it.

use reprise_tests::reprise_binary;

#[test]
fn every_line_of_the_tutorial_does_what_it_says() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let path = data.path().display().to_string();
    trycmd::TestCases::new()
        .register_bin("reprise", reprise_binary().expect("reprise is built"))
        .env("REPRISE_DATA_DIR", format!("{path}/data"))
        .env("XDG_RUNTIME_DIR", &path)
        .env("NO_COLOR", "1")
        .case("../docs/guide/tutorial.md");
}
