//! Checks what operators may take down and put back, and what one person may read and erase: for a
//! store that a service has, which is not one in a folder.

use crate::isolation::{
    BRANCH, DRAFT_WORD, PROJECT, READERS, Readers, access_cases, owner, query_hits,
};
use crate::suite::{
    document, in_project, is_not_found, member, paying_user, publish, take_down_request, user,
    with_appended_content, with_policy,
};
use reprise_global::{
    AccessPolicy, Caller, GlobalContentType, GlobalError, GlobalQuery, GlobalResult, GlobalStore,
    ListPage, OrganisationSettings, PersonLine, Publication, QuotaChange, SubmissionVerdict,
    UsageReport,
};
use reprise_types::RecordId;

/// Returns a caller of this name to whom the shelf of these readers is open.
fn reader(readers: Readers, name: &str) -> Caller {
    match readers {
        Readers::Public => user(name),
        Readers::Org => member(name, "acme"),
        Readers::Project => in_project(PROJECT, member(name, "acme")),
        Readers::Paid => paying_user(name),
    }
}

/// Checks that a taken-down publication is gone, that its author can read why, and that it can be
/// put back if it was held.
pub async fn what_is_taken_down_is_gone_told_and_put_back(store: &dyn GlobalStore) {
    for readers in READERS {
        let word = format!("takenword{}", readers.name());
        let publication = document(&format!("About {word}"), &format!("All of {word}."));
        let publication = readers.address(publication);
        let id = publish(store, &owner(), publication.clone()).await;
        store.open_branch(&owner(), BRANCH).await.unwrap();
        let tried = with_appended_content(&publication, DRAFT_WORD);
        store
            .publish_on_branch(&owner(), BRANCH, tried.clone())
            .await
            .unwrap();
        let operator = reader(readers, "olga");
        let listed = store
            .list_catalogue_page(&operator, ListPage::after(0))
            .await
            .unwrap();
        let listed = listed.iter().find(|one| one.id == id).unwrap();
        assert_eq!(listed.author.as_str(), "ann");
        let done = store
            .take_down(&operator, id, &take_down_request(false))
            .await
            .unwrap();
        assert!(done.verified && done.taken.is_held, "{done:?}");
        assert_eq!(done.taken.versions, 1);
        let query = |branch: Option<&str>| GlobalQuery {
            branch: branch.map(str::to_owned),
            ..GlobalQuery::new(word.as_str(), 50)
        };
        for case in access_cases(readers) {
            assert!(
                query_hits(store, &case.caller, query(None))
                    .await
                    .is_empty(),
                "{case}"
            );
            assert!(
                is_not_found(&store.get(&case.caller, id, None).await),
                "{case}"
            );
            let told = store.list_own_taken_down(&case.caller).await.unwrap();
            assert_eq!(told.len(), usize::from(case.is_author), "{case}");
            if !case.finds {
                let back = store.put_back(&case.caller, id).await;
                assert!(is_not_found(&back), "{case}: {back:?}");
            }
        }
        assert!(
            query_hits(store, &owner(), query(Some(BRANCH)))
                .await
                .is_empty()
        );
        assert_eq!(
            store.list_own_taken_down(&owner()).await.unwrap(),
            vec![done.taken.clone()]
        );
        let is_barred =
            |error: Option<GlobalError>| matches!(error, Some(GlobalError::TakenDown { .. }));
        assert!(is_barred(
            store.publish(&owner(), publication.clone()).await.err()
        ));
        store
            .publish_on_branch(&owner(), BRANCH, tried)
            .await
            .unwrap();
        assert!(is_barred(store.merge_branch(&owner(), BRANCH).await.err()));
        store.drop_branch(&owner(), BRANCH).await.unwrap();
        let audit = store.list_audit_lines(&operator, 100).await.unwrap();
        let line = audit.iter().find(|line| line.what == "take_down").unwrap();
        assert_eq!(line.reason.as_deref(), Some("it names a customer"));
        assert_eq!(line.checksum, Some(publication.checksum()));
        assert!(!format!("{audit:?}").contains(&word), "{audit:?}");

        let back = store.put_back(&operator, id).await.unwrap();
        let again = back.published.unwrap().id;
        assert!(
            store
                .list_own_taken_down(&owner())
                .await
                .unwrap()
                .is_empty()
        );
        assert!(is_not_found(&store.put_back(&operator, id).await));
        let stands = store.get(&owner(), again, None).await.unwrap();
        assert_eq!(
            (stands.author_id.as_str(), &stands.publication),
            ("ann", &publication)
        );
        for case in access_cases(readers) {
            let hits = query_hits(store, &case.caller, query(None)).await;
            assert_eq!(hits.len(), usize::from(case.finds), "{case}");
        }
        // A leaked publication is not held; its author may publish again once the bar is lifted.
        let leaked = store
            .take_down(&operator, again, &take_down_request(true))
            .await
            .unwrap();
        assert!(leaked.verified && !leaked.taken.is_held, "{leaked:?}");
        let back = store.put_back(&operator, again).await.unwrap();
        assert!(back.published.is_none());
        let last = store.publish(&owner(), publication).await.unwrap();
        store.unpublish(&owner(), last.id).await.unwrap();
    }
}

