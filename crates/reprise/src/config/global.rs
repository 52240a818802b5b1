//! What the configuration says of published knowledge, for whoever asks what holds.

use super::Global;

impl Global {
    pub(super) fn others(&self) -> [(&'static str, Option<String>, &'static str); 7] {
        let has_token = self.token.is_some() || !self.tokens.is_empty();
        let number = |value: Option<f32>| value.map(|value| value.to_string());
        let deadline = self.hook_deadline_ms;
        [
            (
                "global.url",
                self.url.clone(),
                "the data directory's own store",
            ),
            (
                "global.allow_plain_http",
                self.allow_plain_http.then(|| "true".to_owned()),
                "false",
            ),
            (
                "global.hooks",
                self.hooks.then(|| "true".to_owned()),
                "false",
            ),
            (
                "global.hook_deadline_ms",
                deadline.map(|deadline| deadline.to_string()),
                "150",
            ),
            ("global.local_high", number(self.local_high), "0.6"),
            ("global.quality_high", number(self.quality_high), "0.7"),
            ("global.token", has_token.then(|| "set".to_owned()), "none"),
        ]
    }
}
