//! OAuth as the configuration has it, and how the documents of an issuer are fetched.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use reprise_redact::{Outbound, is_plain_to_another};
use reprise_server::{Fetch, Issuer, IssuerSettings, OauthOptions};
use reprise_types::SystemClock;
use ureq::http::Request;

use crate::config::OauthTable;
use crate::outbound;

/// How long a document of an issuer may take, and how long it may be.
const WITHIN: Duration = Duration::from_secs(5);
const BYTES_MAX: u64 = 1024 * 1024;

pub(super) fn options(table: &OauthTable) -> anyhow::Result<OauthOptions> {
    let url = table.url.as_deref().map(|url| url.trim_end_matches('/'));
    if let Some(url) = url {
        let authority = url
            .split_once("://")
            .filter(|(scheme, _)| ["http", "https"].contains(scheme));
        let is_bare = authority.is_some_and(|(_, rest)| !rest.is_empty() && !rest.contains('/'));
        ensure!(
            is_bare,
            "`url` of [serve.oauth] is `{url}`; write it as `https://HOST`, without a path"
        );
    }
    let issuer = table.issuer.as_ref().map(|issuer| {
        ensure!(
            issuer.starts_with("https://") || !is_plain_to_another(issuer),
            "`issuer` of [serve.oauth] is `{issuer}`; who stands between would make its tokens: use https"
        );
        let mcp = url.map(|url| format!("{url}/mcp"));
        let audience = table.audience.clone().or(mcp);
        let settings = IssuerSettings {
            issuer: issuer.clone(),
            audience: audience.context("[serve.oauth] needs `audience`, or `url`, beside `issuer`")?,
            user_claim: table.user_claim.clone().unwrap_or_else(|| "sub".to_owned()),
            scopes: table.scopes.clone(),
        };
        Ok(Issuer::new(settings, fetch(), Arc::new(SystemClock)))
    });
    Ok(OauthOptions {
        url: url.map(str::to_owned),
        issuer: issuer.transpose()?,
    })
}

/// Documents over HTTPS, or from this machine; no redirect is followed.
fn fetch() -> Fetch {
    let config = ureq::Agent::config_builder().max_redirects(0);
    let agent: ureq::Agent = config.build().into();
    Arc::new(move |url| {
        if !url.starts_with("https://") && is_plain_to_another(url) {
            return Err(format!("`{url}` is not https"));
        }
        let request = Request::get(url).body(Outbound::nothing());
        let request = request.map_err(|error| error.to_string())?;
        let answer = outbound::send(&agent, request, Some(WITHIN));
        let answer = answer.map_err(|error| error.to_string())?;
        let body = answer.into_body().into_with_config().limit(BYTES_MAX);
        body.read_to_vec().map_err(|error| error.to_string())
    })
}
