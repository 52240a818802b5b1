//! Who may do what: policy by caller by operation. The operations are those of the trait, read from
//! its own text, so that a new one without a row here fails.

use reprise_types::RecordId;

use crate::suite::{document, for_readers, is_not_found, member, paying, put, user};
use reprise_global::{
    AccessPolicy, Caller, Fate, GlobalError, GlobalQuery, GlobalStore, ListPage, Publication,
    Result, TakeDown, UsageReport, Version,
};

pub(crate) const POLICIES: [AccessPolicy; 3] =
    [AccessPolicy::Public, AccessPolicy::Org, AccessPolicy::Paid];
pub(crate) const BRANCH: &str = "next";

/// Every operation of a store.
fn operations() -> Vec<&'static str> {
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

/// One who asks, and what of the owner's thing is his to see.
pub(crate) struct Case {
    pub(crate) who: &'static str,
    pub(crate) caller: Caller,
    pub(crate) policy: AccessPolicy,
    /// He may see it by its id.
    pub(crate) may: bool,
    pub(crate) is_author: bool,
    /// He finds it: a shelf is searched by those to whom it is open.
    pub(crate) finds: bool,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}, {}", self.policy, self.who)
    }
}

pub(crate) fn owner() -> Caller {
    Caller {
        paid: true,
        ..member("ann", "acme")
    }
}

pub(crate) fn cases(policy: AccessPolicy) -> Vec<Case> {
    let callers = [
        ("owner", owner()),
        ("member", member("mia", "acme")),
        ("stranger", user("sam")),
        ("other organisation", member("oda", "other")),
        // Names have case: this is another organisation.
        ("nearly the same", member("nia", "ACME")),
        ("paying", paying("pia")),
        // The owner without membership and tier.
        ("revoked owner", user("ann")),
        ("revoked member", user("mia")),
    ];
    let case = |(who, caller): (&'static str, Caller)| {
        let is_author = who.ends_with("owner");
        let is_open = match policy {
            AccessPolicy::Public => true,
            AccessPolicy::Org => matches!(who, "owner" | "member"),
            AccessPolicy::Paid => matches!(who, "owner" | "paying"),
        };
        Case {
            who,
            caller,
            policy,
            may: is_open || is_author,
            is_author,
            finds: is_open,
        }
    };
    callers.into_iter().map(case).collect()
}

/// The owner's thing, and what he tries out beside it.
struct Thing {
    publication: Publication,
    id: RecordId,
    /// A new thing on his branch.
    draft: RecordId,
    changed: Publication,
    word: String,
}

/// The words that stand on the branch alone.
pub(crate) const TRIED: &str = "trialword";

pub(crate) async fn found(
    store: &dyn GlobalStore,
    caller: &Caller,
    query: GlobalQuery,
) -> Vec<(RecordId, bool)> {
    let answer = store.query(caller, &query).await.unwrap();
    let hits = answer.hits.into_iter().map(|hit| {
        let is_tried = hit.record.publication.content.contains(TRIED);
        (hit.record.id, is_tried)
    });
    hits.collect()
}

