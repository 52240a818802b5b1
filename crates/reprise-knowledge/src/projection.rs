//! Files that other programs read, kept equal to memory: each is whole at every moment, and none is
//! read back as truth. They stand among files of others: nothing that is found there says what may
//! be replaced or removed.

mod place;
mod register;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use reprise_files::Placed;
use reprise_types::{MemoryRecord, WayOut};

use crate::error::ExportError;
use crate::export::{Outgoing, Telling, ai_lessons, lines, notes};
use crate::lesson::Lesson;
use crate::observation::is_frame;
use crate::reference::Definition;
use crate::sunwell::{Learning, SunwellMemory, artifacts};

use place::{Place, State};
use register::{Register, Written};

/// Where Sunwell looks in a project.
const SUNWELL: &str = ".sunwell/memory";

/// Where a goal's file is, below that.
const ARTIFACTS: &str = "artifacts";

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $place:literal;)*) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ProjectionKind { $($(#[$doc])* $variant,)* }

        impl ProjectionKind {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it is called where nobody names a place.
            #[must_use]
            pub fn place(self) -> &'static str {
                match self { $(Self::$variant => $place,)* }
            }
        }
    };
}

kinds! {
    /// `.sunwell/memory` in a folder: learnings, decisions, failures.
    Sunwell = "sunwell", "sunwell";
    /// A `knowledge.db` of ai-lessons: lessons and kinds of evidence.
    AiLessons = "ai-lessons", "knowledge.db";
    /// ralph's frames: observations.
    Frames = "frames", "frames.jsonl";
    /// A folder with a note for each record.
    Markdown = "markdown", "notes";
}

impl fmt::Display for ProjectionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ProjectionKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let kind = Self::ALL.iter().find(|kind| kind.name() == text).copied();
        kind.ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|kind| kind.name()).collect();
            format!("`{text}` is no projection; use one of {}", names.join(", "))
        })
    }
}

impl ProjectionKind {
    /// Whether a record stands in it. What is sensitive stands in none.
    #[must_use]
    pub fn holds(self, record: &MemoryRecord) -> bool {
        record.may_leave(WayOut::Export).is_ok()
            && match self {
                Self::Sunwell => Learning::of(record).is_some(),
                Self::AiLessons => Lesson::of(record).is_some() || Definition::of(record).is_some(),
                Self::Frames => is_frame(record),
                Self::Markdown => true,
            }
    }

    /// Its files by their names below its place, each with what stands in it.
    fn files(self, all: Outgoing<'_>) -> Result<BTreeMap<PathBuf, Vec<u8>>, ExportError> {
        let told = all.records;
        let own: Vec<&Telling> = told.iter().filter(|one| self.holds(&one.record)).collect();
        let mut files = BTreeMap::new();
        match self {
            Self::Sunwell => {
                for (name, content) in lines::sunwell_files(&own, false)? {
                    files.insert(PathBuf::from(name), content);
                }
                let memory = SunwellMemory::of(own.iter().map(|one| &one.record));
                let index = serde_json::to_vec_pretty(&memory.index());
                let index = index.map_err(std::io::Error::from)?;
                files.insert(PathBuf::from("index.json"), index);
                let told = told.iter().map(|one| &one.record);
                let may_leave = told.filter(|record| record.may_leave(WayOut::Export).is_ok());
                for (name, goal) in artifacts(may_leave) {
                    let goal = serde_json::to_vec_pretty(&goal).map_err(std::io::Error::from)?;
                    files.insert(Path::new(ARTIFACTS).join(name), goal);
                }
            }
            Self::AiLessons => {
                files.insert(
                    PathBuf::new(),
                    ai_lessons::database(&own, all.aliases, false)?,
                );
            }
            Self::Frames => {
                files.insert(PathBuf::new(), lines::frames_file(&own, false)?);
            }
            Self::Markdown => {
                for one in own {
                    let (name, content) = notes::note(one)?;
                    files.insert(PathBuf::from(name), content.into_bytes());
                }
            }
        }
        Ok(files)
    }

