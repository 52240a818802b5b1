//! What an operator of a database relies on: migrations that are shown before they are made, a
//! backup that brings the same answers back, bytes that are gone, and tokens for all nodes.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use reprise_conformance::{document, member, user, with_policy, word_vectors};
use reprise_global::{
    AccessPolicy, AuditLine, GlobalError, GlobalQuery, GlobalStore, KeptToken,
    OrganisationSettings, Publication, SharedTokens, SubmissionVerdict, TakeDown,
};
use reprise_postgres::{PostgresOptions, PostgresStore};
use reprise_tests::{seen_if, wait_for_async};
use reprise_types::{Clock, RecordId, SystemClock};
use tokio_postgres::Client;

use super::house::{House, database, options};

async fn open(options: PostgresOptions) -> PostgresStore {
    PostgresStore::open(options).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn migrations_are_shown_before_they_are_made_and_bring_older_tables_forward() {
    let url = database().await;
    let fresh = PostgresStore::list_pending_migrations(&options(&url))
        .await
        .unwrap();
    let numbers: Vec<i32> = fresh.iter().map(|step| step.number).collect();
    assert!(numbers.iter().copied().eq(1..=12), "{numbers:?}");
    let admin = House::admin(&url).await;
    let there = "SELECT to_regnamespace('reprise_global') IS NOT NULL";
    let is_there = || async { admin.query_one(there, &[]).await.unwrap().get::<_, bool>(0) };
    assert!(!is_there().await, "to show changes nothing");
    // A node of the version before, with something published on it.
    let own = House::client(&url).await;
    own.batch_execute(
        "CREATE SCHEMA reprise_global; CREATE TABLE reprise_global.schema_version \
         (version integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())",
    )
    .await
    .unwrap();
    for step in &fresh[..4] {
        let text = format!(
            "{}; INSERT INTO reprise_global.schema_version (version) VALUES ({})",
            step.statements, step.number
        );
        own.batch_execute(&text).await.unwrap();
    }
    let thing = document("Otters", "Otters hold hands.");
    let bytes = i64::try_from(thing.to_json_bytes().len()).unwrap();
    let text = String::from_utf8(thing.to_json_bytes()).unwrap();
    let id = "SELECT gen_random_uuid()";
    let id: uuid::Uuid = admin.query_one(id, &[]).await.unwrap().get(0);
    for shelf in ["public", "org:acme"] {
        let statement = "INSERT INTO reprise_global.thing VALUES \
             ($1, $2, 1, 'ann', $3, 'c', now(), NULL, '{}')";
        admin
            .execute(statement, &[&shelf, &id, &text])
            .await
            .unwrap();
        let found_by = "INSERT INTO reprise_global.search VALUES \
             ($1, $2, 1, 'document', now(), NULL, 5, 5, NULL)";
        admin.execute(found_by, &[&shelf, &id]).await.unwrap();
    }
    let next = PostgresStore::list_pending_migrations(&options(&url))
        .await
        .unwrap();
    assert_eq!(next, fresh[4..]);
    let store = open(options(&url)).await;
    assert!(
        PostgresStore::list_pending_migrations(&options(&url))
            .await
            .unwrap()
            .is_empty()
    );
    let sizes = "SELECT count(*) FROM reprise_global.shelf_size WHERE things = 1 AND heads = 5";
    let sizes: i64 = admin.query_one(sizes, &[]).await.unwrap().get(0);
    assert_eq!(sizes, 2, "what was published before is counted");
    // What stood before counts in the quotas.
    let counted = "SELECT things, bytes FROM reprise_global.usage WHERE holder = $1";
    for (holder, things, bytes) in [("user:ann", 1, 2 * bytes), ("org:acme", 1, bytes)] {
        let row = admin.query_one(counted, &[&holder]).await.unwrap();
        assert_eq!(
            (row.get::<_, i64>(0), row.get::<_, i64>(1)),
            (things, bytes),
            "{holder}"
        );
    }
    let found = store
        .get(&user("bob"), RecordId::from_u128(id.as_u128()), None)
        .await;
    assert_eq!(found.unwrap().publication, thing);
}

/// What readers and authors are told, to the last bit.
async fn describe_all(store: &PostgresStore) -> String {
    let mut told = Vec::new();
    for caller in [user("bob"), member("mia", "acme"), user("ann")] {
        for question in ["otters hold hands", "about rivers", "what of topic7"] {
            let answer = store.query(&caller, &GlobalQuery::new(question, 10)).await;
            told.push(format!("{answer:?}"));
        }
        let (own, taken) = (
            store.list_all_own_published(&caller).await,
            store.list_own_taken_down(&caller).await,
        );
        told.push(format!(
            "{own:?} {taken:?} {:?}",
            store.list_branches(&caller).await
        ));
    }
    let (audit, tokens) = (
        store.list_audit_lines(&user("bob"), 1_000).await,
        store.list_tokens().await,
    );
    told.push(format!("{:?} {:?}", audit.unwrap(), tokens.unwrap()));
    told.join("\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_was_dumped_dropped_and_restored_answers_as_before() {
    let url = database().await;
    let store = open(options(&url)).await;
    let (ann, mia) = (member("ann", "acme"), member("mia", "acme"));
    let things: Vec<Publication> = (0..40)
        .map(|n| {
            document(
                &format!("Guide {n}"),
                &format!("Otters and topic{n} by rivers."),
            )
        })
        .collect();
    store.import(&ann, things.clone()).await.unwrap();
    let own = store.list_all_own_published(&ann).await.unwrap();
    let org = Publication {
        access_policy: AccessPolicy::Org,
        ..document("Own rivers", "Otters hold hands in ours.")
    };
    store.publish(&ann, org).await.unwrap();
    store.rate(&mia, own[0].id, 0.9).await.unwrap();
    store.open_branch(&ann, "next").await.unwrap();
    let tried = document("Tried", "Otters next year.");
    store.publish_on_branch(&ann, "next", tried).await.unwrap();
    let order = TakeDown {
        reason: "it names a customer".to_owned(),
        leaked: false,
    };
    store
        .take_down(&user("olga"), own[1].id, &order)
        .await
        .unwrap();
    let before = describe_all(&store).await;
    drop(store);

    let name = url.rsplit("dbname=").next().unwrap().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let dump = folder.path().join("dump");
    let server = House::server();
    let run = |program: &str, more: &[&str]| {
        let mut command = Command::new(server.program_path(program));
        let host = server.folder().display().to_string();
        let done = command.args(["-h", &host, "-U", "postgres"]).args(more);
        assert!(done.status().unwrap().success(), "{program}");
    };
    let file = dump.display().to_string();
    run("pg_dump", &["-Fc", "-f", &file, &name]);
    run("dropdb", &["--force", &name]);
    run("createdb", &[&name]);
    run("pg_restore", &["--exit-on-error", "-d", &name, &file]);
    let store = open(options(&url)).await;
    assert_eq!(describe_all(&store).await, before);
    // And it goes on: what was held comes back, and the walls stand.
    let back = store.put_back(&user("olga"), own[1].id).await.unwrap();
    assert!(back.published.is_some());
    let strange = store
        .query(&user("eve"), &GlobalQuery::new("in ours", 50))
        .await;
    let hits = strange.unwrap().hits;
    assert!(
        hits.iter().all(|hit| hit.record.org_id.is_none()),
        "{hits:?}"
    );
}

const LEAKED: &str = "zebrafinchsecretword";

/// Publishes forty things, the last of which leaks a word: nothing comes to stand over it.
async fn publish_leaking_things(store: &PostgresStore) -> (RecordId, Publication) {
    let river = |n| {
        document(
            &format!("River {n}"),
            &format!("Otters of river {n} drift."),
        )
    };
    let ann = user("ann");
    let things = (0..39).map(river).collect();
    assert_eq!(store.import(&ann, things).await.unwrap().published, 39);
    let thing = document("Leak", &format!("All of {LEAKED}."));
    let id = store.publish(&ann, thing.clone()).await.unwrap().id;
    (id, thing)
}

/// An order to take down what leaked.
fn leak_order() -> TakeDown {
    TakeDown {
        reason: "it holds a key".to_owned(),
        leaked: true,
    }
}

/// The files of this database that hold the word.
async fn list_files_with_leak(admin: &Client) -> Vec<String> {
    admin.batch_execute("CHECKPOINT").await.unwrap();
    let own = "SELECT oid::text FROM pg_database WHERE datname = current_database()";
    let own: String = admin.query_one(own, &[]).await.unwrap().get(0);
    let folder = House::server().folder().join("data/base").join(own);
    let mut found = Vec::new();
    for file in fs_err::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        // One that a checkpoint removed meanwhile holds nothing.
        let bytes = fs_err::read(&path).unwrap_or_default();
        let word = LEAKED.as_bytes();
        if bytes.windows(word.len()).any(|part| part == word) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_what_leaked_no_table_and_no_index_has_a_byte() {
    let url = database().await;
    let store = open(options(&url)).await;
    let (id, thing) = publish_leaking_things(&store).await;
    let olga = user("olga");
    // Held once before: that is a row of another table.
    let held = TakeDown {
        leaked: false,
        ..leak_order()
    };
    store.take_down(&olga, id, &held).await.unwrap();
    let back = store.put_back(&olga, id).await.unwrap();
    let id = back.published.unwrap().id;
    let admin = House::admin(&url).await;
    admin.batch_execute("ANALYZE").await.unwrap();
    assert!(!list_files_with_leak(&admin).await.is_empty());
    let done = store.take_down(&olga, id, &leak_order()).await.unwrap();
    assert!(done.verified && done.swept, "{done:?}");
    assert_eq!(list_files_with_leak(&admin).await, Vec::<String>::new());
    // Where values are kept in a packed form, none is of a text.
    let figures = "SELECT count(*) FROM pg_stats WHERE schemaname = 'reprise_global' \
         AND attname IN ('publication', 'held')";
    let figures = admin.query_one(figures, &[]).await.unwrap();
    assert_eq!(figures.get::<_, i64>(0), 0);
    let rest = "SELECT count(*) FROM reprise_global.search";
    let rest = admin.query_one(rest, &[]).await.unwrap();
    assert_eq!(rest.get::<_, i64>(0), 39, "the others stand");
    let audit = store.list_audit_lines(&olga, 10).await.unwrap();
    assert_eq!(audit[0].checksum, Some(thing.checksum()));
    assert_eq!(audit[0].reason.as_deref(), Some("it holds a key"));
    let told = store.list_person_lines(&user("ann")).await.unwrap();
    assert!(
        !format!("{told:?}").contains(LEAKED),
        "an export of its author has none"
    );
}

/// A transaction that began before a row was deleted may still see it, so it comes along into the
/// new table.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_older_transaction_still_sees_is_swept_once_that_has_ended() {
    let url = database().await;
    let store = open(options(&url)).await;
    let (id, _) = publish_leaking_things(&store).await;
    let older = House::admin(&url).await;
    let begun = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM reprise_global.audit";
    older.batch_execute(begun).await.unwrap();
    let admin = House::admin(&url).await;
    let file = "SELECT pg_relation_filenode('reprise_global.thing'::regclass)::text";
    let file_of_table = async || -> String { admin.query_one(file, &[]).await.unwrap().get(0) };
    let before = file_of_table().await;
    let taking = {
        let store = store.clone();
        tokio::spawn(async move { store.take_down(&user("olga"), id, &leak_order()).await })
    };
    wait_for_async("the table is written anew", async || {
        assert!(!taking.is_finished(), "the table was not written anew");
        let file = file_of_table().await;
        seen_if(file != before, file)
    })
    .await;
    assert!(
        !list_files_with_leak(&admin).await.is_empty(),
        "it came along"
    );
    assert!(!taking.is_finished(), "and nothing else is said");
    older.batch_execute("COMMIT").await.unwrap();
    let done = taking.await.unwrap().unwrap();
    assert!(done.swept, "{done:?}");
    assert_eq!(list_files_with_leak(&admin).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_person_who_was_erased_no_table_has_a_text() {
    let url = database().await;
    let store = open(options(&url)).await;
    publish_leaking_things(&store).await;
    let (ann, bob) = (user("ann"), user("bob"));
    store.open_branch(&ann, "next").await.unwrap();
    let tried = document("Tried", &format!("More of {LEAKED}."));
    store.publish_on_branch(&ann, "next", tried).await.unwrap();
    store
        .publish(&bob, document("Newts", "Newts swim."))
        .await
        .unwrap();
    let erased = store.erase_person(&ann).await.unwrap();
    assert!(erased.left == 0 && erased.swept, "{erased:?}");
    let admin = House::admin(&url).await;
    assert_eq!(list_files_with_leak(&admin).await, Vec::<String>::new());
    assert_eq!(store.list_all_own_published(&bob).await.unwrap().len(), 1);
}

/// Two names are those of shelves, too; a shelf keeps its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_named_like_a_shelf_is_erased_too() {
    let url = database().await;
    let store = open(options(&url)).await;
    let bob = user("bob");
    let thing = document("Newts", "Newts swim.");
    store.publish(&bob, thing.clone()).await.unwrap();
    for name in ["public", "paid"] {
        let odd = user(name);
        store.publish(&odd, thing.clone()).await.unwrap();
        store
            .create_snapshot(&odd, &format!("of-{name}"))
            .await
            .unwrap();
        let erased = store.erase_person(&odd).await.unwrap();
        assert_eq!(erased.left, 0, "{name}: {erased:?}");
        assert!(erased.audit_lines >= 2, "{name}: {erased:?}");
        let audit = store.list_audit_lines(&bob, 100).await.unwrap();
        assert!(audit.iter().all(|line| line.who != name), "{audit:?}");
    }
    assert_eq!(store.list_all_own_published(&bob).await.unwrap().len(), 1);
}

/// Lists the tables that have a row with a word, read by the administrator, whom no policy holds.
async fn list_tables_with(admin: &Client, word: &str) -> Vec<String> {
    let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'reprise_global'";
    let mut found = Vec::new();
    for row in admin.query(tables, &[]).await.unwrap() {
        let table: String = row.get(0);
        let rows = format!("SELECT count(*) FROM reprise_global.{table} t WHERE t::text LIKE $1");
        let rows = admin.query_one(&rows, &[&format!("%{word}%")]).await;
        if rows.unwrap().get::<_, i64>(0) > 0 {
            found.push(table);
        }
    }
    found
}

/// Others take a thing down and refuse one, and give her name as the reason.
async fn name_annabel_in_reasons_of_others(store: &PostgresStore) {
    let (mia, oda) = (member("mia", "acme"), member("oda", "acme"));
    let thing = with_policy(AccessPolicy::Org, document("Voles", "Voles dig."));
    let voles = store.publish(&mia, thing).await.unwrap().id;
    let order = TakeDown {
        reason: "ask annabel".to_owned(),
        leaked: false,
    };
    store.take_down(&oda, voles, &order).await.unwrap();
    let settings = OrganisationSettings { review: true };
    store.change_organisation(&oda, settings).await.unwrap();
    let thing = with_policy(AccessPolicy::Org, document("Owls", "Owls fly."));
    let owls = store.publish(&mia, thing).await.unwrap().id;
    let verdict = SubmissionVerdict {
        approve: false,
        reason: Some("annabel wrote it".to_owned()),
    };
    store.review_submission(&oda, owls, &verdict).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_person_who_was_erased_no_row_has_the_name() {
    let url = database().await;
    let store = open(options(&url)).await;
    let (ann, bob) = (user("annabel"), user("bob"));
    let thing = document("Newts", "Newts swim.");
    let newts = store.publish(&bob, thing).await.unwrap().id;
    // As an operator, in a reason, as the name of a snapshot and of another's token.
    let order = TakeDown {
        reason: "annabel saw it, ask annabel.".to_owned(),
        leaked: false,
    };
    store.take_down(&ann, newts, &order).await.unwrap();
    store.create_snapshot(&ann, "annabel").await.unwrap();
    store.create_snapshot(&ann, "annabel-may").await.unwrap();
    store.create_snapshot(&bob, "for.annabel").await.unwrap();
    name_annabel_in_reasons_of_others(&store).await;
    let edit = |all: &mut Vec<KeptToken>| {
        all.push(KeptToken {
            name: "annabel-laptop".to_owned(),
            hashes: vec!["hash".to_owned()],
            entry: "{\"name\":\"annabel-laptop\",\"scope\":{\"user\":\"bob\"}}".to_owned(),
            used: None,
        });
        let name = Some("annabel-laptop {\"may\":[]}".to_owned());
        let line = AuditLine::new(SystemClock.now(), "olga", "grant");
        Some(AuditLine { name, ..line })
    };
    store.change_tokens(Box::new(edit)).await.unwrap();
    // Columns of a later version: one that is for all rows, one behind a policy.
    let admin = House::admin(&url).await;
    let later = "ALTER TABLE reprise_global.rating ADD COLUMN note text; \
         INSERT INTO reprise_global.rating VALUES \
         (gen_random_uuid(), gen_random_uuid(), 1, now(), 'by annabel'); \
         ALTER TABLE reprise_global.taken_down ADD COLUMN note text; \
         UPDATE reprise_global.taken_down SET note = 'for annabel' WHERE author = 'bob'";
    admin.batch_execute(later).await.unwrap();
    let erased = store.erase_person(&ann).await.unwrap();
    assert_eq!(erased.left, 1, "the later column is counted: {erased:?}");
    let found = list_tables_with(&admin, "annabel").await;
    assert_eq!(found, ["taken_down"], "and nothing else has the name");
    let mend = "UPDATE reprise_global.taken_down SET note = ''";
    admin.batch_execute(mend).await.unwrap();
    let erased = store.erase_person(&ann).await.unwrap();
    assert_eq!(erased.left, 0, "{erased:?}");
    assert_eq!(
        list_tables_with(&admin, "annabel").await,
        Vec::<String>::new()
    );
    let told = store.list_own_taken_down(&bob).await.unwrap();
    assert!(told[0].operator.as_str().starts_with("erased-"), "{told:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_embeds_nothing_twice_and_a_changed_text_is_a_new_version() {
    let url = database().await;
    let embedded = Arc::new(AtomicUsize::new(0));
    let (counted, vectors) = (Arc::clone(&embedded), word_vectors());
    let mut options = options(&url);
    options.vectors = Arc::new(move |text| {
        counted.fetch_add(1, Ordering::SeqCst);
        vectors(text)
    });
    let store = open(options).await;
    let ann = user("ann");
    let (newts, otters) = (
        document("Newts", "Newts swim."),
        document("Otters", "They dive."),
    );
    let both = vec![newts.clone(), otters.clone()];
    assert_eq!(store.import(&ann, both).await.unwrap().published, 2);
    embedded.store(0, Ordering::SeqCst);
    let changed = Publication {
        content: "Newts swim at night.".to_owned(),
        ..newts
    };
    let next = vec![changed.clone(), otters];
    assert_eq!(store.import(&ann, next.clone()).await.unwrap().published, 1);
    assert_eq!(embedded.load(Ordering::SeqCst), 1, "the changed one alone");
    assert_eq!(store.import(&ann, next).await.unwrap().published, 0);
    let own = store.list_all_own_published(&ann).await.unwrap();
    let found = own.iter().find(|one| one.publication == changed).unwrap();
    assert_eq!((own.len(), found.version.0), (2, 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_without_room_is_unavailable_for_a_while() {
    let url = database().await;
    let store = open(options(&url)).await;
    let no_room = "CREATE FUNCTION reprise_global.no_room() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$; \
         CREATE TRIGGER no_room BEFORE INSERT ON reprise_global.thing \
         EXECUTE FUNCTION reprise_global.no_room()";
    let admin = House::admin(&url).await;
    admin.batch_execute(no_room).await.unwrap();
    let refused = store
        .publish(&user("ann"), document("Newts", "They swim."))
        .await;
    let refused = refused.unwrap_err();
    assert!(
        matches!(refused, GlobalError::Unavailable { .. }),
        "{refused}"
    );
    assert!(refused.to_string().contains("53100"), "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_of_a_database_are_found_by_every_node_and_changed_as_one_step() {
    let url = database().await;
    let one = open(options(&url)).await;
    let two = open(options(&url)).await;
    let now = SystemClock.now();
    let token = |name: &str, hash: &str| KeptToken {
        name: name.to_owned(),
        hashes: vec![hash.to_owned()],
        entry: "{\"scope\":{\"user\":\"ann\"}}".to_owned(),
        used: None,
    };
    let add = |store: PostgresStore, new: KeptToken| async move {
        let line = AuditLine::new(now, "olga", "grant");
        let edit = |all: &mut Vec<KeptToken>| {
            all.push(new);
            Some(line)
        };
        store.change_tokens(Box::new(edit)).await
    };
    let many = (0..8).map(|n| {
        let store = if n % 2 == 0 { one.clone() } else { two.clone() };
        add(store, token(&format!("t{n}"), &format!("hash{n}")))
    });
    let many: Vec<_> = many.map(tokio::spawn).collect();
    for task in many {
        task.await.unwrap().unwrap();
    }
    assert_eq!(one.list_tokens().await.unwrap().len(), 8, "none is lost");
    assert_eq!(
        two.find_token_and_note_use("hash3")
            .await
            .unwrap()
            .unwrap()
            .name,
        "t3"
    );
    assert!(one.list_tokens().await.unwrap()[3].used.is_some());
    assert!(
        two.find_token_and_note_use("hash9")
            .await
            .unwrap()
            .is_none()
    );
    let gone = |all: &mut Vec<KeptToken>| {
        all.retain(|token| token.name != "t3");
        Some(AuditLine::new(now, "olga", "revoke"))
    };
    one.change_tokens(Box::new(gone)).await.unwrap();
    assert!(
        two.find_token_and_note_use("hash3")
            .await
            .unwrap()
            .is_none(),
        "from the next request on"
    );
    let without_line = |all: &mut Vec<KeptToken>| {
        all.clear();
        None
    };
    one.change_tokens(Box::new(without_line)).await.unwrap();
    assert_eq!(two.list_tokens().await.unwrap().len(), 7);
    let told = one.list_audit_lines(&user("olga"), 1).await.unwrap();
    assert_eq!(
        (told[0].who.as_str(), told[0].what.as_str()),
        ("olga", "revoke")
    );
}
