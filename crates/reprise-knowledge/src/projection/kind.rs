//! The kinds of projections: which records stand in one, and in which files.

use crate::export::{Outgoing, Telling, ai_lessons, lines, notes};
use crate::lesson::Lesson;
use crate::observation::is_frame;
use crate::prelude::*;
use crate::reference::{Definition, TagRelation};
use crate::sunwell::{Learning, SunwellMemory, is_replaced};

/// Where Sunwell looks in a project.
pub(super) const SUNWELL: &str = ".sunwell/memory";

/// Where a goal's file is, below that.
const ARTIFACTS: &str = "artifacts";

words! {
    /// What other programs read.
    ProjectionKind, "projection", {
    /// `.sunwell/memory` in a folder: learnings, decisions, failures.
    Sunwell = "sunwell";
    /// A `knowledge.db` of ai-lessons: lessons, kinds of evidence and how tags are related.
    AiLessons = "ai-lessons";
    /// ralph's frames: observations.
    Frames = "frames";
    /// A folder with a note for each record.
    Markdown = "markdown";
}}

impl ProjectionKind {
    /// What it is called where nobody names a place.
    pub fn place(self) -> &'static str {
        match self {
            Self::Sunwell => "sunwell",
            Self::AiLessons => "knowledge.db",
            Self::Frames => "frames.jsonl",
            Self::Markdown => "notes",
        }
    }

    /// Whether a record stands in it. What is sensitive stands in none.
    pub fn holds(self, record: &MemoryRecord) -> bool {
        record.may_leave(WayOut::Export).is_ok()
            && match self {
                Self::Sunwell => Learning::of(record).is_some() && !is_replaced(record),
                Self::AiLessons => {
                    Lesson::of(record).is_some()
                        || Definition::of(record).is_some()
                        || TagRelation::of(record).is_some()
                }
                Self::Frames => is_frame(record),
                Self::Markdown => true,
            }
    }

    /// Its files by their names below its place, each with what stands in it.
    pub(super) fn files(
        self,
        all: Outgoing<'_>,
    ) -> Result<BTreeMap<PathBuf, Vec<u8>>, ExportError> {
        let told = all.records;
        let own: Vec<&Telling> = told.iter().filter(|one| self.holds(&one.record)).collect();
        let alone = |content: Vec<u8>| BTreeMap::from([(PathBuf::new(), content)]);
        Ok(match self {
            Self::Sunwell => {
                let mut files = BTreeMap::new();
                for (name, content) in lines::sunwell_files(&own, false)? {
                    files.insert(PathBuf::from(name), content);
                }
                let told = told.iter().map(|one| &one.record);
                let may_leave = told.filter(|record| record.may_leave(WayOut::Export).is_ok());
                let memory = SunwellMemory::of(may_leave);
                let index = serde_json::to_vec_pretty(&memory.index());
                let index = index.map_err(std::io::Error::from)?;
                files.insert(PathBuf::from("index.json"), index);
                for (name, goal) in memory.artifacts() {
                    let goal = serde_json::to_vec_pretty(&goal).map_err(std::io::Error::from)?;
                    files.insert(Path::new(ARTIFACTS).join(name), goal);
                }
                files
            }
            Self::AiLessons => alone(ai_lessons::database(&own, all.aliases, false)?),
            Self::Frames => alone(lines::frames_file(&own, false)?),
            Self::Markdown => notes::files(own.into_iter())?,
        })
    }

    /// The files that it always has.
    pub(super) fn fixed(self) -> &'static [&'static str] {
        match self {
            Self::Sunwell => &[
                "learnings.jsonl",
                "decisions.jsonl",
                "failures.jsonl",
                "index.json",
            ],
            Self::AiLessons | Self::Frames => &[""],
            Self::Markdown => &[notes::INDEX],
        }
    }

    /// The folders that its files stand in, below its own.
    pub(super) fn folders(self) -> &'static [&'static str] {
        match self {
            Self::Sunwell => &["", ARTIFACTS],
            Self::Markdown => &[""],
            Self::AiLessons | Self::Frames => &[],
        }
    }

    /// Where its files stand.
    pub fn root(self, place: &Path) -> PathBuf {
        match self {
            Self::Sunwell => place.join(SUNWELL),
            _ => place.to_owned(),
        }
    }
}
