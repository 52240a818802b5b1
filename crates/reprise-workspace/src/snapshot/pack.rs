//! The archive of a snapshot: the files and links of a committed tree, packed and unpacked.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::PathBuf;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use git2::{ObjectType, Oid, TreeWalkMode, TreeWalkResult};
use reprise_types::sha256_hex;
use reprise_workspace_types::RepoPath;

use crate::error::{Result, WorkspaceError};
use crate::git::{Blob, EXECUTABLE, FILE, Git, LINK};

/// Where snapshots are.
pub(super) const FOLDER: &str = ".sdlc_ide/snapshots";
/// Largest archive that is read, and most bytes of content that are unpacked.
pub(super) const CONTENT_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;

/// A file of an archive, with its mode in git's trees.
pub(super) struct SnapshotFile {
    pub(super) bytes: Vec<u8>,
    pub(super) mode: i32,
}

/// What a tree holds.
#[derive(Default)]
pub(super) struct TreeListing {
    /// Regular files, in the order of their paths.
    pub(super) files: Vec<(RepoPath, Blob)>,
    /// Symbolic links, with what they name.
    pub(super) links: BTreeMap<String, String>,
    /// Submodules, and names that are none here.
    pub(super) others: Vec<String>,
}

pub(super) fn list_tree(git: &Git, tree: Option<Oid>) -> Result<TreeListing> {
    let mut found = TreeListing::default();
    let Some(tree) = tree else {
        return Ok(found);
    };
    let tree = git.tree(tree)?;
    let mut links = Vec::new();
    tree.walk(TreeWalkMode::PreOrder, |above, entry| {
        if entry.kind() == Some(ObjectType::Tree) {
            return TreeWalkResult::Ok;
        }
        let bytes = [above.as_bytes(), entry.name_bytes()].concat();
        let (id, mode) = (entry.id(), entry.filemode());
        match RepoPath::from_git(&bytes) {
            Ok(path) if mode == FILE || mode == EXECUTABLE => {
                found.files.push((path, Blob { id, mode }));
            }
            Ok(path) if mode == LINK => links.push((path, id)),
            Ok(path) => found.others.push(format!("{path}, a submodule")),
            Err(error) => found.others.push(error.to_string()),
        }
        TreeWalkResult::Ok
    })
    .map_err(WorkspaceError::git("read a tree"))?;
    for (path, id) in links {
        match String::from_utf8(git.bytes(id)?) {
            Ok(target) => drop(found.links.insert(path.to_string(), target)),
            Err(_) => found
                .others
                .push(format!("{path}, a link to what is no UTF-8")),
        }
    }
    found
        .files
        .sort_unstable_by(|one, other| one.0.cmp(&other.0));
    Ok(found)
}

/// Builds the archive of a listing, and the SHA-256 of each of its files.
pub(super) fn pack(
    git: &Git,
    commit: Oid,
    listing: &TreeListing,
) -> Result<(Vec<u8>, BTreeMap<String, String>)> {
    let time = git.commit(commit)?.time().seconds();
    let io = |cause| WorkspaceError::Io {
        doing: "cannot pack",
        path: PathBuf::from(FOLDER),
        cause,
    };
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    let mut hashes = BTreeMap::new();
    let header = |mode: i32| {
        let mut header = tar::Header::new_gnu();
        header.set_mode((mode & 0o777) as u32);
        header.set_mtime(u64::try_from(time).unwrap_or_default());
        header
    };
    for (path, blob) in &listing.files {
        let bytes = git.bytes(blob.id)?;
        let mut header = header(blob.mode);
        header.set_size(bytes.len() as u64);
        header.set_cksum();
        archive
            .append_data(&mut header, path.as_str(), bytes.as_slice())
            .map_err(io)?;
        hashes.insert(path.to_string(), sha256_hex(&bytes));
    }
    for (path, target) in &listing.links {
        let mut header = header(0o777);
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        archive.append_link(&mut header, path, target).map_err(io)?;
    }
    let bytes = archive
        .into_inner()
        .and_then(|mut encoder| {
            encoder.flush()?;
            encoder.finish()
        })
        .map_err(io)?;
    Ok((bytes, hashes))
}

type UnpackedSnapshot = (BTreeMap<RepoPath, SnapshotFile>, BTreeMap<String, String>);

pub(super) fn unpack_archive(archive: &[u8]) -> std::result::Result<UnpackedSnapshot, String> {
    let limited = GzDecoder::new(archive).take(CONTENT_BYTES_MAX);
    let (mut content, mut links) = (BTreeMap::new(), BTreeMap::new());
    let mut archive = tar::Archive::new(limited);
    let entries = archive.entries().map_err(|error| error.to_string())?;
    for entry in entries {
        let mut entry = entry.map_err(|error| format!("its archive is damaged: {error}"))?;
        let path = RepoPath::from_git(&entry.path_bytes()).map_err(|error| error.to_string())?;
        if entry.header().entry_type().is_symlink() {
            let target = entry.link_name_bytes().unwrap_or_default().into_owned();
            links.insert(
                path.to_string(),
                String::from_utf8_lossy(&target).into_owned(),
            );
            continue;
        }
        let is_executable = entry.header().mode().is_ok_and(|mode| mode & 0o100 != 0);
        let mode = if is_executable { EXECUTABLE } else { FILE };
        let mut bytes = Vec::new();
        entry
            .read_to_end(&mut bytes)
            .map_err(|error| error.to_string())?;
        content.insert(path, SnapshotFile { bytes, mode });
    }
    Ok((content, links))
}
