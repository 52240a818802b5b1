//! Reviews: what a member publishes for an organisation that asks for a second pair of eyes, and
//! what says nearly the same as what was taken down, is a draft on a branch that no author can
//! name, until somebody else to whom its shelf is open approves or refuses it.

use deadpool_postgres::{Object, Transaction};
use reprise_global::backend::{
    Drafting, PublishedState, ReviewCause, author_as_caller, check_reviewer,
    check_submission_count, decide_draft, decide_publish, organisation_shelf, refused_before_error,
    submission_changed_error,
};
use reprise_global::{
    AuditLine, Caller, DecisionReport, GlobalError, ListPage, OrganisationSettings, OwnSubmission,
    Published, Shelf, Submission, SubmissionVerdict, Unpublished,
};
use reprise_types::RecordId;
use tokio_postgres::Row;
use uuid::Uuid;

use super::connect::{Failure, get_connection, literal};
use super::drafts::{
    REVIEW_PREFIX, delete_draft, delete_draft_text, list_review_branches, read_draft_and_published,
    review_branch, reviewed_shelf,
};
use super::node::{CHANGE_TIME, Node, NodeState, begin_change, begin_read_within};
use super::sql::{
    SqlParameters, append_audit_line, change, damaged_row_error, decode_publication,
    limit_and_offset, one, record_id, row, rows, uuid, version,
};
use super::things::{
    Prepared, PublishAs, append_audit_entry, apply_drafting, find_near_taken_down, is_gone,
    publish_in, refuse_taken_down,
};

/// Who publishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PublishedBy {
    Author,
    /// An operator, whom no organisation asks for a review.
    Import,
}

async fn read_settings(
    transaction: &Transaction<'_>,
    shelf: &Shelf,
) -> Result<OrganisationSettings, Failure> {
    let statement = "SELECT review FROM reprise_global.organisation WHERE shelf = $1";
    let found = row(transaction, statement, &[&shelf.to_string()]).await?;
    Ok(
        found.map_or_else(OrganisationSettings::default, |row| OrganisationSettings {
            review: row.get(0),
        }),
    )
}

/// Finds why a publication waits for a review: it says nearly the same as what was taken down, or
/// is for all members of an organisation that asks for reviews of what authors publish.
pub(super) async fn find_review_cause(
    transaction: &Transaction<'_>,
    prepared: &Prepared,
    by: PublishedBy,
) -> Result<Option<ReviewCause>, Failure> {
    let near = find_near_taken_down(transaction, &[prepared.vector.as_deref()]).await?;
    if let Some(id) = near.into_iter().flatten().next() {
        return Ok(Some(ReviewCause::NearTakenDown(id)));
    }
    let shelf = &prepared.shelf;
    let may_be_asked = by == PublishedBy::Author && matches!(shelf, Shelf::Org(_));
    let is_asked = may_be_asked && read_settings(transaction, shelf).await?.review;
    Ok(is_asked.then_some(ReviewCause::Organisation))
}

pub(super) async fn read_organisation(
    node: &Node,
    caller: &Caller,
) -> Result<OrganisationSettings, Failure> {
    let shelf = organisation_shelf(caller)?;
    let mut client = get_connection(&node.pool).await?;
    let transaction = begin_read_within(CHANGE_TIME, &mut client, caller, "").await?;
    read_settings(&transaction, &shelf).await
}

pub(super) async fn change_organisation(
    node: &Node,
    operator: &Caller,
    settings: OrganisationSettings,
) -> Result<OrganisationSettings, Failure> {
    let shelf = organisation_shelf(operator)?.to_string();
    let mut client = get_connection(&node.pool).await?;
    let transaction = begin_change(&mut client, operator).await?;
    let statement = "INSERT INTO reprise_global.organisation (shelf, review) VALUES ($1, $2) \
         ON CONFLICT (shelf) DO UPDATE SET review = excluded.review";
    change(&transaction, statement, &[&shelf, &settings.review]).await?;
    let said = if settings.review { "on" } else { "off" };
    let line = AuditLine {
        name: Some(shelf),
        reason: Some(format!("review {said}")),
        ..AuditLine::new(node.options.clock.now(), operator.user.as_str(), "settings")
    };
    append_audit_line(&transaction, &line).await?;
    transaction.commit().await.map_err(Failure::Commit)?;
    Ok(settings)
}

