//! Sign-in: one-time links, the sessions that they begin, and what each session may do.
//!
//! Secrets are kept as hashes, and every link and session expires.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use chrono::{DateTime, TimeDelta, Utc};
use reprise_types::{UserId, generate_secret, lock};
use schemars::JsonSchema;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::undo::UndoList;

/// Seconds for which a link can be followed.
const LINK_SECONDS: u32 = 120;
/// Time without use after which a session ends.
const SESSION: TimeDelta = TimeDelta::hours(12);
/// Number of links, and of sessions, at once; a new one replaces the oldest.
const HELD_MAX: usize = 64;

/// The request for a sign-in link: whose memory, and with which rights.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageGrant {
    pub user: UserId,
    #[serde(default)]
    pub read_only: bool,
    /// Whether the session may switch to other users; for the owner of the machine.
    #[serde(default)]
    pub operator: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignInLink {
    /// The path, which contains the secret.
    pub path: String,
    /// Seconds for which it can be followed.
    pub seconds: u32,
}

/// The session of a signed-in user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Visitor {
    pub(crate) user: UserId,
    pub(crate) read_only: bool,
    /// Whether the session may switch to other users.
    pub(crate) operator: bool,
    /// The token that every form of this session contains.
    pub(crate) form_token: String,
    pub(crate) session: SecretHash,
}

pub(crate) type SecretHash = [u8; 32];

impl Visitor {
    /// Formats a command for this memory, with `--user` unless it is the default user's.
    pub(crate) fn command(&self, command: &str) -> String {
        if self.user == UserId::default() {
            return command.to_owned();
        }
        format!("{command} --user {}", self.user)
    }
}

#[derive(Debug)]
struct PendingLink {
    hash: SecretHash,
    grant: PageGrant,
    made: DateTime<Utc>,
}

#[derive(Debug)]
struct Session {
    hash: SecretHash,
    grant: PageGrant,
    form_token: String,
    seen: DateTime<Utc>,
    /// What can be undone in each user's memory.
    undo: BTreeMap<UserId, UndoList>,
}

/// Links and sessions of one daemon, which hold only hashes of secrets.
#[derive(Debug, Default)]
pub(crate) struct PageSessions(Mutex<SessionTable>);

#[derive(Debug, Default)]
struct SessionTable {
    links: Vec<PendingLink>,
    sessions: Vec<Session>,
}

impl PageSessions {
    fn lock_table(&self) -> MutexGuard<'_, SessionTable> {
        lock(&self.0)
    }

    pub(crate) fn create_link(
        &self,
        grant: PageGrant,
        now: DateTime<Utc>,
    ) -> std::io::Result<SignInLink> {
        let secret = generate_secret()?;
        let links = &mut self.lock_table().links;
        evict_oldest(links);
        links.push(PendingLink {
            hash: hash_secret(&secret),
            grant,
            made: now,
        });
        Ok(SignInLink {
            path: format!("/enter/{secret}"),
            seconds: LINK_SECONDS,
        })
    }

    /// Uses a link up and returns the secret of a new session.
    pub(crate) fn redeem_link(&self, link: &str, now: DateTime<Utc>) -> Option<String> {
        let wanted = hash_secret(link);
        let mut table = self.lock_table();
        let index = table.links.iter().position(|link| link.hash == wanted)?;
        let link = table.links.remove(index);
        // A clock that was set back makes no link last longer.
        if (now - link.made).abs() > TimeDelta::seconds(LINK_SECONDS.into()) {
            return None;
        }
        let (secret, form_token) = (generate_secret().ok()?, generate_secret().ok()?);
        evict_oldest(&mut table.sessions);
        table.sessions.push(Session {
            hash: hash_secret(&secret),
            grant: link.grant,
            form_token,
            seen: now,
            undo: BTreeMap::new(),
        });
        Some(secret)
    }

    /// Finds the session of a cookie's secret, and keeps it alive.
    pub(crate) fn find_visitor(&self, secret: &str, now: DateTime<Utc>) -> Option<Visitor> {
        let wanted = hash_secret(secret);
        let mut table = self.lock_table();
        table
            .sessions
            .retain(|session| (now - session.seen).abs() <= SESSION);
        let session = table.sessions.iter_mut().find(|it| it.hash == wanted)?;
        session.seen = now;
        Some(Visitor {
            user: session.grant.user.clone(),
            read_only: session.grant.read_only,
            operator: session.grant.operator,
            form_token: session.form_token.clone(),
            session: session.hash,
        })
    }

    /// Whether a visitor's session goes on and is still about the same user's memory.
    pub(crate) fn is_open(&self, visit: &Visitor) -> bool {
        let table = self.lock_table();
        let mut sessions = table.sessions.iter();
        sessions.any(|session| session.hash == visit.session && session.grant.user == visit.user)
    }

    pub(crate) fn end_session(&self, visit: &Visitor) {
        let sessions = &mut self.lock_table().sessions;
        sessions.retain(|session| session.hash != visit.session);
    }

    /// Runs a closure on the undo list of a session; `None` if it has ended.
    pub(crate) fn with_undo<T>(
        &self,
        visit: &Visitor,
        with: impl FnOnce(&mut UndoList) -> T,
    ) -> Option<T> {
        let mut table = self.lock_table();
        let mut sessions = table.sessions.iter_mut();
        let session = sessions.find(|session| session.hash == visit.session)?;
        Some(with(session.undo.entry(visit.user.clone()).or_default()))
    }

    /// Switches an operator's session to another user, with a new form token.
    pub(crate) fn switch_user(&self, visit: &Visitor, user: UserId) -> std::io::Result<()> {
        let form_token = generate_secret()?;
        let mut table = self.lock_table();
        let own = |session: &&mut Session| session.hash == visit.session && session.grant.operator;
        if let Some(session) = table.sessions.iter_mut().find(own) {
            (session.grant.user, session.form_token) = (user, form_token);
        }
        Ok(())
    }
}

