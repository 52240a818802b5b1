//! A service of published knowledge, asked over HTTP: a store like any other.

use async_trait::async_trait;
use reprise_global::{
    AuditLine, Branch, Caller, Erased, Fate, GlobalAnswer, GlobalError, GlobalQuery, GlobalRecord,
    GlobalStore, ListPage, Listed, Merged, PersonLine, Publication, Published, PutBack, Result,
    TakeDown, TakeDownDone, TakenDown, Unpublished, UsageReport, Version, check_name,
    check_publication,
};
use reprise_redact::{HeldBack, Outbound, cleaned};
use serde::de::DeserializeOwned;
use ureq::http::Method;

use crate::cli::prelude::*;
use crate::outbound;

/// How long a change may take, once the service has answered ...
const CHANGE: Duration = Duration::from_secs(30);
/// ... and one after which tables may be written anew ...
const SWEEP: Duration = Duration::from_mins(5);
/// ... whether it is there at all.
const THERE: Duration = Duration::from_secs(3);
/// So long one answer says that it is there.
const KNOWN: Duration = Duration::from_mins(1);
/// Longest answer, in bytes.
const ANSWER_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The token with which a caller is known; the error is a sentence.
pub(super) type TokenOf = Arc<dyn Fn(&Caller) -> Result<Option<String>, String> + Send + Sync>;

/// A store behind an address. Cheap to clone.
#[derive(Clone)]
pub(super) struct RemoteStore {
    agent: ureq::Agent,
    url: String,
    token_of: TokenOf,
    /// How long a question may take, from the name of the host to the last byte.
    question: Duration,
    /// When it answered last.
    answered: Arc<Mutex<Option<Instant>>>,
}

impl RemoteStore {
    pub(super) fn new(url: &str, token_of: TokenOf, question: Duration) -> Self {
        Self::over(outbound::agent(), url, token_of, question)
    }

    /// The same over connections that others use too.
    pub(super) fn over(
        agent: ureq::Agent,
        url: &str,
        token_of: TokenOf,
        question: Duration,
    ) -> Self {
        Self {
            agent,
            url: url.to_owned(),
            token_of,
            question,
            answered: Arc::default(),
        }
    }

    /// Connects in the background, by one request without a token: a new connection takes two or
    /// three round trips, and a hook does not wait for as many.
    pub(super) fn connect(self) {
        std::thread::spawn(move || {
            if let Err(error) = self.is_there() {
                tracing::debug!(%error, "the global store is not connected yet");
            }
        });
    }

    /// Asks a service of which nothing was heard lately for nothing but an answer: a change waits
    /// long, and not for nobody.
    fn is_there(&self) -> Result<()> {
        let answered = || lock(&self.answered);
        if answered().is_some_and(|at| at.elapsed() < KNOWN) {
            return Ok(());
        }
        self.look("/health/live")?;
        *answered() = Some(Instant::now());
        Ok(())
    }

    /// What a route says that takes no token.
    fn look(&self, path: &str) -> Result<(u16, Vec<u8>)> {
        self.send(None, &Method::GET, path, Outbound::nothing(), THERE)
    }

