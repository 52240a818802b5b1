//! What is set, and where each setting comes from: for whoever looks at the daemon.

use std::fmt::Display;

use reprise_server::Setting;

use crate::args::ServeArguments;
use crate::cli::prelude::*;
use crate::env;

/// A setting that a flag, the environment or the file may give.
fn setting(
    name: &str,
    flag: Option<String>,
    variable: Option<&str>,
    file: Option<String>,
    default: &str,
) -> Setting {
    let (value, from) = match (flag, file) {
        // The environment comes in as the flag's default.
        (Some(value), _) if variable.is_some_and(env::is_set) => (value, "environment"),
        (Some(value), _) => (value, "flag"),
        (None, Some(value)) => (value, "file"),
        (None, None) => (default.to_owned(), "default"),
    };
    Setting {
        name: name.to_owned(),
        value,
        from: from.to_owned(),
    }
}

fn said<T: Display>(value: Option<T>) -> Option<String> {
    value.map(|value| value.to_string())
}

/// Every setting of the daemon; of secrets only whether there are any.
pub(super) fn all(context: &Context, arguments: &ServeArguments) -> Vec<Setting> {
    let (places, serve) = (&context.places, &context.config.serve);
    let place = |name: &str, path: &Path, is_default: bool, variable| {
        let path = path.display().to_string();
        let flag = (!is_default).then(|| path.clone());
        setting(name, flag, Some(variable), None, &path)
    };
    let usual = env::Places::new(None, None, None).ok();
    let is_usual = |of: fn(&env::Places) -> &PathBuf| {
        usual.as_ref().is_some_and(|usual| of(usual) == of(places))
    };
    let mut settings = vec![
        place("data", &places.data, is_usual(|it| &it.data), env::DATA_DIR),
        place(
            "models",
            &places.models,
            is_usual(|it| &it.models),
            env::MODELS_DIR,
        ),
        place(
            "configuration",
            &places.config,
            is_usual(|it| &it.config),
            env::CONFIG,
        ),
        setting(
            "model",
            context.no_model.then(|| "none (--no-model)".to_owned()),
            None,
            None,
            "in use",
        ),
        setting(
            "user",
            None,
            None,
            said(context.config.user.as_ref()),
            "default",
        ),
        setting(
            "serve.http",
            said(arguments.http),
            None,
            said(serve.http),
            "only the socket",
        ),
        setting(
            "serve.idle_exit_seconds",
            said(arguments.idle_exit),
            None,
            said(serve.idle_exit_seconds),
            "stays",
        ),
        setting(
            "serve.requests_per_second",
            said(arguments.requests_per_second),
            None,
            said(serve.requests_per_second),
            "no limit",
        ),
        setting(
            "serve.oauth",
            None,
            None,
            serve.oauth.as_ref().map(|oauth| {
                let issuer = oauth.issuer.as_deref();
                issuer.unwrap_or("the daemon's own issuer").to_owned()
            }),
            "tokens by hand",
        ),
        setting(
            "serve.otlp",
            arguments.otlp.clone(),
            Some(env::OTLP),
            serve.otlp.clone(),
            "traces are sent nowhere",
        ),
    ];
    let others = context.config.others().into_iter();
    settings.extend(others.map(|(name, value, default)| setting(name, None, None, value, default)));
    settings
}
