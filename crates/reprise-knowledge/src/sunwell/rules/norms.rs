//! How a sentence sets a rule whatever its verbs are: by what it holds for, and by its mood. The
//! words here are those of grammar, and a few of developers' own work, in English and in German
//! without umlauts.

use crate::values::is_in_words;

/// Words before what a sentence says that say nothing of it.
const LEADS: &str = "and so but also oh ok okay hey please kindly then und also bitte";
/// Clauses that say nothing of it either.
const LEAD_CLAUSES: &str = "\
    by the way|btw|fyi|oh|one more thing|one thing|another thing|uebrigens|nebenbei|ach ja|ach so";
/// What all of a kind begins with.
const EVERY: &str = "every each all any jede jeder jedes jeden alle saemtliche";
/// What forbids something of all.
const NONE: &str = "nobody nothing none no niemand nichts kein keine keinen";
/// Words behind [`EVERY`] that count: "every second request fails".
const COUNTING: &str = "second third other few now of zweite zweiter zweites dritte dritter";
/// Words that point at one thing, or at somebody, which is no kind of things.
const POINTING: &str = "\
    the this that these those it its there here my your his her their a an i he she they one both \
    what which der die das dem den ein eine einen es er sie ich mein meine dein deine dieser diese \
    dieses";
/// Demands.
const DEMANDS: &str = "must shall muessen sollen duerfen muss soll darf";
/// Words that say what a demand is bound to.
const BOUNDS: &str = "\
    always never only not without before after unless until within outside first \
    immer nie niemals nur nicht ohne vor nach bevor nachdem erst lokal";
/// What is forbidden, or has to be.
const FORBIDDEN: &str = "\
    forbidden banned prohibited disallowed mandatory compulsory taboo verboten untersagt pflicht \
    tabu";
const NOT_ALLOWED: &str = "allowed permitted erlaubt gestattet";
/// Words before where, when or what something is forbidden.
const SCOPES: &str = "\
    in on at to from for outside inside without before under below within here everywhere anywhere \
    im am ausserhalb innerhalb ohne vor aus auf hier ueberall";
/// Words before an event that happens again and again: "before each push".
const AT: &str = "before after with on at for when vor nach bei mit zu fuer";
/// Words that begin what happens again and again.
const WHENEVER: &str = "whenever wann jedesmal";
const CONDITIONS: &str = "before when after once bevor wenn sobald";
const INDEFINITE: &str = "a an any new another ein eine einen neue neuen";
/// Last words by which a sentence holds for all: "no tabs, ever".
const FINALLY: &str = "always ever everywhere immer ueberall ausnahmslos";
/// Words for all places.
const EVERYWHERE: &str = "everywhere ueberall";
/// Words that say how something is at the moment, of which no rule is made.
const CONDITION: &str = "\
    green red fine ok okay done up down ready gone there late early good bad grey gray new old \
    gruen rot da fertig gut schlecht";
/// Nouns of a rule.
const RULES: &str = "\
    rule rules convention conventions policy policies guideline guidelines principle principles \
    regel regeln konvention konventionen vorgabe vorgaben grundsatz grundsaetze";
/// Clauses that announce that what follows holds in general.
const GENERALLY: &str = "\
    generally|in general|generally speaking|as a rule|as a general rule|as a general principle|\
    as a principle|on principle|by default|generell|allgemein|im allgemeinen|grundsaetzlich";
/// Since when a rule holds.
const SINCE: &str = "ab jetzt|ab sofort|ab heute|von jetzt an|von nun an|kuenftig|in zukunft";
/// What somebody asks for or forbids.
const ASKED: &str = "\
    bitte moechte will kein keine keinen nicht nie immer nur soll sollen muss muessen darf duerfen";
/// Work of developers, as its nouns and as stems of its verbs: what is done with it is decided.
const WORK: &str = "\
    commit merge deploy deployment push release branch migration pr rebase rollout review hotfix";
const WORK_VERBS: &str = "\
    merg commit deploy push releas ship publish rebas rewrit touch approv review rollback";
