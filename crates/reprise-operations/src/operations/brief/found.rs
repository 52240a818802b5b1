//! What a recall found, as an agent reads it: light results within so many tokens, quoted
//! under a line that says how far they can be trusted and names the recall.

use reprise_engine::excerpt;
use reprise_knowledge::Lesson;
use reprise_types::{PublishedBy, Recall, Verdict};

use crate::prelude::*;
use crate::wire::{short, within};

/// Characters that the best memory gets, however few tokens are left for it.
const LEAST: usize = 60;
/// Characters of the text for each result, but for the fewest, where nobody gives a budget: what
/// else is to be told of them stands in the results.
const CHARS_EACH: usize = 240;
const RESULTS_LEAST: usize = 5;
/// Characters of a memory's text, where all that is told of it is too long.
const LINE_CHARS: usize = 110;

/// How much the text says of each result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// As the results do.
    Whole,
    /// A line of its text, and where it holds.
    Holding,
    /// A line of its text, and a warning where it does not hold here.
    Line,
}

/// Where a question is asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    /// In the asker's words.
    pub(super) here: &'a [String],
    pub(super) question: &'a str,
    pub(super) calendar: Calendar,
}

/// A recall as text, and the results that stand in it.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) text: String,
    pub(super) results: Vec<Value>,
    /// More was found, or said, than fits.
    pub(super) truncated: bool,
}

impl Found {
    /// As many of the best as `most` tokens hold; of the best at least a part. `full` is whole
    /// texts; `nonce` is drawn for this answer alone.
    pub(super) fn of(
        recall: &Recall,
        place: &Place<'_>,
        full: bool,
        most: Option<usize>,
        nonce: u128,
    ) -> Self {
        let all = &recall.results;
        let fits = |text: &str| most.is_none_or(|most| tokens(text.len()) <= most);
        let rendered = |shown: &[Value], detail: Detail| {
            let mut memory = QuotedMemory::new(nonce);
            let mut is_shown = true;
            for (light, found) in shown.iter().zip(all) {
                if light["shown"] == false && std::mem::take(&mut is_shown) {
                    memory.line("Related, may not be an answer:", "");
                }
                let line = line_of(light, found, detail);
                let told = Told::of(&found.record, found.why.contradicted_by);
                let told = told.words(&place.calendar);
                quote(&mut memory, light, line, detail, &told);
            }
            let said = headline(recall, shown, most);
            match shown {
                [] => said,
                _ => [&said, "\n", &memory.into_text()].concat(),
            }
        };
        let render = |shown: &[Value]| rendered(shown, Detail::Whole);
        let mut results: Vec<Value> = Vec::with_capacity(all.len());
        for found in all {
            results.push(light(found, place, full));
            // What comes later is no better: a gap in the middle would hide that.
            if !fits(&render(&results)) {
                results.pop();
                break;
            }
        }
        if let (true, Some(best)) = (results.is_empty(), all.first()) {
            results.push(cut(best, |light| {
                fits(&render(std::slice::from_ref(light)))
            }));
        }
        let truncated = results.len() < all.len() || results.iter().any(|one| one["cut"] == true);
        let chars_max = CHARS_EACH * results.len().max(RESULTS_LEAST);
        let details = [Detail::Whole, Detail::Holding];
        let mut texts = details.into_iter().map(|detail| rendered(&results, detail));
        let is_short = |text: &String| text.chars().count() <= chars_max;
        let text = if full || most.is_some() {
            render(&results)
        } else {
            let short = texts.find(is_short);
            short.unwrap_or_else(|| rendered(&results, Detail::Line))
        };
        Self {
            text,
            results,
            truncated,
        }
    }
}

/// Tokens of a text of so many bytes, four bytes each.
pub(super) fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(4)
}

/// What the results are good for, how many there are, and what to call the recall.
fn headline(recall: &Recall, shown: &[Value], most: Option<usize>) -> String {
    let (id, found) = (recall.recall_id, recall.results.len());
    let cut = shown.iter().any(|light| light["cut"] == true);
    let count = match (shown.len(), most) {
        (shown, Some(most)) if cut => format!("{shown} of {found}, cut to {most} tokens"),
        (shown, Some(most)) if shown < found => format!("{shown} of {found} in {most} tokens"),
        (shown, _) => shown.to_string(),
    };
    let own = shown
        .iter()
        .take_while(|light| light["shown"] != false)
        .count();
    let mut best = recall.results.iter().take(own);
    let what = if best.all(|one| Lesson::of(&one.record).is_some()) {
        "relevant lesson"
    } else {
        "relevant record"
    };
    let relevant = format!("Found {}", counted(own, what));
    let said = match recall.verdict {
        Verdict::Nothing if recall.considered == 0 => "Nothing comes to mind",
        Verdict::Nothing => "Not known: nothing here is likely to answer that",
        Verdict::Weak => "Weak, may not be what was asked for: check first",
        Verdict::Relevant => relevant.as_str(),
    };
    let notes = recall.notes.iter().map(|note| format!("\nNote: {note}"));
    format!("{said} (recall_id {id}): {count}") + &notes.collect::<String>()
}

