//! A service of published knowledge, asked over HTTP: a store like any other.

use async_trait::async_trait;
use reprise_global::{
    AuditLine, Branch, Caller, Erased, Fate, GlobalAnswer, GlobalError, GlobalQuery, GlobalRecord,
    GlobalResult, GlobalStore, HolderQuota, ListPage, Listed, Merged, OrganisationSettings,
    OwnSubmission, PersonLine, ProjectId, Publication, Published, PutBack, QuotaChange, ReviewDone,
    Submission, SubmissionVerdict, TakeDown, TakeDownDone, TakenDown, Unpublished, UsageReport,
    Version, check_name, check_publication,
};
use reprise_redact::{OutboundBody, OutboundError, clean_text};
use reprise_server::DEADLINE_HEADER;
use serde::de::DeserializeOwned;
use ureq::http::Method;

use crate::cli::prelude::*;
use crate::outbound;

/// How long a change may take, once the service has answered.
const CHANGE: Duration = Duration::from_secs(30);
/// How long a change may take after which tables may be written anew.
const SWEEP: Duration = Duration::from_mins(5);
/// How long the service may take to show that it is alive.
const ALIVE_TIME: Duration = Duration::from_secs(3);
/// So long one answer says that it is there.
const KNOWN: Duration = Duration::from_mins(1);
/// Where quotas are.
const QUOTAS: &str = "/v1/quotas";
/// Where an organisation's settings are.
const ORGANISATION: &str = "/v1/organisation";
/// Longest answer, in bytes.
const ANSWER_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The token with which a caller is known; the error is a sentence.
pub(super) type TokenOf =
    Arc<dyn Fn(&Caller) -> GlobalResult<Option<String>, String> + Send + Sync>;

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
        Self::from_agent(outbound::new_agent(), url, token_of, question)
    }

    /// Connects by an agent whose connections others use too.
    pub(super) fn from_agent(
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
    pub(super) fn warm_up_connection(self) {
        std::thread::spawn(move || {
            if let Err(error) = self.check_alive() {
                tracing::debug!(%error, "the global store is not connected yet");
            }
        });
    }

    /// Asks a service of which nothing was heard lately for nothing but an answer: a change waits
    /// long, and not for nobody.
    fn check_alive(&self) -> GlobalResult<()> {
        let answered = || lock(&self.answered);
        if answered().is_some_and(|at| at.elapsed() < KNOWN) {
            return Ok(());
        }
        self.get_without_token("/health/live")?;
        *answered() = Some(Instant::now());
        Ok(())
    }

    /// Sends a GET without a token; returns status and body.
    fn get_without_token(&self, path: &str) -> GlobalResult<(u16, Vec<u8>)> {
        self.send(None, &Method::GET, path, OutboundBody::empty(), ALIVE_TIME)
    }

    /// Asks without a body.
    async fn ask_without_body<T: DeserializeOwned + Send + 'static>(
        &self,
        caller: &Caller,
        method: Method,
        path: &str,
    ) -> GlobalResult<T> {
        self.ask(caller, method, path, OutboundBody::empty(), CHANGE)
            .await
    }

    /// A page of a list.
    async fn get_page<T: DeserializeOwned + Send + 'static>(
        &self,
        caller: &Caller,
        path: &str,
        ListPage { offset, limit }: ListPage,
    ) -> GlobalResult<Vec<T>> {
        let path = format!("{path}?offset={offset}&limit={limit}");
        self.ask_without_body(caller, Method::GET, &path).await
    }

    /// Sends a publication, byte for byte.
    async fn send_publication(
        &self,
        caller: &Caller,
        path: &str,
        publication: &Publication,
    ) -> GlobalResult<Published> {
        // What no store keeps need not travel.
        check_publication(publication)?;
        let body = OutboundBody::from_approved_json("the publication", publication.to_json_bytes());
        let body = body.map_err(GlobalError::invalid)?;
        self.ask(caller, Method::POST, path, body, CHANGE).await
    }

    async fn ask<T: DeserializeOwned + Send + 'static>(
        &self,
        caller: &Caller,
        method: Method,
        path: &str,
        body: OutboundBody,
        within: Duration,
    ) -> GlobalResult<T> {
        if clean_text(path).1 > 0 {
            return Err(GlobalError::invalid(OutboundError::Secret {
                what: "a name",
            }));
        }
        let token = (self.token_of)(caller).map_err(|message| GlobalError::Token { message })?;
        let path = path.to_owned();
        self.run_blocking(move |store| {
            store.ask_blocking(token.as_deref(), &method, &path, body, within)
        })
        .await
    }

    /// Asks on a thread where waiting holds nobody up.
    async fn run_blocking<T: Send + 'static>(
        &self,
        ask: impl FnOnce(Self) -> GlobalResult<T> + Send + 'static,
    ) -> GlobalResult<T> {
        let store = self.clone();
        let asked = tokio::task::spawn_blocking(move || ask(store)).await;
        asked.unwrap_or_else(|error| Err(GlobalError::unavailable(error)))
    }

    fn ask_blocking<T: DeserializeOwned>(
        &self,
        token: Option<&str>,
        method: &Method,
        path: &str,
        body: OutboundBody,
        within: Duration,
    ) -> GlobalResult<T> {
        if within > self.question {
            self.check_alive()?;
        }
        let (status, bytes) = self.send(token, method, path, body, within)?;
        if status == 200 {
            let none = "its answer is not one of a service of published knowledge";
            return serde_json::from_slice(&bytes).map_err(|_| GlobalError::unavailable(none));
        }
        Err(decode_refusal(status, &bytes))
    }

    /// Status and body of an answer, whatever they are.
    fn send(
        &self,
        token: Option<&str>,
        method: &Method,
        path: &str,
        body: OutboundBody,
        within: Duration,
    ) -> GlobalResult<(u16, Vec<u8>)> {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header("accept", "application/json")
            .header("content-type", "application/json")
            .header(DEADLINE_HEADER, within.as_millis().to_string());
        let request = match token {
            Some(token) => request.header("authorization", format!("Bearer {token}")),
            None => request,
        };
        let request = request.body(body).map_err(GlobalError::unavailable)?;
        let answer = outbound::send_and_read(&self.agent, request, within, ANSWER_BYTES_MAX);
        answer.map_err(GlobalError::unavailable)
    }
}

