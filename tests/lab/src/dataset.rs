//! A data set for the protocol: stores to fill, questions to ask, and gold answers.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use reprise_types::{ExternalId, NewRecord};
use serde::Serialize;

use crate::ranking_metrics::{Gold, RankingMetrics, measure_ranking};

/// The published formats that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// `locomo10.json`: conversations of two people, a turn each.
    Locomo,
    /// Folders with `chat.json` and `probing_questions/probing_questions.json`.
    Beam,
    /// `longmemeval_s*.json`: one haystack of sessions per question.
    LongMemEval,
    /// `devbench_dataset.json`: memories and queries matched by tags.
    DevBench,
    /// Folders with `records.jsonl`, `queries.jsonl` and `gold.jsonl`.
    Jsonl,
    /// A local clone with a changelog: commits are records, changelog entries are questions.
    Git,
}

impl Format {
    /// Every format, in the order of the help text.
    pub const ALL: [Self; 6] = [
        Self::Locomo,
        Self::Beam,
        Self::LongMemEval,
        Self::DevBench,
        Self::Jsonl,
        Self::Git,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        self.name_and_protocol().0
    }

    /// A description of how this set becomes records, questions and gold.
    pub fn protocol(self) -> &'static str {
        self.name_and_protocol().1
    }

    fn name_and_protocol(self) -> (&'static str, &'static str) {
        match self {
            Self::Locomo => (
                "locomo",
                "one record per dialogue turn (`Speaker: text`, and the caption of a shared photo); \
                 gold = the turns named as evidence; category 5 (adversarial) has no answer",
            ),
            Self::Beam => (
                "beam",
                "one record per message; gold = the messages named in source_chat_ids; a session is \
                 a batch; abstention has no answer",
            ),
            Self::LongMemEval => (
                "longmemeval",
                "one store per question, one record per turn; gold = the turns with has_answer, and \
                 the sessions of answer_session_ids; ids ending in _abs have no answer",
            ),
            Self::DevBench => (
                "devbench",
                "one record per memory, its `bench:` tags left out; gold = the expected tags, each \
                 found with any memory that carries it; category negative has no answer",
            ),
            Self::Jsonl => (
                "jsonl",
                "one record per line; gold = the external ids of gold.jsonl; the session of `Dn:m` \
                 is session_n, of any other id the id itself; category 5, abstention and negative \
                 have no answer",
            ),
            Self::Git => (
                "git",
                "one record per commit but merges, the numbers of issues taken out; a question is an \
                 entry of the changelog without them; gold = the one to three commits that name the \
                 entry's issue; a session is a week",
            ),
        }
    }
}

/// What a document of a store is: figures of different protocols do not compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// What the set itself calls a record: a turn, a message, a note, a commit.
    #[default]
    Turns,
    /// A session, all its turns as `role: text` (agentmemory's `longmemeval-bench.ts`).
    Sessions,
    /// A session, its user's turns alone (memweave's and `MemPalace`'s `longmemeval_bench.py`).
    UserSessions,
    /// A user's message and what answers it (ogham-mcp's `beam_benchmark.py`).
    Rounds,
}

impl Protocol {
    pub const ALL: [Self; 4] = [
        Self::Turns,
        Self::Sessions,
        Self::UserSessions,
        Self::Rounds,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Turns => "turns",
            Self::Sessions => "sessions",
            Self::UserSessions => "user-sessions",
            Self::Rounds => "rounds",
        }
    }

    /// Results of one recall that the figures of a set need.
    pub fn top_k(self, format: Format) -> usize {
        match (self, format) {
            // Twenty sessions, of which each may have several turns before the next.
            (Self::Turns, Format::LongMemEval) => 200,
            (Self::Rounds, _) => 50,
            _ => 20,
        }
    }

    /// What it changes in a set's own protocol; `None` where the set has no such protocol.
    pub(crate) fn describe_changes(self, format: Format) -> Option<&'static str> {
        Some(match (self, format) {
            (Self::Turns, _) => "",
            (Self::Sessions, Format::LongMemEval) => {
                "documents: sessions, `role: text` a line; gold = answer_session_ids, abstention \
                 questions included (agentmemory, longmemeval-bench.ts)"
            }
            (Self::UserSessions, Format::LongMemEval) => {
                "documents: sessions, the user's turns alone; gold = answer_session_ids, \
                 abstention questions included (memweave and MemPalace, longmemeval_bench.py)"
            }
            (Self::Rounds, Format::Beam) => {
                "documents: rounds, `User: ...` and `Assistant: ...`, cut at 10,000 characters; \
                 recall at k = the share of the messages of source_chat_ids in the \
                 first k rounds, a list within a list never found; all questions, without gold 1 \
                 for abstention and summarization, else 0 (ogham-mcp, beam_benchmark.py)"
            }
            _ => return None,
        })
    }
}

