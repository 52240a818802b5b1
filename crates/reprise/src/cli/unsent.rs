//! Queue of hook events that could not be sent to the daemon in time, on another machine or on this
//! one: saved on disk without secrets, in order, and sent by the next command that reaches it. The
//! daemon stores an event that is sent twice only once, by its session and text.
//!
//! Each daemon has one file with an event per line. Beyond a limit the oldest are dropped and
//! counted.

use std::io::Read;
#[cfg(target_os = "linux")]
use std::io::Seek;
use std::os::unix::process::CommandExt;

use reprise_operations::HookReport;
use reprise_operations::operations::sessions::{
    HookArguments, Moments, MomentsArguments, MomentsTaken,
};
use reprise_server::reap_in_background;
use reprise_types::sha256_hex;
#[cfg(target_os = "linux")]
use rustix::fs::MemfdFlags;

use crate::args::LateEvent;
use crate::cli::prelude::*;

/// Folder of the queues in the program's state.
const FOLDER: &str = "unsent";
/// Name of the queue of events whose daemon has an address that is none.
const UNADDRESSED: &str = "unaddressed";
/// Most events that wait for one daemon; `BYTES_MAX` is the most bytes.
const MOMENTS_MAX: usize = 10_000;
const BYTES_MAX: usize = 16 * 1024 * 1024;
/// Fewest bytes of an event; shorter files need no count.
const MOMENT_BYTES_MIN: usize = 64;
/// Percentage that stays when the queue is too long.
const STAY_PERCENT: usize = 90;
/// Most events of the first request; `BATCH` and `BATCH_BYTES_MAX` limit the later ones.
const FIRST: usize = 8;
const BATCH: usize = 64;
const BATCH_BYTES_MAX: usize = 256 * 1024;
/// Longest wait for another process that changes the file.
const TURN: Duration = Duration::from_secs(1);
/// That wait of a process that only has this to do, and for which nobody waits: what it does not
/// save is lost.
const LATE_TURN: Duration = Duration::from_mins(2);
/// Longest time that a command sends waiting events before its own request.
const COMMAND: Duration = Duration::from_secs(20);
const TALLY_BYTES_MAX: u64 = 4_096;
/// Most bytes of an event that a hook hands over.
const LATE_BYTES_MAX: u64 = 1024 * 1024;

/// Line of the queue's file: an event and its user.
#[derive(Debug, Serialize, Deserialize)]
struct UnsentLine {
    user: UserId,
    moment: HookArguments,
    /// The folder whose project is still to be found, where a hook hands over its event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folder: Option<PathBuf>,
}

/// Counts of events that were lost.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct UnsentTally {
    /// Dropped because too many waited.
    pub(super) dropped: u64,
    /// Refused by the daemon.
    pub(super) refused: u64,
}

/// Queue of events for one daemon.
#[derive(Debug)]
pub(super) struct Unsent {
    folder: PathBuf,
    name: String,
}

impl Unsent {
    /// Returns the queue of the daemon that has the memory: the remote one, or that of the data
    /// directory.
    pub(super) fn for_daemon(context: &Context) -> Self {
        let name = match &context.remote {
            Some(remote) if remote.check_address().is_err() => UNADDRESSED.to_owned(),
            Some(remote) => sha256_hex(remote.url.trim_end_matches('/').as_bytes()),
            None => sha256_hex(context.places.data.as_os_str().as_encoded_bytes()),
        };
        let own = Self {
            folder: context.places.state.join(FOLDER),
            name: name.chars().take(16).collect(),
        };
        if let Err(error) = own.adopt_unaddressed() {
            tracing::debug!(%error, "what waits without an address goes on waiting");
        }
        own
    }

    /// Takes over the events that wait because the address of their daemon was none.
    fn adopt_unaddressed(&self) -> anyhow::Result<()> {
        let other = Self {
            folder: self.folder.clone(),
            name: UNADDRESSED.to_owned(),
        };
        if self.name == other.name || other.is_empty() {
            return Ok(());
        }
        let folder = Folder::open_or_create_no_follow(&self.folder)?;
        let _first = folder.lock(other.file_name("lock"), TURN)?;
        let _second = folder.lock(self.file_name("lock"), TURN)?;
        for line in other.read_lines()? {
            folder.append_line(self.file_name("jsonl"), line.as_bytes())?;
        }
        other.write_files(&folder, &[], UnsentTally::default())
    }

