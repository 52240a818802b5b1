//! Requests for the operations of the catalogue.

use reprise_operations::{Method, Operation, Problem, Spec};
use reprise_types::UserId;
use serde_json::{Map, Value};

use super::{Call, Client, percent_encode};

impl Client {
    /// Runs an operation on a user's memory.
    pub async fn call<O: Operation>(
        &self,
        user: &UserId,
        arguments: &O::Arguments,
    ) -> Result<O::Answer, Problem> {
        self.ask(&Call::for_operation::<O>(user, arguments)?).await
    }
}

impl Call {
    /// Builds the request of an operation for the first of its routes.
    pub fn for_operation<O: Operation>(
        user: &UserId,
        arguments: &O::Arguments,
    ) -> Result<Self, Problem> {
        Ok(
            match serde_json::to_value(arguments).map_err(Problem::invalid)? {
                Value::Object(arguments) => Self::from_spec(&O::SPEC, user, arguments),
                _ => Self::from_spec(&O::SPEC, user, Map::new()),
            },
        )
    }

    /// Builds the request of an operation from its specification and untyped arguments.
    pub fn from_spec(spec: &Spec, user: &UserId, mut arguments: Map<String, Value>) -> Self {
        let (method, path) = spec.list_routes().swap_remove(0);
        let parts = path.split('/').map(|part| {
            let name = part
                .strip_prefix('{')
                .and_then(|part| part.strip_suffix('}'));
            match name {
                Some("user") => percent_encode(user.as_str()),
                Some(name) => percent_encode(&format_query_value(
                    &arguments.remove(name).unwrap_or_default(),
                )),
                None => part.to_owned(),
            }
        });
        let path = parts.collect::<Vec<_>>().join("/");
        if method.has_body() {
            let body = Value::Object(arguments);
            return match method {
                Method::Patch => Self::patch(path, &body),
                _ => Self::post(path, &body),
            };
        }
        let mut pairs = Vec::new();
        for (name, value) in &arguments {
            match value {
                Value::Array(items) => {
                    pairs.extend(items.iter().map(|item| (&**name, format_query_value(item))));
                }
                Value::Null => {}
                value => pairs.push((&**name, format_query_value(value))),
            }
        }
        let call = match method {
            Method::Delete => Self::delete(path),
            _ => Self::get(path),
        };
        call.with_query(&pairs)
    }
}

/// Formats a value for a path or a query string, without quotes around a text.
fn format_query_value(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
