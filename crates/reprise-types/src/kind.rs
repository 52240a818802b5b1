//! The closed vocabularies of a record: its type for people, kind, source, confidence, evidence,
//! visibility, retention.
//!
//! Each name is the wire form and the display form at once; an unknown name is an error that lists
//! the known ones. The file format stores the numbers, which therefore never change.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::{DeserializeFromStr, SerializeDisplay};

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
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, SerializeDisplay,
            DeserializeFromStr,
        )]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// Every value, in the order of the stored numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The wire name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The number the file format stores.
            pub fn number(self) -> u8 {
                match self { $(Self::$variant => $number,)* }
            }

            /// The inverse of [`Self::number`]; `None` for a number of a newer format.
            pub fn from_number(number: u8) -> Option<Self> {
                match number { $($number => Some(Self::$variant),)* _ => None }
            }
        }

        impl crate::Wire for $name {
            fn put(&self, out: &mut crate::ByteWriter) {
                self.number().put(out);
            }

            fn take(r: &mut crate::ByteReader<'_>) -> Option<Self> {
                Self::from_number(r.u8()?)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $name {
            type Err = UnknownName;

            /// Accepts the wire name and the seed documents' `PascalCase`, in any letter case.
            fn from_str(text: &str) -> Result<Self, UnknownName> {
                let folded: String = text
                    .chars()
                    .filter(|c| *c != '_' && *c != '-')
                    .flat_map(char::to_lowercase)
                    .collect();
                Self::ALL
                    .iter()
                    .copied()
                    .find(|value| value.name().replace('_', "") == folded)
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
    /// What a record is to a person: one word on every interface, which kind and source imply.
    RecordType, "type", {
        /// Something that somebody wrote down, or that was found out.
        Note = 1, "note";
        /// What a person said to an agent.
        Prompt = 2, "prompt";
        /// What an agent said.
        Answer = 3, "answer";
        /// A change as a repository has it.
        Commit = 4, "commit";
        /// A run of tests, and how it ended.
        Test = 5, "test";
        /// A command, and what it printed.
        Command = 6, "command";
        /// A task as a whole: its plan, or how it went.
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
    /// What a record is (M29).
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
    /// What a word of another vocabulary is here (C6): its own name, an observation's type or a
    /// learning's category; any other word is something that happened.
    pub fn meant_by(word: &str) -> Self {
        match word.to_lowercase().as_str() {
            "fix" | "type" | "api" | "learning" | "lesson" => Self::Finding,
            "preference" | "summary" => Self::Pattern,
            "decision" => Self::Strategy,
            // failure, task_completion, error, success, context, and what nobody has thought of
            other => other.parse().unwrap_or(Self::Episode),
        }
    }
}

vocabulary! {
    /// Who a record came from (M28).
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
    /// How sure the author was, in five words; each stands for a fifth of 0..1 (C7).
    ConfidenceLevel, "confidence level", {
        /// Centre 0.1.
        VeryLow = 1, "very_low";
        /// Centre 0.3.
        Low = 2, "low";
        /// Centre 0.5.
        Medium = 3, "medium";
        /// Centre 0.7.
        High = 4, "high";
        /// Centre 0.9.
        VeryHigh = 5, "very_high";
    }
}

impl ConfidenceLevel {
    /// The confidence that writing this word stores.
    pub fn centre(self) -> f32 {
        f32::from(self.number()) * 0.2 - 0.1
    }

    /// The word for a confidence of 0..1; values outside are clamped.
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
    /// What a statement rests on (A17).
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
    /// How far a record may travel (C3). Only an explicit act raises it.
    Visibility, "visibility", {
        /// This user alone; the default.
        Private = 1, "private";
        /// Projected into the user's workspace.
        Workspace = 2, "workspace";
        /// The shared lesson store.
        Shared = 3, "shared";
        /// The global store.
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
    /// Why a run failed (C34).
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
    /// A revision of a run's quality after its end (C35). Of several, the strongest holds: approved
    /// or scored (the later one), then retried, then related run succeeded.
    Revision, "revision", {
        /// A person approved the result.
        Approved = 1, "approved";
        /// The same request was repeated in other words.
        Retried = 2, "retried";
        /// A related run succeeded later.
        RelatedSucceeded = 3, "related_succeeded";
        /// A person or a test gave a quality.
        Scored = 4, "scored";
        /// Its outcome was taken back: nothing is learned from it.
        Withdrawn = 5, "withdrawn";
    }
}

/// How long a record stays (C2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Retention {
    /// Session buffers and metrics: purged after so many seconds.
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
        let told = MemorySource::ALL
            .iter()
            .map(|one| (one.number(), one.name()));
        assert!(told.eq([
            (1, "user_input"),
            (2, "conductor_plan"),
            (3, "worker_result"),
            (4, "writer_revision"),
            (5, "trajectory_outcome"),
        ]));
        let told = MemoryKind::ALL.iter().map(|one| (one.number(), one.name()));
        assert!(told.eq([
            (1, "episode"),
            (2, "strategy"),
            (3, "finding"),
            (4, "pattern"),
        ]));
    }

    #[test]
    fn accepts_the_seed_spelling() {
        assert_eq!("UserInput".parse(), Ok(MemorySource::UserInput));
        assert_eq!("very-high".parse(), Ok(ConfidenceLevel::VeryHigh));
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
