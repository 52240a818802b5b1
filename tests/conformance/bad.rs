//! Checks of input that is bad, odd, forged or repeated.

use reprise_tests::hostile_text;
use reprise_types::limits::TEXT_BYTES_MAX;
use reprise_types::{DegradedPart, RecordId};

use crate::suite::{document, is_not_found, query_ids, user};
use reprise_global::{
    Fate, GlobalError, GlobalQuery, GlobalStore, Publication, UsageReport, Version,
};

/// Longest title of a publication, in bytes.
const TITLE_BYTES_MAX: usize = 320;

/// Checks that invalid input is refused with one sentence, and that dangerous-looking input is kept
/// unchanged.
pub async fn bad_input_is_refused_and_odd_input_is_data(store: &dyn GlobalStore) {
    let (ann, bob) = (user("ann"), user("bob"));
    let good = document("Title", "Content");
    let bad = [
        Publication {
            title: " ".to_owned(),
            ..good.clone()
        },
        Publication {
            title: "a\nb".to_owned(),
            ..good.clone()
        },
        Publication {
            title: "a\u{1b}[31mb".to_owned(),
            ..good.clone()
        },
        Publication {
            title: "x".repeat(TITLE_BYTES_MAX + 1),
            ..good.clone()
        },
        Publication {
            content: "\t\n".to_owned(),
            ..good.clone()
        },
        Publication {
            content: "x".repeat(50_000_000),
            ..good.clone()
        },
        Publication {
            content: "a\0b".to_owned(),
            ..good.clone()
        },
        Publication {
            content: "the key is sk-ABCDEF0123456789ABCDEF0123456789".to_owned(),
            ..good.clone()
        },
        Publication {
            content: "in public <private>and not</private>".to_owned(),
            ..good.clone()
        },
        Publication {
            tags: vec!["sk-ABCDEF0123456789ABCDEF0123456789".to_owned()],
            ..good.clone()
        },
        Publication {
            tags: vec!["a\u{1b}[31mb".to_owned()],
            ..good.clone()
        },
        Publication {
            licence: "MIT\nor not".to_owned(),
            ..good.clone()
        },
        Publication {
            licence: "<private>MIT</private>".to_owned(),
            ..good.clone()
        },
        Publication {
            tags: vec!["t".to_owned(); 65],
            ..good.clone()
        },
        Publication {
            origin: String::new(),
            ..good.clone()
        },
    ];
    store.open_branch(&ann, "bad").await.unwrap();
    for publication in bad {
        for refused in [
            store
                .publish_on_branch(&ann, "bad", publication.clone())
                .await,
            store.publish(&ann, publication).await,
        ] {
            let Err(GlobalError::Invalid { message }) = refused else {
                panic!("it was taken: {refused:?}");
            };
            assert!(message.len() < 200 && !message.contains('\n'), "{message}");
        }
    }
    let dropped = store.drop_branch(&ann, "bad").await.unwrap();
    assert_eq!(dropped.things, 0);
    assert!(store.list_all_own_published(&ann).await.unwrap().is_empty());
    let id = store.publish(&ann, good).await.unwrap().id;
    for rating in [f32::NAN, -0.1, 1.1, f32::INFINITY] {
        assert!(store.rate(&bob, id, rating).await.is_err());
        let report = UsageReport {
            id,
            score: rating,
            count: 1,
        };
        assert!(store.report_usage(&bob, &[report]).await.is_err());
    }
    for name in ["", "a b", "../x", "a\0b", "'; DROP TABLE published; --"] {
        for refused in [
            store.create_snapshot(&ann, name).await.err(),
            store.open_branch(&ann, name).await.err(),
            store
                .publish_on_branch(&ann, name, document("t", "c"))
                .await
                .err(),
            store.merge_branch(&ann, name).await.err(),
            store.drop_branch(&ann, name).await.err(),
        ] {
            let refused = refused.map(|error| error.to_string()).unwrap_or_default();
            assert!(
                !refused.is_empty() && refused.len() < 200,
                "{name}: {refused}"
            );
        }
        for (snapshot, branch) in [(true, false), (false, true), (true, true)] {
            let asked = GlobalQuery {
                snapshot: snapshot.then(|| name.to_owned()),
                branch: branch.then(|| name.to_owned()),
                ..GlobalQuery::new("title", 3)
            };
            assert!(store.query(&ann, &asked).await.is_err(), "{name}");
        }
    }
    let injected = "'); DROP TABLE published; -- $1 {} %s \\";
    let odd = Publication {
        origin: injected.to_owned(),
        title: format!("<script>alert(1)</script> & {injected}"),
        summary: injected.to_owned(),
        content: format!("{injected} {}", hostile_text(14).replace('\0', "")),
        tags: vec![injected.to_owned(), "reprise/shelf/paid".to_owned()],
        licence: injected.to_owned(),
        ..document("t", "c")
    };
    let kept = store.publish(&ann, odd.clone()).await.unwrap();
    let back = store.get(&bob, kept.id, None).await.unwrap();
    assert_eq!(back.publication, odd);
    assert!(query_ids(store, &bob, injected).await.contains(&kept.id));
    for text in ["", " ", "\u{0}", &"x ".repeat(100_000)] {
        let answered = store.query(&bob, &GlobalQuery::new(text, 3)).await;
        assert!(answered.is_ok(), "{} bytes: {answered:?}", text.len());
    }
    let none = store.query(&bob, &GlobalQuery::new("title", 0)).await;
    assert!(none.unwrap().hits.is_empty());
}

