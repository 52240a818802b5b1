//! A model behind an `OpenAI`-compatible endpoint (`POST .../v1/embeddings`), local or remote. It
//! is used only if the configuration names it, and gets only text that has passed the gate.
//!
//! Its answers are validated as untrusted input. A text without an answer is found by words and
//! gets its vector later.

use reprise_embed::measure_unrelated;
use reprise_redact::{OutboundBody, is_other_machine, is_plain_http_to_other_machine};
use reprise_types::limits::DIMENSIONS_MAX;
use reprise_types::{UnrelatedCosines, normalize};
use ureq::http::Request;
use xxhash_rust::xxh3::xxh3_64;

use crate::cli::prelude::*;
use crate::outbound::send;

/// Texts of one request.
const BATCH: usize = 32;
/// Bytes of a text that are sent: models see far fewer.
const TEXT_BYTES_MAX: usize = 8 * 1024;
/// Longest wait for the vector of a question.
const QUERY: Duration = Duration::from_secs(5);
/// Longest wait for the vectors of memories.
const DOCUMENTS: Duration = Duration::from_secs(30);
/// An answer of a batch at the largest width has about 3 MB.
const ANSWER_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Pause after the first failure of an endpoint; it doubles with each further failure.
const WAIT: Duration = Duration::from_secs(1);
/// Longest pause after a failure, even if the endpoint asks for more.
const WAIT_MAX: Duration = Duration::from_mins(2);
/// Assumed token limit of the model.
const TOKENS: usize = 512;
const CARD_BYTES_MAX: u64 = 64 * 1024;
/// Characters of an answer that an error quotes.
const QUOTED: usize = 60;

/// Endpoint as the configuration names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EndpointSetting {
    pub(crate) url: String,
    pub(crate) model: String,
    pub(crate) key: Option<String>,
    pub(crate) allow_plain_http: bool,
}

/// Facts about an endpoint, saved when it first answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EndpointCard {
    pub(crate) url: String,
    pub(crate) model: String,
    pub(crate) dimensions: u16,
    /// Cosines between unrelated texts under its model.
    #[serde(default)]
    pub(crate) unrelated: Option<UnrelatedCosines>,
}

impl EndpointSetting {
    /// Parses a setting `URL#MODEL`; the error says what is wrong with it.
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
        let name = format!("{}.json", endpoint_version(&self.url, &self.model));
        context.places.models.join("endpoints").join(name)
    }

    /// Returns whether texts go to another machine.
    pub(crate) fn leaves_machine(&self) -> bool {
        is_other_machine(&self.url)
    }
}

impl EndpointCard {
    pub(crate) fn space(&self) -> EmbeddingSpace {
        EmbeddingSpace {
            model: self.model.clone(),
            version: endpoint_version(&self.url, &self.model),
            dimensions: self.dimensions,
        }
    }
}

/// Returns the version of an endpoint's model, a hash of its URL and name.
fn endpoint_version(url: &str, model: &str) -> String {
    let digits = xxh3_64([url, "#", model].concat().as_bytes());
    format!("endpoint-{digits:016x}")
}

/// Returns the saved card of an endpoint, or probes it. A failed probe is remembered for a while,
/// so that a command asks only once.
pub(crate) fn load_or_probe_card(
    context: &Context,
    named: &EndpointSetting,
) -> Result<EndpointCard, String> {
    static SILENT: Mutex<BTreeMap<String, (Instant, String)>> = Mutex::new(BTreeMap::new());
    let card = load_card(context, named);
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
        // A card without measured cosines is used as it is.
        card.ok_or(why)
    })
}

/// Returns the saved card of an endpoint; `None` if it never answered.
pub(crate) fn load_card(context: &Context, named: &EndpointSetting) -> Option<EndpointCard> {
    let path = named.card_path(context);
    let bytes = reprise_files::read_if_exists(&path, CARD_BYTES_MAX).ok()??;
    let card: EndpointCard = serde_json::from_slice(&bytes).ok()?;
    ((&card.url, &card.model) == (&named.url, &named.model)).then_some(card)
}

/// Asks the endpoint for a vector and saves its card.
pub(crate) fn probe(context: &Context, named: &EndpointSetting) -> Result<EndpointCard, String> {
    let mut card = EndpointCard {
        url: named.url.clone(),
        model: named.model.clone(),
        dimensions: 0,
        unrelated: None,
    };
    let vectors = Endpoint::new(named.clone(), &card).request_vectors(&["hello"], QUERY);
    let vectors = vectors.map_err(|error| error.to_string())?;
    card.dimensions = vectors.first().map_or(0, Vec::len) as u16;
    card.unrelated = measure_unrelated(&mut Endpoint::new(named.clone(), &card)).ok();
    let path = named.card_path(context);
    let write = || -> anyhow::Result<()> {
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent)?;
        }
        let (folder, file) = Folder::open_parent(&path)?;
        Ok(folder.replace(file, &serde_json::to_vec_pretty(&card)?)?)
    };
    write().map_err(|error| error.to_string())?;
    Ok(card)
}

/// Returns the client of an endpoint, one per process, so that its pauses hold for every caller.
pub(crate) fn shared_client(named: &EndpointSetting, card: &EndpointCard) -> Endpoint {
    static CLIENTS: Mutex<Vec<Endpoint>> = Mutex::new(Vec::new());
    let mut clients = lock(&CLIENTS);
    let space = card.space();
    let same = |one: &&Endpoint| one.0.named == *named && one.0.space == space;
    if let Some(known) = clients.iter().find(same) {
        return known.clone();
    }
    let client = Endpoint::new(named.clone(), card);
    clients.push(client.clone());
    client
}

/// Client of one endpoint, cheap to clone.
#[derive(Clone)]
pub struct Endpoint(Arc<EndpointState>);

