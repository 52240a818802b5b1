//! `reprise rebuild`: the files that other programs read, written anew from memory; and how `check`
//! finds those that are not as memory is.

use reprise_knowledge::ProjectionKind;
use reprise_operations::operations::care::{self, Wanted};
use reprise_operations::{Projection, differences};

use super::copies::Form;
use crate::args::RebuildArguments;
use crate::cli::prelude::*;

/// The folder of a user's projections that nobody gave a place.
const FOLDER: &str = "projections";

pub(super) fn run(context: &Context, arguments: &RebuildArguments) -> anyhow::Result<Exit> {
    let user = &arguments.whose.user;
    let chosen = match (&arguments.kind[..], &arguments.to) {
        ([kind], Some(path)) => vec![Projection {
            user: user.clone(),
            kind: *kind,
            path: std::path::absolute(path)?,
            project: arguments.project.clone(),
        }],
        (_, Some(_)) => bail!("--to is the place of one projection; name which one"),
        (kinds, None) => {
            let mut all = places(context, user, kinds.is_empty());
            if all.is_empty() {
                all = places(context, user, false);
            }
            let chosen = all
                .into_iter()
                .filter(|own| kinds.is_empty() || kinds.contains(&own.kind));
            chosen.collect()
        }
    };
    copies::note_projections(context, &chosen);
    let wanted = chosen.into_iter().map(of).collect();
    let wanted = care::RebuildArguments {
        projections: wanted,
        adopt: arguments.adopt,
        compare: false,
    };
    let done = output::call::<care::Rebuild>(context, user, wanted)?;
    output::print(context, &done, |out| {
        for one in &done.projections {
            let (kind, path) = (&one.kind, one.path.display());
            writeln!(
                out,
                "{kind}: {path}, {} written, {} unchanged, {} removed",
                one.written, one.unchanged, one.removed
            )?;
            if let Some(backup) = &one.backup {
                let backup = backup.display();
                tell!("what stood there before is in {backup}");
            }
        }
        Ok(())
    })
}

pub(super) fn of(projection: Projection) -> Wanted {
    Wanted {
        kind: projection.kind.name().to_owned(),
        path: projection.path,
        project: projection.project,
    }
}

/// Where a user's projections stand: as the configuration says, and those that it does not name
/// beside the memory; there only those that are there already, where `present` is asked for.
pub(super) fn places(context: &Context, user: &UserId, present: bool) -> Vec<Projection> {
    let mut places = context.config.projections(user);
    for kind in ProjectionKind::ALL {
        if places.iter().any(|own| own.kind == *kind) {
            continue;
        }
        let path = context.places.home_of(user).join(FOLDER).join(kind.place());
        if !present || path.exists() {
            places.push(Projection {
                user: user.clone(),
                kind: *kind,
                path,
                project: None,
            });
        }
    }
    places
}

/// The same that are there, and those that were written elsewhere or when the configuration named
/// them.
pub(super) fn written(context: &Context, user: &UserId) -> Vec<Projection> {
    let mut all = places(context, user, true);
    for made in copies::of(context, user) {
        let Form::Projection { kind, project } = made.form else {
            continue;
        };
        let Ok(kind) = kind.parse() else { continue };
        let is_it = |own: &Projection| own.kind == kind && own.path == made.file;
        let is_new = !all.iter().any(is_it);
        if made.user == *user && is_new && made.file.exists() {
            all.push(Projection {
                user: made.user,
                kind,
                path: made.file,
                project,
            });
        }
    }
    all
}

/// How the projections of a user differ from memory, a sentence each.
pub(super) fn findings(
    context: &Context,
    user: &UserId,
    memory: &Snapshot,
) -> anyhow::Result<Vec<String>> {
    let (mut findings, rules) = (Vec::new(), context.config.tag_rules());
    for projection in places(context, user, true) {
        let differing = differences(memory, &projection, &rules)?;
        findings.extend(
            differing
                .into_iter()
                .map(|why| format!("{}: {why}", projection.kind)),
        );
    }
    Ok(findings)
}
