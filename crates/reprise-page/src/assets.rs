//! The files of the page, inside the binary, under names that change with their content.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

/// Address prefix of all assets.
pub(crate) const FOLDER: &str = "/assets/";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

macro_rules! file {
    ($name:literal) => {
        include_bytes!(concat!("../assets/", $name)).as_slice()
    };
}

/// Each file: its name, its media type and its parts.
static FILES: [(&str, &str, &[&[u8]]); 9] = [
    // The design tokens are a file of their own and are sent with the rest in one request.
    ("page.css", CSS, &[file!("tokens.css"), file!("page.css")]),
    ("page.js", JS, &[file!("page.js")]),
    ("theme.js", JS, &[file!("theme.js")]),
    ("list.js", JS, &[file!("list.js")]),
    ("ask.js", JS, &[file!("ask.js")]),
    ("palette.js", JS, &[file!("palette.js")]),
    ("icon.svg", SVG, &[file!("icon.svg")]),
    ("icons.svg", SVG, &[file!("icons.svg")]),
    ("inter.woff2", "font/woff2", &[file!("inter.woff2")]),
];

static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut hash = Sha256::new();
    for (name, _, parts) in FILES {
        hash.update(name);
        for part in parts {
            hash.update(part);
        }
    }
    let hash: [u8; 32] = hash.finalize().into();
    let [a, b, c, d, ..] = hash.map(u32::from);
    format!("{:08x}", a << 24 | b << 16 | c << 8 | d)
});

/// Returns the address of a file, which contains the version of all files.
pub(crate) fn asset_path(name: &str) -> String {
    format!("{FOLDER}{}/{name}", *VERSION)
}

/// Sends a file, or 404 for an address with another version.
pub(crate) async fn serve_asset(Path((version, name)): Path<(String, String)>) -> Response {
    let file = FILES.iter().find(|file| file.0 == name);
    match file.filter(|_| version == *VERSION) {
        Some((_, media, parts)) => {
            let headers = [
                (CONTENT_TYPE, *media),
                (CACHE_CONTROL, "private, max-age=31536000, immutable"),
            ];
            (headers, parts.concat()).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
