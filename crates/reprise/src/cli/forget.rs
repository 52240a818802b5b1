//! `reprise forget`: a tombstone now; with `--verify` a compaction, and proof that the text is
//! gone; with `--everything` a user's memory and its branches leave the disk.

mod erasure;

use reprise_operations::operations::care::{self, Compact, Rebuild};
use reprise_operations::operations::forgetting::{self, Forget, Forgotten};
use reprise_operations::operations::shared::{PublishedList, ReceiptRow, ReceiptsOf};
use reprise_operations::{Deed, PageAsked};

use super::output::Out;
use super::{branch, global, rebuild};
use crate::args::ForgetArguments;
use crate::cli::prelude::*;
use erasure::{Gone, KnownCopy, Traces};

struct Proof {
    traces: Traces,
    /// Other files that hold forgotten records.
    copies: Vec<KnownCopy>,
    /// `None` where the receipts could not be read.
    drafts: Option<Drafts>,
}

/// What was made of forgotten records and still stands on a branch of the global store, by its
/// name.
type Drafts = BTreeSet<(String, RecordId)>;

pub(super) fn run(context: &Context, arguments: &ForgetArguments) -> anyhow::Result<Exit> {
    if arguments.everything {
        return everything(context, arguments);
    }
    if arguments.asked.dry_run {
        return preview(context, arguments);
    }
    let file = context.places.file_of(&arguments.whose.user);
    let session = Session::open(context, &arguments.whose.user, Forget::SPEC.effect)?;
    // Others may write, and compact, between any two of these steps.
    let (mut pinned, mut receipts) = (Vec::new(), None);
    if arguments.verify {
        context.must_be_here()?;
        pinned.extend(store::open_log(&file));
        // They may be among what is forgotten.
        match session.call::<ReceiptsOf>(NoArguments {}) {
            Ok(kept) => receipts = Some(kept.receipts),
            Err(error) => tell!("warning: {error}"),
        }
    }
    let body = body(context, arguments, &session)?;
    let done = session.call::<Forget>(body)?;
    let forgotten = &done.forgotten;
    let mut proof = None;
    if arguments.verify {
        pinned.push(store::open_log(&file)?);
        session.call::<Compact>(NoArguments {})?;
        // What other programs read is written anew before it is looked into.
        for projection in rebuild::written(context, &arguments.whose.user) {
            let refused = session.call::<Rebuild>(care::RebuildArguments {
                projections: vec![rebuild::of(projection)],
                ..care::RebuildArguments::default()
            });
            if let Err(error) = refused {
                tell!("warning: {error}");
            }
        }
        drop(session);
        let gone = Gone::read(forgotten, &pinned)?;
        proof = Some(Proof {
            traces: gone.traces(&file)?,
            copies: gone.copies(context, &arguments.whose.user),
            drafts: receipts.map(|receipts| {
                let standing = standing(&receipts, forgotten);
                without_dropped(context, &arguments.whose.user, standing)
            }),
        });
    } else {
        drop(session);
    }
    let row = row(&done, proof.as_ref());
    output::print(context, &row, |out| {
        say(out, context, arguments, &done, proof.as_ref())
    })?;
    let all = !forgotten.is_empty() && proof.is_none_or(|proof| proof.traces.found == 0);
    Ok(output::exit(all))
}

/// Says what would be forgotten.
fn preview(context: &Context, arguments: &ForgetArguments) -> anyhow::Result<Exit> {
    let session = Session::open(context, &arguments.whose.user, Effect::Reads)?;
    let body = body(context, arguments, &session)?;
    let would = session.call::<Forget>(body)?;
    drop(session);
    output::print(context, &would, |out| {
        writeln!(out, "{}", Forget::text(&would))?;
        for (id, text) in would.forgotten.iter().zip(&would.texts) {
            writeln!(out, "{id}  {}", terminal::one_line(text, 70))?;
        }
        let more = would.forgotten.len() - would.texts.len();
        if more > 0 {
            writeln!(out, "and {more} more")?;
        }
        Ok(())
    })
}

fn say(
    out: &mut Out,
    context: &Context,
    arguments: &ForgetArguments,
    done: &Forgotten,
    proof: Option<&Proof>,
) -> anyhow::Result<()> {
    writeln!(out, "{}", Forget::text(done))?;
    if done.forgotten.is_empty() {
        return Ok(());
    }
    let Some(proof) = proof else {
        writeln!(out, "their bytes stay on the disk until `reprise compact`")?;
        for (copy, _) in erasure::known_copies(context, &arguments.whose.user) {
            if erasure::is_away(&copy) {
                say_away(context, &copy, out)?;
                continue;
            }
            let copy = copy.display();
            writeln!(out, "{copy} may hold them too: `--verify` looks into it")?;
        }
        return Ok(());
    };
    match proof.traces.found {
        0 => writeln!(
            out,
            "compacted: no trace of their texts is left in the file"
        )?,
        found => {
            let texts = counted(found, "text");
            writeln!(out, "{texts} can still be found in the file")?;
        }
    }
    for id in &proof.traces.said_by {
        writeln!(out, "{id} says one of them too: forget it by its id")?;
    }
    match &proof.drafts {
        Some(drafts) => {
            let user = &arguments.whose.user;
            for (branch, id) in drafts {
                writeln!(
                    out,
                    "{id} stands on branch `{branch}` of the global store: \
                     `reprise global branch drop {branch} --user {user}` takes it back"
                )?;
            }
        }
        None => writeln!(
            out,
            "what stands of them on branches could not be looked up"
        )?,
    }
    for KnownCopy {
        file,
        kind,
        records,
    } in &proof.copies
    {
        if erasure::is_away(file) {
            say_away(context, file, out)?;
            continue;
        }
        let (file, remedy) = (file.display(), kind.remedy());
        match records {
            Some(records) => {
                let held = counted(*records, "forgotten record");
                writeln!(out, "{file} still holds {held}: {remedy}")?;
            }
            None => writeln!(out, "{file} cannot be read, and may hold them: {remedy}")?,
        }
    }
    Ok(())
}

