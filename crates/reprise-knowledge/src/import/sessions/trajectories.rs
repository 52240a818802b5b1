//! Reads sessions in the two formats that many programs and converters write: the Agent Trajectory
//! Interchange Format (ATIF 1.0 to 1.7) of Harbor, and Trajectory v1 of Letta.

use serde_json::Value;

use super::super::json::{JsonDocument, read_document};
use super::recorder::{SessionRecorder, SessionSource};
use crate::prelude::*;

/// What the versions of ATIF that are read begin with.
const ATIF: &str = "ATIF-v1.";

/// Whether an object begins a session in one of the two formats.
pub(super) fn is_trajectory(object: &Map<String, Value>) -> bool {
    let text = |name: &str| object.get(name).and_then(Value::as_str);
    let is_atif = text("schema_version").is_some_and(|version| version.starts_with("ATIF-"));
    is_atif || text("role") == Some("meta") && text("source").is_some()
}

/// Whether a file is a session by its name: Harbor's, or that of an export of VS Code.
pub(super) fn is_trajectory_name(name: &str) -> bool {
    name == "trajectory.json" || name.ends_with(".trajectory.json")
}

pub(super) fn read(
    file: &Path,
    source: &mut SessionSource,
    sink: &mut ItemSink<'_>,
) -> Result<(), ImportError> {
    let name = sink.place_name(file);
    let whole = match read_document(file)? {
        JsonDocument::Whole(whole) => whole,
        JsonDocument::Broken(why) => return sink.refuse(&name, why),
        JsonDocument::Lines => {
            let mut records = Vec::new();
            sink.for_each_object(file, |_, _, object| {
                records.push(Value::Object(object));
                Ok(())
            })?;
            Value::Array(records)
        }
    };
    let version = whole["schema_version"].as_str().unwrap_or(ATIF);
    if !version.starts_with(ATIF) {
        let why = format!("its format is `{version}`; ATIF 1.0 to 1.7 are read");
        return sink.refuse(&name, why);
    }
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let named = ["session_id", "trajectory_id"].map(|field| whole[field].as_str());
    let session = named.into_iter().flatten().find(|id| !id.is_empty());
    let mut recorder = SessionRecorder::new(source, session.unwrap_or(&stem));
    recorder.set_time_of_file(file);
    let (parts, to_lines): (&Value, fn(&Value) -> Vec<Value>) = if whole.is_array() {
        (&whole, |record| vec![line_of_record(record)])
    } else {
        (&whole["steps"], lines_of_step)
    };
    for (index, part) in parts.as_array().into_iter().flatten().enumerate() {
        let number = index + 1;
        for mut line in to_lines(part) {
            line["id"] = json!(number.to_string());
            recorder.add_line(sink, &format!("{name} item {number}"), &line)?;
        }
    }
    recorder.emit_pending(sink)
}

/// Returns a step of ATIF as two lines: what was said, and what came of its calls. The rules of the
/// program and the thoughts of the model are no turns.
fn lines_of_step(step: &Value) -> Vec<Value> {
    let role = match step["source"].as_str() {
        Some("user") => "user",
        Some("agent") => "assistant",
        _ => "",
    };
    let mut blocks = match &step["message"] {
        Value::Array(parts) => parts.clone(),
        text => vec![text.clone()],
    };
    let calls = step["tool_calls"].as_array().into_iter().flatten();
    blocks.extend(calls.map(|call| {
        block_of_call(
            &call["tool_call_id"],
            &call["function_name"],
            &call["arguments"],
        )
    }));
    let results = &step["observation"]["results"];
    let results = results.as_array().into_iter().flatten();
    let results: Vec<Value> = results
        .map(|result| block_of_result(&result["source_call_id"], &result["content"], &Value::Null))
        .collect();
    let line = |blocks| json!({ "role": role, "at": step["timestamp"], "blocks": blocks });
    vec![line(blocks), line(results)]
}

/// Returns a record of Trajectory v1 as a line.
fn line_of_record(record: &Value) -> Value {
    let (mut role, mut blocks) = (record["role"].clone(), vec![record["content"].clone()]);
    let calls = record["tool_calls"].as_array().into_iter().flatten();
    blocks.extend(calls.map(|call| block_of_call(&call["id"], &call["name"], &call["args"])));
    if role == "tool" {
        role = json!("assistant");
        blocks = vec![block_of_result(
            &record["tool_call_id"],
            &record["content"],
            &record["ok"],
        )];
    }
    json!({ "role": role, "at": record["timestamp"], "cwd": record["cwd"], "blocks": blocks })
}

fn block_of_call(id: &Value, tool: &Value, input: &Value) -> Value {
    json!({ "type": "function_call", "call_id": id, "name": tool, "arguments": input })
}

/// Returns the block of what came of a call; whether it went well is known of Trajectory v1 alone,
/// and not always.
fn block_of_result(id: &Value, output: &Value, went_well: &Value) -> Value {
    match went_well.as_bool() {
        Some(went_well) => json!({
            "type": "tool_result",
            "tool_use_id": id,
            "content": output,
            "is_error": !went_well,
        }),
        None => json!({ "type": "function_call_output", "call_id": id, "output": output }),
    }
}