/// Things that are kept in one way: "secrets belong in the vault and nowhere else".
const KEPT: &str = "\
    are is go goes come comes live lives belong belongs get gets start end stay stays \
    sind ist wird werden gehoeren kommen liegen stehen bleiben";
/// Words of grammar that only German has.
const GERMAN: &str = "\
    der die das den dem des ein eine einen einer ist sind hat haben wird werden ich wir man nicht \
    kein keine und oder mit von vor nach bei jedem jeder jeden jedes immer nie";
/// Words of the habits of a team.
const TEAM: &str = "we everyone everybody nobody wir jeder niemand keiner";
/// Verbs of what happens to somebody, and is no habit.
const HAPPENS: &str = "\
    get got gets see saw have had has are were was is find found lose lost fail know knew hear \
    feel look run hit miss need forget wonder wait do did can could would will might";
/// Words of what goes wrong.
const TROUBLE: &str = "\
    fail fails failed failing hang hangs crash crashes crashed panics broken wrong missing slow \
    slowly bug kaputt falsch fehl stuerzt stuerzen haengt langsam obwohl although too";
/// Words of what is done once.
const ONCE: &str = "now today yet tomorrow tonight once again heute gerade diesmal morgen nochmal";
/// Phrases in which "now" and "today" begin what holds from then on.
const FROM_NOW: [&str; 5] = [
    "from now on",
    "from today on",
    "from today",
    "ab heute",
    "ab jetzt",
];
/// How a sentence begins that tells what somebody lives through, thinks or has heard.
const TOLD: &str = "\
    i|i'm|i've|my|maybe|perhaps|not true|it is not true|it's not true|it is not possible|according|\
    ich|mein|meine|vielleicht|angeblich|laut|mir|mich";
/// How somebody begins who asks for something by that.
const WISHES: &str = "i want|i'd like|i would like|i expect|my rule|ich moechte|\
    ich will|ich erwarte|meine regel";
/// Verbs by which somebody is quoted, among the first words of a sentence.
const QUOTING: &str = "says said claims thinks reckons wants sagt meint behauptet";
/// How a clause begins that takes back or explains the one before it.
const TAKING_BACK: &str = "\
    but i|but it|but that|but he|but she|but they|which|that is why|that's why|so it|what do|\
    can you|could you|can u|aber ich|aber es|aber das|was|deshalb|darum|kannst du";
/// Words that begin a clause which denies or forbids.
const DENYING: &str = "not no never don't kein keine keinen nicht nie niemals";
/// Fewest words of a norm, of one that ends with a word for all, and words of a subject.
const WORDS_MIN: usize = 4;
const FINAL_WORDS_MIN: usize = 3;
const SUBJECT_WORDS_MAX: usize = 4;
/// Words among which somebody is quoted.
const QUOTED_WORDS: usize = 5;

/// A sentence, read as its clauses.
struct Clauses<'a> {
    all: Vec<&'a str>,
    each: Vec<Vec<&'a str>>,
}

/// Returns whether a sentence sets a rule by its grammar. It is in lower case and without umlauts,
/// and asks nothing.
pub(super) fn is_norm(folded: &str) -> bool {
    let plain = hide_code(folded);
    let read = Clauses::of(&plain);
    if read.all.len() < FINAL_WORDS_MIN || read.tells_or_takes_back() || read.is_of_one_work() {
        return false;
    }
    let announces = read.is_announced();
    let long = read.all.len() >= WORDS_MIN;
    announces
        || read.holds_finally()
        || long
            && (read.is_asked_from_now()
                || read.demands_of_all()
                || read.forbids()
                || read.orders_at_each_event()
                || read.keeps_in_one_way()
                || read.is_habit_of_team()
                || read.orders_always())
}

/// Returns whether a sentence says what somebody else holds for a rule, and takes it back.
pub(super) fn is_disputed(folded: &str) -> bool {
    let read = Clauses::of(folded);
    read.quotes() && read.takes_back()
}

