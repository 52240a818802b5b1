//! Places of a user's knowledge outside the memory itself: projections, workspaces and the lessons
//! of ai-lessons.

use std::path::Path;

use crate::config::Config;

/// Default path of the lessons of ai-lessons.
const LESSONS: &str = ".ai/lessons/knowledge.db";

/// Lists every configured place, with whether it is valid and a description.
pub(crate) fn list_roots(config: &Config, home: &Path) -> Vec<(bool, String)> {
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
    for (name, path) in config.workspaces.list_paths() {
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
    use crate::config::AiLessons;

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
        assert!(list_roots(&Config::default(), home).is_empty());
        write(
            home,
            ".ai/config.yaml",
            "tag_aliases:\n  js: javascript\nknown_tags: [jira]\n",
        );
        let config = Config::default().with_ai_lessons(AiLessons::read(home));
        let tags = ["JS".to_owned(), "rs".to_owned()];
        assert_eq!(config.tag_rules().resolve_tags(&tags), ["javascript", "rs"]);
        let said = |config: &Config| -> String {
            let roots = list_roots(config, home).into_iter();
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
            config.tag_rules().resolve_tags(&tags),
            ["own", "rust"],
            "our own file wins"
        );
        let lessons = home.join("notes/all.db");
        assert!(said(&config).contains(&format!("at {}, not there yet", lessons.display())));

        write(home, ".ai/lessons/config.yaml", "tag_aliases: [1, 2\n");
        let config = Config::default().with_ai_lessons(AiLessons::read(home));
        assert_eq!(config.tag_rules().resolve_tags(&tags), ["js", "rs"]);
        assert!(said(&config).contains("false ") && said(&config).contains("not read: "));
    }
}
