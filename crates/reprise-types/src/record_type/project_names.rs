//! Names of projects: whole ones, such as `github.com/acme/api` and `api-1f2e3d4c`, and the short
//! name that programs use if they know only the folder, `api`.

/// Hexadecimal digits after the name of a folder, which tell folders of one name apart.
const FINGERPRINT_DIGITS: usize = 8;

/// Returns the last part of a project's name without its fingerprint: `api` of all three.
#[must_use]
pub fn short_project_name(name: &str) -> &str {
    let last = name.rsplit('/').next().unwrap_or(name);
    let split = last.rsplit_once('-').filter(|(before, digits)| {
        let is_hex = digits.chars().all(|c| c.is_ascii_hexdigit());
        !before.is_empty() && is_hex && digits.len() == FINGERPRINT_DIGITS
    });
    split.map_or(last, |(before, _)| before)
}

/// Returns whether two names may mean one project: they are equal, or one is the other's short
/// name. Case makes no difference.
#[must_use]
pub fn is_same_project(one: &str, other: &str) -> bool {
    let is = |short: &str, whole: &str| short.eq_ignore_ascii_case(short_project_name(whole));
    one.eq_ignore_ascii_case(other) || is(one, other) || is(other, one)
}

/// Returns the names under which a project is known, the given one first: a short name belongs to
/// the only whole one that it is short for, and is a project of its own if there are several.
#[must_use]
pub fn list_names_of_project<'n>(
    name: &str,
    known: impl IntoIterator<Item = &'n str>,
) -> Vec<String> {
    let short = short_project_name(name);
    let mut names = vec![name.to_owned()];
    let mut wholes: Vec<&str> = Vec::new();
    let mut plain = None;
    for other in known {
        if other.eq_ignore_ascii_case(short) {
            plain = Some(other);
        } else if short_project_name(other).eq_ignore_ascii_case(short)
            && !wholes.iter().any(|whole| whole.eq_ignore_ascii_case(other))
        {
            wholes.push(other);
        }
    }
    let is_whole = !name.eq_ignore_ascii_case(short);
    if is_whole && !wholes.iter().any(|whole| whole.eq_ignore_ascii_case(name)) {
        wholes.push(name);
    }
    if let [whole] = wholes.as_slice() {
        let other = if is_whole { plain } else { Some(*whole) };
        names.extend(other.map(str::to_owned));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_name_is_the_last_part_without_its_fingerprint() {
        for (name, short) in [
            ("github.com/acme/api", "api"),
            ("api-1f2e3d4c", "api"),
            ("my-api-1f2e3d4c", "my-api"),
            ("api-gateway", "api-gateway"),
            ("-1f2e3d4c", "-1f2e3d4c"),
            ("api", "api"),
        ] {
            assert_eq!(short_project_name(name), short, "{name}");
        }
        assert!(is_same_project("API", "github.com/acme/api"));
        assert!(is_same_project("api-1f2e3d4c", "api"));
        assert!(!is_same_project("api-1f2e3d4c", "github.com/acme/api"));
        assert!(!is_same_project("api", "api-gateway"));
    }

    #[test]
    fn a_short_name_belongs_to_the_only_whole_one() {
        let names = |name: &str, known: &[&str]| list_names_of_project(name, known.iter().copied());
        assert_eq!(
            names("api", &["api", "api-1f2e3d4c", "shop"]),
            ["api", "api-1f2e3d4c"]
        );
        assert_eq!(
            names("api-1f2e3d4c", &["api", "api-1f2e3d4c"]),
            ["api-1f2e3d4c", "api"]
        );
        let two = ["api", "api-1f2e3d4c", "github.com/acme/api"];
        assert_eq!(names("api", &two), ["api"], "it may be either");
        assert_eq!(names("api-1f2e3d4c", &two), ["api-1f2e3d4c"]);
        assert_eq!(names("api", &[]), ["api"]);
    }
}
