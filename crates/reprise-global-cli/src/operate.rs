//! What an operator does with a store: lists it, takes down and puts back, exports or erases one
//! person, reads the audit log, imports, brings its tables forward. On a machine with
//! `[global] url` by an operator's token, else on the store itself.

mod quota;

use reprise::plugin::{one_line, stdout};
use reprise_global::{
    AccessPolicy, Caller, GlobalStore, ListPage, Publication, TakeDown, check_publication,
};
use reprise_operations::parse_lenient_json;
use reprise_postgres::{CatalogueImportReport, Migration, PostgresStore};
use reprise_server::{ServiceTokens, TokenFile};

use crate::args::{
    GlobalImportArguments, OperateCommand, OperatorArguments, PersonCommand, WhichStore,
};
use crate::prelude::*;
use crate::{database, serve, token};

/// Publications handed over at a time.
const GROUP: usize = 5_000;

/// Whether the configured service is meant: no store itself is named.
fn asks_service(context: &Context, which: &WhichStore, user: &UserId) -> bool {
    let is_named = which.store.is_some() || which.database_url.is_some();
    !is_named && context.asks_service_for_published(user)
}

/// The store that is meant, and as who it is asked: `caller`, where it is none of a service.
async fn open_store(
    context: &Context,
    which: &WhichStore,
    caller: Caller,
) -> anyhow::Result<(Arc<dyn GlobalStore>, Caller)> {
    if asks_service(context, which, &caller.user) {
        return global::open(context, &caller.user);
    }
    serve::ensure_store_exists(which)?;
    let store: Arc<dyn GlobalStore> = match &which.database_url {
        Some(url) => Arc::new(database::open_database(context, which, url).await?),
        None => Arc::new(serve::open_embedded(context, which)),
    };
    Ok((store, caller))
}

pub(crate) async fn open_store_as(
    context: &Context,
    who: &OperatorArguments,
) -> anyhow::Result<(Arc<dyn GlobalStore>, Caller)> {
    let caller = Caller {
        user: who.user.clone(),
        org: who.org.clone(),
        projects: who.projects.clone(),
        paid: true,
    };
    open_store(context, &who.which, caller).await
}

pub(crate) fn run(context: &Context, command: &OperateCommand) -> anyhow::Result<Exit> {
    runtime::build_threaded()?.block_on(async {
        match command {
            OperateCommand::Catalogue { limit, who } => print_catalogue(context, who, *limit).await,
            OperateCommand::Takedown {
                id,
                reason,
                leaked,
                who,
            } => {
                let order = TakeDown {
                    reason: reason.clone(),
                    leaked: *leaked,
                };
                let (store, caller) = open_store_as(context, who).await?;
                let done = store.take_down(&caller, *id, &order).await?;
                let versions = format_count(done.taken.versions, "version");
                let mut line = format!("{id} by {} taken down: {versions}", done.taken.author);
                line.push_str(match (leaked, done.swept) {
                    (false, _) => "; its newest version is held until `reprise global putback`",
                    (true, true) => {
                        "; nothing of it is held, and no page of the store has its text"
                    }
                    (true, false) => {
                        "; nothing of it is held. Pages of the database still have its text: run \
                         VACUUM FULL reprise_global.thing, reprise_global.taken_down"
                    }
                });
                output::line(context, &done, line)?;
                Ok(output::exit(done.verified))
            }
            OperateCommand::Putback { id, who } => {
                let (store, caller) = open_store_as(context, who).await?;
                let done = store.put_back(&caller, *id).await?;
                let line = match &done.published {
                    Some(published) => format!("published again as {}", published.id),
                    None => format!(
                        "nothing of it was kept; {} may publish it again",
                        done.author
                    ),
                };
                output::line(context, &done, line)
            }
            OperateCommand::Quota(command) => quota::run(context, command).await,
            OperateCommand::Person(command) => export_or_erase_person(context, command).await,
            OperateCommand::Migrate { dry_run, which } => migrate(context, *dry_run, which).await,
        }
    })
}

