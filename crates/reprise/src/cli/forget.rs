//! `reprise forget`: a tombstone now; with `--verify` a compaction, and proof that the text is
//! gone; with `--everything` a user's memory and its branches leave the disk.

mod erasure;

use reprise_operations::operations::care::{self, Compact, Rebuild};
use reprise_operations::operations::forgetting::{self, Delete, Forget, Forgotten};
use reprise_operations::operations::sharing::{PublishedList, ReceiptRow, ReceiptsOf};
use reprise_operations::{PageArguments, PublicationAct};

use super::output::Out;
use super::{branch, global, rebuild};
use crate::args::ForgetArguments;
use crate::cli::prelude::*;
use erasure::{CopyKind, ErasureTraces, ForgottenTexts, KnownCopy};

/// Copies that are named if none was searched.
const COPIES_SHOWN: usize = 3;
/// Bytes of copies, and of the memory itself, that are looked into though nobody asked for it.
const LOOKED_BYTES_MAX: u64 = 64 * 1024 * 1024;

struct ErasureProof {
    traces: ErasureTraces,
    /// Other files that contain forgotten records.
    copies: Vec<KnownCopy>,
    /// Files in which other programs keep the sessions that they were said in.
    transcripts: Vec<PathBuf>,
    /// `None` if the receipts could not be read.
    drafts: Option<OpenDrafts>,
}

/// Publications of forgotten records that are still on a branch of the global store, by branch.
type OpenDrafts = BTreeSet<(String, RecordId)>;

pub(super) fn run(context: &Context, arguments: &ForgetArguments) -> anyhow::Result<Exit> {
    if arguments.everything {
        return remove_everything(context, arguments);
    }
    if arguments.asked.dry_run {
        return preview(context, arguments);
    }
    for id in &arguments.records {
        super::lesson::confirm_forgetting(context, &arguments.whose, id)?;
    }
    let file = context.places.memory_file_of(&arguments.whose.user);
    let session = Session::open(context, &arguments.whose.user, Forget::SPEC.effect)?;
    // Others may write, and compact, between any two of these steps.
    let (mut pinned, mut receipts) = (Vec::new(), None);
    if arguments.verify {
        context.ensure_memory_is_local()?;
        pinned.extend(store::open_log(&file));
        // The receipts may be forgotten, too.
        match session.call::<ReceiptsOf>(NoArguments {}) {
            Ok(kept) => receipts = Some(kept.receipts),
            Err(error) => tell!("warning: {error}"),
        }
    }
    let done = forget_memories(context, arguments, &session)?;
    let forgotten = &done.forgotten;
    let mut proof = None;
    if arguments.verify {
        pinned.push(store::open_log(&file)?);
        session.call::<Compact>(NoArguments {})?;
        // Files for other programs are rewritten before they are searched.
        for projection in rebuild::list_written_projections(context, &arguments.whose.user) {
            let refused = session.call::<Rebuild>(care::RebuildArguments {
                projections: vec![rebuild::to_request(projection)],
                ..care::RebuildArguments::default()
            });
            if let Err(error) = refused {
                tell!("warning: {error}");
            }
        }
        drop(session);
        let gone = ForgottenTexts::read(forgotten, &pinned)?;
        proof = Some(ErasureProof {
            traces: gone.find_traces(&file)?,
            copies: gone.find_copies(context, &arguments.whose.user),
            transcripts: crate::env::home_folder()
                .map(|home| gone.find_transcripts(&home))
                .unwrap_or_default(),
            drafts: receipts.map(|receipts| {
                let standing = find_open_drafts(&receipts, forgotten);
                remove_dropped_drafts(context, &arguments.whose.user, standing)
            }),
        });
    } else {
        drop(session);
    }
    let row = if proof.is_none() && !arguments.records.is_empty() {
        serde_json::to_value(&done)?
    } else {
        to_json_row(&done, proof.as_ref())
    };
    output::print(context, &row, |out| {
        print_result(out, context, arguments, &done, proof.as_ref())
    })?;
    if forgotten.is_empty() {
        return Ok(Exit::Failed);
    }
    Ok(output::exit(
        proof.is_none_or(|proof| proof.traces.found == 0),
    ))
}

