//! Memory page by page, without a question.

use reprise_types::{ID_PATTERN, Order, Page, SystemClock};

use crate::prelude::*;
use crate::wire::{add, short, take_sensitive};

fn cursors() -> String {
    format!("^(?:{}|{ID_PATTERN})$", Cursor::pattern())
}

/// A page: each record in its export form, with the `cursor` of its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Listed {
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

operation! {
    Spec::reads(
        "list",
        "Look through memory without a question, the newest first, page by page.",
    )
    .at(&[(Method::Get, "/v1/users/{user}/records")])
    .tool("list", Profile::Full)
    .presetting(r#"{"limit":20,"brief":true}"#);
    /// What is to be listed.
    #[derive(Default, clap::Args)]
    List(memory, arguments: Arguments {
        /// Which records.
        #[serde(flatten)]
        #[command(flatten)]
        pub filter: Filter,
        /// Records of the page; 50 by default, 1000 at most.
        #[schemars(range(min = 1, max = PAGE_MAX))]
        #[arg(long, value_name = "N")]
        pub limit: Option<usize>,
        /// Go on after the record with this cursor, or with this id.
        #[schemars(regex(pattern = cursors()))]
        #[arg(long)]
        pub cursor: Option<String>,
        /// The oldest first; a cursor goes on towards the newest then.
        #[schemars(extend("x-rare" = true))]
        #[arg(long)]
        pub oldest: bool,
        /// Only the beginning of each text.
        #[arg(skip)]
        pub brief: bool,
    }) -> Listed {
        let mut arguments = arguments;
        let filter = &mut arguments.filter;
        filter.spellings = memory.resolve_tags(&mut filter.tag);
        let calendar = memory.calendar();
        let for_agent = memory.is_for_agent();
        let page = memory.read(move |snapshot| page(snapshot, &arguments, for_agent, &calendar));
        page.await?
    }

    fn text(page: &Listed) -> Cow<'_, str> {
        let all = counted(page.considered, "record");
        let mut text = format!("{} of {all}", page.records.len());
        for note in &page.notes {
            text.push_str(&[": ", note].concat());
        }
        let mut quoted = QuotedMemory::new(system_entropy());
        let calendar = Calendar::of_machine(SystemClock.now());
        for record in &page.records {
            let part = |name: &str| record[name].as_str().unwrap_or_default();
            let told = Told::of_line(record).map(|told| told.words(&calendar));
            let told = told.unwrap_or_default();
            let label = format!("- {} [{}] ({told}) ", part("timestamp"), part("id"));
            quoted.line(&label, part("text"));
        }
        text.push_str(&["\n", &quoted.into_text()].concat());
        if let Some(next) = page.next {
            text.push_str(&["\nmore with cursor ", &next.to_string()].concat());
        }
        text.into()
    }
}

/// A page of whole records, for a caller in this process.
pub async fn records(memory: &Memory, mut asked: ListRequest) -> Result<Page, Problem> {
    if let Some(tags) = &mut asked.filter.tags {
        asked.filter.spellings = memory.resolve_tags(tags);
    }
    memory.read(move |snapshot| snapshot.list(&asked)).await
}

/// The records that were kept last, whenever they happened, newest first.
pub async fn newest(memory: &Memory, most: usize) -> Result<Vec<MemoryRecord>, Problem> {
    let newest = move |snapshot: &Snapshot| {
        let newest = snapshot.newest(most).into_iter().filter_map(Result::ok);
        newest.map(MemoryRecord::without_vector).collect()
    };
    memory.read(newest).await
}

/// The page of a snapshot.
fn page(
    snapshot: &Snapshot,
    asked: &Arguments,
    for_agent: bool,
    calendar: &Calendar,
) -> Result<Listed, Problem> {
    let after = asked
        .cursor
        .as_deref()
        .map(|cursor| place(snapshot, cursor));
    let order = if asked.oldest {
        Order::OldestFirst
    } else {
        Order::NewestFirst
    };
    let request = ListRequest {
        filter: asked.filter.read(calendar).map_err(Problem::invalid)?,
        limit: asked.limit.unwrap_or(PAGE_DEFAULT),
        after: after.transpose()?,
    };
    let mut page = snapshot.list_in(order, &request);
    if for_agent {
        page.notes.extend(take_sensitive(&mut page.records));
    }
    let line = |record: &MemoryRecord| {
        let mut line = json!(ExportLine::new(record));
        add(&mut line, &About::of(record));
        line["cursor"] = json!(Cursor::of(record));
        if asked.brief {
            line["text"] = json!(short(&record.text, &[]));
        }
        line
    };
    Ok(Listed {
        records: page.records.iter().map(line).collect(),
        next: page.next,
        considered: page.considered,
        damaged: page.damaged,
        notes: page.notes,
    })
}

/// The place that a cursor or a record's id names.
fn place(snapshot: &Snapshot, cursor: &str) -> Result<Cursor, Problem> {
    let Ok(id) = cursor.parse::<RecordId>() else {
        return cursor.parse().map_err(Problem::invalid);
    };
    snapshot.cursor(id).ok_or_else(|| {
        let said = "any more to go on from; pass its `cursor` instead";
        Problem::not_found(format!("there is no record `{id}` {said}"))
    })
}
