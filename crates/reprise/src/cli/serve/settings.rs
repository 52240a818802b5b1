//! What is set, and where each setting comes from: for whoever looks at the daemon.

use reprise_server::Setting;

use crate::args::ServeArguments;
use crate::cli::prelude::*;
use crate::env;

/// What neither a flag nor the file can give.
const NEVER: Option<&str> = None;

/// A setting that a flag, its variable of the environment or the file may give.
fn setting(
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

/// Every setting of the daemon; of secrets only whether there are any.
pub(super) fn all(context: &Context, arguments: &ServeArguments) -> Vec<Setting> {
    let serve = &context.config.serve;
    let usual = env::Places::new(None, None, None).ok();
    let place = |name: &str, of: fn(&env::Places) -> &PathBuf, variable| {
        let path = of(&context.places);
        let is_usual = usual.as_ref().is_some_and(|usual| of(usual) == path);
        let flag = (!is_usual).then(|| path.display());
        setting(
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
        setting("model", (no_model, None), NEVER, "in use"),
        setting("user", (NEVER, None), user, "default"),
        setting(
            "serve.http",
            (arguments.http, None),
            serve.http,
            "only the socket",
        ),
        setting(
            "serve.idle_exit_seconds",
            (idle, None),
            idle_in_file,
            "stays",
        ),
        setting(
            "serve.requests_per_second",
            (rate, None),
            rate_in_file,
            "no limit",
        ),
        setting("serve.oauth", (NEVER, None), issuer, "tokens by hand"),
        setting(
            "serve.otlp",
            collector,
            serve.otlp.as_ref(),
            "traces are sent nowhere",
        ),
    ];
    let others = context.config.others().into_iter();
    settings
        .extend(others.map(|(name, value, default)| setting(name, (NEVER, None), value, default)));
    settings
}
