//! Writes a Markdown note for each record, with its fields in front matter and its text unchanged;
//! with an `index.md` they are a bundle of the Open Knowledge Format 0.2.

use reprise_types::RecordByline;

use super::OutgoingRecord;
use crate::carried::encode_links;
use crate::import::split_front_matter;
use crate::prelude::*;

/// Most characters of a file's name that come from the record's text.
const NAME_CHARS: usize = 48;
/// Most bytes of a description.
const DESCRIPTION_BYTES: usize = 160;
/// File with the list of all notes.
pub(crate) const INDEX: &str = "index.md";
/// Keys of the front matter that memory writes.
const KEYS: [&str; 8] = [
    "type",
    "title",
    "description",
    "tags",
    "created",
    "timestamp",
    "links",
    CARRIER_FIELD,
];

/// Renders the notes and their list.
pub(crate) fn render_notes<'a>(
    records: impl Iterator<Item = &'a OutgoingRecord>,
) -> Result<BTreeMap<PathBuf, Vec<u8>>, ExportError> {
    let mut files = BTreeMap::new();
    let mut lines_by_type: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for one in records {
        let record = &one.record;
        let name = note_file_name(one.first.as_ref().unwrap_or(record));
        let title = cut_headline(&record.text).replace(['[', ']'], "");
        let line = format!(
            "* [{title}]({name}) - {}\n",
            one_line_description(&record.text)
        );
        let of_type = RecordByline::of(record).record_type.name();
        lines_by_type.entry(of_type).or_default().insert(line);
        files.insert(PathBuf::from(name), render_note(one)?.into_bytes());
    }
    let mut index = "---\nokf_version: \"0.2\"\n---\n".to_owned();
    for (of_type, lines) in lines_by_type {
        let lines: String = lines.into_iter().collect();
        index.extend(["# ", of_type, "\n\n", &lines, "\n"]);
    }
    files.insert(PathBuf::from(INDEX), index.into_bytes());
    Ok(files)
}

/// Renders the note of a record.
pub(crate) fn render_note(one: &OutgoingRecord) -> Result<String, ExportError> {
    let record = &one.record;
    let mut line = one.line.as_object().cloned().unwrap_or_default();
    line.remove("archive");
    line.remove("text");
    let fields = [
        ("type", json!(RecordByline::of(record).record_type.name())),
        ("title", json!(cut_headline(&record.text))),
        ("description", json!(one_line_description(&record.text))),
        ("tags", json!(record.tags)),
        ("created", json!(record.timestamp)),
        ("timestamp", json!(record.known_at)),
        (CARRIER_FIELD, Value::Object(line)),
        ("links", encode_links(&one.links)),
    ];
    let front = render_front_matter(&fields, &record.id.to_string())?;
    Ok(format!("{front}{}\n", record.text))
}

/// Renders a head of YAML between dashes, with the fields in their order; an error names `of`.
pub(crate) fn render_front_matter(
    fields: &[(&str, Value)],
    of: &str,
) -> Result<String, ExportError> {
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

/// Whether two notes say the same, and the first has only keys that memory writes, so that
/// replacing it loses nothing of a person's.
pub(crate) fn is_same_note(there: &[u8], ours: &[u8]) -> bool {
    let parts = |note: &[u8]| {
        let text = std::str::from_utf8(note).ok()?;
        let (front, body) = split_front_matter(text);
        let is_own = front.keys().all(|key| KEYS.contains(&key.as_str()));
        is_own.then(|| (front.get("tags").cloned(), body.to_owned()))
    };
    let there = parts(there);
    there.is_some() && there == parts(ours)
}

/// Returns the file name of a record, from its first version, so that it never changes.
pub(crate) fn note_file_name(first: &MemoryRecord) -> String {
    let plain = file_name_part(&first.text, NAME_CHARS);
    format!("{plain}-{}.md", first.id)
}

/// Returns the beginning of a text as a part of a file name.
pub(crate) fn file_name_part(text: &str, chars: usize) -> String {
    let name = normalize_tag(cut_headline(text)).unwrap_or_default();
    let plain = name.chars();
    let plain = plain.filter(|c| c.is_alphanumeric() || *c == '-');
    plain.take(chars).collect()
}

pub(crate) fn cut_headline(text: &str) -> &str {
    let first = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    let first = first.trim_start_matches(['#', ' ']);
    &first[..first.floor_char_boundary(80)]
}

/// Returns the beginning of the text on one line.
fn one_line_description(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(DESCRIPTION_BYTES).collect();
    let line = words.join(" ");
    let line = line.trim_start_matches(['#', ' ']);
    line[..line.floor_char_boundary(DESCRIPTION_BYTES)].to_owned()
}