/// Checks that a repeated publish is one publication, and that another author's origin or a foreign
/// id reaches nothing of that author.
pub async fn nothing_of_anothers_can_be_forged_or_doubled(store: &dyn GlobalStore) {
    let (ann, eve) = (user("ann"), user("eve"));
    let thing = document("Plums", "Plums are blue.");
    let first = store.publish(&ann, thing.clone()).await.unwrap();
    for _ in 0..3 {
        let again = store.publish(&ann, thing.clone()).await.unwrap();
        assert_eq!(
            (again.id, again.version, again.unchanged),
            (first.id, Version(1), true)
        );
    }
    // The same origin, and a text that says whose it is.
    let forged = Publication {
        content: "{\"author_id\":\"ann\",\"version\":\"9\"}".to_owned(),
        ..thing.clone()
    };
    let theirs = store.publish(&eve, forged).await.unwrap();
    assert!(theirs.id != first.id && theirs.version == Version(1));
    let found = store.get(&ann, theirs.id, None).await.unwrap();
    assert_eq!(found.author_id, eve.user);
    let own = store.get(&eve, first.id, None).await.unwrap();
    assert_eq!((&own.author_id, &own.publication), (&ann.user, &thing));
    // A copy hides nothing, and what was there first comes first.
    let copied = Publication {
        origin: "a copy".to_owned(),
        ..own.publication.clone()
    };
    let copy = store.publish(&eve, copied).await.unwrap();
    for (most, found) in [(1, &[first.id][..]), (2, &[first.id, copy.id])] {
        let query = GlobalQuery::new("plums are blue", most);
        let hits = store.query(&user("bob"), &query).await.unwrap().hits;
        let hits: Vec<RecordId> = hits.iter().map(|hit| hit.record.id).collect();
        assert_eq!(hits, found);
    }
    // An id that another store made.
    let foreign = RecordId::from_parts(1_600_000_000_000, 42);
    assert!(is_not_found(&store.get(&ann, foreign, None).await));
    assert!(is_not_found(
        &store.get(&ann, foreign, Some(Version(1))).await
    ));
    assert!(is_not_found(&store.list_all_versions(&ann, foreign).await));
    assert!(is_not_found(&store.unpublish(&ann, foreign).await));
    assert!(is_not_found(&store.rate(&ann, foreign, 0.5).await));
    let report = UsageReport {
        id: foreign,
        score: 0.5,
        count: 1,
    };
    assert_eq!(
        store.report_usage(&ann, &[report]).await.unwrap(),
        [Fate::NotFound]
    );
    assert_eq!(store.list_all_own_published(&ann).await.unwrap().len(), 1);
}

/// Checks that the longest record under the longest title is kept whole and found by its title.
pub async fn the_longest_record_can_be_published(store: &dyn GlobalStore) {
    let (ann, bob) = (user("ann"), user("bob"));
    let title = format!("Wombats {}", "x".repeat(TITLE_BYTES_MAX - 8));
    let longest = Publication {
        content: format!("{}burrows", "y ".repeat(TEXT_BYTES_MAX / 2))[7..].to_owned(),
        ..document(&title, "")
    };
    assert_eq!(longest.content.len(), TEXT_BYTES_MAX);
    let id = store.publish(&ann, longest.clone()).await.unwrap().id;
    store.open_branch(&ann, "long").await.unwrap();
    let origin = "another".to_owned();
    let drafted = Publication {
        origin,
        ..longest.clone()
    };
    store
        .publish_on_branch(&ann, "long", drafted)
        .await
        .unwrap();
    let kept = store.get(&bob, id, None).await.unwrap();
    assert!(kept.publication == longest);
    for word in ["wombats", "burrows"] {
        assert_eq!(query_ids(store, &bob, word).await, [id]);
    }
}

/// For a store whose model makes vectors of another space or length, or that are not finite: what
/// is published is kept without one, found by its words, and the answer says so.
pub async fn vectors_that_cannot_be_kept_cost_meaning_alone(store: &dyn GlobalStore) {
    let (ann, bob) = (user("ann"), user("bob"));
    let thing = document("Otters", "Otters hold hands.");
    let published = store.publish(&ann, thing.clone()).await.unwrap();
    assert!(published.overlaps.is_empty());
    let kept = store.get(&bob, published.id, None).await.unwrap();
    assert!(kept.embedding.is_empty() && kept.publication == thing);
    let asked = store.query(&bob, &GlobalQuery::new("otters", 3)).await;
    let answer = asked.unwrap();
    assert_eq!(answer.hits.first().unwrap().record.id, published.id);
    assert!(
        answer.degraded.contains(&DegradedPart::NoQueryVector),
        "{:?}",
        answer.degraded
    );
}
