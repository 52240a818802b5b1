//! A model behind an endpoint of `OpenAI`'s form (`POST .../v1/embeddings`), of this machine or of
//! another: asked only where the configuration names it, with what has passed the gate.
//!
//! Its answers are looked at as what a stranger says. What it does not answer is found by words and
//! gets its vector later.

use reprise_embed::unrelated;
use reprise_redact::{Outbound, is_another, is_plain_to_another};
use reprise_types::limits::DIMENSIONS_MAX;
use reprise_types::{Unrelated, normalize};
use ureq::http::Request;
use xxhash_rust::xxh3::xxh3_64;

use crate::cli::prelude::*;
use crate::outbound::send;

/// Texts of one request.
const BATCH: usize = 32;
/// Bytes of a text that are sent: models see far fewer.
const TEXT_BYTES_MAX: usize = 8 * 1024;
/// A question is worth waiting for so long,
const QUERY: Duration = Duration::from_secs(5);
/// and what is kept so long.
const DOCUMENTS: Duration = Duration::from_secs(30);
/// An answer of a batch at the largest width has about 3 MB.
const ANSWER_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// After a failure the endpoint is left alone for so long, twice as long after the next,
const WAIT: Duration = Duration::from_secs(1);
/// and no longer than this, whatever it asks for.
const WAIT_MAX: Duration = Duration::from_mins(2);
/// Tokens that are taken for the model's limit where nobody says it.
const TOKENS: usize = 512;
const CARD_BYTES_MAX: u64 = 64 * 1024;
/// Characters of an answer that an error quotes.
const QUOTED: usize = 60;

/// What the configuration says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) url: String,
    pub(crate) model: String,
    pub(crate) key: Option<String>,
    pub(crate) allow_plain_http: bool,
}

/// What is known of it, written when it first answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Card {
    pub(crate) url: String,
    pub(crate) model: String,
    pub(crate) dimensions: u16,
    /// Its cosines between texts that have nothing to do with each other.
    #[serde(default)]
    pub(crate) unrelated: Option<Unrelated>,
}

impl Named {
    /// `URL#MODEL`, as a setting has it; an error is what is wrong with it.
    pub(crate) fn parse(setting: &str) -> Result<Self, String> {
        let (url, model) = setting.split_once('#').unwrap_or((setting, ""));
        let host = url.split_once("://").map_or("", |(_, rest)| rest);
        if host.is_empty() || host.starts_with('/') || model.trim().is_empty() {
            return Err(format!(
                "`{setting}` is no endpoint; write `https://HOST/v1/embeddings#MODEL`"
            ));
        }
        Ok(Self {
            url: url.to_owned(),
            model: model.to_owned(),
            key: None,
            allow_plain_http: false,
        })
    }

    fn card_path(&self, context: &Context) -> PathBuf {
        let name = format!("{}.json", version(&self.url, &self.model));
        context.places.models.join("endpoints").join(name)
    }

    /// Whether texts go to another machine.
    pub(crate) fn leaves(&self) -> bool {
        is_another(&self.url)
    }
}

impl Card {
    pub(crate) fn space(&self) -> EmbeddingSpace {
        EmbeddingSpace {
            model: self.model.clone(),
            version: version(&self.url, &self.model),
            dimensions: self.dimensions,
        }
    }
}

/// What an endpoint's model is called besides its name.
fn version(url: &str, model: &str) -> String {
    let digits = xxh3_64([url, "#", model].concat().as_bytes());
    format!("endpoint-{digits:016x}")
}

/// What is known of an endpoint: its card, or what it answers now. Where it does not answer that is
/// remembered for a while, so that a command asks once.
pub(crate) fn known(context: &Context, named: &Named) -> Result<Card, String> {
    static SILENT: Mutex<BTreeMap<String, (Instant, String)>> = Mutex::new(BTreeMap::new());
    let path = named.card_path(context);
    let bytes = reprise_files::read_named(&path, CARD_BYTES_MAX)
        .ok()
        .flatten();
    let card = bytes.and_then(|bytes| serde_json::from_slice::<Card>(&bytes).ok());
    let card = card.filter(|card| (&card.url, &card.model) == (&named.url, &named.model));
    if let Some(card) = card.as_ref().filter(|card| card.unrelated.is_some()) {
        return Ok(card.clone());
    }
    let mut silent = lock(&SILENT);
    if let Some((since, why)) = silent.get(&named.url)
        && since.elapsed() < WAIT_MAX
    {
        return card.ok_or_else(|| why.clone());
    }
    probe(context, named).or_else(|why| {
        silent.insert(named.url.clone(), (Instant::now(), why.clone()));
        // One that was known before it was measured is used as it is.
        card.ok_or(why)
    })
}

