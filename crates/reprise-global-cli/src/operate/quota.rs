//! `reprise global quota`: what the operator's organisation and its people have published, and how
//! much they may have.

use std::collections::BTreeSet;

use reprise_global::{HolderQuota, OrgId, Quota, QuotaChange};
use reprise_server::{Member, ServiceTokens};
use reprise_types::UserId;

use super::{asks_service, open_store_as};
use crate::args::{OperatorArguments, QuotaCommand, WhichStore};
use crate::prelude::*;
use crate::token;

pub(super) async fn run(context: &Context, command: &QuotaCommand) -> anyhow::Result<Exit> {
    match command {
        QuotaCommand::List(who) => print_quotas(context, who).await,
        QuotaCommand::Set {
            holder,
            things,
            bytes,
            who,
        } => {
            let quota = Quota {
                things: *things,
                bytes: *bytes,
            };
            change(context, who, holder, quota).await
        }
        QuotaCommand::Remove { holder, who } => {
            change(context, who, holder, Quota::default()).await
        }
    }
}

async fn change(
    context: &Context,
    who: &OperatorArguments,
    holder: &str,
    quota: Quota,
) -> anyhow::Result<Exit> {
    let (store, caller) = open_store_as(context, who).await?;
    let asked = QuotaChange {
        holder: holder.to_owned(),
        things: quota.things,
        bytes: quota.bytes,
    };
    let holds = store.set_quota(&caller, &asked).await?;
    output::line(context, &holds, describe_holder(&holds))
}

async fn print_quotas(context: &Context, who: &OperatorArguments) -> anyhow::Result<Exit> {
    let (store, caller) = open_store_as(context, who).await?;
    // A service knows whose quotas its operator may read.
    let users = if asks_service(context, &who.which, &who.user) {
        Vec::new()
    } else {
        list_users(context, &who.which, caller.org.as_ref()).await?
    };
    let listed = store.list_quotas(&caller, &users).await?;
    let hint = "nobody to list: name an organisation with --org, or give somebody a token";
    output::note_if_empty(context, &listed, hint);
    output::list(context, &listed, describe_holder)
}

/// Lists the users who have tokens in an organisation, or in none.
async fn list_users(
    context: &Context,
    which: &WhichStore,
    org: Option<&OrgId>,
) -> anyhow::Result<Vec<UserId>> {
    let tokens: ServiceTokens = token::open_tokens_of(context, which).await?;
    let is_meant = |one: &Member| one.org.as_deref() == org.map(OrgId::as_str);
    let members = tokens.list_members().await?.into_iter();
    let users = members.filter(is_meant).map(|one| one.user);
    // Who has several tokens is listed once.
    Ok(users.collect::<BTreeSet<UserId>>().into_iter().collect())
}

fn describe_holder(one: &HolderQuota) -> String {
    let number = |limit: Option<u64>| limit.map_or_else(|| "any".to_owned(), |n| n.to_string());
    let set = if one.set == Quota::default() {
        ""
    } else {
        "  (set by an operator)"
    };
    format!(
        "{:<24} {} of {} memories, {} of {} bytes{set}",
        one.holder,
        one.things,
        number(one.quota.things),
        one.bytes,
        number(one.quota.bytes)
    )
}