/// Forgets what was asked for: memories with their earlier versions, or all that a selector names.
fn forget_memories(
    context: &Context,
    arguments: &ForgetArguments,
    session: &Session,
) -> anyhow::Result<Forgotten> {
    let body = build_request(context, arguments, session)?;
    if !arguments.records.is_empty() {
        return Ok(session.call::<Delete>(forgetting::DeleteArguments {
            // A daemon is asked by the path of the first.
            id: arguments.records.first().cloned(),
            ids: arguments.records.iter().skip(1).cloned().collect(),
            reason: body.reason,
            ..forgetting::DeleteArguments::default()
        })?);
    }
    Ok(session.call::<Forget>(body)?)
}

/// Says that nothing was forgotten because nothing is meant by the selector.
fn describe_no_match(asked: &forgetting::ForgetArguments) -> String {
    if let Some(tag) = &asked.tag {
        return format!("no memory is tagged `{tag}`; `reprise tags` lists the tags");
    }
    let why = if let Some(session) = &asked.session {
        format!("no memory is of session `{session}`")
    } else if let Some(project) = &asked.project {
        format!("no memory belongs to project `{project}`")
    } else if let Some(before) = &asked.before {
        format!("no memory is older than {before}")
    } else if let Some(id) = &asked.external_id {
        format!("no memory has the external id `{id}`")
    } else {
        "no memory has this id".to_owned()
    };
    format!("{why}; `reprise list` shows what there is")
}

/// Prints what would be forgotten.
fn preview(context: &Context, arguments: &ForgetArguments) -> anyhow::Result<Exit> {
    let session = Session::open(context, &arguments.whose.user, Effect::Reads)?;
    let would = if arguments.records.is_empty() {
        session.call::<Forget>(build_request(context, arguments, &session)?)?
    } else {
        session.call::<Delete>(forgetting::DeleteArguments {
            // A daemon is asked by the path of the first.
            id: arguments.records.first().cloned(),
            ids: arguments.records.iter().skip(1).cloned().collect(),
            dry_run: true,
            ..forgetting::DeleteArguments::default()
        })?
    };
    drop(session);
    let is_none = would.forgotten.is_empty();
    output::print(context, &would, |out| {
        if is_none {
            writeln!(out, "{}", describe_no_match(&arguments.asked))?;
            return Ok(());
        }
        writeln!(out, "{}", Forget::render_text(&would))?;
        for (id, text) in would.forgotten.iter().zip(&would.texts) {
            writeln!(out, "{id}  {}", terminal::one_line(text, 70))?;
        }
        let more = would.forgotten.len() - would.texts.len();
        if more > 0 {
            writeln!(out, "and {more} more")?;
        }
        Ok(())
    })?;
    Ok(if is_none { Exit::Failed } else { Exit::Success })
}

fn print_result(
    out: &mut Out,
    context: &Context,
    arguments: &ForgetArguments,
    done: &Forgotten,
    proof: Option<&ErasureProof>,
) -> anyhow::Result<()> {
    if done.forgotten.is_empty() {
        writeln!(out, "{}", describe_no_match(&arguments.asked))?;
        return Ok(());
    }
    writeln!(out, "{}", Forget::render_text(done))?;
    let Some(proof) = proof else {
        return print_remains(out, context, &arguments.whose.user, &done.forgotten);
    };
    writeln!(out, "{}", describe_traces(&proof.traces))?;
    for id in &proof.traces.said_by {
        writeln!(
            out,
            "{id} says the same: `reprise forget {id}` forgets it, too"
        )?;
    }
    match &proof.drafts {
        Some(drafts) => {
            let user = &arguments.whose.user;
            for (branch, id) in drafts {
                writeln!(
                    out,
                    "{id} is on branch `{branch}` of the global store: \
                     `reprise global branch drop {branch} --user {user}` takes it back"
                )?;
            }
        }
        None => writeln!(out, "could not check the branches of the global store")?,
    }
    for KnownCopy {
        file,
        kind,
        records,
    } in &proof.copies
    {
        if erasure::is_unreachable(file) {
            print_unreachable_copy(context, file, out)?;
            continue;
        }
        let (copy, remedy) = (kind.describe(file), kind.remedy(file));
        match records {
            Some(records) => {
                let held = format_count(*records, "forgotten text");
                writeln!(out, "{copy} still has {held}: {remedy}")?;
            }
            None => writeln!(out, "{copy} cannot be read and may have them: {remedy}")?,
        }
    }
    for file in &proof.transcripts {
        writeln!(
            out,
            "the program's own transcript still has the session: delete it if it is to go, too, {}",
            file.display()
        )?;
    }
    Ok(())
}