/// Checks that the content of what was taken down is refused from anybody, whatever its origin,
/// title and spacing, until it is put back.
pub async fn the_content_of_what_was_taken_down_is_refused_from_anybody(store: &dyn GlobalStore) {
    let (ann, bob, olga) = (owner(), user("bob"), user("olga"));
    let thing = document("Barred", "All of barredword and more.");
    let id = publish(store, &ann, thing.clone()).await;
    store
        .take_down(&olga, id, &take_down_request(false))
        .await
        .unwrap();
    let same = document("Another title", "All of  barredword\nand more.");
    for author in [&ann, &bob] {
        let refused = store.publish(author, same.clone()).await.unwrap_err();
        assert!(
            matches!(refused, GlobalError::TakenDown { .. }),
            "{refused}"
        );
        assert!(
            author.user == ann.user || !refused.to_string().contains("customer"),
            "the reason is its author's to read: {refused}"
        );
    }
    store.open_branch(&bob, BRANCH).await.unwrap();
    store
        .publish_on_branch(&bob, BRANCH, same.clone())
        .await
        .unwrap();
    let refused = store.merge_branch(&bob, BRANCH).await.unwrap_err();
    assert!(
        matches!(refused, GlobalError::TakenDown { .. }),
        "{refused}"
    );
    let other = document("Third title", "All of otherword and more.");
    store.publish(&bob, other).await.unwrap();
    store.put_back(&olga, id).await.unwrap();
    store.merge_branch(&bob, BRANCH).await.unwrap();
}

