//! Operations at random: any route, any tool, any caller, arguments as the description allows them.

use reprise_operations::Profile;
use reprise_tests::SeededRng;
use serde_json::{Map, Value, json};

use super::house::{WallHouse, Who};
use super::marks::{self, Marks};
use super::rows::{Holds, OPERATIONS, PROFILES, whole_catalogue};

/// After so many steps what was forgotten is planted again.
const PLANTED_EVERY: usize = 150;
/// Words of questions and texts: none of them is a mark.
const WORDS: [&str; 12] = [
    "otters",
    "vault",
    "number",
    "opens",
    "hands",
    "asleep",
    "build",
    "tokio",
    "cache",
    "receipt",
    "<b>",
    "'; DROP TABLE thing; --",
];

/// A route as the daemon describes it.
#[derive(Debug)]
struct Route {
    method: String,
    path: String,
    holds: Holds,
    arguments: Vec<(String, Value)>,
    has_body: bool,
}

pub(super) struct Walk<'a> {
    house: &'a WallHouse,
    document: Value,
    routes: Vec<Route>,
    tools: Vec<(String, Value, Holds)>,
    ids: Vec<String>,
    /// Those that may be published.
    open: Vec<String>,
    seeded: SeededRng,
    steps: usize,
    marks: Marks,
    /// How often was planted.
    pub(super) rounds: usize,
    /// How many numbered marks were typed, where arguments hold some.
    pub(super) typed: Option<usize>,
    pub(super) seen_by_owner: usize,
    pub(super) refused: usize,
    pub(super) published: usize,
}

impl std::fmt::Debug for Walk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walk")
            .field("steps", &self.steps)
            .field("refused", &self.refused)
            .field("published", &self.published)
            .finish_non_exhaustive()
    }
}

fn holds(name: &str) -> Holds {
    let row = OPERATIONS.iter().find(|(row, _)| *row == name);
    let row = row.or_else(|| {
        // A second route of an operation is numbered.
        let (first, number) = name.rsplit_once('_')?;
        number.parse::<u8>().ok()?;
        OPERATIONS.iter().find(|(row, _)| *row == first)
    });
    assert!(
        row.is_some(),
        "`{name}` has no row in tests/it/wall/rows.rs"
    );
    row.map_or(Holds::Nothing, |(_, holds)| *holds)
}

/// The body of an answer.
pub(super) fn answer(bytes: &[u8]) -> Value {
    let text = String::from_utf8_lossy(bytes);
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    serde_json::from_str(body).unwrap_or_default()
}

