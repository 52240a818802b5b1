//! The closed vocabularies of a record: its type for people, kind, source, confidence, evidence,
//! visibility, retention.
//!
//! Each name is the wire form and the display form; an unknown name is an error that lists the
//! known ones. The file format stores the numbers, which therefore never change.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_with::SerializeDisplay;

/// A name outside a closed vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{got}` is not a known {what}; use one of {known}")]
pub struct UnknownName {
    what: &'static str,
    got: String,
    known: String,
}

macro_rules! vocabulary {
    ($(#[$doc:meta])* $name:ident, $what:literal, {
        $($(#[$vdoc:meta])* $variant:ident = $number:literal, $text:literal;)*
    }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, SerializeDisplay)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// Every value, in the order of the stored numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The wire name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The number that the file format stores.
            pub fn number(self) -> u8 {
                match self { $(Self::$variant => $number,)* }
            }

            /// Returns the value of a stored number; `None` for a number of a newer format.
            pub fn from_number(number: u8) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)* _ => None }
            }
        }

        impl crate::BinaryCodec for $name {
            fn encode(&self, out: &mut crate::ByteWriter) {
                self.number().encode(out);
            }

            fn decode(r: &mut crate::ByteReader<'_>) -> Option<Self> {
                Self::from_number(r.read_u8()?)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Words;

                impl Visitor<'_> for Words {
                    type Value = $name;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        let words: Vec<&str> = $name::ALL.iter().map(|one| one.name()).collect();
                        write!(f, "one of {}", words.join(", "))
                    }

                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }

                deserializer.deserialize_str(Words)
            }
        }

        impl FromStr for $name {
            type Err = UnknownName;

            /// Parses the wire name or the seed documents' `PascalCase`, in any letter case.
            fn from_str(text: &str) -> Result<Self, UnknownName> {
                let folded: String = text
                    .chars()
                    .filter(|c| *c != '_' && *c != '-')
                    .flat_map(char::to_lowercase)
                    .collect();
                Self::ALL
                    .iter()
                    .copied()
                    .find(|value| value.name().replace(['_', '-'], "") == folded)
                    .ok_or_else(|| UnknownName {
                        what: $what,
                        got: text.chars().take(64).collect(),
                        known: Self::ALL.iter().map(|v| v.name()).collect::<Vec<_>>().join(", "),
                    })
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": [$($text),*] })
            }
        }
    };
}

vocabulary! {
    /// The type of a record as a person would call it: one word on every interface, which kind and
    /// source imply.
    RecordType, "type", {
        /// Something that somebody wrote down or found out.
        Note = 1, "note";
        /// What a person said to an agent.
        Prompt = 2, "prompt";
        /// What an agent said.
        Answer = 3, "answer";
        /// A commit in a repository.
        Commit = 4, "commit";
        /// A run of tests and its result.
        Test = 5, "test";
        /// A command and what it printed.
        Command = 6, "command";
        /// A task as a whole: its plan or its outcome.
        Run = 7, "run";
        /// What was decided.
        Decision = 8, "decision";
        /// What was learned.
        Lesson = 9, "lesson";
        /// A file that was written or changed.
        Document = 10, "document";
    }
}

vocabulary! {
    /// The kind of a record.
    MemoryKind, "memory kind", {
        /// A thing that happened.
        Episode = 1, "episode";
        /// A plan that was executed.
        Strategy = 2, "strategy";
        /// A fact that was discovered.
        Finding = 3, "finding";
        /// A recurring observation.
        Pattern = 4, "pattern";
    }
}

impl MemoryKind {
    /// Returns the kind that a word of another vocabulary means: a kind's own name, the type of an
    /// observation or the category of a learning; any other word is an episode.
    pub fn from_foreign_word(word: &str) -> Self {
        match word.to_lowercase().as_str() {
            "fix" | "type" | "api" | "learning" | "lesson" => Self::Finding,
            "preference" | "summary" => Self::Pattern,
            "decision" => Self::Strategy,
            // failure, task_completion, error, success, context, and any unforeseen word
            other => other.parse().unwrap_or(Self::Episode),
        }
    }
}

vocabulary! {
    /// The source that a record came from.
    MemorySource, "memory source", {
        /// Direct user messages.
        UserInput = 1, "user_input";
        /// The conductor's assignment strategy.
        ConductorPlan = 2, "conductor_plan";
        /// Terminal and researcher output.
        WorkerResult = 3, "worker_result";
        /// Living document mutations.
        WriterRevision = 4, "writer_revision";
        /// What a finished run taught.
        TrajectoryOutcome = 5, "trajectory_outcome";
    }
}

vocabulary! {
    /// How sure the author was, in five words, each of which covers a fifth of 0..1.
    ConfidenceLevel, "confidence level", {
        /// Centre 0.1.
        VeryLow = 1, "very-low";
        /// Centre 0.3.
        Low = 2, "low";
        /// Centre 0.5.
        Medium = 3, "medium";
        /// Centre 0.7.
        High = 4, "high";
        /// Centre 0.9.
        VeryHigh = 5, "very-high";
    }
}

impl ConfidenceLevel {
    /// Returns the confidence that is stored for this word.
    pub fn centre(self) -> f32 {
        f32::from(self.number()) * 0.2 - 0.1
    }

