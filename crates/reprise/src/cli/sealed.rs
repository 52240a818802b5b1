//! Backups and exports that only their owner can read: the program `reprise-seal` encrypts
//! them as they are written, and opens them, in the form of `age`.

use std::ffi::OsStr;
use std::io::{BufRead, Read};
use std::process::{Child, ChildStdin, ChildStdout};

use crate::args::{KeyArguments, SealArguments};
use crate::cli::prelude::*;
use crate::{plugin, printer};

/// How every file of the form begins.
const MAGIC: &[u8] = b"age-encryption.org/v1\n";
/// Longest message of the program that is read.
const MESSAGE_BYTES_MAX: u64 = 64 * 1024;

/// An output that is encrypted by a program, or plain.
pub(super) enum SealedOutput<W: Write> {
    Plain(W),
    /// The program writes into what `out` writes into.
    Sealed {
        out: W,
        program: Program,
        input: ChildStdin,
    },
}

impl<W: Write> SealedOutput<W> {
    /// Ends what was sealed: without that it is cut.
    pub(super) fn finish(self) -> io::Result<W> {
        match self {
            Self::Plain(out) => Ok(out),
            Self::Sealed {
                out,
                mut program,
                input,
            } => {
                drop(input);
                program.end()?;
                Ok(out)
            }
        }
    }
}

impl<W: Write> Write for SealedOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(bytes),
            // What went wrong with the program says more than that it reads no more.
            Self::Sealed { program, input, .. } => input
                .write(bytes)
                .map_err(|error| program.end().err().unwrap_or(error)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Sealed { .. } => Ok(()),
        }
    }
}

/// A run of `reprise-seal`.
pub(super) struct Program(Child);

impl Program {
    fn start(arguments: &[&OsStr], output: Stdio) -> anyhow::Result<Self> {
        let program = plugin::find(&plugin::SEAL)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(output);
        let started = command.stderr(Stdio::piped()).spawn();
        Ok(Self(started.context("`reprise-seal` does not start")?))
    }

    /// Waits for its end; the error is what it says.
    fn end(&mut self) -> io::Result<()> {
        let mut said = String::new();
        if let Some(stderr) = self.0.stderr.take() {
            stderr.take(MESSAGE_BYTES_MAX).read_to_string(&mut said)?;
        }
        if self.0.wait()?.success() {
            return Ok(());
        }
        Err(io::Error::other(said.trim().to_owned()))
    }
}

/// An output that another process can be given.
pub(super) trait ShareOutput {
    fn share(&self) -> io::Result<Stdio>;
}

impl ShareOutput for fs_err::File {
    fn share(&self) -> io::Result<Stdio> {
        Ok(self.file().try_clone()?.into())
    }
}

impl ShareOutput for &fs_err::File {
    fn share(&self) -> io::Result<Stdio> {
        (*self).share()
    }
}

/// Standard output, which another process inherits.
impl ShareOutput for Box<dyn Write> {
    fn share(&self) -> io::Result<Stdio> {
        if printer::is_read_by_a_person() {
            let said = "what is encrypted is no text for a terminal; name a file or a pipe";
            return Err(io::Error::other(said));
        }
        Ok(Stdio::inherit())
    }
}

impl SealArguments {
    pub(super) fn seals(&self) -> bool {
        !self.recipient.is_empty() || self.passphrase_file.is_some()
    }

    /// Wraps an output so that what is written to it is encrypted, if the arguments ask for it.
    pub(super) fn wrap<W: Write + ShareOutput>(&self, out: W) -> anyhow::Result<SealedOutput<W>> {
        if !self.seals() {
            return Ok(SealedOutput::Plain(out));
        }
        let mut arguments = vec![OsStr::new("encrypt")];
        for key in &self.recipient {
            arguments.extend([OsStr::new("--recipient"), OsStr::new(key)]);
        }
        if let Some(file) = &self.passphrase_file {
            arguments.extend([OsStr::new("--passphrase-file"), file.as_os_str()]);
        }
        let mut program = Program::start(&arguments, out.share()?)?;
        let input = program.0.stdin.take();
        let input = input.context("`reprise-seal` has no input")?;
        Ok(SealedOutput::Sealed {
            out,
            program,
            input,
        })
    }
}

impl KeyArguments {
    /// A file, or what is sealed in it.
    pub(super) fn open(&self, file: &Path) -> anyhow::Result<Box<dyn Read>> {
        let mut from = input::open_regular_file(file)?;
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
                "`{shown}` is not encrypted; leave out --identity and --passphrase-file"
            );
            return Ok(Box::new(whole));
        }
        let opened = self.unseal(whole);
        Ok(Box::new(
            opened.with_context(|| format!("could not open `{shown}`"))?,
        ))
    }

    fn unseal(&self, mut sealed: impl Read + Send + 'static) -> anyhow::Result<Opened> {
        let (flag, key) = match (&self.passphrase_file, &self.identity) {
            (Some(file), _) => ("--passphrase-file", file),
            (None, Some(file)) => ("--identity", file),
            (None, None) => {
                bail!("it is encrypted; add --identity FILE or --passphrase-file FILE")
            }
        };
        let arguments = [OsStr::new("decrypt"), OsStr::new(flag), key.as_os_str()];
        let mut program = Program::start(&arguments, Stdio::piped())?;
        let (input, output) = (program.0.stdin.take(), program.0.stdout.take());
        let mut input = input.context("`reprise-seal` has no input")?;
        let output = output.context("`reprise-seal` has no output")?;
        // What it does not read it says itself.
        std::thread::spawn(move || drop(io::copy(&mut sealed, &mut input)));
        let output = BufReader::new(output);
        let mut opened = Opened { program, output };
        // A wrong key shows here, before anything is made for what is in it.
        opened.fill()?;
        Ok(opened)
    }
}

/// Decrypted output of the program; its end is an error if the program failed.
struct Opened {
    program: Program,
    output: BufReader<ChildStdout>,
}

impl Opened {
    fn fill(&mut self) -> io::Result<()> {
        if self.output.fill_buf()?.is_empty() {
            return self.program.end();
        }
        Ok(())
    }
}

impl Read for Opened {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.fill()?;
        self.output.read(bytes)
    }
}
