//! The tutorial and the pages on the commands, line by line, as their reader would type them.

use std::path::Path;

use reprise_tests::find_reprise_binary;

/// Runs a page of the guide. Data and sockets are in `place`, and so are the folders that the
/// variables of `also` name.
fn page(name: &str, place: &Path, also: &[(&str, &str)]) {
    let path = place.display().to_string();
    let cases = trycmd::TestCases::new();
    cases
        .register_bin("reprise", find_reprise_binary().expect("reprise is built"))
        .env("REPRISE_DATA_DIR", format!("{path}/data"))
        .env("XDG_RUNTIME_DIR", &path)
        .env("TZ", "UTC")
        .env("NO_COLOR", "1");
    for (variable, folder) in also {
        cases.env(*variable, format!("{path}/{folder}"));
    }
    cases.case(format!("../../docs/guide/{name}.md"));
    cases.run();
}

#[test]
fn every_line_of_the_tutorial_does_what_it_says() {
    let place = tempfile::tempdir().expect("a temporary directory");
    page("tutorial", place.path(), &[]);
}

#[test]
fn every_command_does_what_its_page_shows() {
    for name in ["commands", "commands-agents", "commands-care", "tidy"] {
        let place = tempfile::tempdir().expect("a temporary directory");
        // No model is there, and the reader's own configurations are left alone.
        let also = [("HOME", "home"), ("REPRISE_MODELS_DIR", "models")];
        page(name, place.path(), &also);
    }
}
