//! What operators may take down and put back, and what is told and left of one person.

use crate::isolation::{BRANCH, POLICIES, TRIED, cases, changed, found, order, owner};
use crate::suite::{document, for_readers, is_not_found, member, paying, put, user};
use reprise_global::{
    AccessPolicy, Caller, GlobalContentType, GlobalError, GlobalQuery, GlobalStore, ListPage,
    PersonLine, Publication, UsageReport,
};

/// An operator to whom the shelf of a policy is open.
fn operator(policy: AccessPolicy) -> Caller {
    match policy {
        AccessPolicy::Public => user("olga"),
        AccessPolicy::Org => member("olga", "acme"),
        AccessPolicy::Paid => paying("olga"),
    }
}

/// What an operator takes down is gone, its author reads why, and it is put back where it was held.
pub async fn what_is_taken_down_is_gone_told_and_put_back(store: &dyn GlobalStore) {
    for policy in POLICIES {
        let word = format!("takenword{}", policy.name());
        let publication = document(&format!("About {word}"), &format!("All of {word}."));
        let publication = for_readers(policy, publication);
        let id = put(store, &owner(), publication.clone()).await;
        store.branch(&owner(), BRANCH).await.unwrap();
        let tried = changed(&publication, TRIED);
        store.draft(&owner(), BRANCH, tried.clone()).await.unwrap();
        let operator = operator(policy);
        let listed = store
            .catalogue(&operator, ListPage::after(0))
            .await
            .unwrap();
        let listed = listed.iter().find(|one| one.id == id).unwrap();
        assert_eq!(listed.author.as_str(), "ann");
        let done = store.take_down(&operator, id, &order(false)).await.unwrap();
        assert!(done.verified && done.taken.is_held, "{done:?}");
        assert_eq!(done.taken.versions, 1);
        let query = |branch: Option<&str>| GlobalQuery {
            branch: branch.map(str::to_owned),
            ..GlobalQuery::new(word.as_str(), 50)
        };
        for case in cases(policy) {
            assert!(
                found(store, &case.caller, query(None)).await.is_empty(),
                "{case}"
            );
            assert!(
                is_not_found(&store.get(&case.caller, id, None).await),
                "{case}"
            );
            let told = store.taken_down(&case.caller).await.unwrap();
            assert_eq!(told.len(), usize::from(case.is_author), "{case}");
            if !case.finds {
                let back = store.put_back(&case.caller, id).await;
                assert!(is_not_found(&back), "{case}: {back:?}");
            }
        }
        assert!(found(store, &owner(), query(Some(BRANCH))).await.is_empty());
        assert_eq!(
            store.taken_down(&owner()).await.unwrap(),
            vec![done.taken.clone()]
        );
        let is_barred =
            |error: Option<GlobalError>| matches!(error, Some(GlobalError::TakenDown { .. }));
        assert!(is_barred(
            store.publish(&owner(), publication.clone()).await.err()
        ));
        store.draft(&owner(), BRANCH, tried).await.unwrap();
        assert!(is_barred(store.merge(&owner(), BRANCH).await.err()));
        store.drop_branch(&owner(), BRANCH).await.unwrap();
        let audit = store.audit(&operator, 100).await.unwrap();
        let line = audit.iter().find(|line| line.what == "take_down").unwrap();
        assert_eq!(line.reason.as_deref(), Some("it names a customer"));
        assert_eq!(line.checksum, Some(publication.checksum()));
        assert!(!format!("{audit:?}").contains(&word), "{audit:?}");

        let back = store.put_back(&operator, id).await.unwrap();
        let again = back.published.unwrap().id;
        assert!(store.taken_down(&owner()).await.unwrap().is_empty());
        assert!(is_not_found(&store.put_back(&operator, id).await));
        let stands = store.get(&owner(), again, None).await.unwrap();
        assert_eq!(
            (stands.author_id.as_str(), &stands.publication),
            ("ann", &publication)
        );
        for case in cases(policy) {
            let hits = found(store, &case.caller, query(None)).await;
            assert_eq!(hits.len(), usize::from(case.finds), "{case}");
        }
        // Of what leaked nothing is held; its author may publish again once the bar is lifted.
        let leaked = store
            .take_down(&operator, again, &order(true))
            .await
            .unwrap();
        assert!(leaked.verified && !leaked.taken.is_held, "{leaked:?}");
        let back = store.put_back(&operator, again).await.unwrap();
        assert!(back.published.is_none());
        let last = store.publish(&owner(), publication).await.unwrap();
        store.unpublish(&owner(), last.id).await.unwrap();
    }
}

