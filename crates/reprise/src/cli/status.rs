//! `reprise serve status`, `stop` and `token`, and `reprise open`: the state of the daemon, and
//! access to it.

use reprise_operations::PauseStore;
use reprise_operations::operations::sessions::pausing::{PauseReport, Pauses};
use reprise_server::{Scope, TokenEntry, TokenFile};

use super::daemon;
use super::endpoint::EndpointSetting;
use super::unsent::UnsentTally;
use crate::args::{OpenArguments, TokenCommand, calendar};
use crate::cli::prelude::*;

/// Longest wait for the list of publications that operators removed.
const MOMENT: Duration = Duration::from_secs(1);

pub(super) fn print_daemon_status(context: &Context) -> anyhow::Result<Exit> {
    let Some(daemon) = DaemonConnection::find_without_restart(context)? else {
        let data = context.places.data.display();
        let paused = list_pauses(context);
        let row = json!({ "running": false, "paused": paused });
        let lines = [vec![format!("no daemon runs for {data}")], paused].concat();
        output::line(context, &row, lines.join("\n"))?;
        return Ok(Exit::Refused);
    };
    if let Some(remote) = &context.remote {
        return print_remote_status(context, &remote.url, &daemon);
    }
    let mut status: Map<String, Value> = daemon.ask(&Call::get("/v1/status"))?;
    let taken_down = list_taken_down(context, &daemon);
    let endpoints: Vec<String> = context
        .config
        .endpoints()
        .into_iter()
        .filter(EndpointSetting::leaves_machine)
        .map(|named| named.url)
        .collect();
    status.insert("running".to_owned(), Value::Bool(true));
    status.insert("texts_leave_for".to_owned(), json!(endpoints));
    let unsent = Unsent::count_unsent(context);
    status.extend(unsent_fields(&unsent));
    if !taken_down.is_empty() {
        status.insert("taken_down".to_owned(), json!(taken_down));
    }
    status.insert("paused".to_owned(), json!(list_pauses(context)));
    let status = Value::Object(status);
    output::print(context, &status, |out| {
        print_status(out, &status, &endpoints)?;
        if unsent != Default::default() {
            print_unsent(out, &unsent)?;
        }
        Ok(())
    })
}

