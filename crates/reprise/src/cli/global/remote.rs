//! A service of published knowledge, asked over HTTP: a store like any other.

use async_trait::async_trait;
use reprise_global::{
    AuditLine, Branch, Caller, DecisionReport, Erased, Fate, GlobalAnswer, GlobalError,
    GlobalQuery, GlobalRecord, GlobalResult, GlobalStore, HolderQuota, ListPage, Listed, Merged,
    OrganisationSettings, OwnSubmission, PersonLine, ProjectId, Publication, Published,
    QuotaChange, Submission, SubmissionVerdict, TakeDown, TakeDownDone, TakenDown, Unpublished,
    UsageReport, Version,
};
use reprise_operations::Method;
use reprise_redact::{OutboundBody, OutboundError, clean_text};
use reprise_server::service_arguments::{PreparedRequest, ServiceArguments};
use reprise_server::service_operations as operations;
use reprise_server::{DEADLINE_HEADER, ServiceContext};

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
        let request = PreparedRequest {
            method: Method::Get,
            target: path.to_owned(),
            body: OutboundBody::empty(),
        };
        self.send(None, request, ALIVE_TIME)
    }

    /// Asks for an operation of the service.
    async fn ask<O>(
        &self,
        caller: &Caller,
        arguments: O::Arguments,
        within: Duration,
    ) -> GlobalResult<O::Answer>
    where
        O: Operation<ServiceContext, Arguments: ServiceArguments, Answer: Send>,
    {
        let request = PreparedRequest::for_operation::<O>(&arguments)?;
        if clean_text(&request.target).1 > 0 {
            return Err(GlobalError::invalid(OutboundError::Secret {
                what: "a name",
            }));
        }
        let token = (self.token_of)(caller).map_err(|message| GlobalError::Token { message })?;
        let bytes = self
            .run_blocking(move |store| store.ask_blocking(token.as_deref(), request, within))
            .await?;
        let none = "its answer is not one of a service of published knowledge";
        serde_json::from_slice(&bytes).map_err(|_| GlobalError::unavailable(none))
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

    fn ask_blocking(
        &self,
        token: Option<&str>,
        request: PreparedRequest,
        within: Duration,
    ) -> GlobalResult<Vec<u8>> {
        if within > self.question {
            self.check_alive()?;
        }
        match self.send(token, request, within)? {
            (200, bytes) => Ok(bytes),
            (status, bytes) => Err(decode_refusal(status, &bytes)),
        }
    }

    /// Status and body of an answer, whatever they are.
    fn send(
        &self,
        token: Option<&str>,
        request: PreparedRequest,
        within: Duration,
    ) -> GlobalResult<(u16, Vec<u8>)> {
        let PreparedRequest {
            method,
            target,
            body,
        } = request;
        let request = ureq::http::Request::builder()
            .method(method.name())
            .uri(format!("{}{target}", self.url))
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

/// Implements a store by the operations of a service: for each time limit the methods, and the
/// operation that each asks for, with what is taken of its answer. And the methods that do more.
macro_rules! ask_service {
    (
        $($within:ident { $(
            $name:ident($($given:ident: $kind:ty),*) -> $answer:ty
            = $operation:ident $(=> $take:expr)?;
        )+ })+
        [ $($methods:tt)+ ]
    ) => {
        #[async_trait]
        impl GlobalStore for RemoteStore {
            $($(
                async fn $name(
                    &self,
                    caller: &Caller
                    $(, $given: $kind)*
                ) -> GlobalResult<$answer> {
                    let arguments = ($($given.to_owned().into(),)*);
                    let answer = self.ask::<operations::$operation>(caller, arguments, $within);
                    answer.await$(.map($take))?
                }
            )+)+

            $($methods)+
        }
    };
}

ask_service! {
    CHANGE {
        publish(publication: Publication) -> Published = PublishThing;
        get(id: RecordId, version: Option<Version>) -> GlobalRecord = GetThing;
        list_versions_page(id: RecordId, page: ListPage) -> Vec<GlobalRecord> = ListThingVersions;
        list_own_published_page(page: ListPage) -> Vec<GlobalRecord> = ListOwnThings;
        unpublish(id: RecordId) -> Unpublished = UnpublishThing;
        rate(id: RecordId, rating: f32) -> () = RateThing => drop;
        report_usage(reports: &[UsageReport]) -> Vec<Fate>
            = ReportUsage => |answer| answer.fates;
        create_snapshot(name: &str) -> DateTime<Utc> = CreateSnapshot => |answer| answer.at;
        open_branch(name: &str) -> Branch = OpenBranch;
        list_branches() -> Vec<Branch> = ListBranches;
        publish_on_branch(branch: &str, publication: Publication) -> Published = PublishOnBranch;
        merge_branch(branch: &str) -> Vec<Merged> = MergeBranch;
        drop_branch(branch: &str) -> Branch = DropBranch;
        list_catalogue_page(page: ListPage) -> Vec<Listed> = ListCatalogue;
        put_back(id: RecordId) -> DecisionReport = PutThingBack;
        list_own_taken_down() -> Vec<TakenDown> = ListOwnTakenDown;
        list_projects() -> Vec<ProjectId> = ListProjects;
        set_quota(change: &QuotaChange) -> HolderQuota = SetQuota;
        read_organisation() -> OrganisationSettings = ReadOrganisation;
        change_organisation(settings: OrganisationSettings) -> OrganisationSettings
            = ChangeOrganisation;
        list_submissions_page(page: ListPage) -> Vec<Submission> = ListSubmissions;
        review_submission(id: RecordId, verdict: &SubmissionVerdict) -> DecisionReport
            = ReviewSubmission;
        list_own_submissions() -> Vec<OwnSubmission> = ListOwnSubmissions;
        list_person_lines() -> Vec<PersonLine> = ListPersonLines;
        list_audit_lines(limit: usize) -> Vec<AuditLine> = ListAudit;
    }
    SWEEP {
        take_down(id: RecordId, order: &TakeDown) -> TakeDownDone = TakeThingDown;
    }
    [
        async fn query(&self, caller: &Caller, query: &GlobalQuery) -> GlobalResult<GlobalAnswer> {
            let arguments = (query.clone(),);
            self.ask::<operations::QueryThings>(caller, arguments, self.question).await
        }

        async fn list_quotas(
            &self,
            operator: &Caller,
            users: &[UserId],
        ) -> GlobalResult<Vec<HolderQuota>> {
            let mut listed = self.ask::<operations::ListQuotas>(operator, (), CHANGE).await?;
            // The service knows its operator's people, and lists all of them.
            listed.retain(|one| match one.holder.strip_prefix("user:") {
                Some(name) => users.is_empty() || users.iter().any(|user| user.as_str() == name),
                None => true,
            });
            Ok(listed)
        }

        async fn erase_person(&self, caller: &Caller) -> GlobalResult<Erased> {
            let confirm = Some(caller.user.to_string());
            let arguments = (confirm.into(),);
            self.ask::<operations::ErasePerson>(caller, arguments, SWEEP).await
        }

        async fn check_ready(&self) -> GlobalResult<()> {
            self.run_blocking(|store| match store.get_without_token("/health/ready")? {
                (200, _) => Ok(()),
                (status, body) => Err(decode_refusal(status, &body)),
            })
            .await
        }
    ]
}

#[cfg(test)]
mod tests;
