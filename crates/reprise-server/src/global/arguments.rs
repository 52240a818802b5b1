//! Where a request of the service has its arguments: the type of an argument says whether it is in
//! the path, in the query string or in the body. The server's reading, the description and the
//! request of a client all follow from that.

use axum::extract::Query;
use axum::http::Uri;
use reprise_global::{
    A_NAME, GlobalError, GlobalQuery, GlobalResult, OrganisationSettings, Publication, QuotaChange,
    SubmissionVerdict, TakeDown, check_name, check_publication,
};
use reprise_operations::{Method, Operation, Problem};
use reprise_redact::{OutboundBody, OutboundError, clean_text};
use reprise_types::{ID_PATTERN, RecordId};
use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::bodies::parse_body;
use super::context::ServiceContext;

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

    fn fill_path(&mut self, name: &str, value: &str) {
        self.target = self.target.replace(name, value);
    }
}

/// One argument of an operation of the service.
pub trait ServiceArgument: Serialize + DeserializeOwned + JsonSchema + Send + 'static {
    const IS_IN_QUERY: bool = false;
    const IS_BODY: bool = false;

    fn read(request: &ReceivedRequest) -> Result<Self, Problem>;

    /// Adds it to the description of a route.
    fn describe(route: &mut Value, schemas: &mut SchemaGenerator);

    fn write(&self, request: &mut PreparedRequest) -> GlobalResult<()>;
}

/// The arguments of an operation of the service: a tuple of at most two.
pub trait ServiceArguments: Sized {
    const HAS_QUERY: bool = false;
    const HAS_BODY: bool = false;

    fn read(request: &ReceivedRequest) -> Result<Self, Problem>;

    fn describe(_: &mut Value, _: &mut SchemaGenerator) {}

    fn write(&self, _: &mut PreparedRequest) -> GlobalResult<()> {
        Ok(())
    }
}

impl ServiceArguments for () {
    fn read(_: &ReceivedRequest) -> Result<Self, Problem> {
        Ok(())
    }
}

