//! `reprise status` and `reprise stop`: the daemon seen from outside.

use std::io::Write;

use reprise_server::Call;
use serde_json::{Value, json};

use super::Context;
use super::daemon::Daemon;
use super::endpoint::Named;
use crate::exit::Exit;
use crate::terminal;

pub(super) fn run(context: &Context) -> anyhow::Result<Exit> {
    let mut out = crate::printer::stdout();
    let Some(daemon) = Daemon::seen(context)? else {
        let data = context.places.data.display();
        if context.json {
            writeln!(out, "{}", json!({ "running": false }))?;
        } else {
            writeln!(out, "no daemon serves {data}")?;
        }
        return Ok(Exit::Refused);
    };
    let mut status: Value = daemon.ask(&Call::get("/v1/status"))?;
    let endpoints: Vec<String> = context
        .config
        .endpoints()
        .into_iter()
        .filter(Named::leaves)
        .map(|named| named.url)
        .collect();
    if context.json {
        if let Value::Object(status) = &mut status {
            status.insert("running".to_owned(), Value::Bool(true));
            status.insert("texts_leave_for".to_owned(), json!(endpoints));
        }
        writeln!(out, "{status}")?;
        return Ok(Exit::Success);
    }
    let text = |name: &str| match &status[name] {
        Value::String(text) => text.clone(),
        Value::Null => "none".to_owned(),
        other => other.to_string(),
    };
    let title = format!("reprise {}, process {}", text("version"), text("pid"));
    writeln!(out, "{}", terminal::title(title))?;
    writeln!(out, "  serves        {}", text("data_dir"))?;
    writeln!(out, "  socket        {}", text("socket"))?;
    let http = match text("http").as_str() {
        "none" => "off; `reprise serve --http ADDRESS` opens it".to_owned(),
        address => address.to_owned(),
    };
    writeln!(out, "  http          {http}")?;
    writeln!(out, "  up            {} s", text("uptime_seconds"))?;
    let idle_exit = match text("idle_exit_seconds").as_str() {
        "none" => "never".to_owned(),
        seconds => format!("after {seconds} s without a request"),
    };
    writeln!(out, "  idle exit     {idle_exit}")?;
    writeln!(out, "  requests      {}", text("requests_served"))?;
    for url in endpoints {
        writeln!(out, "  texts leave   for {url}, which makes their vectors")?;
    }
    for why in status["projections_failing"]
        .as_array()
        .into_iter()
        .flatten()
    {
        super::note(&format!("warning: {}", why.as_str().unwrap_or_default()));
    }
    if text("version") != env!("CARGO_PKG_VERSION") {
        super::note("it is of another version: run `reprise serve --replace`");
    }
    Ok(Exit::Success)
}

pub(super) fn stop(context: &Context) -> anyhow::Result<Exit> {
    let Some(daemon) = Daemon::seen(context)? else {
        super::note(&format!(
            "no daemon serves {}",
            context.places.data.display()
        ));
        return Ok(Exit::Success);
    };
    daemon.end()?;
    Ok(Exit::Success)
}
