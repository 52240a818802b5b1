//! Checks who may do what: readers by caller by operation. The operations are read from the source
//! of the trait, so that a new one without a row here fails.

use reprise_types::RecordId;

use crate::operators::{check_quotas, check_that_nothing_waits, has_no_operators};
use crate::suite::{
    document, in_project, is_not_found, member, paying_user, publish, take_down_request, user,
    with_appended_content, with_policy,
};
use reprise_global::{
    AccessPolicy, Caller, Fate, GlobalError, GlobalQuery, GlobalResult, GlobalStore, ListPage,
    Publication, Shelf, UsageReport, Version,
};

/// Whom a publication is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readers {
    Public,
    Org,
    Project,
    Paid,
}

pub(crate) const READERS: [Readers; 4] = [
    Readers::Public,
    Readers::Org,
    Readers::Project,
    Readers::Paid,
];

/// The project of the owner's organisation for whose members some publications are.
pub(crate) const PROJECT: &str = "payments";

impl Readers {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Org => "org",
            Self::Project => "project",
            Self::Paid => "paid",
        }
    }

    /// Returns the publication for these readers.
    pub(crate) fn address(self, publication: Publication) -> Publication {
        let policy = match self {
            Self::Public => AccessPolicy::Public,
            Self::Org | Self::Project => AccessPolicy::Org,
            Self::Paid => AccessPolicy::Paid,
        };
        let project = (self == Self::Project).then(|| PROJECT.parse().unwrap());
        Publication {
            project,
            ..with_policy(policy, publication)
        }
    }

    /// Returns the shelf of what the owner publishes for these readers.
    pub(crate) fn shelf(self) -> Shelf {
        let thing = self.address(document("A title", "A text."));
        Shelf::for_publication(&owner(), &thing).unwrap()
    }

    /// Returns others to whom a publication may not move.
    fn others(self) -> Self {
        match self {
            Self::Public | Self::Project => Self::Org,
            Self::Org => Self::Project,
            Self::Paid => Self::Public,
        }
    }
}

pub(crate) const BRANCH: &str = "next";

/// Returns the name of every operation of a store.
fn operation_names() -> Vec<&'static str> {
    let text = include_str!("../../crates/reprise-global/src/store.rs");
    let body = text
        .split_once("pub trait GlobalStore")
        .map(|(_, body)| body);
    let body = body.and_then(|body| body.split_once("\n}\n"));
    let (body, _) = body.unwrap_or_default();
    let parts = body.split("async fn ").skip(1);
    let names: Vec<&str> = parts.filter_map(|part| part.split('(').next()).collect();
    assert!(names.len() >= 15, "{names:?}");
    names
}

/// A caller, and what of the owner's publication the caller may see.
pub(crate) struct AccessCase {
    pub(crate) who: &'static str,
    pub(crate) caller: Caller,
    pub(crate) readers: Readers,
    /// The caller may read the publication by its id.
    pub(crate) may: bool,
    pub(crate) is_author: bool,
    /// The caller's queries find it: a shelf is searched by those to whom it is open.
    pub(crate) finds: bool,
}

impl std::fmt::Display for AccessCase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}, {}", self.readers, self.who)
    }
}

pub(crate) fn owner() -> Caller {
    Caller {
        paid: true,
        ..in_project(PROJECT, member("ann", "acme"))
    }
}