/// Returns a text with one word in place of each piece of code in it.
fn hide_code(folded: &str) -> String {
    let parts = folded.split('`').enumerate();
    let parts = parts.map(|(at, part)| if at % 2 == 1 { "code" } else { part });
    parts.collect()
}

impl<'a> Clauses<'a> {
    fn of(plain: &'a str) -> Self {
        let ends = |at: &usize| {
            let (before, behind) = plain.split_at(*at);
            before.ends_with([',', ';', ':', '(', ')']) && behind.starts_with(' ')
                || behind.starts_with(" - ")
                || before.ends_with('.') && behind.starts_with(' ')
        };
        let blanks = plain.match_indices(' ').map(|(at, _)| at).filter(ends);
        let mut start = 0;
        let ends: Vec<usize> = blanks.chain([plain.len()]).collect();
        let each = ends.into_iter().map(|end| {
            let clause = &plain[start..end];
            start = end;
            let words: Vec<&str> = super::split_words(clause).collect();
            words
        });
        let each: Vec<Vec<&str>> = each.filter(|words| !words.is_empty()).collect();
        let is_lead = |words: &[&str]| LEAD_CLAUSES.split('|').any(|lead| is_phrase(words, lead));
        let leads = each.iter().take_while(|words| is_lead(strip_leads(words)));
        let each = each.get(leads.count()..).unwrap_or_default().to_vec();
        let mut all = each.concat();
        let leads = all.iter().take_while(|word| is_in_words(LEADS, word));
        all.drain(..leads.count());
        Self { all, each }
    }

    /// The words of each clause behind what says nothing.
    fn list_bare(&self) -> impl Iterator<Item = &[&'a str]> {
        self.each.iter().map(|words| strip_leads(words))
    }

    fn has(&self, list: &str) -> bool {
        self.all.iter().any(|word| is_in_words(list, word))
    }

    /// Whether somebody tells what happens, thinks aloud or quotes another, or takes back what was
    /// said before.
    fn tells_or_takes_back(&self) -> bool {
        let tells = begins_with_any(&self.all, TOLD) && !begins_with_any(&self.all, WISHES);
        let orders_it = self.list_bare().skip(1).any(|clause| {
            let [verb, what] = clause else { return false };
            is_in_words("it them that this one", what) && verb.len() > 2
        });
        tells || self.quotes() || self.takes_back() || orders_it || self.has(TROUBLE)
    }

    /// Whether it says what somebody else says.
    fn quotes(&self) -> bool {
        let mut early = self.all.iter().skip(1).take(QUOTED_WORDS);
        early.any(|word| is_in_words(QUOTING, word))
    }

    /// Whether a clause takes back or asks about the one before it.
    fn takes_back(&self) -> bool {
        let mut others = self.each.iter().skip(1);
        others.any(|clause| begins_with_any(clause, TAKING_BACK))
    }

    fn is_of_one_work(&self) -> bool {
        let text = self.all.join(" ");
        let text = FROM_NOW
            .iter()
            .fold(text, |text, phrase| text.replace(phrase, ""));
        // "Never again" is for all times.
        let never = self.has("never nie niemals");
        let again = |word: &str| never && word == "again";
        text.split(' ')
            .any(|word| is_in_words(ONCE, word) && !again(word))
    }

    /// Whether a clause says that what follows is a rule: "as a general principle, ...", "the rule
    /// for branches is: ...".
    fn is_announced(&self) -> bool {
        let mut clauses = self.list_bare().peekable();
        while let Some(clause) = clauses.next() {
            let follows = clauses.peek().is_some();
            let is_general = GENERALLY.split('|').any(|one| is_phrase(clause, one));
            let is_rule = clause.len() <= WORDS_MIN * 2
                && clause.iter().any(|word| is_in_words(RULES, word))
                && !begins_with_any(clause, "what|which|is|are|this|that");
            let ends_open = clause
                .last()
                .is_some_and(|last| is_in_words("is are ist sind lautet", last));
            if follows
                && (is_general || is_rule && (ends_open || self.each.len() > 1 && is_head(clause)))
            {
                return true;
            }
        }
        false
    }

