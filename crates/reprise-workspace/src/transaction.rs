//! One write of the workspace (W16): lock, stage, validate, commit, unlock, announce.
//!
//! A transaction has happened at the moment its branch moves to its commit. Before that nothing of
//! the tree is touched; after it, whatever a crash left undone is finished by `recover`.

mod beside;
mod draft;
mod run;

use std::time::Duration;

pub(crate) use draft::{ACTOR, Changes, Draft, TRAILER, View, effective};
pub use draft::{Receipt, Step, Watcher};
use run::Run;

use crate::actor::Actor;
use crate::error::{Result, WorkspaceError};
use crate::git::{Git, main_of};
use crate::rules;
use crate::stage::{STAGES, Stage};
use crate::workspace::Workspace;

/// How often a transaction begins again because its branch has moved under it.
const ATTEMPTS_MAX: usize = 64;
/// From this attempt on git's index is locked from the beginning, so that nobody moves the branch.
const PATIENT_ATTEMPTS: usize = 12;
/// How long a person is left alone whose git came in between.
const ROOM: Duration = Duration::from_millis(100);

impl Workspace {
    /// Carries out what `make` drafts for an actor, and takes the snapshot that is due then. What
    /// `make` or the rules refuse leaves a line.
    pub(crate) fn transact(
        &self,
        stage: &mut Stage,
        tx: &str,
        actor: &Actor,
        make: &mut dyn FnMut(&View<'_>) -> Result<Draft>,
    ) -> Result<Receipt> {
        let mut receipt = self.transact_alone(stage, tx, actor, make)?;
        self.snapshot_when_due(&mut receipt);
        Ok(receipt)
    }

    /// The same as a transaction of its own, of which nothing is made ready before.
    pub(crate) fn transact_anew(
        &self,
        actor: &Actor,
        make: &mut dyn FnMut(&View<'_>) -> Result<Draft>,
    ) -> Result<Receipt> {
        let tx = self.new_id();
        let mut stage = Stage::new(self.root(), &tx)?;
        self.transact(&mut stage, &tx, actor, make)
    }

    /// Puts on record what is refused before there is anything to draft.
    pub(crate) fn refuse<T>(
        &self,
        actor: &Actor,
        refusal: &dyn Fn() -> WorkspaceError,
    ) -> Result<T> {
        let told = self.transact_anew(actor, &mut |_| Err(refusal()));
        if let Err(error) = told
            && error.rule().is_none()
        {
            tracing::warn!(%error, "a refusal is not on record");
        }
        Err(refusal())
    }

    /// Carries out what `make` drafts. It is asked again whenever the branch has moved.
    fn transact_alone(
        &self,
        stage: &mut Stage,
        tx: &str,
        actor: &Actor,
        make: &mut dyn FnMut(&View<'_>) -> Result<Draft>,
    ) -> Result<Receipt> {
        let guard = self.lock()?;
        self.reach(Step::Locked);
        self.tie_up(&guard)?;
        let git = Git::open(self.root())?;
        let seen = self.give_way(&git)?;
        let done = self.attempts(stage, tx, actor, make);
        if let Err(error) = self.leave(&git, seen) {
            tracing::debug!(%error, "the next transaction takes this index for a person's");
        }
        done
    }

    fn attempts(
        &self,
        stage: &mut Stage,
        tx: &str,
        actor: &Actor,
        make: &mut dyn FnMut(&View<'_>) -> Result<Draft>,
    ) -> Result<Receipt> {
        let stages = self.root().join(STAGES);
        for attempt in 0..ATTEMPTS_MAX {
            let git = Git::open(self.root())?;
            git.refuse_unfinished()?;
            let held = if attempt < PATIENT_ATTEMPTS {
                None
            } else {
                Some(git.lock_index(stage.folder(), &stages)?)
            };
            let head = git.head()?;
            let view = View {
                git: &git,
                head: &head,
                on_main: head.branch() == main_of(&git),
                in_force: rules::in_force(&git, head.commit)?,
            };
            let draft = make(&view);
            let run = Run {
                workspace: self,
                view: &view,
                git: &git,
                head: &head,
                tx,
                at: self.now(),
            };
            let attempted = match draft {
                Ok(draft) => run.attempt(stage, &draft, held),
                Err(error) => {
                    drop(held);
                    run.refuse(stage, actor, "", error)
                }
            };
            match attempted? {
                Some(receipt) => return Ok(receipt),
                None => std::thread::sleep(ROOM),
            }
        }
        let git = Git::open(self.root())?;
        let branch = git.head()?.branch().to_owned();
        Err(WorkspaceError::Moved { branch })
    }

    /// Puts commits of plain git on record and announces them, without a commit of its own: what a
    /// service does that looks at the tree now and then (W25). How many there were.
    pub fn notice(&self) -> Result<usize> {
        let guard = self.lock()?;
        self.tie_up(&guard)?;
        let git = Git::open(self.root())?;
        let Ok(head) = git.head() else {
            return Ok(0);
        };
        let view = View {
            git: &git,
            head: &head,
            on_main: head.branch() == main_of(&git),
            in_force: rules::in_force(&git, head.commit)?,
        };
        let tx = self.new_id();
        let mut stage = Stage::new(self.root(), &tx)?;
        let run = Run {
            workspace: self,
            view: &view,
            git: &git,
            head: &head,
            tx: &tx,
            at: self.now(),
        };
        run.notice(&mut stage)
    }
}