pub(crate) fn access_cases(readers: Readers) -> Vec<AccessCase> {
    let callers = [
        ("owner", owner()),
        ("member", member("mia", "acme")),
        ("stranger", user("sam")),
        ("other organisation", member("oda", "other")),
        // Names have case: this is another organisation.
        ("nearly the same", member("nia", "ACME")),
        ("paying", paying_user("pia")),
        ("of the project", in_project(PROJECT, member("pam", "acme"))),
        (
            "of another project",
            in_project("web", member("wim", "acme")),
        ),
        // Another organisation has a project of the same name.
        (
            "of the same name",
            in_project(PROJECT, member("ola", "other")),
        ),
        // A project without its organisation opens nothing.
        ("homeless", in_project(PROJECT, user("hal"))),
        ("moved owner", member("ann", "acme")),
        // The owner without membership and tier.
        ("revoked owner", user("ann")),
        ("revoked member", user("mia")),
    ];
    let case = |(who, caller): (&'static str, Caller)| {
        let is_author = who.ends_with("owner");
        let is_open = match readers {
            Readers::Public => true,
            Readers::Org => caller.org == owner().org,
            Readers::Project => matches!(who, "owner" | "of the project"),
            Readers::Paid => matches!(who, "owner" | "paying"),
        };
        AccessCase {
            who,
            caller,
            readers,
            may: is_open || is_author,
            is_author,
            finds: is_open,
        }
    };
    callers.into_iter().map(case).collect()
}

/// The owner's publication, and the owner's drafts.
struct OwnerSetup {
    publication: Publication,
    id: RecordId,
    /// A new publication on the owner's branch.
    draft: RecordId,
    changed: Publication,
    word: String,
}

/// A word that is only in drafts.
pub(crate) const DRAFT_WORD: &str = "trialword";

pub(crate) async fn query_hits(
    store: &dyn GlobalStore,
    caller: &Caller,
    query: GlobalQuery,
) -> Vec<(RecordId, bool)> {
    let answer = store.query(caller, &query).await.unwrap();
    let hits = answer.hits.into_iter().map(|hit| {
        let is_tried = hit.record.publication.content.contains(DRAFT_WORD);
        (hit.record.id, is_tried)
    });
    hits.collect()
}

