//! Checks of publishing and finding, with callers and word vectors for all checks.

use std::sync::Arc;

use reprise_types::{Embedding, EmbeddingSpace, RecordId, normalize, sha256_hex};

use reprise_global::{
    AccessPolicy, AuditLine, Caller, GlobalContentType, GlobalError, GlobalQuery, GlobalResult,
    GlobalStore, PATTERN_AUTHORS_MIN, Publication, TakeDown, TextVectors, UsageReport, Version,
};

/// Length of the vectors of [`word_vectors`].
pub const DIMENSIONS: u16 = 384;

/// The space of [`word_vectors`].
pub fn word_space() -> EmbeddingSpace {
    EmbeddingSpace {
        model: "test-words".to_owned(),
        version: "1".to_owned(),
        dimensions: DIMENSIONS,
    }
}

/// Adds up a direction per word: the same words, the same vector.
pub fn word_vectors() -> TextVectors {
    Arc::new(|text| {
        let mut vector = vec![0.001; usize::from(DIMENSIONS)];
        for word in text.split(|c: char| !c.is_alphanumeric()) {
            let word = word.to_lowercase();
            let hash = word.bytes().fold(7_u64, |hash, byte| {
                hash.wrapping_mul(31).wrapping_add(u64::from(byte))
            });
            let place = (hash % u64::from(DIMENSIONS)) as usize;
            if let Some(number) = vector.get_mut(place).filter(|_| !word.is_empty()) {
                *number += 1.0;
            }
        }
        normalize(&mut vector);
        Some(Embedding::new(word_space(), vector))
    })
}

/// Models whose vectors no store of [`word_space`] can keep: of another space, of another length,
/// not finite, and not of length one.
pub fn bad_vectors() -> Vec<TextVectors> {
    let filled = |space: EmbeddingSpace, length: u16, value: f32| -> TextVectors {
        Arc::new(move |_| {
            let vector = vec![value; usize::from(length)];
            Some(Embedding::new(space.clone(), vector))
        })
    };
    let unit = 1.0 / f32::from(DIMENSIONS).sqrt();
    let other = EmbeddingSpace {
        model: "another".to_owned(),
        ..word_space()
    };
    vec![
        filled(other, DIMENSIONS, unit),
        filled(word_space(), DIMENSIONS - 1, unit),
        filled(word_space(), DIMENSIONS, f32::NAN),
        filled(word_space(), DIMENSIONS, f32::INFINITY),
        filled(word_space(), DIMENSIONS, 7.0),
    ]
}

/// A user of no organisation.
pub fn user(name: &str) -> Caller {
    Caller::new(name.parse().unwrap())
}

/// A member of an organisation.
pub fn member(name: &str, org: &str) -> Caller {
    Caller {
        org: Some(org.parse().unwrap()),
        ..user(name)
    }
}

pub(crate) fn take_down_request(leaked: bool) -> TakeDown {
    TakeDown {
        reason: "it names a customer".to_owned(),
        leaked,
    }
}

pub(crate) fn with_appended_content(publication: &Publication, more: &str) -> Publication {
    Publication {
        content: format!("{} {more}", publication.content),
        ..publication.clone()
    }
}

/// Makes a caller a member of one project.
pub fn in_project(project: &str, caller: Caller) -> Caller {
    Caller {
        projects: vec![project.parse().unwrap()],
        ..caller
    }
}

/// A user of the paid tier.
pub fn paying_user(name: &str) -> Caller {
    Caller {
        paid: true,
        ..user(name)
    }
}

pub fn document(title: &str, content: &str) -> Publication {
    Publication {
        origin: sha256_hex(title.as_bytes()),
        content_type: GlobalContentType::Document,
        title: title.to_owned(),
        summary: content.chars().take(60).collect(),
        content: content.to_owned(),
        tags: vec!["Guide".to_owned()],
        access_policy: AccessPolicy::Public,
        project: None,
        licence: "CC-BY-4.0".to_owned(),
    }
}