    /// Whether it ends with what holds for all: "tabs, not spaces, always", "no tabs, for every
    /// commit", "dates are UTC everywhere".
    fn holds_finally(&self) -> bool {
        let (Some(first), Some(last)) = (self.all.first(), self.all.last()) else {
            return false;
        };
        let is_bare = !is_in_words(POINTING, first) && !is_in_words(TEAM, first);
        if !is_bare || self.has(CONDITION) || self.has("he she it i") {
            return false;
        }
        let mut pairs = self.all.windows(2);
        let is_said = pairs.any(|two| is_in_words("are sind", two[0]));
        if is_said {
            return self.has(EVERYWHERE) && self.all.len() >= WORDS_MIN;
        }
        let compared = self.all.iter().rev().nth(1);
        let compares = compared.is_some_and(|word| is_in_words("as than wie", word));
        let denies = |clause: &[&str]| {
            clause
                .first()
                .is_some_and(|word| is_in_words(DENYING, word))
        };
        let is_asked =
            self.list_bare().any(denies) || self.list_bare().next().is_some_and(is_order);
        let at_each = self.each.len() > 1
            && self
                .each
                .last()
                .is_some_and(|clause| clause.len() < WORDS_MIN && names_event(clause));
        is_asked && (at_each || is_in_words(FINALLY, last) && !compares)
    }

    /// Whether something is asked for or forbidden from now on.
    fn is_asked_from_now(&self) -> bool {
        let text = [" ", &self.all.join(" "), " "].concat();
        let since = SINCE
            .split('|')
            .any(|phrase| text.contains(&[" ", phrase, " "].concat()));
        let asked = self.has(ASKED) || self.each.iter().any(|words| words.contains(&"bitte"));
        since && asked && !self.has("war wurde hatte wurden waren koennte waere wuerde")
    }

    /// Whether a clause demands something of all things of a kind: "migrations may never go out
    /// without a rollback".
    fn demands_of_all(&self) -> bool {
        self.list_bare().any(|clause| {
            let Some(at) = clause.iter().position(|word| is_in_words(DEMANDS, word)) else {
                return false;
            };
            let (subject, demanded) = clause.split_at(at);
            let demanded = demanded.get(1..).unwrap_or_default();
            let supposes = demanded
                .iter()
                .any(|word| is_in_words("have haben gewesen been", word));
            let is_bound = demanded.iter().any(|word| is_in_words(BOUNDS, word));
            let is_one = is_in_words("muss soll darf", clause[at]);
            let is_plural = is_in_words("muessen sollen duerfen", clause[at]);
            let of_kind = is_kind(subject, is_plural) && !is_one && is_bound
                || begins_with_every(subject)
                || names_event(subject);
            let is_own = demanded
                .first()
                .is_some_and(|who| is_in_words("i ich", who));
            of_kind && !supposes && !is_own && demanded.len() >= 2
        })
    }

    /// Whether something is forbidden or has to be: "`unwrap` is forbidden outside of tests".
    fn forbids(&self) -> bool {
        let is_mine = self.has("my me mine mein mir");
        self.list_bare().any(|clause| {
            let at = clause
                .iter()
                .position(|word| is_in_words(FORBIDDEN, word) || is_in_words(NOT_ALLOWED, word));
            let Some(at) = at else { return false };
            let (before, behind) = clause.split_at(at);
            let is_denied = is_in_words(FORBIDDEN, clause[at])
                || before
                    .iter()
                    .any(|word| is_in_words("not nicht isn't aren't", word))
                || before.first().is_some_and(|first| is_in_words(NONE, first));
            let is_said = before
                .iter()
                .any(|word| is_in_words("is are ist sind isn't aren't", word));
            // "It is forbidden, ..." says in the next clause what is.
            let is_told_behind = self.each.len() > 1
                && before
                    .first()
                    .is_some_and(|first| is_in_words("it es", first));
            let has_scope =
                is_told_behind || behind.iter().skip(1).any(|word| is_in_words(SCOPES, word));
            let points = before
                .first()
                .is_none_or(|first| is_in_words("this that these those the", first));
            is_denied && is_said && has_scope && !points && !is_mine
        })
    }

