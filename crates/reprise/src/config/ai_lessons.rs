//! The settings of ai-lessons, whose tags mean the same here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::Config;

/// Configuration files of ai-lessons: the one of its program, then the one of its document.
const CONFIGURATIONS: [&str; 2] = [".ai/lessons/config.yaml", ".ai/config.yaml"];
const BYTES_MAX: u64 = 1 << 20;

/// Settings of ai-lessons; the rest of its file is ignored.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct AiLessons {
    /// From a spelling to the tag that is kept.
    pub(crate) tag_aliases: BTreeMap<String, String>,
    pub(crate) known_tags: Vec<String>,
    pub(crate) db_path: Option<PathBuf>,
    /// File with these settings.
    #[serde(skip)]
    pub(crate) file: Option<PathBuf>,
    /// Why the file cannot be read; that stops nothing, because it is another program's file.
    #[serde(skip)]
    pub(crate) fault: Option<String>,
}

impl AiLessons {
    /// Reads the settings below a home directory; empty if neither file exists.
    pub(crate) fn read(home: &Path) -> Self {
        for name in CONFIGURATIONS {
            let file = home.join(name);
            let text = match reprise_files::read_if_exists(&file, BYTES_MAX) {
                Ok(None) => continue,
                Ok(Some(bytes)) => String::from_utf8(bytes).map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            let read = text.and_then(|text| {
                let read = serde_saphyr::from_str::<Option<Self>>(&text);
                read.map_err(|error| error.to_string())
            });
            let (read, fault) = match read {
                Ok(read) => (read.unwrap_or_default(), None),
                Err(why) => (Self::default(), Some(why)),
            };
            let db_path = read.db_path.as_deref().map(|path| expand_home(path, home));
            return Self {
                db_path,
                file: Some(file),
                fault,
                ..read
            };
        }
        Self::default()
    }
}

impl Config {
    /// Returns this configuration with the settings of ai-lessons.
    pub(crate) fn with_ai_lessons(mut self, ai_lessons: AiLessons) -> Self {
        self.ai_lessons = ai_lessons;
        self
    }
}

fn expand_home(path: &Path, home: &Path) -> PathBuf {
    path.strip_prefix("~")
        .map_or_else(|_| path.to_owned(), |inside| home.join(inside))
}
