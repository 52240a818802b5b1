//! `reprise open`: the page of the daemon, started on demand, in this machine's browser.

use std::io::Write;
use std::process::{Command, Stdio};

use reprise_server::Call;
use serde_json::{Value, json};

use super::{Context, daemon, runtime};
use crate::args::OpenArguments;
use crate::exit::Exit;

/// What opens an address on the systems there are, the first that works.
const OPENERS: [&str; 3] = ["xdg-open", "open", "wslview"];

pub(super) fn run(context: &Context, arguments: &OpenArguments) -> anyhow::Result<Exit> {
    let client = daemon::client(context)?;
    let wanted = json!({
        "user": arguments.whose.user,
        "read_only": arguments.read_only,
        "operator": arguments.all_users,
    });
    let asked = Call::post("/v1/page", &wanted);
    let opened: Value = runtime::asking()?.block_on(client.ask(&asked))?;
    let url = opened["url"].as_str().unwrap_or_default();
    let seconds = &opened["seconds"];
    if context.json {
        writeln!(crate::printer::stdout(), "{opened}")?;
        return Ok(Exit::Success);
    }
    if arguments.print {
        writeln!(crate::printer::stdout(), "{url}")?;
        super::note(&format!("it lets one browser in, within {seconds} s"));
        return Ok(Exit::Success);
    }
    if OPENERS.iter().any(|opener| opens(opener, url)) {
        super::note("the page opens in your browser");
        return Ok(Exit::Success);
    }
    writeln!(crate::printer::stdout(), "{url}")?;
    super::note(&format!(
        "no browser could be started here: open this address on this machine within {seconds} s"
    ));
    Ok(Exit::Success)
}

fn opens(opener: &str, url: &str) -> bool {
    let mut command = Command::new(opener);
    let quiet = command
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}