    /// Asks without a body.
    async fn bare<T: DeserializeOwned + Send + 'static>(
        &self,
        caller: &Caller,
        method: Method,
        path: &str,
    ) -> Result<T> {
        self.ask(caller, method, path, Outbound::nothing(), CHANGE)
            .await
    }

    /// A page of a list.
    async fn listed<T: DeserializeOwned + Send + 'static>(
        &self,
        caller: &Caller,
        path: &str,
        ListPage { offset, limit }: ListPage,
    ) -> Result<Vec<T>> {
        let path = format!("{path}?offset={offset}&limit={limit}");
        self.bare(caller, Method::GET, &path).await
    }

    /// Gives a publication, byte for byte.
    async fn given(
        &self,
        caller: &Caller,
        path: &str,
        publication: &Publication,
    ) -> Result<Published> {
        // What no store keeps need not travel.
        check_publication(publication)?;
        let body = Outbound::exact("the publication", publication.bytes());
        let body = body.map_err(GlobalError::invalid)?;
        self.ask(caller, Method::POST, path, body, CHANGE).await
    }

    async fn ask<T: DeserializeOwned + Send + 'static>(
        &self,
        caller: &Caller,
        method: Method,
        path: &str,
        body: Outbound,
        within: Duration,
    ) -> Result<T> {
        if cleaned(path).1 > 0 {
            return Err(GlobalError::invalid(HeldBack::Secret { what: "a name" }));
        }
        let token = (self.token_of)(caller).map_err(|message| GlobalError::Token { message })?;
        let path = path.to_owned();
        self.aside(move |store| store.ask_here(token.as_deref(), &method, &path, body, within))
            .await
    }

    /// Asks on a thread where waiting holds nobody up.
    async fn aside<T: Send + 'static>(
        &self,
        ask: impl FnOnce(Self) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let store = self.clone();
        let asked = tokio::task::spawn_blocking(move || ask(store)).await;
        asked.unwrap_or_else(|error| Err(GlobalError::unavailable(error)))
    }

    fn ask_here<T: DeserializeOwned>(
        &self,
        token: Option<&str>,
        method: &Method,
        path: &str,
        body: Outbound,
        within: Duration,
    ) -> Result<T> {
        if within > self.question {
            self.is_there()?;
        }
        let (status, bytes) = self.send(token, method, path, body, within)?;
        if status == 200 {
            let none = "its answer is not one of a service of published knowledge";
            return serde_json::from_slice(&bytes).map_err(|_| GlobalError::unavailable(none));
        }
        Err(refused(status, &bytes))
    }

    /// Status and body of an answer, whatever they are.
    fn send(
        &self,
        token: Option<&str>,
        method: &Method,
        path: &str,
        body: Outbound,
        within: Duration,
    ) -> Result<(u16, Vec<u8>)> {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("accept", "application/json")
            .header("content-type", "application/json");
        let request = match token {
            Some(token) => request.header("authorization", format!("Bearer {token}")),
            None => request,
        };
        let request = request.body(body).map_err(GlobalError::unavailable)?;
        let answer = outbound::answer(&self.agent, request, within, ANSWER_BYTES_MAX);
        answer.map_err(GlobalError::unavailable)
    }
}

/// What a service says when it refuses.
#[derive(Debug, Default, Deserialize)]
struct Refused {
    #[serde(default)]
    detail: String,
    /// The store's own error, whole.
    error: Option<GlobalError>,
}

fn refused(status: u16, body: &[u8]) -> GlobalError {
    let said: Option<Refused> = serde_json::from_slice(body).ok();
    // What stands before it may refuse as well, in its own form.
    let Refused { detail, error } = match (said, status) {
        (Some(said), _) => said,
        (None, 401 | 403) => Refused::default(),
        (None, _) => return GlobalError::unavailable(format!("it answered {status}")),
    };
    match (error, status) {
        (Some(error), _) => error,
        (None, 429) => GlobalError::Busy { message: detail },
        (None, 500..) => GlobalError::Unavailable { message: detail },
        (None, 401 | 403) => GlobalError::Token {
            message: format!("the global store refused the token with {status}; {detail}")
                .trim_end_matches("; ")
                .to_owned(),
        },
        (None, _) => GlobalError::Invalid { message: detail },
    }
}

fn json_of(what: &'static str, value: &impl Serialize) -> Result<Outbound> {
    Outbound::json(what, value).map_err(GlobalError::invalid)
}

#[derive(Debug, Deserialize)]
struct Fates {
    fates: Vec<Fate>,
}

#[derive(Debug, Deserialize)]
struct Named {
    at: DateTime<Utc>,
}

#[async_trait]
impl GlobalStore for RemoteStore {
    async fn publish(&self, caller: &Caller, publication: Publication) -> Result<Published> {
        self.given(caller, "/v1/publications", &publication).await
    }

    async fn get(
        &self,
        caller: &Caller,
        id: RecordId,
        version: Option<Version>,
    ) -> Result<GlobalRecord> {
        let path = match version {
            Some(version) => format!("/v1/publications/{id}?version={version}"),
            None => format!("/v1/publications/{id}"),
        };
        self.bare(caller, Method::GET, &path).await
    }

    async fn versions_page(
        &self,
        caller: &Caller,
        id: RecordId,
        page: ListPage,
    ) -> Result<Vec<GlobalRecord>> {
        let path = format!("/v1/publications/{id}/versions");
        self.listed(caller, &path, page).await
    }

    async fn query(&self, caller: &Caller, query: &GlobalQuery) -> Result<GlobalAnswer> {
        if cleaned(&query.text).0.trim().is_empty() && !query.text.trim().is_empty() {
            return Err(GlobalError::invalid(
                "nothing of the question may leave this machine, so others were not asked; \
                 ask in words without `<private>`",
            ));
        }
        let body = json_of("the question", query)?;
        self.ask(caller, Method::POST, "/v1/query", body, self.question)
            .await
    }

