//! The catalogue's operations, asked of the daemon.

use reprise_operations::{Method, Operation, Problem};
use reprise_types::UserId;
use serde_json::{Map, Value};

use super::{Call, Client, encoded};

impl Client {
    /// Runs an operation on a user's memory.
    pub async fn call<O: Operation>(
        &self,
        user: &UserId,
        arguments: &O::Arguments,
    ) -> Result<O::Answer, Problem> {
        self.ask(&Call::of::<O>(user, arguments)?).await
    }
}

impl Call {
    /// The request of an operation, at the first of its routes.
    pub fn of<O: Operation>(user: &UserId, arguments: &O::Arguments) -> Result<Self, Problem> {
        let mut arguments = match serde_json::to_value(arguments).map_err(Problem::invalid)? {
            Value::Object(arguments) => arguments,
            _ => Map::new(),
        };
        let (method, path) = O::SPEC.paths().swap_remove(0);
        let parts = path.split('/').map(|part| {
            let name = part
                .strip_prefix('{')
                .and_then(|part| part.strip_suffix('}'));
            match name {
                Some("user") => encoded(user.as_str()),
                Some(name) => encoded(&word(&arguments.remove(name).unwrap_or_default())),
                None => part.to_owned(),
            }
        });
        let path = parts.collect::<Vec<_>>().join("/");
        if method.has_body() {
            let body = Value::Object(arguments);
            return Ok(match method {
                Method::Patch => Self::patch(path, &body),
                _ => Self::post(path, &body),
            });
        }
        let mut pairs = Vec::new();
        for (name, value) in &arguments {
            match value {
                Value::Array(items) => pairs.extend(items.iter().map(|item| (&**name, word(item)))),
                Value::Null => {}
                value => pairs.push((&**name, word(value))),
            }
        }
        let call = match method {
            Method::Delete => Self::delete(path),
            _ => Self::get(path),
        };
        Ok(call.asking(&pairs))
    }
}

/// A value as a path or a query string writes it.
fn word(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