/// Returns the publication with another access policy.
pub fn with_policy(policy: AccessPolicy, publication: Publication) -> Publication {
    Publication {
        access_policy: policy,
        ..publication
    }
}

pub(crate) async fn query_ids(
    store: &dyn GlobalStore,
    caller: &Caller,
    text: &str,
) -> Vec<RecordId> {
    let answer = store.query(caller, &GlobalQuery::new(text, 10)).await;
    let hits = answer.unwrap().hits;
    hits.iter().map(|hit| hit.record.id).collect()
}

/// Publishes and returns the id.
pub(crate) async fn publish(
    store: &dyn GlobalStore,
    author: &Caller,
    thing: Publication,
) -> RecordId {
    store.publish(author, thing).await.unwrap().id
}

pub(crate) fn is_not_found<T>(result: &GlobalResult<T>) -> bool {
    matches!(result, Err(GlobalError::NotFound { .. }))
}

/// What is published is found by another user, whole, with its author and version.
pub async fn what_is_published_is_found_by_others(store: &dyn GlobalStore) {
    let (ann, bob) = (user("ann"), user("bob"));
    assert!(query_ids(store, &bob, "tokio").await.is_empty());
    assert!(store.list_all_own_published(&ann).await.unwrap().is_empty());
    let wanted = document(
        "Tokio guide",
        "Never block inside an async handler of tokio.",
    );
    let other = document("Bread", "Let the sourdough rest overnight in a cool place.");
    let published = store.publish(&ann, wanted.clone()).await.unwrap();
    store.publish(&ann, other).await.unwrap();
    assert_eq!(published.version, Version(1));
    assert_eq!(published.bytes, wanted.to_json_bytes().len());
    assert!(!published.unchanged);
    let answer = store
        .query(
            &bob,
            &GlobalQuery::new("blocking in an async tokio handler", 5),
        )
        .await
        .unwrap();
    let first = answer.hits.first().unwrap();
    assert_eq!(first.record.id, published.id);
    assert_eq!(first.record.author_id, ann.user);
    assert_eq!(first.record.publication, wanted);
    assert_eq!(first.record.checksum, wanted.checksum());
    assert!(first.score > 0.0 && first.score <= 1.0);
    assert!((first.sona_score - first.score).abs() < f32::EPSILON);
    let whole = store.get(&bob, published.id, None).await.unwrap();
    assert_eq!(whole.publication, wanted);
    assert_eq!(whole.embedding.len(), usize::from(DIMENSIONS));
    let own = store.list_all_own_published(&ann).await.unwrap();
    assert_eq!(own.len(), 2);
    assert_eq!(own.first().unwrap().publication.title, "Bread");
    let unknown = RecordId::from_parts(1, 1);
    assert!(is_not_found(&store.get(&bob, unknown, None).await));
}

/// Only what a question is about is narrowed to: types.
pub async fn a_question_can_be_narrowed_to_types(store: &dyn GlobalStore) {
    let (ann, bob) = (user("ann"), user("bob"));
    for (content_type, title) in [
        (GlobalContentType::Document, "Backups explained"),
        (GlobalContentType::Agent, "Backups agent"),
        (GlobalContentType::App, "Backups app"),
    ] {
        let publication = Publication {
            content_type,
            ..document(title, "Copies the database every night.")
        };
        store.publish(&ann, publication).await.unwrap();
    }
    let query = GlobalQuery {
        content_types: vec![GlobalContentType::Agent, GlobalContentType::App],
        ..GlobalQuery::new("backups of the database", 10)
    };
    let hits = store.query(&bob, &query).await.unwrap().hits;
    let mut types: Vec<_> = hits
        .iter()
        .map(|hit| hit.record.publication.content_type.name())
        .collect();
    types.sort_unstable();
    assert_eq!(types, ["agent", "app"]);
}

