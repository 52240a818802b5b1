//! The tables of the page of those who operate the service.

use chrono::{DateTime, Utc};
use reprise_global::{AuditLine, ListPage, Quota};
use reprise_operations::{Problem, Right};
use reprise_page::{AdminAct, AdminField, AdminRow, AdminTable};
use reprise_types::{RecordId, UserId, format_minute_utc};
use serde_json::json;

use super::{
    APPROVE, ASK_FOR_REVIEWS, Operator, PUT_BACK, REFUSE, REMOVE, REVOKE, SET_QUOTA, TAKE_DOWN,
};
use crate::global::context::ServiceState;
use crate::global::operate::{self, is_of_organisation, list_metrics, token_problem};
use crate::tokens::{Grant, KnownToken, Scope};

/// Lines of a list on the page.
const LINES: usize = 200;

fn row<const CELLS: usize>(cells: [String; CELLS]) -> AdminRow {
    AdminRow {
        cells: cells.into(),
        acts: Vec::new(),
    }
}

pub(super) async fn list_health(state: &ServiceState) -> Vec<AdminTable> {
    let ready = state.ready.check(&state.store).await;
    let ready = ready.map_or_else(|error| error.to_string(), |()| "yes".to_owned());
    let mut rows = vec![
        row(["The store answers".to_owned(), ready]),
        row(["Version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()]),
        row([
            "Requests that could begin now".to_owned(),
            state.places.available_permits().to_string(),
        ]),
        row([
            "Questions that are let in at once now".to_owned(),
            state.questions.limit_now().to_string(),
        ]),
    ];
    let metrics = list_metrics(state).await.unwrap_or_default();
    rows.extend(
        metrics
            .iter()
            .map(|one| row([one.help.to_owned(), one.value.to_string()])),
    );
    vec![AdminTable {
        title: "This node",
        heads: &["What", "Now"],
        rows,
        ..AdminTable::default()
    }]
}

pub(super) async fn list_people(
    state: &ServiceState,
    operator: &Operator,
) -> Result<Vec<AdminTable>, Problem> {
    let caller = &operator.known.caller;
    let members = operate::list_members(state, caller).await?;
    let own = |org: &Option<String>| is_of_organisation(caller, org.as_deref());
    let people = members.iter().map(|member| {
        let projects: Vec<&str> = member
            .projects
            .iter()
            .map(reprise_global::ProjectId::as_str)
            .collect();
        let remove = own(&member.org).then(|| AdminAct {
            label: "Remove",
            about: member.user.to_string(),
            address: REMOVE,
            fields: vec![("subject", member.user.to_string())],
            asks: vec![AdminField::required("confirm", "Type the name")],
        });
        AdminRow {
            cells: vec![
                member.user.to_string(),
                member.org.clone().unwrap_or_default(),
                projects.join(", "),
                describe_rights(&member.may),
                format!("{} and {} invited", member.tokens, member.invitations),
                format_or_never(member.used),
            ],
            acts: remove.into_iter().collect(),
        }
    });
    let known = state
        .tokens
        .list()
        .await
        .map_err(|error| token_problem(&error))?;
    let tokens = known.iter().filter_map(|token| {
        let (Scope::User(user), Some(grant)) = (&token.entry.scope, &token.entry.grant) else {
            return None;
        };
        own(&grant.org).then(|| row_of_token(token, user, grant))
    });
    Ok(vec![
        AdminTable {
            title: "Members",
            why: "To remove somebody revokes all tokens and invitations of the person in your \
                  organisation. What the person published stays.",
            heads: &[
                "User",
                "Organisation",
                "Projects",
                "May",
                "Tokens",
                "Last used",
            ],
            rows: people.collect(),
            empty: "Nobody has a token. `reprise global token invite` invites somebody.",
        },
        AdminTable {
            title: "Tokens and invitations",
            heads: &["Name", "User", "May", "Expires", "Last used"],
            rows: tokens.collect(),
            empty: "There are none.",
            ..AdminTable::default()
        },
    ])
}

fn row_of_token(token: &KnownToken, user: &UserId, grant: &Grant) -> AdminRow {
    AdminRow {
        cells: vec![
            token.entry.name.clone(),
            user.to_string(),
            describe_rights(&grant.may),
            format_or_never(token.entry.expires),
            format_or_never(token.used),
        ],
        acts: vec![AdminAct {
            label: "Revoke",
            about: token.entry.name.clone(),
            address: REVOKE,
            fields: vec![("subject", token.entry.name.clone())],
            asks: Vec::new(),
        }],
    }
}

fn format_or_never(at: Option<DateTime<Utc>>) -> String {
    at.map_or_else(|| "never".to_owned(), format_minute_utc)
}

fn describe_rights(may: &[Right]) -> String {
    let names = may.iter().map(|right| json!(right));
    let names = names.filter_map(|name| name.as_str().map(str::to_owned));
    names.collect::<Vec<_>>().join(", ")
}

pub(super) async fn list_published(
    state: &ServiceState,
    operator: &Operator,
) -> Result<Vec<AdminTable>, Problem> {
    let page = ListPage {
        offset: 0,
        limit: LINES,
    };
    let listed = state
        .store
        .get()?
        .list_catalogue_page(&operator.known.caller, page);
    let rows = listed.await?.into_iter().map(|one| AdminRow {
        cells: vec![
            one.title,
            one.author.to_string(),
            one.shelf,
            one.version.to_string(),
            format_minute_utc(one.published_at),
        ],
        acts: vec![AdminAct {
            label: "Take down",
            about: one.id.to_string(),
            address: TAKE_DOWN,
            fields: vec![("subject", one.id.to_string())],
            asks: vec![AdminField::required("reason", "Reason")],
        }],
    });
    Ok(vec![AdminTable {
        title: "Newest first",
        why: "What is on the shelves that are open to you. An author reads the reason of a \
              take-down; the audit log can put it back.",
        heads: &["Title", "Author", "Shelf", "Version", "Published"],
        rows: rows.collect(),
        empty: "Nothing is published yet.",
    }])
}

pub(super) async fn list_reviews(
    state: &ServiceState,
    operator: &Operator,
) -> Result<Vec<AdminTable>, Problem> {
    let caller = &operator.known.caller;
    let settings = state.store.get()?.read_organisation(caller).await?;
    let (now, label, next) = if settings.review {
        ("asks for reviews", "Stop asking for reviews", "off")
    } else {
        ("asks for no reviews", "Ask for reviews", "on")
    };
    let setting = AdminRow {
        cells: vec![
            "What is published for all members".to_owned(),
            now.to_owned(),
        ],
        acts: vec![AdminAct {
            label,
            about: "of what is published for all members".to_owned(),
            address: ASK_FOR_REVIEWS,
            fields: vec![("subject", next.to_owned())],
            asks: Vec::new(),
        }],
    };
    let mut tables = vec![AdminTable {
        title: "Your organisation",
        heads: &["What", "Now"],
        rows: vec![setting],
        ..AdminTable::default()
    }];
    if !operator.known.may.contains(&Right::Review) {
        return Ok(tables);
    }
    let page = ListPage {
        offset: 0,
        limit: LINES,
    };
    let waiting = state
        .store
        .get()?
        .list_submissions_page(caller, page)
        .await?;
    let act = |label, address, id: RecordId, asks| AdminAct {
        label,
        about: id.to_string(),
        address,
        fields: vec![("subject", id.to_string())],
        asks,
    };
    let rows = waiting.into_iter().map(|one| AdminRow {
        cells: vec![
            one.publication.title,
            one.author.to_string(),
            one.publication.content,
            format_minute_utc(one.submitted_at),
        ],
        acts: vec![
            act("Approve", APPROVE, one.id, Vec::new()),
            act(
                "Refuse",
                REFUSE,
                one.id,
                vec![AdminField::required("reason", "Reason")],
            ),
        ],
    });
    tables.push(AdminTable {
        title: "Waiting",
        heads: &["Title", "Author", "Text", "Submitted"],
        rows: rows.collect(),
        empty: "Nothing waits for a review.",
        ..AdminTable::default()
    });
    Ok(tables)
}

/// Describes a limit in words.
fn describe_quota(quota: Quota) -> String {
    let limit = |number: Option<u64>, what: &str| Some(format!("{} {what}", number?));
    let [things, bytes] = [limit(quota.things, "memories"), limit(quota.bytes, "bytes")];
    let parts: Vec<String> = things.into_iter().chain(bytes).collect();
    if parts.is_empty() {
        return "no limit".to_owned();
    }
    parts.join(", ")
}

pub(super) async fn list_quotas(
    state: &ServiceState,
    operator: &Operator,
) -> Result<Vec<AdminTable>, Problem> {
    let listed = operate::list_quotas(state, &operator.known.caller).await?;
    let field = |name, label, number: Option<u64>| AdminField {
        name,
        label,
        value: number.map(|number| number.to_string()).unwrap_or_default(),
        is_required: false,
    };
    let rows = listed.into_iter().map(|one| AdminRow {
        cells: vec![
            one.holder.replace(':', " "),
            one.things.to_string(),
            one.bytes.to_string(),
            describe_quota(one.quota),
        ],
        acts: vec![AdminAct {
            label: "Limit",
            about: one.holder.clone(),
            address: SET_QUOTA,
            asks: vec![
                field("things", "Memories", one.set.things),
                field("bytes", "Bytes", one.set.bytes),
            ],
            fields: vec![("subject", one.holder)],
        }],
    });
    Ok(vec![AdminTable {
        title: "Published, and how much may be",
        why: "Your organisation, and those of it who have tokens. The limits with which the server was \
              started hold besides; an empty field is no limit of your own.",
        heads: &["Who", "Memories", "Bytes", "At most"],
        rows: rows.collect(),
        empty: "Nobody has a token. `reprise global token invite` invites somebody.",
    }])
}

pub(super) async fn list_audit(
    state: &ServiceState,
    operator: &Operator,
) -> Result<Vec<AdminTable>, Problem> {
    let lines = operate::list_audit(state, &operator.known.caller, LINES).await?;
    let rows = lines.into_iter().map(|line: AuditLine| {
        let put_back = line.id.filter(|_| line.what == "take_down");
        let put_back = put_back.map(|id| AdminAct {
            label: "Put back",
            about: id.to_string(),
            address: PUT_BACK,
            fields: vec![("subject", id.to_string())],
            asks: Vec::new(),
        });
        AdminRow {
            cells: vec![
                format_minute_utc(line.at),
                line.who,
                line.what,
                line.id.map(|id| id.to_string()).unwrap_or_default(),
                line.name.unwrap_or_default(),
                line.about
                    .map(|about| about.to_string())
                    .unwrap_or_default(),
                line.reason.unwrap_or_default(),
            ],
            acts: put_back.into_iter().collect(),
        }
    });
    Ok(vec![AdminTable {
        title: "Newest first",
        heads: &["When", "Who", "What", "Id", "Where", "Whose", "Why"],
        rows: rows.collect(),
        empty: "Nothing was done yet.",
        ..AdminTable::default()
    }])
}
