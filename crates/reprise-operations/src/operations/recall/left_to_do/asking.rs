//! Reads whether a question asks for what is left to do, or where the work was left, and where.

/// Longest question, in words: a longer one asks for something else, too.
const WORDS_MAX: usize = 14;
/// Most words of a place that is named after "in" or "for".
const PLACE_WORDS_MAX: usize = 2;
/// Phrases of a question for what is left to do, whatever else it says.
const ASKING: [&str; 25] = [
    " left to do ",
    " left to be done ",
    " left to finish ",
    " left undone ",
    " left open ",
    " what is left in ",
    " what is left for ",
    " what is left on ",
    " remains to be done ",
    " still to do ",
    " still to be done ",
    " still open ",
    " still fails ",
    " still fail ",
    " still failing ",
    " still broken ",
    " next steps ",
    " not done yet ",
    " todos ",
    " noch offen ",
    " noch zu tun ",
    " noch zu erledigen ",
    " noch nicht fertig ",
    " naechsten schritte ",
    " schlaegt noch fehl ",
];
/// Words that begin a question for something else: a cause, or a way.
const OTHERS: [&str; 9] = [
    "why", "how", "since", "when", "warum", "wieso", "weshalb", "seit", "wann",
];
/// Questions for what is left to do that ask for nothing else, but perhaps in one place.
const LEFT: &str = "\
    what is left|what is next|what next|what remains|what is open|what is there to do|\
    what to do next|what do i do next|what do we do next|what should i do next|\
    what should we do next|what should i do|what should i work on|what should i work on next|\
    what comes next|what is the next step|what is to do|what is unfinished|what is pending|\
    what is missing|what is not done|was ist offen|was ist uebrig|was ist zu tun|was bleibt|\
    was bleibt zu tun|was fehlt|was steht an|was steht aus|was kommt|was kommt als naechstes|\
    was ist als naechstes zu tun|was ist als naechstes dran|was ist der naechste schritt|\
    was soll ich tun|was soll ich als naechstes tun|was soll ich als naechstes machen|\
    was sollen wir als naechstes tun|was mache ich als naechstes|was machen wir als naechstes|\
    was muss ich tun|was muss ich als naechstes tun|was als naechstes|wie geht es weiter|\
    wie geht's weiter|womit soll ich weitermachen|womit mache ich weiter";
/// Questions for where the work was left.
const LEFT_OFF: &str = "\
    where did i leave off|where did we leave off|where i left off|where we left off|\
    where did i stop|where did we stop|where did i get to|where did we get to|where was i|\
    where were we|where are we|where do we stand|where do things stand|what was i doing|\
    what were we doing|what was i working on|what were we working on|what did i do|\
    what did we do|wo habe ich aufgehoert|wo hab ich aufgehoert|wo haben wir aufgehoert|\
    wo war ich|wo waren wir|wo war ich stehen geblieben|wo waren wir stehen geblieben|\
    wo bin ich stehen geblieben|wo sind wir stehen geblieben|wo stehen wir|\
    woran habe ich gearbeitet|woran haben wir gearbeitet|was habe ich gemacht|\
    was haben wir gemacht";
/// Words that change nothing of such a question.
const FILLERS: &str = "\
    so ok okay and now please again exactly hey hi tell me remind still else yet here last time \
    today yesterday session und jetzt bitte heute gestern zuletzt gerade denn eigentlich sag mir \
    noch alles hier mal letztes mal";
/// Words before a place, before its name, and of what it is.
const BEFORE: &str = "in on for with at of im bei beim fuer am";
const ARTICLES: &str = "the my our this that dem der das den die meinem unserem diesem";
const KINDS: &str = "\
    project repo repository codebase app projekt repositorium";

/// What a question asks about open work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AskedWork {
    /// What is left to do.
    Left,
    /// Where the work was left: what was done last, too.
    LeftOff,
}

/// A question for open work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WorkQuestion {
    pub(super) work: AskedWork,
    /// Its words in small letters, without umlauts.
    pub(super) words: Vec<String>,
    /// Whether it only asks for open work where the place that it names is a project.
    pub(super) needs_project: bool,
}

impl WorkQuestion {
    /// Reads a question; `None` if it asks for something else.
    pub(super) fn parse(question: &str) -> Option<Self> {
        let words = list_words(question);
        let is_other = words.first().is_some_and(|first| {
            let is_way =
                first == "wie" && words.get(1).is_none_or(|next| !next.starts_with("geht"));
            is_way || OTHERS.contains(&first.as_str())
        });
        if words.len() > WORDS_MAX || is_other {
            return None;
        }
        let folded = [" ", &words.join(" "), " "].concat();
        if ASKING.iter().any(|phrase| folded.contains(phrase)) {
            return Some(Self {
                work: AskedWork::Left,
                words,
                needs_project: false,
            });
        }
        let (work, needs_project) = match find_whole(&words) {
            Some(work) => (work, false),
            None => find_beside_place(&words)?,
        };
        Some(Self {
            work,
            words,
            needs_project,
        })
    }
}

