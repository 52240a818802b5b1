//! Who may come in: one-time links, the sessions they begin, and what each session may do.
//!
//! Secrets and their ends.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use chrono::{DateTime, TimeDelta, Utc};
use reprise_types::{UserId, lock, secret};
use schemars::JsonSchema;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::undo::Undo;

/// A link that nobody has followed ends after so many seconds.
const LINK_SECONDS: u32 = 120;
/// A session that nobody has used ends after so long.
const SESSION: TimeDelta = TimeDelta::hours(12);
/// Links and sessions at once; the oldest makes room.
const HELD_MAX: usize = 64;

/// What a link lets in to, as whoever asks for the link says it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    pub user: UserId,
    #[serde(default)]
    pub read_only: bool,
    /// Whether it may go on to the memories of other users: for whoever owns the machine.
    #[serde(default)]
    pub operator: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The path with the secret.
    pub path: String,
    /// How long it can be followed, in seconds.
    pub seconds: u32,
}

/// Somebody who is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Visitor {
    pub(crate) user: UserId,
    pub(crate) read_only: bool,
    /// It may go on to the memories of others.
    pub(crate) operator: bool,
    /// What every form of this session carries.
    pub(crate) form_token: String,
    pub(crate) session: Hash,
}

pub(crate) type Hash = [u8; 32];

impl Visitor {
    /// A command as it is typed for this memory: whose it is, where that is not the default one.
    pub(crate) fn command(&self, command: &str) -> String {
        if self.user == UserId::default() {
            return command.to_owned();
        }
        format!("{command} --user {}", self.user)
    }
}

#[derive(Debug)]
struct Pending {
    hash: Hash,
    grant: Grant,
    made: DateTime<Utc>,
}

#[derive(Debug)]
struct Session {
    hash: Hash,
    grant: Grant,
    form_token: String,
    seen: DateTime<Utc>,
    /// What was done, by whose memory it was done in.
    undo: BTreeMap<UserId, Undo>,
}

/// Links and sessions of one daemon. Of secrets only hashes are held.
#[derive(Debug, Default)]
pub(crate) struct Door(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    links: Vec<Pending>,
    sessions: Vec<Session>,
}

impl Door {
    fn held(&self) -> MutexGuard<'_, Held> {
        lock(&self.0)
    }

    pub(crate) fn link(&self, grant: Grant, now: DateTime<Utc>) -> std::io::Result<Link> {
        let secret = secret()?;
        let links = &mut self.held().links;
        make_room(links);
        links.push(Pending {
            hash: hash(&secret),
            grant,
            made: now,
        });
        Ok(Link {
            path: format!("/enter/{secret}"),
            seconds: LINK_SECONDS,
        })
    }

    /// Follows a link, once: answers the secret of a new session.
    pub(crate) fn enter(&self, link: &str, now: DateTime<Utc>) -> Option<String> {
        let wanted = hash(link);
        let mut held = self.held();
        let place = held.links.iter().position(|link| link.hash == wanted)?;
        let link = held.links.remove(place);
        if now - link.made > TimeDelta::seconds(LINK_SECONDS.into()) {
            return None;
        }
        let (secret, form_token) = (secret().ok()?, secret().ok()?);
        make_room(&mut held.sessions);
        held.sessions.push(Session {
            hash: hash(&secret),
            grant: link.grant,
            form_token,
            seen: now,
            undo: BTreeMap::new(),
        });
        Some(secret)
    }

    /// Whose session this is, while it lasts.
    pub(crate) fn visit(&self, secret: &str, now: DateTime<Utc>) -> Option<Visitor> {
        let wanted = hash(secret);
        let mut held = self.held();
        held.sessions
            .retain(|session| now - session.seen <= SESSION);
        let session = held.sessions.iter_mut().find(|it| it.hash == wanted)?;
        session.seen = now;
        Some(Visitor {
            user: session.grant.user.clone(),
            read_only: session.grant.read_only,
            operator: session.grant.operator,
            form_token: session.form_token.clone(),
            session: session.hash,
        })
    }

    pub(crate) fn leave(&self, visit: &Visitor) {
        let sessions = &mut self.held().sessions;
        sessions.retain(|session| session.hash != visit.session);
    }

    /// What a session can undo.
    pub(crate) fn undo<T>(&self, visit: &Visitor, with: impl FnOnce(&mut Undo) -> T) -> Option<T> {
        let mut held = self.held();
        let mut sessions = held.sessions.iter_mut();
        let session = sessions.find(|session| session.hash == visit.session)?;
        Some(with(session.undo.entry(visit.user.clone()).or_default()))
    }

    /// Goes on to another user's memory. A form of the one before is of no use there.
    pub(crate) fn switch(&self, visit: &Visitor, user: UserId) -> std::io::Result<()> {
        let form_token = secret()?;
        let mut held = self.held();
        let own = |session: &&mut Session| session.hash == visit.session && session.grant.operator;
        if let Some(session) = held.sessions.iter_mut().find(own) {
            (session.grant.user, session.form_token) = (user, form_token);
        }
        Ok(())
    }
}