/// Checks that a pattern is shown once several authors published it, anonymously, while a document
/// names its author.
pub async fn a_pattern_is_told_of_several_authors_and_of_none_by_name(store: &dyn GlobalStore) {
    let (ann, bob) = (user("ann"), user("bob"));
    let pattern = |content: &str| Publication {
        content_type: GlobalContentType::Pattern,
        ..document("Race conditions", content)
    };
    let said = "A mutex per session ends the race between two logins of one user.";
    let report = document("Race report", said);
    let report = store.publish(&ann, report).await.unwrap().id;
    let own = store.publish(&ann, pattern(said)).await.unwrap().id;
    let mut authors = vec![ann.clone()];
    let query = GlobalQuery::new("how to end the race", 10);
    let told = async |reader: &Caller| {
        let hits = store.query(reader, &query).await.unwrap().hits.into_iter();
        let mut told: Vec<_> = hits.map(|hit| hit.record).collect();
        for version in [None, Some(Version(1))] {
            told.extend(store.get(reader, own, version).await);
        }
        told.extend(
            store
                .list_all_versions(reader, own)
                .await
                .unwrap_or_default(),
        );
        told.retain(|one| one.id != report);
        told
    };
    for number in 1..PATTERN_AUTHORS_MIN {
        assert!(told(&bob).await.is_empty(), "of {number} authors");
        assert_eq!(told(&ann).await.len(), 4, "her own");
        let author = user(&format!("author-{number}"));
        let same = format!("{said} {number}");
        let made = store.publish(&author, pattern(&same)).await.unwrap();
        assert!(
            made.overlaps.iter().all(|near| near.id == report),
            "{made:?}"
        );
        authors.push(author);
    }
    let found = told(&bob).await;
    assert_eq!(
        found.len(),
        4,
        "one of the answer, and hers by its id: {found:?}"
    );
    for record in &found {
        let told = format!("{record:?}");
        assert_eq!(record.author_id.as_str(), "anonymous");
        assert!(
            !authors.iter().any(|one| told.contains(one.user.as_str())),
            "{told}"
        );
        assert!(!told.contains(&pattern(said).origin), "{told}");
    }
    for record in told(&ann).await {
        assert!(
            record.id != own || record.author_id == ann.user,
            "{record:?}"
        );
    }
    let named = store.get(&bob, report, None).await.unwrap();
    assert_eq!(named.author_id, ann.user);
    // Another text of hers is nobody else's, and her earlier one is no longer told.
    let other = pattern("Wednesdays are for pottery and long walks.");
    store.publish(&ann, other).await.unwrap();
    assert!(told(&bob).await.is_empty());
    store.publish(&ann, pattern(said)).await.unwrap();
    assert_eq!(told(&bob).await.len(), 3, "its second version is another");
    let last = authors.last().unwrap();
    let gone = store.list_all_own_published(last).await.unwrap();
    store
        .unpublish(last, gone.first().unwrap().id)
        .await
        .unwrap();
    assert!(told(&bob).await.is_empty());
}

/// However many patterns nobody is told of yet are nearer, what is told is found.
pub async fn a_pattern_that_is_not_told_takes_nobodys_place(store: &dyn GlobalStore) {
    let (ann, bob) = (user("ann"), user("bob"));
    let guide = "In winter, when the river is high and cold at night, otters hold hands.";
    let guide = document("Winter", guide);
    let guide = store.publish(&ann, guide).await.unwrap().id;
    for number in 0..8 {
        let pattern = Publication {
            content_type: GlobalContentType::Pattern,
            ..document(&format!("Otters {number}"), "Otters hold hands.")
        };
        store.publish(&ann, pattern).await.unwrap();
    }
    let query = GlobalQuery::new("otters hold hands", 2);
    let hits = store.query(&bob, &query).await.unwrap().hits;
    let found: Vec<RecordId> = hits.iter().map(|hit| hit.record.id).collect();
    assert_eq!(found, [guide]);
}

