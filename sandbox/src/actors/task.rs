//! The kinds of worker and their tasks.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    Terminal,
    Researcher,
    Writer,
}

impl Capability {
    /// The name in the event contract.
    pub fn name(self) -> &'static str {
        match self {
            Self::Terminal => "terminal",
            Self::Researcher => "researcher",
            Self::Writer => "writer",
        }
    }

    /// The heading of memories in its prompt.
    pub fn memory_heading(self) -> &'static str {
        match self {
            Self::Terminal | Self::Researcher => "Relevant history:",
            Self::Writer => "Related prior work:",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// A shell command in a folder of the workspace, after writing these files there.
    Run {
        /// Relative to the workspace.
        folder: String,
        /// Paths relative to the folder, with texts.
        files: Vec<(String, String)>,
        /// For `/bin/sh -c`.
        command: String,
        /// Other commands that would do. What memory says has worked comes first; the next is tried
        /// where one fails.
        instead: Vec<String>,
    },
    /// A search for words in the workspace's files.
    Search {
        /// Lines with any of them match; more words rank higher.
        words: Vec<String>,
    },
    /// The next version of a document.
    Write {
        /// Relative to the workspace.
        path: String,
        /// The whole text.
        text: String,
        /// A one-sentence summary of this version.
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