fn row(done: &Forgotten, proof: Option<&Proof>) -> Value {
    let published: Vec<RecordId> = done.published.iter().map(|one| one.id).collect();
    let mut row = json!({ "forgotten": done.forgotten, "published": published });
    if let Some(proof) = proof {
        row["traces_in_file"] = json!(proof.traces.found);
        row["said_by"] = json!(proof.traces.said_by);
        row["copies"] = json!(proof.copies);
        row["drafts"] = json!(proof.drafts.as_ref().map(|drafts| {
            let rows = drafts
                .iter()
                .map(|(branch, id)| json!({ "branch": branch, "id": id }));
            rows.collect::<Vec<_>>()
        }));
    }
    row
}

/// A copy of which nobody can say whether it is on another disk or gone.
fn say_away(context: &Context, copy: &Path, out: &mut impl Write) -> io::Result<()> {
    let (copy, list) = (copy.display(), copies::list(context));
    writeln!(
        out,
        "{copy} is on no disk that is here, and may hold them; if it is gone for good, take its \
         line out of {}",
        list.display()
    )
}

/// What the receipts, newest first, say was published of these records on a branch and was neither
/// merged nor taken back.
fn standing(receipts: &[ReceiptRow], forgotten: &[RecordId]) -> Drafts {
    let mut drafts = Drafts::new();
    for ReceiptRow { line, .. } in receipts.iter().rev() {
        let is_of_them = line.record.is_some_and(|id| forgotten.contains(&id));
        match (line.act, &line.branch) {
            (Deed::Drafted, Some(branch)) if is_of_them => {
                drafts.insert((branch.clone(), line.global_id));
            }
            // A branch is merged whole.
            (Deed::Published, branch) => drafts.retain(|(own, _)| Some(own) != branch.as_ref()),
            (Deed::Unpublished, _) => drafts.retain(|(_, id)| *id != line.global_id),
            _ => {}
        }
    }
    drafts
}

/// No receipt tells of a branch that was dropped: the store is asked which there are. Where it does
/// not answer they may all be there.
fn without_dropped(context: &Context, user: &UserId, mut drafts: Drafts) -> Drafts {
    if !drafts.is_empty() {
        match global::branches(context, user) {
            Ok(open) => drafts.retain(|(branch, _)| open.iter().any(|open| open.name == *branch)),
            Err(error) => tell!("warning: {error:#}"),
        }
    }
    drafts
}

fn body(
    context: &Context,
    arguments: &ForgetArguments,
    session: &Session,
) -> anyhow::Result<forgetting::ForgetArguments> {
    let mut asked = arguments.asked.clone();
    let named = if asked.dry_run {
        project::named
    } else {
        project::whole
    };
    asked.project = named(context, session, asked.project.as_deref())?;
    let reason = "asked for on the command line";
    asked.reason.get_or_insert_with(|| reason.to_owned());
    Ok(asked)
}

fn everything(context: &Context, arguments: &ForgetArguments) -> anyhow::Result<Exit> {
    let user = &arguments.whose.user;
    let engine = store::read(context, user)?;
    let live = engine.stats().live;
    drop(engine);
    let branches = branch::all_of(context, user)?;
    refuse_published(context, user)?;
    let records = counted(usize::try_from(live)?, "record");
    let mut what = format!("{records} of `{user}`");
    if !branches.is_empty() {
        let names: Vec<&str> = branches.iter().map(UserId::as_str).collect();
        what = format!("{what}, and its branches {}", names.join(", "));
    }
    if arguments.asked.dry_run {
        let row = json!({ "dry_run": true, "removed": user, "branches": branches });
        return output::line(context, &row, format!("would remove {what}"));
    }
    let question = format!("{what} leave the disk for good; a backup alone brings them back.");
    let refusal = "nobody is there to be asked; add --yes to remove everything of this user";
    if !arguments.yes && !agreed(&question, refusal)? {
        bail!("nothing was removed");
    }
    let copies = erasure::copies_of_all(context, user, &branches);
    for user in branches.iter().chain([user]) {
        store::remove(context, user)?;
    }
    let files: Vec<_> = copies.iter().map(|(file, _)| file).collect();
    let row = json!({ "removed": user, "branches": branches, "copies": files });
    output::print(context, &row, |out| {
        writeln!(out, "removed {what}")?;
        for (copy, kind) in &copies {
            if erasure::is_away(copy) {
                say_away(context, copy, out)?;
            } else if copy.exists() {
                writeln!(out, "{} still holds it: {}", copy.display(), kind.remedy())?;
            }
        }
        Ok(())
    })
}

/// What others can find would stay behind with nobody to take it back.
fn refuse_published(context: &Context, user: &UserId) -> anyhow::Result<()> {
    let first = PageAsked {
        limit: Some(1),
        ..PageAsked::default()
    };
    let published = output::call::<PublishedList>(context, user, first)?;
    if let Some(first) = published.published.first() {
        bail!(
            "`{user}` has published `{}`, which others find; `reprise share list --user {user}` \
             names all, `reprise unpublish ID --user {user}` takes one back",
            first.title
        );
    }
    Ok(())
}
