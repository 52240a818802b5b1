//! `reprise status`, `stop`, `token` and `open`: the daemon seen from outside, and who may come in.

use reprise_server::{Scope, TokenEntry, TokenFile};

use super::daemon;
use super::endpoint::Named;
use super::unsent::Tally;
use crate::args::{OpenArguments, ServeCommand, TokenCommand, calendar};
use crate::cli::prelude::*;

/// How long the store of published knowledge may take to say what was taken down.
const MOMENT: Duration = Duration::from_secs(1);

pub(super) fn run(context: &Context, command: &ServeCommand) -> anyhow::Result<Exit> {
    match command {
        ServeCommand::Status => status(context),
        ServeCommand::Stop => stop(context),
        ServeCommand::Token(command) => token(context, command),
    }
}

fn status(context: &Context) -> anyhow::Result<Exit> {
    let Some(daemon) = Daemon::seen(context)? else {
        let data = context.places.data.display();
        let line = format!("no daemon serves {data}");
        output::line(context, &json!({ "running": false }), line)?;
        return Ok(Exit::Refused);
    };
    if let Some(remote) = &context.remote {
        return away(context, &remote.url, &daemon);
    }
    let mut status: Map<String, Value> = daemon.ask(&Call::get("/v1/status"))?;
    let taken_down = taken_down(context, &daemon);
    let endpoints: Vec<String> = context
        .config
        .endpoints()
        .into_iter()
        .filter(Named::leaves)
        .map(|named| named.url)
        .collect();
    status.insert("running".to_owned(), Value::Bool(true));
    status.insert("texts_leave_for".to_owned(), json!(endpoints));
    if !taken_down.is_empty() {
        status.insert("taken_down".to_owned(), json!(taken_down));
    }
    let status = Value::Object(status);
    output::print(context, &status, |out| Ok(table(out, &status, &endpoints)?))
}

fn table(out: &mut output::Out, status: &Value, endpoints: &[String]) -> io::Result<()> {
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
    for one in status["taken_down"].as_array().into_iter().flatten() {
        let text = |name: &str| one[name].as_str().unwrap_or_default();
        let (id, reason) = (text("id"), terminal::one_line(text("reason"), 200));
        tell!(
            "warning: an operator took {id} of yours down ({reason}); `reprise published` says more"
        );
    }
    for why in status["projections_failing"]
        .as_array()
        .into_iter()
        .flatten()
    {
        tell!("warning: {}", why.as_str().unwrap_or_default());
    }
    if text("version") != env!("CARGO_PKG_VERSION") {
        note("it is of another version: run `reprise serve --replace`");
    }
    Ok(())
}

/// What operators took down of this user's, where published knowledge is in use; nothing where its
/// store does not say so in a moment.
fn taken_down(context: &Context, daemon: &Daemon) -> Vec<Value> {
    let user = std::env::var(crate::env::USER).ok();
    let user = user.and_then(|user| user.parse().ok());
    let user = user
        .or_else(|| context.config.user.clone())
        .unwrap_or_default();
    let is_used =
        context.config.global_service(&user).is_some() || super::global::folder(context).exists();
    if !is_used {
        return Vec::new();
    }
    let path = format!("{}?limit=1", Call::path_of(&user, &["published"]));
    let rows = daemon.ask_within::<Value>(&Call::get(path), MOMENT);
    let rows = rows.unwrap_or_default();
    rows["taken_down"].as_array().cloned().unwrap_or_default()
}

/// The daemon elsewhere: whether it lets us in, how far away it is, what waits for it.
fn away(context: &Context, url: &str, daemon: &Daemon) -> anyhow::Result<Exit> {
    let (waiting, tally) = Unsent::state(context);
    let met = daemon.round_trip();
    let (version, ms) = met.as_ref().map_or((None, None), |(version, took)| {
        (version.clone(), Some(took.as_secs_f64() * 1e3))
    });
    let row = json!({
        "running": met.is_ok(),
        "url": url,
        "version": version,
        "round_trip_ms": ms,
        "unsent": waiting,
        "unsent_dropped": tally.dropped,
        "unsent_refused": tally.refused,
    });
    output::print(context, &row, |out| {
        writeln!(out, "{}", terminal::title(format!("the daemon at {url}")))?;
        if let Some(ms) = ms {
            let version = version.as_deref().unwrap_or("of an older one");
            writeln!(out, "  version       {version}")?;
            writeln!(out, "  round trip    {ms:.1} ms")?;
        }
        let lost = match tally {
            Tally {
                dropped: 0,
                refused: 0,
            } => String::new(),
            Tally { dropped, refused } => {
                format!("; {dropped} dropped because too many waited, {refused} refused there")
            }
        };
        Ok(writeln!(
            out,
            "  unsent        {waiting} of hooks wait to be sent{lost}"
        )?)
    })?;
    met?;
    Ok(Exit::Success)
}

