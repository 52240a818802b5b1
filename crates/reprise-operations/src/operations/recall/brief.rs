//! A recall as agents need it: light results within so many tokens, quoted under a line that says
//! how far they can be trusted and names the recall; `get` gives the whole.

use reprise_engine::{context_candidate_count, estimate_tokens, excerpt};
use reprise_knowledge::LessonDetails;
use reprise_types::{DegradedPart, PublicationOrigin, RecallResponse, RelevanceVerdict};

use crate::operations::recall;
use crate::prelude::*;
use crate::wire::{
    RELATED, UNLIKELY, WEAK, capitalize, describe_left_out_sensitive, excerpt_within, short_excerpt,
};

/// A light answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Brief {
    /// The answer as text.
    #[serde(skip)]
    pub text: String,
    /// The receipt: an outcome names it.
    pub recall_id: RecallId,
    /// What may be made of the best.
    pub verdict: RelevanceVerdict,
    /// Not even the best is likely to be relevant.
    pub nothing_relevant: bool,
    /// What the answer had to do without.
    pub degraded: Vec<DegradedPart>,
    /// How the question or the filter was understood.
    pub notes: Vec<String>,
    /// Tokens of the text, four bytes each.
    pub tokens: usize,
    /// More was found than fits.
    pub truncated: bool,
    /// How long the recall took, in milliseconds.
    pub elapsed_ms: f64,
    /// What would go into a prompt, best first, then what is only related.
    #[schemars(with = "Vec<Value>")]
    pub results: Vec<LightHit>,
}

/// A result in a light answer: enough to decide whether to `get` it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LightHit {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anti_contexts: Vec<String>,
    pub applies: Option<bool>,
    pub author: Option<UserId>,
    pub by: Option<String>,
    pub confidence: Option<ConfidenceLevel>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<String>,
    pub corrected_at: Option<String>,
    /// Whether the text is cut to fit, and the rest is left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    pub evidence: Option<String>,
    pub held_until: Option<String>,
    pub id: RecordId,
    pub kind: MemoryKind,
    pub newer: Option<RecordId>,
    pub quality: Option<f64>,
    pub reason: String,
    pub scope: Option<RecallScope>,
    pub score: f64,
    pub session_id: Option<String>,
    pub shown: bool,
    pub tags: Option<Vec<String>>,
    pub text: String,
    pub title: Option<String>,
    #[serde(rename = "type")]
    pub record_type: RecordType,
    pub version: Option<String>,
    pub warning: Option<String>,
    pub when: String,
}

operation! {
    Spec::for_reading(
        "brief",
        "Find memories that answer a question, best first, with a verdict (relevant, weak or \
         nothing) and a `recall_id` for `outcome`. `get` returns them whole.",
    )
    .with_tool("recall", Profile::Lean)
    .with_tool_aliases(&["search"]);
    /// A question.
    #[derive(Default)]
    RecallBriefly(memory, arguments: Arguments {
        /// The question, in the user's own words.
        pub query | "text": String as QuestionText,
        /// Most results; 5 by default.
        pub limit | "top_k": Option<usize> as LimitCount,
        /// Which records may answer.
        #[serde(flatten)]
        pub filter: Filter,
        /// Answer as memory stood at this time.
        #[schemars(extend("x-rare" = true))]
        pub as_of: Option<String> as TimeText,
        /// Whose knowledge: the user's own, what others published, or both.
        #[schemars(extend("x-rare" = true))]
        pub scope: Option<RecallScope>,
        /// Where you work, such as a language, tool or project: it says which lessons hold there.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub context: Vec<String> as LineText,
        /// Leave out lessons that do not hold there.
        #[schemars(extend("x-rare" = true))]
        pub applying: bool,
        /// Return whole texts, not only their beginnings.
        pub full: bool,
        /// Longest answer, in tokens.
        pub max_tokens | "budget": Option<usize> as ItemCount,
    }) -> Brief {
        let Arguments {
            full, max_tokens, ..
        } = arguments;
        let asked = recall::RecallArguments {
            query: arguments.query,
            limit: arguments.limit.or(max_tokens.map(context_candidate_count)),
            filter: arguments.filter,
            as_of: arguments.as_of,
            scope: arguments.scope,
            context: arguments.context,
            applying: arguments.applying,
            ..recall::RecallArguments::default()
        };
        let began = Instant::now();
        let answer = memory.answer(asked.to_recall(memory, true)?).await?;
        let (mut found, sensitive) = (answer.recall, answer.sensitive);
        if sensitive > 0 {
            found.notes.push(describe_left_out_sensitive(sensitive, "recall"));
        }
        found.results.retain(RetrievedMemory::is_related);
        found.results.sort_by_key(|one| !one.shown);
        let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
        let place = AskContext {
            here: &asked.context,
            question: &asked.query,
            calendar: memory.calendar(),
        };
        Ok(Brief {
            elapsed_ms,
            ..brief_of_recall(found, &place, full, max_tokens, system_entropy())
        })
    }

    fn render_text(brief: &Brief) -> Cow<'_, str> {
        brief.text.as_str().into()
    }
}

