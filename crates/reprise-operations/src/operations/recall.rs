//! What resonates with a text: records with scores and reasons, or one text for a prompt.

pub mod brief;
mod ended_failures;
mod left_to_do;
pub(in crate::operations) mod taught;

use reprise_engine::{RecallCall, build_context_block, context_candidate_count, decide_shown};
use reprise_types::limits::DIMENSIONS_MAX;
use reprise_types::{ContextBlock, MemoryProvider, RecallResponse};

use crate::memories::PastRecall;
use crate::prelude::*;
use crate::wire::{RecallAnswer, question_vector};

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
        let recall = recall_records(memory, &asked).await?;
        Ok(match most {
            None => Recalled::Answer(Box::new(to_answer(recall, began, &asked))),
            Some(most) => {
                let context = build_context_block(&recall, most, system_entropy());
                Recalled::Context(Box::new(context))
            }
        })
    }
}

/// Records with scores and reasons.
pub async fn recall_answer(
    memory: &Memory,
    asked: &RecallArguments,
) -> Result<RecallAnswer, Problem> {
    let began = Instant::now();
    let recall = recall_records(memory, asked).await?;
    Ok(to_answer(recall, began, asked))
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

/// What a request with a filter finds.
pub async fn recall_filtered(
    memory: &Memory,
    mut request: RecallRequest,
    scope: RecallScope,
) -> Result<RecallResponse, Problem> {
    request.validate().map_err(Problem::invalid)?;
    memory.resolve_filter(&mut request.filter).await?;
    memory.recall(request, None, scope).await
}

/// What a recall finds, with whole records: what is left to do first where that is asked, and
/// lessons in the place of the prompts that they were learned from. An outcome may name all of it.
pub async fn recall_records(
    memory: &Memory,
    asked: &RecallArguments,
) -> Result<RecallResponse, Problem> {
    let request = asked.to_request(&memory.calendar());
    let mut request = request.map_err(Problem::invalid)?;
    memory.resolve_filter_tags(&mut request.filter);
    let vector = question_vector(asked.embedding_space.as_ref(), asked.embedding.as_ref());
    let vector = vector.map_err(Problem::conflict)?;
    let scope = asked.scope.unwrap_or(memory.default_recall_scope());
    let wanted = request.top_k;
    if asked.applying {
        // Room for those that are left out.
        request.top_k = wanted.saturating_mul(2);
    }
    let mut recall = memory.recall(request.clone(), vector, scope).await?;
    let ranked: BTreeSet<RecordId> = recall.results.iter().map(|one| one.record.id).collect();
    let work = left_to_do::WorkQuestion::parse(&asked.query);
    if let Some(work) = work.filter(|_| scope != RecallScope::Global) {
        recall = memory.put_open_work_first(&request, work, recall).await?;
    }
    // Who asks for a type, a tag, a session or a time gets just that.
    let of_project = Filter {
        project: asked.filter.project.clone(),
        ..Filter::default()
    };
    if asked.filter == of_project && asked.as_of.is_none() {
        recall = memory.place_lessons(recall).await?;
    }
    if asked.applying {
        let (here, question) = (&asked.context, &asked.query);
        let results = &mut recall.results;
        results.retain(|found| LessonCard::applies_here(&found.record, here, question));
        results.truncate(wanted);
        decide_shown(&mut recall);
    }
    memory.add_to_receipt(&ranked, &recall).await?;
    Ok(recall)
}

impl RecallArguments {
    /// The request that it asks for, times as the calendar has them; the error is a sentence about
    /// it.
    fn to_request(&self, calendar: &Calendar) -> Result<RecallRequest, String> {
        let request = RecallRequest {
            top_k: self.limit.unwrap_or(TOP_K_DEFAULT),
            filter: self.filter.to_memory_filter(calendar)?,
            as_of: parse_time(calendar, self.as_of.as_deref(), Calendar::parse_until)?,
            ..RecallRequest::new(self.query.as_str())
        };
        request.validate().map_err(|error| error.to_string())?;
        Ok(request.with_times_from_query(calendar))
    }
}

impl Memory {
    /// What a recall finds, with whole records; `vector` is the question's where the caller has it.
    pub(crate) async fn recall(
        &self,
        request: RecallRequest,
        vector: Option<Embedding>,
        scope: RecallScope,
    ) -> Result<RecallResponse, Problem> {
        // A recall holds much: on the heap, so that whatever waits for one need not.
        let local = |request| Box::pin(self.recall_with_repositories(request, vector));
        match scope {
            RecallScope::Local => local(request).await,
            RecallScope::LocalAndGlobal => {
                let tier = self.open_global_tier().await?;
                tier.recall_with_local(&request, local(request.clone()))
                    .await
            }
            RecallScope::Global => {
                let id = self.new_recall_id();
                Ok(self
                    .open_global_tier()
                    .await?
                    .recall_published_alone(&request, id)
                    .await?)
            }
        }
    }

    async fn recall_with_repositories(
        &self,
        request: RecallRequest,
        vector: Option<Embedding>,
    ) -> Result<RecallResponse, Problem> {
        let (at, began, asked) = (self.now(), Instant::now(), request.clone());
        let recall = self.recall_alone(request, vector, None).await?;
        let recall = self.add_repository_hits(&asked, None, recall).await;
        self.note_recall(&asked.query, &recall, at, began);
        Ok(recall)
    }

    /// Adds what came into an answer after it was ranked to what an outcome may name.
    pub(in crate::operations) async fn add_to_receipt(
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
    pub(crate) fn note_recall(
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

    /// What a recall of this memory alone finds, which is nothing if the user has none. `vector` is
    /// the question's where the caller has it; within a `budget` a model that is late is done
    /// without.
    pub(crate) async fn recall_alone(
        &self,
        request: RecallRequest,
        vector: Option<Embedding>,
        budget: Option<Duration>,
    ) -> Result<RecallResponse, Problem> {
        if !self.exists() {
            return Ok(RecallResponse::empty(self.new_recall_id()));
        }
        let (span, service) = (
            operation_span("search_memory", &self.user),
            &self.all.service,
        );
        let until = request.as_of.or(request.now);
        let mut recall = if let Some(vector) = vector {
            let id = self.new_recall_id();
            let found = self.run_on_snapshot(move |memory| {
                let call = RecallCall::new(&request, id, memory.learning_engine());
                memory.recall(&call.with_vectors(&[vector.space_and_vector()]))
            });
            found.instrument(span.clone()).await?
        } else {
            let provider = match budget {
                Some(budget) => service.provider(&self.user).with_recall_budget(budget),
                None => service.patient_provider(&self.user),
            };
            let found = provider.execute_recall(request);
            found.instrument(span.clone()).await?
        };
        let first = recall.results.first().map(|result| result.record.id);
        note_records_in_span(&span, recall.results.len(), first);
        self.mark_ended_failures(until, &mut recall).await?;
        Ok(recall)
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
        recall_answer(memory, &asked).await
    }
}
