//! Where knowledge of a user stands besides the memory itself (C18): the stores of projects, that
//! of lessons, workspaces; and what ai-lessons has configured, whose tags mean the same here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::config::Config;

/// Where ai-lessons has its configuration: where its program looks, else where its document says.
const CONFIGURATIONS: [&str; 2] = [".ai/lessons/config.yaml", ".ai/config.yaml"];
/// Where its lessons are unless it is told otherwise.
const LESSONS: &str = ".ai/lessons/knowledge.db";
const BYTES_MAX: u64 = 1 << 20;

/// What ai-lessons has configured; the rest of its file says nothing to us.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct AiLessons {
    /// From a spelling to the tag that is kept.
    pub(crate) tag_aliases: BTreeMap<String, String>,
    pub(crate) known_tags: Vec<String>,
    db_path: Option<PathBuf>,
    /// The file that says so.
    #[serde(skip)]
    file: Option<PathBuf>,
    /// Why it cannot be read. It is another program's, and holds nothing up.
    #[serde(skip)]
    fault: Option<String>,
}

impl AiLessons {
    /// What stands below a home directory; nothing where neither file is there.
    pub(crate) fn read(home: &Path) -> Self {
        for name in CONFIGURATIONS {
            let file = home.join(name);
            let text = match reprise_files::read_named(&file, BYTES_MAX) {
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
            let db_path = read.db_path.as_deref().map(|path| at_home(path, home));
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
    /// The same beside what ai-lessons has configured.
    pub(crate) fn with_ai_lessons(mut self, ai_lessons: AiLessons) -> Self {
        self.ai_lessons = ai_lessons;
        self
    }
}

fn at_home(path: &Path, home: &Path) -> PathBuf {
    path.strip_prefix("~")
        .map_or_else(|_| path.to_owned(), |inside| home.join(inside))
}

/// Every place that the configuration and ai-lessons' own name: whether it is good, and what it is.
pub(crate) fn registry(config: &Config, home: &Path) -> Vec<(bool, String)> {
    let ai = &config.ai_lessons;
    let place = |what: &str, path: &Path| {
        let is_there = path.exists();
        let state = if is_there { "" } else { ", not there yet" };
        (true, format!("{what} at {}{state}", path.display()))
    };
    let mut roots = Vec::new();
    for own in config.all_projections() {
        let project = own.project.map(|name| format!(" of project {name}"));
        let what = format!(
            "{} of {}{}",
            own.kind.name(),
            own.user,
            project.unwrap_or_default()
        );
        roots.push(place(&what, &own.path));
    }
    for (name, path) in config.workspaces.places() {
        roots.push(place(&format!("workspace {name}"), path));
    }
    let lessons = ai.db_path.clone().unwrap_or_else(|| home.join(LESSONS));
    if ai.file.is_some() || lessons.exists() {
        roots.push(place("lessons of ai-lessons", &lessons));
    }
    if let Some(file) = &ai.file {
        let (aliases, known) = (ai.tag_aliases.len(), ai.known_tags.len());
        let says = match &ai.fault {
            None => format!("read: {aliases} aliases of tags, {known} known tags"),
            Some(why) => format!("not read: {why}; correct it"),
        };
        let says = format!("{} is {says}", file.display());
        roots.push((ai.fault.is_none(), says));
    }
    roots
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(home: &Path, name: &str, text: &str) {
        let file = home.join(name);
        fs_err::create_dir_all(file.parent().unwrap()).unwrap();
        fs_err::write(file, text).unwrap();
    }

    #[test]
    fn what_ai_lessons_has_configured_holds_here_and_its_own_place_comes_first() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let empty = AiLessons::read(home);
        assert_eq!(empty, AiLessons::default());
        assert!(registry(&Config::default(), home).is_empty());
        write(
            home,
            ".ai/config.yaml",
            "tag_aliases:\n  js: javascript\nknown_tags: [jira]\n",
        );
        let config = Config::default().with_ai_lessons(AiLessons::read(home));
        let tags = ["JS".to_owned(), "rs".to_owned()];
        assert_eq!(config.tag_rules().resolve(&tags), ["javascript", "rs"]);
        let said = |config: &Config| -> String {
            let roots = registry(config, home).into_iter();
            let said = roots.map(|(good, says)| format!("{good} {says}"));
            said.collect::<Vec<_>>().join("\n")
        };
        assert!(said(&config).contains(".ai/config.yaml is read: 1 aliases of tags, 1 known tags"));

        let newer = "embedding: {backend: openai, dimensions: 1536}\ndb_path: ~/notes/all.db\n\
            tag_aliases: {js: ecmascript, rs: rust}\n";
        write(home, ".ai/lessons/config.yaml", newer);
        let file = home.join("config.toml");
        fs_err::write(&file, "[tags]\naliases = { js = \"own\" }\n").unwrap();
        let config = Config::read(&file, true).unwrap();
        let config = config.with_ai_lessons(AiLessons::read(home));
        assert_eq!(
            config.tag_rules().resolve(&tags),
            ["own", "rust"],
            "our own file wins"
        );
        let lessons = home.join("notes/all.db");
        assert!(said(&config).contains(&format!("at {}, not there yet", lessons.display())));

        write(home, ".ai/lessons/config.yaml", "tag_aliases: [1, 2\n");
        let config = Config::default().with_ai_lessons(AiLessons::read(home));
        assert_eq!(config.tag_rules().resolve(&tags), ["js", "rs"]);
        assert!(said(&config).contains("false ") && said(&config).contains("not read: "));
    }
}
