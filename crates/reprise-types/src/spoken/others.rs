//! Times in German, French, Spanish and Chinese: word for word into English, where order and
//! grammar are near enough; Chinese, which has no words, by what stands in the text.

use chrono::{Datelike, Days};

use crate::calendar::{Calendar, Span};

/// Words and what they are in English. What is another word in another language too is left out,
/// or in [`WITH`].
const WORDS: &[(&str, &str)] = &[
    ("heute", "today"),
    ("gestern", "yesterday"),
    ("vorgestern", "daybeforeyesterday"),
    ("januar", "january"),
    ("februar", "february"),
    ("m\u{e4}rz", "march"),
    ("mai", "may"),
    ("juni", "june"),
    ("juli", "july"),
    ("oktober", "october"),
    ("dezember", "december"),
    ("montag", "monday"),
    ("dienstag", "tuesday"),
    ("mittwoch", "wednesday"),
    ("donnerstag", "thursday"),
    ("freitag", "friday"),
    ("samstag", "saturday"),
    ("sonntag", "sunday"),
    ("woche", "week"),
    ("wochen", "weeks"),
    ("monat", "month"),
    ("monats", "month"),
    ("monate", "months"),
    ("monaten", "months"),
    ("jahr", "year"),
    ("jahre", "years"),
    ("jahren", "years"),
    ("tag", "day"),
    ("tage", "days"),
    ("tagen", "days"),
    ("letzte", "last"),
    ("letzten", "last"),
    ("letzter", "last"),
    ("letztes", "last"),
    ("letztem", "last"),
    ("vergangene", "last"),
    ("vergangenen", "last"),
    ("diese", "this"),
    ("diesen", "this"),
    ("diesem", "this"),
    ("dieser", "this"),
    ("dieses", "this"),
    ("seit", "since"),
    ("nach", "after"),
    ("bis", "until"),
    ("zwischen", "between"),
    ("und", "and"),
    ("anfang", "early"),
    ("mitte", "mid"),
    ("ende", "late"),
    ("im", "in"),
    ("vom", "from"),
    ("zwei", "two"),
    ("drei", "three"),
    ("vier", "four"),
    ("f\u{fc}nf", "five"),
    ("vor", "vor"),
    ("aujourd", "today"),
    ("avant-hier", "daybeforeyesterday"),
    ("janvier", "january"),
    ("f\u{e9}vrier", "february"),
    ("avril", "april"),
    ("juin", "june"),
    ("juillet", "july"),
    ("ao\u{fb}t", "august"),
    ("septembre", "september"),
    ("octobre", "october"),
    ("novembre", "november"),
    ("d\u{e9}cembre", "december"),
    ("lundi", "monday"),
    ("mardi", "tuesday"),
    ("mercredi", "wednesday"),
    ("jeudi", "thursday"),
    ("vendredi", "friday"),
    ("samedi", "saturday"),
    ("dimanche", "sunday"),
    ("semaine", "week"),
    ("semaines", "weeks"),
    ("mois", "month"),
    ("ann\u{e9}e", "year"),
    ("jour", "day"),
    ("jours", "days"),
    ("dernier", "last"),
    ("derni\u{e8}re", "last"),
    ("cette", "this"),
    ("depuis", "since"),
    ("entre", "between"),
    ("et", "and"),
    ("deux", "two"),
    ("trois", "three"),
    ("quatre", "four"),
    ("cinq", "five"),
    ("hoy", "today"),
    ("ayer", "yesterday"),
    ("anteayer", "daybeforeyesterday"),
    ("enero", "january"),
    ("febrero", "february"),
    ("marzo", "march"),
    ("abril", "april"),
    ("mayo", "may"),
    ("junio", "june"),
    ("julio", "july"),
    ("agosto", "august"),
    ("septiembre", "september"),
    ("octubre", "october"),
    ("noviembre", "november"),
    ("diciembre", "december"),
    ("lunes", "monday"),
    ("martes", "tuesday"),
    ("mi\u{e9}rcoles", "wednesday"),
    ("jueves", "thursday"),
    ("viernes", "friday"),
    ("s\u{e1}bado", "saturday"),
    ("domingo", "sunday"),
    ("semana", "week"),
    ("semanas", "weeks"),
    ("mes", "month"),
    ("meses", "months"),
    ("a\u{f1}o", "year"),
    ("a\u{f1}os", "years"),
    ("d\u{ed}a", "day"),
    ("d\u{ed}as", "days"),
    ("pasado", "last"),
    ("pasada", "last"),
    ("este", "this"),
    ("esta", "this"),
    ("desde", "since"),
    ("hace", "vor"),
    ("dos", "two"),
    ("tres", "three"),
    ("cuatro", "four"),
    ("cinco", "five"),
];
/// Words that are one only beside a word of their own language.
const WITH: &[(&str, &str, &[&str])] = &[
    ("hier", "yesterday", FRENCH),
    ("mars", "march", FRENCH),
    ("passe", "last", FRENCH),
    ("pass\u{e9}", "last", FRENCH),
    ("pass\u{e9}e", "last", FRENCH),
    (
        "en",
        "in",
        &[
            "desde", "que", "qu\u{e9}", "avons", "nous", "el", "la", "le",
        ],
    ),
    (
        "am",
        "on",
        &[
            "wir", "was", "wer", "wann", "habe", "haben", "hat", "wurde", "war",
        ],
    ),
    ("von", "from", &["bis", "wir", "was", "wer"]),
    ("de", "of", &["el", "la", "que", "qu\u{e9}", "los"]),
    ("del", "from", &["el", "la", "que", "qu\u{e9}", "al"]),
];
const FRENCH: &[&str] = &[
    "nous", "avons", "le", "la", "les", "que", "quoi", "qui", "est", "pourquoi", "on", "en", "je",
    "ai", "fait", "du",
];

