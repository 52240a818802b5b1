//! The statements of every question. `/*open*/(...)` marks what the policies of the tables ask too.

use chrono::{DateTime, Utc};
use reprise_engine::bm25_parameters;

use super::connect::literal;
use super::sample::SMALL;

/// The columns of [`super::sql::decode_record_row`].
const COLUMNS: &str = "t.shelf, t.id, t.version, t.author, t.publication, t.checksum, t.since";
/// The shelves open to the caller, and the one that holds a thing of his own.
const OPEN_OR_OWN: &str = "/*open*/(t.shelf = ANY($1::text[] || ARRAY( \
     SELECT a.shelf FROM reprise_global.authored a \
     WHERE /*open*/(a.author = $3) AND a.id = $2)))";

/// What a question narrows its candidates to: `$3` are types or null, `$4` the instant or null.
const NARROWED: &str = "($3::text[] IS NULL OR s.content_type = ANY($3))";
/// The newest versions, and those of an instant.
const NOW: &str = "s.until IS NULL AND $4::timestamptz IS NULL";
const THEN: &str = "s.since <= $4 AND (s.until IS NULL OR s.until > $4)";
const OPEN: &str = "/*open*/(s.shelf = ANY($1))";

fn version_condition(at: Option<DateTime<Utc>>) -> &'static str {
    if at.is_some() { THEN } else { NOW }
}

/// A question's vector, cast once: a parameter's cast is made anew for each row.
const ASKED: &str = "(SELECT $2::real[]::halfvec)";
/// Returns the SQL expression of a version's cosine with the question's vector.
fn cosine_expression() -> String {
    format!("(1 - (s.embedding <=> {ASKED}))::float4 AS cosine")
}

/// One shelf at a time: its index of vectors is its own, and so is its place in a cluster.
const ON: &str = "/*open*/(s.shelf = $1)";

/// Written out, the shelf is known to have an index whatever plan is kept of the statement.
pub(super) fn index(shelf: &str, at: Option<DateTime<Utc>>) -> String {
    format!(
        "SELECT s.id, s.version, s.head, s.terms, {} \
         FROM reprise_global.search s WHERE {ON} AND s.shelf = {} AND {NARROWED} AND {} \
         ORDER BY s.embedding <=> {ASKED} LIMIT $5",
        cosine_expression(),
        literal(shelf),
        version_condition(at)
    )
}

pub(super) fn exact(at: Option<DateTime<Utc>>) -> String {
    format!(
        "SELECT x.*, avg(cosine) OVER w, stddev_pop(cosine) OVER w, count(*) OVER w FROM ( \
         SELECT s.id, s.version, s.head, s.terms, {} FROM reprise_global.search s \
         WHERE {ON} AND {NARROWED} AND {} AND s.embedding IS NOT NULL OFFSET 0) x \
         WINDOW w AS () ORDER BY cosine DESC LIMIT $5",
        cosine_expression(),
        version_condition(at)
    )
}

/// What a term says of a thing, `$5` being the mean of all heads. A number without its type would
/// be a `numeric`, which takes as long again as all the rest.
fn word_score_expression() -> String {
    let [saturation, slope] = bm25_parameters();
    format!(
        "q.weight * {above}::real * s.count / \
         (s.count + {saturation}::real * ({flat}::real + {slope}::real * s.head / $5::real))",
        above = saturation + 1.0,
        flat = 1.0 - slope
    )
}