    /// Returns how many events wait for the daemon, and how many were lost.
    pub(super) fn count_unsent(context: &Context) -> (usize, UnsentTally) {
        let own = Self::for_daemon(context);
        (own.count_waiting(), own.read_tally())
    }

    fn file_name(&self, ending: &str) -> String {
        format!("{}.{ending}", self.name)
    }

    fn read_lines(&self) -> anyhow::Result<Vec<String>> {
        let Some(folder) = Folder::find_no_follow(&self.folder)? else {
            return Ok(Vec::new());
        };
        // A line that is being written may exceed the limit.
        let bytes = folder.read(self.file_name("jsonl"), 2 * BYTES_MAX as u64)?;
        let bytes = bytes.unwrap_or_default();
        // A line that was cut within a character is one bad line, not the end of the file.
        let text = String::from_utf8_lossy(&bytes);
        // A last line without a line end is incomplete.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = whole.lines().filter(|line| !line.is_empty());
        Ok(lines.map(str::to_owned).collect())
    }

    fn file_size(&self, folder: &Folder) -> anyhow::Result<u64> {
        let file = folder.find_file(self.file_name("jsonl"))?;
        Ok(file.map_or(Ok(0), |file| file.metadata().map(|file| file.len()))?)
    }

    /// Returns whether the queue's file is empty or missing, without reading it.
    pub(super) fn is_empty(&self) -> bool {
        let is_none = |folder: Folder| self.file_size(&folder).is_ok_and(|bytes| bytes == 0);
        Folder::find_no_follow(&self.folder).is_ok_and(|folder| folder.is_none_or(is_none))
    }

    pub(super) fn count_waiting(&self) -> usize {
        self.read_lines().map_or(0, |lines| lines.len())
    }

    fn read_tally(&self) -> UnsentTally {
        let folder = Folder::find_no_follow(&self.folder).ok().flatten();
        let text = folder.and_then(|folder| {
            let text = folder.read_text(self.file_name("json"), TALLY_BYTES_MAX);
            text.ok().flatten()
        });
        text.and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default()
    }

    /// Queues an event that a hook hands over, as [`Self::spawn_keeper`] writes it; `name_folder`
    /// finds the project that the hook had no time to find.
    pub(super) fn push_from(
        &self,
        input: &mut impl Read,
        name_folder: impl FnOnce(&Path) -> anyhow::Result<String>,
    ) -> anyhow::Result<()> {
        let mut line = String::new();
        input.take(LATE_BYTES_MAX).read_to_string(&mut line)?;
        let line: UnsentLine = serde_json::from_str(&line)
            .context("no event of a hook came on stdin; only a hook uses --late")?;
        let (user, mut moment) = (line.user, line.moment);
        if let Some(folder) = &line.folder {
            moment.report.project = name_folder(folder)?;
        }
        self.push_within(LATE_TURN, &user, &moment.event, moment.report)
    }

    /// Starts a separate process that queues an event, so that the hook waits neither for the
    /// redactor nor for the disk. A folder is one whose project that process is to find.
    pub(super) fn spawn_keeper(
        context: &Context,
        user: &UserId,
        event: &str,
        (mut report, folder): (HookReport, Option<PathBuf>),
        late: LateEvent,
    ) -> anyhow::Result<()> {
        report.at.get_or_insert(SystemClock.now());
        let line = serde_json::to_vec(&UnsentLine {
            user: user.clone(),
            moment: HookArguments {
                event: event.to_owned(),
                report,
            },
            folder,
        })?;
        let mut command = Self::build_sender(context)?;
        command.args(["--late", late.name()]);
        hand_over(&mut command, &line)
    }

    /// Queues an event without its secrets.
    pub(super) fn push(
        &self,
        user: &UserId,
        event: &str,
        report: HookReport,
    ) -> anyhow::Result<()> {
        self.push_within(TURN, user, event, report)
    }

