//! Forms of arguments as regular expressions: what callers are told, none of it enforced here but
//! that a text is not blank.

/// The pattern of a text that is not blank: with the next one the only pattern that is held here,
/// for no reader says more of it.
pub(crate) const NON_BLANK_PATTERN: &str = r"\S";

/// The pattern of a text by which records are chosen, which is not blank either.
pub(crate) const SELECTOR_PATTERN: &str = r"\S+";

/// A day that exists, of the years 1600 to 2399.
const DAY: &str = "(?:(?:1[6-9]|2[0-3])[0-9]{2}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|\
    (?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|\
    (?:1[6-9]|2[0-3])(?:0[48]|[2468][048]|[13579][26])-02-29|(?:16|20)00-02-29)";
const HOUR: &str = "(?:[01][0-9]|2[0-3]):[0-5][0-9]";

/// The times that a calendar reads: RFC 3339, a day, a month, a year, and what is counted from now.
pub(super) fn time_pattern() -> String {
    format!(
        "^(?:{DAY}(?:[T ]{HOUR}(?::[0-5][0-9](?:\\.[0-9]{{1,9}})?(?:Z|[+-]{HOUR})?)?)?|\
         (?:19[7-9][0-9]|20[0-9]{{2}})(?:-(?:0[1-9]|1[0-2]))?|[0-9]{{1,4}}(?:min|mo|m|h|d|w)|\
         [0-9]{{1,2}}y|today|yesterday|(?:last|this) (?:week|month|year))$"
    )
}

/// The instants that a record carries: RFC 3339, the same without a zone, or a day.
pub(crate) fn instant_pattern() -> String {
    format!("^{DAY}(?:T{HOUR}:[0-5][0-9](?:\\.[0-9]{{1,9}})?(?:Z|[+-]{HOUR})?)?$")
}