/// Checks that publishing equal bytes keeps the version, and that changed bytes are a new version,
/// which alone is found.
pub async fn a_change_is_a_new_version(store: &dyn GlobalStore) {
    let (ann, bob) = (user("ann"), user("bob"));
    let first = document("Deploying", "Deploy with blue and green pools.");
    let one = store.publish(&ann, first.clone()).await.unwrap();
    let again = store.publish(&ann, first.clone()).await.unwrap();
    assert!(again.unchanged && again.id == one.id && again.version == Version(1));
    let second = Publication {
        content: "Deploy with canaries.".to_owned(),
        ..first.clone()
    };
    let two = store.publish(&ann, second.clone()).await.unwrap();
    assert_eq!((two.id, two.version), (one.id, Version(2)));
    assert!(two.overlaps.iter().all(|overlap| overlap.id != one.id));
    assert_eq!(
        query_ids(store, &bob, "deploy pools canaries").await,
        [one.id]
    );
    let newest = store.get(&bob, one.id, None).await.unwrap();
    assert_eq!(newest.publication, second);
    let old = store.get(&bob, one.id, Some(Version(1))).await.unwrap();
    assert_eq!(old.publication, first);
    assert_eq!(old.checksum, sha256_hex(&first.to_json_bytes()));
    assert_eq!(newest.checksum, sha256_hex(&second.to_json_bytes()));
    assert!(is_not_found(
        &store.get(&bob, one.id, Some(Version(3))).await
    ));
    let versions = store.list_all_versions(&bob, one.id).await.unwrap();
    let numbers: Vec<u32> = versions.iter().map(|record| record.version.0).collect();
    assert_eq!(numbers, [2, 1]);
    assert_eq!(store.list_all_own_published(&ann).await.unwrap().len(), 1);
    // Another author's thing of the same origin is another thing.
    let theirs = store.publish(&bob, first).await.unwrap();
    assert!(theirs.id != one.id && theirs.version == Version(1));
}

/// What is taken back is in no answer, in no version, in no snapshot, and can be published anew.
pub async fn what_is_taken_back_is_gone(store: &dyn GlobalStore) {
    let (ann, bob) = (user("ann"), user("bob"));
    let first = document("Zebra crossing", "Zebras cross at dawn.");
    let id = store.publish(&ann, first.clone()).await.unwrap().id;
    let second = Publication {
        content: "Zebras cross at dusk.".to_owned(),
        ..first.clone()
    };
    store.publish(&ann, second).await.unwrap();
    store.create_snapshot(&ann, "before").await.unwrap();
    let refused = store.unpublish(&bob, id).await;
    assert!(matches!(refused, Err(GlobalError::NotAuthor { .. })));
    let gone = store.unpublish(&ann, id).await.unwrap();
    assert_eq!((gone.id, gone.versions, gone.verified), (id, 2, true));
    for caller in [&ann, &bob] {
        assert!(query_ids(store, caller, "zebras cross").await.is_empty());
        assert!(is_not_found(&store.get(caller, id, None).await));
        assert!(is_not_found(&store.get(caller, id, Some(Version(1))).await));
        assert!(is_not_found(&store.list_all_versions(caller, id).await));
        assert!(is_not_found(&store.unpublish(caller, id).await));
        let past = GlobalQuery {
            snapshot: Some("before".to_owned()),
            ..GlobalQuery::new("zebras cross", 5)
        };
        assert!(store.query(caller, &past).await.unwrap().hits.is_empty());
    }
    assert!(store.list_all_own_published(&ann).await.unwrap().is_empty());
    let anew = store.publish(&ann, first).await.unwrap();
    assert!(anew.id != id && anew.version == Version(1) && !anew.unchanged);
    assert_eq!(query_ids(store, &bob, "zebras cross").await, [anew.id]);
}