/// One operation by one caller: exactly who may, may.
#[expect(clippy::too_many_lines, reason = "a row for each operation")]
async fn holds(store: &dyn GlobalStore, operation: &str, case: &Case, thing: &Thing) {
    let Case {
        caller,
        policy,
        may,
        is_author,
        finds,
        ..
    } = case;
    let (id, word) = (thing.id, &thing.word);
    let at = format!("{operation}: {case}");
    let has_org = *policy != AccessPolicy::Org || caller.org.is_some();
    let is_no_branch =
        |error: Option<GlobalError>| matches!(error, Some(GlobalError::NoBranch { .. }));
    match operation {
        "publish" => {
            let done = store.publish(caller, thing.publication.clone()).await;
            if !has_org {
                assert!(
                    matches!(done, Err(GlobalError::NoOrganisation { .. })),
                    "{at}"
                );
                return;
            }
            let done = done.unwrap();
            assert_eq!(
                (done.id == id, done.unchanged),
                (*is_author, *is_author),
                "{at}"
            );
            let standing = store.versions(&owner(), id).await.unwrap();
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
        "versions" | "versions_page" => {
            assert_eq!(store.versions(caller, id).await.is_ok(), *may, "{at}");
            if !is_author {
                assert!(
                    is_not_found(&store.versions(caller, thing.draft).await),
                    "{at}"
                );
            }
        }
        "query" => {
            for snapshot in [None, Some(format!("at-{}", policy.name()))] {
                let query = GlobalQuery {
                    snapshot,
                    ..GlobalQuery::new(word.as_str(), 50)
                };
                let hits = found(store, caller, query).await;
                assert_eq!(hits.contains(&(id, false)), *finds, "{at}");
                assert!(hits.iter().all(|hit| !hit.1), "{at}");
            }
            let query = GlobalQuery {
                branch: Some(BRANCH.to_owned()),
                ..GlobalQuery::new(word.as_str(), 50)
            };
            if *is_author {
                let hits = found(store, caller, query).await;
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
        "published" | "published_page" => {
            let own = store.published(caller).await.unwrap();
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
        "report" => {
            let report = |id| UsageReport {
                id,
                score: 1.0,
                count: 1,
            };
            let fates = store
                .report(caller, &[report(id), report(thing.draft)])
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
        "snapshot" => {
            let name = format!("by-{}-{}", case.who.replace(' ', "-"), policy.name());
            store.snapshot(caller, &name).await.unwrap();
            let query = GlobalQuery {
                snapshot: Some(name),
                ..GlobalQuery::new(word.as_str(), 50)
            };
            let hits = found(store, caller, query).await;
            assert_eq!(hits.contains(&(id, false)), *finds, "{at}");
        }
        "branch" => {
            let opened = store.branch(caller, BRANCH).await;
            if *is_author {
                assert!(matches!(opened, Err(GlobalError::Conflict { .. })), "{at}");
                return;
            }
            // A branch of his own, of the same name: nothing of hers is on it.
            assert_eq!(opened.unwrap().things, 0, "{at}");
            let query = GlobalQuery {
                branch: Some(BRANCH.to_owned()),
                ..GlobalQuery::new(word.as_str(), 50)
            };
            let hits = found(store, caller, query).await;
            assert_eq!(hits.contains(&(id, false)), *finds, "{at}");
            assert!(hits.iter().all(|hit| !hit.1), "{at}");
            assert_eq!(
                store.drop_branch(caller, BRANCH).await.unwrap().things,
                0,
                "{at}"
            );
        }
        "branches" => {
            let own = store.branches(caller).await.unwrap();
            assert_eq!(own.iter().any(|one| one.name == BRANCH), *is_author, "{at}");
        }
        "draft" => {
            let drafted = store.draft(caller, BRANCH, thing.changed.clone()).await;
            match drafted {
                Ok(drafted) => assert!(*is_author && has_org && drafted.unchanged, "{at}"),
                Err(GlobalError::NoOrganisation { .. }) => assert!(!has_org, "{at}"),
                Err(GlobalError::NoBranch { .. }) => assert!(!is_author, "{at}"),
                Err(other) => panic!("{at}: {other}"),
            }
        }
        "merge" => {
            if !is_author {
                assert!(
                    is_no_branch(store.merge(caller, BRANCH).await.err()),
                    "{at}"
                );
            } else if !has_org {
                let refused = store.merge(caller, BRANCH).await;
                assert!(
                    matches!(refused, Err(GlobalError::NoOrganisation { .. })),
                    "{at}"
                );
                assert_eq!(store.versions(&owner(), id).await.unwrap().len(), 1, "{at}");
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
        "catalogue" => {
            let listed = store.catalogue(caller, ListPage::after(0)).await.unwrap();
            let has = |wanted| listed.iter().any(|one| one.id == wanted);
            assert_eq!((has(id), has(thing.draft)), (*finds, false), "{at}");
        }
        "take_down" => {
            if !finds {
                let order = order(false);
                let done = store.take_down(caller, id, &order).await;
                assert!(is_not_found(&done), "{at}: {done:?}");
                assert_eq!(store.versions(&owner(), id).await.unwrap().len(), 1, "{at}");
            }
        }
        "put_back" => {
            let done = store.put_back(caller, id).await;
            assert!(is_not_found(&done), "{at}: {done:?}");
        }
        "taken_down" => assert!(store.taken_down(caller).await.unwrap().is_empty(), "{at}"),
        "person" => {
            let told = format!("{:?}", store.person(caller).await.unwrap());
            assert_eq!(told.contains(word), *is_author, "{at}: {told}");
        }
        "erase_person" => {
            if !is_author {
                store.erase_person(caller).await.unwrap();
                assert_eq!(store.versions(&owner(), id).await.unwrap().len(), 1, "{at}");
            }
        }
        "answers" => store.answers().await.unwrap(),
        "audit" => {
            let lines = store.audit(caller, 1_000).await.unwrap();
            let told = format!("{lines:?}");
            assert!(
                !told.contains(word) && !told.contains(TRIED),
                "{at}: {told}"
            );
        }
        other => panic!("`{other}` of GlobalStore has no row in the matrix of isolation"),
    }
}

/// Policy by caller by operation.
pub async fn each_operation_admits_its_callers_alone(store: &dyn GlobalStore) {
    for policy in POLICIES {
        let word = format!("secretword{}", policy.name());
        let publication = document(&format!("About {word}"), &format!("All of {word}."));
        let publication = for_readers(policy, publication);
        let id = put(store, &owner(), publication.clone()).await;
        let moved = for_readers(other(policy), changed(&publication, "And more."));
        let refused = store.publish(&owner(), moved).await;
        assert!(
            matches!(refused, Err(GlobalError::PolicyChanged { .. })),
            "{policy:?}: {refused:?}"
        );
        let snapshot = format!("at-{}", policy.name());
        store.snapshot(&owner(), &snapshot).await.unwrap();
        store.branch(&owner(), BRANCH).await.unwrap();
        let changed = changed(&publication, TRIED);
        store
            .draft(&owner(), BRANCH, changed.clone())
            .await
            .unwrap();
        let new = document(&format!("Beside {word}"), &format!("{TRIED} of {word}."));
        let drafted = store
            .draft(&owner(), BRANCH, for_readers(policy, new))
            .await;
        let thing = Thing {
            publication,
            id,
            draft: drafted.unwrap().id,
            changed,
            word,
        };
        for case in cases(policy) {
            for operation in operations() {
                holds(store, operation, &case, &thing).await;
            }
        }
        store.drop_branch(&owner(), BRANCH).await.unwrap();
        // M60: at any time, whatever became of the membership.
        let gone = store.unpublish(&user("ann"), id).await.unwrap();
        assert!(gone.verified, "{policy:?}");
        let query = GlobalQuery::new(thing.word.as_str(), 50);
        let left = found(store, &owner(), query).await;
        assert!(left.iter().all(|hit| hit.0 != id));
    }
    let homeless = for_readers(AccessPolicy::Org, document("a", "b"));
    let refused = store.publish(&user("sam"), homeless).await;
    assert!(matches!(refused, Err(GlobalError::NoOrganisation { .. })));
}

/// The same for what `import` brings, which is no operation of the trait: it is its operator's.
pub async fn an_import_is_for_its_readers(
    store: &dyn GlobalStore,
    import: impl AsyncFn(Caller, Vec<Publication>) -> Result<usize>,
) {
    for policy in POLICIES {
        let word = format!("importword{}", policy.name());
        let thing = document(&format!("About {word}"), &format!("All of {word}."));
        let thing = for_readers(policy, thing);
        let homeless = import(user("ann"), vec![thing.clone()]).await;
        if policy == AccessPolicy::Org {
            assert!(matches!(homeless, Err(GlobalError::NoOrganisation { .. })));
            assert!(
                store
                    .published(&owner())
                    .await
                    .unwrap()
                    .iter()
                    .all(|one| { one.publication.access_policy != AccessPolicy::Org })
            );
            assert_eq!(import(owner(), vec![thing.clone()]).await.unwrap(), 1);
        }
        // What stands is passed over, and of the same origin another's is his own.
        assert_eq!(import(owner(), vec![thing.clone()]).await.unwrap(), 0);
        let own = store.published(&owner()).await.unwrap();
        let own = own
            .into_iter()
            .find(|one| one.publication == thing)
            .unwrap();
        for case in cases(policy) {
            let query = GlobalQuery::new(word.as_str(), 50);
            let hits = found(store, &case.caller, query).await;
            assert_eq!(hits.iter().any(|hit| hit.0 == own.id), case.finds, "{case}");
            let seen = store.get(&case.caller, own.id, None).await;
            assert_eq!(seen.is_ok(), case.may, "{case}");
        }
    }
}

pub(crate) fn order(leaked: bool) -> TakeDown {
    TakeDown {
        reason: "it names a customer".to_owned(),
        leaked,
    }
}

fn other(policy: AccessPolicy) -> AccessPolicy {
    match policy {
        AccessPolicy::Public => AccessPolicy::Org,
        AccessPolicy::Org | AccessPolicy::Paid => AccessPolicy::Public,
    }
}

pub(crate) fn changed(publication: &Publication, more: &str) -> Publication {
    Publication {
        content: format!("{} {more}", publication.content),
        ..publication.clone()
    }
}
