//! The daemon of another machine, if the environment or the configuration names one: every command
//! uses that daemon, and none opens a memory on this machine.

use reprise_server::Remote;
use toml_edit::value;

use crate::cli::prelude::*;
use crate::config::{self, RemoteTable};
use crate::env::{self, Places};

/// File next to the configuration into which `connect` writes a token.
const TOKEN: &str = "remote-token";
/// Longest file of a token.
const TOKEN_BYTES_MAX: u64 = 4_096;
/// File next to the configuration with fingerprints of self-signed certificates.
const KNOWN: &str = "known_hosts";

/// Daemon of another machine that is used in place of the local one.
#[derive(Debug, Clone)]
pub(crate) struct RemoteDaemon {
    pub(crate) url: String,
    token: Option<String>,
    token_file: Option<PathBuf>,
    allow_plain_http: bool,
    known: PathBuf,
}

impl RemoteDaemon {
    /// Finds the daemon of the environment, or else of the configuration; an empty address is none.
    pub(crate) fn find(table: &RemoteTable, places: &Places) -> Option<Self> {
        Self::from_settings(table, places, env::remote_daemon())
    }

    fn from_settings(
        table: &RemoteTable,
        places: &Places,
        (url, token): (Option<String>, Option<String>),
    ) -> Option<Self> {
        let url = url.or_else(|| table.url.clone());
        let url = url.filter(|url| !url.is_empty())?;
        // A token is sent only to the daemon that it is configured for.
        let own = table.url.as_deref().unwrap_or(&url);
        let is_own = own.trim_end_matches('/') == url.trim_end_matches('/');
        Some(Self {
            token_file: table.token_file.clone().filter(|_| is_own),
            url,
            token,
            allow_plain_http: table.allow_plain_http,
            known: places.config.with_file_name(KNOWN),
        })
    }

    /// Returns the token of the environment, or else of its file.
    pub(crate) fn token(&self) -> anyhow::Result<String> {
        if let Some(token) = &self.token {
            return Ok(token.clone());
        }
        let Some(file) = &self.token_file else {
            bail!(
                "there is no token for the daemon at {}; set REPRISE_TOKEN, or name a file in \
                 `token_file` under [remote]",
                self.url
            );
        };
        let name = file.display();
        let bytes = reprise_files::read_if_exists(file, TOKEN_BYTES_MAX)?;
        let bytes =
            bytes.with_context(|| format!("`{name}` does not exist; write the token into it"))?;
        let text = String::from_utf8(bytes).with_context(|| format!("`{name}` is no token"))?;
        Ok(text.trim().to_owned())
    }

    /// Writes the settings of the environment into the configuration, with the token in its own
    /// file. Returns whether that changed anything.
    pub(crate) fn save_to_configuration(&self, places: &Places) -> anyhow::Result<bool> {
        let token = self.token()?;
        // A token that cannot be sent is not saved.
        Remote::new(&self.url, &token, self.known.clone(), self.allow_plain_http)?;
        config::edit_file(&places.config, |folder, written| {
            let table = written.entry("remote").or_insert_with(toml_edit::table);
            let table = table
                .as_table_mut()
                .context("[remote] is not a table; correct it")?;
            let token_file = if let (None, Some(file)) = (&self.token, &self.token_file) {
                file.clone()
            } else {
                folder.replace(TOKEN, format!("{token}\n").as_bytes())?;
                folder.path_of(TOKEN)
            };
            let token_file = token_file.display().to_string();
            for (name, wanted) in [("url", &self.url), ("token_file", &token_file)] {
                if table.get(name).and_then(|held| held.as_str()) != Some(wanted) {
                    table.insert(name, value(wanted));
                }
            }
            Ok(())
        })
    }

    /// Refuses what is no address of a daemon.
    pub(crate) fn check_address(&self) -> Result<(), Problem> {
        Remote::check_address(&self.url)
    }

    fn client(&self) -> anyhow::Result<Client> {
        let (known, plain) = (self.known.clone(), self.allow_plain_http);
        let remote = Remote::new(&self.url, &self.token()?, known, plain)?;
        Ok(Client::new_remote(remote))
    }
}

impl Context {
    /// Returns the client of the remote daemon, if one is configured.
    pub(super) fn remote_client(&self) -> anyhow::Result<Option<Client>> {
        let remote = self.remote.as_ref();
        let client = remote.map(RemoteDaemon::client).transpose()?;
        Ok(client.map(|client| client.with_patience(self.patience)))
    }

    /// Refuses a command that needs local files while the memory is on another machine.
    pub(super) fn ensure_memory_is_local(&self) -> anyhow::Result<()> {
        match &self.remote {
            None => Ok(()),
            Some(remote) => bail!(
                "this command needs the files, and the memory is at {}: run it on that machine, \
                 or add --no-daemon to use the memory on this one",
                remote.url
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configured_token_is_shown_to_the_configured_daemon_alone() {
        let folder = tempfile::tempdir().unwrap();
        let [data, file, config] = ["data", "token", "config.toml"].map(|n| folder.path().join(n));
        fs_err::write(&file, "rpr_1\n").unwrap();
        let places = Places::new(Some(data.clone()), Some(data), Some(config)).unwrap();
        let token = |configured: Option<&str>, named: &str| {
            let table = RemoteTable {
                url: configured.map(str::to_owned),
                token_file: Some(file.clone()),
                allow_plain_http: false,
            };
            let found =
                RemoteDaemon::from_settings(&table, &places, (Some(named.to_owned()), None));
            found.unwrap().token().ok()
        };
        let (own, other) = ("https://memory.example", "https://other.example");
        let expected = Some("rpr_1".to_owned());
        assert_eq!(token(Some(own), "https://memory.example/"), expected);
        assert_eq!(token(None, own), expected);
        assert_eq!(token(Some(own), other), None);
    }
}
