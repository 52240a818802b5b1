//! What is done on the page and taken back there, and what an open page is told, without a browser.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use reprise_server::Call;
use reprise_tests::assert_contains;
use serde_json::{Value, json};

use crate::home::{Home, rows};

/// Somebody who is signed in.
pub(crate) struct PageClient {
    address: SocketAddr,
    cookie: String,
}

impl PageClient {
    pub(crate) fn of(home: &Home, user: &str) -> Self {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let open = Call::post("/v1/page", &json!({ "user": user }));
        let opened: Result<Value, _> = runtime.block_on(home.client().ask(&open));
        let opened = opened.expect("the page opens");
        let link = opened["url"].as_str().expect("a link");
        let (address, path) = link
            .trim_start_matches("http://")
            .split_once('/')
            .expect("a path");
        let mut visitor = Self {
            address: address.parse().expect("an address"),
            cookie: String::new(),
        };
        let entered = visitor.ask("GET", &format!("/{path}"), "");
        visitor.cookie = head(&entered, "set-cookie");
        visitor
    }

    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let mut answer = String::new();
        let mut stream = self.send(method, path, body);
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    /// What an open page is told from now on, a word for each change.
    fn live(&self) -> impl Iterator<Item = String> {
        let lines = BufReader::new(self.send("GET", "/live", "")).lines();
        let mut lines = lines.map(|line| line.expect("a line within a minute"));
        assert!(lines.any(|line| line.is_empty()), "the head of an answer");
        lines.filter_map(|line| Some(line.strip_prefix("data: ")?.to_owned()))
    }

    fn send(&self, method: &str, path: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        let patience = Some(Duration::from_mins(1));
        stream.set_read_timeout(patience).expect("a timeout");
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\nContent-Length: {}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nConnection: close\r\n\r\n{body}",
            self.address,
            self.cookie,
            body.len()
        )
        .expect("sent");
        stream
    }

    /// Sends a form of this page; where it leads to.
    fn post(&self, from: &str, to: &str, fields: &str) -> String {
        head(&self.posted(from, to, fields), "location")
    }

    /// Sends a form of this page.
    fn posted(&self, from: &str, to: &str, fields: &str) -> String {
        let shown = self.ask("GET", from, "");
        let (_, token) = shown
            .split_once("name=\"form_token\" value=\"")
            .expect("a form");
        let token = token.split('"').next().expect("a token");
        let body = format!("form_token={token}&{fields}");
        self.ask("POST", to, &body)
    }
}

/// A head of an answer, up to its first `;`.
fn head(answer: &str, name: &str) -> String {
    let heads = answer.lines().take_while(|line| !line.is_empty());
    let mut said = heads.filter_map(|line| line.split_once(": "));
    let found = said.find(|(own, _)| own.eq_ignore_ascii_case(name));
    assert!(found.is_some(), "no {name}: {answer}");
    let (_, value) = found.unwrap_or_default();
    value.split(';').next().unwrap_or_default().to_owned()
}

#[test]
fn a_forgetting_that_is_undone_brings_every_link_back() {
    let home = Home::new();
    let run = |arguments: &[&str]| -> Value {
        let arguments = [&["--json"], arguments, &["--user", "ada"]].concat();
        let finished = home.run(&arguments);
        assert_eq!(finished.code, Some(0), "{arguments:?}: {}", finished.stderr);
        serde_json::from_str(&finished.stdout).unwrap_or_default()
    };
    let call = |operation: &str, asked: Value| run(&["call", operation, &asked.to_string()]);
    let learned = |text: &str| {
        let learned = call("learn", json!({ "title": text, "text": text }));
        learned["id"].as_str().expect("an id").to_owned()
    };
    let record = learned("The heron nests by the weir");
    let others = ["The weir was built by monks", "The mill lies below"].map(learned);
    let links = [
        (&record, &others[0], "causes"),
        (&record, &others[0], "part_of"),
        (&others[0], &record, "follows"),
        (&others[1], &record, "follows"),
    ];
    for (from, to, relation) in links {
        call(
            "link",
            json!({ "from": from, "to": to, "relation": relation }),
        );
    }
    let linked = |id: &str| {
        let got = call("get", json!({ "id": id }));
        let links = got["records"][0]["links"].as_array().expect("links").iter();
        let mut links: Vec<(Value, Value, Value)> = links
            .map(|link| {
                let part = |name: &str| link[name].clone();
                (part("record"), part("relation"), part("outgoing"))
            })
            .collect();
        links.sort_by_key(|link| format!("{link:?}"));
        links
    };
    let before = linked(&record);
    assert_eq!(before.len(), 4);
    let visitor = PageClient::of(&home, "ada");
    let path = format!("/records/{record}");
    let forgotten = visitor.post(
        &format!("{path}/forget"),
        &format!("{path}/forget"),
        "reason=",
    );
    let number = forgotten.rsplit('/').next().expect("a number");
    let back = visitor.post(&forgotten, "/undo", &format!("number={number}"));
    let again = back.trim_start_matches("/records/").split('?').next();
    assert_eq!(linked(again.expect("an id")), before);
}