/// The best memory as far as it `fits`: its sentences around what matched, else words, at least
/// [`LEAST`] characters of them.
fn cut(found: &RetrievedMemory, fits: impl Fn(&Value) -> bool) -> Value {
    let mut bare = json!({
        "id": found.record.id,
        "text": "",
        "score": found.sona_score,
        "shown": found.shown,
        "kind": found.record.kind,
        "when": instant(found.record.timestamp),
        "cut": true,
    });
    tell(&mut bare, found);
    if let Some(by) = &found.published {
        bare["author"] = json!(by.author);
        bare["version"] = json!(by.version);
    }
    let words = &found.why.matched_words;
    let reason = found.why.reason.as_str();
    let with = |text: &str, reason: &str| {
        let mut light = bare.clone();
        light["text"] = json!(text);
        light["reason"] = json!(reason);
        light
    };
    let text = &found.record.text;
    for reason in [reason, ""] {
        if let Some(part) = excerpt(text, words, &|part| fits(&with(part, reason))) {
            return with(&part, reason);
        }
    }
    let least = excerpt(text, words, &|part| part.chars().count() <= LEAST);
    let least = least.unwrap_or_else(|| text.chars().take(LEAST).collect());
    with(&least, "")
}

/// Enough to decide whether to `get` it.
fn light(found: &RetrievedMemory, place: &Place<'_>, full: bool) -> Value {
    let record = &found.record;
    let text = if full {
        record.text.clone()
    } else {
        short(&record.text, &found.why.matched_words)
    };
    let mut light = json!({
        "id": record.id,
        "title": title_of(record),
        "text": text,
        "score": found.sona_score,
        "shown": found.shown,
        "reason": found.why.reason,
        "kind": record.kind,
        "when": instant(record.timestamp),
        "tags": record.tags,
    });
    tell(&mut light, found);
    if let Some(by) = &found.published {
        light["scope"] = json!(RecallScope::Global);
        light["author"] = json!(by.author);
        light["version"] = json!(by.version);
        light["quality"] = json!(by.quality);
    }
    if let Some(level) = record.confidence_level() {
        light["confidence"] = json!(level);
    }
    if let Some(evidence) = evidence_of(record) {
        light["evidence"] = json!(evidence);
    }
    if let Some(mut card) = LessonCard::of(record) {
        card.place(place.here, place.question);
        for (name, words) in [
            ("contexts", &card.contexts),
            ("anti_contexts", &card.anti_contexts),
        ] {
            if !words.is_empty() {
                light[name] = json!(words);
            }
        }
        if let Some(applies) = card.applies {
            light["applies"] = json!(applies);
        }
        if let Some(warning) = card.warning {
            light["warning"] = json!(warning);
        }
    }
    light
}

/// Adds what it is, who said it and where, and whether it still stands.
fn tell(light: &mut Value, found: &RetrievedMemory) {
    let Some(fields) = light.as_object_mut() else {
        return;
    };
    if let Value::Object(about) = json!(About::of(&found.record)) {
        fields.extend(about);
    }
    if let Some(at) = found.record.corrected_at() {
        fields.insert("corrected_at".to_owned(), json!(instant(at)));
    }
    let session = &found.record.session_id;
    if !session.is_empty() {
        fields.insert("session_id".to_owned(), json!(session));
    }
    if let Some(newer) = found.why.contradicted_by {
        fields.insert("newer".to_owned(), json!(newer));
    }
}

/// What stands on the first line of a memory, and below it.
fn line_of(light: &Value, found: &RetrievedMemory, detail: Detail) -> (String, String) {
    let field = |name: &str| light[name].as_str().unwrap_or_default();
    let (title, text) = (field("title"), field("text"));
    // Where a lesson holds is told beside it, once.
    let is_lesson = Lesson::of(&found.record).is_some();
    let told = |text: &str| {
        if is_lesson {
            Lesson::told(text)
        } else {
            text.to_owned()
        }
    };
    let text = told(text);
    // A title that is only how the text begins says nothing more.
    let (first, body) = match text.strip_prefix(title) {
        _ if title.is_empty() || title.ends_with("...") => (text.as_str(), ""),
        Some(body) => (title, body.trim()),
        None => (title, text.as_str()),
    };
    if detail == Detail::Whole {
        return (first.to_owned(), body.to_owned());
    }
    let words = &found.why.matched_words;
    let part = within(&told(&found.record.text), words, LINE_CHARS);
    let is_apart = !body.is_empty() && !part.contains(first);
    let line = if is_apart {
        [first, ": ", &part].concat()
    } else {
        part
    };
    (line.chars().take(LINE_CHARS).collect(), String::new())
}

/// One memory on a few lines: day, score, id, what it is, its line; why; where it holds; the rest.
fn quote(
    memory: &mut QuotedMemory,
    light: &Value,
    (first, body): (String, String),
    detail: Detail,
    told: &str,
) {
    let field = |name: &str| light[name].as_str().unwrap_or_default();
    let day = field("when").get(..10).unwrap_or_default();
    let score = light["score"].as_f64().unwrap_or_default();
    let sure = match field("confidence") {
        "" => String::new(),
        level => format!("[{}] ", level.replace('_', "-")),
    };
    let by = light["author"].as_str().and_then(|author| {
        let by = PublishedBy {
            author: author.parse().ok()?,
            version: field("version").to_owned(),
            quality: 0.0,
        };
        Some(format!(" {}", by.words()))
    });
    let by = by.unwrap_or_default();
    let label = format!("- {day} {score:.2}{by} [{}] ({told}) {sure}", field("id"));
    memory.line(&label, &first);
    if !field("warning").is_empty() {
        memory.line("  WARNING: ", field("warning"));
    }
    if detail == Detail::Line {
        return;
    }
    if detail == Detail::Whole && !field("reason").is_empty() {
        memory.line("  why: ", field("reason"));
    }
    for (name, head) in [
        ("contexts", "  holds for: "),
        ("anti_contexts", "  NOT for: "),
    ] {
        let words = light[name].as_array().into_iter().flatten();
        let words: Vec<&str> = words.filter_map(Value::as_str).collect();
        if !words.is_empty() {
            memory.line(head, &words.join("; "));
        }
    }
    if !body.is_empty() {
        memory.line("  ", &body);
    }
}