/// Checks one operation by one caller: it succeeds exactly if the caller may do it.
#[expect(clippy::too_many_lines, reason = "a row for each operation")]
async fn check_operation(
    store: &dyn GlobalStore,
    operation: &str,
    case: &AccessCase,
    thing: &OwnerSetup,
) {
    let AccessCase {
        caller,
        readers,
        may,
        is_author,
        finds,
        ..
    } = case;
    let (id, word) = (thing.id, &thing.word);
    let at = format!("{operation}: {case}");
    let is_inside = match readers {
        Readers::Public | Readers::Paid => true,
        Readers::Org => caller.org.is_some(),
        Readers::Project => caller.open_shelves().iter().any(|shelf| {
            let shelf = shelf.to_string();
            shelf.starts_with("project:") && shelf.ends_with("/payments")
        }),
    };
    let is_no_branch =
        |error: Option<GlobalError>| matches!(error, Some(GlobalError::NoBranch { .. }));
    match operation {
        "publish" => {
            let done = store.publish(caller, thing.publication.clone()).await;
            if !is_inside {
                let is_refused = match &caller.org {
                    Some(_) => matches!(done, Err(GlobalError::NoProject { .. })),
                    None => matches!(done, Err(GlobalError::NoOrganisation { .. })),
                };
                assert!(is_refused, "{at}: {done:?}");
                return;
            }
            let done = done.unwrap();
            assert_eq!(
                (done.id == id, done.unchanged),
                (*is_author, *is_author),
                "{at}"
            );
            let standing = store.list_all_versions(&owner(), id).await.unwrap();
            assert_eq!(standing.len(), 1, "{at}");
            if !is_author {
                store.unpublish(caller, done.id).await.unwrap();
            }
        }
        "get" => {
            assert_eq!(store.get(caller, id, None).await.is_ok(), *may, "{at}");
            let old = store.get(caller, id, Some(Version(1))).await;
            assert_eq!(old.is_ok(), *may, "{at}");
            if !is_author {
                assert!(
                    is_not_found(&store.get(caller, thing.draft, None).await),
                    "{at}"
                );
            }
        }
        // The whole list is made of pages.
        "list_all_versions" | "list_versions_page" => {
            assert_eq!(
                store.list_all_versions(caller, id).await.is_ok(),
                *may,
                "{at}"
            );
            if !is_author {
                assert!(
                    is_not_found(&store.list_all_versions(caller, thing.draft).await),
                    "{at}"
                );
            }
        }
        "query" => {
            for snapshot in [None, Some(format!("at-{}", readers.name()))] {
                let query = GlobalQuery {
                    snapshot,
                    ..GlobalQuery::new(word.as_str(), 50)
                };
                let hits = query_hits(store, caller, query).await;
                assert_eq!(hits.contains(&(id, false)), *finds, "{at}");
                assert!(hits.iter().all(|hit| !hit.1), "{at}");
            }
            let query = GlobalQuery {
                branch: Some(BRANCH.to_owned()),
                ..GlobalQuery::new(word.as_str(), 50)
            };
            if *is_author {
                let hits = query_hits(store, caller, query).await;
                let expected = [(thing.draft, true), (id, true)];
                assert!(
                    expected.iter().all(|hit| hits.contains(hit)),
                    "{at}: {hits:?}"
                );
                assert!(!hits.contains(&(id, false)), "{at}: {hits:?}");
            } else {
                assert!(
                    is_no_branch(store.query(caller, &query).await.err()),
                    "{at}"
                );
            }
        }
        "list_all_own_published" | "list_own_published_page" => {
            let own = store.list_all_own_published(caller).await.unwrap();
            let listed = own.iter().any(|record| record.id == id);
            assert_eq!(listed, *is_author, "{at}");
            assert!(own.iter().all(|record| record.id != thing.draft), "{at}");
        }
        "unpublish" => {
            if *is_author {
                return;
            }
            match store.unpublish(caller, id).await {
                Err(GlobalError::NotAuthor { .. }) => assert!(may, "{at}"),
                Err(GlobalError::NotFound { .. }) => assert!(!may, "{at}"),
                other => panic!("{at}: {other:?}"),
            }
            assert!(
                is_not_found(&store.unpublish(caller, thing.draft).await),
                "{at}"
            );
        }
        "rate" => {
            let rated = store.rate(caller, id, 0.9).await;
            assert_eq!(rated.is_ok(), *may && !is_author, "{at}");
            if *is_author {
                assert!(matches!(rated, Err(GlobalError::OwnWork { .. })), "{at}");
            } else {
                assert!(
                    is_not_found(&store.rate(caller, thing.draft, 0.9).await),
                    "{at}"
                );
            }
        }
        "report_usage" => {
            let report = |id| UsageReport {
                id,
                score: 1.0,
                count: 1,
            };
            let fates = store
                .report_usage(caller, &[report(id), report(thing.draft)])
                .await
                .unwrap();
            let expected = match (may, is_author) {
                (true, true) => Fate::OwnWork,
                (true, false) => Fate::Counted,
                (false, _) => Fate::NotFound,
            };
            assert_eq!(fates.first(), Some(&expected), "{at}");
            if !is_author {
                assert_eq!(fates.last(), Some(&Fate::NotFound), "{at}");
            }
        }
        "create_snapshot" => {
            let name = format!("by-{}-{}", case.who.replace(' ', "-"), readers.name());
            store.create_snapshot(caller, &name).await.unwrap();
            let query = GlobalQuery {
                snapshot: Some(name),
                ..GlobalQuery::new(word.as_str(), 50)
            };
            let hits = query_hits(store, caller, query).await;
            assert_eq!(hits.contains(&(id, false)), *finds, "{at}");
        }
        "open_branch" => {
            let opened = store.open_branch(caller, BRANCH).await;
            if *is_author {
                assert!(matches!(opened, Err(GlobalError::Conflict { .. })), "{at}");
                return;
            }
            // The caller's own branch of the same name has none of the owner's drafts.
            assert_eq!(opened.unwrap().things, 0, "{at}");
            let query = GlobalQuery {
                branch: Some(BRANCH.to_owned()),
                ..GlobalQuery::new(word.as_str(), 50)
            };
            let hits = query_hits(store, caller, query).await;
            assert_eq!(hits.contains(&(id, false)), *finds, "{at}");
            assert!(hits.iter().all(|hit| !hit.1), "{at}");
            assert_eq!(
                store.drop_branch(caller, BRANCH).await.unwrap().things,
                0,
                "{at}"
            );
        }
        "list_branches" => {
            let own = store.list_branches(caller).await.unwrap();
            assert_eq!(own.iter().any(|one| one.name == BRANCH), *is_author, "{at}");
        }
        "publish_on_branch" => {
            let drafted = store
                .publish_on_branch(caller, BRANCH, thing.changed.clone())
                .await;
            match drafted {
                Ok(drafted) => assert!(*is_author && is_inside && drafted.unchanged, "{at}"),
                Err(GlobalError::NoOrganisation { .. } | GlobalError::NoProject { .. }) => {
                    assert!(!is_inside, "{at}");
                }
                Err(GlobalError::NoBranch { .. }) => assert!(!is_author, "{at}"),
                Err(other) => panic!("{at}: {other}"),
            }
        }
        "merge_branch" => {
            if !is_author {
                assert!(
                    is_no_branch(store.merge_branch(caller, BRANCH).await.err()),
                    "{at}"
                );
            } else if !is_inside {
                let refused = store.merge_branch(caller, BRANCH).await;
                assert!(
                    matches!(
                        refused,
                        Err(GlobalError::NoOrganisation { .. } | GlobalError::NoProject { .. })
                    ),
                    "{at}"
                );
                assert_eq!(
                    store.list_all_versions(&owner(), id).await.unwrap().len(),
                    1,
                    "{at}"
                );
            }
        }
        "drop_branch" => {
            if !is_author {
                assert!(
                    is_no_branch(store.drop_branch(caller, BRANCH).await.err()),
                    "{at}"
                );
            }
        }
        "list_catalogue_page" => {
            let listed = store.list_catalogue_page(caller, ListPage::after(0)).await;
            if has_no_operators(&listed) {
                return;
            }
            let listed = listed.unwrap();
            let has = |wanted| listed.iter().any(|one| one.id == wanted);
            assert_eq!((has(id), has(thing.draft)), (*finds, false), "{at}");
        }
        "take_down" => {
            if !finds {
                let order = take_down_request(false);
                let done = store.take_down(caller, id, &order).await;
                let is_refused = is_not_found(&done) || has_no_operators(&done);
                assert!(is_refused, "{at}: {done:?}");
                assert_eq!(
                    store.list_all_versions(&owner(), id).await.unwrap().len(),
                    1,
                    "{at}"
                );
            }
        }
        "put_back" => {
            let done = store.put_back(caller, id).await;
            let is_refused = is_not_found(&done) || has_no_operators(&done);
            assert!(is_refused, "{at}: {done:?}");
        }
        "list_own_taken_down" => assert!(
            store.list_own_taken_down(caller).await.unwrap().is_empty(),
            "{at}"
        ),
        "list_projects" => {
            let own = store.list_projects(caller).await.unwrap();
            assert_eq!(own, caller.projects, "{at}");
        }
        "list_quotas" | "set_quota" => check_quotas(store, caller, &at).await,
        "read_organisation"
        | "change_organisation"
        | "list_submissions_page"
        | "review_submission"
        | "list_own_submissions" => check_that_nothing_waits(store, caller, id).await,
        "list_person_lines" => {
            let told = store.list_person_lines(caller).await;
            if has_no_operators(&told) {
                return;
            }
            let described = format!("{:?}", told.unwrap());
            assert_eq!(described.contains(word), *is_author, "{at}: {described}");
        }
        "erase_person" => {
            if !is_author {
                let erased = store.erase_person(caller).await;
                assert!(erased.is_ok() || has_no_operators(&erased), "{at}");
                assert_eq!(
                    store.list_all_versions(&owner(), id).await.unwrap().len(),
                    1,
                    "{at}"
                );
            }
        }
        "list_metrics" => drop(store.list_metrics().await.unwrap()),
        "check_ready" => store.check_ready().await.unwrap(),
        "list_audit_lines" | "list_told_audit_lines" => {
            let mut lines = store.list_audit_lines(caller, 1_000).await.unwrap();
            lines.extend(store.list_told_audit_lines(caller, 1_000).await.unwrap());
            let described = format!("{lines:?}");
            assert!(
                !described.contains(word) && !described.contains(DRAFT_WORD),
                "{at}: {described}"
            );
        }
        other => panic!("`{other}` of GlobalStore has no row in the matrix of isolation"),
    }
}