reprise_types::show_fields!(Endpoint {});

struct EndpointState {
    named: EndpointSetting,
    /// Zero dimensions until the first probe.
    space: EmbeddingSpace,
    agent: ureq::Agent,
    /// End of the current pause, and length of the next one.
    pause: Mutex<Option<(Instant, Duration)>>,
}

#[derive(Deserialize)]
struct VectorsResponse {
    data: Vec<VectorEntry>,
}

#[derive(Deserialize)]
struct VectorEntry {
    #[serde(default)]
    index: Option<usize>,
    /// Numbers of the vector; `None` for a JSON `null`.
    embedding: Vec<Option<f32>>,
}

impl Endpoint {
    /// Creates a client that uses no proxy and follows no redirect, without connecting.
    fn new(named: EndpointSetting, card: &EndpointCard) -> Self {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .build()
            .new_agent();
        Self(Arc::new(EndpointState {
            named,
            space: card.space(),
            agent,
            pause: Mutex::default(),
        }))
    }

    fn unavailable_error(&self, why: &str) -> EmbedError {
        EmbedError::Unavailable {
            message: format!("the endpoint {} gives no vectors ({why})", self.0.named.url),
        }
    }

    fn embed_one(&self, text: &str, within: Duration) -> Result<Vec<f32>, EmbedError> {
        let vector = self.request_vectors(&[text], within)?.pop();
        vector.ok_or_else(|| self.unavailable_error("it answered nothing"))
    }

    /// Returns the normalized vectors of texts. After a failure the endpoint is not asked for a
    /// while.
    fn request_vectors(
        &self,
        texts: &[&str],
        within: Duration,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut pause = lock(&self.0.pause);
        if let Some((until, _)) = *pause
            && let Some(left) = until.checked_duration_since(Instant::now())
        {
            let seconds = left.as_secs() + 1;
            return Err(
                self.unavailable_error(&format!("it failed; it is asked again in {seconds} s"))
            );
        }
        let before = pause.map_or(WAIT / 2, |(_, wait)| wait);
        drop(pause);
        let send_request = self.send_request(texts, within);
        pause = lock(&self.0.pause);
        match send_request {
            Ok(vectors) => {
                *pause = None;
                Ok(vectors)
            }
            Err(RequestFailure::Text(why)) => Err(EmbedError::Engine { message: why }),
            Err(RequestFailure::Endpoint(why, asked_to_wait)) => {
                let wait = asked_to_wait.unwrap_or(before * 2).min(WAIT_MAX);
                *pause = Some((Instant::now() + wait, wait.max(WAIT)));
                tracing::warn!(%why, ?wait, "an endpoint gives no vectors");
                Err(self.unavailable_error(&why))
            }
        }
    }

    fn send_request(
        &self,
        texts: &[&str],
        within: Duration,
    ) -> Result<Vec<Vec<f32>>, RequestFailure> {
        let named = &self.0.named;
        let failed = |why: String| RequestFailure::Endpoint(why, None);
        if is_plain_http_to_other_machine(&named.url) && !named.allow_plain_http {
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
        let body =
            OutboundBody::from_json("the texts", &body).map_err(|why| failed(why.to_string()))?;
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
                self.parse_vectors(&text, texts.len()).map_err(failed)
            }
            400 | 413 | 422 => {
                let said = read.unwrap_or_default();
                let said: String = said.chars().take(QUOTED).collect();
                Err(RequestFailure::Text(format!(
                    "the endpoint refuses it with status {status}: {}",
                    said.escape_debug()
                )))
            }
            _ => Err(RequestFailure::Endpoint(format!("status {status}"), wait)),
        }
    }

    /// Parses the vectors of an answer in the order of the texts; the error says what is wrong.
    fn parse_vectors(&self, text: &str, count: usize) -> Result<Vec<Vec<f32>>, String> {
        let answer: VectorsResponse = serde_json::from_str(text).map_err(|_| {
            let begins: String = text.chars().take(QUOTED).collect();
            format!(
                "its answer is not JSON with vectors: {}",
                begins.escape_debug()
            )
        })?;
        let got = answer.data.len();
        if got != count {
            return Err(format!("it answers {got} vectors for {count} texts"));
        }
        let wanted = usize::from(self.0.space.dimensions);
        let mut parse_vectors = vec![Vec::new(); count];
        for (place, item) in answer.data.into_iter().enumerate() {
            let place = item.index.unwrap_or(place);
            let numbers: Option<Vec<f32>> = item.embedding.into_iter().collect();
            let numbers = numbers.filter(|numbers| numbers.iter().all(|x| x.is_finite()));
            let mut numbers = numbers.ok_or("its vector holds what is no number")?;
            let got = numbers.len();
            if wanted != got && wanted > 0 {
                return Err(format!(
                    "its vectors have {got} numbers and had {wanted}: it is another model now; run \
                     `reprise doctor models add {}#{}`",
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
            match parse_vectors.get_mut(place) {
                Some(free) if free.is_empty() => *free = numbers,
                _ => return Err(format!("it answers text {place} twice or out of range")),
            }
        }
        Ok(parse_vectors)
    }
}

/// Reason why there is no vector.
enum RequestFailure {
    /// The endpoint refused one of the texts.
    Text(String),
    /// The endpoint failed; with the pause that it asks for.
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
        self.embed_one(text, DOCUMENTS)
    }

    fn embed_query(&mut self, text: &str) -> Result<Vec<f32>, EmbedError> {
        self.embed_one(text, QUERY)
    }

    fn batch_size_max(&self) -> usize {
        BATCH
    }

    fn embed_batch(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.request_vectors(texts, DOCUMENTS)
    }
}

#[cfg(test)]
mod tests;
