//! End to end: a model answers each question from what is recalled, and a judge model says whether
//! that is right, by `LongMemEval`'s prompts (`evaluate_qa.py`, one for each type of question).

use std::collections::BTreeMap;
use std::io::{self, Write};

use reprise_engine::{Ablation, build_context_block, context_candidate_count, question_subject};
use serde::Serialize;

use crate::dataset::{Dataset, Question};
use crate::error::{EvalError, EvalResult};
use crate::stage::EvalStage;
use crate::store::{Store, Tools};
use crate::vectors::Vectors;

/// After so many failures in a row nobody is asked any more.
const FAILURES_MAX: usize = 3;

/// What a model says to a prompt; an error is why it says nothing.
pub type AskModel<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

pub struct AnswerOptions<'a> {
    /// Tokens of recalled context, four bytes each.
    pub budget: usize,
    pub answering: &'a AskModel<'a>,
    pub judging: &'a AskModel<'a>,
}

reprise_types::show_fields!(AnswerOptions<'_> { budget });

/// One question, what was said and what the judge made of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answered {
    pub question_id: String,
    pub category: String,
    pub expected: String,
    /// The answer, as `hypothesis` in the set's own files.
    pub hypothesis: String,
    pub correct: bool,
    /// Tokens of context in the prompt, four bytes each.
    pub context_tokens: usize,
    /// Why there is no answer or no judgement; then it counts as wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// The share of right answers, in per cent.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Accuracy {
    pub questions: usize,
    pub correct: usize,
    pub failed: usize,
    pub percent: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswerReport {
    pub budget: usize,
    pub all: Accuracy,
    pub by_category: BTreeMap<String, Accuracy>,
    pub answers: Vec<Answered>,
}

/// Asks every question that has an answer in words. One that fails counts as wrong; a model that
/// fails again and again ends the run.
pub fn answer_questions(
    dataset: &Dataset,
    options: &AnswerOptions<'_>,
    tools: &Tools<'_>,
    progress: &mut dyn FnMut(EvalStage<'_>),
) -> EvalResult<AnswerReport> {
    let mut answers = Vec::new();
    let mut failures = 0;
    let mut vectors = tools.open_embedder.map(Vectors::open).transpose()?;
    for (place, corpus) in dataset.corpora.iter().enumerate() {
        let about = corpus.questions.iter().map(|q| question_subject(&q.text));
        let place = (place, dataset.corpora.len());
        let store = Store::fill(tools, place, corpus, about, &mut vectors, progress)?;
        for question in &corpus.questions {
            let Some(expected) = &question.answer else {
                continue;
            };
            let about = question_subject(&question.text);
            let top_k = context_candidate_count(options.budget);
            let recall = store.recall(&question.text, &about, top_k, &Ablation::default());
            let context = build_context_block(&recall, options.budget, 0);
            let asked = render_answer_prompt(question, &context.text);
            let (hypothesis, judged) = match (options.answering)(&asked) {
                Err(why) => (String::new(), Err(why)),
                Ok(said) => {
                    let judged = (options.judging)(&render_judge_prompt(question, expected, &said));
                    (said, judged)
                }
            };
            failures = if judged.is_err() { failures + 1 } else { 0 };
            if let Err(why) = &judged
                && failures == FAILURES_MAX
            {
                return Err(EvalError::Model(format!(
                    "{FAILURES_MAX} questions in a row failed, the last with: {why}"
                )));
            }
            answers.push(Answered {
                question_id: question.id.clone(),
                category: question.category.clone(),
                expected: expected.clone(),
                hypothesis,
                correct: judged.as_deref().is_ok_and(is_yes),
                context_tokens: context.tokens,
                failed: judged.err(),
            });
        }
        store.discard()?;
    }
    Ok(AnswerReport::from_answers(options.budget, answers))
}

impl AnswerReport {
    fn from_answers(budget: usize, answers: Vec<Answered>) -> Self {
        let mut by_category: BTreeMap<String, Accuracy> = BTreeMap::new();
        let mut all = Accuracy::default();
        for one in &answers {
            let category = by_category.entry(one.category.clone()).or_default();
            for sum in [category, &mut all] {
                sum.questions += 1;
                sum.correct += usize::from(one.correct);
                sum.failed += usize::from(one.failed.is_some());
                sum.percent = 100.0 * sum.correct as f64 / sum.questions as f64;
            }
        }
        Self {
            budget,
            all,
            by_category,
            answers,
        }
    }
}

/// The prompt of `run_generation.py`, with what is recalled in the place of whole sessions.
fn render_answer_prompt(question: &Question, context: &str) -> String {
    let context = match context.trim() {
        "" => "(nothing was found)",
        text => text,
    };
    let date = question.asked_at.map_or_else(
        || "unknown".to_owned(),
        |at| at.format("%Y/%m/%d (%a) %H:%M").to_string(),
    );
    format!(
        "I will give you several history chats between you and a user. Please answer the question \
         based on the relevant chat history.\n\n\nHistory Chats:\n\n{context}\n\nCurrent Date: \
         {date}\nQuestion: {}\nAnswer:",
        question.text
    )
}

const CONTAINS: &str = "I will give you a question, a correct answer, and a response from a model. \
    Please answer yes if the response contains the correct answer. Otherwise, answer no. ";
const EQUIVALENT: &str = "If the response is equivalent to the correct answer or contains all the \
    intermediate steps to get the correct answer, you should also answer yes. If the response only \
    contains a subset of the information required by the answer, answer no. ";
const OFF_BY_ONE: &str = "In addition, do not penalize off-by-one errors for the number of days. If \
    the question asks for the number of days/weeks/months, etc., and the model makes off-by-one \
    errors (e.g., predicting 19 days when the answer is 18), the model's response is still correct. ";
const UPDATED: &str = "If the response contains some previous information along with an updated \
    answer, the response should be considered as correct as long as the updated answer is the \
    required answer.";
const PREFERENCE: &str = "I will give you a question, a rubric for desired personalized response, \
    and a response from a model. Please answer yes if the response satisfies the desired response. \
    Otherwise, answer no. The model does not need to reflect all the points in the rubric. The \
    response is correct as long as it recalls and utilizes the user's personal information \
    correctly.";
const UNANSWERABLE: &str = "I will give you an unanswerable question, an explanation, and a response \
    from a model. Please answer yes if the model correctly identifies the question as unanswerable. \
    The model could say that the information is incomplete, or some other information is given but \
    the asked information is not.";

/// The prompt of `evaluate_qa.py` for this type of question.
fn render_judge_prompt(question: &Question, expected: &str, said: &str) -> String {
    let right = "Is the model response correct?";
    let (told, name, end) = match question.category.as_str() {
        _ if !question.answerable => (
            UNANSWERABLE.to_owned(),
            "Explanation",
            "Does the model correctly identify the question as unanswerable?",
        ),
        "temporal-reasoning" => {
            let told = [CONTAINS, EQUIVALENT, OFF_BY_ONE].concat();
            (told, "Correct Answer", right)
        }
        "knowledge-update" => ([CONTAINS, UPDATED].concat(), "Correct Answer", right),
        "single-session-preference" => (PREFERENCE.to_owned(), "Rubric", right),
        _ => ([CONTAINS, EQUIVALENT].concat(), "Correct Answer", right),
    };
    format!(
        "{told}\n\nQuestion: {}\n\n{name}: {expected}\n\nModel Response: {said}\n\n{end} Answer yes \
         or no only.",
        question.text
    )
}

/// Whether the first yes or no of a judgement is a yes. `evaluate_qa.py` looks for a "yes" among
/// ten tokens; models that explain themselves say more.
fn is_yes(judgement: &str) -> bool {
    let lower = judgement.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphabetic());
    words.find(|word| matches!(*word, "yes" | "no")) == Some("yes")
}

pub fn print_answer_report(report: &AnswerReport, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "  a model answers from at most {} tokens of recalled context; a judge model says yes or no \
         by the prompts of LongMemEval's evaluate_qa.py",
        report.budget
    )?;
    writeln!(
        out,
        "{:<32} {:>9} {:>8} {:>7} {:>7}",
        "", "questions", "correct", "failed", "%"
    )?;
    let all = std::iter::once(("all", &report.all));
    let rows = report.by_category.iter();
    for (name, row) in rows.map(|(name, row)| (name.as_str(), row)).chain(all) {
        writeln!(
            out,
            "{name:<32} {:>9} {:>8} {:>7} {:>7.1}",
            row.questions, row.correct, row.failed, row.percent
        )?;
    }
    Ok(())
}
