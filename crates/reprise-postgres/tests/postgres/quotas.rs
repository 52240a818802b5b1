//! How much users and organisations may have published: by the limits of the service, and by those
//! that an operator sets.

use std::slice::from_ref;

use reprise_conformance::{document, member, user};
use reprise_global::{
    AccessPolicy, GlobalError, GlobalStore, Publication, Quota, QuotaChange, Quotas, TakeDown,
};
use reprise_postgres::PostgresStore;

use super::house::{database, options};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quota_holds_for_a_user_and_for_an_organisation_and_what_is_taken_back_makes_room() {
    let url = database().await;
    let mut options = options(&url);
    let quota = |things, bytes| Quota { things, bytes };
    options.quotas = Quotas {
        user: quota(Some(2), Some(2_000)),
        org: quota(Some(3), None),
    };
    let store = PostgresStore::open(options).await.unwrap();
    let ann = member("ann", "acme");
    let org = |title: &str| Publication {
        access_policy: AccessPolicy::Org,
        ..document(title, "Ours.")
    };
    let first = store.publish(&ann, org("One")).await.unwrap().id;
    store.publish(&ann, org("Two")).await.unwrap();
    let over = store.publish(&ann, org("Three")).await.unwrap_err();
    assert!(matches!(over, GlobalError::Quota { .. }), "{over}");
    assert!(over.to_string().contains("user ann"), "{over}");
    assert!(
        store.publish(&ann, org("One")).await.unwrap().unchanged,
        "it is kept"
    );
    store
        .publish(&member("bea", "acme"), org("Four"))
        .await
        .unwrap();
    let over = store
        .publish(&member("bea", "acme"), org("Five"))
        .await
        .unwrap_err();
    assert!(over.to_string().contains("org acme"), "{over}");
    store.unpublish(&ann, first).await.unwrap();
    let again = store.publish(&ann, org("Three")).await.unwrap();
    // Versions count in bytes, and a refused one is not there.
    let mut long = org("Three");
    long.content = "x ".repeat(900);
    let over = store.publish(&ann, long).await.unwrap_err();
    assert!(over.to_string().contains("bytes"), "{over}");
    assert_eq!(
        store.list_all_versions(&ann, again.id).await.unwrap().len(),
        1
    );
}

/// A quota holds for what is put back, which stays held until it fits, and for all of a branch.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_put_back_or_merged_is_within_its_quota_or_stays_where_it_is() {
    let url = database().await;
    let mut options = options(&url);
    options.quotas.user.things = Some(1);
    let store = PostgresStore::open(options).await.unwrap();
    let (ann, olga) = (user("ann"), user("olga"));
    let is_over = |error: Option<GlobalError>| matches!(error, Some(GlobalError::Quota { .. }));
    let publish = async |title: &str| {
        let thing = document(title, &format!("{title} otters hold hands."));
        store.publish(&ann, thing).await.unwrap().id
    };
    let first = publish("One").await;
    let order = TakeDown {
        reason: "it names a customer".to_owned(),
        leaked: false,
    };
    store.take_down(&olga, first, &order).await.unwrap();
    let second = publish("Two").await;
    assert!(is_over(store.put_back(&olga, first).await.err()));
    let held = store.list_own_taken_down(&ann).await.unwrap();
    assert_eq!(held.len(), 1, "as before");
    store.unpublish(&ann, second).await.unwrap();
    let back = store.put_back(&olga, first).await.unwrap().published;
    assert!(store.list_own_taken_down(&ann).await.unwrap().is_empty());
    store.unpublish(&ann, back.unwrap().id).await.unwrap();

    store.open_branch(&ann, "next").await.unwrap();
    for title in ["Three", "Four"] {
        let thing = document(title, "Otters hold hands.");
        store.publish_on_branch(&ann, "next", thing).await.unwrap();
    }
    assert!(is_over(store.merge_branch(&ann, "next").await.err()));
    assert!(store.list_all_own_published(&ann).await.unwrap().is_empty());
}

/// What an operator sets holds at every node at once, below what the service began with, and goes
/// with the person.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_limits_one_user_and_the_service_s_own_limit_stays() {
    let url = database().await;
    let mut served = options(&url);
    served.quotas.user.things = Some(3);
    let one = PostgresStore::open(served.clone()).await.unwrap();
    let two = PostgresStore::open(served).await.unwrap();
    let (ann, olga) = (user("ann"), member("olga", "acme"));
    let thing = |number| document(&format!("Thing {number}"), "Otters hold hands.");
    let limit = async |holder: &str, things| {
        let change = QuotaChange {
            holder: holder.to_owned(),
            things,
            bytes: None,
        };
        one.set_quota(&olga, &change).await
    };
    two.publish(&ann, thing(1)).await.unwrap();
    let set = limit("user:ann", Some(1)).await.unwrap();
    assert_eq!(
        (set.things, set.set.things, set.quota.things),
        (1, Some(1), Some(1))
    );
    let over = two.publish(&ann, thing(2)).await.unwrap_err();
    assert!(matches!(over, GlobalError::Quota { .. }), "{over}");
    let set = limit("user:ann", Some(9)).await.unwrap();
    assert_eq!((set.set.things, set.quota.things), (Some(9), Some(3)));
    for number in [2, 3] {
        two.publish(&ann, thing(number)).await.unwrap();
    }
    assert!(
        two.publish(&ann, thing(4)).await.is_err(),
        "the service's own"
    );
    limit("org:acme", Some(5)).await.unwrap();
    assert!(limit("org:other", Some(5)).await.is_err());
    let listed = two.list_quotas(&olga, from_ref(&ann.user)).await.unwrap();
    let holders: Vec<(&str, u64)> = listed
        .iter()
        .map(|one| (&*one.holder, one.things))
        .collect();
    assert_eq!(holders, [("org:acme", 0), ("user:ann", 3)]);
    let audit = one.list_audit_lines(&olga, 9).await.unwrap();
    let line = audit.iter().find(|line| line.what == "quota").unwrap();
    assert_eq!(
        (line.who.as_str(), line.name.as_deref()),
        ("olga", Some("org:acme"))
    );
    let set = limit("user:ann", None).await.unwrap();
    assert_eq!((set.set.things, set.quota.things), (None, Some(3)));
    limit("user:ann", Some(7)).await.unwrap();
    let erased = one.erase_person(&ann).await.unwrap();
    assert_eq!(erased.left, 0, "{erased:?}");
    let listed = one.list_quotas(&olga, &[ann.user]).await.unwrap();
    assert_eq!(listed[1].set.things, None);
}