    /// Queues an event as [`Self::push`] does, and waits this long for another process.
    fn push_within(
        &self,
        patience: Duration,
        user: &UserId,
        event: &str,
        mut report: HookReport,
    ) -> anyhow::Result<()> {
        let redactor = Redactor::new();
        let clean = |text: &mut String| *text = redactor.redact_text(text).text;
        clean(&mut report.text);
        clean(&mut report.command);
        clean(&mut report.printed);
        report.files.iter_mut().for_each(clean);
        report.at.get_or_insert(SystemClock.now());
        let line = serde_json::to_string(&UnsentLine {
            user: user.clone(),
            moment: HookArguments {
                event: event.to_owned(),
                report,
            },
            folder: None,
        })?;
        let folder = Folder::open_or_create_no_follow(&self.folder)?;
        let _alone = folder.lock(self.file_name("lock"), patience)?;
        if self.file_size(&folder)? as usize >= MOMENTS_MAX * MOMENT_BYTES_MIN {
            let mut lines = self.read_lines()?;
            let (before, bytes) = (lines.len(), |line: &String| line.len() + 1);
            let mut all = lines.iter().map(bytes).sum::<usize>() + line.len();
            if before >= MOMENTS_MAX || all > BYTES_MAX {
                let (count, room) = (MOMENTS_MAX, BYTES_MAX);
                let (count, room) = (count * STAY_PERCENT / 100, room * STAY_PERCENT / 100);
                let mut gone = 0;
                for line in &lines {
                    if before - gone <= count && all <= room {
                        break;
                    }
                    (gone, all) = (gone + 1, all - bytes(line));
                }
                lines.drain(..gone);
                let tally = self.read_tally();
                let dropped = tally.dropped + gone as u64;
                self.write_files(&folder, &lines, UnsentTally { dropped, ..tally })?;
            }
        }
        Ok(folder.append_line(self.file_name("jsonl"), line.as_bytes())?)
    }

    fn write_files(
        &self,
        folder: &Folder,
        lines: &[String],
        tally: UnsentTally,
    ) -> anyhow::Result<()> {
        let mut text = lines.join("\n");
        if !text.is_empty() {
            text.push('\n');
        }
        folder.replace(self.file_name("json"), &serde_json::to_vec(&tally)?)?;
        Ok(folder.replace(self.file_name("jsonl"), text.as_bytes())?)
    }

    /// Sends the waiting events, oldest first, until a deadline. Returns how many that the daemon
    /// may accept still wait, and whether it answered at all.
    pub(super) async fn send(
        &self,
        client: &Client,
        until: Instant,
    ) -> anyhow::Result<(usize, bool)> {
        if self.is_empty() {
            return Ok((0, false));
        }
        let folder = Folder::open_or_create_no_follow(&self.folder)?;
        // Only one process sends at a time, so that the order is kept.
        let patience = until.saturating_duration_since(Instant::now());
        let _sending = folder.lock(self.file_name("sending"), patience)?;
        let mut lines = self.read_lines()?;
        let (mut reached, mut most) = (false, FIRST);
        let mut shut = HashSet::new();
        while !lines.is_empty() {
            let (user, moments, sent) = next_batch(&lines, most);
            let left = until.saturating_duration_since(Instant::now());
            let refused = if let Some(user) = user {
                let count = moments.len();
                let call = Call::for_operation::<Moments>(&user, &MomentsArguments { moments })?;
                let asked = client.ask::<MomentsTaken>(&call);
                match tokio::time::timeout(left, asked).await {
                    Err(_) => break,
                    Ok(Ok(taken)) => taken.refused.len() as u64,
                    Ok(Err(problem)) if is_content_at_fault(problem.kind) && count == 1 => 1,
                    Ok(Err(problem)) if is_content_at_fault(problem.kind) => {
                        most = 1;
                        continue;
                    }
                    // Other users' events are sent even if this token may not act for one user.
                    Ok(Err(problem)) if problem.kind == ProblemKind::Forbidden => {
                        tracing::warn!(%user, %problem, "what waits of this user is not taken");
                        reached = true;
                        shut.insert(user);
                        lines = remove_lines_of_users(lines, &shut);
                        continue;
                    }
                    Ok(Err(problem)) if reached => {
                        tracing::debug!(%problem, "what waits was not told to its end");
                        break;
                    }
                    Ok(Err(problem)) => return Err(problem.into()),
                }
            } else {
                sent as u64
            };
            (reached, most) = (true, (most * 2).min(BATCH));
            let gone: HashSet<String> = lines.drain(..sent).collect();
            let _alone = folder.lock(self.file_name("lock"), TURN)?;
            lines = self.read_lines()?;
            lines.retain(|line| !gone.contains(line));
            let tally = self.read_tally();
            let refused = tally.refused + refused;
            self.write_files(&folder, &lines, UnsentTally { refused, ..tally })?;
            lines = remove_lines_of_users(lines, &shut);
        }
        Ok((lines.len(), reached))
    }