#[test]
fn what_was_typed_for_an_earlier_version_is_not_saved_over_the_present_one_and_not_lost() {
    let home = Home::new();
    let of = |arguments: &[&str]| home.run_json(&[arguments, &["--user", "ada"]].concat());
    let learned = of(&["learn", "Releases are cut on Tuesdays"]);
    let id = learned["id"].as_str().expect("an id");
    let visitor = PageClient::of(&home, "ada");
    let path = format!("/records/{id}");
    let (save, pin) = (format!("{path}/correct"), format!("{path}/standing"));
    let first = visitor.post(&path, &save, "title=T&text=Releases+are+cut+on+Mondays");
    let present = first.trim_start_matches("/records/").split('?').next();
    let present = present.expect("an id");
    let late = "title=T&text=Releases+are+cut+on+Wednesdays";
    let refused = visitor.posted(&path, &save, late);
    assert_contains!(
        refused,
        "HTTP/1.1 409",
        "nothing was saved",
        "on Mondays",
        "on Wednesdays",
        &format!("/records/{present}/correct")
    );
    assert_contains!(
        visitor.posted(&path, &pin, "seen=owner&pinned=yes"),
        "HTTP/1.1 409"
    );
    let texts = home.texts("ada");
    assert!(
        matches!(&texts[..], [one] if one.contains("Mondays")),
        "{texts:?}"
    );
    // Nor do the other faces.
    let edit = ["edit", id, "--content", "On Fridays", "--user", "ada"];
    let edited = home.run(&edit);
    assert_ne!(edited.code, Some(0));
    assert_contains!(
        edited.stderr,
        &format!("`{present}` has taken the place of `{id}`")
    );
    of(&["edit", id, "--tags", "release"]);
    // What was typed is saved once it is meant for what the record says now.
    visitor.post(&path, &format!("/records/{present}/correct"), late);
    let texts = home.texts("ada");
    assert!(
        matches!(&texts[..], [one] if one.contains("Wednesdays")),
        "{texts:?}"
    );
}

#[test]
fn an_open_page_is_told_of_what_is_kept_asked_and_learned_and_of_nobody_elses() {
    let home = Home::new();
    let visitor = PageClient::of(&home, "ada");
    let mut told = visitor.live();
    home.run_json(&["learn", "The mill lies below", "--user", "bob"]);
    home.run_json(&["learn", "The weir has three gates", "--user", "ada"]);
    assert_eq!(told.next().as_deref(), Some("inserted"));
    let recalled = home.run_json(&["recall", "how many gates", "--user", "ada"]);
    assert_eq!(told.next().as_deref(), Some("recalled"));
    let outcome = json!({ "recall_id": recalled["recall_id"], "used": [], "quality": 1.0 });
    home.run_json(&["call", "outcome", &outcome.to_string(), "--user", "ada"]);
    assert_eq!(told.next().as_deref(), Some("learned"));
    // The page that is shown listens.
    assert!(visitor.ask("GET", "/", "").contains("data-live"));
}

#[test]
fn an_empty_page_names_whose_memory_its_commands_are_for() {
    let home = Home::new();
    home.run_ok(&["--json", "learn", "a lesson, so that the daemon runs"]);
    let shown = |visitor: &PageClient, path: &str| -> Vec<String> {
        let page = visitor.ask("GET", path, "");
        let codes = page.split("<code>").skip(1);
        let codes = codes.filter_map(|code| code.split("</code>").next());
        let commands = codes.filter(|code| code.starts_with("reprise "));
        commands.map(str::to_owned).collect()
    };
    let nobody = PageClient::of(&home, "nobody-at-all");
    for (path, least) in [("/", 3), ("/prompts", 1), ("/knowledge?type=note", 1)] {
        let commands = shown(&nobody, path);
        assert!(commands.len() >= least, "{path}: {commands:?}");
        let is_his = |command: &String| command.ends_with(" --user nobody-at-all");
        assert!(commands.iter().all(is_his), "{path}: {commands:?}");
    }
    let own = shown(&PageClient::of(&home, "default"), "/prompts");
    assert_eq!(own, ["reprise connect claude-code"]);
}

