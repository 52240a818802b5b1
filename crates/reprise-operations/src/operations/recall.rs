//! What resonates with a text: records with scores and reasons, or one text for a prompt.

mod asked;
mod asked_rules;
pub mod brief;
mod ended_failures;
mod ended_rules;
mod left_out_rules;
mod left_to_do;
mod steps;
mod taught;

use reprise_engine::{build_context_block, context_candidate_count};
use reprise_types::limits::DIMENSIONS_MAX;
use reprise_types::{ContextBlock, RecallResponse};

use crate::memories::PastRecall;
use crate::prelude::*;
use crate::wire::{RecallAnswer, question_vector};
use asked::AnswerReader;
pub use asked::AskedRecall;
pub(in crate::operations) use asked::{PromptReader, is_foreign};
pub use asked_rules::asks_for_rules;
pub use steps::FoundAnswer;
use steps::complete_answer;
pub(in crate::operations) use taught::{is_taught_whole, list_lesson_ids};

/// An answer, or with `max_tokens` a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Recalled {
    /// Records, best first.
    Answer(Box<RecallAnswer>),
    /// A text for a prompt.
    Context(Box<ContextBlock>),
}

operation! {
    Spec::for_reading("recall", "Find memories that help with a task or answer a question.");
    /// A question.
    #[derive(Default, clap::Args)]
    #[schemars(transform = schema_rules::require_all_or_none(&["embedding", "embedding_space"]))]
    Recall(memory, arguments: RecallArguments {
        /// Question or task, in the user's words.
        #[arg(skip)]
        pub query | "text": String as QuestionText,
        /// Maximum number of results [default: 5].
        #[arg(long, alias = "top-k")]
        pub limit | "top_k": Option<usize> as LimitCount,
        /// Which records may answer.
        #[serde(flatten)]
        #[command(flatten)]
        pub filter: Filter,
        /// Search the memory as it was at this time.
        #[arg(long, value_name = "TIME")]
        pub as_of: Option<String> as TimeText,
        /// Where to search: the user's own memory, what others published, or both.
        #[arg(long)]
        pub scope: Option<RecallScope>,
        /// Answer with one text, at most this many tokens long.
        #[arg(
            long,
            alias = "budget",
            value_name = "TOKENS",
            conflicts_with = "limit"
        )]
        pub max_tokens | "budget": Option<usize> as ItemCount,
        /// Where you are now, such as `production`: results say whether their lesson applies.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[arg(long, value_name = "PLACE")]
        pub context: Vec<String> as LineText,
        /// Hide lessons that say they do not apply to `context`.
        #[arg(
            long,
            help = "Hide lessons that name --context as a place where they do not apply"
        )]
        pub applying: bool,
        /// Unit vector of the question, from callers that embed themselves.
        #[schemars(length(min = 1, max = DIMENSIONS_MAX))]
        #[arg(skip)]
        pub embedding: Option<Vec<f32>>,
        /// Embedding space of `embedding`.
        #[arg(skip)]
        pub embedding_space: Option<EmbeddingSpace>,
    }) -> Recalled {
        let (began, most) = (Instant::now(), arguments.max_tokens);
        let asked = RecallArguments {
            limit: most.map(context_candidate_count).or(arguments.limit),
            ..arguments
        };
        let found = memory.answer(asked.to_recall(memory, false)?).await?;
        Ok(match most {
            None => Recalled::Answer(Box::new(to_answer(found.recall, began, &asked))),
            Some(most) => {
                let context = build_context_block(&found.recall, most, system_entropy());
                Recalled::Context(Box::new(context))
            }
        })
    }
}

/// What a recall found as an interface shows it; each lesson says whether it holds where was asked.
fn to_answer(recall: RecallResponse, began: Instant, asked: &RecallArguments) -> RecallAnswer {
    let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
    let mut answer = RecallAnswer::new(None, recall, elapsed_ms);
    for hit in &mut answer.results {
        if let Some(lesson) = &mut hit.lesson {
            lesson.set_applies(&asked.context, &asked.query);
        }
    }
    answer
}

impl RecallArguments {
    /// Returns what they ask of memory, times as the calendar has them.
    fn to_recall(&self, memory: &Memory, is_agent: bool) -> Result<AskedRecall, Problem> {
        let calendar = memory.calendar();
        let as_of = parse_time(&calendar, self.as_of.as_deref(), Calendar::parse_until);
        let filter = self.filter.to_memory_filter(&calendar);
        let mut request = RecallRequest {
            top_k: self.limit.unwrap_or(TOP_K_DEFAULT),
            filter: filter.map_err(Problem::invalid)?,
            as_of: as_of.map_err(Problem::invalid)?,
            ..RecallRequest::new(self.query.as_str())
        };
        request.validate().map_err(Problem::invalid)?;
        memory.resolve_filter_tags(&mut request.filter);
        let vector = question_vector(self.embedding_space.as_ref(), self.embedding.as_ref());
        Ok(AskedRecall {
            request: request.with_times_from_query(&calendar),
            vector: vector.map_err(Problem::conflict)?,
            scope: self.scope.unwrap_or(memory.default_recall_scope()),
            is_limited: self.limit.is_some(),
            reader: AnswerReader::Caller {
                is_agent,
                holding_in: self.applying.then(|| self.context.clone()),
            },
        })
    }
}