fn make_room<T>(list: &mut Vec<T>) {
    if list.len() >= HELD_MAX {
        list.remove(0);
    }
}

fn hash(secret: &str) -> Hash {
    Sha256::digest(secret.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant() -> Grant {
        Grant {
            user: "ada".parse().unwrap(),
            read_only: false,
            operator: false,
        }
    }

    fn secret_of(link: &Link) -> &str {
        link.path.strip_prefix("/enter/").unwrap()
    }

    #[test]
    fn a_link_lets_in_once_and_not_for_long() {
        let (door, now) = (Door::default(), DateTime::UNIX_EPOCH);
        let link = door.link(grant(), now).unwrap();
        let session = door.enter(secret_of(&link), now).unwrap();
        assert_eq!(door.visit(&session, now).unwrap().user.as_str(), "ada");
        assert_eq!(door.enter(secret_of(&link), now), None, "followed twice");
        let late = door.link(grant(), now).unwrap();
        let later = now + TimeDelta::seconds(i64::from(LINK_SECONDS) + 1);
        assert_eq!(door.enter(secret_of(&late), later), None, "followed late");
        assert_eq!(door.enter("guess", now), None);
    }

    #[test]
    fn a_session_ends_when_it_is_left_or_forgotten() {
        let (door, now) = (Door::default(), DateTime::UNIX_EPOCH);
        let enter = || {
            door.enter(secret_of(&door.link(grant(), now).unwrap()), now)
                .unwrap()
        };
        let (left, kept) = (enter(), enter());
        door.leave(&door.visit(&left, now).unwrap());
        assert!(door.visit(&left, now).is_none());
        let later = now + SESSION;
        assert!(door.visit(&kept, later).is_some(), "and used again");
        assert!(door.visit(&kept, later + SESSION).is_some());
        let forgotten = later + SESSION * 2 + TimeDelta::seconds(1);
        assert!(door.visit(&kept, forgotten).is_none());
    }

    #[test]
    fn only_an_operator_goes_on_to_another_memory_and_leaves_his_forms_behind() {
        let (door, now) = (Door::default(), DateTime::UNIX_EPOCH);
        for operator in [false, true] {
            let link = door
                .link(
                    Grant {
                        operator,
                        ..grant()
                    },
                    now,
                )
                .unwrap();
            let session = door.enter(secret_of(&link), now).unwrap();
            let before = door.visit(&session, now).unwrap();
            door.switch(&before, "bob".parse().unwrap()).unwrap();
            let after = door.visit(&session, now).unwrap();
            assert_eq!(after.user.as_str() == "bob", operator);
            assert_eq!(after.form_token != before.form_token, operator);
        }
    }

    #[test]
    fn there_are_never_more_than_fit() {
        let (door, now) = (Door::default(), DateTime::UNIX_EPOCH);
        for _ in 0..HELD_MAX * 2 {
            let link = door.link(grant(), now).unwrap();
            door.enter(secret_of(&link), now).unwrap();
            door.link(grant(), now).unwrap();
        }
        let held = door.held();
        assert_eq!(held.sessions.len(), HELD_MAX);
        assert!(held.links.len() <= HELD_MAX);
    }
}
