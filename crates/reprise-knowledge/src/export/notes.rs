//! A Markdown note for each record, its fields in front matter and its text as it is; with an
//! `index.md` they are a bundle of the Open Knowledge Format 0.1.

use reprise_types::About;

use super::Telling;
use crate::carried::links;
use crate::import::parts_of;
use crate::prelude::*;

/// Characters of a file's name that come from what the record says.
const NAME_CHARS: usize = 48;
/// Bytes of a description.
const DESCRIPTION_BYTES: usize = 160;
/// The list of a bundle's notes.
pub(crate) const INDEX: &str = "index.md";
/// Keys of the front matter that say again what the record says.
const KEYS: [&str; 8] = [
    "type",
    "title",
    "description",
    "tags",
    "created",
    "timestamp",
    "links",
    CORNER,
];

/// The notes and their list.
pub(crate) fn files<'a>(
    told: impl Iterator<Item = &'a Telling>,
) -> Result<BTreeMap<PathBuf, Vec<u8>>, ExportError> {
    let mut files = BTreeMap::new();
    let mut listed: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for one in told {
        let record = &one.record;
        let name = file_name(one.first.as_ref().unwrap_or(record));
        let title = headline(&record.text).replace(['[', ']'], "");
        let line = format!("* [{title}]({name}) - {}\n", description(&record.text));
        let of_type = About::of(record).record_type.name();
        listed.entry(of_type).or_default().insert(line);
        files.insert(PathBuf::from(name), note(one)?.into_bytes());
    }
    let mut index = "---\nokf_version: \"0.1\"\n---\n".to_owned();
    for (of_type, lines) in listed {
        let lines: String = lines.into_iter().collect();
        index.extend(["# ", of_type, "\n\n", &lines, "\n"]);
    }
    files.insert(PathBuf::from(INDEX), index.into_bytes());
    Ok(files)
}

/// The note of a record.
pub(crate) fn note(one: &Telling) -> Result<String, ExportError> {
    let record = &one.record;
    let mut line = one.line.as_object().cloned().unwrap_or_default();
    line.remove("archive");
    line.remove("text");
    let fields = [
        ("type", json!(About::of(record).record_type.name())),
        ("title", json!(headline(&record.text))),
        ("description", json!(description(&record.text))),
        ("tags", json!(record.tags)),
        ("created", json!(record.timestamp)),
        ("timestamp", json!(record.known_at)),
        (CORNER, Value::Object(line)),
        ("links", links(&one.links)),
    ];
    let front = front_matter(&fields, &record.id.to_string())?;
    Ok(format!("{front}{}\n", record.text))
}

/// A head of YAML between its dashes, its fields in their order; `of` is what an error names.
pub(crate) fn front_matter(fields: &[(&str, Value)], of: &str) -> Result<String, ExportError> {
    let mut front = "---\n".to_owned();
    for (name, value) in fields {
        let field = BTreeMap::from([(*name, value)]);
        let yaml = serde_saphyr::to_string(&field);
        let yaml = yaml.map_err(|error| ExportError::unwritable(of, error))?;
        front.push_str(&yaml);
        if !yaml.ends_with('\n') {
            front.push('\n');
        }
    }
    Ok(front + "---\n")
}

/// Whether two notes say the same, and nothing stands in the head of the first that memory did not
/// write: then nothing of a person's is lost with it.
pub(crate) fn says_the_same(there: &[u8], ours: &[u8]) -> bool {
    let parts = |note: &[u8]| {
        let text = std::str::from_utf8(note).ok()?;
        let (front, body) = parts_of(text);
        let is_own = front.keys().all(|key| KEYS.contains(&key.as_str()));
        is_own.then(|| (front.get("tags").cloned(), body.to_owned()))
    };
    let there = parts(there);
    there.is_some() && there == parts(ours)
}

/// What the file of a record is called, by the first of its versions: it stays so.
pub(crate) fn file_name(first: &MemoryRecord) -> String {
    let plain = plain_name(&first.text, NAME_CHARS);
    format!("{plain}-{}.md", first.id)
}

/// How a text begins, as a part of a file's name.
pub(crate) fn plain_name(text: &str, chars: usize) -> String {
    let name = normal_tag(headline(text)).unwrap_or_default();
    let plain = name.chars();
    let plain = plain.filter(|c| c.is_alphanumeric() || *c == '-');
    plain.take(chars).collect()
}

/// The first version of a record that is still there.
pub(crate) fn first_of(memory: &Snapshot, record: &MemoryRecord) -> Option<MemoryRecord> {
    record.supersedes?;
    memory.versions(record.id).pop()
}

pub(crate) fn headline(text: &str) -> &str {
    let first = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    let first = first.trim_start_matches(['#', ' ']);
    &first[..first.floor_char_boundary(80)]
}

/// One line of the text.
fn description(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(DESCRIPTION_BYTES).collect();
    let line = words.join(" ");
    let line = line.trim_start_matches(['#', ' ']);
    line[..line.floor_char_boundary(DESCRIPTION_BYTES)].to_owned()
}
