//! The last good configuration: a copy of the file as it was read last without an error. The
//! moments of an agent's session go on with it while the file itself cannot be read.

use std::path::{Path, PathBuf};

use reprise_files::Folder;
use xxhash_rust::xxh3::xxh3_64;

use super::{BYTES_MAX, Config, read_text};
use crate::env::Places;

/// A configuration that is empty, for programs that are started without a copy.
const EMPTY: &str = "/dev/null";

/// A configuration for the moments of an agent's session, which no error in it may cost.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MomentConfig {
    pub(crate) config: Config,
    /// What is wrong with the file, and the file that is in use in place of it.
    pub(crate) fault: Option<(String, PathBuf)>,
}

/// Returns the name of the copy of a file in the folder of this machine's own files.
fn name_copy(file: &Path) -> String {
    let hash = xxh3_64(file.as_os_str().as_encoded_bytes());
    format!("config-{hash:016x}.toml")
}

/// Whether a file is such a copy.
pub(crate) fn is_copy(places: &Places) -> bool {
    let name = places.config.file_name().unwrap_or_default();
    places.config.parent() == Some(&places.own_folder())
        && name.to_string_lossy().starts_with("config-")
}

impl MomentConfig {
    /// Reads the configuration and keeps a copy of it, or reads the copy of the last good one;
    /// without one the defaults hold.
    pub(crate) fn read(places: &Places, is_named: bool) -> Self {
        let file = &places.config;
        let text = read_text(file);
        let read =
            text.and_then(|text| Ok((Config::parse(file, text.as_deref(), is_named)?, text)));
        let error = match read {
            Ok((config, text)) => {
                keep_copy(places, text.as_deref(), is_named);
                return Self {
                    config,
                    fault: None,
                };
            }
            Err(error) => format!("{error:#}"),
        };
        let copy = places.own_folder().join(name_copy(file));
        let good = read_text(&copy).ok().flatten();
        let good = good.and_then(|text| Config::parse(&copy, Some(&text), true).ok());
        let in_use = if good.is_some() { copy } else { EMPTY.into() };
        Self {
            config: good.unwrap_or_default(),
            fault: Some((error, in_use)),
        }
    }
}

/// Keeps a copy of a configuration that was read, or drops the copy of one that is gone. Nothing is
/// kept where there is no data directory yet; that the copy cannot be written harms nobody now.
fn keep_copy(places: &Places, text: Option<&str>, is_named: bool) {
    if is_copy(places) || (text.is_none() && is_named) {
        return;
    }
    let keep = || -> anyhow::Result<()> {
        let name = name_copy(&places.config);
        let Some(folder) = Folder::find(&places.own_folder())? else {
            return Ok(());
        };
        match text {
            None => {
                folder.remove_file(&name)?;
            }
            Some(text) => {
                let kept = folder.read_text(&name, BYTES_MAX).unwrap_or_default();
                if kept.as_deref() != Some(text) {
                    folder.replace(&name, text.as_bytes())?;
                }
            }
        }
        Ok(())
    };
    if let Err(error) = keep() {
        tracing::debug!(%error, "no copy of the configuration is kept");
    }
}