/// Lets a publication wait for its review, as a part of a transaction.
pub(super) async fn submit(
    shared: &NodeState,
    transaction: &Transaction<'_>,
    caller: &Caller,
    prepared: &Prepared,
    cause: ReviewCause,
) -> Result<Published, Failure> {
    let (author, branch) = (caller.user.as_str(), review_branch(&prepared.shelf));
    let (publication, checksum) = (&prepared.publication, prepared.publication.checksum());
    // Two who change the same follow each other.
    let lock = "SELECT FROM reprise_global.draft \
         WHERE author = $1 AND branch = $2 AND origin = $3 FOR UPDATE";
    row(transaction, lock, &[&author, &branch, &publication.origin]).await?;
    let others = "SELECT count(*) FROM reprise_global.draft \
         WHERE author = $1 AND branch = $2 AND origin <> $3 AND refused IS NULL";
    let others = one(
        transaction,
        others,
        &[&author, &branch, &publication.origin],
    )
    .await?;
    let (before, standing) =
        read_draft_and_published(transaction, caller, &branch, &publication.origin).await?;
    let given = (&prepared.shelf, checksum.as_str());
    let decided = decide_draft(&branch, standing.as_ref(), before.as_ref(), 0, given)?;
    if let Drafting::Unchanged(id, _) = decided {
        let refused = "SELECT refused FROM reprise_global.draft \
             WHERE author = $1 AND branch = $2 AND origin = $3";
        let refused = one(
            transaction,
            refused,
            &[&author, &branch, &publication.origin],
        )
        .await?;
        if let Some(reason) = refused.get::<_, Option<&str>>(0) {
            return Err(refused_before_error(id, reason).into());
        }
    }
    if let Drafting::Replace(..) = decided {
        check_submission_count(others.get::<_, i64>(0).try_into().unwrap_or(usize::MAX))?;
        refuse_taken_down(transaction, author, publication).await?;
    }
    let drafts = (before, standing, decided);
    let mut published =
        apply_drafting(shared, transaction, caller, &branch, prepared, drafts).await?;
    published.awaits_review = !matches!(decided, Drafting::Withdrawn(..));
    if !published.unchanged {
        let near = cause.near_taken_down();
        let statement = "UPDATE reprise_global.draft SET near_taken_down = $4 \
             WHERE author = $1 AND branch = $2 AND origin = $3";
        let origin = &publication.origin;
        let given: SqlParameters<'_> = &[&author, &branch, origin, &near.map(uuid)];
        change(transaction, statement, given).await?;
        let line = AuditLine {
            id: Some(published.id),
            version: Some(published.version.0),
            name: Some(prepared.shelf.to_string()),
            reason: near.map(|near| format!("nearly the same as {near}, which was taken down")),
            ..AuditLine::new(shared.node.options.clock.now(), author, "submit")
        };
        append_audit_line(transaction, &line).await?;
    }
    Ok(published)
}

/// Takes back what waits for a review, or what is left of a refusal; `None` if the caller has no
/// such submission.
pub(super) async fn withdraw_submission(
    client: &mut Object,
    caller: &Caller,
    id: RecordId,
) -> Result<Option<Unpublished>, Failure> {
    let (author, key) = (caller.user.as_str(), uuid(id));
    let transaction = begin_change(client, caller).await?;
    let statement = format!(
        "SELECT branch FROM reprise_global.draft WHERE author = $1 AND id = $2 \
         AND starts_with(branch, '{REVIEW_PREFIX}') FOR UPDATE"
    );
    let Some(found) = row(&transaction, &statement, &[&author, &key]).await? else {
        return Ok(None);
    };
    let branch: String = found.get(0);
    let tokens = delete_draft(&transaction, caller, &branch, key).await?;
    let shelf = reviewed_shelf(&branch);
    let what = "unpublish";
    append_audit_entry(&transaction, caller, what, Some(key), Some(1), Some(shelf)).await?;
    transaction.commit().await.map_err(Failure::Commit)?;
    let shelf = caller.branch_shelf(&branch).to_string();
    Ok(Some(Unpublished {
        id,
        versions: 1,
        verified: is_gone(client, caller, &shelf, (key, &tokens)).await?,
    }))
}