/// Asks it for a vector and keeps what it answers.
pub(crate) fn probe(context: &Context, named: &Named) -> Result<Card, String> {
    let mut card = Card {
        url: named.url.clone(),
        model: named.model.clone(),
        dimensions: 0,
        unrelated: None,
    };
    let vectors = Endpoint::new(named.clone(), &card).ask(&["hello"], QUERY);
    let vectors = vectors.map_err(|error| error.to_string())?;
    card.dimensions = vectors.first().map_or(0, Vec::len) as u16;
    card.unrelated = unrelated(&mut Endpoint::new(named.clone(), &card)).ok();
    let path = named.card_path(context);
    let write = || -> anyhow::Result<()> {
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent)?;
        }
        let (folder, file) = Folder::of_file(&path)?;
        Ok(folder.replace(file, &serde_json::to_vec_pretty(&card)?)?)
    };
    write().map_err(|error| error.to_string())?;
    Ok(card)
}

/// The client of an endpoint, one a process: its pauses hold for all who ask.
pub(crate) fn client(named: &Named, card: &Card) -> Endpoint {
    static CLIENTS: Mutex<Vec<Endpoint>> = Mutex::new(Vec::new());
    let mut clients = lock(&CLIENTS);
    let space = card.space();
    if let Some(unrelated) = card.unrelated {
        space.measured(unrelated);
    }
    let same = |one: &&Endpoint| one.0.named == *named && one.0.space == space;
    if let Some(known) = clients.iter().find(same) {
        return known.clone();
    }
    let client = Endpoint::new(named.clone(), card);
    clients.push(client.clone());
    client
}

/// A client of one endpoint. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Endpoint(Arc<Shared>);

struct Shared {
    named: Named,
    /// Without dimensions as long as it was never asked.
    space: EmbeddingSpace,
    agent: ureq::Agent,
    /// Until when it is left alone, and for how long next time.
    pause: Mutex<Option<(Instant, Duration)>>,
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    index: Option<usize>,
    /// `null` stands for what is not a number.
    embedding: Vec<Option<f32>>,
}

impl Endpoint {
    /// Does not connect yet; takes no proxy and follows no redirect.
    fn new(named: Named, card: &Card) -> Self {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .build()
            .new_agent();
        Self(Arc::new(Shared {
            named,
            space: card.space(),
            agent,
            pause: Mutex::default(),
        }))
    }

    fn unavailable(&self, why: &str) -> EmbedError {
        EmbedError::Unavailable {
            message: format!("the endpoint {} gives no vectors ({why})", self.0.named.url),
        }
    }

    fn one(&self, text: &str, within: Duration) -> Result<Vec<f32>, EmbedError> {
        let vector = self.ask(&[text], within)?.pop();
        vector.ok_or_else(|| self.unavailable("it answered nothing"))
    }

