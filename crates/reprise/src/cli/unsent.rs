//! What hooks could not tell a daemon elsewhere: kept on disk without secrets, in order, and told
//! by whoever reaches it next. What is told twice is kept once there, by its session and its words.
//!
//! One file for each daemon, a moment a line. Beyond a bound the oldest go, and are counted.

use std::os::unix::process::CommandExt;

use reprise_operations::HookReport;
use reprise_operations::operations::sessions::{
    HookArguments, Moments, MomentsArguments, MomentsTaken,
};
use reprise_types::sha256_hex;

use crate::cli::prelude::*;

/// The folder of these files, among the program's state.
const FOLDER: &str = "unsent";
/// Most moments of one daemon that wait, and most bytes of them.
const MOMENTS_MAX: usize = 10_000;
const BYTES_MAX: usize = 16 * 1024 * 1024;
/// No moment has fewer bytes than this: shorter files need no count.
const MOMENT_BYTES_MIN: usize = 64;
/// Of too many so many in a hundred stay.
const STAY_PERCENT: usize = 90;
/// Moments of the first request and of any, and bytes of one.
const FIRST: usize = 8;
const BATCH: usize = 64;
const BATCH_BYTES_MAX: usize = 256 * 1024;
/// How long a change of the file waits for another.
const TURN: Duration = Duration::from_secs(1);
/// How long a command goes on sending before it asks for itself.
const COMMAND: Duration = Duration::from_secs(20);
const TALLY_BYTES_MAX: u64 = 4_096;

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct Waiting {
    user: UserId,
    moment: HookArguments,
}

/// What became of moments that do not wait any more and were not kept.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Tally {
    /// Too many waited.
    pub(super) dropped: u64,
    /// The daemon did not take them.
    pub(super) refused: u64,
}

/// What waits for one daemon.
#[derive(Debug)]
pub(super) struct Unsent {
    folder: PathBuf,
    name: String,
}

impl Unsent {
    /// `None` where memory is on this machine.
    pub(super) fn of(context: &Context) -> Option<Self> {
        let url = &context.remote.as_ref()?.url;
        let name = sha256_hex(url.trim_end_matches('/').as_bytes());
        Some(Self {
            folder: context.places.state.join(FOLDER),
            name: name.chars().take(16).collect(),
        })
    }

    /// How many moments wait for the daemon elsewhere, and what became of others.
    pub(super) fn state(context: &Context) -> (usize, Tally) {
        let own = Self::of(context);
        own.map_or_else(Default::default, |own| (own.waiting(), own.tally()))
    }

    fn file(&self, ending: &str) -> String {
        format!("{}.{ending}", self.name)
    }

    fn lines(&self) -> anyhow::Result<Vec<String>> {
        let Some(folder) = Folder::find_own(&self.folder)? else {
            return Ok(Vec::new());
        };
        // A line may be on its way beyond the bound.
        let bytes = folder.read(self.file("jsonl"), 2 * BYTES_MAX as u64)?;
        let bytes = bytes.unwrap_or_default();
        // One that was cut within a letter is a line that cannot be read, and not the end of all.
        let text = String::from_utf8_lossy(&bytes);
        // A last line without its end was cut.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines = whole.lines().filter(|line| !line.is_empty());
        Ok(lines.map(str::to_owned).collect())
    }

    fn bytes(&self, folder: &Folder) -> anyhow::Result<u64> {
        let file = folder.find_file(self.file("jsonl"))?;
        Ok(file.map_or(Ok(0), |file| file.metadata().map(|file| file.len()))?)
    }

    /// Whether nothing waits, as far as that is known without reading it.
    pub(super) fn is_empty(&self) -> bool {
        let is_none = |folder: Folder| self.bytes(&folder).is_ok_and(|bytes| bytes == 0);
        Folder::find_own(&self.folder).is_ok_and(|folder| folder.is_none_or(is_none))
    }

    pub(super) fn waiting(&self) -> usize {
        self.lines().map_or(0, |lines| lines.len())
    }

    fn tally(&self) -> Tally {
        let folder = Folder::find_own(&self.folder).ok().flatten();
        let text = folder.and_then(|folder| {
            let text = folder.read_text(self.file("json"), TALLY_BYTES_MAX);
            text.ok().flatten()
        });
        text.and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default()
    }

    /// Has what takes secrets out made ready beside whatever is waited for: that takes a while.
    pub(super) fn warm() {
        std::thread::spawn(|| Redactor::new().redact_text(""));
    }

