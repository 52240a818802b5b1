//! Reads and writes `.reprise/shared` of a repository: lessons that were reviewed in a diff and
//! arrive by `git pull`, one Markdown file each. A clone is not trusted: files are read within
//! limits and only below the folder, only title and tags of their front matter count, and a line
//! with a secret is left out, both when a file is written and when it is read.

use reprise_files::{FileFingerprint, FileKind, FileStatus as Looked};
use reprise_types::UserId;

use crate::export::notes::{cut_headline, file_name_part, render_front_matter};
use crate::import::split_front_matter;
use crate::prelude::*;

/// Folder of the shared lessons, below the root of a checkout.
pub const SHARED_FOLDER: &str = ".reprise/shared";
/// Most files of one repository that are read.
const FILES_MAX: usize = 1_000;
/// Longest file that is read.
const FILE_BYTES_MAX: u64 = 64 * 1024;
/// Most tags of a lesson.
const TAGS_MAX: usize = 16;
const TAG_BYTES_MAX: usize = 64;
/// Longest list of trusted checkouts that is read.
const TRUSTED_BYTES_MAX: u64 = 1 << 20;
/// Digits of the hashes in an external id.
const DIGITS: usize = 16;

/// Names and fingerprints of the files, which tell whether they have changed.
pub type SharedState = Vec<(PathBuf, FileFingerprint)>;

/// A checkout whose lessons a user wants to recall.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TrustedCheckout {
    pub user: UserId,
    /// Root of the checkout.
    pub root: PathBuf,
    /// Its project when it was trusted: another repository at that path is not trusted.
    pub project: String,
}

impl TrustedCheckout {
    /// Returns the id of the memory of its lessons.
    pub fn memory_id(&self) -> Option<UserId> {
        let digits = sha256_hex(self.root.as_os_str().as_encoded_bytes());
        format!(
            "{}{}{}",
            self.user,
            UserId::REPOSITORY_INFIX,
            digits.get(..8)?
        )
        .parse()
        .ok()
    }
}

/// Returns the file in a data directory that lists the trusted checkouts.
#[must_use]
pub fn trusted_list_path(data: &Path) -> PathBuf {
    data.join(".reprise").join("trusted.json")
}

/// Reads the trusted checkouts of a list.
pub fn read_trusted_checkouts(file: &Path) -> Result<Vec<TrustedCheckout>, String> {
    let read = read_if_exists(file, TRUSTED_BYTES_MAX).map_err(|error| error.to_string())?;
    let Some(bytes) = read else {
        return Ok(Vec::new());
    };
    serde_json::from_slice(&bytes).map_err(|error| format!("{}: {error}", file.display()))
}

/// The shared lessons of a repository, and the problems of its files.
#[derive(Debug, Default)]
pub struct SharedLessons {
    /// Lessons, whose external ids come from their file's path and content.
    pub lessons: Vec<NewRecord>,
    /// A sentence for each problem, with the file.
    pub problems: Vec<String>,
}

/// Function that returns a text without its secrets, and the rule that found each.
pub type CleanFn<'a> = dyn Fn(&str) -> (String, Vec<String>) + 'a;

/// Reads the names and fingerprints of the shared files; empty if a repository shares nothing.
pub fn read_shared_state(root: &Path) -> Result<SharedState, FileError> {
    Ok(list_shared_files(root)?.map_or_else(Vec::new, |(_, files, _)| files))
}

/// Reads what the repository at `root` shares, as lessons of `project`.
pub fn read_shared_lessons(
    root: &Path,
    project: &str,
    clean: &CleanFn<'_>,
) -> Result<SharedLessons, FileError> {
    let mut shared = SharedLessons::default();
    let Some((folder, files, problems)) = list_shared_files(root)? else {
        return Ok(shared);
    };
    shared.problems = problems;
    for (name, _) in files {
        let path = Path::new(SHARED_FOLDER).join(&name);
        let shown = path.display().to_string();
        let text = match folder.read_text(&name, FILE_BYTES_MAX) {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            Err(error) => {
                shared
                    .problems
                    .push(format!("{shown} is left out: {error}"));
                continue;
            }
        };
        let (text, rules) = drop_lines_with_secrets(&text, clean);
        for rule in rules {
            let problem =
                format!("{shown}: a line with a secret ({rule}) is left out; change the secret");
            shared.problems.push(problem);
        }
        match parse_lesson(&shown, &text, project) {
            Some(record) => shared.lessons.push(record),
            None => shared
                .problems
                .push(format!("{shown} is left out: it says nothing")),
        }
    }
    Ok(shared)
}

type SharedFiles = (Folder, SharedState, Vec<String>);