/// Checks that what says nearly the same as what was taken down waits for a review, no
/// matter who publishes it and in what way, until that is put back.
pub async fn what_is_nearly_what_was_taken_down_waits_for_a_review(store: &dyn GlobalStore) {
    let approval = SubmissionVerdict {
        approve: true,
        reason: None,
    };
    for readers in READERS {
        let [ann, bob, mia, olga] = ["ann", "bob", "mia", "olga"].map(|name| reader(readers, name));
        let word = format!("nearword{}", readers.name());
        let title = |title: &str| format!("{title} {}", readers.name());
        let text = |more: &str| format!("{word} says which of our customers is late {more}");
        let thing = readers.address(document(
            &title("Barred"),
            &text("with every bill of the year"),
        ));
        let id = publish(store, &ann, thing).await;
        let request = take_down_request(false);
        store.take_down(&olga, id, &request).await.unwrap();

        let near = readers.address(document(
            &title("Near"),
            &text("with each bill of the year"),
        ));
        let waits = store.publish(&bob, near.clone()).await.unwrap();
        assert!(waits.awaits_review, "{readers:?}: {waits:?}");
        let query = || GlobalQuery::new(word.as_str(), 50);
        assert_eq!(query_hits(store, &bob, query()).await.len(), 1);
        for other in [&ann, &mia] {
            assert!(query_hits(store, other, query()).await.is_empty());
            assert!(is_not_found(&store.get(other, waits.id, None).await));
        }
        assert_eq!(store.list_own_submissions(&bob).await.unwrap().len(), 1);
        let again = store.publish(&bob, near.clone()).await.unwrap();
        assert!(again.awaits_review && again.unchanged, "{again:?}");
        // A branch is no way past it.
        store.open_branch(&bob, BRANCH).await.unwrap();
        let tried = with_appended_content(&near, "too");
        store
            .publish_on_branch(&bob, BRANCH, tried.clone())
            .await
            .unwrap();
        let merged = store.merge_branch(&bob, BRANCH).await.unwrap();
        assert!(merged[0].published.awaits_review, "{merged:?}");

        let strangers = [user("sam"), member("oda", "other"), paying_user("pia")];
        let is_closed = |one: &&Caller| !one.open_shelves().contains(&readers.shelf());
        for stranger in strangers.iter().filter(is_closed) {
            let page = ListPage::after(0);
            let told = store.list_submissions_page(stranger, page).await.unwrap();
            assert!(told.is_empty(), "{readers:?}: {told:?}");
            let denied = store.review_submission(stranger, waits.id, &approval);
            assert!(is_not_found(&denied.await), "{readers:?}");
        }
        let own = store.review_submission(&bob, waits.id, &approval).await;
        assert!(matches!(own, Err(GlobalError::Conflict { .. })), "{own:?}");
        let page = ListPage::after(0);
        let listed = store.list_submissions_page(&mia, page).await.unwrap();
        assert_eq!((listed.len(), listed[0].id), (1, waits.id), "{readers:?}");
        assert_eq!(listed[0].publication, tried);
        let done = store.review_submission(&mia, waits.id, &approval).await;
        assert_eq!(done.unwrap().published.unwrap().id, waits.id);
        assert_eq!(query_hits(store, &ann, query()).await.len(), 1);

        // What has nothing to do with it is published at once, and so is this when that is back.
        let far = readers.address(document(&title("Far"), "Otters hold hands."));
        let far = store.publish(&bob, far).await.unwrap();
        assert!(!far.awaits_review, "{far:?}");
        store.put_back(&olga, id).await.unwrap();
        let late = readers.address(document(&title("Late"), &text("with each bill of a year")));
        let late = store.publish(&bob, late).await.unwrap();
        assert!(!late.awaits_review, "{late:?}");
    }
}

/// Checks that an operator can take down a pattern that other users cannot see yet.
pub async fn a_pattern_of_one_author_is_an_operators_to_take_down(store: &dyn GlobalStore) {
    let olga = user("olga");
    let pattern = Publication {
        content_type: GlobalContentType::Pattern,
        ..document("Alone", "All of lonepattern.")
    };
    let id = publish(store, &owner(), pattern).await;
    assert!(is_not_found(&store.get(&olga, id, None).await));
    let done = store
        .take_down(&olga, id, &take_down_request(false))
        .await
        .unwrap();
    assert!(done.verified, "{done:?}");
    assert!(is_not_found(&store.get(&owner(), id, None).await));
}

