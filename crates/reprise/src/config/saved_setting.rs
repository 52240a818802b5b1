//! Settings that a person changes on the page: each is written into the configuration file if the
//! file is still one afterwards. They hold from the next start of the daemon.

use std::path::Path;

use anyhow::{Context as _, bail};
use toml_edit::Item;

use super::{Config, edit_file};

/// How the text of a form becomes a value of the file.
#[derive(Debug, Clone, Copy)]
enum SettingForm {
    Number,
    Switch,
    Text,
}

/// The settings that the page may write, by table and key. No other one is ever written.
const SAVED: [(&str, &str, SettingForm); 6] = [
    ("memory", "prompt_tokens_per_day", SettingForm::Number),
    ("memory", "tend", SettingForm::Switch),
    ("memory", "language", SettingForm::Text),
    ("serve", "idle_exit_seconds", SettingForm::Number),
    ("global", "hooks", SettingForm::Switch),
    ("global", "scope", SettingForm::Text),
];

/// Saves a setting in the configuration file; an empty value removes it, so that its default holds.
/// An error is a sentence for people.
pub(crate) fn save_setting(file: &Path, name: &str, value: &str) -> Result<(), String> {
    write_setting(file, name, value.trim()).map_err(|error| format!("{error:#}"))
}

fn write_setting(file: &Path, name: &str, value: &str) -> anyhow::Result<()> {
    let found = SAVED
        .iter()
        .find(|(table, key, _)| name.strip_prefix(table) == Some(&format!(".{key}")));
    let Some((table, key, form)) = found else {
        bail!(
            "the setting `{name}` is not changed here; edit `{}`",
            file.display()
        );
    };
    let value = match form {
        _ if value.is_empty() => None,
        SettingForm::Number => {
            let number: u32 = value
                .replace(',', "")
                .parse()
                .with_context(|| format!("`{value}` is not a whole number; correct it"))?;
            Some(toml_edit::value(i64::from(number)))
        }
        SettingForm::Switch => Some(toml_edit::value(value == "true")),
        SettingForm::Text => Some(toml_edit::value(value)),
    };
    edit_file(file, |_, document| {
        let entry = document.entry(table).or_insert_with(toml_edit::table);
        let entry = entry
            .as_table_like_mut()
            .with_context(|| format!("[{table}] is not a table; correct it"))?;
        set_key(entry, key, value);
        // What would not be read at the next start is not written.
        Config::parse(file, Some(&document.to_string()), true).map(drop)
    })
    .map(drop)
}

fn set_key(table: &mut dyn toml_edit::TableLike, key: &str, value: Option<Item>) {
    match value {
        Some(value) => {
            table.insert(key, value);
        }
        None => {
            table.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_saved_beside_the_others_and_what_is_no_setting_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, "# mine\nuser = \"ada\"\n[memory]\nopen_max = 7\n").unwrap();
        let text = || std::fs::read_to_string(&file).unwrap();
        save_setting(&file, "memory.prompt_tokens_per_day", "5,000").unwrap();
        save_setting(&file, "global.hooks", "true").unwrap();
        let saved = text();
        assert!(saved.starts_with("# mine\nuser = \"ada\""), "{saved}");
        assert!(saved.contains("open_max = 7"), "{saved}");
        let read = Config::read(&file, true).unwrap();
        assert_eq!(read.memory.prompt_tokens_per_day, Some(5_000));
        for (name, value) in [
            ("memory.prompt_tokens_per_day", "many"),
            ("memory.language", "nothing"),
            ("serve.idle_exit_seconds", "4000000000"),
            ("global.url", "https://elsewhere.example"),
            ("serve.http", "0.0.0.0:80"),
        ] {
            let refused = save_setting(&file, name, value).unwrap_err();
            assert!(!refused.is_empty(), "{name}");
            assert_eq!(text(), saved, "{name}");
        }
        save_setting(&file, "memory.prompt_tokens_per_day", "").unwrap();
        let read = Config::read(&file, true).unwrap();
        assert_eq!(read.memory.prompt_tokens_per_day, None);
    }
}
