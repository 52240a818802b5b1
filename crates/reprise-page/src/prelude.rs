//! What most rooms use: one list instead of one in each.

pub(crate) use axum::extract::State;
pub(crate) use axum::http::StatusCode;
pub(crate) use axum::response::{IntoResponse, Redirect, Response};
pub(crate) use chrono::{DateTime, TimeDelta, Utc};
pub(crate) use maud::{Markup, html};
pub(crate) use reprise_operations::operations::records::{History, HistoryArguments};
pub(crate) use reprise_operations::{NoArguments, Operation};
pub(crate) use reprise_types::{
    About, Calendar, ListRequest, MemoryFilter, MemoryKind, MemoryRecord, Recall, RecallRequest,
    RecallScope, RecordId, RecordType, Retention, RetrievedMemory, Visibility,
};
pub(crate) use serde_json::{Value, json};

pub(crate) use crate::page::{Answer, Named, Page, Posted, Trouble, Visit, found};
pub(crate) use crate::pairs::{Pairs, encoded};
pub(crate) use crate::rows::Known;
pub(crate) use crate::shell::{
    figures, fold, form, icon, only_looks, room, room_with, table, toast,
};
pub(crate) use crate::{chart, markdown, pairs, rows, text, undo};
