//! The files of the page, inside the binary, under names that change with their content.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

/// The folder on the wire.
pub(crate) const FOLDER: &str = "/assets/";
const FILES: [(&str, &str, &str); 3] = [
    (
        "page.css",
        "text/css; charset=utf-8",
        include_str!("../assets/page.css"),
    ),
    (
        "page.js",
        "text/javascript; charset=utf-8",
        include_str!("../assets/page.js"),
    ),
    (
        "icon.svg",
        "image/svg+xml",
        include_str!("../assets/icon.svg"),
    ),
];

static VERSION: LazyLock<String> = LazyLock::new(|| {
    let mut hash = Sha256::new();
    for (name, _, content) in FILES {
        hash.update(name);
        hash.update(content);
    }
    let hash: [u8; 32] = hash.finalize().into();
    let [a, b, c, d, ..] = hash.map(u32::from);
    format!("{:08x}", a << 24 | b << 16 | c << 8 | d)
});

/// Where a file is found.
pub(crate) fn path(name: &str) -> String {
    format!("{FOLDER}{}/{name}", *VERSION)
}

/// A file. What has another version in its path is not here.
pub(crate) async fn serve(Path((version, name)): Path<(String, String)>) -> Response {
    let file = FILES.iter().find(|file| file.0 == name);
    match file.filter(|_| version == *VERSION) {
        Some((_, media, content)) => {
            let headers = [
                (CONTENT_TYPE, *media),
                (CACHE_CONTROL, "private, max-age=31536000, immutable"),
            ];
            (headers, *content).into_response()
        }
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
