//! Our processes on this machine: what each does, how old it is, and whether it is still needed.

use super::Finding;
use crate::cli::prelude::*;

/// Programs of ours, by the names of their files.
const PROGRAMS: [&str; 3] = ["reprise", "reprise-global", "reprise-seal"];
/// The line of each process: its id, its age and its words.
const COLUMNS: &str = "pid=,etime=,args=";
/// Processes that are listed one by one; of more the number is told.
const LISTED_MAX: usize = 20;

/// Lists our processes, other than this one, and which of them are for another data directory than
/// `own_data`; none if the system does not tell them.
pub(super) fn check_processes(own_data: &Path) -> Vec<Finding> {
    let listed = Command::new("ps").args(["-eo", COLUMNS]).output();
    let Ok(listed) = listed else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&listed.stdout);
    let own = std::process::id();
    let all = text.lines().filter_map(ProcessLine::parse);
    let ours: Vec<_> = all.filter(|process| process.id != own).collect();
    // A folder that another user's rights hide is there.
    list_findings(&ours, own_data, |data| {
        Path::new(data).try_exists().unwrap_or(true)
    })
}

fn list_findings(
    ours: &[ProcessLine<'_>],
    own_data: &Path,
    is_there: impl Fn(&str) -> bool,
) -> Vec<Finding> {
    let listed = ours.iter().take(LISTED_MAX);
    let mut findings: Vec<Finding> = listed
        .map(|process| process.to_finding(own_data, &is_there))
        .collect();
    let more = ours.len().saturating_sub(LISTED_MAX);
    if more > 0 {
        let says = format!("{more} more processes of ours; `ps -C reprise` lists them");
        findings.push(Finding::new(true, "running", says));
    }
    findings
}

/// A process of ours, as `ps` prints it.
#[derive(Debug, PartialEq, Eq)]
struct ProcessLine<'a> {
    id: u32,
    /// As `ps` prints it: `[[days-]hours:]minutes:seconds`.
    age: &'a str,
    words: &'a str,
}

impl<'a> ProcessLine<'a> {
    /// Parses a line; `None` if it is no process of ours.
    fn parse(line: &'a str) -> Option<Self> {
        let (id, rest) = line.trim_start().split_once(' ')?;
        let (age, words) = rest.trim_start().split_once(' ')?;
        let words = words.trim();
        let program = words.split(' ').next()?.rsplit('/').next()?;
        PROGRAMS.contains(&program).then_some(Self {
            id: id.parse().ok()?,
            age,
            words,
        })
    }

    /// Returns the data directory that its words name.
    fn data_folder(&self) -> Option<&str> {
        let mut words = self.words.split(' ');
        words.find(|word| *word == "--data-dir")?;
        words.next()
    }

    fn to_finding(&self, own_data: &Path, is_there: impl Fn(&str) -> bool) -> Finding {
        let Self { id, age, words } = self;
        let age = render_age(age);
        // The data directory tells one daemon from another, so a long line keeps it.
        let program = words.split(' ').next().unwrap_or_default();
        let words = match (words.chars().count() > 100, self.data_folder()) {
            (true, Some(data)) => format!(
                "{} ... --data-dir {data} ...",
                terminal::one_line(program, 60)
            ),
            _ => terminal::one_line(words, 100),
        };
        let gone = self.data_folder().filter(|data| !is_there(data));
        // It ends by itself soon, and is no fault of this data directory.
        let gone = gone.map(|data| format!(" (`{data}` is gone; end it with `kill {id}`)"));
        let gone = gone.unwrap_or_default();
        let other = self
            .data_folder()
            .filter(|data| Path::new(data) != own_data);
        let other = other.map_or("", |_| ", for another data directory");
        let says = format!("process {id}, running for {age}{other}{gone}: {words}");
        Finding::new(true, "running", says)
    }
}

/// Renders an age as `ps` prints it, in its largest units.
fn render_age(age: &str) -> String {
    let (days, clock) = age.split_once('-').unwrap_or(("0", age));
    let parts: Vec<u32> = clock
        .split(':')
        .filter_map(|part| part.parse().ok())
        .collect();
    let days: u32 = days.parse().unwrap_or_default();
    match parts[..] {
        [hours, ..] if days > 0 => format!("{days} d {hours} h"),
        [hours, minutes, _] if hours > 0 => format!("{hours} h {minutes} min"),
        [_, minutes, _] | [minutes, _] => format!("{minutes} min"),
        _ => age.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_ours_is_listed_with_its_age_and_with_what_to_do_without_its_folder() {
        let line = "  4711    02:13:05 /usr/bin/reprise --data-dir /d serve --idle-exit 1800";
        let process = ProcessLine::parse(line).expect("it is ours");
        assert_eq!((process.id, process.age), (4711, "02:13:05"));
        let (own, other) = (Path::new("/d"), Path::new("/e"));
        let there = process.to_finding(own, |data| data == "/d").says;
        assert!(
            there.contains("for 2 h 13 min") && !there.contains("kill"),
            "{there}"
        );
        assert!(!there.contains("another data directory"), "{there}");
        let foreign = process.to_finding(other, |_| true).says;
        assert!(
            foreign.contains(", for another data directory: /usr"),
            "{foreign}"
        );
        let gone = process.to_finding(own, |_| false).says;
        assert!(gone.contains("kill 4711"), "{gone}");
        for (age, said) in [
            ("00:07", "0 min"),
            ("59:07", "59 min"),
            ("3-04:05:06", "3 d 4 h"),
        ] {
            assert_eq!(render_age(age), said);
        }
        let long = format!(
            "4712 00:07 /usr/bin/reprise --user ada {}--data-dir /d serve",
            "--x ".repeat(40)
        );
        let process = ProcessLine::parse(&long).expect("it is ours");
        assert!(
            process
                .to_finding(own, |_| true)
                .says
                .contains("--data-dir /d")
        );
        let many: Vec<_> = (0..LISTED_MAX + 3)
            .filter_map(|_| ProcessLine::parse(line))
            .collect();
        let listed = list_findings(&many, own, |_| true);
        assert_eq!(listed.len(), LISTED_MAX + 1);
        assert!(listed[LISTED_MAX].says.contains("3 more processes"));
        for line in ["1 01:00 /sbin/init", "2 01:00 vim reprise.md", "x", ""] {
            assert_eq!(ProcessLine::parse(line), None, "{line}");
        }
    }
}