    /// The files that it always has.
    fn fixed(self) -> &'static [&'static str] {
        match self {
            Self::Sunwell => &[
                "learnings.jsonl",
                "decisions.jsonl",
                "failures.jsonl",
                "index.json",
            ],
            Self::AiLessons | Self::Frames => &[""],
            Self::Markdown => &[],
        }
    }

    /// The folders that its files stand in, below its own.
    fn folders(self) -> &'static [&'static str] {
        match self {
            Self::Sunwell => &["", ARTIFACTS],
            Self::Markdown => &[""],
            Self::AiLessons | Self::Frames => &[],
        }
    }

    /// Where its files stand.
    #[must_use]
    pub fn root(self, place: &Path) -> PathBuf {
        match self {
            Self::Sunwell => place.join(SUNWELL),
            _ => place.to_owned(),
        }
    }
}

/// What a rebuild did to the files of a projection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rebuilt {
    pub written: usize,
    /// They said the same already.
    pub unchanged: usize,
    pub removed: usize,
}

/// Writes what has changed, each file whole or not at all, and removes its own files that no record
/// stands for any more. `home` is the folder of the memory, where what was written is remembered:
/// only files that still hold that are replaced or removed. Where other files stand it writes only
/// if it may `adopt` them.
pub fn rebuild(
    kind: ProjectionKind,
    place: &Path,
    home: &Path,
    all: Outgoing<'_>,
    adopt: bool,
) -> Result<Rebuilt, ExportError> {
    let files = kind.files(all)?;
    let place = Place::make(kind, place, home)?;
    let mut register = Register::alone(&place, home)?;
    let known = register.read()?;
    let (mut done, mut due, mut changed) = (Rebuilt::default(), Vec::new(), Vec::new());
    for (name, content) in &files {
        match place.state(name, content, &known)? {
            State::Same => done.unchanged += 1,
            State::Free => due.push((name, None)),
            State::Own(stamp) => due.push((name, Some(stamp))),
            State::Others(stamp) if adopt => due.push((name, Some(stamp))),
            State::Others(_) if known.is_empty() => {
                let path = place.path(name);
                return Err(ExportError::Others { path });
            }
            State::Others(_) => changed.push(place.path(name)),
        }
    }
    // Remembered before they are written: one that is stopped leaves nothing that is not known.
    let mut own = Written::of(&files);
    own.join(&known);
    register.write(&own)?;
    for (name, expected) in due {
        let content = files.get(name).map(Vec::as_slice).unwrap_or_default();
        match place.put(name, content, expected)? {
            Placed::Done => done.written += 1,
            Placed::Theirs => changed.push(place.path(name)),
        }
    }
    for name in place.names()? {
        if !files.contains_key(&name) && place.remove_own(&name, &known)? {
            done.removed += 1;
        }
    }
    let mut own = Written::of(&files);
    if !changed.is_empty() {
        own.join(&known);
    }
    register.write(&own)?;
    match changed.split_first() {
        None => Ok(done),
        Some((path, rest)) => Err(ExportError::Changed {
            path: path.clone(),
            more: rest.len(),
        }),
    }
}

/// How a projection differs from memory, a sentence each; nothing where it is equal.
pub fn compare(
    kind: ProjectionKind,
    place: &Path,
    home: &Path,
    all: Outgoing<'_>,
) -> Result<Vec<String>, ExportError> {
    let files = kind.files(all)?;
    let Some(found) = Place::find(kind, place, home)? else {
        let root = kind.root(place);
        return Ok(vec![format!("`{}` is missing", root.display())]);
    };
    let known = Register::read_of(&found, home)?;
    let mut differing = Vec::new();
    for (name, content) in &files {
        let path = found.path(name);
        match found.read(name) {
            Ok(Some(there)) if there == *content => {}
            Ok(Some(there))
                if kind == ProjectionKind::AiLessons && ai_lessons::alike(&there, content) => {}
            Ok(Some(_)) => differing.push(format!(
                "`{}` says something else than memory",
                path.display()
            )),
            Ok(None) => differing.push(format!("`{}` is missing", path.display())),
            Err(error) => differing.push(error.to_string()),
        }
    }
    for name in found.names()? {
        if known.names(&name) && !files.contains_key(&name) {
            let path = found.path(&name);
            differing.push(format!("`{}` stands for nothing in memory", path.display()));
        }
    }
    Ok(differing)
}

/// What keeps a projection from being written, as far as a look at its place tells.
#[must_use]
pub fn hindrance(kind: ProjectionKind, place: &Path, home: &Path) -> Option<String> {
    let looked = Place::make(kind, place, home).and_then(|place| place.check(kind.fixed()));
    looked.err().map(|error| error.to_string())
}

#[cfg(test)]
mod tests;