fn print_status(out: &mut output::Out, status: &Value, endpoints: &[String]) -> io::Result<()> {
    let text = |name: &str| match &status[name] {
        Value::String(text) => text.clone(),
        Value::Null => "none".to_owned(),
        other => other.to_string(),
    };
    let title = format!("reprise {}, process {}", text("version"), text("pid"));
    writeln!(out, "{}", terminal::title(title))?;
    let http = match text("http").as_str() {
        "none" => {
            "off for programs; `reprise serve --replace --http ADDRESS` turns it on".to_owned()
        }
        address => address.to_owned(),
    };
    let idle_exit = match text("idle_exit_seconds").as_str() {
        "none" => "never by itself".to_owned(),
        seconds => format!("after {seconds} s without a request"),
    };
    let facts = [
        ("serves", text("data_dir")),
        ("socket", text("socket")),
        ("http", http),
        ("running for", format!("{} s", text("uptime_seconds"))),
        ("stops", idle_exit),
        ("requests", text("requests_served")),
    ];
    for (name, fact) in facts {
        output::write_fact(out, name, &fact)?;
    }
    for paused in status["paused"].as_array().into_iter().flatten() {
        output::write_fact(out, "paused", paused.as_str().unwrap_or_default())?;
    }
    for url in endpoints {
        let fact = format!("by {url}: texts are sent there");
        output::write_fact(out, "embeddings", &fact)?;
    }
    for one in status["taken_down"].as_array().into_iter().flatten() {
        let text = |name: &str| one[name].as_str().unwrap_or_default();
        let (id, reason) = (text("id"), terminal::one_line(text("reason"), 200));
        tell!(
            "warning: an operator took {id} of yours down ({reason}); `reprise share list` says \
             more"
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
        note("its version differs: run `reprise serve --replace`");
    }
    Ok(())
}

/// Lists for which users memory is paused, in sentences.
fn list_pauses(context: &Context) -> Vec<String> {
    let pauses = PauseStore::in_data_dir(&context.places.data);
    let users = store::list_users(context).unwrap_or_default().into_iter();
    let paused = users.filter_map(|user| {
        let says = pauses.describe_rules(&user, SystemClock.now())?;
        Some(format!("{user}: {says}"))
    });
    paused.collect()
}

/// Returns the user for whom commands of this machine work that name none.
fn find_own_user(context: &Context) -> UserId {
    let user = std::env::var(crate::env::USER).ok();
    let user = user.and_then(|user| user.parse().ok());
    user.or_else(|| context.config.user.clone())
        .unwrap_or_default()
}

/// Lists this user's pauses at a remote daemon, in sentences; none if it does not answer in time.
pub(super) fn list_remote_pauses(context: &Context, daemon: &DaemonConnection) -> Vec<String> {
    let user = find_own_user(context);
    let Ok(call) = Call::for_operation::<Pauses>(&user, &NoArguments {}) else {
        return Vec::new();
    };
    let asked = daemon.ask_within::<PauseReport>(&call, MOMENT);
    let paused = asked.filter(|report| !report.pauses.is_empty());
    let paused = paused.map(|report| format!("{user}: {}", Pauses::render_text(&report)));
    Vec::from_iter(paused)
}

/// Returns this user's publications that operators removed; none if published knowledge is not in
/// use or its store does not answer in time.
fn list_taken_down(context: &Context, daemon: &DaemonConnection) -> Vec<Value> {
    let user = find_own_user(context);
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

/// Prints whether the remote daemon accepts us, its round trip, whether memory is paused there, and
/// the events that wait for it.
fn print_remote_status(
    context: &Context,
    url: &str,
    daemon: &DaemonConnection,
) -> anyhow::Result<Exit> {
    let unsent = Unsent::count_unsent(context);
    let met = daemon.round_trip();
    let (version, ms) = met.as_ref().map_or((None, None), |(version, took)| {
        (version.clone(), Some(took.as_secs_f64() * 1e3))
    });
    let paused = if met.is_ok() {
        list_remote_pauses(context, daemon)
    } else {
        Vec::new()
    };
    let mut row = json!({
        "running": met.is_ok(),
        "url": url,
        "version": version,
        "round_trip_ms": ms,
        "paused": paused,
    });
    for (name, value) in unsent_fields(&unsent) {
        row[name] = value;
    }
    output::print(context, &row, |out| {
        writeln!(out, "{}", terminal::title(format!("the daemon at {url}")))?;
        if let Some(ms) = ms {
            let version = version.as_deref().unwrap_or("of an older one");
            writeln!(out, "  version       {version}")?;
            writeln!(out, "  round trip    {ms:.1} ms")?;
        }
        for paused in &paused {
            output::write_fact(out, "paused", paused)?;
        }
        Ok(print_unsent(out, &unsent)?)
    })?;
    met?;
    Ok(Exit::Success)
}

/// Returns the fields that say how many events of hooks wait, and how many of them are lost.
fn unsent_fields((waiting, tally): &(usize, UnsentTally)) -> Map<String, Value> {
    let fields = [
        ("unsent", json!(waiting)),
        ("unsent_dropped", json!(tally.dropped)),
        ("unsent_refused", json!(tally.refused)),
    ];
    let fields = fields.map(|(name, value)| (name.to_owned(), value));
    fields.into_iter().collect()
}

fn print_unsent(out: &mut output::Out, (waiting, tally): &(usize, UnsentTally)) -> io::Result<()> {
    writeln!(out, "  from hooks    {}", describe_unsent(*waiting, *tally))
}

/// Says in words what of hooks still waits for the daemon, and what is lost.
fn describe_unsent(waiting: usize, tally: UnsentTally) -> String {
    let mut said = match waiting {
        0 => "nothing waits to be stored".to_owned(),
        1 => "1 event waits to be stored".to_owned(),
        more => format!("{more} events wait to be stored"),
    };
    for (lost, why) in [
        (tally.dropped, "because too many waited"),
        (tally.refused, "because the daemon did not accept them"),
    ] {
        if lost > 0 {
            let lost = format_count(lost, "event");
            said = format!("{said}; {lost} lost {why}");
        }
    }
    said
}

pub(super) fn stop_daemon(context: &Context) -> anyhow::Result<Exit> {
    let Some(daemon) = DaemonConnection::find_without_restart(context)? else {
        tell!("no daemon runs for {}", context.places.data.display());
        return Ok(Exit::Success);
    };
    daemon.stop()?;
    note("daemon stopped");
    Ok(Exit::Success)
}

/// Creates, lists, replaces or revokes tokens for HTTP.
pub(super) fn run_token_command(context: &Context, command: &TokenCommand) -> anyhow::Result<Exit> {
    let place = context.places.daemon_place();
    place.create_folders()?;
    let tokens = TokenFile::new(place.tokens());
    let now = SystemClock.now();
    let (token, keep) = match command {
        TokenCommand::Add { name, user } => {
            let scope = user.clone().map_or(Scope::All, Scope::User);
            let keep = "write it down: only its hash is stored";
            (tokens.add(name, scope, now)?, keep)
        }
        TokenCommand::Rotate { name } => {
            let keep = "write it down, only its hash is stored; the old token no longer works";
            (tokens.rotate(name, now)?, keep)
        }
        TokenCommand::Revoke { name } => {
            tokens.revoke(name)?;
            tell!("token `{name}` revoked; programs that use it are refused from now on");
            return Ok(Exit::Success);
        }
        TokenCommand::Approve {
            code,
            whose,
            refuse,
        } => return answer_sign_in(context, code, &whose.user, *refuse),
        TokenCommand::List => {
            let opens = |token: &TokenEntry| match &token.scope {
                Scope::All => "every memory".to_owned(),
                Scope::User(user) => format!("the memories of {user}"),
            };
            let row = |token: &TokenEntry| json!({ "name": token.name, "opens": opens(token), "created": token.created });
            let listed = tokens.list()?;
            let hint = "no tokens yet; `reprise serve token add NAME` makes one";
            output::note_if_empty(context, &listed, hint);
            return output::rows(context, listed, row, |token| {
                let (opens, age) = (opens(token), calendar().format_relative(token.created));
                format!("{:<20} opens {opens}, made {age}", token.name)
            });
        }
    };
    output::line(context, &json!({ "token": token }), &token)?;
    note(keep);
    Ok(Exit::Success)
}

/// Approves or refuses the sign-in of a program; access to the daemon's socket is the permission.
fn answer_sign_in(
    context: &Context,
    code: &str,
    user: &UserId,
    refuse: bool,
) -> anyhow::Result<Exit> {
    let client = daemon::starting_client(context)?;
    let asked = json!({ "code": code, "user": user, "refuse": refuse });
    let asked = Call::post("/v1/oauth/approve", &asked);
    let decided: Value = runtime::build_single_threaded()?.block_on(client.ask(&asked))?;
    let named = |field: &str| decided[field].as_str().unwrap_or_default().to_owned();
    let (program, to) = (named("client"), named("to"));
    let done = if refuse {
        "is refused".to_owned()
    } else {
        format!("may open the memories of {user}")
    };
    output::line(context, &decided, format!("{program} ({to}) {done}"))
}

/// Programs that open an address in a browser; the first that works is used.
const OPENERS: [&str; 3] = ["xdg-open", "open", "wslview"];

/// Opens the web page of the daemon, which is started on demand, in the browser.
pub(super) fn open_page(context: &Context, arguments: &OpenArguments) -> anyhow::Result<Exit> {
    context.ensure_memory_is_local()?;
    let client = daemon::starting_client(context)?;
    let user = &arguments.whose.user;
    let wanted = json!({
        "user": user,
        "read_only": arguments.read_only,
        "operator": arguments.all_users,
    });
    let asked = Call::post("/v1/page", &wanted);
    let opened: Value = runtime::build_single_threaded()?.block_on(client.ask(&asked))?;
    let url = opened["url"].as_str().unwrap_or_default();
    let minutes = opened["seconds"].as_u64().unwrap_or_default() / 60;
    let minutes = format_count(minutes, "minute");
    if !arguments.all_users && !store::exists(context, user)? {
        note(&describe_empty_memory(user));
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
            format!("one-time link; valid for {minutes}")
        } else {
            format!(
                "no browser could be started: open this one-time link on this machine within \
                 {minutes}"
            )
        });
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_of_hooks_waits_and_what_is_lost_is_said_in_words() {
        let tally = |dropped, refused| UnsentTally { dropped, refused };
        for (waiting, tally, said) in [
            (0, tally(0, 0), "nothing waits to be stored"),
            (1, tally(0, 0), "1 event waits to be stored"),
            (
                3,
                tally(2, 1),
                "3 events wait to be stored; 2 events lost because too many waited; 1 event lost \
                 because the daemon did not accept them",
            ),
        ] {
            assert_eq!(describe_unsent(waiting, tally), said);
        }
    }
}