    /// Whether something is ordered for what happens again and again: "run the formatter before
    /// each commit", "whenever you add a flag, document it".
    fn orders_at_each_event(&self) -> bool {
        let mut clauses = self.list_bare();
        let Some(first) = clauses.next() else {
            return false;
        };
        let orders = is_order(first) && !is_in_words(POINTING, first[0]);
        if orders && (names_event(first) || begins_event(first)) {
            return true;
        }
        let is_condition = first
            .first()
            .is_some_and(|word| is_in_words(WHENEVER, word))
            || begins_with_any(first, "every time|each time|jedes mal")
            || first
                .first()
                .is_some_and(|word| is_in_words(CONDITIONS, word))
                && first
                    .get(1)
                    .is_some_and(|who| is_in_words("you we du wir ihr", who))
                && first.iter().any(|word| is_in_words(INDEFINITE, word))
            || first.first().is_some_and(|word| is_in_words(AT, word)) && names_event(first);
        is_condition && clauses.next().is_some_and(is_order)
    }

    /// Whether things of a kind are kept in one way and in no other: "PDFs are only ever made in
    /// the worker".
    fn keeps_in_one_way(&self) -> bool {
        let words = &self.all;
        let verb = words.iter().position(|word| is_in_words(KEPT, word));
        let Some(verb) = verb.filter(|at| *at > 0) else {
            return false;
        };
        let subject = &words[..verb];
        let text = words.join(" ");
        let is_only = [
            "only ever",
            "nowhere else",
            "nirgendwo sonst",
            "nirgends sonst",
        ]
        .iter()
        .any(|phrase| text.contains(phrase));
        let others = self.list_bare().skip(1);
        let mut others = others.filter_map(|clause| clause.first());
        let is_contrast = others.any(|word| is_in_words("never nie niemals", word));
        let through = words
            .iter()
            .skip(verb + 1)
            .take(2)
            .any(|word| is_in_words("through into via in under durch ueber in unter", word));
        let passes = is_in_words("go goes come comes live lives belong belongs", words[verb]);
        let of_work = begins_with_every(subject)
            && subject.get(1).is_some_and(|word| is_work(word))
            && words
                .iter()
                .skip(verb)
                .any(|word| is_in_words(BOUNDS, word) || is_in_words("by von", word));
        (is_only || is_contrast) && is_kind(subject, false)
            || begins_with_every(subject) && passes && through
            || of_work
    }

    /// Whether a clause orders what is always or never done, or to stop something: "and never log a
    /// token", "stop adding comments".
    fn orders_always(&self) -> bool {
        self.list_bare().any(|clause| {
            let stops = clause.first() == Some(&"stop")
                && clause.get(1).is_some_and(|verb| verb.ends_with("ing"))
                && clause
                    .get(2)
                    .is_some_and(|what| !is_in_words(POINTING, what));
            clause.len() >= FINAL_WORDS_MIN && (stops || super::english::is_ordered_always(clause))
        })
    }

    /// Whether a team always or never does something: "we never squash", "nobody merges without a
    /// review", "nothing gets merged while CI is red".
    fn is_habit_of_team(&self) -> bool {
        self.list_bare().any(|clause| {
            let word = |at: usize| clause.get(at).copied().unwrap_or_default();
            let does = |verb: &str| !is_in_words(HAPPENS, verb) && verb.len() > 2;
            let is_habit = is_in_words("we everyone everybody wir", word(0))
                && (is_in_words("always never", word(1)) && does(word(2))
                    || is_in_words("always never", word(2)) && does(word(1)))
                && clause.len() > 3;
            let is_none = is_in_words(NONE, word(0))
                && clause.iter().skip(1).take(3).any(|word| is_work_verb(word))
                && clause.iter().any(|word| {
                    is_in_words(
                        "without before while until unless on directly ohne bevor am",
                        word,
                    )
                });
            is_habit || is_none
        })
    }
}

