//! Files that other programs read, kept equal to memory: each is whole at every moment, and none is
//! read back as truth.

mod place;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use reprise_types::{MemoryRecord, WayOut};

use crate::error::ExportError;
use crate::export::{Outgoing, Telling, ai_lessons, lines, notes};
use crate::lesson::Lesson;
use crate::observation::is_frame;
use crate::reference::Definition;
use crate::sunwell::{Learning, SunwellMemory, artifacts};

use place::Place;

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
                    files.insert(Path::new("artifacts").join(name), goal);
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

    /// Where its files stand.
    #[must_use]
    pub fn root(self, place: &Path) -> PathBuf {
        match self {
            Self::Sunwell => place.join(".sunwell/memory"),
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
/// stands for any more. Where another program's files stand it writes only if it may `adopt` them.
pub fn rebuild(
    kind: ProjectionKind,
    place: &Path,
    all: Outgoing<'_>,
    adopt: bool,
) -> Result<Rebuilt, ExportError> {
    let files = kind.files(all)?;
    let root = kind.root(place);
    let place = Place::at(&root);
    let known = place.own()?;
    if known.is_none() && !adopt {
        place.refuse_others(files.keys())?;
    }
    // Named before they are written: a rebuild that is stopped leaves nothing that it does not own.
    let known = known.unwrap_or_default();
    let all = files.keys().chain(&known).cloned().collect();
    place.note(kind.name(), &all)?;
    let mut done = Rebuilt::default();
    for (name, content) in &files {
        if place.put(name, content)? {
            done.written += 1;
        } else {
            done.unchanged += 1;
        }
    }
    for name in known.iter().filter(|name| !files.contains_key(*name)) {
        done.removed += usize::from(place.remove(name)?);
    }
    place.note(kind.name(), &files.keys().cloned().collect())?;
    Ok(done)
}

/// How a projection differs from memory, a sentence each; nothing where it is equal.
pub fn compare(
    kind: ProjectionKind,
    place: &Path,
    all: Outgoing<'_>,
) -> Result<Vec<String>, ExportError> {
    let files = kind.files(all)?;
    let root = kind.root(place);
    let place = Place::at(&root);
    let mut differing = Vec::new();
    for (name, content) in &files {
        let path = place.path(name);
        match fs_err::read(&path) {
            Ok(there) if there == *content => {}
            Ok(there)
                if kind == ProjectionKind::AiLessons && ai_lessons::alike(&there, content) => {}
            Ok(_) => differing.push(format!(
                "`{}` says something else than memory",
                path.display()
            )),
            Err(_) => differing.push(format!("`{}` is missing", path.display())),
        }
    }
    for name in place.own()?.unwrap_or_default() {
        let path = place.path(&name);
        if !files.contains_key(&name) && path.exists() {
            differing.push(format!("`{}` stands for nothing in memory", path.display()));
        }
    }
    Ok(differing)
}

#[cfg(test)]
mod tests;
