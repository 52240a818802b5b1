//! `reprise recall`: one question for a person, or a file of questions for a program.

mod show;

use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use reprise_embed::EmbedderFactory;
use reprise_engine::{Snapshot, TokenCounter, context_block, context_candidates, question_vector};
use reprise_operations::operations::recall;
use reprise_operations::{Answer, QueryLine};
use reprise_server::Call;
use reprise_store::Verify;
use reprise_types::{
    Clock, ContextBlock, Embedder, EmbeddingSpace, MemoryFilter, Recall, RecallId, RecallRequest,
    SystemClock,
};

use super::daemon::Daemon;
use super::global::Others;
use super::store::{self, Access};
use super::{Context, model};
use crate::args::{RecallArguments, calendar};
use crate::exit::Exit;
use crate::lines::Lines;
use crate::terminal::{self, Page};

pub(super) use show::{Detail, print};

pub(super) fn run(context: &Context, arguments: &RecallArguments) -> anyhow::Result<Exit> {
    if let Some(text) = arguments.words() {
        RecallRequest::new(text).check()?;
    }
    let user = &arguments.user;
    let mut asker = Asker {
        context,
        arguments,
        daemon: Daemon::running(context)?,
        files: None,
        is_new: !store::exists(context, user)?,
        others: Others::open(context, user, arguments.scope)?,
    };
    let exit = answered(&mut asker)?;
    if asker.is_new && !asker.others.as_ref().is_some_and(Others::is_alone) {
        super::note(&format!(
            "user `{user}` has no memory yet; `reprise ingest` makes one"
        ));
    }
    Ok(exit)
}

fn answered(asker: &mut Asker<'_>) -> anyhow::Result<Exit> {
    let (context, arguments) = (asker.context, asker.arguments);
    match (&arguments.words(), &arguments.queries, arguments.budget) {
        (Some(text), _, Some(budget)) => print_block(context, &asker.block(text, budget)?),
        (Some(text), _, None) => {
            let answer = asker.answer(None, text, None)?;
            let mut out = anstream::stdout().lock();
            if context.json {
                serde_json::to_writer(&mut out, &answer)?;
                writeln!(out)?;
            } else {
                let detail = if arguments.why {
                    Detail::Signals
                } else {
                    Detail::Reason
                };
                print(&mut out, &answer, SystemClock.now(), Page::stdout(), detail)?;
                let (elapsed, considered) = (answer.elapsed_ms, answer.considered);
                let cost = format!("{elapsed:.1} ms, {considered} considered");
                writeln!(out, "{}", terminal::faint(cost))?;
            }
            Ok(Exit::Success)
        }
        (None, Some(file), _) => batch(asker, file),
        (None, None, _) => anyhow::bail!("pass a text or --queries FILE"),
    }
}

fn print_block(context: &Context, block: &ContextBlock) -> anyhow::Result<Exit> {
    let mut out = anstream::stdout().lock();
    if context.json {
        serde_json::to_writer(&mut out, &block)?;
        writeln!(out)?;
    } else if !block.text.is_empty() {
        writeln!(out, "{}", block.text)?;
    }
    Ok(Exit::Success)
}

/// Who answers: the daemon where one runs, else the file, opened by the first question for it.
struct Asker<'a> {
    context: &'a Context,
    arguments: &'a RecallArguments,
    daemon: Option<Daemon>,
    files: Option<Files>,
    /// The user has no memory yet.
    is_new: bool,
    /// The global store, where the scope goes beyond the user's own memory.
    others: Option<Others>,
}

/// A snapshot and what embeds the questions to it.
struct Files {
    snapshot: Arc<Snapshot>,
    factory: Option<EmbedderFactory>,
    embedder: Option<Box<dyn Embedder>>,
}