impl<'a> Walk<'a> {
    pub(super) fn new(house: &'a WallHouse) -> Self {
        let (_, document) = house.ask(Who::Owner, "GET", "/openapi.json", None);
        let document = answer(&document);
        let mut routes = Vec::new();
        for (path, methods) in document["paths"].as_object().expect("paths") {
            for (method, described) in methods.as_object().expect("methods") {
                let name = described["operationId"].as_str().expect("a name");
                let holds = holds(name);
                // It has no end.
                if name == "changes" || name == "tool" {
                    continue;
                }
                let body = &described["requestBody"]["content"]["application/json"]["schema"];
                let mut arguments = parameters(&document, &described["parameters"]);
                arguments.extend(properties(&document, body));
                routes.push(Route {
                    method: method.to_uppercase(),
                    path: path.clone(),
                    holds,
                    arguments,
                    has_body: !described["requestBody"].is_null(),
                });
            }
        }
        let catalogue = whole_catalogue();
        let shown = |least: Profile| PROFILES.iter().any(|profile| profile.shows(least));
        let tools = catalogue.entries().filter_map(|entry| {
            let tool = entry.spec.tool.filter(|tool| shown(tool.profile))?;
            let holds = holds(entry.spec.name);
            let route = document["paths"].as_object()?.values();
            let mut described = route.flat_map(|methods| methods.as_object().into_iter().flatten());
            let own = described.find(|(_, one)| one["operationId"] == entry.spec.name)?;
            Some((tool.name.to_owned(), own.1.clone(), holds))
        });
        let tools = tools.collect();
        Self {
            house,
            routes,
            tools,
            document,
            ids: Vec::new(),
            open: Vec::new(),
            seeded: SeededRng::new(58),
            steps: 0,
            marks: Marks::all(),
            rounds: 0,
            typed: None,
            seen_by_owner: 0,
            refused: 0,
            published: 0,
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.seeded.draw_below(bound.max(1) as u64) as usize
    }

    /// Plants the marks anew, and something of the stranger's own.
    pub(super) fn plant(&mut self) {
        self.rounds += 1;
        let round = self.rounds;
        let mut records = marks::records();
        for record in &mut records {
            let name = record["external_id"].as_str().unwrap_or_default();
            record["external_id"] = json!(format!("{name}r{round}"));
            let text = record["text"].as_str().unwrap_or_default();
            record["text"] = json!(format!("{text} (round {round})"));
        }
        let path = "/v1/users/ann/records";
        let (status, kept) = self
            .house
            .ask(Who::Owner, "POST", path, Some(&json!(records)));
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&kept));
        let kept = answer(&kept);
        let ids: Vec<String> = kept["outcomes"]
            .as_array()
            .expect("outcomes")
            .iter()
            .filter_map(|fate| Some(fate["id"].as_str()?.to_owned()))
            .collect();
        assert_eq!(ids.len(), records.len(), "{kept}");
        self.open = ids.get(..4).unwrap_or_default().to_vec();
        self.ids.extend(ids);
        let own = json!([{ "text": format!("Otters are what I saw on day {round}") }]);
        let (_, kept) = self
            .house
            .ask(Who::Stranger, "POST", "/v1/users/bob/records", Some(&own));
        let kept = answer(&kept);
        let id = kept["outcomes"][0]["id"].as_str().map(str::to_owned);
        self.ids.extend(id);
    }

    /// Publishes an open record as its owner would: looks at it, agrees.
    pub(super) fn publish(&mut self) {
        let place = self.below(self.open.len());
        let Some(id) = self.open.get(place).cloned() else {
            return;
        };
        let what = json!({ "ids": [id] });
        let path = "/v1/users/ann/publish";
        let preview = format!("{path}/preview");
        let (_, shown) = self.house.ask(Who::Owner, "POST", &preview, Some(&what));
        let shown = answer(&shown);
        let exact = shown["leaving"][0]["exact"].as_str().unwrap_or_default();
        assert_eq!(self.marks.find(exact.as_bytes()), None);
        let agreed = shown["leaving"][0]["sha256"].clone();
        let what = json!({ "ids": [id], "agreed": [agreed] });
        let (status, done) = self.house.ask(Who::Owner, "POST", path, Some(&what));
        if status == 200 {
            self.published += 1;
            let wire = self.house.to_service.bytes_seen();
            let is_exact = |bytes: &[u8]| bytes == exact.as_bytes();
            assert!(
                wire.windows(exact.len()).any(is_exact),
                "not what was shown"
            );
            let id = answer(&done)["published"][0]["id"]
                .as_str()
                .map(str::to_owned);
            self.ids.extend(id);
        }
    }

    pub(super) fn step(&mut self) {
        self.steps += 1;
        if self.steps.is_multiple_of(PLANTED_EVERY) {
            self.plant();
        }
        if self.below(20) == 0 {
            return self.publish();
        }
        let who = [
            Who::Owner,
            Who::Owner,
            Who::Stranger,
            Who::Nobody,
            Who::Withdrawn,
        ];
        let who = who[self.below(who.len())];
        let user = match (who, self.below(2)) {
            (Who::Stranger, 0) => "bob",
            _ => "ann",
        };
        if self.below(3) == 0 {
            return self.tool(who, user);
        }
        let number = self.below(self.routes.len());
        self.go(number, who, user);
    }

    /// Every route once as the owner, numbered marks in what is typed.
    pub(super) fn every_route_with_marks(&mut self) {
        self.typed.get_or_insert(0);
        for number in 0..self.routes.len() {
            if number.is_multiple_of(20) {
                self.plant();
                self.publish();
            }
            self.go(number, Who::Owner, "ann");
        }
    }

    /// Keeps what numbered marks stand in, and publishes what of it may be.
    pub(super) fn plant_numbered(&mut self) {
        let path = "/v1/users/ann/records";
        let records = json!(marks::numbered());
        let (status, kept) = self.house.ask(Who::Owner, "POST", path, Some(&records));
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&kept));
        let fates = answer(&kept)["outcomes"].clone();
        let fates = fates.as_array().expect("outcomes").iter();
        let ids: Vec<String> = fates
            .filter_map(|fate| Some(fate["id"].as_str()?.to_owned()))
            .collect();
        assert_eq!(ids.len(), marks::NUMBERED - marks::TYPED, "{kept:?}");
        for id in ids {
            self.open = vec![id.clone()];
            self.publish();
            self.ids.push(id);
        }
    }

    fn go(&mut self, number: usize, who: Who, user: &str) {
        let route = &self.routes[number];
        let (method, holds, has_body) = (route.method.clone(), route.holds, route.has_body);
        let mut path = route.path.replace("{user}", user);
        let mut body = Map::new();
        for (name, schema) in route.arguments.clone() {
            let slot = format!("{{{name}}}");
            if path.contains(&slot) {
                let value = self.value(&name, &schema);
                path = path.replace(&slot, &plain(&value));
            } else if self.below(2) == 0 || name == "query" || name == "q" {
                body.insert(name.clone(), self.value(&name, &schema));
            }
        }
        if !has_body && !body.is_empty() {
            let pairs: Vec<String> = body
                .iter()
                .map(|(name, value)| format!("{name}={}", plain(value)))
                .collect();
            path = format!("{path}?{}", pairs.join("&"));
        }
        let body = has_body.then_some(Value::Object(body));
        let (status, said) = self.house.ask(who, &method, &path, body.as_ref());
        self.look(
            who,
            holds,
            &format!("{method} {path} {body:?}"),
            status,
            &said,
        );
    }

    fn tool(&mut self, who: Who, user: &str) {
        let number = self.below(self.tools.len());
        let (name, described, holds) = self.tools[number].clone();
        let body = &described["requestBody"]["content"]["application/json"]["schema"];
        let mut arguments = parameters(&self.document, &described["parameters"]);
        arguments.extend(properties(&self.document, body));
        let mut given = Map::new();
        for (name, schema) in arguments {
            if name != "user" && (self.below(2) == 0 || name == "query" || name == "id") {
                given.insert(name.clone(), self.value(&name, &schema));
            }
        }
        let what = format!("{name} {given:?}");
        let (status, said) = if self.below(2) == 0 {
            let path = format!("/v1/users/{user}/tools/{name}");
            self.house.ask(who, "POST", &path, Some(&json!(given)))
        } else {
            let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": { "name": name, "arguments": given } });
            self.house.ask(who, "POST", "/mcp", Some(&call))
        };
        self.look(who, holds, &what, status, &said);
    }

    /// The owner may see what was asked for, in an answer that is none of refusal.
    fn look(&mut self, who: Who, holds: Holds, what: &str, status: u16, said: &[u8]) {
        assert_ne!(status, 500, "{what}: {}", String::from_utf8_lossy(said));
        // What the owner has typed may be said of in his own answer.
        let found = self.marks.find(said).filter(|_| self.typed.is_none());
        self.refused += usize::from(status >= 400);
        let may = who == Who::Owner && holds == Holds::Memory && status == 200;
        match found {
            Some(_) if may => self.seen_by_owner += 1,
            found => assert_eq!(found, None, "{who:?} was told a mark by {what} ({status})"),
        }
    }

    /// A value as a schema allows it.
    fn value(&mut self, name: &str, schema: &Value) -> Value {
        let schema = resolved(&self.document, schema).clone();
        if let Some(options) = schema["anyOf"].as_array() {
            let first = options.first().cloned().unwrap_or_default();
            return self.value(name, &first);
        }
        let words = schema["enum"].as_array().cloned().unwrap_or_default();
        let consts = schema["oneOf"].as_array().into_iter().flatten();
        let words: Vec<Value> = words
            .into_iter()
            .chain(consts.map(|option| option["const"].clone()))
            .filter(|word| !word.is_null())
            .collect();
        if !words.is_empty() {
            let place = self.below(words.len());
            return words[place].clone();
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds[0].clone(),
            kind => kind.clone(),
        };
        match kind.as_str().unwrap_or_default() {
            "integer" => json!(self.below(30)),
            "number" => json!(self.below(11) as f32 / 10.0),
            "boolean" => json!(self.below(2) == 0),
            "array" => {
                let count = 1 + self.below(2);
                let one = |walk: &mut Self| walk.value(name, &schema["items"]);
                json!((0..count).map(|_| one(self)).collect::<Vec<_>>())
            }
            "object" => json!({}),
            _ => self.text(name),
        }
    }

    fn text(&mut self, name: &str) -> Value {
        let named = [
            "id", "ids", "used", "from", "to", "source", "target", "cursor", "record",
        ];
        if named.contains(&name) && self.below(8) > 0 {
            let place = self.below(self.ids.len());
            return json!(self.ids.get(place));
        }
        if name == "uri" {
            let ends = ["recent", "tags", "stats", "nothing"];
            return json!(format!("memory://{}", ends[self.below(ends.len())]));
        }
        let count = 1 + self.below(4);
        let words: Vec<&str> = (0..count).map(|_| WORDS[self.below(WORDS.len())]).collect();
        let words = words.join(" ");
        let Some(typed) = self.typed else {
            return json!(words);
        };
        self.typed = Some(typed + 1);
        json!(format!(
            "{words} {} otters",
            marks::typed(typed % marks::TYPED)
        ))
    }
}