/// What was published, named and taken back is in the audit log, newest first; what readers said is
/// not.
pub async fn the_audit_names_every_act_of_an_author(store: &dyn GlobalStore) {
    let (ann, bob) = (user("ann"), user("bob"));
    let first = document("Quince", "Quinces ripen late.");
    let id = store.publish(&ann, first.clone()).await.unwrap().id;
    let second = Publication {
        content: "Quinces ripen in October.".to_owned(),
        ..first
    };
    store.publish(&ann, second).await.unwrap();
    store.rate(&bob, id, 0.5).await.unwrap();
    store.create_snapshot(&ann, "harvest").await.unwrap();
    store.unpublish(&ann, id).await.unwrap();
    let lines = store.list_audit_lines(&ann, 10).await.unwrap();
    let told = lines.iter().map(|line| (line.what.as_str(), line.version));
    let told: Vec<_> = told.collect();
    let expected = [
        ("unpublish", Some(2)),
        ("snapshot", None),
        ("publish", Some(2)),
        ("publish", Some(1)),
    ];
    assert_eq!(told, expected, "{lines:?}");
    assert!(lines.iter().all(|line| line.who == "ann"), "{lines:?}");
    assert!(
        lines
            .iter()
            .all(|line| line.what == "snapshot" || line.id == Some(id))
    );
    assert_eq!(store.list_audit_lines(&ann, 1).await.unwrap().len(), 1);
    // What another organisation does is passed over before the lines are counted.
    let (own, other) = (member("cat", "acme"), member("eve", "evil"));
    for (caller, what) in [(&own, "Own"), (&other, "Pears"), (&other, "Plums")] {
        let publication = with_policy(AccessPolicy::Org, document(what, "For one organisation."));
        store.publish(caller, publication).await.unwrap();
    }
    let names = |lines: Vec<AuditLine>| -> Vec<Option<String>> {
        lines.into_iter().map(|line| line.name).collect()
    };
    let told = names(store.list_told_audit_lines(&own, 1).await.unwrap());
    assert_eq!(told, [Some("org:acme".to_owned())]);
    let told = store.list_told_audit_lines(&ann, 1).await.unwrap();
    assert_eq!(told[0].what, "unpublish", "{told:?}");
}

/// A question can be put to the store as it stood.
pub async fn a_snapshot_answers_as_it_stood(store: &dyn GlobalStore) {
    let (ann, bob) = (user("ann"), user("bob"));
    let first = document("Cache rules", "Caches live for one hour.");
    let id = store.publish(&ann, first.clone()).await.unwrap().id;
    let at = store.create_snapshot(&ann, "monday").await.unwrap();
    assert!(store.create_snapshot(&bob, "monday").await.is_err());
    let second = Publication {
        content: "Caches live for one day.".to_owned(),
        ..first.clone()
    };
    store.publish(&ann, second.clone()).await.unwrap();
    let later = document("Cache keys", "Caches are keyed by tenant.");
    store.publish(&ann, later).await.unwrap();
    let past = GlobalQuery {
        snapshot: Some("monday".to_owned()),
        ..GlobalQuery::new("how long do caches live", 5)
    };
    let then = store.query(&bob, &past).await.unwrap().hits;
    assert_eq!(then.len(), 1, "{at}");
    let hit = then.first().unwrap();
    assert_eq!((hit.record.id, hit.record.version), (id, Version(1)));
    assert_eq!(hit.record.publication, first);
    assert_eq!(
        query_ids(store, &bob, "how long do caches live")
            .await
            .len(),
        2
    );
    let unknown = GlobalQuery {
        snapshot: Some("tuesday".to_owned()),
        ..past
    };
    let refused = store.query(&bob, &unknown).await;
    assert!(matches!(refused, Err(GlobalError::NoSnapshot { .. })));
}