/// Returns what a question without its place asks for, if it asks for nothing else.
fn find_whole(words: &[String]) -> Option<AskedWork> {
    let is_said = |word: &&String| !FILLERS.split(' ').any(|filler| filler == *word);
    let said: Vec<&str> = words.iter().filter(is_said).map(String::as_str).collect();
    let said = said
        .join(" ")
        .replace("stehengeblieben", "stehen geblieben");
    let is_among = |questions: &str| questions.split('|').any(|one| one == said);
    if is_among(LEFT) {
        Some(AskedWork::Left)
    } else {
        is_among(LEFT_OFF).then_some(AskedWork::LeftOff)
    }
}

/// Returns what a question asks for without the place that it names, if that is all, and whether
/// the place has a name of its own: "this project" has none.
fn find_beside_place(words: &[String]) -> Option<(AskedWork, bool)> {
    let is_one_of = |list: &str, word: &String| list.split(' ').any(|one| one == word);
    let no_name = [ARTICLES, KINDS, FILLERS];
    let is_name = |word: &&String| !no_name.iter().any(|list| is_one_of(list, word));
    let before = (0..words.len()).filter(|at| words.get(*at).is_some_and(|w| is_one_of(BEFORE, w)));
    // The verb may follow the place: "wo habe ich in shop aufgehoert".
    let places = before.flat_map(|from| (from + 2..=words.len()).map(move |to| (from, to)));
    places.into_iter().find_map(|(from, to)| {
        let names = words.get(from + 1..to)?.iter().filter(is_name).count();
        let rest = [words.get(..from)?, words.get(to..)?].concat();
        let work = find_whole(&rest).filter(|_| names <= PLACE_WORDS_MAX)?;
        Some((work, names > 0))
    })
}

/// Lists the words of a question, or of a name, in small letters and without umlauts.
pub(super) fn list_words(question: &str) -> Vec<String> {
    let folded = question.to_lowercase().replace('\u{2019}', "'");
    let umlauts = [
        ("\u{e4}", "ae"),
        ("\u{f6}", "oe"),
        ("\u{fc}", "ue"),
        ("\u{df}", "ss"),
        ("what's ", "what is "),
        ("where's ", "where is "),
    ];
    let folded = umlauts
        .iter()
        .fold(folded, |text, (from, to)| text.replace(from, to));
    let is_inside = |c: char| c.is_alphanumeric() || "'-_/.".contains(c);
    let words = folded.split(|c| !is_inside(c));
    let words = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_to_do_is_told_from_what_else_is_left() {
        for question in [
            "what is left to do in shop",
            "What's left in the shop?",
            "what's next?",
            "which tests are still open in shop",
            "is anything not done yet",
            "which test still fails",
            "What should I do next?",
            "what is open",
            "So, what is still open in this project?",
            "what's open in web-shop",
            "Was ist noch offen?",
            "was ist in shop noch zu tun",
            "Was soll ich als n\u{e4}chstes tun?",
            "wie geht es in shop weiter",
        ] {
            let read = WorkQuestion::parse(question);
            let work = read.map(|read| read.work);
            assert_eq!(work, Some(AskedWork::Left), "{question}");
        }
        for question in [
            "where did I leave off",
            "Where did we leave off in the shop project yesterday?",
            "tell me where we left off",
            "Wo habe ich aufgeh\u{f6}rt?",
            "wo habe ich in shop aufgeh\u{f6}rt",
            "wo waren wir stehengeblieben",
        ] {
            let read = WorkQuestion::parse(question);
            let work = read.map(|read| read.work);
            assert_eq!(work, Some(AskedWork::LeftOff), "{question}");
        }
        for question in [
            "who left the company",
            "what is left of the budget for the summer",
            "which port is next to the proxy's",
            "what does the next request wait for",
            "why does the login test still fail",
            "what should I do next when the deploy fails",
            "where did the logs go",
            "how do I open the door of the shop",
            "wie komme ich in shop weiter",
            "what is open source",
        ] {
            assert_eq!(WorkQuestion::parse(question), None, "{question}");
        }
    }

    #[test]
    fn a_place_that_is_named_must_be_a_project_where_the_question_says_nothing_else() {
        for (question, needs_project) in [
            ("what is open in settings", true),
            ("where did I leave off in shop", true),
            ("what is open in this project", false),
            ("what is open", false),
            ("what is left to do in settings", false),
        ] {
            let read = WorkQuestion::parse(question).expect(question);
            assert_eq!(read.needs_project, needs_project, "{question}");
        }
    }
}