/// A value in a path or a query string.
fn plain(value: &Value) -> String {
    let text = value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned);
    let safe = |byte: u8| byte.is_ascii_alphanumeric();
    text.bytes()
        .map(|byte| match byte {
            byte if safe(byte) => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let place = schema["$ref"].as_str();
    let place = place.and_then(|place| place.strip_prefix('#'));
    match place.and_then(|place| document.pointer(place)) {
        Some(found) => resolved(document, found),
        None => schema,
    }
}

fn parameters(document: &Value, list: &Value) -> Vec<(String, Value)> {
    let list = list.as_array().into_iter().flatten();
    let own = list.map(|one| resolved(document, one));
    own.filter(|one| one["in"] == "path" || one["in"] == "query")
        .filter_map(|one| Some((one["name"].as_str()?.to_owned(), one["schema"].clone())))
        .filter(|(name, _)| name != "user")
        .collect()
}

fn properties(document: &Value, schema: &Value) -> Vec<(String, Value)> {
    let schema = resolved(document, schema);
    let parts = schema["allOf"].as_array().into_iter().flatten();
    let mut found: Vec<(String, Value)> =
        parts.flat_map(|part| properties(document, part)).collect();
    let own = schema["properties"].as_object().into_iter().flatten();
    found.extend(own.map(|(name, schema)| (name.clone(), schema.clone())));
    found
}
