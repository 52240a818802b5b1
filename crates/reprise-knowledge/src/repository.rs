//! `.reprise/shared` of a repository: lessons that were reviewed in a diff and arrive by `git
//! pull`, one Markdown file each. A clone is other people's: files are looked at within bounds and
//! beneath the folder alone, of their front matter only a title and tags count, and a line with a
//! secret is left out both when a file is written and when it is read.

use reprise_files::{Found as Looked, Kind, Stamp};
use reprise_types::UserId;

use crate::export::notes::{front_matter, headline, plain_name};
use crate::import::parts_of;
use crate::prelude::*;

/// Where they stand below the root of a checkout.
pub const SHARED: &str = ".reprise/shared";
/// Most files of one repository that are looked at.
const FILES_MAX: usize = 1_000;
/// Longest of them.
const FILE_BYTES_MAX: u64 = 64 * 1024;
/// Most tags of one, and the longest.
const TAGS_MAX: usize = 16;
const TAG_BYTES_MAX: usize = 64;
/// Longest list of who is trusted.
const TRUSTED_BYTES_MAX: u64 = 1 << 20;
/// Digits of a content's hash in a name.
const DIGITS: usize = 16;

/// What says whether the files are as they were when they were read.
pub type SharedState = Vec<(PathBuf, Stamp)>;

/// A checkout whose lessons a user lets answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Trusted {
    pub user: UserId,
    /// Its root.
    pub root: PathBuf,
    /// What it was when it was trusted: another repository at its place is not.
    pub project: String,
}

impl Trusted {
    /// The memory of its lessons.
    pub fn memory(&self) -> Option<UserId> {
        let digits = sha256_hex(self.root.as_os_str().as_encoded_bytes());
        format!("{}{}{}", self.user, UserId::REPOSITORY, digits.get(..8)?)
            .parse()
            .ok()
    }
}

/// Where a data directory lists the checkouts that are trusted.
#[must_use]
pub fn trusted_file(data: &Path) -> PathBuf {
    data.join(".reprise").join("trusted.json")
}

/// The checkouts that a file lists.
pub fn trusted_in(file: &Path) -> Result<Vec<Trusted>, String> {
    let read = read_named(file, TRUSTED_BYTES_MAX).map_err(|error| error.to_string())?;
    let Some(bytes) = read else {
        return Ok(Vec::new());
    };
    serde_json::from_slice(&bytes).map_err(|error| format!("{}: {error}", file.display()))
}

/// The lessons of a repository, and what of its files is not used.
#[derive(Debug, Default)]
pub struct Shared {
    /// Each is named by its file and what that says.
    pub lessons: Vec<NewRecord>,
    /// A sentence each, with the file.
    pub problems: Vec<String>,
}

/// A text without its secrets, and the rule that found each.
pub type Clean<'a> = dyn Fn(&str) -> (String, Vec<String>) + 'a;

/// A look at names and times alone; empty where a repository shares nothing.
pub fn shared_state(root: &Path) -> Result<SharedState, FileError> {
    Ok(files(root)?.map_or_else(Vec::new, |(_, files, _)| files))
}

/// Reads what the repository at `root` shares, as lessons of `project`.
pub fn read_shared(root: &Path, project: &str, clean: &Clean<'_>) -> Result<Shared, FileError> {
    let mut shared = Shared::default();
    let Some((folder, files, problems)) = files(root)? else {
        return Ok(shared);
    };
    shared.problems = problems;
    for (name, _) in files {
        let path = Path::new(SHARED).join(&name);
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
        let (text, rules) = without_secrets(&text, clean);
        for rule in rules {
            let told =
                format!("{shown}: a line with a secret ({rule}) is left out; change the secret");
            shared.problems.push(told);
        }
        match lesson(&shown, &text, project) {
            Some(record) => shared.lessons.push(record),
            None => shared
                .problems
                .push(format!("{shown} is left out: it says nothing")),
        }
    }
    Ok(shared)
}

type Files = (Folder, SharedState, Vec<String>);

fn files(root: &Path) -> Result<Option<Files>, FileError> {
    let root = Folder::find(root)?;
    let folder = root.map(|root| root.find_folder(SHARED)).transpose()?;
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
        match folder.look(&name)? {
            Some(Looked {
                kind: Kind::File,
                stamp,
                ..
            }) => files.push((name, stamp)),
            Some(found) => problems.push(format!(
                "{SHARED}/{} is left out: it is {}",
                name.display(),
                found.kind
            )),
            None => {}
        }
    }
    Ok(Some((folder, files, problems)))
}

/// The lines that hold no secret. What replaces one stands on no line of the file.
fn without_secrets(text: &str, clean: &Clean<'_>) -> (String, Vec<String>) {
    let (cleaned, rules) = clean(text);
    if rules.is_empty() {
        return (cleaned, rules);
    }
    let own: HashSet<&str> = text.lines().collect();
    let kept: Vec<&str> = cleaned.lines().filter(|line| own.contains(line)).collect();
    (kept.join("\n"), rules)
}

fn lesson(path: &str, text: &str, project: &str) -> Option<NewRecord> {
    let (front, body) = parts_of(text);
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
    let tags = texts(front.get("tags")).filter_map(normal_tag);
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

/// Writes a record as a lesson of the repository at `root`, for its diff to be reviewed; answers
/// the file. The error is a sentence.
pub fn share(
    root: &Path,
    record: &MemoryRecord,
    clean: &Clean<'_>,
) -> Result<PathBuf, ExportError> {
    let unwritable = |why: String| ExportError::unwritable(record.id, why);
    record
        .may_leave(WayOut::Publication)
        .map_err(|why| unwritable(why.to_string()))?;
    let (_, rules) = clean(&record.text);
    if let Some(rule) = rules.first() {
        let why = format!("it holds a secret ({rule}); `reprise edit` takes it out");
        return Err(unwritable(why));
    }
    let tags = record.tags.iter().filter(|tag| !tag.contains(':'));
    let fields = [
        ("type", json!("Lesson")),
        ("title", json!(headline(&record.text))),
        ("tags", json!(tags.collect::<Vec<_>>())),
        ("timestamp", json!(record.known_at)),
    ];
    let content = front_matter(&fields, &record.id.to_string())? + record.text.trim_end() + "\n";
    let name = plain_name(&record.text, 60);
    let name = if name.is_empty() { "lesson" } else { &name };
    let name = PathBuf::from(format!("{name}.md"));
    let folder = Folder::open(root)?.shared().make_folder(SHARED)?;
    let path = Path::new(SHARED).join(&name);
    let there = folder.read(&name, FILE_BYTES_MAX)?;
    let is_shared = match &there {
        Some(there) => there == content.as_bytes(),
        None => folder.replace_if(&name, content.as_bytes(), None)? == Placed::Done,
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