macro_rules! lists_of_arguments {
    ($(($($argument:ident $position:tt),+);)+) => {$(
        impl<$($argument: ServiceArgument),+> ServiceArguments for ($($argument,)+) {
            const HAS_QUERY: bool = $($argument::IS_IN_QUERY)||+;
            const HAS_BODY: bool = $($argument::IS_BODY)||+;

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

lists_of_arguments! {
    (A 0);
    (A 0, B 1);
}

fn add_parameter(route: &mut Value, name: &str, position: &str, required: bool, schema: Value) {
    let mut parameter = json!({ "name": name, "in": position, "schema": schema });
    if required {
        parameter["required"] = true.into();
    }
    match &mut route["parameters"] {
        Value::Array(parameters) => parameters.push(parameter),
        none => *none = json!([parameter]),
    }
}

/// The id of a published thing, in the path.
impl ServiceArgument for RecordId {
    fn read(request: &ReceivedRequest) -> Result<Self, Problem> {
        request.named.parse().map_err(Problem::invalid)
    }

    fn describe(route: &mut Value, _: &mut SchemaGenerator) {
        let schema = json!({ "type": "string", "pattern": format!("^{ID_PATTERN}$") });
        add_parameter(route, "id", "path", true, schema);
    }

    fn write(&self, request: &mut PreparedRequest) -> GlobalResult<()> {
        request.fill_path("{id}", &self.to_string());
        Ok(())
    }
}

/// The name of a snapshot or a branch, in the path. Stores say what is wrong with one.
impl ServiceArgument for String {
    fn read(request: &ReceivedRequest) -> Result<Self, Problem> {
        Ok(request.named.clone())
    }

    fn describe(route: &mut Value, _: &mut SchemaGenerator) {
        let schema = json!({ "type": "string", "pattern": A_NAME });
        add_parameter(route, "name", "path", true, schema);
    }

    fn write(&self, request: &mut PreparedRequest) -> GlobalResult<()> {
        // A name that no store takes would be a path of its own.
        check_name(self)?;
        request.fill_path("{name}", self);
        Ok(())
    }
}

/// A struct whose fields are in the query string.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct QueryFields<P>(pub P);

impl<P> ServiceArgument for QueryFields<P>
where
    P: Serialize + DeserializeOwned + JsonSchema + Send + 'static,
{
    const IS_IN_QUERY: bool = true;

    fn read(request: &ReceivedRequest) -> Result<Self, Problem> {
        let read = Query::try_from_uri(&request.uri);
        let Query(fields) = read.map_err(|error| Problem::invalid(error.body_text()))?;
        Ok(Self(fields))
    }

    fn describe(route: &mut Value, _: &mut SchemaGenerator) {
        let schema = P::json_schema(&mut SchemaGenerator::default()).to_value();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let mut field = field.clone();
            if let Value::Object(words) = &mut field {
                words.retain(|word, _| word != "format" && word != "description");
            }
            let is_required = required.iter().any(|one| one == name);
            add_parameter(route, name, "query", is_required, field);
        }
    }

    fn write(&self, request: &mut PreparedRequest) -> GlobalResult<()> {
        let fields = serde_json::to_value(&self.0).map_err(GlobalError::invalid)?;
        let mut mark = '?';
        for (name, value) in fields.as_object().into_iter().flatten() {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            // The one character of a name that means something else in a query.
            let text = text.replace('+', "%2B");
            request.target.push_str(&format!("{mark}{name}={text}"));
            mark = '&';
        }
        Ok(())
    }
}

/// A body of JSON.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct JsonBody<B>(pub B);

/// What is sent as a body.
pub trait BodyContent: Serialize + DeserializeOwned + JsonSchema + Send + 'static {
    /// How a refusal to send it calls it.
    const NAME: &'static str;

    /// Refuses what no service takes: it need not travel.
    fn check(&self) -> GlobalResult<()> {
        Ok(())
    }

    /// Builds the bytes that leave.
    fn encode(&self) -> Result<OutboundBody, OutboundError> {
        OutboundBody::from_json(Self::NAME, self)
    }
}

impl<B: BodyContent> ServiceArgument for JsonBody<B> {
    const IS_BODY: bool = true;

    fn read(request: &ReceivedRequest) -> Result<Self, Problem> {
        parse_body(&request.body).map(Self)
    }

    fn describe(route: &mut Value, schemas: &mut SchemaGenerator) {
        let schema = schemas.subschema_for::<B>();
        let content = json!({ "application/json": { "schema": schema } });
        route["requestBody"] = json!({ "required": true, "content": content });
    }

    fn write(&self, request: &mut PreparedRequest) -> GlobalResult<()> {
        self.0.check()?;
        request.body = self.0.encode().map_err(GlobalError::invalid)?;
        Ok(())
    }
}

impl BodyContent for Publication {
    const NAME: &'static str = "the publication";

    fn check(&self) -> GlobalResult<()> {
        check_publication(self)
    }

    /// Byte for byte as its author has seen it.
    fn encode(&self) -> Result<OutboundBody, OutboundError> {
        OutboundBody::from_approved_json(Self::NAME, self.to_json_bytes())
    }
}

impl BodyContent for GlobalQuery {
    const NAME: &'static str = "the question";

    fn check(&self) -> GlobalResult<()> {
        if clean_text(&self.text).0.trim().is_empty() && !self.text.trim().is_empty() {
            return Err(GlobalError::invalid(
                "nothing of the question may leave this machine, so others were not asked; \
                 ask in words without `<private>`",
            ));
        }
        Ok(())
    }
}

impl BodyContent for SubmissionVerdict {
    const NAME: &'static str = "the review";

    fn check(&self) -> GlobalResult<()> {
        Self::check(self)
    }
}

macro_rules! plain_bodies {
    ($($body:ty = $name:literal;)+) => {
        $(impl BodyContent for $body {
            const NAME: &'static str = $name;
        })+
    };
}
pub(super) use plain_bodies;

plain_bodies! {
    TakeDown = "the reason";
    QuotaChange = "the quota";
    OrganisationSettings = "the settings";
}