async fn print_catalogue(
    context: &Context,
    who: &OperatorArguments,
    limit: usize,
) -> anyhow::Result<Exit> {
    let (store, caller) = open_store_as(context, who).await?;
    let mut out = stdout();
    let mut offset = 0;
    while offset < limit {
        let page = ListPage {
            offset,
            limit: ListPage::after(offset).limit.min(limit - offset),
        };
        let listed = store.list_catalogue_page(&caller, page).await?;
        for one in &listed {
            if context.json {
                writeln!(out, "{}", serde_json::to_string(one)?)?;
                continue;
            }
            let (id, author, shelf) = (one.id, &one.author, &one.shelf);
            let title = one_line(&one.title, 60);
            let at = one.published_at.format("%Y-%m-%d %H:%M");
            writeln!(
                out,
                "{id}  {at}  {shelf}  by {author}, version {}  {title}",
                one.version
            )?;
        }
        if offset == 0 && listed.is_empty() && !context.json {
            note("nothing is published yet");
        }
        if listed.len() < page.limit {
            break;
        }
        offset += listed.len();
    }
    Ok(Exit::Success)
}

async fn export_or_erase_person(
    context: &Context,
    command: &PersonCommand,
) -> anyhow::Result<Exit> {
    let (user, which) = match command {
        PersonCommand::Export { user, which } | PersonCommand::Erase { user, which, .. } => {
            (user, which)
        }
    };
    let (store, caller) = open_store(context, which, Caller::new(user.clone())).await?;
    let PersonCommand::Erase { yes, .. } = command else {
        let mut out = stdout();
        for line in store.list_person_lines(&caller).await? {
            writeln!(out, "{}", serde_json::to_string(&line)?)?;
        }
        return Ok(Exit::Success);
    };
    let question = format!("Delete everything of {user} in this store, for good?");
    let refusal = "nothing is deleted without a yes; export it first, then pass --yes";
    if !yes && !confirm(&question, refusal)? {
        return Ok(Exit::Refused);
    }
    let mut erased = store.erase_person(&caller).await?;
    let tokens = TokenFile::new(token::file_path(context));
    let tokens = ServiceTokens::new(Arc::new(tokens), None);
    erased.tokens += tokens.revoke_user(user)? as u64;
    let mut line = format!(
        "{} in {}, {} on branches, {} and {}, {}: deleted; {} of it found afterwards",
        format_count(erased.things, "thing"),
        format_count(erased.versions, "version"),
        erased.drafts,
        format_count(erased.ratings, "rating"),
        format_count(erased.reports, "report"),
        format_count(erased.tokens, "token"),
        match erased.left {
            0 => "nothing".to_owned(),
            left => format_count(left, "row"),
        }
    );
    if !erased.swept {
        line.push_str(
            ". Pages of the database still have its texts: run VACUUM FULL on the tables thing, \
             taken_down, authored and draft of reprise_global",
        );
    }
    output::line(context, &erased, line)?;
    Ok(output::exit(erased.left == 0))
}

async fn migrate(context: &Context, dry_run: bool, which: &WhichStore) -> anyhow::Result<Exit> {
    let Some(url) = &which.database_url else {
        bail!("a store in a folder has no tables; name the database with --database-url");
    };
    let options = database::database_options(context, which, url);
    let pending = PostgresStore::list_pending_migrations(&options).await?;
    let row = |one: &&Migration| json!({ "version": one.number, "statements": one.statements });
    output::rows(context, &pending, row, |one| {
        let (number, statements) = (one.number, one.statements.trim_end());
        format!("-- migration {number}, one transaction\n{statements}")
    })?;
    if dry_run || pending.is_empty() {
        let count = format_count(pending.len(), "migration");
        note(&format!("{count} to make; nothing was changed"));
        return Ok(Exit::Success);
    }
    database::open_database(context, which, url).await?;
    note(&format!(
        "{} made",
        format_count(pending.len(), "migration")
    ));
    Ok(Exit::Success)
}