    /// Keeps a moment until it can be told, without what no disk may get.
    pub(super) fn push(
        &self,
        user: &UserId,
        event: &str,
        mut report: HookReport,
    ) -> anyhow::Result<()> {
        let redactor = Redactor::new();
        let clean = |text: &mut String| *text = redactor.redact_text(text).text;
        clean(&mut report.text);
        clean(&mut report.command);
        report.files.iter_mut().for_each(clean);
        report.at = Some(SystemClock.now());
        let line = serde_json::to_string(&Waiting {
            user: user.clone(),
            moment: HookArguments {
                event: event.to_owned(),
                report,
            },
        })?;
        let folder = Folder::make_own(&self.folder)?;
        let _alone = folder.lock(self.file("lock"), TURN)?;
        if self.bytes(&folder)? as usize >= MOMENTS_MAX * MOMENT_BYTES_MIN {
            let mut lines = self.lines()?;
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
                let tally = self.tally();
                let dropped = tally.dropped + gone as u64;
                self.write(&folder, &lines, Tally { dropped, ..tally })?;
            }
        }
        Ok(folder.append_line(self.file("jsonl"), line.as_bytes())?)
    }

    fn write(&self, folder: &Folder, lines: &[String], tally: Tally) -> anyhow::Result<()> {
        let mut text = lines.join("\n");
        if !text.is_empty() {
            text.push('\n');
        }
        folder.replace(self.file("json"), &serde_json::to_vec(&tally)?)?;
        Ok(folder.replace(self.file("jsonl"), text.as_bytes())?)
    }

    /// Tells the daemon what waits, oldest first, until a moment. Answers how many still wait that
    /// it may take, and whether it has answered at all.
    pub(super) async fn send(
        &self,
        client: &Client,
        until: Instant,
    ) -> anyhow::Result<(usize, bool)> {
        if self.is_empty() {
            return Ok((0, false));
        }
        let folder = Folder::make_own(&self.folder)?;
        // One sends at a time, so that the order holds.
        let patience = until.saturating_duration_since(Instant::now());
        let _sending = folder.lock(self.file("sending"), patience)?;
        let mut lines = self.lines()?;
        let (mut reached, mut most) = (false, FIRST);
        let mut shut = HashSet::new();
        while !lines.is_empty() {
            let (user, moments, sent) = batch(&lines, most);
            let left = until.saturating_duration_since(Instant::now());
            let refused = if let Some(user) = user {
                let count = moments.len();
                let call = Call::of::<Moments>(&user, &MomentsArguments { moments })?;
                let asked = client.ask::<MomentsTaken>(&call);
                match tokio::time::timeout(left, asked).await {
                    Err(_) => break,
                    Ok(Ok(taken)) => taken.refused.len() as u64,
                    Ok(Err(problem)) if is_of_line(problem.kind) && count == 1 => 1,
                    Ok(Err(problem)) if is_of_line(problem.kind) => {
                        most = 1;
                        continue;
                    }
                    // Nobody else waits for a user whom this token does not speak for.
                    Ok(Err(problem)) if problem.kind == ProblemKind::Forbidden => {
                        tracing::warn!(%user, %problem, "what waits of this user is not taken");
                        reached = true;
                        shut.insert(user);
                        lines = open(lines, &shut);
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
            let _alone = folder.lock(self.file("lock"), TURN)?;
            lines = self.lines()?;
            lines.retain(|line| !gone.contains(line));
            let tally = self.tally();
            let refused = tally.refused + refused;
            self.write(&folder, &lines, Tally { refused, ..tally })?;
            lines = open(lines, &shut);
        }
        Ok((lines.len(), reached))
    }

    /// The same before a command asks for itself; what stays waits for the next.
    pub(super) async fn send_first(&self, client: &Client) {
        if let Err(error) = self.send(client, Instant::now() + COMMAND).await {
            tracing::debug!(%error, "what waits was not told");
        }
    }

    /// Sends the rest in a process of its own, which no hook waits for.
    pub(super) fn send_aside(context: &Context) -> anyhow::Result<()> {
        let mut command = Command::new(std::env::current_exe()?);
        if context.is_config_named {
            command.arg("--config").arg(&context.places.config);
        }
        command.args(["sync", "--unsent"]);
        let quiet = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let started = quiet.process_group(0).spawn();
        started.map(drop).context("no process could be started")
    }
}

/// The lines of those who are not shut out.
fn open(mut lines: Vec<String>, shut: &HashSet<UserId>) -> Vec<String> {
    let is_shut = |line: &String| {
        let waiting = serde_json::from_str::<Waiting>(line);
        waiting.is_ok_and(|waiting| shut.contains(&waiting.user))
    };
    lines.retain(|line| shut.is_empty() || !is_shut(line));
    lines
}

/// The first moments of one user, and how many lines they are. A line that cannot be read is one of
/// them and no moment.
fn batch(lines: &[String], most: usize) -> (Option<UserId>, Vec<HookArguments>, usize) {
    let (mut user, mut moments, mut sent, mut bytes) = (None, Vec::new(), 0, 0);
    for line in lines {
        let Ok(waiting) = serde_json::from_str::<Waiting>(line) else {
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

/// Whether what was sent is at fault, and not the way or the token.
const fn is_of_line(kind: ProblemKind) -> bool {
    matches!(kind, ProblemKind::Invalid | ProblemKind::TooLarge)
}

#[cfg(test)]
mod tests;