impl AskedRecall {
    /// Asks with a request whose session and tags may be written in short.
    pub async fn of_request(
        memory: &Memory,
        mut request: RecallRequest,
        scope: RecallScope,
    ) -> Result<Self, Problem> {
        request.validate().map_err(Problem::invalid)?;
        memory.resolve_filter(&mut request.filter).await?;
        let asked = Self::new(request, false);
        Ok(Self { scope, ..asked })
    }
}

impl Memory {
    /// Answers a question: ranks what may answer, makes of it what its reader gets
    /// ([`steps`] has the order), and remembers what an outcome may name.
    pub async fn answer(&self, asked: AskedRecall) -> Result<FoundAnswer, Problem> {
        let (at, began, calendar) = (self.now(), Instant::now(), self.calendar());
        let query = asked.request.query.clone();
        // A recall holds much: on the heap, so that whatever waits for one need not.
        let recall = Box::pin(self.rank(&asked)).await?;
        let ranked: BTreeSet<RecordId> = recall.results.iter().map(|one| one.record.id).collect();
        // What others published needs nothing of the user's own memory.
        let found = if self.exists() && asked.scope != RecallScope::Global {
            let complete =
                move |memory: &Snapshot| complete_answer(Some(memory), &asked, &calendar, recall);
            self.run_on_snapshot(complete).await?
        } else {
            complete_answer(None, &asked, &calendar, recall)
        };
        self.add_to_receipt(&ranked, &found.recall).await?;
        self.note_recall(&query, &found.recall, at, began);
        Ok(found)
    }

    /// Ranks what may answer: of the user's own memory, of checkouts, and of what others published.
    async fn rank(&self, asked: &AskedRecall) -> Result<RecallResponse, Problem> {
        let request = asked.request_to_rank();
        let own = async {
            let within = asked.hook().map(|hook| hook.within);
            let recall = self.rank_own(request.clone(), asked.vector.clone(), within);
            let recall = recall.await?;
            Ok(self
                .add_repository_hits(&request, asked.hook(), recall)
                .await)
        };
        match asked.scope {
            RecallScope::Local => own.await,
            RecallScope::LocalAndGlobal => {
                let tier = self.open_global_tier().await?;
                Box::pin(tier.recall_with_local(&request, own)).await
            }
            RecallScope::Global => {
                let tier = self.open_global_tier().await?;
                let id = self.new_recall_id();
                Ok(tier.recall_published_alone(&request, id).await?)
            }
        }
    }

    /// Ranks what this memory alone has, which is nothing if the user has none; `within` so long a
    /// model that is late is done without.
    pub(in crate::operations) async fn rank_own(
        &self,
        request: RecallRequest,
        vector: Option<Embedding>,
        within: Option<Duration>,
    ) -> Result<RecallResponse, Problem> {
        if !self.exists() {
            return Ok(RecallResponse::empty(self.new_recall_id()));
        }
        let (span, service) = (
            operation_span("search_memory", &self.user),
            &self.all.service,
        );
        let provider = match within {
            Some(within) => service.provider(&self.user).with_recall_budget(within),
            None => service.patient_provider(&self.user),
        };
        let found = provider.recall_with_vector(request, vector);
        let recall = found.instrument(span.clone()).await?;
        let first = recall.results.first().map(|result| result.record.id);
        note_records_in_span(&span, recall.results.len(), first);
        Ok(recall)
    }

    /// Adds what came into an answer after it was ranked to what an outcome may name.
    async fn add_to_receipt(
        &self,
        ranked: &BTreeSet<RecordId>,
        recall: &RecallResponse,
    ) -> Result<(), Problem> {
        let placed = recall.results.iter().filter(|one| one.published.is_none());
        let placed = placed.map(|one| one.record.id);
        let placed: Vec<RecordId> = placed.filter(|id| !ranked.contains(id)).collect();
        if !placed.is_empty() {
            let service = self.require_service()?;
            let added = service.add_to_receipt(&self.user, recall.recall_id, placed);
            added.await?;
        }
        Ok(())
    }

    /// Notes a recall for the page, if there is a memory that it could find something in.
    pub(in crate::operations) fn note_recall(
        &self,
        query: &str,
        recall: &RecallResponse,
        at: DateTime<Utc>,
        began: Instant,
    ) {
        if self.is_noted && self.exists() {
            let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
            let past = PastRecall::new(at, query, recall, elapsed_ms);
            self.all.recalls.note(&self.user, past);
        }
    }

    fn new_recall_id(&self) -> RecallId {
        RecallId::from_parts(self.unix_ms(), system_entropy() >> 48)
    }
}

operation! {
    Spec::for_reading("search", "ChoirOS: search by `q`, at most `k`.")
        .with_routes(&[(Method::Get, "/api/memory/search")]);
    /// A question.
    Search(memory, arguments: SearchArguments {
        /// Question or task, in the user's words.
        #[serde(rename = "q")]
        pub query | "query" | "text": String as QuestionText,
        /// Maximum number of results [default: 5].
        #[serde(rename = "k")]
        pub limit | "limit": Option<usize> as LimitCount,
    }) -> RecallAnswer {
        let asked = RecallArguments {
            query: arguments.query,
            limit: arguments.limit,
            ..RecallArguments::default()
        };
        let began = Instant::now();
        let found = memory.answer(asked.to_recall(memory, false)?).await?;
        Ok(to_answer(found.recall, began, &asked))
    }
}