fn list_shared_files(root: &Path) -> Result<Option<SharedFiles>, FileError> {
    let root = Folder::find(root)?;
    let folder = root
        .map(|root| root.find_folder(SHARED_FOLDER))
        .transpose()?;
    let Some(folder) = folder.flatten() else {
        return Ok(None);
    };
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    for entry in folder.list(FILES_MAX)? {
        let name = PathBuf::from(entry.name);
        let is_note = name.extension().is_some_and(|ending| ending == "md");
        if !is_note || name.file_name().is_some_and(|name| name == "index.md") {
            continue;
        }
        match folder.find_status(&name)? {
            Some(Looked {
                kind: FileKind::File,
                fingerprint: stamp,
                ..
            }) => files.push((name, stamp)),
            Some(found) => problems.push(format!(
                "{SHARED_FOLDER}/{} is left out: it is {}",
                name.display(),
                found.kind
            )),
            None => {}
        }
    }
    Ok(Some((folder, files, problems)))
}

/// Returns the lines without secrets. A line with a replaced secret is no line of the file.
fn drop_lines_with_secrets(text: &str, clean: &CleanFn<'_>) -> (String, Vec<String>) {
    let (cleaned, rules) = clean(text);
    if rules.is_empty() {
        return (cleaned, rules);
    }
    let own: HashSet<&str> = text.lines().collect();
    let kept: Vec<&str> = cleaned.lines().filter(|line| own.contains(line)).collect();
    (kept.join("\n"), rules)
}

fn parse_lesson(path: &str, text: &str, project: &str) -> Option<NewRecord> {
    let (front, body) = split_front_matter(text);
    let body = body.trim();
    if body.is_empty() {
        return None;
    }
    let title = front.get("title").and_then(Value::as_str).map(str::trim);
    let title = title.filter(|title| !title.is_empty() && title.len() <= 1_024);
    let says = match title {
        Some(title) if !body.contains(title) => format!("{title}\n\n{body}"),
        _ => body.to_owned(),
    };
    let tags = list_texts(front.get("tags")).filter_map(normalize_tag);
    let is_plain = |tag: &String| tag.len() <= TAG_BYTES_MAX && !tag.contains(':');
    let mut record = NewRecord::new(says, MemorySource::WorkerResult, MemoryKind::Finding);
    record.tags = tags.filter(is_plain).take(TAGS_MAX).collect();
    record.tags.push(format!("project:{project}"));
    let mut hash = sha256_hex(text.as_bytes());
    hash.truncate(DIGITS);
    let name = sha256_hex(path.as_bytes());
    record.external_ids = vec![ExternalId::new(
        ExternalId::NOTES,
        format!("{}@{hash}", &name[..DIGITS]),
    )];
    record.provenance.source_refs = vec![path.to_owned()];
    record.details = Some(json!({ "type": "lesson_of_repository", "path": path, "title": title }));
    Some(record)
}

/// Writes a record as a shared lesson of the repository at `root`, so that its diff can be
/// reviewed, and returns the file.
pub fn write_shared_lesson(
    root: &Path,
    record: &MemoryRecord,
    clean: &CleanFn<'_>,
) -> Result<PathBuf, ExportError> {
    let unwritable = |why: String| ExportError::unwritable(record.id, why);
    record
        .check_release(ReleaseTarget::Publication)
        .map_err(|why| unwritable(why.to_string()))?;
    let (_, rules) = clean(&record.text);
    if let Some(rule) = rules.first() {
        let why = format!("it holds a secret ({rule}); `reprise edit` takes it out");
        return Err(unwritable(why));
    }
    let tags = record.tags.iter().filter(|tag| !tag.contains(':'));
    let fields = [
        ("type", json!("Lesson")),
        ("title", json!(cut_headline(&record.text))),
        ("tags", json!(tags.collect::<Vec<_>>())),
        ("timestamp", json!(record.known_at)),
    ];
    let content =
        render_front_matter(&fields, &record.id.to_string())? + record.text.trim_end() + "\n";
    let name = file_name_part(&record.text, 60);
    let name = if name.is_empty() { "lesson" } else { &name };
    let name = PathBuf::from(format!("{name}.md"));
    let folder = Folder::open(root)?
        .with_shared_modes()
        .open_or_create_folder(SHARED_FOLDER)?;
    let path = Path::new(SHARED_FOLDER).join(&name);
    let there = folder.read(&name, FILE_BYTES_MAX)?;
    let is_shared = match &there {
        Some(there) => there == content.as_bytes(),
        None => {
            folder.replace_if_unchanged(&name, content.as_bytes(), None)? == ChangeOutcome::Applied
        }
    };
    if is_shared {
        return Ok(path);
    }
    Err(unwritable(format!(
        "`{}` says something else and stays as it is; edit that, or remove it and share again",
        path.display()
    )))
}

#[cfg(test)]
mod tests;
