//! Backups and exports that only their owner can read (A35): in the form of `age`, so that the
//! tools of that name open them without this program.

use std::io::Read;

use age::secrecy::SecretString;
use age::stream::StreamWriter;
use age::{Decryptor, Encryptor, Identity, IdentityFile, Recipient, scrypt, x25519};

use crate::args::{KeyArguments, SealArguments};
use crate::cli::prelude::*;

/// How every file of the form begins.
const MAGIC: &[u8] = b"age-encryption.org/v1\n";
/// A file of keys, or of a passphrase.
const KEY_BYTES_MAX: u64 = 1 << 20;

/// Where something goes, sealed or not.
pub(super) enum Out<W: Write> {
    Plain(W),
    Sealed(Box<StreamWriter<W>>),
}

impl<W: Write> Out<W> {
    /// Ends what was sealed: without that it is cut.
    pub(super) fn finish(self) -> io::Result<W> {
        match self {
            Self::Plain(out) => Ok(out),
            Self::Sealed(sealed) => sealed.finish(),
        }
    }
}

impl<W: Write> Write for Out<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(bytes),
            Self::Sealed(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Sealed(out) => out.flush(),
        }
    }
}

impl SealArguments {
    pub(super) fn seals(&self) -> bool {
        !self.recipient.is_empty() || self.passphrase_file.is_some()
    }

    /// What is written to it comes out sealed, where that was asked for.
    pub(super) fn over<W: Write>(&self, out: W) -> anyhow::Result<Out<W>> {
        if !self.seals() {
            return Ok(Out::Plain(out));
        }
        let encryptor = if let Some(file) = &self.passphrase_file {
            Encryptor::with_user_passphrase(passphrase(file)?)
        } else {
            let keys = self.recipient.iter().map(|key| recipient(key));
            let keys = keys.collect::<anyhow::Result<Vec<_>>>()?;
            let keys = keys.iter().map(|key| key as &dyn Recipient);
            Encryptor::with_recipients(keys).map_err(|error| anyhow!("{error}"))?
        };
        Ok(Out::Sealed(Box::new(encryptor.wrap_output(out)?)))
    }
}

impl KeyArguments {
    /// A file, or what is sealed in it.
    pub(super) fn open(&self, file: &Path) -> anyhow::Result<Box<dyn Read>> {
        let mut from = input::open_copy(file)?;
        let mut head = Vec::with_capacity(MAGIC.len());
        from.by_ref()
            .take(MAGIC.len() as u64)
            .read_to_end(&mut head)?;
        let is_sealed = head == MAGIC;
        let whole = io::Cursor::new(head).chain(from);
        let shown = file.display();
        if !is_sealed {
            ensure!(
                self.identity.is_none() && self.passphrase_file.is_none(),
                "`{shown}` is not encrypted; leave --identity and --passphrase-file out"
            );
            return Ok(Box::new(whole));
        }
        let keys = self
            .keys()
            .with_context(|| format!("`{shown}` was not opened"))?;
        let sealed = Decryptor::new(whole).map_err(|error| anyhow!("`{shown}`: {error}"))?;
        let keys = keys.iter().map(|key| &**key as &dyn Identity);
        let opened = sealed.decrypt(keys).map_err(|error| {
            anyhow!("`{shown}` was encrypted for another key ({error}); name the one for it")
        })?;
        Ok(Box::new(opened))
    }

    fn keys(&self) -> anyhow::Result<Vec<Box<dyn Identity>>> {
        if let Some(file) = &self.passphrase_file {
            return Ok(vec![Box::new(scrypt::Identity::new(passphrase(file)?))]);
        }
        let Some(file) = &self.identity else {
            bail!("it is encrypted; name its key by --identity FILE or --passphrase-file FILE");
        };
        let bytes = secret(file)?;
        IdentityFile::from_buffer(BufReader::new(bytes.as_slice()))
            .and_then(|keys| keys.into_identities().map_err(io::Error::other))
            .with_context(|| format!("`{}` is no file of age keys", file.display()))
    }
}

fn recipient(key: &str) -> anyhow::Result<x25519::Recipient> {
    key.parse().map_err(|why| {
        anyhow!("`{key}` is no public key of age ({why}); `age-keygen` prints one, `age1...`")
    })
}

/// What stands in a small file that somebody named.
fn secret(file: &Path) -> anyhow::Result<Vec<u8>> {
    let found = reprise_files::read_named(file, KEY_BYTES_MAX)?;
    found.ok_or_else(|| anyhow!("there is no file `{}`; correct its name", file.display()))
}

/// The first line of a file.
fn passphrase(file: &Path) -> anyhow::Result<SecretString> {
    let bytes = secret(file)?;
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| anyhow!("`{}` is no text", file.display()))?;
    let line = text.lines().next().unwrap_or_default();
    ensure!(
        !line.is_empty(),
        "the first line of `{}` is empty; put the passphrase there",
        file.display()
    );
    Ok(SecretString::from(line.to_owned()))
}
