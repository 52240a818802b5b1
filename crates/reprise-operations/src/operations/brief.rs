//! A recall as agents need it: light results within so many tokens, quoted under a line that says
//! how far they can be trusted and names the recall; `get` gives the whole.

use reprise_engine::{context_candidates, excerpt, without_sensitive};
use reprise_knowledge::Lesson;
use reprise_types::{Degraded, Recall, Verdict};

use super::recall;
use crate::prelude::*;
use crate::wire::{add, sensitive_left_out, short, within};

/// A light answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Brief {
    /// The answer as text.
    #[serde(skip)]
    pub text: String,
    /// The receipt: an outcome names it.
    pub recall_id: RecallId,
    /// What may be made of the best.
    pub verdict: Verdict,
    /// Not even the best is likely to be relevant.
    pub nothing_relevant: bool,
    /// What the answer had to do without.
    pub degraded: Vec<Degraded>,
    /// How the question or the filter was understood.
    pub notes: Vec<String>,
    /// Tokens of the text, four bytes each.
    pub tokens: usize,
    /// More was found than fits.
    pub truncated: bool,
    /// How long the recall took, in milliseconds.
    pub elapsed_ms: f64,
    /// What would go into a prompt, best first, then what is only related.
    pub results: Vec<Value>,
}

operation! {
    Spec::reads(
        "brief",
        "Find what is known. Results are light; `get` gives the whole.",
    )
    .tool("recall", Profile::Lean)
    .also(&["search"]);
    /// A question.
    #[derive(Default)]
    RecallBriefly(memory, arguments: Arguments {
        /// In the user's words.
        #[serde(alias = "text")]
        pub query: String,
        /// Results; 5 by default.
        #[serde(alias = "top_k")]
        pub limit: Option<usize>,
        /// Which records may answer.
        #[serde(flatten)]
        pub filter: Filter,
        /// Answer as memory stood at this time.
        #[schemars(extend("x-rare" = true))]
        pub as_of: Option<String>,
        /// Whose knowledge: the user's own, what others published, or both.
        #[schemars(extend("x-rare" = true))]
        pub scope: Option<RecallScope>,
        /// Where you are.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub context: Vec<String>,
        /// Leave out lessons that do not hold there.
        #[schemars(extend("x-rare" = true))]
        pub applying: bool,
        /// Whole texts.
        pub full: bool,
        /// Of the answer.
        #[serde(alias = "budget")]
        pub max_tokens: Option<usize>,
    }) -> Brief {
        let Arguments {
            full, max_tokens, ..
        } = arguments;
        let limit = max_tokens.map_or(TOP_K_DEFAULT, context_candidates);
        let asked = recall::RecallArguments {
            query: arguments.query,
            limit: Some(arguments.limit.unwrap_or(limit)),
            filter: arguments.filter,
            as_of: arguments.as_of,
            scope: arguments.scope,
            context: arguments.context,
            applying: arguments.applying,
            ..recall::RecallArguments::default()
        };
        let began = Instant::now();
        let mut found = recall::found(memory, &asked).await?;
        let sensitive = without_sensitive(&mut found);
        if sensitive > 0 {
            found.notes.push(sensitive_left_out(sensitive, "recall"));
        }
        found.results.retain(RetrievedMemory::is_related);
        found.results.sort_by_key(|one| !one.shown);
        let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
        let place = Place {
            here: &asked.context,
            question: &asked.query,
            calendar: memory.calendar(),
        };
        Ok(Brief {
            elapsed_ms,
            ..brief(found, &place, full, max_tokens, system_entropy())
        })
    }

    fn text(brief: &Brief) -> Cow<'_, str> {
        brief.text.as_str().into()
    }
}

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
struct Place<'a> {
    /// In the asker's words.
    here: &'a [String],
    question: &'a str,
    calendar: Calendar,
}

/// As many of the best as `most` tokens hold; of the best at least a part. `full` is whole
/// texts; `nonce` is drawn for this answer alone.
fn brief(recall: Recall, place: &Place<'_>, full: bool, most: Option<usize>, nonce: u128) -> Brief {
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
            quote(&mut memory, light, found, line, detail, &told);
        }
        let said = headline(&recall, shown, most);
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
    Brief {
        tokens: tokens(text.len()),
        text,
        recall_id: recall.recall_id,
        verdict: recall.verdict,
        nothing_relevant: recall.nothing_relevant,
        degraded: recall.degraded,
        notes: recall.notes,
        truncated,
        elapsed_ms: 0.0,
        results,
    }
}

/// Tokens of a text of so many bytes, four bytes each.
fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(4)
}

/// What the results are good for, what to call the recall, and how many of them are told.
fn headline(recall: &Recall, shown: &[Value], most: Option<usize>) -> String {
    let (id, found) = (recall.recall_id, recall.results.len());
    let cut = shown.iter().any(|light| light["cut"] == true);
    let own = shown
        .iter()
        .take_while(|light| light["shown"] != false)
        .count();
    let count = match (shown.len(), most) {
        (shown, Some(most)) if cut => format!(": {shown} of {found}, cut to {most} tokens"),
        (shown, Some(most)) if shown < found => format!(": {shown} of {found} in {most} tokens"),
        (shown, _) if shown > own => format!("; {} more only related", shown - own),
        _ => String::new(),
    };
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
    format!("{said} (recall_id {id}){count}") + &notes.collect::<String>()
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
    with(&within(text, words, LEAST), "")
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
        "text": text,
        "score": found.sona_score,
        "shown": found.shown,
        "reason": found.why.reason,
        "kind": record.kind,
        "when": instant(record.timestamp),
        "tags": record.tags,
    });
    if let Some(mut card) = LessonCard::of(record) {
        card.place(place.here, place.question);
        add(&mut light, &card);
    }
    light["title"] = json!(title_of(record));
    tell(&mut light, found);
    if let Some(by) = &found.published {
        light["scope"] = json!(RecallScope::Global);
        light["quality"] = json!(by.quality);
    }
    if let Some(level) = record.confidence_level() {
        light["confidence"] = json!(level);
    }
    if let Some(evidence) = evidence_of(record) {
        light["evidence"] = json!(evidence);
    }
    light
}

/// Adds what it is, who said or published it and where, and whether it still stands.
fn tell(light: &mut Value, found: &RetrievedMemory) {
    add(light, &About::of(&found.record));
    if let Some(at) = found.record.corrected_at() {
        light["corrected_at"] = json!(instant(at));
    }
    let session = &found.record.session_id;
    if !session.is_empty() {
        light["session_id"] = json!(session);
    }
    if let Some(newer) = found.why.contradicted_by {
        light["newer"] = json!(newer);
    }
    if let Some(by) = &found.published {
        light["author"] = json!(by.author);
        light["version"] = json!(by.version);
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
    found: &RetrievedMemory,
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
    let by = found.published.as_ref();
    let by = by.map_or_else(String::new, |by| [" ", &by.words()].concat());
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

/// What a recall of these says, cut to `most` tokens.
#[cfg(test)]
pub(super) fn quoted(results: Vec<RetrievedMemory>, most: Option<usize>, full: bool) -> String {
    let mut recall = Recall::nothing(RecallId::from_u128(7));
    recall.results = results;
    let place = Place {
        here: &[],
        question: "",
        calendar: Calendar {
            now: DateTime::UNIX_EPOCH,
            zone: reprise_types::Zone::Utc,
        },
    };
    brief(recall, &place, full, most, 7).text
}