/// What many users' runs say lifts a thing for one who never saw it; a few users say nothing.
pub async fn what_helps_many_rises_for_everyone(store: &dyn GlobalStore) {
    let ann = user("ann");
    let helps = document(
        "Fixing builds one",
        "How to fix a slow build of the project.",
    );
    let hinders = document(
        "Fixing builds two",
        "How to fix a slow build of the project.",
    );
    let helps = store.publish(&ann, helps).await.unwrap();
    let hinders = store.publish(&ann, hinders).await.unwrap();
    assert_eq!(hinders.overlaps.first().map(|near| near.id), Some(helps.id));
    let score = |id, score| UsageReport {
        id,
        score,
        count: 1,
    };
    let (helps, hinders) = (helps.id, hinders.id);
    let ask_as = async |who: &Caller| {
        let query = GlobalQuery::new("the build of the project is slow", 5);
        store.query(who, &query).await.unwrap().hits
    };
    let ask = async || ask_as(&user("newcomer")).await;
    for number in 0..4 {
        let reader = user(&format!("reader-{number}"));
        ask_as(&reader).await;
        let said = [score(helps, 1.0), score(hinders, 0.0)];
        store.report_usage(&reader, &said).await.unwrap();
        store.rate(&reader, helps, 1.0).await.unwrap();
    }
    for hit in ask().await {
        assert!((hit.sona_score - hit.score).abs() < f32::EPSILON);
        assert_eq!(hit.record.quality_metrics.usage_count, 0);
        assert_eq!(hit.record.quality_metrics.user_rating, None);
    }
    for number in 4..40 {
        let reader = user(&format!("reader-{number}"));
        ask_as(&reader).await;
        let said = [score(helps, 1.0), score(hinders, 0.0)];
        store.report_usage(&reader, &said).await.unwrap();
        store.rate(&reader, helps, 1.0).await.unwrap();
    }
    let hits = ask().await;
    let first = hits.first().unwrap();
    assert_eq!(first.record.id, helps);
    assert!(first.sona_score > first.score && first.sona_score <= first.score + 0.15 + 1e-6);
    assert!(first.why.learning.is_some());
    // Forty readers and the newcomer retrieved it.
    let uses = first.record.quality_metrics.usage_count;
    assert!((40..=42).contains(&uses), "{uses}");
    let metrics = &first.record.quality_metrics;
    assert!(metrics.quality() > 0.7 && metrics.avg_trajectory_score > 0.9);
    assert!(metrics.user_rating > Some(0.9), "{metrics:?}");
    let second = hits.last().unwrap();
    assert!(second.sona_score < second.score);
}

/// A test for each check, against a fresh store that `$make` gives with what keeps it alive; with
/// those of operators where the store is one that a service has.
#[macro_export]
macro_rules! conformance_suite {
    ($make:path) => {
        $crate::conformance_suite!(@ $make,
            what_is_published_is_found_by_others,
            a_question_can_be_narrowed_to_types,
            a_pattern_is_told_of_several_authors_and_of_none_by_name,
            a_pattern_that_is_not_told_takes_nobodys_place,
            a_change_is_a_new_version,
            what_is_taken_back_is_gone,
            a_snapshot_answers_as_it_stood,
            the_audit_names_every_act_of_an_author,
            each_operation_admits_its_callers_alone,
            what_stands_on_a_branch_is_its_authors_alone_until_it_is_merged,
            a_branch_is_merged_whole_or_not_at_all,
            a_branch_that_was_dropped_leaves_nothing,
            what_helps_many_rises_for_everyone,
            bad_input_is_refused_and_odd_input_is_data,
            nothing_of_anothers_can_be_forged_or_doubled,
            the_longest_record_can_be_published,
        );
    };
    ($make:path, with operators) => {
        $crate::conformance_suite!($make);
        $crate::conformance_suite!(@ $make,
            what_is_taken_down_is_gone_told_and_put_back,
            the_content_of_what_was_taken_down_is_refused_from_anybody,
            what_is_nearly_what_was_taken_down_waits_for_a_review,
            a_pattern_of_one_author_is_an_operators_to_take_down,
            a_person_is_told_whole_and_erased,
        );
    };
    (@ $make:path, $($check:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $check() {
                let (store, _kept) = $make().await;
                $crate::$check(&store).await;
            }
        )*
    };
}