/// Says what is left in the memory's file of what was forgotten.
fn describe_traces(traces: &ErasureTraces) -> String {
    match (traces.found, traces.said_by.is_empty()) {
        (0, true) => "compacted: their texts are no longer in the file".to_owned(),
        (0, false) => "compacted: they are no longer in the file, but memories that are kept say \
                       the same:"
            .to_owned(),
        (1, _) => "1 text is still in the file".to_owned(),
        (found, _) => format!("{found} texts are still in the file"),
    }
}

/// Prints where forgotten texts may still be if nothing was erased or searched.
fn print_remains(
    out: &mut Out,
    context: &Context,
    user: &UserId,
    forgotten: &[RecordId],
) -> anyhow::Result<()> {
    writeln!(
        out,
        "the text stays on disk until `reprise doctor compact` runs"
    )?;
    let copies = erasure::list_known_copies(context, user).into_iter();
    let (away, mut here): (Vec<_>, Vec<_>) =
        copies.partition(|(copy, _)| erasure::is_unreachable(copy));
    if let Some(having) = find_having(context, user, forgotten, &here) {
        here.retain(|(copy, _)| having.contains(copy));
    }
    for (copy, _) in &away {
        print_unreachable_copy(context, copy, out)?;
    }
    if !here.is_empty() {
        writeln!(
            out,
            "copies that were made before may have it, too (--verify looks into them):"
        )?;
    }
    for (copy, kind) in here.iter().take(COPIES_SHOWN) {
        writeln!(out, "  {}", kind.describe(copy))?;
    }
    let more = here.len().saturating_sub(COPIES_SHOWN);
    if more > 0 {
        writeln!(out, "  and {more} more exports, backups and branches")?;
    }
    Ok(())
}

/// Finds which of these copies have forgotten texts; `None` where that takes long.
fn find_having(
    context: &Context,
    user: &UserId,
    forgotten: &[RecordId],
    copies: &[(PathBuf, CopyKind)],
) -> Option<BTreeSet<PathBuf>> {
    let own = context.places.memory_file_of(user);
    let files = copies.iter().map(|(copy, _)| copy).chain([&own]);
    let sizes = files.map(|file| fs_err::metadata(file).map(|found| found.len()));
    let bytes = sizes.sum::<io::Result<u64>>().ok()?;
    if context.remote.is_some() || copies.is_empty() || bytes > LOOKED_BYTES_MAX {
        return None;
    }
    let pinned = [store::open_log(&own).ok()?];
    let gone = ForgottenTexts::read(forgotten, &pinned).ok()?;
    let having = gone.find_copies(context, user).into_iter();
    Some(having.map(|copy| copy.file).collect())
}

fn to_json_row(done: &Forgotten, proof: Option<&ErasureProof>) -> Value {
    let published: Vec<RecordId> = done.published.iter().map(|one| one.id).collect();
    let mut row = json!({ "forgotten": done.forgotten, "published": published });
    if let Some(proof) = proof {
        row["traces_in_file"] = json!(proof.traces.found);
        row["said_by"] = json!(proof.traces.said_by);
        row["copies"] = json!(proof.copies);
        row["transcripts"] = json!(proof.transcripts);
        row["drafts"] = json!(proof.drafts.as_ref().map(|drafts| {
            let rows = drafts
                .iter()
                .map(|(branch, id)| json!({ "branch": branch, "id": id }));
            rows.collect::<Vec<_>>()
        }));
    }
    row
}

/// Prints that a copy cannot be reached: it is on another disk, or deleted.
fn print_unreachable_copy(context: &Context, copy: &Path, out: &mut impl Write) -> io::Result<()> {
    let (copy, list) = (copy.display(), copies::copies_list_path(context));
    writeln!(
        out,
        "{copy} is on a disk that is not connected and may contain them; if it is gone for good, \
         remove its line from {}",
        list.display()
    )
}

