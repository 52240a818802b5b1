//! Where a request of the service has its arguments: the type of an argument says whether it is in
//! the path, in the query string or in the body. The server's reading, the description and the
//! request of a client all follow from that.

use axum::extract::Query;
use axum::http::Uri;
use reprise_global::{
    A_NAME, AUDIT_MAX, GlobalError, GlobalQuery, GlobalResult, ListPage, OrganisationSettings,
    Publication, QuotaChange, REPORTS_MAX, SubmissionVerdict, TakeDown, UsageReport, Version,
    check_name, check_publication, read_limit,
};
use reprise_operations::{Method, Operation, Problem};
use reprise_redact::{OutboundBody, clean_text};
use reprise_types::{ID_PATTERN, RecordId};
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::bodies::parse_body;
use super::context::ServiceContext;

/// Lines of the audit log that are told where nobody says how many.
const LINES_DEFAULT: usize = 100;

/// A request that has come, its body read.
#[derive(Debug)]
pub struct ReceivedRequest {
    /// What its path names; empty where it names nothing.
    pub(super) named: String,
    pub(super) uri: Uri,
    pub(super) body: Vec<u8>,
}

/// A request to be sent.
#[derive(Debug)]
pub struct PreparedRequest {
    pub method: Method,
    /// The path with its query string.
    pub target: String,
    pub body: OutboundBody,
}

impl PreparedRequest {
    /// Prepares the request that asks for an operation.
    pub fn for_operation<O>(arguments: &O::Arguments) -> GlobalResult<Self>
    where
        O: Operation<ServiceContext, Arguments: ServiceArguments>,
    {
        let (method, path) = O::SPEC.first_route();
        let mut prepared = Self {
            method,
            target: path.to_owned(),
            body: OutboundBody::empty(),
        };
        arguments.write(&mut prepared)?;
        Ok(prepared)
    }
}

/// An argument of an operation of the service, or a tuple of them.
pub trait ServiceArguments: Sized {
    const HAS_QUERY: bool = false;
    const HAS_BODY: bool = false;

    fn read(request: &ReceivedRequest) -> Result<Self, Problem>;

    /// Adds it to the description of a route.
    fn describe(route: &mut Value, schemas: &mut SchemaGenerator);

    fn write(&self, request: &mut PreparedRequest) -> GlobalResult<()>;
}

macro_rules! tuples_of_arguments {
    ($(($($argument:ident $position:tt)+))+) => {$(
        impl<$($argument: ServiceArguments),+> ServiceArguments for ($($argument,)+) {
            const HAS_QUERY: bool = $($argument::HAS_QUERY)||+;
            const HAS_BODY: bool = $($argument::HAS_BODY)||+;

            fn read(request: &ReceivedRequest) -> Result<Self, Problem> {
                Ok(($($argument::read(request)?,)+))
            }

            fn describe(route: &mut Value, schemas: &mut SchemaGenerator) {
                $($argument::describe(route, schemas);)+
            }

            fn write(&self, request: &mut PreparedRequest) -> GlobalResult<()> {
                $(self.$position.write(request)?;)+
                Ok(())
            }
        }
    )+};
}

tuples_of_arguments! { (A 0) (A 0 B 1) }

impl ServiceArguments for () {
    fn read(_: &ReceivedRequest) -> Result<Self, Problem> {
        Ok(())
    }

    fn describe(_: &mut Value, _: &mut SchemaGenerator) {}

    fn write(&self, _: &mut PreparedRequest) -> GlobalResult<()> {
        Ok(())
    }
}

/// The id of a published thing, in the path.
impl ServiceArguments for RecordId {
    fn read(request: &ReceivedRequest) -> Result<Self, Problem> {
        request.named.parse().map_err(Problem::invalid)
    }

    fn describe(route: &mut Value, _: &mut SchemaGenerator) {
        add_path_parameter(route, "id", &format!("^{ID_PATTERN}$"));
    }

    fn write(&self, request: &mut PreparedRequest) -> GlobalResult<()> {
        request.target = request.target.replace("{id}", &self.to_string());
        Ok(())
    }
}

/// The name of a snapshot or a branch, in the path. Stores say what is wrong with one.
impl ServiceArguments for String {
    fn read(request: &ReceivedRequest) -> Result<Self, Problem> {
        Ok(request.named.clone())
    }

    fn describe(route: &mut Value, _: &mut SchemaGenerator) {
        add_path_parameter(route, "name", A_NAME);
    }

    fn write(&self, request: &mut PreparedRequest) -> GlobalResult<()> {
        // A name that no store takes would be a path of its own.
        check_name(self)?;
        request.target = request.target.replace("{name}", self);
        Ok(())
    }
}

fn add_path_parameter(route: &mut Value, name: &str, pattern: &str) {
    let schema = json!({ "type": "string", "pattern": pattern });
    let parameter = json!({ "name": name, "in": "path", "required": true, "schema": schema });
    route["parameters"] = json!([parameter]);
}

/// Says that the fields of a struct are in the query string.
macro_rules! in_query {
    ($($fields:ty)+) => {$(
        impl ServiceArguments for $fields {
            const HAS_QUERY: bool = true;

            fn read(request: &ReceivedRequest) -> Result<Self, Problem> {
                read_query(&request.uri)
            }

            fn describe(route: &mut Value, _: &mut SchemaGenerator) {
                describe_query::<Self>(route);
            }

            fn write(&self, request: &mut PreparedRequest) -> GlobalResult<()> {
                write_query(self, &mut request.target)
            }
        }
    )+};
}

