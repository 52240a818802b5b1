//! The kinds of worker and their tasks.

use std::collections::BTreeMap;

use crate::prelude::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Capability {
    Terminal,
    Researcher,
    Writer,
}

impl Capability {
    pub(crate) const ALL: [Self; 3] = [Self::Terminal, Self::Researcher, Self::Writer];

    /// Returns the name in the event contract.
    pub fn name(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Researcher => "researcher",
            Self::Writer => "writer",
        }
    }

    /// Returns the heading of memories in the worker's prompt.
    pub fn memory_heading(self) -> &'static str {
        match self {
            Self::Terminal | Self::Researcher => "Relevant history:",
            Self::Writer => "Related prior work:",
        }
    }
}

/// A task in the form of a model's plan, where the field `worker` names the worker.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "worker")]
pub enum Task {
    /// A shell command in a folder of the workspace, after writing these files there.
    #[serde(rename = "terminal")]
    Run {
        /// Path of the folder, relative to the workspace.
        #[serde(default)]
        folder: String,
        /// Texts of the files, by their paths relative to the folder.
        #[serde(default)]
        files: BTreeMap<String, String>,
        /// Command for `/bin/sh -c`.
        command: String,
        /// Alternative commands. One that worked before, according to memory, comes first; if one
        /// fails, the next is tried.
        #[serde(default)]
        instead: Vec<String>,
    },
    /// A search for words in the workspace's files.
    #[serde(rename = "researcher")]
    Search {
        /// Lines with any of them match; more words rank higher.
        words: Vec<String>,
    },
    /// The next version of a document.
    #[serde(rename = "writer")]
    Write {
        /// Path of the document, relative to the workspace.
        path: String,
        text: String,
        /// A one-sentence summary of this version.
        #[serde(default)]
        summary: String,
    },
}

impl Task {
    pub fn capability(&self) -> Capability {
        match self {
            Self::Run { .. } => Capability::Terminal,
            Self::Search { .. } => Capability::Researcher,
            Self::Write { .. } => Capability::Writer,
        }
    }
}
