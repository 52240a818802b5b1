//! Times in German, French, Spanish and Chinese: they are translated word for word to English,
//! whose order and grammar are similar enough.

use std::collections::HashMap;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Words without accents and their English words. A word that has another meaning in another
/// language is in [`GERMAN`], [`FRENCH`] or [`SPANISH`].
const WORDS: &str = "\
    heute=today gestern=yesterday vorgestern=daybeforeyesterday januar=january janner=january \
    februar=february marz=march maerz=march mai=may juni=june juli=july oktober=october \
    okt=october dezember=december dez=december montag=monday dienstag=tuesday mittwoch=wednesday \
    donnerstag=thursday freitag=friday samstag=saturday sonnabend=saturday sonntag=sunday \
    woche=week wochen=weeks wochenende=weekend monat=month monats=month monate=months \
    monaten=months jahr=year jahres=year jahre=years jahren=years tag=day tage=days tagen=days \
    stunde=hour stunden=hours minuten=minutes quartal=quarter quartals=quarter letzte=last \
    letzten=last letzter=last letztes=last letztem=last vergangene=last vergangenen=last \
    vergangener=last vorige=last vorigen=last voriger=last voriges=last diese=this diesen=this \
    diesem=this dieser=this dieses=this erste=first ersten=first erstes=first zweite=second \
    zweiten=second zweites=second dritte=third dritten=third drittes=third vierte=fourth \
    vierten=fourth viertes=fourth seit=since nach=after bis=until zwischen=between und=and \
    anfang=early mitte=mid ende=late im=in vom=from einem=a einer=a eine=a paar=few zwei=two \
    drei=three vier=four funf=five sechs=six sieben=seven acht=eight neun=nine zehn=ten \
    kalenderwoche=kw \
    aujourd=today avant-hier=daybeforeyesterday janvier=january fevrier=february avril=april \
    juin=june juillet=july aout=august septembre=september octobre=october novembre=november \
    decembre=december lundi=monday mardi=tuesday mercredi=wednesday jeudi=thursday \
    vendredi=friday samedi=saturday dimanche=sunday semaine=week semaines=weeks mois=month \
    mois-ci=month annee=year ans=years jour=day jours=days heure=hour heures=hours \
    trimestre=quarter dernier=last derniere=last derniers=last dernieres=last cette=this \
    deuxieme=second troisieme=third quatrieme=fourth depuis=since avant=before apres=after \
    jusqu=until entre=between et=and debut=early une=a quelques=few deux=two trois=three \
    quatre=four cinq=five huit=eight neuf=nine dix=ten \
    hoy=today ayer=yesterday anoche=yesterday anteayer=daybeforeyesterday enero=january \
    febrero=february marzo=march abril=april mayo=may junio=june julio=july agosto=august \
    septiembre=september octubre=october noviembre=november diciembre=december lunes=monday \
    martes=tuesday miercoles=wednesday jueves=thursday viernes=friday sabado=saturday \
    domingo=sunday semana=week semanas=weeks mes=month meses=months ano=year anos=years dia=day \
    dias=days hora=hour horas=hours ultimo=last ultima=last ultimos=last ultimas=last pasado=last \
    pasada=last este=this esta=this primer=first segundo=second tercer=third cuarto=fourth \
    desde=since antes=before despues=after hasta=until principios=early comienzos=early \
    mediados=mid finales=late fines=late hace=vor un=a una=a unos=few dos=two tres=three \
    cuatro=four cinco=five seis=six siete=seven ocho=eight nueve=nine diez=ten";
/// Words that are translated only in a query with another word of their language: the translations,
/// and the words that show the language.
const GERMAN: [&str; 2] = [
    "am=on dem=the den=the der=the das=the zum=the ab=since ein=a von=from",
    "wir wer wann wo habe haben hat hatte wurde wurden war waren ist sind nicht seit nach bis \
     zwischen vor letzte letzten was",
];
const FRENCH: [&str; 2] = [
    "hier=yesterday mars=march passe=last passee=last ce=this le=the la=the l=the du=from au=to \
     en=in de=of d=of mi=mid fin=late premier=first matin=morning",
    "nous avons les que quoi qui est pourquoi je ai fait depuis avant apres entre le mois \
     qu octobre novembre semaine decembre janvier fevrier avril juin juillet aout septembre",
];
const SPANISH: [&str; 2] = [
    "el=the la=the del=from al=to de=of en=in fin=late y=and",
    "que el los las desde hace hasta antes despues entre principios mediados finales decidimos \
     hicimos paso enero febrero abril junio julio agosto septiembre octubre noviembre diciembre",
];

