//! Takes the secrets out of arguments, each as its kind says.

use reprise_redact::Redaction;

use super::{Bounds, find_field, list_alternatives, resolve_reference};
use crate::prelude::*;

/// Says in a schema what becomes of secrets, where they are not only taken out of what is kept.
pub(super) const MARK: &str = "x-secrets";
/// A name stays equal to itself, and is found again without its secret.
pub(super) const NAME: &str = "name";
/// What is only looked up is not looked through.
pub(super) const STAY: &str = "stay";
/// A key may say that its value is a secret.
pub(super) const FREE: &str = "free";

impl Bounds {
    /// Takes the secrets out of arguments and returns what was taken. Texts of what only reads
    /// (not `keeps`) stay: they are looked for, not kept.
    pub(crate) fn redact_fields(
        &self,
        keeps: bool,
        fields: &mut Map<String, Value>,
    ) -> Vec<Redaction> {
        let mut search = SecretSearch {
            bounds: self,
            redactor: Redactor::new(),
            keeps,
            taken: Vec::new(),
        };
        search.redact_object("", &self.schema, fields);
        search.taken
    }

    /// Returns that of several schemas which takes the value.
    fn find_part<'s>(&'s self, schema: &'s Value, value: &Value) -> &'s Value {
        let schema = resolve_reference(&self.schema, schema);
        // Where a type is named, they say only which fields go together.
        let is_one = schema.get("type").is_none();
        let mut ways = list_alternatives(schema);
        let fitting = ways.find(|way| is_one && self.has_allowed_type(way, value));
        fitting.map_or(schema, |way| self.find_part(way, value))
    }
}

struct SecretSearch<'b> {
    bounds: &'b Bounds,
    redactor: Redactor,
    keeps: bool,
    taken: Vec<Redaction>,
}

impl SecretSearch<'_> {
    fn redact_object(&mut self, path: &str, schema: &Value, fields: &mut Map<String, Value>) {
        for (name, value) in fields {
            let own = find_field(schema, name).unwrap_or(&schema["additionalProperties"]);
            let path = match path {
                "" => name.clone(),
                path => format!("{path}.{name}"),
            };
            self.redact(&path, own, value);
        }
    }

    fn redact(&mut self, path: &str, schema: &Value, value: &mut Value) {
        let mark = schema[MARK].as_str();
        let bounds = self.bounds;
        let schema = bounds.find_part(schema, value);
        let mark = mark.or(schema[MARK].as_str());
        match value {
            _ if mark == Some(STAY) => {}
            Value::String(text) if mark == Some(NAME) => {
                self.taken.extend(self.redactor.redact_name(path, text));
            }
            Value::String(text) if self.keeps => {
                self.taken.extend(self.redactor.redact_field(path, text));
            }
            Value::Object(_) if mark == Some(FREE) && self.keeps => {
                self.taken.extend(self.redactor.redact_value(path, value));
            }
            Value::Array(items) => {
                // Of a vector no number is looked at.
                let items = items.iter_mut().enumerate();
                for (place, item) in items.filter(|(_, item)| !item.is_number()) {
                    self.redact(&format!("{path}.{place}"), &schema["items"], item);
                }
            }
            Value::Object(fields) => self.redact_object(path, schema, fields),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::records::observations;
    use crate::operations::{lessons, links, recall, sharing};

    /// A token that the redactor knows in any text.
    const TOKEN: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

    fn redact<O: Operation>(mut arguments: Value) -> (Value, Vec<String>) {
        let keeps = O::SPEC.effect != Effect::Reads;
        let fields = arguments.as_object_mut().unwrap();
        let taken = Bounds::get_for_type::<O::Arguments>().redact_fields(keeps, fields);
        (arguments, taken.into_iter().map(|one| one.field).collect())
    }

    #[test]
    fn what_is_kept_loses_its_secrets_and_what_is_looked_up_does_not() {
        let (kept, fields) = redact::<lessons::Learn>(json!({
            "text": TOKEN, "tags": ["a", TOKEN], "nobodys": { "own": TOKEN },
        }));
        assert!(!kept.to_string().contains(TOKEN), "{kept}");
        assert_eq!(fields, ["nobodys.own", "tags.1", "text"]);
        let asked = json!({ "query": TOKEN, "tag": TOKEN });
        assert_eq!(redact::<recall::Recall>(asked.clone()), (asked, Vec::new()));
        // By a former name, too.
        let link = json!({ "from": TOKEN, "to_id": TOKEN, "relation": "is" });
        assert_eq!(redact::<links::Link>(link.clone()), (link, Vec::new()));
        let rating = json!({ "id": TOKEN, "rating": 1 });
        assert_eq!(
            redact::<sharing::Rate>(rating.clone()),
            (rating, Vec::new())
        );
    }

    #[test]
    fn a_session_stays_unlike_others_whether_it_is_kept_or_looked_for() {
        let other = format!("{TOKEN} 2");
        let session = |name: &str, of: &str| {
            let mut arguments = json!({ "query": "a" });
            arguments[name] = Value::from(of);
            redact::<recall::Recall>(arguments).0[name].clone()
        };
        let kept = redact::<lessons::Learn>(json!({ "session": TOKEN })).0;
        assert_eq!(kept["session"], session("session", TOKEN));
        assert_eq!(kept["session"], session("session_id", TOKEN));
        assert_ne!(kept["session"], session("session", &other));
        assert!(!kept.to_string().contains(TOKEN), "{kept}");
    }

    #[test]
    fn a_key_of_free_json_says_that_its_value_is_a_secret() {
        let free = json!({ "metadata": { "password": "hunter2" }, "content": "a" });
        let (kept, fields) = redact::<observations::Record>(free);
        assert!(!kept.to_string().contains("hunter2"), "{kept}");
        assert_eq!(fields, ["metadata.password"]);
    }
}