/// Checks that a person can read and erase, with a proof, all of that person's data and none of
/// others'.
pub async fn a_person_is_told_whole_and_erased(store: &dyn GlobalStore) {
    let (ann, bob) = (owner(), user("bob"));
    let thing = |title: &str, word: &str| document(title, &format!("All of {word}."));
    let first = publish(store, &ann, thing("One", "annword")).await;
    let second = with_appended_content(&thing("One", "annword"), "And more.");
    store.publish(&ann, second).await.unwrap();
    let org = with_policy(AccessPolicy::Org, thing("Two", "annword"));
    store.publish(&ann, org).await.unwrap();
    let down = publish(store, &ann, thing("Three", "annword")).await;
    store
        .take_down(&user("olga"), down, &take_down_request(false))
        .await
        .unwrap();
    store.open_branch(&ann, BRANCH).await.unwrap();
    store
        .publish_on_branch(&ann, BRANCH, thing("Four", "annword"))
        .await
        .unwrap();
    let theirs = publish(store, &bob, thing("Five", "bobword")).await;
    let score = UsageReport {
        id: theirs,
        score: 1.0,
        count: 2,
    };
    store.rate(&ann, theirs, 0.5).await.unwrap();
    store.report_usage(&ann, &[score]).await.unwrap();
    store.rate(&bob, first, 0.5).await.unwrap();

    let told = store.list_person_lines(&ann).await.unwrap();
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
    assert!(store.list_person_lines(&ann).await.unwrap().is_empty());
    assert!(store.list_all_own_published(&ann).await.unwrap().is_empty());
    assert!(store.list_branches(&ann).await.unwrap().is_empty());
    let query = || GlobalQuery::new("annword", 50);
    for reader in [ann.clone(), member("mia", "acme"), bob.clone()] {
        let hits = query_hits(store, &reader, query()).await;
        assert!(hits.iter().all(|hit| hit.0 == theirs), "{hits:?}");
    }
    let audit = format!("{:?}", store.list_audit_lines(&bob, 1_000).await.unwrap());
    assert!(
        !audit.contains("\"ann\"") && audit.contains("erase"),
        "{audit}"
    );
    // The audit of operators' actions is unchanged.
    assert!(audit.contains("it names a customer"), "{audit}");
    assert!(store.get(&bob, theirs, None).await.is_ok());
    store
        .publish(&ann, thing("Three", "annword"))
        .await
        .unwrap();
}

/// Checks that nobody limits another organisation, and that each sees the own one alone.
pub(crate) async fn check_quotas(store: &dyn GlobalStore, caller: &Caller, at: &str) {
    let own = caller.org.as_ref().map(|org| format!("org:{org}"));
    let listed = store.list_quotas(caller, &[]).await;
    if has_no_operators(&listed) {
        return;
    }
    let holders = listed.unwrap().into_iter().map(|one| one.holder);
    assert_eq!(
        holders.collect::<Vec<_>>(),
        Vec::from_iter(own.clone()),
        "{at}"
    );
    for holder in ["org:acme", "org:other", "org:ACME", "project:acme/payments"] {
        let change = QuotaChange {
            holder: holder.to_owned(),
            things: None,
            bytes: None,
        };
        let done = store.set_quota(caller, &change).await;
        let is_own = own.as_deref() == Some(holder);
        assert_eq!(done.is_ok(), is_own, "{at}: {done:?}");
    }
}

/// Returns whether a store in a folder refused what only a service with a database has.
pub(crate) fn has_no_operators<T>(done: &GlobalResult<T>) -> bool {
    let said = "a store in a folder has no ";
    let Err(GlobalError::Conflict { message } | GlobalError::Invalid { message }) = done else {
        return false;
    };
    message.starts_with(said)
}

/// Checks that nothing waits where no organisation asks for reviews; a store may have none at all.
pub(crate) async fn check_that_nothing_waits(
    store: &dyn GlobalStore,
    caller: &Caller,
    id: RecordId,
) {
    let settings = OrganisationSettings::default();
    for told in [
        store.read_organisation(caller).await,
        store.change_organisation(caller, settings).await,
    ] {
        assert_eq!(told.unwrap_or_default(), settings);
    }
    let page = ListPage::after(0);
    let waiting = store.list_submissions_page(caller, page).await;
    assert!(waiting.unwrap_or_default().is_empty());
    let verdict = SubmissionVerdict {
        approve: true,
        reason: None,
    };
    assert!(store.review_submission(caller, id, &verdict).await.is_err());
    assert!(store.list_own_submissions(caller).await.unwrap().is_empty());
}
