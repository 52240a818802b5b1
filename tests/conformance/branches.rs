//! Conformance checks for branches of the catalogue.

use crate::suite::{document, is_not_found, query_ids, user, with_policy};
use reprise_global::{
    AccessPolicy, Caller, GlobalError, GlobalHit, GlobalQuery, GlobalResult, GlobalStore,
    Publication, Version,
};

async fn query_branch(
    store: &dyn GlobalStore,
    caller: &Caller,
    branch: &str,
    text: &str,
) -> Vec<GlobalHit> {
    let query = GlobalQuery {
        branch: Some(branch.to_owned()),
        ..GlobalQuery::new(text, 10)
    };
    store.query(caller, &query).await.unwrap().hits
}

fn is_no_branch<T>(result: &GlobalResult<T>) -> bool {
    matches!(result, Err(GlobalError::NoBranch { .. }))
}

/// Checks that an author finds drafts on the branch in place of what they replace, and that others
/// find them once the branch is merged.
pub async fn what_stands_on_a_branch_is_its_authors_alone_until_it_is_merged(
    store: &dyn GlobalStore,
) {
    let (ann, bob) = (user("ann"), user("bob"));
    // A branch may start before anything is published.
    store.open_branch(&ann, "next").await.unwrap();
    assert!(query_branch(store, &ann, "next", "walrus").await.is_empty());
    let stands = document("Walrus", "A walrus sleeps at sea.");
    let near = document("Walrus teeth", "A walrus has two long teeth.");
    let id = store.publish(&ann, stands.clone()).await.unwrap().id;
    store.publish(&bob, near).await.unwrap();
    let changed = Publication {
        content: "A walrus sleeps on the ice.".to_owned(),
        ..stands.clone()
    };
    let new = document("Walrus song", "A walrus sings for days.");
    let first = store
        .publish_on_branch(&ann, "next", changed.clone())
        .await
        .unwrap();
    assert_eq!(
        (first.id, first.version, first.unchanged),
        (id, Version(2), false)
    );
    let again = store
        .publish_on_branch(&ann, "next", changed.clone())
        .await
        .unwrap();
    assert_eq!(
        (again.id, again.version, again.unchanged),
        (id, Version(2), true)
    );
    let draft = store
        .publish_on_branch(&ann, "next", new.clone())
        .await
        .unwrap();
    let shorter = Publication {
        content: "A walrus sings.".to_owned(),
        ..new.clone()
    };
    let redrafted = store
        .publish_on_branch(&ann, "next", shorter.clone())
        .await
        .unwrap();
    assert_eq!((redrafted.id, redrafted.version), (draft.id, Version(1)));

    let hits = query_branch(store, &ann, "next", "walrus").await;
    let mut titles: Vec<&str> = hits
        .iter()
        .map(|hit| hit.record.publication.title.as_str())
        .collect();
    titles.sort_unstable();
    assert_eq!(titles, ["Walrus", "Walrus song", "Walrus teeth"]);
    let on_branch = |hits: &[GlobalHit], id| {
        let hit = hits.iter().find(|hit| hit.record.id == id);
        hit.map(|hit| (hit.record.version, hit.record.publication.clone()))
    };
    assert_eq!(on_branch(&hits, id), Some((Version(2), changed.clone())));
    assert_eq!(
        on_branch(&hits, draft.id),
        Some((Version(1), shorter.clone()))
    );
    let branches = store.list_branches(&ann).await.unwrap();
    let listed: Vec<_> = branches
        .iter()
        .map(|one| (one.name.as_str(), one.things))
        .collect();
    assert_eq!(listed, [("next", 2)]);

    // Nothing has changed for everybody else, and for the author without the branch's name.
    for caller in [&ann, &bob] {
        let seen = store
            .query(caller, &GlobalQuery::new("walrus", 10))
            .await
            .unwrap();
        assert_eq!(seen.hits.len(), 2);
        assert_eq!(
            on_branch(&seen.hits, id),
            Some((Version(1), stands.clone()))
        );
    }
    assert_eq!(store.list_all_versions(&bob, id).await.unwrap().len(), 1);
    assert!(is_not_found(&store.get(&bob, draft.id, None).await));
    assert_eq!(store.list_all_own_published(&ann).await.unwrap().len(), 1);
    store.open_branch(&bob, "next").await.unwrap();
    assert_eq!(query_branch(store, &bob, "next", "walrus").await.len(), 2);
    assert!(
        store.open_branch(&ann, "next").await.is_err(),
        "the name is taken"
    );

    let merged = store.merge_branch(&ann, "next").await.unwrap();
    let versions: Vec<_> = merged.iter().map(|one| one.published.version).collect();
    assert_eq!(versions, [Version(2), Version(1)]);
    assert_eq!(merged.first().unwrap().published.id, id);
    assert_eq!(merged.first().unwrap().checksum, changed.checksum());
    assert_eq!(query_ids(store, &bob, "walrus").await.len(), 3);
    let now = store.get(&bob, id, None).await.unwrap();
    assert_eq!((now.version, now.publication), (Version(2), changed));
    let song = merged.last().unwrap().published.id;
    assert_eq!(
        store.get(&bob, song, None).await.unwrap().publication,
        shorter
    );
    // The branch is gone and its name is free.
    assert!(is_no_branch(&store.merge_branch(&ann, "next").await));
    let query = GlobalQuery {
        branch: Some("next".to_owned()),
        ..GlobalQuery::new("walrus", 3)
    };
    assert!(is_no_branch(&store.query(&ann, &query).await));
    store.open_branch(&ann, "next").await.unwrap();
    assert!(store.merge_branch(&ann, "next").await.unwrap().is_empty());
    let listed = store.list_audit_lines(&ann, 100).await.unwrap();
    let of_branches = listed
        .iter()
        .filter(|line| line.name.as_deref() == Some("next"));
    let of_branches: Vec<_> = of_branches
        .map(|line| (line.who.as_str(), line.what.as_str()))
        .collect();
    let expected = [
        ("ann", "merge"),
        ("ann", "branch"),
        ("ann", "merge"),
        ("bob", "branch"),
        ("ann", "branch"),
    ];
    assert_eq!(of_branches, expected);
}