in_query! { ListPage VersionField AuditFields ConfirmField }

fn read_query<T: DeserializeOwned>(uri: &Uri) -> Result<T, Problem> {
    let read = Query::try_from_uri(uri);
    let Query(fields) = read.map_err(|error| Problem::invalid(error.body_text()))?;
    Ok(fields)
}

fn describe_query<T: JsonSchema>(route: &mut Value) {
    let schema = T::json_schema(&mut SchemaGenerator::default()).to_value();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let mut field = field.clone();
        if let Value::Object(words) = &mut field {
            words.retain(|word, _| word != "format" && word != "description");
        }
        let mut parameter = json!({ "name": name, "in": "query", "schema": field });
        let required = schema["required"].as_array();
        if required.is_some_and(|required| required.contains(&json!(name))) {
            parameter["required"] = true.into();
        }
        match &mut route["parameters"] {
            Value::Array(parameters) => parameters.push(parameter),
            none => *none = json!([parameter]),
        }
    }
}

fn write_query(fields: &impl Serialize, target: &mut String) -> GlobalResult<()> {
    let fields = serde_json::to_value(fields).map_err(GlobalError::invalid)?;
    for (name, value) in fields.as_object().into_iter().flatten() {
        let mark = if target.contains('?') { '&' } else { '?' };
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        // The one character of a name that means something else in a query.
        let text = text.replace('+', "%2B");
        target.extend([format!("{mark}{name}={text}")]);
    }
    Ok(())
}

/// Says that a type is a body of JSON, and how the bytes that leave are made of it.
macro_rules! in_body {
    ($($body:ty = $encode:path;)+) => {$(
        impl ServiceArguments for $body {
            const HAS_BODY: bool = true;

            fn read(request: &ReceivedRequest) -> Result<Self, Problem> {
                parse_body(&request.body)
            }

            fn describe(route: &mut Value, schemas: &mut SchemaGenerator) {
                let schema = schemas.subschema_for::<Self>();
                let content = json!({ "application/json": { "schema": schema } });
                route["requestBody"] = json!({ "required": true, "content": content });
            }

            fn write(&self, request: &mut PreparedRequest) -> GlobalResult<()> {
                request.body = $encode(self)?;
                Ok(())
            }
        }
    )+};
}

in_body! {
    Publication = encode_publication;
    GlobalQuery = encode_query;
    SubmissionVerdict = encode_verdict;
    RatingBody = encode_body;
    ReportsRequest = encode_body;
    TakeDown = encode_body;
    QuotaChange = encode_body;
    OrganisationSettings = encode_body;
}

/// Builds a body without the secrets of its texts.
fn encode_body(body: &impl Serialize) -> GlobalResult<OutboundBody> {
    OutboundBody::from_json("the request", body).map_err(GlobalError::invalid)
}

/// Builds a body byte for byte as its author has seen it. What no store keeps need not travel.
fn encode_publication(publication: &Publication) -> GlobalResult<OutboundBody> {
    check_publication(publication)?;
    let body = OutboundBody::from_approved_json("the publication", publication.to_json_bytes());
    body.map_err(GlobalError::invalid)
}

fn encode_query(query: &GlobalQuery) -> GlobalResult<OutboundBody> {
    if clean_text(&query.text).0.trim().is_empty() && !query.text.trim().is_empty() {
        return Err(GlobalError::invalid(
            "nothing of the question may leave this machine, so others were not asked; \
             ask in words without `<private>`",
        ));
    }
    encode_body(query)
}

fn encode_verdict(verdict: &SubmissionVerdict) -> GlobalResult<OutboundBody> {
    verdict.check()?;
    encode_body(verdict)
}

/// Which version, if not the newest.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VersionField {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", regex(pattern = "^[1-9][0-9]{0,8}$"))]
    pub version: Option<Version>,
}

/// How many lines.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AuditFields {
    #[serde(
        default = "lines_default",
        deserialize_with = "read_limit::<AUDIT_MAX, _>"
    )]
    #[schemars(range(max = AUDIT_MAX))]
    pub limit: usize,
}

fn lines_default() -> usize {
    LINES_DEFAULT
}

/// Whose everything is to be deleted. It does not come back, so the request names who is meant.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfirmField {
    #[schemars(with = "String", regex(pattern = A_NAME))]
    pub confirm: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Rating")]
pub struct RatingBody {
    /// What a reader gives it: 0 is useless, 1 is just what was needed.
    #[schemars(range(min = 0, max = 1))]
    pub rating: f32,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportsRequest {
    #[schemars(length(max = REPORTS_MAX))]
    pub reports: Vec<UsageReport>,
}

/// Makes a struct of its one field.
macro_rules! made_of_field {
    ($($made:ident { $field:ident: $kind:ty })+) => {$(
        impl From<$kind> for $made {
            fn from($field: $kind) -> Self {
                Self { $field }
            }
        }
    )+};
}

made_of_field! {
    VersionField { version: Option<Version> }
    AuditFields { limit: usize }
    ConfirmField { confirm: Option<String> }
    RatingBody { rating: f32 }
    ReportsRequest { reports: Vec<UsageReport> }
}