/// What the terms `$6`, with weights `$7` and shares `$8`, bring forward, `$13` rows of each; the
/// best `$9` of it is weighed by the terms `$10` too, which so many things hold that they are read
/// of these alone, all of them at once since they are next to each other; and the best `$14` of
/// that, so far as it is asked for, is compared with the question.
pub(super) fn words(at: Option<DateTime<Utc>>) -> String {
    let said = word_score_expression();
    format!(
        "WITH found AS MATERIALIZED (SELECT s.shelf, s.id, s.version, \
         sum({said}) AS words, sum(q.share) AS share, true AS brought \
         FROM unnest($6::int8[], $7::real[], $8::real[]) AS q(token, weight, share) \
         CROSS JOIN LATERAL (SELECT * FROM reprise_global.posting s \
         WHERE s.token = q.token AND {OPEN} LIMIT $13) s \
         GROUP BY s.shelf, s.id, s.version ORDER BY words DESC, s.id LIMIT $9) \
         SELECT f.id, f.version, x.head, x.terms, x.cosine, f.words::float4, f.share::float4 \
         FROM (SELECT shelf, id, version, sum(words) AS words, sum(share) AS share \
         FROM (SELECT * FROM found UNION ALL \
         SELECT s.shelf, s.id, s.version, {said}, q.share, false \
         FROM unnest($10::int8[], $11::real[], $12::real[]) AS q(token, weight, share) \
         JOIN reprise_global.posting s ON s.token = q.token AND {OPEN} \
         AND s.id = ANY(ARRAY(SELECT id FROM found))) every \
         GROUP BY shelf, id, version HAVING bool_or(brought) \
         ORDER BY words DESC, id LIMIT $14) f \
         CROSS JOIN LATERAL (SELECT s.head, s.terms, {} \
         FROM reprise_global.search s WHERE s.shelf = f.shelf AND s.id = f.id \
         AND s.version = f.version AND {NARROWED} AND {} OFFSET 0) x",
        cosine_expression(),
        version_condition(at)
    )
}

/// How many things hold each word, and no more than are to be counted. Read in the order of the
/// index, however many the planner believes there are: it stops there.
pub(super) fn holding() -> String {
    format!(
        "SELECT q.token, few.count FROM unnest($2::int8[]) AS q(token) \
         CROSS JOIN LATERAL (SELECT count(*) FROM (SELECT FROM reprise_global.posting s \
         WHERE s.shelf = $1 AND s.token = q.token ORDER BY s.id LIMIT {}) one) few",
        SMALL + 1
    )
}

pub(super) fn postings() -> String {
    format!(
        "SELECT s.id, s.version, s.token, s.count FROM reprise_global.posting s \
         WHERE {OPEN} AND s.token = ANY($2) AND s.id = ANY($3)"
    )
}

pub(super) fn likeness() -> String {
    "SELECT s.id, s.version, (1 - (s.embedding <=> b.embedding))::float4 \
     FROM reprise_global.search b JOIN reprise_global.search s ON s.id = ANY($2) \
     WHERE /*open*/(b.shelf = ANY($1)) AND b.id = $3 AND b.version = $4 \
     AND /*open*/(s.shelf = ANY($1)) AND s.embedding IS NOT NULL"
        .to_owned()
}

/// Reads the vector of a version that is published now.
pub(super) fn vector() -> String {
    format!(
        "SELECT s.embedding::real[] FROM reprise_global.search s \
         WHERE {OPEN} AND s.id = $2 AND s.version = $3 AND s.until IS NULL"
    )
}

pub(super) fn texts() -> String {
    format!(
        "SELECT {COLUMNS} FROM reprise_global.thing t \
         JOIN unnest($2::uuid[], $3::int4[]) AS w(id, version) \
         ON t.id = w.id AND t.version = w.version WHERE /*open*/(t.shelf = ANY($1))"
    )
}

pub(super) fn get() -> String {
    format!(
        "SELECT {COLUMNS}, s.embedding::real[] FROM reprise_global.thing t \
         LEFT JOIN reprise_global.search s \
         ON s.shelf = t.shelf AND s.id = t.id AND s.version = t.version \
         WHERE {OPEN_OR_OWN} AND t.id = $2 AND t.until IS NULL"
    )
}

pub(super) fn versions() -> String {
    format!(
        "SELECT {COLUMNS} FROM reprise_global.thing t WHERE {OPEN_OR_OWN} AND t.id = $2 \
         AND ($4::int4 IS NULL OR t.version = $4) ORDER BY t.version DESC LIMIT $5 OFFSET $6"
    )
}

pub(super) fn published() -> String {
    format!(
        "SELECT {COLUMNS} FROM reprise_global.authored a JOIN reprise_global.thing t \
         ON t.shelf = a.shelf AND t.id = a.id AND t.version = a.version \
         WHERE /*open*/(a.author = $1) ORDER BY t.since DESC, t.id LIMIT $2 OFFSET $3"
    )
}

pub(super) fn all() -> Vec<(&'static str, String)> {
    vec![
        ("by meaning, index", index("public", None)),
        ("by meaning, exact", exact(None)),
        ("by words", words(None)),
        ("holding", holding()),
        ("postings", postings()),
        ("likeness", likeness()),
        ("vector", vector()),
        ("texts", texts()),
        ("get", get()),
        ("versions", versions()),
        ("published", published()),
    ]
}
