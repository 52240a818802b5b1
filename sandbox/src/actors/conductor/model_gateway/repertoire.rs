//! The planner's repertoire as data: structures, and methods to build them.

use crate::prelude::*;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repertoire {
    #[serde(rename = "structure")]
    pub(super) structures: Vec<Structure>,
    #[serde(rename = "way")]
    pub(super) ways: Vec<BuildMethod>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Structure {
    /// Name of the structure in reports.
    pub(super) name: String,
    /// Words of a request that match the structure; the one with the most matches is chosen.
    pub(super) words: Vec<String>,
    pub(super) files: Vec<FileText>,
    /// Path of the file to which tests are appended.
    pub(super) tested: String,
    /// The item under test.
    pub(super) item: String,
    /// The assertion of the test.
    pub(super) check: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileText {
    pub(super) path: String,
    pub(super) text: String,
}

/// A method to build a structure, whose name is the plan's name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BuildMethod {
    pub(super) name: String,
    /// Phrases of a request that select this method.
    pub(super) says: Vec<String>,
    /// An additional file, if the method needs one.
    pub(super) file: Option<FileText>,
    /// Text that is appended to the tested file.
    #[serde(default)]
    pub(super) append: String,
    /// The command that checks the result.
    pub(super) command: String,
    /// Alternative commands that check the result.
    #[serde(default)]
    pub(super) instead: Vec<String>,
}

/// Why a repertoire cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the repertoire cannot be used: {message}; correct it")]
pub struct RepertoireError {
    message: String,
}

impl Repertoire {
    /// Loads the built-in repertoire: Rust libraries, service modules and actors, with three
    /// methods.
    pub fn load_builtin() -> Result<Self, RepertoireError> {
        Self::from_toml(include_str!("repertoire.toml"))
    }

    /// Parses a repertoire; see `repertoire.toml` for the format.
    pub fn from_toml(text: &str) -> Result<Self, RepertoireError> {
        let refused = |message: String| RepertoireError { message };
        let read = toml_edit::de::from_str::<Self>(text);
        let read = read.map_err(|error| refused(error.message().to_owned()))?;
        for one in &read.structures {
            let tested = one.files.iter().any(|file| file.path == one.tested);
            if !tested || one.words.is_empty() {
                return Err(refused(format!(
                    "structure `{}` needs words, and its tested file among its files",
                    one.name
                )));
            }
        }
        for (at, one) in read.ways.iter().enumerate() {
            let mut before = read.ways.iter().take(at);
            let twice = before.any(|other| other.name == one.name);
            if twice || one.name.is_empty() || one.name.contains('`') {
                return Err(refused(format!(
                    "way `{}` needs a name of its own without backticks",
                    one.name
                )));
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_one_is_sound_and_a_wrong_one_says_why() {
        let built_in = Repertoire::load_builtin().unwrap();
        assert_eq!((built_in.structures.len(), built_in.ways.len()), (3, 3));
        let text = include_str!("repertoire.toml");
        for (wrong, names) in [
            ("structure = 1".to_owned(), "a sequence"),
            (
                text.replace("tested = \"src/lib.rs\"", "tested = \"lib.rs\""),
                "tested file",
            ),
            (
                text.replace("name = \"tests inline\"", "name = \"an outside crate\""),
                "name of its own",
            ),
        ] {
            let error = Repertoire::from_toml(&wrong).unwrap_err().to_string();
            assert!(error.contains(names), "{error}");
        }
    }
}
