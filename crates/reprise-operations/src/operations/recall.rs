//! What resonates with a text: records with scores and reasons, or one text for a prompt.

use reprise_engine::{context_block, context_candidates, decide};
use reprise_types::ContextBlock;
use reprise_types::limits::DIMENSIONS_MAX;

use crate::prelude::*;
use crate::wire::{Answer, question_vector};

/// An answer, or with `max_tokens` a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Recalled {
    /// Records, best first.
    Answer(Box<Answer>),
    /// A text for a prompt.
    Context(Box<ContextBlock>),
}

operation! {
    Spec::reads("recall", "Bring back what resonates.");
    /// A question.
    #[derive(Default, clap::Args)]
    #[schemars(transform = asks::all_or_none(&["embedding", "embedding_space"]))]
    Recall(memory, arguments: RecallArguments {
        /// The new input, in the user's words.
        #[serde(alias = "text")]
        #[arg(skip)]
        pub query: String,
        /// Most results; 5 by default.
        #[serde(alias = "top_k")]
        #[arg(long, alias = "top-k")]
        pub limit: Option<usize>,
        /// Which records may answer.
        #[serde(flatten)]
        #[command(flatten)]
        pub filter: Filter,
        /// Answer as memory stood at this time.
        #[arg(long, value_name = "TIME")]
        pub as_of: Option<String>,
        /// Whose knowledge: the user's own, what others published, or both.
        #[arg(long)]
        pub scope: Option<RecallScope>,
        /// Answer with one text, at most this many tokens long.
        #[serde(alias = "budget")]
        #[arg(
            long,
            alias = "budget",
            value_name = "TOKENS",
            conflicts_with = "limit"
        )]
        pub max_tokens: Option<usize>,
        /// Where the asker is, in their words: lessons that hold there, or do not, say so.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[arg(long, value_name = "PLACE")]
        pub context: Vec<String>,
        /// Leave out lessons that do not hold there.
        #[arg(long)]
        pub applying: bool,
        /// The question's unit vector, by callers that embed themselves.
        #[schemars(length(min = 1, max = DIMENSIONS_MAX))]
        #[arg(skip)]
        pub embedding: Option<Vec<f32>>,
        /// The space of `embedding`.
        #[arg(skip)]
        pub embedding_space: Option<EmbeddingSpace>,
    }) -> Recalled {
        let Some(most) = arguments.max_tokens else {
            let answer = answer(memory, &arguments).await?;
            return Ok(Recalled::Answer(Box::new(answer)));
        };
        let asked = RecallArguments {
            limit: Some(context_candidates(most)),
            ..arguments
        };
        let (_, context) = with_context(memory, &asked, most).await?;
        Ok(Recalled::Context(Box::new(context)))
    }
}

/// Records with scores and reasons.
pub async fn answer(memory: &Memory, asked: &RecallArguments) -> Result<Answer, Problem> {
    let began = Instant::now();
    let recall = found(memory, asked).await?;
    let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
    let mut answer = Answer::new(None, recall, elapsed_ms);
    for hit in &mut answer.results {
        if let Some(lesson) = &mut hit.lesson {
            lesson.place(&asked.context, &asked.query);
        }
    }
    Ok(answer)
}

/// What a recall finds, and what a prompt of `most` tokens gets of it.
pub async fn with_context(
    memory: &Memory,
    asked: &RecallArguments,
    most: usize,
) -> Result<(reprise_types::Recall, ContextBlock), Problem> {
    let recall = found(memory, asked).await?;
    let context = context_block(&recall, most, system_entropy());
    Ok((recall, context))
}

/// What a recall finds, with whole records.
pub async fn found(
    memory: &Memory,
    asked: &RecallArguments,
) -> Result<reprise_types::Recall, Problem> {
    let mut asked = asked.clone();
    asked.filter.spellings = memory.resolve_tags(&mut asked.filter.tag);
    let request = asked
        .request(&memory.calendar())
        .map_err(Problem::invalid)?;
    let vector = question_vector(asked.embedding_space.as_ref(), asked.embedding.as_ref());
    let vector = vector.map_err(Problem::conflict)?;
    let scope = asked.scope.unwrap_or(memory.scope());
    if !asked.applying {
        return memory.recall(request, vector, scope).await;
    }
    // Room for those that are left out.
    let wanted = request.top_k;
    let request = RecallRequest {
        top_k: wanted.saturating_mul(2),
        ..request
    };
    let mut recall = memory.recall(request, vector, scope).await?;
    let (here, question) = (&asked.context, &asked.query);
    let results = &mut recall.results;
    results.retain(|found| LessonCard::holds(&found.record, here, question));
    recall.results.truncate(wanted);
    decide(&mut recall);
    Ok(recall)
}

impl RecallArguments {
    /// The arguments of a request.
    #[must_use]
    pub fn of(request: &RecallRequest) -> Self {
        Self {
            query: request.query.clone(),
            limit: Some(request.top_k),
            filter: Filter::from(request.filter.clone()),
            as_of: request.as_of.map(instant),
            ..Self::default()
        }
    }

    /// The request that it asks for, times as the calendar has them; the error is a sentence about
    /// it.
    pub fn request(&self, calendar: &Calendar) -> Result<RecallRequest, String> {
        let request = RecallRequest {
            top_k: self.limit.unwrap_or(TOP_K_DEFAULT),
            filter: self.filter.read(calendar)?,
            as_of: time(calendar, self.as_of.as_deref(), Calendar::until)?,
            ..RecallRequest::new(self.query.as_str())
        };
        request.check().map_err(|error| error.to_string())?;
        Ok(request.heard(calendar))
    }
}

operation! {
    Spec::reads("search", "ChoirOS: search by `q`, at most `k`.")
        .at(&[(Method::Get, "/api/memory/search")]);
    /// A question.
    Search(memory, arguments: SearchArguments {
        /// The new input, in the user's words.
        #[serde(rename = "q", alias = "query", alias = "text")]
        pub query: String,
        /// Most results; 5 by default.
        #[serde(rename = "k", alias = "limit")]
        pub limit: Option<usize>,
    }) -> Answer {
        let asked = RecallArguments {
            query: arguments.query,
            limit: arguments.limit,
            ..RecallArguments::default()
        };
        answer(memory, &asked).await
    }
}