/// Puts English words in the place of others.
pub(super) fn into_english(words: &mut [&mut String]) {
    let has = |any: &[&str]| words.iter().any(|word| any.contains(&word.as_str()));
    let with = WITH.iter().filter(|(_, _, beside)| has(beside));
    let with: Vec<(&str, &str)> = with.map(|(from, to, _)| (*from, *to)).collect();
    // `il y a deux jours`
    let ago = |at: usize| {
        let at_is = |at: usize, is: &str| words.get(at).is_some_and(|word| word.as_str() == is);
        at_is(at, "a") && at >= 2 && at_is(at - 1, "y") && at_is(at - 2, "il")
    };
    let agos: Vec<usize> = (0..words.len()).filter(|at| ago(*at)).collect();
    for (at, word) in words.iter_mut().enumerate() {
        let lower = word.as_str();
        let known = WORDS.iter().chain(&with).find(|(from, _)| *from == lower);
        if let Some((_, english)) = known {
            (*english).clone_into(word);
        } else if agos.contains(&at) {
            "vor".clone_into(word);
        }
    }
}

/// Days, weeks and months as Chinese has them.
const CHINESE: &[(&str, Chinese)] = &[
    ("\u{524d}\u{5929}", Chinese::DaysAgo(2)),
    ("\u{6628}\u{5929}", Chinese::DaysAgo(1)),
    ("\u{4eca}\u{5929}", Chinese::DaysAgo(0)),
    ("\u{4e0a}\u{5468}", Chinese::WeeksAgo(1)),
    ("\u{4e0a}\u{661f}\u{671f}", Chinese::WeeksAgo(1)),
    ("\u{672c}\u{5468}", Chinese::WeeksAgo(0)),
    ("\u{8fd9}\u{5468}", Chinese::WeeksAgo(0)),
    ("\u{4e0a}\u{4e2a}\u{6708}", Chinese::LastMonth),
    ("\u{4e0a}\u{6708}", Chinese::LastMonth),
    ("\u{672c}\u{6708}", Chinese::ThisMonth),
    ("\u{8fd9}\u{4e2a}\u{6708}", Chinese::ThisMonth),
];

#[derive(Clone, Copy)]
enum Chinese {
    DaysAgo(u64),
    WeeksAgo(u64),
    ThisMonth,
    LastMonth,
}

/// The first time that a Chinese text names: its words, what it may mean, whether it is relative.
pub(super) fn chinese<'t>(
    calendar: &Calendar,
    text: &'t str,
) -> Option<(&'t str, Vec<Span>, bool)> {
    if let Some((phrase, spans)) = chinese_date(calendar, text) {
        return Some((phrase, spans, false));
    }
    let (phrase, said) = CHINESE.iter().find(|(phrase, _)| text.contains(phrase))?;
    let today = calendar.today();
    let span = match *said {
        Chinese::DaysAgo(days) => {
            let day = today.checked_sub_days(Days::new(days))?;
            calendar.days(day, day)
        }
        Chinese::WeeksAgo(weeks) => calendar.week(today.checked_sub_days(Days::new(7 * weeks))?)?,
        Chinese::ThisMonth => calendar.month(today.year(), today.month())?,
        Chinese::LastMonth => {
            let last = today.with_day(1)?.pred_opt()?;
            calendar.month(last.year(), last.month())?
        }
    };
    let at = text.find(phrase)?;
    Some((text.get(at..at + phrase.len())?, vec![span], true))
}

/// `2026 year 11 month 2 day`, with or without the year, and without the day.
fn chinese_date<'t>(calendar: &Calendar, text: &'t str) -> Option<(&'t str, Vec<Span>)> {
    let (year_mark, month_mark) = ('\u{5e74}', '\u{6708}');
    let marked = text.find(month_mark)?;
    let digits =
        |text: &str| text.len() - text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let month_at = marked - digits(text.get(..marked)?);
    let month: u32 = text.get(month_at..marked)?.parse().ok()?;
    let after = marked + month_mark.len_utf8();
    let rest = text.get(after..)?;
    let count = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let tail = rest.get(count..)?;
    let is_day = count > 0 && tail.starts_with(['\u{65e5}', '\u{53f7}']);
    let day: Option<u32> = if is_day {
        rest.get(..count)?.parse().ok()
    } else {
        None
    };
    let end = after
        + if is_day {
            count + '\u{65e5}'.len_utf8()
        } else {
            0
        };
    let (mut start, mut year) = (month_at, None);
    if let Some(before) = text
        .get(..month_at)
        .and_then(|text| text.strip_suffix(year_mark))
    {
        start = before.len() - digits(before);
        year = before.get(start..).and_then(|year| year.parse().ok());
    }
    let spans = calendar.in_years(year, month, day).ok()?;
    Some((text.get(start..end)?, spans))
}