/// Returns the words behind those that say nothing.
fn strip_leads<'s, 'w>(words: &'s [&'w str]) -> &'s [&'w str] {
    let leads = words.iter().take_while(|word| is_in_words(LEADS, word));
    words.get(leads.count()..).unwrap_or_default()
}

/// Whether words are a phrase.
fn is_phrase(words: &[&str], phrase: &str) -> bool {
    phrase.split(' ').eq(words.iter().copied())
}

/// Whether words begin with one of some phrases.
fn begins_with_any(words: &[&str], phrases: &str) -> bool {
    phrases.split('|').any(|phrase| {
        let phrase: Vec<&str> = phrase.split(' ').collect();
        words.starts_with(&phrase)
    })
}

/// Whether words begin with a word for all of a kind.
fn begins_with_every(words: &[&str]) -> bool {
    let counts = words.get(1).is_some_and(|word| is_in_words(COUNTING, word));
    words.first().is_some_and(|word| is_in_words(EVERY, word)) && !counts
}

/// Whether words are the head of a list of rules: "a few conventions for this repo".
fn is_head(words: &[&str]) -> bool {
    let of_here = words.iter().any(|word| {
        is_in_words(
            "our these some few unsere unser einige ein for fuer here hier new neue",
            word,
        )
    });
    of_here || words.len() <= 2
}

/// Whether words name things of a kind: "new columns", "code", and not "the column". Their verb may
/// tell that they are several.
fn is_kind(words: &[&str], has_plural_verb: bool) -> bool {
    let points = words.iter().any(|word| is_in_words(POINTING, word));
    let is_of_team = words.first().is_some_and(|word| is_in_words(TEAM, word));
    let is_plural = has_plural_verb
        || words
            .iter()
            .any(|word| word.ends_with('s') || word.ends_with("en") || *word == "code");
    !words.is_empty() && words.len() <= SUBJECT_WORDS_MAX && !points && !is_of_team && is_plural
}

/// Whether words name what happens again and again: "before each push".
fn names_event(words: &[&str]) -> bool {
    words.windows(3).any(|three| {
        let [at, every, what] = three else {
            return false;
        };
        is_in_words(AT, at)
            && is_in_words("every each any jedem jeder jeden jedes", every)
            && !is_in_words(COUNTING, what)
    })
}

/// Whether words have a condition that begins with a word for always: "whenever you add a flag".
fn begins_event(words: &[&str]) -> bool {
    let whenever = words.contains(&"whenever");
    whenever
        || words
            .windows(2)
            .any(|two| is_phrase(two, "every time") || is_phrase(two, "each time"))
}

/// Whether a clause begins with an order.
fn is_order(clause: &[&str]) -> bool {
    let Some(first) = clause.first() else {
        return false;
    };
    // A German noun looks like a verb, so its orders are known by their verbs.
    if clause.iter().any(|word| is_in_words(GERMAN, word)) {
        return super::german::is_order_verb(first);
    }
    let denied = begins_with_any(clause, "don't|do not|never|always");
    let second = clause.get(1).copied().unwrap_or_default();
    let is_verb = super::english::is_bare_verb(first)
        && !is_in_words(TEAM, first)
        && ![AT, CONDITIONS, WHENEVER]
            .iter()
            .any(|list| is_in_words(list, first))
        && !is_in_words("you code", first)
        && !is_in_words(EVERY, first)
        && !is_in_words(NONE, first)
        && !(second.ends_with('s') && clause.get(2).is_some_and(|word| is_in_words(AT, word)));
    denied || is_verb
}

fn is_work(word: &str) -> bool {
    is_in_words(WORK, word.trim_end_matches('s'))
}

fn is_work_verb(word: &str) -> bool {
    WORK_VERBS
        .split_ascii_whitespace()
        .any(|stem| word.starts_with(stem))
}

#[cfg(test)]
mod tests;
