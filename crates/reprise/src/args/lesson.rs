//! What may be typed about lessons: keeping, correcting and linking them, and their words.

use clap::{Args, Subcommand, ValueEnum};
use reprise_operations::Lesson;
use reprise_types::ConfidenceLevel;

use super::LearnCommand;
use super::faces::{NamedArguments, WhoseArguments};

#[derive(Debug, Args)]
pub(crate) struct TagsArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Name those that may be one: near in spelling, or a plural
    #[arg(long)]
    pub(crate) review: bool,
    /// Give every record that has the first tag the second in its place
    #[arg(long, num_args = 2, value_names = ["FROM", "INTO"], conflicts_with = "review")]
    pub(crate) merge: Option<Vec<String>>,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LearnArguments {
    #[command(subcommand)]
    pub(crate) command: Option<LearnCommand>,
    /// What was learned, in a sentence; `-` reads stdin
    #[arg(conflicts_with = "lesson_text")]
    pub(crate) text: Vec<String>,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    #[command(flatten)]
    pub(crate) lesson: LessonArguments,
}

impl LearnArguments {
    /// The lesson, in a sentence or in its parts.
    pub(crate) fn lesson(&self) -> Lesson {
        let mut lesson = self.lesson.lesson();
        if !self.text.is_empty() {
            lesson.text = Some(self.text.join(" "));
        }
        lesson
    }
}

#[derive(Debug, Args)]
pub(crate) struct LessonArguments {
    /// One line that names it
    #[arg(long)]
    title: Option<String>,
    /// What was learned: one thing; `-` reads stdin
    #[arg(id = "lesson_text", long = "text", visible_alias = "content")]
    content: Option<String>,
    /// A free word (may be repeated, or several with commas)
    #[arg(long, value_delimiter = ',')]
    tags: Vec<String>,
    /// A word that it should be found by (may be repeated)
    #[arg(long, value_delimiter = ',')]
    keywords: Vec<String>,
    /// Where it holds (may be repeated)
    #[arg(long)]
    context: Vec<String>,
    /// Where it does not hold (may be repeated)
    #[arg(long)]
    anti_context: Vec<String>,
    /// very_low, low, medium, high or very_high
    #[arg(long)]
    confidence: Option<ConfidenceLevel>,
    /// documented, tested, observed, inferred, hearsay, or a word of yours
    #[arg(long, visible_alias = "evidence", value_name = "EVIDENCE")]
    source: Option<String>,
    /// Refuse a kind of evidence that is not there yet, and ask nothing
    #[arg(long)]
    strict: bool,
    /// Where that can be looked up
    #[arg(long)]
    source_notes: Option<String>,
    /// The session that taught it
    #[arg(long)]
    session: Option<String>,
    /// The experiment that it comes from, as the system that keeps it names it
    #[arg(long, value_name = "EXPERIMENT")]
    derived_from_experiment: Option<String>,
}

impl LessonArguments {
    /// What is not given stays.
    pub(crate) fn lesson(&self) -> Lesson {
        let given = |list: &Vec<String>| (!list.is_empty()).then(|| list.clone());
        Lesson {
            title: self.title.clone(),
            text: self.content.clone(),
            tags: given(&self.tags),
            keywords: given(&self.keywords),
            contexts: given(&self.context),
            anti_contexts: given(&self.anti_context),
            confidence: self.confidence,
            evidence: self.source.clone(),
            source_notes: self.source_notes.clone(),
            session: self.session.clone(),
            derived_from_experiment: self.derived_from_experiment.clone(),
            strict: self.strict,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct EditArguments {
    #[command(flatten)]
    pub(crate) named: NamedArguments,
    #[command(flatten)]
    pub(crate) lesson: LessonArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RelatedArguments {
    #[command(flatten)]
    pub(crate) named: NamedArguments,
    /// Links to walk
    #[arg(long, default_value_t = 2)]
    pub(crate) depth: usize,
    /// Which links to take: those that lead out, in, or both
    #[arg(long, value_enum, default_value = "both")]
    pub(crate) direction: Direction,
    /// Only links of this relation (may be repeated)
    #[arg(long)]
    pub(crate) relation: Vec<String>,
}

/// Which links of a record are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Direction {
    Out,
    In,
    Both,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GraphCommand {
    /// How two records are connected, link by link
    Path(PathArguments),
    /// What stands around a record, with the links among that
    Around(AroundArguments),
    /// Groups of records that belong together by their links
    Clusters(ClustersArguments),
    /// The records that hold two domains together, or all of memory
    Bridges(BridgesArguments),
}

#[derive(Debug, Args)]
pub(crate) struct PathArguments {
    /// A record
    pub(crate) from: String,
    /// Another one
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
}

#[derive(Debug, Args)]
pub(crate) struct AroundArguments {
    #[command(flatten)]
    pub(crate) named: NamedArguments,
    /// Links to walk
    #[arg(long, default_value_t = 2)]
    pub(crate) depth: usize,
}

#[derive(Debug, Args)]
pub(crate) struct ClustersArguments {
    /// Most clusters
    #[arg(long, default_value_t = 20)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
}

#[derive(Debug, Args)]
pub(crate) struct BridgesArguments {
    /// The tags of two domains; without them all of memory is looked at
    #[arg(num_args = 2, value_names = ["TAG", "TAG"])]
    pub(crate) tags: Vec<String>,
    /// Most bridges
    #[arg(long, default_value_t = 10)]
    pub(crate) limit: usize,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
}

#[derive(Debug, Args)]
pub(crate) struct SourcesArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// List those alone that nobody said the meaning of, with what may be meant
    #[arg(long)]
    pub(crate) review: bool,
    /// Let every record that rests on the first rest on the second; the first means that then
    #[arg(long, num_args = 2, value_names = ["FROM", "INTO"], conflicts_with = "review")]
    pub(crate) merge: Option<Vec<String>>,
    /// Say what a kind of evidence means
    #[arg(long, value_name = "NAME", conflicts_with_all = ["review", "merge"])]
    pub(crate) add: Option<String>,
    /// Its meaning
    #[arg(long, requires = "add", default_value = "")]
    pub(crate) description: String,
    /// How sure one typically is by it
    #[arg(long, requires = "add", value_name = "LEVEL")]
    pub(crate) typical_confidence: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LinkArguments {
    /// The record that the link leads from
    pub(crate) from: String,
    /// The record that it leads to
    pub(crate) to: String,
    /// For example derived_from or contradicts
    #[arg(long, default_value = "related_to")]
    pub(crate) relation: String,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
}