#[derive(Debug, Clone)]
pub struct Dataset {
    pub format: Format,
    pub protocol: Protocol,
    pub corpora: Vec<Corpus>,
}

impl Dataset {
    /// Keeps the first `count` questions, and the stores that they need.
    pub fn keep_first_questions(&mut self, count: usize) {
        let mut left = count;
        for corpus in &mut self.corpora {
            corpus.questions.truncate(left);
            left -= corpus.questions.len();
        }
        self.corpora.retain(|corpus| !corpus.questions.is_empty());
    }
}

/// One user's records and the questions about them.
#[derive(Debug, Clone)]
pub struct Corpus {
    /// For example the conversation's id.
    pub name: String,
    /// The records, oldest first; each has one external id.
    pub records: Vec<NewRecord>,
    /// The session of a record, by external id.
    pub sessions: BTreeMap<String, String>,
    pub questions: Vec<Question>,
}

impl Corpus {
    /// A corpus whose sessions are those of its records.
    pub fn new(name: String, records: Vec<NewRecord>, questions: Vec<Question>) -> Self {
        let sessions = records
            .iter()
            .filter_map(|record| {
                let id = record.find_external_id(ExternalId::BATCH)?;
                Some((id.to_owned(), record.session_id.clone()))
            })
            .collect();
        Self {
            name,
            records,
            sessions,
            questions,
        }
    }

    /// Fills in the gold sessions of every question that has none.
    #[must_use]
    pub fn with_sessions_of_gold(mut self) -> Self {
        for question in &mut self.questions {
            if question.gold_sessions.is_empty() {
                let ids = question.gold.iter().flat_map(|gold| &gold.0);
                question.gold_sessions = ids
                    .filter_map(|id| self.sessions.get(id).cloned())
                    .collect();
            }
        }
        self
    }

    /// The metrics of one answer, given as external ids, best first.
    pub fn measure_answer(&self, question: &Question, found: &[&str]) -> Rated {
        let mut sessions: Vec<&str> = Vec::new();
        for id in found {
            let session = self.sessions.get(*id).map_or(*id, String::as_str);
            if !sessions.contains(&session) {
                sessions.push(session);
            }
        }
        let wanted: Vec<Gold> = question.gold_sessions.iter().map(Gold::from_id).collect();
        let turn = match question.without_gold {
            Some(share) if question.gold.is_empty() => Some(RankingMetrics::without_gold(share)),
            None if !question.is_judged() => None,
            _ => Some(measure_ranking(found, &question.gold)),
        };
        Rated {
            turn,
            session: measure_ranking(&sessions, &wanted),
        }
    }
}

/// The metrics of one answer at both levels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rated {
    /// At turn level; `None` where the question does not count at this level.
    pub turn: Option<RankingMetrics>,
    /// At session level, each session at the rank of its best record.
    pub session: RankingMetrics,
}

/// One question with its gold.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Question {
    pub id: String,
    pub text: String,
    /// The set's category.
    pub category: String,
    /// The gold records; empty where the set names none.
    pub gold: Vec<Gold>,
    pub gold_sessions: BTreeSet<String>,
    /// Whether the store holds the answer, according to the set.
    pub answerable: bool,
    /// When it is asked, where the set says.
    pub asked_at: Option<DateTime<Utc>>,
    /// The right answer in words, where the set has one.
    pub answer: Option<String>,
    /// What it counts at record level without gold, where a protocol counts such questions.
    pub without_gold: Option<f64>,
}

impl Question {
    /// Whether it counts at turn level: it has an answer, and gold records.
    pub fn is_judged(&self) -> bool {
        self.answerable && !self.gold.is_empty()
    }

    /// Whether this record is among the gold.
    pub(crate) fn is_gold(&self, id: &str) -> bool {
        self.gold.iter().any(|Gold(ids)| ids.contains(id))
    }
}
