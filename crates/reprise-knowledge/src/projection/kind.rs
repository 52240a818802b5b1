//! The kinds of projections: which records each includes, and in which files.

use crate::export::{ExportInput, OutgoingRecord, ai_lessons, lines, notes};
use crate::lesson::LessonDetails;
use crate::observation::is_observation;
use crate::prelude::*;
use crate::reference::{EvidenceDefinition, TagRelation};
use crate::sunwell::{SunwellLearning, SunwellMemory, is_replaced};

/// Folder of Sunwell in a project.
pub(super) const SUNWELL: &str = ".sunwell/memory";

/// Folder of the goals' files, below [`SUNWELL`].
const ARTIFACTS: &str = "artifacts";

words! {
    /// A format that other programs read.
    ProjectionKind, "projection", {
    /// `.sunwell/memory` in a folder: learnings, decisions, failures.
    Sunwell = "sunwell";
    /// A `knowledge.db` of ai-lessons: lessons, kinds of evidence and how tags are related.
    AiLessons = "ai-lessons";
    /// Frames of ralph: observations.
    Frames = "frames";
    /// A folder with a note for each record.
    Markdown = "markdown";
}}

impl ProjectionKind {
    /// Returns its file or folder name if the user names none.
    pub fn default_name(self) -> &'static str {
        match self {
            Self::Sunwell => "sunwell",
            Self::AiLessons => "knowledge.db",
            Self::Frames => "frames.jsonl",
            Self::Markdown => "notes",
        }
    }

    /// Whether it includes a record. Sensitive records are in no projection.
    pub fn includes(self, record: &MemoryRecord) -> bool {
        record.check_release(ReleaseTarget::Export).is_ok()
            && match self {
                Self::Sunwell => SunwellLearning::of(record).is_some() && !is_replaced(record),
                Self::AiLessons => {
                    LessonDetails::of(record).is_some()
                        || EvidenceDefinition::of(record).is_some()
                        || TagRelation::of(record).is_some()
                }
                Self::Frames => is_observation(record),
                Self::Markdown => true,
            }
    }

    /// Renders its files: the content of each by its path below the projection's folder.
    pub(super) fn render_files(
        self,
        all: ExportInput<'_>,
    ) -> Result<BTreeMap<PathBuf, Vec<u8>>, ExportError> {
        let records = all.records;
        let own: Vec<&OutgoingRecord> = records
            .iter()
            .filter(|one| self.includes(&one.record))
            .collect();
        let alone = |content: Vec<u8>| BTreeMap::from([(PathBuf::new(), content)]);
        Ok(match self {
            Self::Sunwell => {
                let mut files = BTreeMap::new();
                for (name, content) in lines::encode_sunwell_files(&own, false)? {
                    files.insert(PathBuf::from(name), content);
                }
                let records = records.iter().map(|one| &one.record);
                let may_leave =
                    records.filter(|record| record.check_release(ReleaseTarget::Export).is_ok());
                let memory = SunwellMemory::of(may_leave);
                let index = serde_json::to_vec_pretty(&memory.render_index());
                let index = index.map_err(std::io::Error::from)?;
                files.insert(PathBuf::from("index.json"), index);
                for (name, goal) in memory.render_artifacts() {
                    let goal = serde_json::to_vec_pretty(&goal).map_err(std::io::Error::from)?;
                    files.insert(Path::new(ARTIFACTS).join(name), goal);
                }
                files
            }
            Self::AiLessons => alone(ai_lessons::build_database(&own, all.aliases, false)?),
            Self::Frames => alone(lines::encode_frames(&own, false)?),
            Self::Markdown => notes::render_notes(own.into_iter())?,
        })
    }

    /// Returns the files that it always has.
    pub(super) fn fixed_files(self) -> &'static [&'static str] {
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

    /// Returns the folders of its files, below its own.
    pub(super) fn folders(self) -> &'static [&'static str] {
        match self {
            Self::Sunwell => &["", ARTIFACTS],
            Self::Markdown => &[""],
            Self::AiLessons | Self::Frames => &[],
        }
    }

    /// Returns the folder of its files.
    pub fn files_folder(self, place: &Path) -> PathBuf {
        match self {
            Self::Sunwell => place.join(SUNWELL),
            _ => place.to_owned(),
        }
    }
}