#[test]
fn a_damaged_file_is_named_where_the_page_says_what_needs_somebody() {
    let home = Home::new();
    for text in ["first", "second", "third"] {
        home.run_ok(&["--no-daemon", "learn", "--user", "ada", text]);
    }
    let memory = home.data().join("ada/memory.rvf");
    let mut bytes = std::fs::read(&memory).expect("there");
    // Within its first commit.
    for byte in &mut bytes[250..400] {
        *byte ^= 0xFF;
    }
    std::fs::write(&memory, &bytes).expect("written");
    let visitor = PageClient::of(&home, "ada");
    for room in ["/needs?part=1", "/care/audit"] {
        let shown = visitor.ask("GET", room, "");
        assert!(shown.contains("of the file are damaged"), "{shown}");
        assert!(!shown.contains("Nothing to decide"), "{shown}");
    }
}

#[test]
fn what_went_wrong_is_said_in_plain_words_with_a_way_back() {
    let home = Home::new();
    let learned = home.run_json(&["learn", "The weir has three gates", "--user", "ada"]);
    let id = learned["id"].as_str().expect("an id");
    let visitor = PageClient::of(&home, "ada");
    let path = format!("/records/{id}");
    let nothing = format!("/records/{}", "0".repeat(26));
    for (path, says) in [
        (
            "/timeline?type=banana",
            "There is no type <code>banana</code>.",
        ),
        (
            "/search?q=x&top_k=many",
            "<code>many</code> is not a number of results.",
        ),
        (&nothing, "This memory does not exist or was forgotten."),
    ] {
        let shown = visitor.ask("GET", path, "");
        assert_contains!(shown, says, "data-back");
    }
    let empty = visitor.posted(&path, &format!("{path}/correct"), "title=T&text=+");
    assert_contains!(empty, "The text is empty.", "Go back and write something.");
    let link = format!("other={id}&relation=other&other_relation=");
    let nameless = visitor.posted(&path, &format!("{path}/link"), &link);
    assert_contains!(nameless, "No relation was named.");
}

#[test]
fn a_pause_says_what_agents_get_while_it_lasts() {
    let home = Home::new();
    home.run_json(&["learn", "The weir has three gates", "--user", "ada"]);
    let visitor = PageClient::of(&home, "ada");
    for (mode, says) in [
        (
            "read_only",
            "Memory is read only: agents get memories, and nothing new is stored.",
        ),
        (
            "off",
            "Memory is paused: agents get nothing, and nothing is stored.",
        ),
    ] {
        let done = visitor.post("/", "/pause", &format!("mode={mode}&how="));
        let shown = visitor.ask("GET", &done, "");
        assert_eq!(shown.matches(says).count(), 2, "{mode}: {shown}");
    }
}

#[test]
fn home_of_a_memory_without_a_record_says_how_one_begins() {
    let home = Home::new();
    home.run_ok(&["--no-daemon", "learn", "--user", "ada", "gone soon"]);
    let all = ["forget", "--user", "ada", "--before", "2100-01-01"];
    home.run_ok(&[&["--no-daemon"], &all[..]].concat());
    let shown = PageClient::of(&home, "ada").ask("GET", "/", "");
    assert!(shown.contains("No memories yet"), "{shown}");
}

#[test]
fn a_record_that_a_filter_leaves_out_is_told_which_part_of_it_does() {
    let home = Home::new();
    let line = json!({ "text": "The heron nests by the weir", "tags": ["project:mill"],
        "external_id": "ticket-17", "metadata": { "author": "Ada" } });
    home.keep(&[line], &["--user", "ada"]);
    let kept = rows(&home.run_ok(&["export", "--user", "ada"]));
    let id = kept[0]["id"].as_str().expect("an id");
    let visitor = PageClient::of(&home, "ada");
    for (filter, says) in [
        ("project=forge", "The filter leaves it out: project."),
        ("author=Bob", "The filter leaves it out: author."),
        ("project=mill&author=ada", "It is result 1."),
    ] {
        for name in [id, "ticket-17"] {
            let path = format!("/search?q=heron&expected={name}&{filter}");
            let shown = visitor.ask("GET", &path, "");
            assert!(shown.contains(says), "{name}, {filter}: {shown}");
        }
    }
    let unknown = visitor.ask("GET", "/search?q=heron&expected=ticket-18", "");
    assert_contains!(unknown, "No memory has this id or these words: ticket-18.");
}
