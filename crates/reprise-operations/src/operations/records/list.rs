//! Memory page by page, without a question.

use reprise_types::{ID_PATTERN, ListOrder, RecordPage, SystemClock};

use crate::prelude::*;
use crate::wire::{add_fields, drop_sensitive_records, short_excerpt};

fn cursor_pattern() -> String {
    format!("^(?:{}|{ID_PATTERN})$", Cursor::pattern())
}

/// A page: each record in its export form, with the `cursor` of its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Listed")]
pub struct ListedRecords {
    /// The newest first, or as asked for the oldest.
    pub records: Vec<Value>,
    /// The cursor of the next page; null on the last.
    pub next: Option<Cursor>,
    /// Records that the filter admits, on all pages.
    pub considered: u32,
    /// Records of this page that are damaged and left out.
    pub damaged: usize,
    /// Sentences for a reader: why there is nothing.
    pub notes: Vec<String>,
}

impl ListedRecords {
    /// The page of a user for whom nothing was ever kept.
    fn of_nobody() -> Self {
        Self {
            records: Vec::new(),
            next: None,
            considered: 0,
            damaged: 0,
            notes: vec!["nothing is remembered yet".to_owned()],
        }
    }
}

operation! {
    Spec::for_reading(
        "list",
        "List memories page by page, newest first; `grep` finds exact words.",
    )
    .with_routes(&[(Method::Get, "/v1/users/{user}/records")])
    .with_tool("list", Profile::Default)
    .with_tool_presets(r#"{"limit":20,"brief":true}"#);
    /// What is to be listed.
    #[derive(Default, clap::Args)]
    List(memory, arguments: Arguments {
        /// Which records.
        #[serde(flatten)]
        #[command(flatten)]
        pub filter: Filter,
        /// Only memories that contain this, word for word; case does not matter.
        #[schemars(length(min = 1))]
        #[arg(long, value_name = "TEXT")]
        pub grep: Option<String> as LineText,
        /// Memories per page [default: 50; at most 1000].
        #[schemars(range(min = 1, max = PAGE_MAX))]
        #[arg(
            long,
            value_name = "N",
            help = "Maximum number of memories [default: 50]"
        )]
        pub limit: Option<usize> as LimitCount,
        /// `next` of the page before, or an id.
        #[schemars(regex(pattern = cursor_pattern()))]
        #[arg(long)]
        pub cursor: Option<String> as RecordKey,
        /// List the oldest first.
        #[schemars(extend("x-rare" = true))]
        #[arg(long)]
        pub oldest: bool,
        /// Show only the beginning of each text.
        #[schemars(extend("x-rare" = true))]
        #[arg(skip)]
        pub brief: bool,
    }) -> ListedRecords {
        if memory.is_for_agent() && !memory.exists() {
            // A tool that looks is answered, as by a recall.
            return Ok(ListedRecords::of_nobody());
        }
        let filter = arguments.filter.to_memory_filter(&memory.calendar());
        let mut filter = filter.map_err(Problem::invalid)?;
        memory.resolve_filter_tags(&mut filter);
        let for_agent = memory.is_for_agent();
        let page = memory.run_on_snapshot(move |snapshot| build_page(snapshot, &arguments, filter, for_agent));
        page.await?
    }

    fn render_text(page: &ListedRecords) -> Cow<'_, str> {
        let all = format_count(page.considered, "memory");
        let mut text = format!("{} of {all}", page.records.len());
        for note in &page.notes {
            text.push_str(&[": ", note].concat());
        }
        let mut quoted = QuotedMemory::new(system_entropy());
        let calendar = Calendar::in_machine_zone(SystemClock.now());
        for record in &page.records {
            let part = |name: &str| record[name].as_str().unwrap_or_default();
            let told = RecordCaption::from_answer_row(record).map(|told| told.to_words(&calendar));
            let told = told.unwrap_or_default();
            let label = format!("- {} [{}] ({told}) ", part("timestamp"), part("id"));
            quoted.add_line(&label, part("text"));
        }
        text.push_str(&["\n", &quoted.into_text()].concat());
        if let Some(next) = page.next {
            text.push_str(&["\nmore with cursor ", &next.to_string()].concat());
        }
        text.into()
    }
}

/// A page of whole records, for a caller in this process.
pub async fn list_records(memory: &Memory, mut asked: ListRequest) -> Result<RecordPage, Problem> {
    memory.resolve_filter(&mut asked.filter).await?;
    memory
        .run_on_snapshot(move |snapshot| snapshot.list(&asked))
        .await
}

