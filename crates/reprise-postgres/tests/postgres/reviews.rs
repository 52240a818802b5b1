//! Reviews: what a member publishes for an organisation that asks for them is its author's alone
//! until another member approves it.

use reprise_conformance::{document, member, user, with_policy};
use reprise_global::{
    AccessPolicy, Caller, GlobalError, GlobalQuery, GlobalStore, ListPage, OrganisationSettings,
    Publication, SubmissionVerdict, TakeDown,
};
use reprise_postgres::PostgresStore;
use reprise_types::RecordId;

use super::house::{House, database, options};

const WORD: &str = "reviewword";

/// A store in which the organisation `acme` asks for reviews: with statements and policies, or with
/// policies alone.
async fn reviewing_store(policies_alone: bool) -> (PostgresStore, String) {
    let url = database().await;
    let mut options = options(&url);
    options.policies_alone = policies_alone;
    let store = PostgresStore::open(options).await.unwrap();
    let settings = OrganisationSettings { review: true };
    let olga = member("olga", "acme");
    store.change_organisation(&olga, settings).await.unwrap();
    (store, url)
}

fn for_members(title: &str, content: &str) -> Publication {
    with_policy(AccessPolicy::Org, document(title, content))
}

async fn find_contents(store: &PostgresStore, caller: &Caller) -> Vec<(RecordId, String)> {
    let query = GlobalQuery::new(WORD, 10);
    let answer = store.query(caller, &query).await.unwrap();
    let hits = answer.hits.into_iter();
    hits.map(|hit| (hit.record.id, hit.record.publication.content))
        .collect()
}

fn approval() -> SubmissionVerdict {
    SubmissionVerdict {
        approve: true,
        reason: None,
    }
}

fn refusal(reason: &str) -> SubmissionVerdict {
    SubmissionVerdict {
        approve: false,
        reason: Some(reason.to_owned()),
    }
}