    /// The vectors of texts, each of length 1. After a failure it is not asked for a while.
    fn ask(&self, texts: &[&str], within: Duration) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut pause = lock(&self.0.pause);
        if let Some((until, _)) = *pause
            && let Some(left) = until.checked_duration_since(Instant::now())
        {
            let seconds = left.as_secs() + 1;
            return Err(self.unavailable(&format!("it failed; it is asked again in {seconds} s")));
        }
        let before = pause.map_or(WAIT / 2, |(_, wait)| wait);
        drop(pause);
        let asked = self.asked(texts, within);
        pause = lock(&self.0.pause);
        match asked {
            Ok(vectors) => {
                *pause = None;
                Ok(vectors)
            }
            Err(Failure::Text(why)) => Err(EmbedError::Engine { message: why }),
            Err(Failure::Endpoint(why, asked_to_wait)) => {
                let wait = asked_to_wait.unwrap_or(before * 2).min(WAIT_MAX);
                *pause = Some((Instant::now() + wait, wait.max(WAIT)));
                tracing::warn!(%why, ?wait, "an endpoint gives no vectors");
                Err(self.unavailable(&why))
            }
        }
    }

    fn asked(&self, texts: &[&str], within: Duration) -> Result<Vec<Vec<f32>>, Failure> {
        let named = &self.0.named;
        let failed = |why: String| Failure::Endpoint(why, None);
        if is_plain_to_another(&named.url) && !named.allow_plain_http {
            return Err(failed(
                "texts would go to another machine over plain HTTP; name an https:// address, or \
                 set `allow_plain_http = true` under [memory] if the way is safe"
                    .to_owned(),
            ));
        }
        let seen = |text: &&str| text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_owned();
        // Some servers refuse an empty text; a blank says as little.
        let told = |text: String| {
            if text.trim().is_empty() {
                " ".to_owned()
            } else {
                text
            }
        };
        let input: Vec<String> = texts.iter().map(seen).map(told).collect();
        let body = json!({ "model": named.model, "input": input, "encoding_format": "float" });
        let body = Outbound::json("the texts", &body).map_err(|why| failed(why.to_string()))?;
        let mut request = Request::post(&named.url).header("content-type", "application/json");
        if let Some(key) = &named.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let request = request
            .body(body)
            .map_err(|_| failed("it is no address".to_owned()))?;
        let sent = send(&self.0.agent, request, Some(within));
        let mut response = sent.map_err(|error| failed(error.to_string()))?;
        let status = response.status().as_u16();
        let header = response.headers().get("retry-after");
        let wait = header.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let wait = wait.map(Duration::from_secs);
        let limited = response.body_mut().with_config().limit(ANSWER_BYTES_MAX);
        let read = limited.read_to_string();
        match status {
            200..=299 => {
                let text = read.map_err(|error| failed(error.to_string()))?;
                self.vectors(&text, texts.len()).map_err(failed)
            }
            400 | 413 | 422 => {
                let said = read.unwrap_or_default();
                let said: String = said.chars().take(QUOTED).collect();
                Err(Failure::Text(format!(
                    "the endpoint refuses it with status {status}: {}",
                    said.escape_debug()
                )))
            }
            _ => Err(Failure::Endpoint(format!("status {status}"), wait)),
        }
    }

    /// The vectors of an answer in the order of the texts; an error is what is wrong with it.
    fn vectors(&self, text: &str, count: usize) -> Result<Vec<Vec<f32>>, String> {
        let answer: Answer = serde_json::from_str(text).map_err(|_| {
            let begins: String = text.chars().take(QUOTED).collect();
            format!(
                "its answer is no JSON of vectors: {}",
                begins.escape_debug()
            )
        })?;
        let got = answer.data.len();
        if got != count {
            return Err(format!("it answers {got} vectors for {count} texts"));
        }
        let wanted = usize::from(self.0.space.dimensions);
        let mut vectors = vec![Vec::new(); count];
        for (place, item) in answer.data.into_iter().enumerate() {
            let place = item.index.unwrap_or(place);
            let numbers: Option<Vec<f32>> = item.embedding.into_iter().collect();
            let numbers = numbers.filter(|numbers| numbers.iter().all(|x| x.is_finite()));
            let mut numbers = numbers.ok_or("its vector holds what is no number")?;
            let got = numbers.len();
            if wanted != got && wanted > 0 {
                return Err(format!(
                    "its vectors have {got} numbers and had {wanted}: it is another model now; run \
                     `reprise models add {}#{}`",
                    self.0.named.url, self.0.named.model
                ));
            }
            if got == 0 || got > DIMENSIONS_MAX {
                return Err(format!(
                    "its vectors have {got} numbers, not 1 to {DIMENSIONS_MAX}"
                ));
            }
            if numbers.iter().all(|x| *x == 0.0) {
                return Err("its vector is all zeros".to_owned());
            }
            normalize(&mut numbers);
            match vectors.get_mut(place) {
                Some(free) if free.is_empty() => *free = numbers,
                _ => return Err(format!("it answers text {place} twice or out of range")),
            }
        }
        Ok(vectors)
    }
}

/// Why there is no vector.
enum Failure {
    /// This text, or one of these.
    Text(String),
    /// The endpoint, and how long it asks to be left alone.
    Endpoint(String, Option<Duration>),
}

impl Embedder for Endpoint {
    fn space(&self) -> &EmbeddingSpace {
        &self.0.space
    }

    fn token_limit(&self) -> usize {
        TOKENS
    }

    fn embed(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        self.one(text, DOCUMENTS)
    }

    fn embed_query(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        self.one(text, QUERY)
    }

    fn batch_max(&self) -> usize {
        BATCH
    }

    fn embed_all(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.ask(texts, DOCUMENTS)
    }
}

#[cfg(test)]
mod tests;