    async fn published_page(&self, caller: &Caller, page: ListPage) -> Result<Vec<GlobalRecord>> {
        self.listed(caller, "/v1/publications", page).await
    }

    async fn unpublish(&self, caller: &Caller, id: RecordId) -> Result<Unpublished> {
        let path = format!("/v1/publications/{id}");
        self.bare(caller, Method::DELETE, &path).await
    }

    async fn rate(&self, caller: &Caller, id: RecordId, rating: f32) -> Result<()> {
        let path = format!("/v1/publications/{id}/rating");
        let body = json_of("the rating", &json!({ "rating": rating }))?;
        let done = self.ask::<Value>(caller, Method::PUT, &path, body, CHANGE);
        done.await.map(drop)
    }

    async fn report(&self, caller: &Caller, reports: &[UsageReport]) -> Result<Vec<Fate>> {
        let path = "/v1/outcomes";
        let body = json_of("the report", &json!({ "reports": reports }))?;
        let fates: Fates = self.ask(caller, Method::POST, path, body, CHANGE).await?;
        Ok(fates.fates)
    }

    async fn snapshot(&self, caller: &Caller, name: &str) -> Result<DateTime<Utc>> {
        // A name that no store takes would be a path of its own.
        check_name(name)?;
        let path = format!("/v1/snapshots/{name}");
        let named: Named = self.bare(caller, Method::PUT, &path).await?;
        Ok(named.at)
    }

    async fn branch(&self, caller: &Caller, name: &str) -> Result<Branch> {
        check_name(name)?;
        let path = format!("/v1/branches/{name}");
        self.bare(caller, Method::PUT, &path).await
    }

    async fn branches(&self, caller: &Caller) -> Result<Vec<Branch>> {
        self.bare(caller, Method::GET, "/v1/branches").await
    }

    async fn draft(
        &self,
        caller: &Caller,
        branch: &str,
        publication: Publication,
    ) -> Result<Published> {
        check_name(branch)?;
        let path = format!("/v1/branches/{branch}/publications");
        self.given(caller, &path, &publication).await
    }

    async fn merge(&self, caller: &Caller, branch: &str) -> Result<Vec<Merged>> {
        check_name(branch)?;
        let path = format!("/v1/branches/{branch}/merge");
        self.bare(caller, Method::POST, &path).await
    }

    async fn drop_branch(&self, caller: &Caller, branch: &str) -> Result<Branch> {
        check_name(branch)?;
        let path = format!("/v1/branches/{branch}");
        self.bare(caller, Method::DELETE, &path).await
    }

    async fn catalogue(&self, caller: &Caller, page: ListPage) -> Result<Vec<Listed>> {
        self.listed(caller, "/v1/catalogue", page).await
    }

    async fn take_down(
        &self,
        operator: &Caller,
        id: RecordId,
        order: &TakeDown,
    ) -> Result<TakeDownDone> {
        let path = format!("/v1/publications/{id}/takedown");
        let body = json_of("the reason", order)?;
        self.ask(operator, Method::POST, &path, body, SWEEP).await
    }

    async fn put_back(&self, operator: &Caller, id: RecordId) -> Result<PutBack> {
        let path = format!("/v1/publications/{id}/takedown");
        self.bare(operator, Method::DELETE, &path).await
    }

    async fn taken_down(&self, caller: &Caller) -> Result<Vec<TakenDown>> {
        self.bare(caller, Method::GET, "/v1/takedowns").await
    }

    async fn person(&self, caller: &Caller) -> Result<Vec<PersonLine>> {
        self.bare(caller, Method::GET, "/v1/person").await
    }

    async fn erase_person(&self, caller: &Caller) -> Result<Erased> {
        // The one character of a name that means something else in a query.
        let name = caller.user.as_str().replace('+', "%2B");
        let path = format!("/v1/person?confirm={name}");
        self.ask(caller, Method::DELETE, &path, Outbound::nothing(), SWEEP)
            .await
    }

    async fn audit(&self, caller: &Caller, limit: usize) -> Result<Vec<AuditLine>> {
        let path = format!("/v1/audit?limit={limit}");
        self.bare(caller, Method::GET, &path).await
    }

    async fn answers(&self) -> Result<()> {
        self.aside(|store| match store.look("/health/ready")? {
            (200, _) => Ok(()),
            (status, body) => Err(refused(status, &body)),
        })
        .await
    }
}

#[cfg(test)]
mod tests;