    /// Sends the waiting events before a command's own request; the rest waits for the next one.
    pub(super) async fn send_before_command(&self, client: &Client) {
        if let Err(error) = self.send(client, Instant::now() + COMMAND).await {
            tracing::debug!(%error, "what waits was not told");
        }
    }

    /// Starts a separate process that sends the rest, so that no hook waits for it.
    pub(super) fn spawn_sender(context: &Context) -> anyhow::Result<()> {
        let started = Self::build_sender(context)?.stdin(Stdio::null()).spawn();
        reap_in_background(started.context("no process could be started")?);
        Ok(())
    }

    /// Builds the command that sends what waits.
    fn build_sender(context: &Context) -> anyhow::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        if context.remote.is_none() {
            // The process starts a daemon only where there is a data directory.
            Folder::open_or_create(&context.places.data)?;
            command.args(super::daemon::global_options(context));
        } else if context.is_config_named {
            command.arg("--config").arg(&context.places.config);
        }
        command.args(["branch", "sync", "--unsent"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.process_group(0);
        Ok(command)
    }
}

/// Starts a process with these bytes as its stdin, and does not wait until it reads them: it may be
/// late on a busy machine, and a pipe holds only 64 KiB.
#[cfg(target_os = "linux")]
fn hand_over(command: &mut Command, bytes: &[u8]) -> anyhow::Result<()> {
    let memory = rustix::fs::memfd_create("reprise-late-event", MemfdFlags::CLOEXEC)?;
    let mut file = std::fs::File::from(memory);
    file.write_all(bytes)?;
    file.rewind()?;
    let started = command.stdin(file).spawn();
    reap_in_background(started.context("no process could be started")?);
    Ok(())
}

/// Starts a process with these bytes as its stdin.
#[cfg(not(target_os = "linux"))]
fn hand_over(command: &mut Command, bytes: &[u8]) -> anyhow::Result<()> {
    let child = command.stdin(Stdio::piped()).spawn();
    let mut child = child.context("no process could be started")?;
    let mut input = child.stdin.take().context("the process has no stdin")?;
    reap_in_background(child);
    Ok(input.write_all(bytes)?)
}

/// Removes the lines of users whom the daemon has refused.
fn remove_lines_of_users(mut lines: Vec<String>, shut: &HashSet<UserId>) -> Vec<String> {
    let is_shut = |line: &String| {
        let waiting = serde_json::from_str::<UnsentLine>(line);
        waiting.is_ok_and(|waiting| shut.contains(&waiting.user))
    };
    lines.retain(|line| shut.is_empty() || !is_shut(line));
    lines
}

/// Returns the first events of one user, and their number of lines. An unreadable first line counts
/// as a line without an event.
fn next_batch(lines: &[String], most: usize) -> (Option<UserId>, Vec<HookArguments>, usize) {
    let (mut user, mut moments, mut sent, mut bytes) = (None, Vec::new(), 0, 0);
    for line in lines {
        let Ok(waiting) = serde_json::from_str::<UnsentLine>(line) else {
            if moments.is_empty() {
                sent = 1;
            }
            break;
        };
        bytes += line.len();
        let is_other = user.as_ref().is_some_and(|user| *user != waiting.user);
        if is_other || moments.len() >= most || (bytes > BATCH_BYTES_MAX && !moments.is_empty()) {
            break;
        }
        user = Some(waiting.user);
        moments.push(waiting.moment);
        sent += 1;
    }
    (user, moments, sent)
}

/// Returns whether the events caused the problem, and not the connection or the token.
const fn is_content_at_fault(kind: ProblemKind) -> bool {
    matches!(kind, ProblemKind::Invalid | ProblemKind::TooLarge)
}

#[cfg(test)]
mod tests;