/// Checks every operation for every caller and all readers.
pub async fn each_operation_admits_its_callers_alone(store: &dyn GlobalStore) {
    for readers in READERS {
        let word = format!("secretword{}", readers.name());
        let publication = document(&format!("About {word}"), &format!("All of {word}."));
        let publication = readers.address(publication);
        let id = publish(store, &owner(), publication.clone()).await;
        let moved = with_appended_content(&publication, "And more.");
        let moved = readers.others().address(moved);
        let refused = store.publish(&owner(), moved).await;
        assert!(
            matches!(refused, Err(GlobalError::PolicyChanged { .. })),
            "{readers:?}: {refused:?}"
        );
        let snapshot = format!("at-{}", readers.name());
        store.create_snapshot(&owner(), &snapshot).await.unwrap();
        store.open_branch(&owner(), BRANCH).await.unwrap();
        let changed = with_appended_content(&publication, DRAFT_WORD);
        store
            .publish_on_branch(&owner(), BRANCH, changed.clone())
            .await
            .unwrap();
        let new = document(
            &format!("Next to {word}"),
            &format!("{DRAFT_WORD} of {word}."),
        );
        let drafted = store
            .publish_on_branch(&owner(), BRANCH, readers.address(new))
            .await;
        let thing = OwnerSetup {
            publication,
            id,
            draft: drafted.unwrap().id,
            changed,
            word,
        };
        for case in access_cases(readers) {
            for operation in operation_names() {
                check_operation(store, operation, &case, &thing).await;
            }
        }
        store.drop_branch(&owner(), BRANCH).await.unwrap();
        // An author may unpublish at any time, also after losing the membership.
        let gone = store.unpublish(&user("ann"), id).await.unwrap();
        assert!(gone.verified, "{readers:?}");
        let query = GlobalQuery::new(thing.word.as_str(), 50);
        let left = query_hits(store, &owner(), query).await;
        assert!(left.iter().all(|hit| hit.0 != id));
    }
    let homeless = with_policy(AccessPolicy::Org, document("a", "b"));
    let refused = store.publish(&user("sam"), homeless).await;
    assert!(matches!(refused, Err(GlobalError::NoOrganisation { .. })));
}

