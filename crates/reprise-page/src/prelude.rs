//! What most pages import.

pub(crate) use axum::extract::State;
pub(crate) use axum::http::StatusCode;
pub(crate) use axum::response::{IntoResponse, Redirect, Response};
pub(crate) use chrono::{DateTime, TimeDelta, Utc};
pub(crate) use maud::{Markup, html};
pub(crate) use reprise_operations::operations::records::{History, HistoryArguments};
pub(crate) use reprise_operations::{NoArguments, Operation};
pub(crate) use reprise_types::{
    Calendar, ListRequest, MemoryFilter, MemoryKind, MemoryRecord, RecallRequest, RecallResponse,
    RecallScope, RecordByline, RecordId, RecordType, Retention, RetrievedMemory, Visibility,
};
pub(crate) use serde_json::{Value, json};

pub(crate) use crate::page::{
    PageError, PageRequest, PageResult, PathParameter, Posted, WebPage, none_if_missing,
};
pub(crate) use crate::pairs::{QueryPairs, percent_encode};
pub(crate) use crate::rows::RowContext;
pub(crate) use crate::shell::{
    figures, fold, form, icon, render_page, render_page_about, render_page_with_bar,
    render_read_only_notice, table, toast,
};
pub(crate) use crate::{chart, markdown, pairs, rows, text, undo};