async fn count_waiting(store: &PostgresStore, caller: &Caller) -> usize {
    let page = ListPage::after(0);
    let waiting = store.list_submissions_page(caller, page).await;
    waiting.unwrap_or_default().len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_for_a_review_is_its_authors_alone_until_another_member_approves_it() {
    for policies_alone in [false, true] {
        let (store, _url) = reviewing_store(policies_alone).await;
        let (ann, mia) = (member("ann", "acme"), member("mia", "acme"));
        let strangers = [user("ann"), user("sam"), member("oda", "other")];
        let thing = for_members("Otters", &format!("All of {WORD}."));
        let submitted = store.publish(&ann, thing.clone()).await.unwrap();
        assert!(submitted.awaits_review && !submitted.unchanged);
        let (id, first) = (submitted.id, (submitted.id, thing.content.clone()));
        let again = store.publish(&ann, thing.clone()).await.unwrap();
        assert!(again.awaits_review && again.unchanged && again.id == id);

        assert_eq!(
            find_contents(&store, &ann).await,
            std::slice::from_ref(&first)
        );
        assert_eq!(store.get(&ann, id, None).await.unwrap().publication, thing);
        for other in strangers.iter().chain([&mia]) {
            assert!(find_contents(&store, other).await.is_empty(), "{other:?}");
            if other.user != ann.user {
                assert!(store.get(other, id, None).await.is_err(), "{other:?}");
                assert!(store.list_all_versions(other, id).await.is_err());
                assert!(store.unpublish(other, id).await.is_err(), "{other:?}");
                assert!(store.list_own_submissions(other).await.unwrap().is_empty());
            }
        }
        for other in &strangers {
            assert_eq!(count_waiting(&store, other).await, 0, "{other:?}");
            let denied = store.review_submission(other, id, &approval()).await;
            assert!(denied.is_err(), "{other:?}");
        }
        let listed = store.list_submissions_page(&mia, ListPage::after(0)).await;
        let listed = listed.unwrap();
        assert_eq!((listed[0].id, listed[0].author.as_str()), (id, "ann"));
        assert_eq!((listed.len(), &listed[0].publication), (1, &thing));
        let own = store.review_submission(&ann, id, &approval()).await;
        assert!(matches!(own, Err(GlobalError::Conflict { .. })), "{own:?}");

        let done = store
            .review_submission(&mia, id, &approval())
            .await
            .unwrap();
        let published = done.published.unwrap();
        assert_eq!(
            (published.id, published.version.0),
            (id, 1),
            "it keeps its id"
        );
        for member in [&ann, &mia] {
            assert_eq!(
                find_contents(&store, member).await,
                std::slice::from_ref(&first)
            );
        }
        assert_eq!(count_waiting(&store, &mia).await, 0);
        let twice = store.review_submission(&mia, id, &approval()).await;
        assert!(
            matches!(twice, Err(GlobalError::NotFound { .. })),
            "{twice:?}"
        );
        assert!(find_contents(&store, &strangers[1]).await.is_empty());

        // A new version waits as well; meanwhile the others find the one before.
        let next = for_members("Otters", &format!("More of {WORD}."));
        let submitted = store.publish(&ann, next.clone()).await.unwrap();
        assert_eq!((submitted.id, submitted.version.0), (id, 2));
        assert_eq!(find_contents(&store, &mia).await, [first]);
        let second = (id, next.content.clone());
        assert_eq!(
            find_contents(&store, &ann).await,
            std::slice::from_ref(&second)
        );
        store
            .review_submission(&mia, id, &approval())
            .await
            .unwrap();
        assert_eq!(find_contents(&store, &mia).await, [second]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_tells_its_author_why_and_the_audit_log_tells_everything() {
    let (store, url) = reviewing_store(false).await;
    let (ann, mia) = (member("ann", "acme"), member("mia", "acme"));
    let thing = for_members("Otters", &format!("All of {WORD}."));
    let id = store.publish(&ann, thing.clone()).await.unwrap().id;
    let without_reason = SubmissionVerdict {
        approve: false,
        reason: None,
    };
    assert!(
        store
            .review_submission(&mia, id, &without_reason)
            .await
            .is_err()
    );
    let refused = refusal("names a customer");
    let done = store.review_submission(&mia, id, &refused).await.unwrap();
    assert!(done.published.is_none());
    for member in [&ann, &mia] {
        assert!(find_contents(&store, member).await.is_empty());
    }
    assert_eq!(count_waiting(&store, &mia).await, 0);
    let own = store.list_own_submissions(&ann).await.unwrap();
    assert_eq!(own[0].refused.as_deref(), Some("names a customer"));
    assert_eq!((own.len(), own[0].id, &own[0].title), (1, id, &None));
    let admin = House::admin(&url).await;
    for table in ["thing", "search", "posting"] {
        let count = format!("SELECT count(*) FROM reprise_global.{table}");
        let row = admin.query_one(&count, &[]).await.unwrap();
        assert_eq!(
            row.get::<_, i64>(0),
            0,
            "nothing of the text is in `{table}`"
        );
    }

    let same = store.publish(&ann, thing).await.unwrap_err().to_string();
    assert!(same.contains("names a customer"), "{same}");
    let better = for_members("Otters", &format!("Some of {WORD}."));
    let submitted = store.publish(&ann, better).await.unwrap();
    assert_eq!((submitted.id, submitted.awaits_review), (id, true));
    let own = store.list_own_submissions(&ann).await.unwrap();
    assert!(own.len() == 1 && own[0].refused.is_none(), "{own:?}");
    store
        .review_submission(&mia, id, &approval())
        .await
        .unwrap();
    assert!(store.list_own_submissions(&ann).await.unwrap().is_empty());
    let audit = store.list_audit_lines(&ann, 100).await.unwrap();
    let acts: Vec<String> = audit
        .iter()
        .map(|line| format!("{} {}", line.who, line.what))
        .collect();
    let wanted = [
        "mia approve",
        "ann publish",
        "ann submit",
        "mia refuse",
        "ann submit",
        "olga settings",
    ];
    assert_eq!(acts, wanted);
    assert_eq!(audit[3].reason.as_deref(), Some("names a customer"));
    assert_eq!(audit[3].about.as_ref(), Some(&ann.user));
    assert!(!format!("{audit:?}").contains(WORD));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_way_leads_past_a_review_and_what_waits_can_be_taken_back() {
    let (store, _url) = reviewing_store(false).await;
    let (ann, mia) = (member("ann", "acme"), member("mia", "acme"));
    // A branch is no way past it.
    store.open_branch(&ann, "next").await.unwrap();
    let tried = for_members("Otters", &format!("All of {WORD}."));
    store.publish_on_branch(&ann, "next", tried).await.unwrap();
    let merged = store.merge_branch(&ann, "next").await.unwrap();
    assert!(merged[0].published.awaits_review);
    assert!(find_contents(&store, &mia).await.is_empty());
    assert_eq!(count_waiting(&store, &mia).await, 1);
    assert!(store.list_branches(&ann).await.unwrap().is_empty());
    let reserved = store.open_branch(&ann, ".review/org:acme").await;
    assert!(reserved.is_err());

    // What is for everybody is not reviewed, nor what another organisation publishes.
    let open = document("Newts", "Newts do not.");
    assert!(!store.publish(&ann, open).await.unwrap().awaits_review);
    let others = for_members("Otters", "Of others.");
    let oda = member("oda", "other");
    assert!(!store.publish(&oda, others).await.unwrap().awaits_review);

    let id = merged[0].published.id;
    let gone = store.unpublish(&ann, id).await.unwrap();
    assert!(gone.verified && gone.versions == 1);
    assert_eq!(count_waiting(&store, &mia).await, 0);
    assert!(find_contents(&store, &ann).await.is_empty());

    // What was submitted still waits once reviews are over; what comes then is found at once.
    let waits = for_members("Martens", &format!("{WORD} of martens."));
    let waits = store.publish(&ann, waits).await.unwrap();
    let settings = OrganisationSettings { review: false };
    store.change_organisation(&mia, settings).await.unwrap();
    assert_eq!(store.read_organisation(&ann).await.unwrap(), settings);
    assert!(find_contents(&store, &mia).await.is_empty());
    let late = for_members("Voles", &format!("{WORD} of voles."));
    store.publish(&ann, late).await.unwrap();
    assert_eq!(find_contents(&store, &mia).await.len(), 1);
    store
        .review_submission(&mia, waits.id, &approval())
        .await
        .unwrap();
    assert_eq!(find_contents(&store, &mia).await.len(), 2);
}

/// Who imports has looked at it; of what is nearly what was taken down nobody knew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_waits_for_a_review_only_near_to_what_was_taken_down() {
    let (store, _url) = reviewing_store(false).await;
    let (ann, mia) = (member("ann", "acme"), member("mia", "acme"));
    let first = for_members("Otters", &format!("All of {WORD}."));
    store.import(&ann, vec![first]).await.unwrap();
    let next = for_members("Otters", &format!("More of {WORD}."));
    let other = for_members("Newts", &format!("{WORD} of newts."));
    store.import(&ann, vec![next.clone(), other]).await.unwrap();
    assert_eq!(count_waiting(&store, &mia).await, 0);
    let found = find_contents(&store, &mia).await;
    assert!(
        found.len() == 2 && found.iter().any(|one| one.1 == next.content),
        "{found:?}"
    );

    let text = |more: &str| format!("{WORD} says which of our customers is late {more}");
    let barred = for_members("Barred", &text("with every bill of the year"));
    let id = store.publish(&mia, barred).await.unwrap().id;
    store
        .review_submission(&ann, id, &approval())
        .await
        .unwrap();
    let request = TakeDown {
        reason: "names a customer".to_owned(),
        leaked: false,
    };
    store
        .take_down(&member("olga", "acme"), id, &request)
        .await
        .unwrap();
    let near = [
        for_members("Near", &text("with each bill of the year")),
        for_members("Otters", &text("with every bill of a year")),
        for_members("Voles", &format!("{WORD} of voles.")),
    ];
    store.import(&ann, near.to_vec()).await.unwrap();
    assert_eq!(count_waiting(&store, &mia).await, 2);
    assert_eq!(find_contents(&store, &mia).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_erased_leaves_nothing_that_waits() {
    let (store, _url) = reviewing_store(false).await;
    let (ann, mia) = (member("ann", "acme"), member("mia", "acme"));
    let thing = for_members("Otters", &format!("All of {WORD}."));
    store.publish(&ann, thing).await.unwrap();
    let refused = for_members("Newts", "Newts do not.");
    let refused = store.publish(&ann, refused).await.unwrap().id;
    let verdict = refusal("says nothing");
    store
        .review_submission(&mia, refused, &verdict)
        .await
        .unwrap();
    let erased = store.erase_person(&ann).await.unwrap();
    assert_eq!((erased.drafts, erased.left), (1, 0), "{erased:?}");
    assert_eq!(count_waiting(&store, &mia).await, 0);
    assert_eq!(store.erase_person(&mia).await.unwrap().left, 0);
}