fn stop(context: &Context) -> anyhow::Result<Exit> {
    let Some(daemon) = Daemon::seen(context)? else {
        tell!("no daemon serves {}", context.places.data.display());
        return Ok(Exit::Success);
    };
    daemon.end()?;
    Ok(Exit::Success)
}

/// Tokens for HTTP: made, listed, replaced, withdrawn.
fn token(context: &Context, command: &TokenCommand) -> anyhow::Result<Exit> {
    let place = context.places.meeting();
    place.prepare()?;
    let tokens = TokenFile::new(place.tokens());
    let now = SystemClock.now();
    let (token, keep) = match command {
        TokenCommand::Add { name, user } => {
            let scope = user.clone().map_or(Scope::All, Scope::User);
            let keep = "keep it: only its hash is stored";
            (tokens.add(name, scope, now)?, keep)
        }
        TokenCommand::Rotate { name } => {
            let keep = "keep it: only its hash is stored; the old one opens nothing any more";
            (tokens.rotate(name, now)?, keep)
        }
        TokenCommand::Revoke { name } => {
            tokens.revoke(name)?;
            return Ok(Exit::Success);
        }
        TokenCommand::Approve {
            code,
            whose,
            refuse,
        } => return approve(context, code, &whose.user, *refuse),
        TokenCommand::List => {
            let opens = |token: &TokenEntry| match &token.scope {
                Scope::All => "every memory".to_owned(),
                Scope::User(user) => format!("the memory of {user}"),
            };
            let row = |token: &TokenEntry| json!({ "name": token.name, "opens": opens(token), "created": token.created });
            return output::rows(context, tokens.list()?, row, |token| {
                let (opens, age) = (opens(token), calendar().ago(token.created));
                format!("{:<20} opens {opens}, made {age}", token.name)
            });
        }
    };
    output::line(context, &json!({ "token": token }), &token)?;
    note(keep);
    Ok(Exit::Success)
}

/// Confirms, as whoever may write to the daemon's socket, that a program may open a memory.
fn approve(context: &Context, code: &str, user: &UserId, refuse: bool) -> anyhow::Result<Exit> {
    let client = daemon::client(context)?;
    let asked = json!({ "code": code, "user": user, "refuse": refuse });
    let asked = Call::post("/v1/oauth/approve", &asked);
    let decided: Value = runtime::asking()?.block_on(client.ask(&asked))?;
    let named = |field: &str| decided[field].as_str().unwrap_or_default().to_owned();
    let (program, to) = (named("client"), named("to"));
    let done = if refuse {
        "is refused".to_owned()
    } else {
        format!("may open the memory of {user}")
    };
    output::line(context, &decided, format!("{program} ({to}) {done}"))
}

/// What opens an address on the systems there are, the first that works.
const OPENERS: [&str; 3] = ["xdg-open", "open", "wslview"];

/// The page of the daemon, started on demand, in this machine's browser.
pub(super) fn open(context: &Context, arguments: &OpenArguments) -> anyhow::Result<Exit> {
    context.must_be_here()?;
    let client = daemon::client(context)?;
    let user = &arguments.whose.user;
    let wanted = json!({
        "user": user,
        "read_only": arguments.read_only,
        "operator": arguments.all_users,
    });
    let asked = Call::post("/v1/page", &wanted);
    let opened: Value = runtime::asking()?.block_on(client.ask(&asked))?;
    let url = opened["url"].as_str().unwrap_or_default();
    let seconds = &opened["seconds"];
    if !arguments.all_users && !store::exists(context, user)? {
        tell!("user `{user}` has no memory yet; `reprise learn` makes one");
    }
    output::print(context, &opened, |out| {
        let opens = |opener: &&str| {
            let mut command = Command::new(opener);
            command.arg(url).stdin(Stdio::null());
            let quiet = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
            quiet.is_ok_and(|status| status.success())
        };
        if !arguments.print && OPENERS.iter().any(opens) {
            note("the page opens in your browser");
            return Ok(());
        }
        writeln!(out, "{url}")?;
        note(&if arguments.print {
            format!("it lets one browser in, within {seconds} s")
        } else {
            format!(
                "no browser could be started here: open this address on this machine within \
                 {seconds} s"
            )
        });
        Ok(())
    })
}
