//! `reprise doctor rebuild`: rewrites the files that other programs read; and how `check` finds
//! those that differ from the memory.

use reprise_knowledge::ProjectionKind;
use reprise_operations::operations::care::{self, ProjectionRequest};
use reprise_operations::{ConfiguredProjection, compare_with_memory};
use reprise_server::CopyForm;

use crate::args::RebuildArguments;
use crate::cli::prelude::*;

/// Folder of a user's projections without a configured path.
const FOLDER: &str = "projections";

pub(super) fn run(context: &Context, arguments: &RebuildArguments) -> anyhow::Result<Exit> {
    let user = &arguments.whose.user;
    let chosen = match (&arguments.kind[..], &arguments.to) {
        ([kind], Some(path)) => vec![ConfiguredProjection {
            user: user.clone(),
            kind: *kind,
            path: std::path::absolute(path)?,
            project: arguments.project.clone(),
        }],
        (_, Some(_)) => bail!("--to needs the name of one kind"),
        (kinds, None) => {
            let mut all = list_projections(context, user, kinds.is_empty());
            if all.is_empty() {
                all = list_projections(context, user, false);
            }
            let chosen = all
                .into_iter()
                .filter(|own| kinds.is_empty() || kinds.contains(&own.kind));
            chosen.collect()
        }
    };
    copies::record_projections(context, &chosen);
    let wanted = chosen.into_iter().map(to_request).collect();
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
                tell!("the earlier files are in {backup}");
            }
        }
        Ok(())
    })
}

pub(super) fn to_request(projection: ConfiguredProjection) -> ProjectionRequest {
    ProjectionRequest {
        kind: projection.kind.name().to_owned(),
        path: projection.path,
        project: projection.project,
    }
}

/// Lists a user's projections: those of the configuration, and the other kinds next to the memory;
/// with `present` only those of the latter that exist.
pub(super) fn list_projections(
    context: &Context,
    user: &UserId,
    present: bool,
) -> Vec<ConfiguredProjection> {
    let mut places = context.config.projections(user);
    for kind in ProjectionKind::ALL {
        if places.iter().any(|own| own.kind == *kind) {
            continue;
        }
        let path = context
            .places
            .home_of(user)
            .join(FOLDER)
            .join(kind.default_name());
        if !present || path.exists() {
            places.push(ConfiguredProjection {
                user: user.clone(),
                kind: *kind,
                path,
                project: None,
            });
        }
    }
    places
}

/// Lists the projections that exist, also those written elsewhere or under an earlier
/// configuration.
pub(super) fn list_written_projections(
    context: &Context,
    user: &UserId,
) -> Vec<ConfiguredProjection> {
    let mut all = list_projections(context, user, true);
    for made in copies::list_copies(context, user) {
        let CopyForm::Projection { kind, project } = made.form else {
            continue;
        };
        let Ok(kind) = kind.parse() else { continue };
        let is_it = |own: &ConfiguredProjection| own.kind == kind && own.path == made.file;
        let is_new = !all.iter().any(is_it);
        if made.user == *user && is_new && made.file.exists() {
            all.push(ConfiguredProjection {
                user: made.user,
                kind,
                path: made.file,
                project,
            });
        }
    }
    all
}

/// Returns how a user's projections differ from memory, a sentence each.
pub(super) fn find_differences(
    context: &Context,
    user: &UserId,
    memory: &Snapshot,
) -> anyhow::Result<Vec<String>> {
    let (mut findings, rules) = (Vec::new(), context.config.tag_rules());
    for projection in list_projections(context, user, true) {
        let differing = compare_with_memory(memory, &projection, &rules)?;
        findings.extend(
            differing
                .into_iter()
                .map(|why| format!("{}: {why}", projection.kind)),
        );
    }
    Ok(findings)
}