type WordTable = HashMap<&'static str, &'static str>;

static ENGLISH: LazyLock<WordTable> = LazyLock::new(|| parse_table(WORDS));
static CONTEXT_TABLES: LazyLock<[(WordTable, Vec<&str>); 3]> = LazyLock::new(|| {
    [GERMAN, FRENCH, SPANISH].map(|[words, hints]| (parse_table(words), hints.split(' ').collect()))
});

fn parse_table(words: &'static str) -> WordTable {
    words
        .split(' ')
        .filter_map(|pair| pair.split_once('='))
        .collect()
}

/// Returns a word in lower case and without accents.
pub(super) fn fold_word(word: &str) -> String {
    let lower = word.to_lowercase();
    if lower.is_ascii() {
        return lower;
    }
    lower
        .nfd()
        .filter(|c| !is_combining_mark(*c))
        .nfc()
        .collect()
}

/// Replaces words of other languages by English ones.
pub(super) fn translate_to_english(words: &mut [&mut String]) {
    let hints = CONTEXT_TABLES
        .iter()
        .filter(|(_, hints)| words.iter().any(|word| hints.contains(&word.as_str())));
    let hints: Vec<&WordTable> = hints.map(|(table, _)| table).collect();
    // `il y a deux jours` is `two days ago`.
    let ago = |at: usize| {
        let at_is = |at: usize, is: &str| words.get(at).is_some_and(|word| word.as_str() == is);
        at_is(at, "a") && at >= 2 && at_is(at - 1, "y") && at_is(at - 2, "il")
    };
    let agos: Vec<usize> = (0..words.len()).filter(|at| ago(*at)).collect();
    for (at, word) in words.iter_mut().enumerate() {
        let lower = word.as_str();
        let known = hints.iter().find_map(|table| table.get(lower));
        if agos.contains(&at) {
            "vor".clone_into(word);
        } else if let Some(english) = known.or_else(|| ENGLISH.get(lower)) {
            (*english).clone_into(word);
        }
    }
}

/// Chinese words and their English words; a longer word comes before one that it begins with. A
/// translation with `~` follows the time that it belongs to.
const CHINESE: &[(&str, &str)] = &[
    ("\u{524d}\u{5929}", "daybeforeyesterday"),
    ("\u{6628}\u{5929}", "yesterday"),
    ("\u{6628}\u{65e5}", "yesterday"),
    ("\u{6628}\u{665a}", "yesterday"),
    ("\u{4eca}\u{5929}", "today"),
    ("\u{4eca}\u{65e5}", "today"),
    ("\u{4e0a}\u{4e2a}\u{661f}\u{671f}", "last week"),
    ("\u{4e0a}\u{661f}\u{671f}", "last week"),
    ("\u{4e0a}\u{5468}", "last week"),
    ("\u{8fd9}\u{4e2a}\u{661f}\u{671f}", "this week"),
    ("\u{672c}\u{5468}", "this week"),
    ("\u{8fd9}\u{5468}", "this week"),
    ("\u{4e0a}\u{4e2a}\u{6708}", "last month"),
    ("\u{4e0a}\u{6708}", "last month"),
    ("\u{8fd9}\u{4e2a}\u{6708}", "this month"),
    ("\u{672c}\u{6708}", "this month"),
    ("\u{4e0a}\u{4e2a}\u{5b63}\u{5ea6}", "last quarter"),
    ("\u{4e0a}\u{5b63}\u{5ea6}", "last quarter"),
    ("\u{672c}\u{5b63}\u{5ea6}", "this quarter"),
    ("\u{7b2c}\u{4e00}\u{5b63}\u{5ea6}", "q1"),
    ("\u{7b2c}\u{4e8c}\u{5b63}\u{5ea6}", "q2"),
    ("\u{7b2c}\u{4e09}\u{5b63}\u{5ea6}", "q3"),
    ("\u{7b2c}\u{56db}\u{5b63}\u{5ea6}", "q4"),
    ("\u{53bb}\u{5e74}", "last year"),
    ("\u{4eca}\u{5e74}", "this year"),
    ("\u{5c0f}\u{65f6}\u{524d}", "hours ago"),
    ("\u{5929}\u{524d}", "days ago"),
    ("\u{4e2a}\u{661f}\u{671f}\u{524d}", "weeks ago"),
    ("\u{5468}\u{524d}", "weeks ago"),
    ("\u{4e2a}\u{6708}\u{524d}", "months ago"),
    ("\u{5e74}\u{524d}", "years ago"),
    ("\u{661f}\u{671f}", "week"),
    ("\u{5468}", "week"),
    ("\u{4e4b}\u{524d}", "~before"),
    ("\u{4ee5}\u{524d}", "~before"),
    ("\u{4e4b}\u{540e}", "~after"),
    ("\u{4ee5}\u{540e}", "~after"),
    ("\u{4ee5}\u{6765}", "~since"),
    ("\u{5230}", "to"),
    ("\u{81f3}", "to"),
];
/// The digits 0 to 9.
const DIGITS: &str =
    "\u{3007}\u{4e00}\u{4e8c}\u{4e09}\u{56db}\u{4e94}\u{516d}\u{4e03}\u{516b}\u{4e5d}";