fn evict_oldest<T>(list: &mut Vec<T>) {
    if list.len() >= HELD_MAX {
        list.remove(0);
    }
}

fn hash_secret(secret: &str) -> SecretHash {
    Sha256::digest(secret.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant() -> PageGrant {
        PageGrant {
            user: "ada".parse().unwrap(),
            read_only: false,
            operator: false,
        }
    }

    fn secret_of(link: &SignInLink) -> &str {
        link.path.strip_prefix("/enter/").unwrap()
    }

    #[test]
    fn a_link_lets_in_once_and_not_for_long() {
        let (sessions, now) = (PageSessions::default(), DateTime::UNIX_EPOCH);
        let link = sessions.create_link(grant(), now).unwrap();
        let session = sessions.redeem_link(secret_of(&link), now).unwrap();
        assert_eq!(
            sessions.find_visitor(&session, now).unwrap().user.as_str(),
            "ada"
        );
        assert_eq!(
            sessions.redeem_link(secret_of(&link), now),
            None,
            "followed twice"
        );
        let late = sessions.create_link(grant(), now).unwrap();
        let later = now + TimeDelta::seconds(i64::from(LINK_SECONDS) + 1);
        assert_eq!(
            sessions.redeem_link(secret_of(&late), later),
            None,
            "followed late"
        );
        assert_eq!(sessions.redeem_link("guess", now), None);
        // Made, and then the clock was set back by a day.
        let made = sessions.create_link(grant(), now + TimeDelta::days(1));
        assert_eq!(sessions.redeem_link(secret_of(&made.unwrap()), now), None);
    }

    #[test]
    fn a_session_ends_when_it_is_left_or_forgotten() {
        let (sessions, now) = (PageSessions::default(), DateTime::UNIX_EPOCH);
        let enter = || {
            sessions
                .redeem_link(secret_of(&sessions.create_link(grant(), now).unwrap()), now)
                .unwrap()
        };
        let (left, kept) = (enter(), enter());
        let visit = sessions.find_visitor(&left, now).unwrap();
        assert!(sessions.is_open(&visit));
        sessions.end_session(&visit);
        assert!(sessions.find_visitor(&left, now).is_none());
        assert!(!sessions.is_open(&visit), "its stream of changes goes on");
        let later = now + SESSION;
        assert!(
            sessions.find_visitor(&kept, later).is_some(),
            "and used again"
        );
        assert!(sessions.find_visitor(&kept, later + SESSION).is_some());
        let forgotten = later + SESSION * 2 + TimeDelta::seconds(1);
        assert!(sessions.find_visitor(&kept, forgotten).is_none());
    }

    #[test]
    fn only_an_operator_goes_on_to_another_memory_and_leaves_his_forms_behind() {
        let (sessions, now) = (PageSessions::default(), DateTime::UNIX_EPOCH);
        for operator in [false, true] {
            let link = sessions
                .create_link(
                    PageGrant {
                        operator,
                        ..grant()
                    },
                    now,
                )
                .unwrap();
            let session = sessions.redeem_link(secret_of(&link), now).unwrap();
            let before = sessions.find_visitor(&session, now).unwrap();
            sessions
                .switch_user(&before, "bob".parse().unwrap())
                .unwrap();
            let after = sessions.find_visitor(&session, now).unwrap();
            assert_eq!(after.user.as_str() == "bob", operator);
            assert_eq!(after.form_token != before.form_token, operator);
            assert_ne!(sessions.is_open(&before), operator);
        }
    }

    #[test]
    fn there_are_never_more_than_fit() {
        let (sessions, now) = (PageSessions::default(), DateTime::UNIX_EPOCH);
        for _ in 0..HELD_MAX * 2 {
            let link = sessions.create_link(grant(), now).unwrap();
            sessions.redeem_link(secret_of(&link), now).unwrap();
            sessions.create_link(grant(), now).unwrap();
        }
        let table = sessions.lock_table();
        assert_eq!(table.sessions.len(), HELD_MAX);
        assert!(table.links.len() <= HELD_MAX);
    }
}