/// The records that were kept last, whenever they happened, newest first.
pub async fn list_newest(memory: &Memory, most: usize) -> Result<Vec<MemoryRecord>, Problem> {
    let newest = move |snapshot: &Snapshot| {
        let newest = snapshot
            .newest_records(most)
            .into_iter()
            .filter_map(Result::ok);
        newest.map(MemoryRecord::without_vector).collect()
    };
    memory.run_on_snapshot(newest).await
}

/// The page of a snapshot.
fn build_page(
    snapshot: &Snapshot,
    asked: &Arguments,
    filter: MemoryFilter,
    for_agent: bool,
) -> Result<ListedRecords, Problem> {
    let after = asked
        .cursor
        .as_deref()
        .map(|cursor| resolve_cursor(snapshot, cursor));
    let order = if asked.oldest {
        ListOrder::OldestFirst
    } else {
        ListOrder::NewestFirst
    };
    let request = ListRequest {
        filter,
        limit: asked.limit.unwrap_or(PAGE_DEFAULT),
        after: after.transpose()?,
    };
    let mut page = match &asked.grep {
        Some(text) => list_containing(snapshot, order, request, text),
        None => snapshot.list_ordered(order, &request),
    };
    if for_agent {
        page.notes.extend(drop_sensitive_records(&mut page.records));
    }
    let line = |record: &MemoryRecord| {
        let mut line = json!(ExportLine::new(record));
        add_fields(&mut line, &RecordByline::of(record));
        line["cursor"] = json!(Cursor::of(record));
        if asked.brief {
            line["text"] = json!(short_excerpt(&record.text, &[]));
        }
        line
    };
    Ok(ListedRecords {
        records: page.records.iter().map(line).collect(),
        next: page.next,
        considered: page.considered,
        damaged: page.damaged,
        notes: page.notes,
    })
}

/// Lists the records whose text contains `text`, letter for letter but for their case, and counts
/// them on all pages.
fn list_containing(
    snapshot: &Snapshot,
    order: ListOrder,
    request: ListRequest,
    text: &str,
) -> RecordPage {
    let (limit, text) = (request.limit, text.to_lowercase());
    let contains = |record: &MemoryRecord| record.text.to_lowercase().contains(&text);
    let mut request = ListRequest {
        limit: PAGE_MAX,
        ..request
    };
    // Those before the place to go on from are counted, too.
    let after = request.after.take();
    let is_before = |record: &MemoryRecord| {
        let place = Cursor::of(record);
        let place = (place.timestamp_micros, place.id);
        after.is_some_and(|after| match order {
            ListOrder::NewestFirst => place >= (after.timestamp_micros, after.id),
            ListOrder::OldestFirst => place <= (after.timestamp_micros, after.id),
        })
    };
    let (mut found, mut count) = (Vec::new(), 0);
    let mut page = snapshot.list_ordered(order, &request);
    let mut read = std::mem::take(&mut page.records);
    let mut next = page.next.take();
    loop {
        for record in read.drain(..).filter(|record| contains(record)) {
            count += 1;
            if !is_before(&record) && found.len() <= limit {
                found.push(record);
            }
        }
        let Some(place) = next else {
            break;
        };
        request.after = Some(place);
        let more = snapshot.list_ordered(order, &request);
        page.damaged += more.damaged;
        (read, next) = (more.records, more.next);
    }
    page.considered = count;
    if after.is_some() {
        // The first page told it.
        page.damaged = 0;
        page.notes.clear();
    }
    if found.len() > limit {
        found.truncate(limit);
        page.next = found.last().map(Cursor::of);
    }
    if count == 0 && page.notes.is_empty() {
        page.notes.push("no memory contains this text".to_owned());
    }
    page.records = found;
    page
}

/// The place that a cursor or a record's id names.
fn resolve_cursor(snapshot: &Snapshot, cursor: &str) -> Result<Cursor, Problem> {
    let Ok(id) = cursor.parse::<RecordId>() else {
        return cursor.parse().map_err(Problem::invalid);
    };
    snapshot.list_cursor(id).ok_or_else(|| {
        let said = "any more to go on from; pass its `cursor` instead";
        Problem::not_found(format!("no memory with id `{id}` {said}"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::Ada;

    #[tokio::test]
    async fn a_tool_that_lists_what_nobody_kept_is_answered_and_no_error() {
        let ada = Ada::new().await;
        let listed = ada.call_tool("list", json!({})).await.expect("an answer");
        assert_eq!(
            (&listed["considered"], &listed["records"]),
            (&json!(0), &json!([]))
        );
        assert_eq!(listed["notes"], json!(["nothing is remembered yet"]));
        // A person may have mistyped the user's name.
        assert!(ada.try_call("list", json!({})).await.is_err());
    }
}