const WEEKDAYS: [(char, &str); 8] = [
    ('\u{4e00}', "monday"),
    ('\u{4e8c}', "tuesday"),
    ('\u{4e09}', "wednesday"),
    ('\u{56db}', "thursday"),
    ('\u{4e94}', "friday"),
    ('\u{516d}', "saturday"),
    ('\u{65e5}', "sunday"),
    ('\u{5929}', "sunday"),
];
const MONTHS: &str = "jan feb mar apr may jun jul aug sep oct nov dec";

/// Whether a character is Chinese.
pub(super) fn is_chinese(c: char) -> bool {
    ('\u{3007}'..='\u{9fff}').contains(&c)
}

/// Translates the words of a Chinese text to English, each with its begin and end; a part that
/// names no time becomes an empty word.
pub(super) fn translate_chinese(text: &str) -> Vec<(String, usize, usize)> {
    let mut words: Vec<(String, usize, usize)> = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let (english, bytes) =
            translate_chinese_word(rest, words.last().map_or("", |word| &word.0));
        for word in english.split(' ') {
            if !(word.is_empty() && words.last().is_some_and(|last| last.0.is_empty())) {
                words.push((word.to_owned(), at, at + bytes));
            }
        }
        at += bytes;
    }
    words
}

/// Translates the word that a Chinese text begins with; returns its length, too. `before` is the
/// translated word before it.
fn translate_chinese_word(text: &str, before: &str) -> (String, usize) {
    let starts = |next: &str, any: &str| next.starts_with(|c: char| any.contains(c));
    let mark = '\u{6708}'.len_utf8();
    let first = text.chars().next().unwrap_or_default();
    if before == "week"
        && let Some((_, name)) = WEEKDAYS.iter().find(|(mark, _)| *mark == first)
    {
        return ((*name).to_owned(), first.len_utf8());
    }
    if let Some((phrase, english)) = CHINESE.iter().find(|(phrase, _)| text.starts_with(phrase)) {
        return ((*english).to_owned(), phrase.len());
    }
    let Some((number, bytes)) = parse_number(text) else {
        return (String::new(), first.len_utf8());
    };
    let next = text.get(bytes..).unwrap_or_default();
    if starts(next, "\u{65e5}\u{53f7}\u{5e74}") {
        return (number.to_string(), bytes + mark);
    }
    let month = number
        .checked_sub(1)
        .and_then(|month| MONTHS.split(' ').nth(month));
    let Some(month) = month.filter(|_| starts(next, "\u{6708}")) else {
        return (number.to_string(), bytes);
    };
    let following = next.get(mark..).unwrap_or_default();
    let part = [
        ("\u{521d}", "~early"),
        ("\u{4e2d}", "~mid"),
        ("\u{5e95}\u{672b}", "~late"),
    ];
    let part = part.iter().find(|(marks, _)| starts(following, marks));
    let in_year = before.len() == 4 && before.parse::<u32>().is_ok();
    let lead = if in_year { "" } else { "in " };
    match part {
        Some((_, part)) => (format!("{lead}{month} {part}"), bytes + 2 * mark),
        None => (format!("{lead}{month}"), bytes + mark),
    }
}

/// Parses the number that a text begins with, in either kind of digits; returns its length, too.
fn parse_number(text: &str) -> Option<(usize, usize)> {
    let ascii = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if ascii > 0 {
        return Some((text.get(..ascii)?.parse().ok()?, ascii));
    }
    let (mut number, mut bytes, mut tens) = (0_usize, 0, false);
    for c in text.chars().take(4) {
        let digit = DIGITS.chars().position(|digit| digit == c);
        number = match (digit, c) {
            (None, '\u{4e24}') => 2,
            (None, '\u{5341}') => 10 * number.max(1),
            (None, _) => break,
            (Some(digit), _) if tens => number + digit,
            (Some(digit), _) => 10 * number + digit,
        };
        tens |= digit.is_none();
        bytes += c.len_utf8();
    }
    (bytes > 0).then_some((number, bytes))
}
