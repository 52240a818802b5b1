//! The settings of the daemon and the source of each, for its status page.

use reprise_server::Setting;

use crate::args::ServeArguments;
use crate::cli::prelude::*;
use crate::env;

/// Placeholder for a source that a setting does not have.
const NEVER: Option<&str> = None;

/// Builds a setting from its flag, environment variable, file or default.
fn build_setting(
    name: &str,
    (flag, variable): (Option<impl ToString>, Option<&str>),
    file: Option<impl ToString>,
    default: &str,
) -> Setting {
    let (value, from) = match (flag, file) {
        // The environment comes in as the flag's default.
        (Some(value), _) if variable.is_some_and(env::is_set) => (value.to_string(), "environment"),
        (Some(value), _) => (value.to_string(), "flag"),
        (None, Some(value)) => (value.to_string(), "file"),
        (None, None) => (default.to_owned(), "default"),
    };
    Setting {
        name: name.to_owned(),
        value,
        from: from.to_owned(),
    }
}

/// Lists every setting of the daemon; for secrets only whether they are set.
pub(super) fn list_settings(context: &Context, arguments: &ServeArguments) -> Vec<Setting> {
    let serve = &context.config.serve;
    let usual = env::Places::new(None, None, None).ok();
    let place = |name: &str, of: fn(&env::Places) -> &PathBuf, variable| {
        let path = of(&context.places);
        let is_usual = usual.as_ref().is_some_and(|usual| of(usual) == path);
        let flag = (!is_usual).then(|| path.display());
        build_setting(
            name,
            (flag, Some(variable)),
            NEVER,
            &path.display().to_string(),
        )
    };
    let no_model = context.no_model.then_some("none (--no-model)");
    let (idle, idle_in_file) = (arguments.idle_exit, serve.idle_exit_seconds);
    let (rate, rate_in_file) = (arguments.requests_per_second, serve.requests_per_second);
    let collector = (arguments.otlp.as_ref(), Some(env::OTLP));
    let issuer = serve.oauth.as_ref().map(|oauth| {
        let issuer = oauth.issuer.as_deref();
        issuer.unwrap_or("the daemon's own issuer")
    });
    let user = context.config.user.as_ref();
    let mut settings = vec![
        place("data", |it| &it.data, env::DATA_DIR),
        place("models", |it| &it.models, env::MODELS_DIR),
        place("configuration", |it| &it.config, env::CONFIG),
        build_setting("model", (no_model, None), NEVER, "in use"),
        build_setting("user", (NEVER, None), user, "default"),
        build_setting(
            "serve.http",
            (arguments.http, None),
            serve.http,
            "only the socket",
        ),
        build_setting(
            "serve.idle_exit_seconds",
            (idle, None),
            idle_in_file,
            "never",
        ),
        build_setting(
            "serve.requests_per_second",
            (rate, None),
            rate_in_file,
            "no limit",
        ),
        build_setting("serve.oauth", (NEVER, None), issuer, "off"),
        build_setting(
            "serve.otlp",
            collector,
            serve.otlp.as_ref(),
            "traces are sent nowhere",
        ),
    ];
    let others = context.config.list_other_settings().into_iter();
    settings.extend(
        others.map(|(name, value, default)| build_setting(name, (NEVER, None), value, default)),
    );
    settings
}