/// Checks that nothing of a branch is merged if one publication changed since it was drafted.
pub async fn a_branch_is_merged_whole_or_not_at_all(store: &dyn GlobalStore) {
    let (ann, bob) = (user("ann"), user("bob"));
    let one = document("Heron", "A heron waits still.");
    let id = store.publish(&ann, one.clone()).await.unwrap().id;
    store.open_branch(&ann, "next").await.unwrap();
    let version = |content: &str| Publication {
        content: content.to_owned(),
        ..one.clone()
    };
    store
        .publish_on_branch(&ann, "next", document("Heron nest", "A heron nests high."))
        .await
        .unwrap();
    store
        .publish_on_branch(&ann, "next", version("A heron walks."))
        .await
        .unwrap();
    store
        .publish(&ann, version("A heron flies."))
        .await
        .unwrap();
    let refused = store.merge_branch(&ann, "next").await;
    let Err(GlobalError::BranchMoved {
        id: of, was, now, ..
    }) = refused
    else {
        panic!("{refused:?}");
    };
    assert_eq!((of, was, now), (id, 1, 2));
    assert_eq!(
        query_ids(store, &bob, "heron").await,
        [id],
        "nothing was merged"
    );
    assert_eq!(
        store
            .list_branches(&ann)
            .await
            .unwrap()
            .first()
            .unwrap()
            .things,
        2
    );
    // A new draft follows the published version.
    let anew = store
        .publish_on_branch(&ann, "next", version("A heron walks."))
        .await
        .unwrap();
    assert_eq!((anew.version, anew.unchanged), (Version(3), false));
    assert_eq!(store.merge_branch(&ann, "next").await.unwrap().len(), 2);
    assert_eq!(query_ids(store, &bob, "heron").await.len(), 2);
    let numbers = store.list_all_versions(&bob, id).await.unwrap();
    let numbers: Vec<u32> = numbers.iter().map(|one| one.version.0).collect();
    assert_eq!(numbers, [3, 2, 1]);
    // A draft that equals the published version leaves nothing to merge.
    store.open_branch(&ann, "back").await.unwrap();
    store
        .publish_on_branch(&ann, "back", version("A heron sleeps."))
        .await
        .unwrap();
    let back = store
        .publish_on_branch(&ann, "back", version("A heron walks."))
        .await
        .unwrap();
    assert!(back.unchanged && back.id == id);
    assert!(store.merge_branch(&ann, "back").await.unwrap().is_empty());
    // A publication for other readers would be another one.
    store.open_branch(&ann, "paid").await.unwrap();
    let paid = with_policy(AccessPolicy::Paid, version("A heron dives."));
    let refused = store.publish_on_branch(&ann, "paid", paid).await;
    assert!(matches!(refused, Err(GlobalError::PolicyChanged { .. })));
}

/// Checks that a dropped branch has no drafts, and that unpublishing removes the drafts of a
/// publication from every branch.
pub async fn a_branch_that_was_dropped_leaves_nothing(store: &dyn GlobalStore) {
    let ann = user("ann");
    let thing = document("Badger", "A badger digs.");
    let id = store.publish(&ann, thing.clone()).await.unwrap().id;
    for name in ["one", "two"] {
        store.open_branch(&ann, name).await.unwrap();
        let changed = Publication {
            content: format!("A badger digs at night, says {name}."),
            ..thing.clone()
        };
        store.publish_on_branch(&ann, name, changed).await.unwrap();
        store
            .publish_on_branch(&ann, name, document("Badger set", "Badgers live in sets."))
            .await
            .unwrap();
    }
    let dropped = store.drop_branch(&ann, "one").await.unwrap();
    assert_eq!((dropped.name.as_str(), dropped.things), ("one", 2));
    assert!(is_no_branch(&store.drop_branch(&ann, "one").await));
    assert_eq!(query_branch(store, &ann, "two", "badger").await.len(), 2);
    let gone = store.unpublish(&ann, id).await.unwrap();
    assert!(gone.verified);
    let left = query_branch(store, &ann, "two", "badger").await;
    assert_eq!(left.len(), 1);
    assert_eq!(left.first().unwrap().record.publication.title, "Badger set");
    let merged = store.merge_branch(&ann, "two").await.unwrap();
    assert_eq!(merged.len(), 1);
    assert!(store.list_branches(&ann).await.unwrap().is_empty());
    // The name can be used again, without the earlier drafts.
    store.open_branch(&ann, "one").await.unwrap();
    let anew = query_branch(store, &ann, "one", "badger").await;
    assert_eq!(anew.len(), 1);
}