/// Characters that the best memory gets, however few tokens are left for it.
const LEAST: usize = 60;
/// Characters of the text for each result if no budget is given (the first few get more); the
/// other facts are in the results.
const CHARS_EACH: usize = 240;
const RESULTS_LEAST: usize = 5;
/// Characters of a memory's text, where all that is told of it is too long.
const LINE_CHARS: usize = 110;

/// Where a question is asked.
#[derive(Debug, Clone, Copy)]
struct AskContext<'a> {
    /// In the asker's words.
    here: &'a [String],
    question: &'a str,
    calendar: Calendar,
}

/// As many of the best as `most` tokens hold; of the best at least a part. `full` is whole
/// texts; `nonce` is drawn for this answer alone.
fn brief_of_recall(
    recall: RecallResponse,
    place: &AskContext<'_>,
    full: bool,
    most: Option<usize>,
    nonce: u128,
) -> Brief {
    let all = &recall.results;
    let fits = |text: &str| most.is_none_or(|most| estimate_tokens(text.len()) <= most);
    let rendered = |shown: &[LightHit], style: HitStyle| {
        let mut memory = QuotedMemory::new(nonce);
        let mut is_shown = true;
        for (light, found) in shown.iter().zip(all) {
            if !light.shown && std::mem::take(&mut is_shown) {
                memory.add_line(&capitalize(RELATED), "");
            }
            memory.add_hit(&view_light(light, found, style, &place.calendar), style);
        }
        let said = render_headline(&recall, shown, most);
        match shown {
            [] => said,
            _ => [&said, "\n", &memory.into_text()].concat(),
        }
    };
    let render = |shown: &[LightHit]| rendered(shown, HitStyle::ToolWhole);
    let mut results: Vec<LightHit> = Vec::with_capacity(all.len());
    // What comes later is no better: a gap in the middle would hide that.
    let count = find_greatest_fitting_count(all.len(), |count| {
        let more = all.iter().take(count).skip(results.len());
        results.extend(more.map(|found| LightHit::of(found, place, full)));
        most.is_none()
            || results
                .get(..count)
                .is_some_and(|shown| fits(&render(shown)))
    });
    results.truncate(count);
    if let (true, Some(best)) = (results.is_empty(), all.first()) {
        results.push(excerpt_row_that_fits(best, |light| {
            fits(&render(std::slice::from_ref(light)))
        }));
    }
    let truncated = results.len() < all.len() || results.iter().any(|one| one.cut);
    let chars_max = CHARS_EACH * results.len().max(RESULTS_LEAST);
    let styles = [HitStyle::ToolWhole, HitStyle::ToolHolding];
    let mut texts = styles.into_iter().map(|style| rendered(&results, style));
    let is_short = |text: &String| text.chars().count() <= chars_max;
    let text = if full || most.is_some() {
        render(&results)
    } else {
        let short = texts.find(is_short);
        short.unwrap_or_else(|| rendered(&results, HitStyle::ToolLine))
    };
    Brief {
        tokens: estimate_tokens(text.len()),
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

/// Returns the greatest count, up to `most`, that fits, where each count below one that fits does
/// so too. What a count costs grows with it, so few are tried, small ones first.
fn find_greatest_fitting_count(most: usize, mut fits: impl FnMut(usize) -> bool) -> usize {
    let (mut good, mut bad, mut step) = (0, most + 1, 1);
    while good + 1 < bad {
        let next = (good + step).min(bad - 1);
        if fits(next) {
            (good, step) = (next, step * 2);
        } else {
            (bad, step) = (next, ((next - good) / 2).max(1));
        }
    }
    good
}

/// What the results are good for, what to call the recall, and how many of them are told.
fn render_headline(recall: &RecallResponse, shown: &[LightHit], most: Option<usize>) -> String {
    let (id, found) = (recall.recall_id, recall.results.len());
    let cut = shown.iter().any(|light| light.cut);
    let own = shown.iter().take_while(|light| light.shown).count();
    let count = match (shown.len(), most) {
        (shown, Some(most)) if cut => format!(": {shown} of {found}, cut to {most} tokens"),
        (shown, Some(most)) if shown < found => format!(": {shown} of {found} in {most} tokens"),
        (shown, _) if own > 0 && shown > own => format!("; {} more only related", shown - own),
        _ => String::new(),
    };
    let mut best = recall.results.iter().take(own);
    let what = if best.all(|one| LessonDetails::of(&one.record).is_some()) {
        "relevant lesson"
    } else {
        "relevant memory"
    };
    let relevant = format!("Found {}", format_count(own, what));
    let (weak, unknown) = (capitalize(WEAK), format!("Not known: {UNLIKELY}"));
    let said = match recall.verdict {
        RelevanceVerdict::Nothing if recall.considered == 0 => "Nothing comes to mind",
        RelevanceVerdict::Nothing => &unknown,
        RelevanceVerdict::Weak => &weak,
        RelevanceVerdict::Relevant => relevant.as_str(),
    };
    let notes = recall.notes.iter().map(|note| format!("\nNote: {note}"));
    let half = recall.half_answer();
    let half = half.map_or(String::new(), |half| [half, " "].concat());
    format!("{half}{said} (recall_id {id}){count}") + &notes.collect::<String>()
}

/// The best memory as far as it `fits`: its sentences around what matched, else words, at least
/// [`LEAST`] characters of them.
fn excerpt_row_that_fits(found: &RetrievedMemory, fits: impl Fn(&LightHit) -> bool) -> LightHit {
    let bare = LightHit {
        cut: true,
        ..LightHit::bare(found)
    };
    let words = &found.why.matched_words;
    let with = |text: &str, reason: &str| LightHit {
        text: text.to_owned(),
        reason: reason.to_owned(),
        ..bare.clone()
    };
    let text = &found.record.text;
    for reason in [found.why.reason.as_str(), ""] {
        if let Some(part) = excerpt(text, words, &|part| fits(&with(part, reason))) {
            return with(&part, reason);
        }
    }
    with(&excerpt_within(text, words, LEAST), "")
}

impl LightHit {
    /// Creates the row without a text: what it is, who said or published it and where, and whether
    /// it still holds.
    fn bare(found: &RetrievedMemory) -> Self {
        let RetrievedMemory { record, why, .. } = found;
        let about = RecordByline::of(record);
        let by = found.published.as_ref();
        Self {
            id: record.id,
            text: String::new(),
            score: f64::from(found.sona_score),
            shown: found.shown,
            reason: String::new(),
            kind: record.kind,
            when: format_instant(record.timestamp),
            record_type: about.record_type,
            by: about.by,
            corrected_at: record.made_as_correction_at().map(format_instant),
            session_id: Some(record.session_id.clone()).filter(|session| !session.is_empty()),
            newer: why.contradicted_by,
            held_until: why.held_until.map(format_instant),
            author: by.map(|by| by.author.clone()),
            version: by.map(|by| by.version.clone()),
            cut: false,
            anti_contexts: Vec::new(),
            applies: None,
            confidence: None,
            contexts: Vec::new(),
            evidence: None,
            quality: None,
            scope: None,
            tags: None,
            title: None,
            warning: None,
        }
    }

    /// Creates the row of a result, with as much of its text as a light answer shows.
    fn of(found: &RetrievedMemory, place: &AskContext<'_>, full: bool) -> Self {
        let (record, by) = (&found.record, found.published.as_ref());
        let text = if full {
            record.text.clone()
        } else {
            short_excerpt(&record.text, &found.why.matched_words)
        };
        let card = LessonCard::of(record).map(|mut card| {
            card.set_applies(place.here, place.question);
            card
        });
        let row = Self {
            text,
            reason: found.why.reason.clone(),
            tags: Some(record.tags.clone()),
            title: Some(title_or_beginning(record)),
            scope: by.map(|_| RecallScope::Global),
            quality: by.map(|by| f64::from(by.quality)),
            confidence: record.confidence_level(),
            evidence: evidence_of(record).map(str::to_owned),
            ..Self::bare(found)
        };
        match card {
            Some(card) => Self {
                contexts: card.contexts,
                anti_contexts: card.anti_contexts,
                applies: card.applies,
                warning: card.warning,
                ..row
            },
            None => row,
        }
    }
}

/// Returns a result as the caller of a tool sees it.
fn view_light(
    light: &LightHit,
    found: &RetrievedMemory,
    style: HitStyle,
    calendar: &Calendar,
) -> HitView {
    let caption = RecordCaption::of(&found.record, found.why.contradicted_by);
    let caption = caption
        .with_held_until(found.why.held_until)
        .to_words(calendar);
    let by = found.published.as_ref();
    let (text, body) = choose_headline_and_body(light, found, style);
    HitView {
        score: found.sona_score,
        published: by.map(PublicationOrigin::describe).unwrap_or_default(),
        confidence: light.confidence,
        reason: light.reason.clone(),
        warning: light.warning.clone().unwrap_or_default(),
        contexts: light.contexts.clone(),
        anti_contexts: light.anti_contexts.clone(),
        body,
        ..HitView::new(light.id, found.record.timestamp, caption, text)
    }
}

/// Returns the first line of a memory, and the text below it.
fn choose_headline_and_body(
    light: &LightHit,
    found: &RetrievedMemory,
    style: HitStyle,
) -> (String, String) {
    let title = light.title.as_deref().unwrap_or_default();
    // Where a lesson holds is said with it, once.
    let is_lesson = LessonDetails::of(&found.record).is_some();
    let told = |text: &str| {
        if is_lesson {
            LessonDetails::without_added_lines(text)
        } else {
            text.to_owned()
        }
    };
    let text = told(&light.text);
    // A title that is only how the text begins says nothing more.
    let (first, body) = match text.strip_prefix(title) {
        _ if title.is_empty() || title.ends_with("...") => (text.as_str(), ""),
        Some(body) => (title, body.trim()),
        None => (title, text.as_str()),
    };
    if style == HitStyle::ToolWhole {
        return (first.to_owned(), body.to_owned());
    }
    let words = &found.why.matched_words;
    let part = excerpt_within(&told(&found.record.text), words, LINE_CHARS);
    let is_apart = !body.is_empty() && !part.contains(first);
    let line = if is_apart {
        [first, ": ", &part].concat()
    } else {
        part
    };
    (line.chars().take(LINE_CHARS).collect(), String::new())
}

/// What a recall of these says, cut to `most` tokens.
#[cfg(test)]
pub(crate) fn render_brief_for_test(
    results: Vec<RetrievedMemory>,
    most: Option<usize>,
    full: bool,
) -> String {
    let mut recall = RecallResponse::empty(RecallId::from_u128(7));
    recall.results = results;
    let place = AskContext {
        here: &[],
        question: "",
        calendar: Calendar {
            now: DateTime::UNIX_EPOCH,
            zone: reprise_types::Zone::Utc,
        },
    };
    brief_of_recall(recall, &place, full, most, 7).text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_that_might_fit_few_are_tried() {
        for most in [0, 1, 2, 7, 500] {
            for fitting in 0..=most {
                let mut work = 0;
                let found = find_greatest_fitting_count(most, |count| {
                    work += count;
                    count <= fitting
                });
                assert_eq!(found, fitting, "of {most}");
                assert!(work <= 24 * most.max(1), "{fitting} of {most}: {work}");
            }
        }
    }
}
