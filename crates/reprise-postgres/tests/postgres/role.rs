//! As whom the store asks: a role that cannot take the wall down.

use reprise_conformance::{document, user};
use reprise_global::GlobalStore;
use reprise_postgres::{PostgresOptions, PostgresStore};

use super::house::{House, ROLE, SERVING, database, options};
use super::list_titles;

/// Options with a serving role of this test's own, which an administrator prepares by `statements`.
async fn prepare_options(role: &str, statements: &str) -> PostgresOptions {
    let url = database().await;
    let admin = House::admin(&url).await;
    admin.batch_execute(statements).await.unwrap();
    let mut options = options(&url);
    role.clone_into(&mut options.serving_role);
    options
}

async fn open_and_expect_refusal(options: PostgresOptions) -> String {
    let refused = PostgresStore::open(options).await.unwrap_err().to_string();
    assert!(!refused.contains('\n') && refused.len() < 400, "{refused}");
    refused
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_serves_can_neither_open_the_tables_nor_rewrite_the_audit_log() {
    let url = database().await;
    let store = PostgresStore::open(options(&url)).await.unwrap();
    let thing = document("Otters", "Otters hold hands.");
    store.publish(&user("ann"), thing).await.unwrap();
    let client = House::client(&url).await;
    let role = format!("SET ROLE {SERVING}");
    client.batch_execute(&role).await.unwrap();
    for statement in [
        "ALTER TABLE reprise_global.thing DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE reprise_global.thing NO FORCE ROW LEVEL SECURITY",
        "ALTER TABLE reprise_global.thing OWNER TO reprise_serving",
        "DROP POLICY reading ON reprise_global.thing",
        "CREATE POLICY all_of_it ON reprise_global.thing FOR SELECT USING (true)",
        "DROP TABLE reprise_global.search",
        "TRUNCATE reprise_global.posting",
        "CREATE TABLE reprise_global.mine (id int)",
        "UPDATE reprise_global.audit SET who = 'nobody'",
        "DELETE FROM reprise_global.audit",
        "DELETE FROM reprise_global.schema_version",
        "UPDATE reprise_global.setting SET value = 'known'",
        "ALTER ROLE reprise_serving BYPASSRLS",
    ] {
        let refused = client.batch_execute(statement).await.unwrap_err();
        let code = refused.code().map(|code| code.code().to_owned());
        assert_eq!(code.as_deref(), Some("42501"), "{statement}: {refused}");
    }
    // The store's own connections are of that role: without its rights they have none.
    let admin = House::admin(&url).await;
    let taken = format!("REVOKE ALL ON ALL TABLES IN SCHEMA reprise_global FROM {SERVING}");
    admin.batch_execute(&taken).await.unwrap();
    assert!(store.list_all_own_published(&user("ann")).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_that_may_make_roles_makes_the_one_that_serves() {
    let mut options = prepare_options("made at first use", "").await;
    let admin = House::admin(&options.url).await;
    let name = options.url.rsplit('=').next().unwrap().to_owned();
    admin
        .batch_execute(&format!(
            "CREATE ROLE maker LOGIN CREATEROLE; GRANT CREATE ON DATABASE {name} TO maker"
        ))
        .await
        .unwrap();
    options.url = options.url.replace(&format!("user={ROLE}"), "user=maker");
    for _ in 0..2 {
        let store = PostgresStore::open(options.clone()).await.unwrap();
        let thing = document("Otters", "Otters hold hands.");
        store.publish(&user("ann"), thing).await.unwrap();
        assert_eq!(list_titles(&store, "otters").await, ["Otters"]);
        store.maintain().await.unwrap();
    }
    let made = "SELECT rolsuper OR rolbypassrls OR rolcanlogin FROM pg_roles \
         WHERE rolname = 'made at first use'";
    let made = admin.query_one(made, &[]).await.unwrap();
    assert!(!made.get::<_, bool>(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_without_another_role_serves_only_where_that_is_said() {
    let missing = prepare_options("nobody_made_it", "").await;
    let said = open_and_expect_refusal(missing.clone()).await;
    let way =
        format!("CREATE ROLE \"nobody_made_it\" NOLOGIN; GRANT \"nobody_made_it\" TO \"{ROLE}\"");
    assert!(said.contains(&way), "{said}");
    let not_ours = prepare_options("not_ours", "CREATE ROLE not_ours").await;
    assert!(
        open_and_expect_refusal(not_ours)
            .await
            .contains("GRANT \"not_ours\"")
    );
    let above = "CREATE ROLE above_it BYPASSRLS; GRANT above_it TO reprise";
    let said = open_and_expect_refusal(prepare_options("above_it", above).await).await;
    assert!(said.contains("bypasses the policies"), "{said}");
    let same = "CREATE ROLE as_owner; GRANT reprise TO as_owner";
    let said = open_and_expect_refusal(prepare_options("as_owner", same).await).await;
    assert!(said.contains("owns them too"), "{said}");
    let as_owner = PostgresOptions {
        serves_as_owner: true,
        ..missing
    };
    let store = PostgresStore::open(as_owner).await.unwrap();
    let thing = document("Otters", "Otters hold hands.");
    store.publish(&user("ann"), thing).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_owns_nothing_serves_as_itself_once_the_tables_stand() {
    let url = database().await;
    let member = format!("CREATE ROLE web LOGIN IN ROLE {SERVING}");
    House::admin(&url)
        .await
        .batch_execute(&member)
        .await
        .unwrap();
    let web = url.replace(&format!("user={ROLE}"), "user=web");
    assert!(
        open_and_expect_refusal(options(&web))
            .await
            .contains("give it CREATE")
    );
    drop(PostgresStore::open(options(&url)).await.unwrap());
    let store = PostgresStore::open(options(&web)).await.unwrap();
    let ann = user("ann");
    let thing = document("Otters", "Otters hold hands.");
    let id = store.publish(&ann, thing).await.unwrap().id;
    assert_eq!(list_titles(&store, "otters").await, ["Otters"]);
    store.rate(&user("bob"), id, 0.5).await.unwrap();
    store.create_snapshot(&ann, "monday").await.unwrap();
    assert!(
        !store.maintain().await.unwrap(),
        "its owner looks after the tables"
    );
    store.unpublish(&ann, id).await.unwrap();
}