/// What waits on a branch of reviews, with the text: `d` is the draft and `t` the text.
const WAITING: &str = "SELECT d.author, d.id, d.replaces, d.base, d.checksum, t.since, \
     t.publication, d.branch, d.near_taken_down FROM reprise_global.draft d JOIN reprise_global.thing t \
     ON t.shelf = 'branch:' || d.author || '/' || d.branch AND t.id = d.id \
     AND t.version = d.base + 1 WHERE d.branch = ANY($1) AND d.refused IS NULL";

/// Returns the setting that shows a transaction what waits on branches of reviews.
fn review_setting(branches: &[String]) -> String {
    format!(
        "SET LOCAL reprise.review = {};",
        literal(&branches.join(","))
    )
}

/// A draft that waits, with the id of the draft itself and the name of its branch.
struct WaitingDraft {
    draft: Uuid,
    branch: String,
    submission: Submission,
}

fn decode_waiting_draft(row: &Row) -> Result<WaitingDraft, Failure> {
    let (draft, replaces): (Uuid, Option<Uuid>) = (row.get(1), row.get(2));
    let id = record_id(replaces.unwrap_or(draft));
    let author: &str = row.get(0);
    Ok(WaitingDraft {
        draft,
        branch: row.get(7),
        submission: Submission {
            id,
            author: author
                .parse()
                .map_err(|_| damaged_row_error(id, "author"))?,
            version: version(row.get::<_, i32>(3) + 1),
            checksum: row.get(4),
            submitted_at: row.get(5),
            publication: decode_publication(id, row.get(6))?,
            near_taken_down: row.get::<_, Option<Uuid>>(8).map(record_id),
        },
    })
}

pub(super) async fn list_submissions(
    node: &Node,
    reviewer: &Caller,
    page: ListPage,
) -> Result<Vec<Submission>, Failure> {
    let branches = list_review_branches(reviewer);
    let mut client = get_connection(&node.pool).await?;
    let setting = review_setting(&branches);
    let transaction = begin_read_within(CHANGE_TIME, &mut client, reviewer, &setting).await?;
    let statement = format!("{WAITING} ORDER BY t.since, d.id LIMIT $2 OFFSET $3");
    let [limit, offset] = limit_and_offset(page);
    let found = rows(&transaction, &statement, &[&branches, &limit, &offset]).await?;
    let waiting = found.iter().map(decode_waiting_draft);
    waiting.map(|one| Ok(one?.submission)).collect()
}

pub(super) async fn list_own_submissions(
    node: &Node,
    caller: &Caller,
) -> Result<Vec<OwnSubmission>, Failure> {
    let mut client = get_connection(&node.pool).await?;
    let transaction = begin_read_within(CHANGE_TIME, &mut client, caller, "").await?;
    let statement = format!(
        "SELECT coalesce(d.replaces, d.id), d.base, d.refused, t.since, t.publication, \
         d.near_taken_down \
         FROM reprise_global.draft d LEFT JOIN reprise_global.thing t \
         ON t.shelf = 'branch:' || d.author || '/' || d.branch AND t.id = d.id \
         AND t.version = d.base + 1 WHERE d.author = $1 \
         AND starts_with(d.branch, '{REVIEW_PREFIX}') ORDER BY t.since, d.id"
    );
    let found = rows(&transaction, &statement, &[&caller.user.as_str()]).await?;
    let decode = |row: &Row| {
        let id = record_id(row.get(0));
        let text: Option<&str> = row.get(4);
        let publication = text.map(|text| decode_publication(id, text)).transpose()?;
        Ok(OwnSubmission {
            id,
            version: version(row.get::<_, i32>(1) + 1),
            title: publication.map(|publication| publication.title),
            submitted_at: row.get(3),
            near_taken_down: row.get::<_, Option<Uuid>>(5).map(record_id),
            refused: row.get(2),
        })
    };
    found.iter().map(decode).collect()
}