/// `reprise global audit`: who did what with a store, and who got and lost tokens of its service.
pub(crate) fn audit(
    context: &Context,
    which: &WhichStore,
    user: &UserId,
    limit: usize,
) -> anyhow::Result<Exit> {
    let mut lines = runtime::build_threaded()?.block_on(async {
        let (store, caller) = open_store(context, which, Caller::new(user.clone())).await?;
        anyhow::Ok(store.list_audit_lines(&caller, limit).await?)
    })?;
    if !asks_service(context, which, user) {
        lines = TokenFile::new(token::file_path(context)).merge_audit(lines, limit)?;
    }
    output::list(context, &lines, |line| {
        let (at, what) = (line.at.format("%Y-%m-%d %H:%M:%S"), &line.what);
        let who = if line.who.is_empty() { "-" } else { &line.who };
        let mut parts = vec![format!("{at}  {who}  {what}")];
        parts.extend(line.id.map(|id| id.to_string()));
        parts.extend(line.version.map(|version| version.to_string()));
        parts.extend(line.name.clone());
        parts.extend(line.about.as_ref().map(|about| format!("of {about}")));
        parts.join("  ")
    })
}

/// `reprise global import`: many publications of one author, a line each. What is published already
/// is skipped; a bad line costs itself alone.
pub(crate) fn import(context: &Context, arguments: &GlobalImportArguments) -> anyhow::Result<Exit> {
    let caller = Caller {
        user: arguments.user.clone(),
        org: arguments.org.clone(),
        projects: arguments.projects.clone(),
        paid: false,
    };
    if !arguments.create {
        serve::ensure_store_exists(&arguments.which)
            .map_err(|none| anyhow!("{none}; look at --store, or make it with --create"))?;
    }
    let (mut groups, mut refused) = (vec![Vec::new()], 0_u64);
    for line in input::jsonl(BufReader::new(input::open(&arguments.file)?)) {
        let (number, line) = line?;
        match line.and_then(|line| parse_publication(&line, &caller)) {
            Ok(publication) => match groups.last_mut() {
                Some(last) if last.len() < GROUP => last.push(publication),
                _ => groups.push(vec![publication]),
            },
            Err(why) => {
                refused += 1;
                note(&format!("skipped line {number}: {why}"));
            }
        }
    }
    let all: usize = groups.iter().map(Vec::len).sum();
    let done =
        runtime::build_threaded()?.block_on(publish_groups(context, arguments, &caller, groups))?;
    let (new, waits) = (done.published, done.submitted);
    let known = all - new - waits;
    let row = json!({ "published": new, "submitted": waits, "known": known, "refused": refused });
    let held = if waits > 0 {
        format!(
            ", {waits} nearly the same as what was taken down; `reprise global review list` shows it"
        )
    } else {
        String::new()
    };
    let line = format!("{new} published, {known} already known, {refused} refused{held}");
    output::line(context, &row, line)?;
    Ok(output::exit(refused == 0))
}

fn parse_publication(line: &str, caller: &Caller) -> Result<Publication, String> {
    // It is the file's line that is meant, and the message has it.
    let publication: Publication = parse_lenient_json(line.as_bytes())
        .map_err(|said| said.replace(" at line 1 column ", " at column "))?;
    check_publication(&publication).map_err(|error| error.to_string())?;
    if publication.access_policy == AccessPolicy::Org && caller.org.is_none() {
        return Err("it is for an organisation; name that with --org".to_owned());
    }
    let project = publication.project.as_ref();
    if let Some(project) = project.filter(|project| !caller.projects.contains(project)) {
        return Err(format!(
            "it is for project `{project}`; name that with --project"
        ));
    }
    Ok(publication)
}

async fn publish_groups(
    context: &Context,
    arguments: &GlobalImportArguments,
    caller: &Caller,
    groups: Vec<Vec<Publication>>,
) -> anyhow::Result<CatalogueImportReport> {
    let mut all = CatalogueImportReport::default();
    if let Some(url) = &arguments.which.database_url {
        let store = database::open_database(context, &arguments.which, url).await?;
        for group in groups {
            let done = store.import(caller, group).await?;
            all.published += done.published;
            all.submitted += done.submitted;
        }
        store.maintain().await?;
        return Ok(all);
    }
    let store = serve::open_embedded(context, &arguments.which);
    for group in groups {
        all.published += store.import(caller, group).await?;
    }
    store.close()?;
    Ok(all)
}
