//! The daemon of another machine, where the environment or the configuration names one: every
//! command that asks a daemon asks that one, and none opens a file of memory here.

use reprise_server::Remote;
use toml_edit::value;

use crate::cli::prelude::*;
use crate::config;
use crate::env::{self, Places};

/// The file that `connect` puts a token into, beside the configuration.
const TOKEN: &str = "remote-token";
/// Longest file of a token.
const TOKEN_BYTES_MAX: u64 = 4_096;
/// Fingerprints of certificates that no authority has signed, beside the configuration.
const KNOWN: &str = "known_hosts";

/// `[remote]` of the configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct RemoteTable {
    /// Where the daemon is.
    pub(crate) url: Option<String>,
    /// The file with the token, closed to everybody else.
    token_file: Option<PathBuf>,
    /// Send the token and every text over plain HTTP too, although it is another machine.
    allow_plain_http: bool,
}

/// A daemon that is asked in the place of one's own.
#[derive(Debug, Clone)]
pub(crate) struct Elsewhere {
    pub(crate) url: String,
    token: Option<String>,
    token_file: Option<PathBuf>,
    allow_plain_http: bool,
    known: PathBuf,
}

impl Elsewhere {
    /// What the environment names, else the configuration. An empty address is none.
    pub(crate) fn find(table: &RemoteTable, places: &Places) -> Option<Self> {
        Self::of(table, places, env::remote())
    }

    fn of(
        table: &RemoteTable,
        places: &Places,
        (url, token): (Option<String>, Option<String>),
    ) -> Option<Self> {
        let url = url.or_else(|| table.url.clone());
        let url = url.filter(|url| !url.is_empty())?;
        // A token is for the daemon that it is configured with, and shown to no other one.
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

    /// The token: of the environment, else of its file.
    pub(crate) fn token(&self) -> anyhow::Result<String> {
        if let Some(token) = &self.token {
            return Ok(token.clone());
        }
        let Some(file) = &self.token_file else {
            bail!(
                "no token of the daemon at {} is known; put one into REPRISE_TOKEN, or into a file \
                 that `token_file` names under [remote]",
                self.url
            );
        };
        let name = file.display();
        let bytes = reprise_files::read_named(file, TOKEN_BYTES_MAX)?;
        let bytes =
            bytes.with_context(|| format!("there is no `{name}`; put the token into it"))?;
        let text = String::from_utf8(bytes).with_context(|| format!("`{name}` is no token"))?;
        Ok(text.trim().to_owned())
    }

    /// Writes what the environment says into the configuration, with the token in a file of its
    /// own. Answers whether that was a change.
    pub(crate) fn settle(&self, places: &Places) -> anyhow::Result<bool> {
        let token = self.token()?;
        // A token that nobody could send is not written down.
        Remote::new(&self.url, &token, self.known.clone(), self.allow_plain_http)?;
        config::edit(&places.config, |folder, written| {
            let table = written.entry("remote").or_insert_with(toml_edit::table);
            let table = table
                .as_table_mut()
                .context("[remote] is no table; correct it")?;
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

    fn client(&self) -> anyhow::Result<Client> {
        let (known, plain) = (self.known.clone(), self.allow_plain_http);
        let remote = Remote::new(&self.url, &self.token()?, known, plain)?;
        Ok(Client::remote(remote))
    }
}

impl Context {
    /// The client of the daemon elsewhere, where one is named.
    pub(super) fn away(&self) -> anyhow::Result<Option<Client>> {
        let remote = self.remote.as_ref();
        let client = remote.map(Elsewhere::client).transpose()?;
        Ok(client.map(|client| client.patient(self.patience)))
    }

    /// Refuses what works on the files of this machine while memory is elsewhere.
    pub(super) fn must_be_here(&self) -> anyhow::Result<()> {
        match &self.remote {
            None => Ok(()),
            Some(remote) => bail!(
                "memory is at {}, and this works on its files: run it on that machine, or with \
                 --no-daemon for the memory of this one",
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
            let found = Elsewhere::of(&table, &places, (Some(named.to_owned()), None));
            found.unwrap().token().ok()
        };
        let (own, other) = ("https://memory.example", "https://other.example");
        let expected = Some("rpr_1".to_owned());
        assert_eq!(token(Some(own), "https://memory.example/"), expected);
        assert_eq!(token(None, own), expected);
        assert_eq!(token(Some(own), other), None);
    }
}