impl Asker<'_> {
    /// The answer of every tier that the scope names. `handed` is the question's vector where the
    /// caller has one: the file alone takes that.
    fn answer(
        &mut self,
        query_id: Option<String>,
        text: &str,
        handed: Option<(EmbeddingSpace, Vec<f32>)>,
    ) -> anyhow::Result<Answer> {
        if self.others.is_none() {
            return self.own(query_id, text, handed);
        }
        let began = Instant::now();
        let is_alone = self.others.as_ref().is_some_and(Others::is_alone);
        let own = if is_alone {
            Answer::new(query_id, Recall::nothing(recall_id()?), 0.0)
        } else {
            self.own(query_id, text, handed)?
        };
        let Some(others) = &self.others else {
            return Ok(own);
        };
        let mut answer = others.widen(own, text, self.arguments.top_k)?;
        answer.elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
        Ok(answer)
    }

    /// The user's own memory's answer.
    fn own(
        &mut self,
        query_id: Option<String>,
        text: &str,
        handed: Option<(EmbeddingSpace, Vec<f32>)>,
    ) -> anyhow::Result<Answer> {
        let request = request(self.arguments, text);
        if handed.is_none()
            && let Some(daemon) = &self.daemon
        {
            let path = Call::path_of(&self.arguments.user, &["recall"]);
            let body = serde_json::to_value(recall::Arguments::of(&request))?;
            let mut answer: Answer = daemon.ask(&Call::post(path, &body))?;
            answer.query_id = query_id;
            return Ok(answer);
        }
        let began = Instant::now();
        let recall = self.found(&request, handed)?;
        let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
        Ok(Answer::new(query_id, recall, elapsed_ms))
    }

    /// Memory as one text for a prompt.
    fn block(&mut self, text: &str, budget: usize) -> anyhow::Result<ContextBlock> {
        let request = RecallRequest {
            top_k: context_candidates(budget),
            ..request(self.arguments, text)
        };
        if self.others.is_none()
            && let Some(daemon) = &self.daemon
        {
            let path = Call::path_of(&self.arguments.user, &["recall"]);
            let body = recall::Arguments {
                max_tokens: Some(budget),
                ..recall::Arguments::of(&request)
            };
            return Ok(daemon.ask(&Call::post(path, &serde_json::to_value(body)?))?);
        }
        let others = self.others.take();
        let own = if others.as_ref().is_some_and(Others::is_alone) {
            Recall::nothing(recall_id()?)
        } else {
            self.found(&request, None)?
        };
        let recall = match &others {
            Some(others) => others.widen_recall(own, text, request.top_k)?,
            None => own,
        };
        self.others = others;
        let factory = self.files.as_ref().and_then(|files| files.factory.as_ref());
        let count = |text: &str| {
            let counted = factory.and_then(|factory| factory.count_tokens(text).ok());
            counted.unwrap_or(text.len())
        };
        let counter = match factory {
            Some(_) => TokenCounter::Model(&count),
            None => TokenCounter::BytesOverFour,
        };
        Ok(context_block(&recall, budget, counter, store::entropy()?))
    }

    /// What the files say; of a user who has none, nothing, as the daemon answers.
    fn found(
        &mut self,
        request: &RecallRequest,
        handed: Option<(EmbeddingSpace, Vec<f32>)>,
    ) -> anyhow::Result<Recall> {
        if !self.is_new {
            return self.files()?.ask(request, handed);
        }
        Ok(Recall::nothing(recall_id()?))
    }

    fn files(&mut self) -> anyhow::Result<&mut Files> {
        let files = match self.files.take() {
            Some(files) => files,
            None => Files::open(self.context, self.arguments)?,
        };
        Ok(self.files.insert(files))
    }
}

impl Files {
    fn open(context: &Context, arguments: &RecallArguments) -> anyhow::Result<Self> {
        let (mut engine, _) = store::open(context, &arguments.user, Access::Read, Verify::Tail)?;
        if arguments.queries.is_some() {
            // Worth it for many questions; one is answered sooner without.
            engine.load()?;
        }
        let factory = model::factory(context);
        let embedder = factory.as_ref().map(EmbedderFactory::open).transpose()?;
        Ok(Self {
            snapshot: engine.snapshot(),
            factory,
            embedder,
        })
    }

    fn ask(
        &mut self,
        request: &RecallRequest,
        handed: Option<(EmbeddingSpace, Vec<f32>)>,
    ) -> anyhow::Result<Recall> {
        let vector = match &mut self.embedder {
            _ if handed.is_some() => handed,
            Some(embedder) => {
                let asked = question_vector(&mut **embedder, &request.query)?;
                Some((asked.space, asked.vector))
            }
            None => None,
        };
        let query = vector
            .as_ref()
            .map(|(space, vector)| (space, vector.as_slice()));
        let id = recall_id()?;
        let learning = self.snapshot.learner().as_ref();
        Ok(self.snapshot.recall(request, query, id, learning))
    }
}

fn recall_id() -> anyhow::Result<RecallId> {
    let now = u64::try_from(SystemClock.now().timestamp_millis()).unwrap_or(0);
    Ok(RecallId::from_parts(now, store::entropy()?))
}

/// A list that was given; an empty one asks for all.
fn given<T: Clone>(list: &[T]) -> Option<Vec<T>> {
    (!list.is_empty()).then(|| list.to_vec())
}

fn request(arguments: &RecallArguments, query: &str) -> RecallRequest {
    RecallRequest {
        query: query.to_owned(),
        top_k: arguments.top_k,
        filter: MemoryFilter {
            kinds: given(&arguments.kind),
            sources: given(&arguments.source),
            since: arguments.since,
            until: arguments.until,
            tags: given(&arguments.tag),
            session_id: arguments.session.clone(),
            project: arguments.project.clone(),
            author: arguments.author.clone(),
        },
        as_of: arguments.as_of,
        when: None,
    }
    .heard(&calendar())
}

fn batch(asker: &mut Asker<'_>, file: &Path) -> anyhow::Result<Exit> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut refused = 0_u64;
    for line in Lines::new(BufReader::new(open(file)?)) {
        let (number, line) = line?;
        let query = line.and_then(|line| {
            let line = QueryLine::read(&line)?;
            let vector = line.vector()?;
            let asked = RecallRequest::new(line.query.as_str()).check();
            asked.map_err(|error| error.to_string())?;
            Ok((line, vector))
        });
        match query {
            Ok((line, vector)) => {
                let answer = asker.answer(Some(line.query_id), &line.query, vector)?;
                serde_json::to_writer(&mut out, &answer)?;
                out.write_all(b"\n")?;
            }
            Err(why) => {
                refused += 1;
                super::note(&format!("line {number} was passed over: {why}"));
            }
        }
    }
    out.flush()?;
    Ok(if refused == 0 {
        Exit::Success
    } else {
        Exit::Refused
    })
}

/// A file, or standard input for `-`.
pub(super) fn open(file: &Path) -> anyhow::Result<Box<dyn Read>> {
    if file == Path::new("-") {
        return Ok(Box::new(std::io::stdin()));
    }
    Ok(Box::new(fs_err::File::open(file)?))
}