/// Checks that imported publications reach their readers only. `import` is for operators and no
/// operation of the trait.
pub async fn an_import_is_for_its_readers(
    store: &dyn GlobalStore,
    import: impl AsyncFn(Caller, Vec<Publication>) -> GlobalResult<usize>,
) {
    for readers in READERS {
        let word = format!("importword{}", readers.name());
        let thing = document(&format!("About {word}"), &format!("All of {word}."));
        let thing = readers.address(thing);
        let homeless = import(user("ann"), vec![thing.clone()]).await;
        if matches!(readers, Readers::Org | Readers::Project) {
            assert!(matches!(homeless, Err(GlobalError::NoOrganisation { .. })));
            assert!(
                store
                    .list_all_own_published(&owner())
                    .await
                    .unwrap()
                    .iter()
                    .all(|one| one.publication.title != thing.title)
            );
            assert_eq!(import(owner(), vec![thing.clone()]).await.unwrap(), 1);
        }
        // An import skips what is published; another author's same origin is another publication.
        assert_eq!(import(owner(), vec![thing.clone()]).await.unwrap(), 0);
        let own = store.list_all_own_published(&owner()).await.unwrap();
        let own = own
            .into_iter()
            .find(|one| one.publication == thing)
            .unwrap();
        for case in access_cases(readers) {
            let query = GlobalQuery::new(word.as_str(), 50);
            let hits = query_hits(store, &case.caller, query).await;
            assert_eq!(hits.iter().any(|hit| hit.0 == own.id), case.finds, "{case}");
            let seen = store.get(&case.caller, own.id, None).await;
            assert_eq!(seen.is_ok(), case.may, "{case}");
        }
    }
}
