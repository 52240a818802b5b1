//! Things and people by number, each with a name of its own.

use std::sync::LazyLock;

pub(super) type Words = LazyLock<Vec<&'static str>>;

/// The list of this name in `words.txt`.
pub(super) fn words(name: &str) -> Vec<&'static str> {
    let lists = include_str!("words.txt").lines();
    let mut named = lists.filter_map(|line| line.split_once('\t'));
    let found = named.find(|(own, _)| *own == name);
    found.map_or_else(Vec::new, |(_, all)| all.split('|').collect())
}

pub(super) static CITIES: Words = LazyLock::new(|| words("cities"));
static FIRMS: Words = LazyLock::new(|| words("firms"));
static THINGS: Words = LazyLock::new(|| words("things"));
pub(super) static GIVEN: Words = LazyLock::new(|| words("given"));
static FAMILY: Words = LazyLock::new(|| words("family"));
/// One of `from`, by a number.
pub(super) fn one<'a>(from: &[&'a str], number: usize) -> &'a str {
    from.get(number % from.len().max(1))
        .copied()
        .unwrap_or_default()
}

/// Number `place` of the things that no other pair is about.
pub(super) fn thing(place: usize) -> String {
    let (city, rest) = (place % CITIES.len(), place / CITIES.len());
    let (firm, rest) = (rest % FIRMS.len(), rest / FIRMS.len());
    let name = [one(&CITIES, city), one(&FIRMS, firm), one(&THINGS, rest)].join(" ");
    match rest / THINGS.len() {
        0 => name,
        number => format!("{name} {}", number + 1),
    }
}

/// The same of people.
pub(super) fn person(place: usize) -> String {
    let (given, rest) = (place % GIVEN.len(), place / GIVEN.len());
    let (family, rest) = (rest % FAMILY.len(), rest / FAMILY.len());
    let initial = |number: usize| char::from(b'A' + (number % 26) as u8);
    let name = [one(&GIVEN, given), one(&FAMILY, family)];
    let [given, family] = name;
    format!(
        "{given} {}. {}. {family}",
        initial(rest),
        initial(rest / 26)
    )
}