/// Finds a submission for a shelf that is open to a reviewer, who is not its author.
async fn find_submission(
    node: &Node,
    reviewer: &Caller,
    id: RecordId,
) -> Result<WaitingDraft, Failure> {
    let mut client = get_connection(&node.pool).await?;
    let branches = list_review_branches(reviewer);
    let setting = review_setting(&branches);
    let transaction = begin_read_within(CHANGE_TIME, &mut client, reviewer, &setting).await?;
    let statement = format!("{WAITING} AND (d.id = $2 OR d.replaces = $2)");
    let found = row(&transaction, &statement, &[&branches, &uuid(id)]).await?;
    let found = decode_waiting_draft(&found.ok_or(GlobalError::NotFound { id })?)?;
    check_reviewer(&found.submission.author, &reviewer.user, id)?;
    Ok(found)
}

/// Approves or refuses a submission. It changes as its author, so that the policies hold a reviewer
/// to that one publication.
pub(super) async fn review(
    shared: &NodeState,
    reviewer: &Caller,
    id: RecordId,
    verdict: &SubmissionVerdict,
) -> Result<DecisionReport, Failure> {
    let node = &shared.node;
    let waiting = find_submission(node, reviewer, id).await?;
    let (draft, branch, submission) = (waiting.draft, waiting.branch, waiting.submission);
    let shelf = reviewed_shelf(&branch).to_owned();
    let author = author_as_caller(submission.author.clone(), &shelf);
    let prepared = if verdict.approve {
        Some(Prepared::new(node, &author, submission.publication.clone()).await?)
    } else {
        None
    };
    let mut client = get_connection(&node.pool).await?;
    let transaction = begin_change(&mut client, &author).await?;
    let lock = "SELECT checksum FROM reprise_global.draft \
         WHERE author = $1 AND branch = $2 AND id = $3 AND refused IS NULL FOR UPDATE";
    let name = author.user.as_str();
    let found = row(&transaction, lock, &[&name, &branch, &draft]).await?;
    let found = found.ok_or(GlobalError::NotFound { id })?;
    if found.get::<_, &str>(0) != submission.checksum {
        return Err(submission_changed_error(id).into());
    }
    let mut published = None;
    if let Some(prepared) = &prepared {
        let decide = |standing: Option<&PublishedState>, checksum: &str| {
            decide_publish(standing, &prepared.shelf, checksum)
        };
        // It keeps the id that its author knows.
        let as_of = PublishAs {
            id: Some(draft),
            at: None,
        };
        let done = publish_in(shared, &transaction, &author, prepared, as_of, decide).await?;
        published = Some(done);
        delete_draft(&transaction, &author, &branch, draft).await?;
    } else {
        let reason = verdict.reason.as_deref().unwrap_or_default();
        refuse_draft(&transaction, &author, &branch, draft, reason).await?;
    }
    let line = new_review_line(node, reviewer, &submission, (&shelf, verdict));
    append_audit_line(&transaction, &line).await?;
    transaction.commit().await.map_err(Failure::Commit)?;
    shared.shelves.note_change(&shelf);
    Ok(DecisionReport {
        id,
        author: author.user,
        published,
    })
}

/// Deletes the text of a draft and leaves the reason to its author.
async fn refuse_draft(
    transaction: &Transaction<'_>,
    author: &Caller,
    branch: &str,
    draft: Uuid,
    reason: &str,
) -> Result<(), Failure> {
    delete_draft_text(transaction, author, branch, draft).await?;
    let statement = "UPDATE reprise_global.draft SET refused = $4 \
         WHERE author = $1 AND branch = $2 AND id = $3";
    let name = author.user.as_str();
    change(transaction, statement, &[&name, &branch, &draft, &reason]).await?;
    Ok(())
}

/// Returns the line of the audit log about a review.
fn new_review_line(
    node: &Node,
    reviewer: &Caller,
    submission: &Submission,
    (shelf, verdict): (&str, &SubmissionVerdict),
) -> AuditLine {
    let what = if verdict.approve { "approve" } else { "refuse" };
    AuditLine {
        id: Some(submission.id),
        version: Some(submission.version.0),
        name: Some(shelf.to_owned()),
        about: Some(submission.author.clone()),
        reason: verdict.reason.clone(),
        checksum: Some(submission.checksum.clone()),
        ..AuditLine::new(node.options.clock.now(), reviewer.user.as_str(), what)
    }
}