/// Returns the publications of these records on branches that were neither merged nor withdrawn,
/// from receipts that are sorted newest first.
fn find_open_drafts(receipts: &[ReceiptRow], forgotten: &[RecordId]) -> OpenDrafts {
    let mut drafts = OpenDrafts::new();
    for ReceiptRow { line, .. } in receipts.iter().rev() {
        let is_of_them = line.record.is_some_and(|id| forgotten.contains(&id));
        match (line.act, &line.branch) {
            (PublicationAct::Drafted, Some(branch)) if is_of_them => {
                drafts.insert((branch.clone(), line.global_id));
            }
            // A merge takes the whole branch.
            (PublicationAct::Published, branch) => {
                drafts.retain(|(own, _)| Some(own) != branch.as_ref());
            }
            (PublicationAct::Unpublished, _) => drafts.retain(|(_, id)| *id != line.global_id),
            _ => {}
        }
    }
    drafts
}

/// Removes drafts of dropped branches, for which there is no receipt: the store lists the existing
/// branches. If it does not answer, all drafts are kept.
fn remove_dropped_drafts(context: &Context, user: &UserId, mut drafts: OpenDrafts) -> OpenDrafts {
    if !drafts.is_empty() {
        match global::fetch_branches(context, user) {
            Ok(open) => drafts.retain(|(branch, _)| open.iter().any(|open| open.name == *branch)),
            Err(error) => tell!("warning: {error:#}"),
        }
    }
    drafts
}

fn build_request(
    context: &Context,
    arguments: &ForgetArguments,
    session: &Session,
) -> anyhow::Result<forgetting::ForgetArguments> {
    let mut asked = arguments.asked.clone();
    let named = if asked.dry_run {
        project::resolve_project_name
    } else {
        project::resolve_full_name
    };
    asked.project = named(context, session, asked.project.as_deref())?;
    let reason = "asked for on the command line";
    asked.reason.get_or_insert_with(|| reason.to_owned());
    Ok(asked)
}

fn remove_everything(context: &Context, arguments: &ForgetArguments) -> anyhow::Result<Exit> {
    let user = &arguments.whose.user;
    let engine = store::open_for_reading(context, user)?;
    let live = engine.stats().live;
    drop(engine);
    let branches = branch::collect_nested_branch_ids(context, user)?;
    refuse_if_published(context, user)?;
    let records = format_count(usize::try_from(live)?, "memory");
    let mut what = format!("{records} of `{user}`");
    if !branches.is_empty() {
        let names: Vec<&str> = branches.iter().map(UserId::as_str).collect();
        what = format!("{what}, and its branches {}", names.join(", "));
    }
    if arguments.asked.dry_run {
        let row = json!({ "dry_run": true, "removed": user, "branches": branches });
        return output::line(context, &row, format!("would remove {what}"));
    }
    let question = format!("{what} are deleted from the disk; only a backup can restore them.");
    let refusal = "not a terminal: add --yes to remove everything of this user";
    if !arguments.yes && !confirm(&question, refusal)? {
        note("nothing was removed");
        return Ok(Exit::Refused);
    }
    let copies = erasure::list_copies_with_branches(context, user, &branches);
    for user in branches.iter().chain([user]) {
        store::remove(context, user)?;
    }
    let files: Vec<_> = copies.iter().map(|(file, _)| file).collect();
    let row = json!({ "removed": user, "branches": branches, "copies": files });
    output::print(context, &row, |out| {
        writeln!(out, "removed {what}")?;
        for (copy, kind) in &copies {
            if erasure::is_unreachable(copy) {
                print_unreachable_copy(context, copy, out)?;
            } else if copy.exists() {
                let (copy, remedy) = (kind.describe(copy), kind.remedy(copy));
                writeln!(out, "{copy} still has it: {remedy}")?;
            }
        }
        Ok(())
    })
}

/// Refuses if the user still has publications, which nobody could withdraw afterwards.
fn refuse_if_published(context: &Context, user: &UserId) -> anyhow::Result<()> {
    let first = PageArguments {
        limit: Some(1),
        ..PageArguments::default()
    };
    let published = output::call::<PublishedList>(context, user, first)?;
    if let Some(first) = published.published.first() {
        bail!(
            "`{user}` has published `{}`, which others find; `reprise share list --user {user}` \
             names all, `reprise share unpublish ID --user {user}` takes one back",
            first.title
        );
    }
    Ok(())
}