/// Body of a service's refusal.
#[derive(Debug, Default, Deserialize)]
struct Refused {
    #[serde(default)]
    detail: String,
    /// The store's own error, whole.
    error: Option<GlobalError>,
}

fn decode_refusal(status: u16, body: &[u8]) -> GlobalError {
    let said: Option<Refused> = serde_json::from_slice(body).ok();
    // A proxy in front of it may refuse as well, in its own form.
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

fn encode_json_body(what: &'static str, value: &impl Serialize) -> GlobalResult<OutboundBody> {
    OutboundBody::from_json(what, value).map_err(GlobalError::invalid)
}

#[derive(Debug, Deserialize)]
struct Fates {
    fates: Vec<Fate>,
}

#[derive(Debug, Deserialize)]
struct SnapshotAnswer {
    at: DateTime<Utc>,
}

#[async_trait]
impl GlobalStore for RemoteStore {
    async fn publish(&self, caller: &Caller, publication: Publication) -> GlobalResult<Published> {
        self.send_publication(caller, "/v1/publications", &publication)
            .await
    }

    async fn get(
        &self,
        caller: &Caller,
        id: RecordId,
        version: Option<Version>,
    ) -> GlobalResult<GlobalRecord> {
        let path = match version {
            Some(version) => format!("/v1/publications/{id}?version={version}"),
            None => format!("/v1/publications/{id}"),
        };
        self.ask_without_body(caller, Method::GET, &path).await
    }

    async fn list_versions_page(
        &self,
        caller: &Caller,
        id: RecordId,
        page: ListPage,
    ) -> GlobalResult<Vec<GlobalRecord>> {
        let path = format!("/v1/publications/{id}/versions");
        self.get_page(caller, &path, page).await
    }

    async fn query(&self, caller: &Caller, query: &GlobalQuery) -> GlobalResult<GlobalAnswer> {
        if clean_text(&query.text).0.trim().is_empty() && !query.text.trim().is_empty() {
            return Err(GlobalError::invalid(
                "nothing of the question may leave this machine, so others were not asked; \
                 ask in words without `<private>`",
            ));
        }
        let body = encode_json_body("the question", query)?;
        self.ask(caller, Method::POST, "/v1/query", body, self.question)
            .await
    }

    async fn list_own_published_page(
        &self,
        caller: &Caller,
        page: ListPage,
    ) -> GlobalResult<Vec<GlobalRecord>> {
        self.get_page(caller, "/v1/publications", page).await
    }

    async fn unpublish(&self, caller: &Caller, id: RecordId) -> GlobalResult<Unpublished> {
        let path = format!("/v1/publications/{id}");
        self.ask_without_body(caller, Method::DELETE, &path).await
    }

    async fn rate(&self, caller: &Caller, id: RecordId, rating: f32) -> GlobalResult<()> {
        let path = format!("/v1/publications/{id}/rating");
        let body = encode_json_body("the rating", &json!({ "rating": rating }))?;
        let done = self.ask::<Value>(caller, Method::PUT, &path, body, CHANGE);
        done.await.map(drop)
    }

    async fn report_usage(
        &self,
        caller: &Caller,
        reports: &[UsageReport],
    ) -> GlobalResult<Vec<Fate>> {
        let path = "/v1/outcomes";
        let body = encode_json_body("the report", &json!({ "reports": reports }))?;
        let fates: Fates = self.ask(caller, Method::POST, path, body, CHANGE).await?;
        Ok(fates.fates)
    }

    async fn create_snapshot(&self, caller: &Caller, name: &str) -> GlobalResult<DateTime<Utc>> {
        // A name that no store takes would be a path of its own.
        check_name(name)?;
        let path = format!("/v1/snapshots/{name}");
        let named: SnapshotAnswer = self.ask_without_body(caller, Method::PUT, &path).await?;
        Ok(named.at)
    }

    async fn open_branch(&self, caller: &Caller, name: &str) -> GlobalResult<Branch> {
        check_name(name)?;
        let path = format!("/v1/branches/{name}");
        self.ask_without_body(caller, Method::PUT, &path).await
    }

    async fn list_branches(&self, caller: &Caller) -> GlobalResult<Vec<Branch>> {
        self.ask_without_body(caller, Method::GET, "/v1/branches")
            .await
    }

    async fn publish_on_branch(
        &self,
        caller: &Caller,
        branch: &str,
        publication: Publication,
    ) -> GlobalResult<Published> {
        check_name(branch)?;
        let path = format!("/v1/branches/{branch}/publications");
        self.send_publication(caller, &path, &publication).await
    }

    async fn merge_branch(&self, caller: &Caller, branch: &str) -> GlobalResult<Vec<Merged>> {
        check_name(branch)?;
        let path = format!("/v1/branches/{branch}/merge");
        self.ask_without_body(caller, Method::POST, &path).await
    }

    async fn drop_branch(&self, caller: &Caller, branch: &str) -> GlobalResult<Branch> {
        check_name(branch)?;
        let path = format!("/v1/branches/{branch}");
        self.ask_without_body(caller, Method::DELETE, &path).await
    }

    async fn list_catalogue_page(
        &self,
        caller: &Caller,
        page: ListPage,
    ) -> GlobalResult<Vec<Listed>> {
        self.get_page(caller, "/v1/catalogue", page).await
    }

    async fn take_down(
        &self,
        operator: &Caller,
        id: RecordId,
        order: &TakeDown,
    ) -> GlobalResult<TakeDownDone> {
        let path = format!("/v1/publications/{id}/takedown");
        let body = encode_json_body("the reason", order)?;
        self.ask(operator, Method::POST, &path, body, SWEEP).await
    }

    async fn put_back(&self, operator: &Caller, id: RecordId) -> GlobalResult<PutBack> {
        let path = format!("/v1/publications/{id}/takedown");
        self.ask_without_body(operator, Method::DELETE, &path).await
    }

    async fn list_own_taken_down(&self, caller: &Caller) -> GlobalResult<Vec<TakenDown>> {
        self.ask_without_body(caller, Method::GET, "/v1/takedowns")
            .await
    }

    async fn list_projects(&self, caller: &Caller) -> GlobalResult<Vec<ProjectId>> {
        self.ask_without_body(caller, Method::GET, "/v1/projects")
            .await
    }

    async fn list_quotas(
        &self,
        operator: &Caller,
        users: &[UserId],
    ) -> GlobalResult<Vec<HolderQuota>> {
        let listed = self.ask_without_body(operator, Method::GET, QUOTAS);
        let mut listed: Vec<HolderQuota> = listed.await?;
        // The service lists all of its operator's people.
        listed.retain(|one| match one.holder.strip_prefix("user:") {
            Some(name) => users.iter().any(|user| user.as_str() == name),
            None => true,
        });
        Ok(listed)
    }

    async fn set_quota(
        &self,
        operator: &Caller,
        change: &QuotaChange,
    ) -> GlobalResult<HolderQuota> {
        let body = encode_json_body("the quota", change)?;
        self.ask(operator, Method::PUT, QUOTAS, body, CHANGE).await
    }

    async fn read_organisation(&self, caller: &Caller) -> GlobalResult<OrganisationSettings> {
        self.ask_without_body(caller, Method::GET, ORGANISATION)
            .await
    }

    async fn change_organisation(
        &self,
        operator: &Caller,
        settings: OrganisationSettings,
    ) -> GlobalResult<OrganisationSettings> {
        let body = encode_json_body("the settings", &settings)?;
        self.ask(operator, Method::PUT, ORGANISATION, body, CHANGE)
            .await
    }

    async fn list_submissions_page(
        &self,
        reviewer: &Caller,
        page: ListPage,
    ) -> GlobalResult<Vec<Submission>> {
        self.get_page(reviewer, "/v1/reviews", page).await
    }

    async fn review_submission(
        &self,
        reviewer: &Caller,
        id: RecordId,
        verdict: &SubmissionVerdict,
    ) -> GlobalResult<ReviewDone> {
        verdict.check()?;
        let path = format!("/v1/reviews/{id}");
        let body = encode_json_body("the review", verdict)?;
        self.ask(reviewer, Method::POST, &path, body, CHANGE).await
    }

    async fn list_own_submissions(&self, caller: &Caller) -> GlobalResult<Vec<OwnSubmission>> {
        self.ask_without_body(caller, Method::GET, "/v1/submissions")
            .await
    }

    async fn list_person_lines(&self, caller: &Caller) -> GlobalResult<Vec<PersonLine>> {
        self.ask_without_body(caller, Method::GET, "/v1/person")
            .await
    }

    async fn erase_person(&self, caller: &Caller) -> GlobalResult<Erased> {
        // The one character of a name that means something else in a query.
        let name = caller.user.as_str().replace('+', "%2B");
        let path = format!("/v1/person?confirm={name}");
        self.ask(caller, Method::DELETE, &path, OutboundBody::empty(), SWEEP)
            .await
    }

    async fn list_audit_lines(
        &self,
        caller: &Caller,
        limit: usize,
    ) -> GlobalResult<Vec<AuditLine>> {
        let path = format!("/v1/audit?limit={limit}");
        self.ask_without_body(caller, Method::GET, &path).await
    }

    async fn check_ready(&self) -> GlobalResult<()> {
        self.run_blocking(|store| match store.get_without_token("/health/ready")? {
            (200, _) => Ok(()),
            (status, body) => Err(decode_refusal(status, &body)),
        })
        .await
    }
}

#[cfg(test)]
mod tests;
