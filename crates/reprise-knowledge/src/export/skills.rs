//! Writes lessons that helped often enough as Agent Skills (agentskills.io): a folder with a
//! `SKILL.md` each. They are proposals: the caller shows them before it writes them.

use super::notes::{cut_headline, render_front_matter};
use crate::prelude::*;
use crate::projection::{ProposalReport, write_proposals};

/// Fewest successful runs with a record for it to be proposed.
pub const SUCCESSES_MIN: usize = 3;
/// Longest name of a skill.
const NAME_CHARS: usize = 64;
const DESCRIPTION_CHARS: usize = 1_024;
/// Most lessons of one skill, because its body is read whole.
const LESSONS_MAX: usize = 20;

/// A proposed skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    /// Content of its `SKILL.md`.
    pub content: String,
    pub lessons: usize,
}

/// Proposes a skill for each subject of a project, which is the first plain tag of its lessons.
/// Each lesson comes with the number of runs that succeeded with it.
pub fn propose_skills(lessons: &[(MemoryRecord, usize)]) -> Result<Vec<Skill>, ExportError> {
    let mut groups: BTreeMap<(String, String), Vec<&(MemoryRecord, usize)>> = BTreeMap::new();
    for one in lessons {
        let (record, successes) = one;
        let may_leave = record.check_release(ReleaseTarget::Export).is_ok();
        if *successes < SUCCESSES_MIN || record.kind == MemoryKind::Episode || !may_leave {
            continue;
        }
        let mut tags = record.tags.iter();
        let project = tags.find_map(|tag| tag.strip_prefix("project:"));
        let project = project.map_or("", |name| name.rsplit('/').next().unwrap_or(name));
        let subject = record.tags.iter().find(|tag| !tag.contains(':'));
        let key = (project.to_owned(), subject.cloned().unwrap_or_default());
        groups.entry(key).or_default().push(one);
    }
    let mut named: BTreeMap<String, Skill> = BTreeMap::new();
    for ((project, subject), mut of) in groups {
        of.sort_by(|(a, more), (b, less)| less.cmp(more).then(a.id.cmp(&b.id)));
        of.truncate(LESSONS_MAX);
        let words = [project.as_str(), subject.as_str()];
        let title: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let first = skill_name(&title.join(" "));
        let (mut name, mut number) = (first.clone(), 1_usize);
        while named.contains_key(&name) {
            number += 1;
            name = format!("{first}-{number}");
        }
        let skill = Skill {
            content: render_skill(&name, &title.join(": "), &of)?,
            lessons: of.len(),
            name: name.clone(),
        };
        named.insert(name, skill);
    }
    Ok(named.into_values().collect())
}

/// Writes skills below a folder. Files that a person wrote or changed are left as they are.
pub fn write_skills(
    place: &Path,
    home: &Path,
    skills: &[Skill],
) -> Result<ProposalReport, ExportError> {
    let files = skills.iter().map(|skill| {
        let path = PathBuf::from(&skill.name).join("SKILL.md");
        (path, skill.content.clone().into_bytes())
    });
    write_proposals(place, home, &files.collect())
}

/// Returns a name of lower-case letters, digits and single hyphens.
fn skill_name(title: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { ' ' };
    let words: String = title.to_ascii_lowercase().chars().map(plain).collect();
    let words: Vec<&str> = words.split_whitespace().collect();
    let name: String = words.join("-").chars().take(NAME_CHARS - 8).collect();
    match name.trim_end_matches('-') {
        "" => "lessons".to_owned(),
        name => name.to_owned(),
    }
}

fn render_skill(
    name: &str,
    title: &str,
    lessons: &[&(MemoryRecord, usize)],
) -> Result<String, ExportError> {
    let of = if title.is_empty() {
        "earlier work"
    } else {
        title
    };
    let heads: Vec<&str> = lessons
        .iter()
        .map(|(one, _)| cut_headline(&one.text))
        .collect();
    let description = format!(
        "What earlier sessions learned of {of}, each of which helped {SUCCESSES_MIN} times or more. Use \
         it when a task touches on: {}",
        heads.join("; ")
    );
    let description: String = description.chars().take(DESCRIPTION_CHARS).collect();
    let records = lessons.iter().map(|(one, _)| one.id.to_string());
    let fields = [
        ("name", json!(name)),
        ("description", json!(description)),
        (
            "metadata",
            json!({ "by": "reprise", "records": records.collect::<Vec<_>>().join(" ") }),
        ),
    ];
    let mut body = format!("{}# {of}\n", render_front_matter(&fields, name)?);
    body.push_str("\nNotes of earlier sessions: check what could have changed since.\n");
    for (lesson, successes) in lessons {
        let (head, text) = (cut_headline(&lesson.text), lesson.text.trim());
        let rest = text.trim_start_matches(['#', ' ']);
        let rest = rest.strip_prefix(head).unwrap_or(text).trim();
        body.extend(["\n## ", head, "\n\n"]);
        if !rest.is_empty() {
            body.extend([rest, "\n\n"]);
        }
        body.extend(["(helped ", &successes.to_string(), " times)\n"]);
    }
    Ok(body)
}

#[cfg(test)]
mod tests;