/// What others are not told of yet is an operator's to take down all the same.
pub async fn a_pattern_of_one_author_is_an_operators_to_take_down(store: &dyn GlobalStore) {
    let olga = user("olga");
    let pattern = Publication {
        content_type: GlobalContentType::Pattern,
        ..document("Alone", "All of lonepattern.")
    };
    let id = put(store, &owner(), pattern).await;
    assert!(is_not_found(&store.get(&olga, id, None).await));
    let done = store.take_down(&olga, id, &order(false)).await.unwrap();
    assert!(done.verified, "{done:?}");
    assert!(is_not_found(&store.get(&owner(), id, None).await));
}

/// Everything of a person is told to that person, and erased with a proof; nothing of others' is.
pub async fn a_person_is_told_whole_and_erased(store: &dyn GlobalStore) {
    let (ann, bob) = (owner(), user("bob"));
    let thing = |title: &str, word: &str| document(title, &format!("All of {word}."));
    let first = put(store, &ann, thing("One", "annword")).await;
    let second = changed(&thing("One", "annword"), "And more.");
    store.publish(&ann, second).await.unwrap();
    let org = for_readers(AccessPolicy::Org, thing("Two", "annword"));
    store.publish(&ann, org).await.unwrap();
    let down = put(store, &ann, thing("Three", "annword")).await;
    store
        .take_down(&user("olga"), down, &order(false))
        .await
        .unwrap();
    store.branch(&ann, BRANCH).await.unwrap();
    store
        .draft(&ann, BRANCH, thing("Four", "annword"))
        .await
        .unwrap();
    let theirs = put(store, &bob, thing("Five", "bobword")).await;
    let score = UsageReport {
        id: theirs,
        score: 1.0,
        count: 2,
    };
    store.rate(&ann, theirs, 0.5).await.unwrap();
    store.report(&ann, &[score]).await.unwrap();
    store.rate(&bob, first, 0.5).await.unwrap();

    let told = store.person(&ann).await.unwrap();
    let of = |kind: fn(&PersonLine) -> bool| told.iter().filter(|line| kind(line)).count();
    assert_eq!(
        of(|line| matches!(line, PersonLine::Thing { .. })),
        4,
        "{told:?}"
    );
    assert_eq!(
        of(|line| matches!(line, PersonLine::Rated { .. })),
        1,
        "{told:?}"
    );
    assert_eq!(
        of(|line| matches!(line, PersonLine::Reported { .. })),
        1,
        "{told:?}"
    );
    assert_eq!(
        of(|line| matches!(line, PersonLine::TakenDown(_))),
        1,
        "{told:?}"
    );
    assert!(
        of(|line| matches!(line, PersonLine::Did(_))) >= 5,
        "{told:?}"
    );
    assert!(!format!("{told:?}").contains("bobword"), "{told:?}");

    let erased = store.erase_person(&ann).await.unwrap();
    assert_eq!(
        (erased.things, erased.versions, erased.drafts),
        (2, 3, 1),
        "{erased:?}"
    );
    assert_eq!((erased.ratings, erased.reports), (1, 1), "{erased:?}");
    assert_eq!((erased.taken_down, erased.left), (1, 0), "{erased:?}");
    assert!(store.person(&ann).await.unwrap().is_empty());
    assert!(store.published(&ann).await.unwrap().is_empty());
    assert!(store.branches(&ann).await.unwrap().is_empty());
    let query = || GlobalQuery::new("annword", 50);
    for reader in [ann.clone(), member("mia", "acme"), bob.clone()] {
        let hits = found(store, &reader, query()).await;
        assert!(hits.iter().all(|hit| hit.0 == theirs), "{hits:?}");
    }
    let audit = format!("{:?}", store.audit(&bob, 1_000).await.unwrap());
    assert!(
        !audit.contains("\"ann\"") && audit.contains("erase"),
        "{audit}"
    );
    // What operators did is on record as before.
    assert!(audit.contains("it names a customer"), "{audit}");
    assert!(store.get(&bob, theirs, None).await.is_ok());
    store
        .publish(&ann, thing("Three", "annword"))
        .await
        .unwrap();
}
