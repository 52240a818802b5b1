//! Memory page by page, without a question.

use reprise_knowledge::states_withdrawal;
use reprise_types::{ID_PATTERN, ListOrder, RecordPage, SystemClock};

use crate::operations::sessions::is_rule;
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
        /// Only rules; other types are `type`: prompt, answer, lesson, decision, test, commit.
        #[arg(long, help = "Only rules, and what ended one")]
        pub rules: bool,
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
        take_project_from_tags(&mut filter);
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

/// Takes a tag that names a project as that project, under each of its names.
fn take_project_from_tags(filter: &mut MemoryFilter) {
    if filter.project.is_some() {
        return;
    }
    let tags = filter.tags.iter_mut().flatten();
    let mut projects = tags.filter_map(|tag| tag.strip_prefix("project:").map(str::to_owned));
    if let (Some(project), None) = (projects.next(), projects.next()) {
        drop(projects);
        if let Some(tags) = &mut filter.tags {
            tags.retain(|tag| !tag.starts_with("project:"));
        }
        filter.tags.take_if(|tags| tags.is_empty());
        filter.project = Some(project);
    }
}

/// Finds until when records held that something newer contradicts.
pub async fn find_held_until(
    memory: &Memory,
    ids: Vec<RecordId>,
) -> Result<BTreeMap<RecordId, DateTime<Utc>>, Problem> {
    if !memory.exists() {
        return Ok(BTreeMap::new());
    }
    let find = move |snapshot: &Snapshot| {
        let over = snapshot.list_contradicted();
        let over = ids.into_iter().filter_map(|id| {
            let newer = snapshot.get(*over.get(&id)?)?.ok()?;
            Some((id, newer.timestamp))
        });
        over.collect()
    };
    memory.run_on_snapshot(find).await
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
    let mut request = ListRequest {
        filter,
        limit: asked.limit.unwrap_or(PAGE_DEFAULT),
        after: after.transpose()?,
    };
    if asked.rules {
        let rules = [RecordType::Decision, RecordType::Lesson];
        request.filter.types.get_or_insert_with(|| rules.to_vec());
    }
    let over = snapshot.list_contradicted();
    let mut page = if asked.rules || asked.grep.is_some() {
        let grep = asked.grep.as_deref().map(str::to_lowercase);
        let ends_rule = |record: &MemoryRecord| {
            over.values().any(|by| *by == record.id) && states_withdrawal(&record.text)
        };
        let is_asked = |record: &MemoryRecord| {
            let contains = |text: &String| record.text.to_lowercase().contains(text);
            grep.as_ref().is_none_or(contains)
                && (!asked.rules || is_rule(snapshot, record) || ends_rule(record))
        };
        let none = match asked.grep {
            Some(_) => "no memory contains this text",
            None => "there is no rule",
        };
        list_matching(snapshot, order, request, &is_asked, none)
    } else {
        snapshot.list_ordered(order, &request)
    };
    if for_agent {
        page.notes.extend(drop_sensitive_records(&mut page.records));
    }
    let line = |record: &MemoryRecord| {
        let mut line = json!(ExportLine::new(record));
        add_fields(&mut line, &RecordByline::of(record));
        mark_over(&mut line, snapshot, over.get(&record.id));
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

/// Says in a record's line what contradicts it, and until when it held.
fn mark_over(line: &mut Value, snapshot: &Snapshot, newer: Option<&RecordId>) {
    if let Some(newer) = newer.and_then(|id| snapshot.get(*id)?.ok()) {
        line["newer"] = json!(newer.id);
        line["held_until"] = json!(format_instant(newer.timestamp));
    }
}

/// Says in the line of one record what contradicts it, and until when it held.
pub(in crate::operations) fn mark_if_over(line: &mut Value, snapshot: &Snapshot, id: RecordId) {
    mark_over(line, snapshot, snapshot.list_contradicted().get(&id));
}

/// Lists the records that are asked for, and counts them on all pages.
fn list_matching(
    snapshot: &Snapshot,
    order: ListOrder,
    request: ListRequest,
    is_asked: &dyn Fn(&MemoryRecord) -> bool,
    none: &str,
) -> RecordPage {
    let limit = request.limit;
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
        for record in read.drain(..).filter(|record| is_asked(record)) {
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
        page.notes.push(none.to_owned());
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

    #[tokio::test]
    async fn rules_are_listed_with_what_ended_one_and_a_tag_names_a_project() {
        let ada = Ada::new().await;
        let learn = async |text: &str| {
            ada.advance_seconds(60);
            let lesson = json!({ "text": text, "project": "github.com/acme/shop" });
            ada.call("learn", lesson).await["id"].clone()
        };
        let rule = learn("No deploys on Fridays.").await;
        let other = learn("Every migration needs a rollback.").await;
        learn("The staging server is called heron.").await;
        let end = learn("A deploy on Friday is allowed now.").await;
        let tagged = json!({ "rules": true, "tag": ["project:shop"] });
        let listed = ada.call("list", tagged).await;
        let rows = listed["records"].as_array().unwrap();
        let ids: Vec<_> = rows.iter().map(|row| &row["id"]).collect();
        assert_eq!(ids, [&end, &other, &rule], "{listed}");
        assert_eq!(rows[2]["newer"], end, "{listed}");
        assert!(rows[2]["held_until"].is_string(), "{listed}");
        assert!(rows[1]["newer"].is_null(), "{listed}");
        let shown = ada.call("get", json!({ "id": rule })).await;
        assert_eq!(shown["records"][0]["newer"], end, "{shown}");
    }

    #[tokio::test]
    async fn a_type_in_the_place_of_a_kind_and_a_number_in_that_of_a_word_are_told_what_to_give() {
        let ada = Ada::new().await;
        let refused = ada.try_call("list", json!({ "kind": "lesson" })).await;
        let said = refused.unwrap_err().detail;
        assert!(said.contains("give it as `type`"), "{said}");
        let lesson = json!({ "text": "Tea is at five.", "confidence": 3 });
        let said = ada.try_call("learn", lesson).await.unwrap_err().detail;
        assert!(
            said.contains("very-low, low, medium, high, very-high"),
            "{said}"
        );
    }
}
