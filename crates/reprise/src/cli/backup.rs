//! `reprise backup` and `restore`: a memory is one file, so a backup is a copy of it, taken while
//! it is in use and proven before anybody relies on it.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use fs_err::os::unix::fs::OpenOptionsExt;
use reprise_store::Verify;
use reprise_types::UserId;
use serde_json::json;

use super::store::{self, Access};
use super::{Context, recall};
use crate::args::{BackupArguments, RestoreArguments};
use crate::exit::Exit;
use crate::terminal;

/// Ending of a copy until it is whole and proven.
const UNPROVEN: &str = "unproven";
/// Ending of the memory that a restore replaced.
const REPLACED: &str = "before-restore";

pub(super) fn run(context: &Context, arguments: &BackupArguments) -> anyhow::Result<Exit> {
    match &arguments.user {
        Some(user) if arguments.to == Path::new("-") => {
            let (engine, _) = store::open(context, user, Access::Read, Verify::Tail)?;
            let mut out = std::io::stdout().lock();
            engine.snapshot().log().copy_to(&mut out)?;
            out.flush()?;
        }
        Some(user) => one(context, user, &arguments.to)?,
        None => {
            fs_err::create_dir_all(&arguments.to)?;
            for user in users(context)? {
                one(context, &user, &arguments.to.join(format!("{user}.rvf")))?;
            }
        }
    }
    Ok(Exit::Success)
}

/// Every user of the data directory, branches too, by name.
fn users(context: &Context) -> anyhow::Result<Vec<UserId>> {
    let mut users = Vec::new();
    for entry in fs_err::read_dir(&context.places.data)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let user: Option<UserId> = name.parse().ok();
        users.extend(user.filter(|user| context.places.file_of(user).exists()));
    }
    users.sort();
    Ok(users)
}

fn one(context: &Context, user: &UserId, to: &Path) -> anyhow::Result<()> {
    let (engine, _) = store::open(context, user, Access::Read, Verify::Tail)?;
    let beside = with_ending(to, UNPROVEN);
    let mut file = private(&beside)?;
    let bytes = engine.snapshot().log().copy_to(&mut file)?;
    file.sync_all()?;
    let records = proven(&beside)?;
    fs_err::rename(&beside, to)?;
    sync_folder(to)?;
    let mut out = anstream::stdout().lock();
    let path = to.display().to_string();
    if context.json {
        let row = json!({ "user": user, "records": records, "bytes": bytes, "file": path });
        writeln!(out, "{row}")?;
    } else {
        let size = terminal::bytes(bytes);
        writeln!(
            out,
            "{user}: {records} records, {size}, every hash verified: {path}"
        )?;
    }
    Ok(())
}

pub(super) fn restore(context: &Context, arguments: &RestoreArguments) -> anyhow::Result<Exit> {
    let user = &arguments.user;
    let target = context.places.file_of(user);
    if target.exists() && !arguments.replace {
        bail!(
            "user `{user}` has a memory already; pass --replace to put it aside, or another --user"
        );
    }
    store::make_folder(&target)?;
    let beside = with_ending(&target, UNPROVEN);
    let mut from = recall::open(&arguments.from)?;
    let mut file = private(&beside)?;
    std::io::copy(&mut from as &mut dyn Read, &mut file)?;
    file.sync_all()?;
    let taken = proven(&beside).and_then(|records| {
        take(context, user, &beside, &target)?;
        Ok(records)
    });
    let records = match taken {
        Ok(records) => records,
        Err(error) => {
            fs_err::remove_file(&beside)?;
            return Err(error.context("nothing was restored"));
        }
    };
    let mut out = anstream::stdout().lock();
    if context.json {
        writeln!(out, "{}", json!({ "user": user, "records": records }))?;
    } else {
        writeln!(out, "{user}: {records} records, every hash verified")?;
    }
    Ok(Exit::Success)
}

/// The file becomes the user's memory; the one that was there is put aside, under its lock.
fn take(context: &Context, user: &UserId, file: &Path, target: &Path) -> anyhow::Result<()> {
    if target.exists() {
        let held = store::open(context, user, Access::Write, Verify::Tail);
        let (held, _) = held.context("stop who uses the memory, for example by `reprise stop`")?;
        fs_err::rename(target, with_ending(target, REPLACED))?;
        fs_err::rename(file, target)?;
        sync_folder(target)?;
        drop(held);
        return Ok(());
    }
    // A link never replaces: whoever made a memory meanwhile keeps it.
    fs_err::hard_link(file, target)?;
    fs_err::remove_file(file)?;
    sync_folder(target)
}

/// Reads a file wholly; answers its records, or what is wrong with it.
fn proven(path: &Path) -> anyhow::Result<u64> {
    let (mut engine, opened) = store::open_file(path, Access::Read, Verify::Everything)?;
    let report = engine.check()?;
    let lost = opened.recovery.missing_records.len();
    if let Some(finding) = report.findings.first() {
        bail!("the copy is damaged ({}: {})", finding.what, finding.detail);
    }
    if lost > 0 || opened.recovery.torn_bytes > 0 {
        let torn = opened.recovery.torn_bytes;
        bail!("the copy is damaged ({lost} stretches of records lost, {torn} bytes cut off)");
    }
    Ok(u64::from(report.records_read))
}

/// A new file that nobody else can read.
fn private(path: &Path) -> anyhow::Result<fs_err::File> {
    let mut options = fs_err::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    Ok(options.open(path)?)
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

fn sync_folder(path: &Path) -> anyhow::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    Ok(File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?)
}
