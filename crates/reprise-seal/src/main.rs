//! `reprise-seal`: encrypts standard input to standard output, or decrypts it, in the form of
//! `age`, so that the tools of that name read it as well. `reprise backup`, `export` and
//! `restore` run it.

use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use age::secrecy::SecretString;
use age::{Decryptor, Encryptor, Identity, IdentityFile, Recipient, scrypt, x25519};
use anyhow::{Context, anyhow, bail, ensure};
use clap::{Args, Parser, Subcommand};

/// Longest file of keys, or of a passphrase, in bytes.
const KEY_BYTES_MAX: u64 = 1 << 20;

/// Encrypts and opens backups and exports, from standard input to standard output.
#[derive(Debug, Parser)]
#[command(name = "reprise-seal", version, about, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: SealCommand,
}

#[derive(Debug, Subcommand)]
enum SealCommand {
    /// Encrypt.
    Encrypt(EncryptArguments),
    /// Open what was encrypted.
    Decrypt(DecryptArguments),
}

#[derive(Debug, Args)]
struct EncryptArguments {
    /// Encrypt it for the owner of this age key (`age1...`); several may read it.
    #[arg(long, value_name = "KEY", required_unless_present = "passphrase_file")]
    recipient: Vec<String>,
    /// Encrypt it with the passphrase on the first line of this file.
    #[arg(long, value_name = "FILE", conflicts_with = "recipient")]
    passphrase_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct DecryptArguments {
    /// The file of the age key that it was encrypted for.
    #[arg(long, value_name = "FILE", required_unless_present = "passphrase_file")]
    identity: Option<PathBuf>,
    /// The file with the passphrase that it was encrypted with.
    #[arg(long, value_name = "FILE", conflicts_with = "identity")]
    passphrase_file: Option<PathBuf>,
}

fn main() -> ExitCode {
    let done = match &Arguments::parse().command {
        SealCommand::Encrypt(arguments) => encrypt_stdin(arguments),
        SealCommand::Decrypt(arguments) => decrypt_stdin(arguments),
    };
    let Err(error) = done else {
        return ExitCode::SUCCESS;
    };
    // Nothing is left to be done if stderr is gone.
    drop(writeln!(io::stderr(), "{error:#}"));
    ExitCode::from(2)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a filter: its standard output is the data"
)]
fn encrypt_stdin(arguments: &EncryptArguments) -> anyhow::Result<()> {
    let encryptor = if let Some(file) = &arguments.passphrase_file {
        Encryptor::with_user_passphrase(read_passphrase(file)?)
    } else {
        let keys = arguments.recipient.iter().map(|key| parse_recipient(key));
        let keys = keys.collect::<anyhow::Result<Vec<_>>>()?;
        let keys = keys.iter().map(|key| key as &dyn Recipient);
        Encryptor::with_recipients(keys).map_err(|error| anyhow!("{error}"))?
    };
    let mut sealed = encryptor.wrap_output(io::stdout().lock())?;
    io::copy(&mut io::stdin().lock(), &mut sealed)?;
    // Without its end it would be taken for cut off.
    sealed.finish()?.flush()?;
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "a filter: its standard output is the data"
)]
fn decrypt_stdin(arguments: &DecryptArguments) -> anyhow::Result<()> {
    let keys = read_keys(arguments)?;
    let input = BufReader::new(io::stdin().lock());
    let sealed = Decryptor::new_buffered(input).map_err(|error| anyhow!("{error}"))?;
    let keys = keys.iter().map(|key| &**key as &dyn Identity);
    let mut opened = sealed.decrypt(keys).map_err(|error| {
        anyhow!("it was encrypted for another key ({error}); name the one for it")
    })?;
    io::copy(&mut opened as &mut dyn Read, &mut io::stdout().lock())?;
    Ok(())
}

fn read_keys(arguments: &DecryptArguments) -> anyhow::Result<Vec<Box<dyn Identity>>> {
    if let Some(file) = &arguments.passphrase_file {
        return Ok(vec![Box::new(scrypt::Identity::new(read_passphrase(
            file,
        )?))]);
    }
    let Some(file) = &arguments.identity else {
        bail!("it is encrypted; add --identity FILE or --passphrase-file FILE");
    };
    let bytes = read_small_file(file)?;
    IdentityFile::from_buffer(BufReader::new(bytes.as_slice()))
        .and_then(|keys| keys.into_identities().map_err(io::Error::other))
        .with_context(|| format!("`{}` is not a file of age keys", file.display()))
}

fn parse_recipient(key: &str) -> anyhow::Result<x25519::Recipient> {
    key.parse().map_err(|why| {
        anyhow!("`{key}` is not a public age key ({why}); `age-keygen` prints one, `age1...`")
    })
}

/// Reads a small file that somebody named.
fn read_small_file(file: &Path) -> anyhow::Result<Vec<u8>> {
    let found = reprise_files::read_if_exists(file, KEY_BYTES_MAX)?;
    found.ok_or_else(|| anyhow!("the file `{}` does not exist", file.display()))
}

/// Reads the first line of a file.
fn read_passphrase(file: &Path) -> anyhow::Result<SecretString> {
    let text = String::from_utf8(read_small_file(file)?);
    let text = text.map_err(|_| anyhow!("`{}` is not text", file.display()))?;
    let line = text.lines().next().unwrap_or_default();
    ensure!(
        !line.is_empty(),
        "the first line of `{}` is empty; put the passphrase there",
        file.display()
    );
    Ok(SecretString::from(line.to_owned()))
}
