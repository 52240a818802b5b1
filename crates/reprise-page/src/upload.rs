//! A form with a file, as a browser sends it. The file goes to disk as it arrives, and only after
//! the form's token was found right.

use std::io::Write as _;

use axum::extract::multipart::Field;
use axum::extract::{FromRequest, FromRequestParts as _, Multipart, Request};
use axum::http::StatusCode;
use reprise_operations::Problem;

use crate::backup_files::UploadFile;
use crate::page::{PageError, PageRequest, PageResult, READ_ONLY, WRONG_FORM, WebPage};
use crate::{shell, text};

/// Most bytes of an uploaded file.
const UPLOAD_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// Most bytes of a field that is no file.
const FIELD_BYTES_MAX: usize = 4 * 1024;

/// A submitted form with a file, whose token belongs to this sign-in.
#[derive(Debug)]
pub(crate) struct Upload {
    pub(crate) visit: PageRequest,
    pub(crate) file: UploadFile,
}

impl FromRequest<WebPage> for Upload {
    type Rejection = PageError;

    async fn from_request(request: Request, page: &WebPage) -> PageResult<Self> {
        let (mut parts, body) = request.into_parts();
        let visit = PageRequest::from_request_parts(&mut parts, page).await?;
        if visit.read_only {
            return Err(PageError::new(StatusCode::FORBIDDEN, READ_ONLY));
        }
        let form = Multipart::from_request(Request::from_parts(parts, body), page).await;
        let form = form.map_err(|_| wrong_form())?;
        let host = visit.page.host();
        let file = read_form(form, &visit.form_token, |name| host.create_upload(name)).await?;
        Ok(Self { visit, file })
    }
}

/// Reads a form up to its file, which is created once the token was found right.
async fn read_form(
    mut form: Multipart,
    token: &str,
    create: impl FnOnce(&str) -> Result<UploadFile, Problem>,
) -> PageResult<UploadFile> {
    let mut is_own = false;
    while let Some(mut field) = form.next_field().await.map_err(|_| broken_form())? {
        let Some(name) = field.file_name().map(ToOwned::to_owned) else {
            let is_token = field.name() == Some(shell::FORM_TOKEN);
            is_own |= is_token && read_field(&mut field).await? == token.as_bytes();
            continue;
        };
        if !is_own {
            return Err(wrong_form());
        }
        if name.is_empty() {
            return Err(PageError::invalid(
                "No file was chosen. Go back and choose one.",
            ));
        }
        let mut file = create(&name)?;
        write_file(&mut field, &mut file).await?;
        return Ok(file);
    }
    Err(if is_own { broken_form() } else { wrong_form() })
}

fn wrong_form() -> PageError {
    PageError::new(StatusCode::FORBIDDEN, WRONG_FORM)
}

fn broken_form() -> PageError {
    PageError::invalid("The form was not sent as a whole. Go back and send it again.")
}

async fn read_field(field: &mut Field<'_>) -> PageResult<Vec<u8>> {
    let mut value = Vec::new();
    while let Some(chunk) = field.chunk().await.map_err(|_| broken_form())? {
        value.extend_from_slice(&chunk);
        if value.len() > FIELD_BYTES_MAX {
            return Err(broken_form());
        }
    }
    Ok(value)
}

/// Writes a field into a file. One that is too long is read to its end all the same, because a
/// browser shows no answer before it has sent everything.
async fn write_file(field: &mut Field<'_>, upload: &mut UploadFile) -> PageResult<()> {
    let mut bytes = 0_u64;
    let mut file = upload.file.take().ok_or_else(broken_form)?;
    while let Some(chunk) = field.chunk().await.map_err(|_| broken_form())? {
        bytes += chunk.len() as u64;
        if bytes <= UPLOAD_BYTES_MAX {
            file.write_all(&chunk).map_err(|error| {
                let sentence = format!("The file could not be stored ({error}). Try again.");
                PageError::new(StatusCode::INTERNAL_SERVER_ERROR, sentence)
            })?;
        }
    }
    if bytes > UPLOAD_BYTES_MAX {
        let [size, most] = [bytes, UPLOAD_BYTES_MAX].map(text::format_size);
        return Err(PageError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("The file has {size}; the limit is {most}. Use the command for it."),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::fs::File;

    use axum::body::Body;

    use super::*;

    const TOKEN: &str =
        "--xx\r\nContent-Disposition: form-data; name=\"form_token\"\r\n\r\nsecret\r\n";
    const FILE: &str = "--xx\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a; b%22.md\"\r\n\
        Content-Type: text/markdown\r\n\r\n# One\r\n--x\r\n--xy is no mark here\r\n";
    const END: &str = "--xx--\r\n";

    /// Reads a form that comes in pieces of so many bytes; returns the name and the text that were
    /// stored.
    async fn read(form: &str, size: usize) -> PageResult<(String, String)> {
        let pieces = form.as_bytes().chunks(size);
        let pieces: Vec<Result<Vec<u8>, Infallible>> =
            pieces.map(|piece| Ok(piece.to_vec())).collect();
        let request = Request::post("/")
            .header("content-type", "multipart/form-data; boundary=xx")
            .body(Body::from_stream(tokio_stream::iter(pieces)))
            .unwrap();
        let form = Multipart::from_request(request, &()).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("upload");
        let create = |name: &str| {
            let file = File::create(&path).unwrap();
            Ok(UploadFile::new(path.clone(), name.to_owned(), file))
        };
        let file = read_form(form, "secret", create).await?;
        let text = std::fs::read_to_string(&path).unwrap();
        Ok((file.name().to_owned(), text))
    }

    #[tokio::test]
    async fn a_form_is_read_alike_however_it_is_cut() {
        for size in [1, 3, 7, 1_000] {
            let (name, text) = read(&[TOKEN, FILE, END].concat(), size).await.unwrap();
            assert_eq!(name, "a; b%22.md");
            assert_eq!(text, "# One\r\n--x\r\n--xy is no mark here", "{size}");
        }
    }

    #[tokio::test]
    async fn a_form_that_breaks_off_or_has_no_token_before_its_file_is_refused() {
        let whole = [TOKEN, FILE, END].concat();
        for end in [3, 60, 150, whole.len() - END.len() - 2] {
            assert!(read(&whole[..end], 1_000).await.is_err(), "{end}");
        }
        let long = TOKEN.replace("secret", &"x".repeat(FIELD_BYTES_MAX + 1));
        let wrong = TOKEN.replace("secret", "guessed");
        for form in [
            [FILE, TOKEN, END].concat(),
            [wrong.as_str(), FILE, END].concat(),
            [long.as_str(), FILE, END].concat(),
            [TOKEN, END].concat(),
        ] {
            assert!(read(&form, 1_000).await.is_err(), "{form:.60}");
        }
    }
}