    /// Returns the word for a confidence of 0..1; values outside are clamped.
    pub fn from_confidence(confidence: f32) -> Self {
        match confidence {
            c if c < 0.2 => Self::VeryLow,
            c if c < 0.4 => Self::Low,
            c if c < 0.6 => Self::Medium,
            c if c < 0.8 => Self::High,
            _ => Self::VeryHigh,
        }
    }
}

vocabulary! {
    /// The evidence that a statement rests on.
    Evidence, "evidence kind", {
        /// Written down by an authority.
        Documented = 1, "documented";
        /// Tried out on purpose.
        Tested = 2, "tested";
        /// Seen to happen.
        Observed = 3, "observed";
        /// Concluded from other facts.
        Inferred = 4, "inferred";
        /// Reported by somebody.
        Hearsay = 5, "hearsay";
    }
}

vocabulary! {
    /// Who may see a record. Only an explicit act raises it.
    Visibility, "visibility", {
        /// This user alone; the default.
        Private = 1, "private";
        /// Projected into the user's workspace.
        Workspace = 2, "workspace";
        /// Visible in the shared lesson store.
        Shared = 3, "shared";
        /// Visible in the global store.
        Published = 4, "published";
    }
}

vocabulary! {
    /// How it is known that a run used a record.
    Credit, "credit", {
        /// The host named it.
        Explicit = 1, "explicit";
        /// Its text or id occurred in the run's output: weaker evidence.
        Implicit = 2, "implicit";
    }
}

vocabulary! {
    /// The reason for which a run failed.
    FailKind, "failure kind", {
        /// The work itself failed.
        Task = 1, "task";
        /// Authentication or authorisation.
        Auth = 2, "auth";
        /// Too many requests.
        RateLimit = 3, "rate_limit";
        /// A network failure.
        Network = 4, "network";
        /// A failure of a model's or service's provider.
        Provider = 5, "provider";
    }
}

impl FailKind {
    /// Whether the cause lies outside the run, so that it says little about the records used.
    pub fn is_exogenous(self) -> bool {
        self != Self::Task
    }
}

vocabulary! {
    /// A revision of a run's quality after its end. Of several, the strongest counts: approved or
    /// scored (the later one), then retried, then related run succeeded.
    Revision, "revision", {
        /// A person approved the result.
        Approved = 1, "approved";
        /// A person repeated the request in other words.
        Retried = 2, "retried";
        /// A related run succeeded later.
        RelatedSucceeded = 3, "related_succeeded";
        /// A person or a test gave a quality.
        Scored = 4, "scored";
        /// Its outcome was withdrawn: nothing is learned from it.
        Withdrawn = 5, "withdrawn";
    }
}

/// How long a record is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Retention {
    /// Kept for some seconds, as session buffers and metrics are, and then purged.
    Scratch {
        /// Seconds from `known_at` until the record may be purged.
        ttl_seconds: u32,
    },
    /// Kept until forgotten.
    #[default]
    Normal,
    /// Kept until forgotten, and exempt from every automatic clean-up.
    Pinned,
}

crate::impl_tagged_codec! {
    Retention {
        1 => Normal,
        2 => Pinned,
        3 => Scratch { ttl_seconds },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_and_number_comes_back() {
        for kind in MemoryKind::ALL {
            assert_eq!(kind.name().parse(), Ok(*kind));
            assert_eq!(MemoryKind::from_number(kind.number()), Some(*kind));
        }
        for source in MemorySource::ALL {
            assert_eq!(source.name().parse(), Ok(*source));
            assert_eq!(MemorySource::from_number(source.number()), Some(*source));
        }
        assert_eq!(MemoryKind::from_number(0), None);
    }

    #[test]
    fn there_are_five_sources_and_four_kinds_and_their_numbers_stay() {
        let names = MemorySource::ALL
            .iter()
            .map(|one| (one.number(), one.name()));
        assert!(names.eq([
            (1, "user_input"),
            (2, "conductor_plan"),
            (3, "worker_result"),
            (4, "writer_revision"),
            (5, "trajectory_outcome"),
        ]));
        let names = MemoryKind::ALL.iter().map(|one| (one.number(), one.name()));
        assert!(names.eq([
            (1, "episode"),
            (2, "strategy"),
            (3, "finding"),
            (4, "pattern"),
        ]));
    }

    #[test]
    fn accepts_the_seed_spelling() {
        assert_eq!("UserInput".parse(), Ok(MemorySource::UserInput));
        for spelling in ["very-high", "very_high", "VeryHigh"] {
            assert_eq!(spelling.parse(), Ok(ConfidenceLevel::VeryHigh));
        }
        assert_eq!(
            ConfidenceLevel::VeryLow.name(),
            "very-low",
            "as the document has it"
        );
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = "gossip".parse::<MemoryKind>().unwrap_err().to_string();
        assert_eq!(
            error,
            "`gossip` is not a known memory kind; use one of episode, strategy, finding, pattern"
        );
    }

    #[test]
    fn a_confidence_word_survives_the_way_through_its_number() {
        for level in ConfidenceLevel::ALL {
            assert_eq!(ConfidenceLevel::from_confidence(level.centre()), *level);
        }
    }
}
