//! A claim that is ours, and what becomes of it if its call goes away.

use std::sync::Arc;
use std::time::Duration;

use super::flight::Lead;
use crate::idempotency::Core;
use crate::keeper::{Enlisted, Errand, Work};
use crate::key::Key;
use crate::lease::Lease;
use crate::record::Completed;
use crate::store::Retention;
use crate::token::Token;

/// A claim that may have been asked for: unless it is answered, it is put back in the background.
///
/// Covers a claim whose answer never came, whose future was dropped, and one that came too late.
pub(super) struct Asked<'a> {
    pub(super) core: &'a Arc<Core>,
    pub(super) key: &'a Key,
    pub(super) lease: Duration,
    pub(super) superseded: Option<Superseded>,
    /// The token under which a message may be on its way.
    pub(super) token: Option<Token>,
}

/// A completed record that a claim replaces, and for how long it is kept if it is put back.
pub(super) type Superseded = Box<(Completed, Retention)>;

impl Asked<'_> {
    /// Nothing is on its way, and nothing is to be put back from here.
    pub(super) fn answered(&mut self) -> Option<Superseded> {
        self.token = None;
        self.superseded.take()
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if let Some(token) = self.token.take() {
            let work = Work::PutBack(self.superseded.take());
            self.core.keeper.send(Errand::unanswered(self.key.clone(), token, self.lease, work));
        }
    }
}

/// An acquired claim, with what is to be done with it unless somebody does better. Dropped, it has that done in the
/// background: so every way in which a call can end, a panic and a dropped future too, ends its claim.
pub(super) struct Owned {
    core: Arc<Core>,
    enlisted: Option<Enlisted>,
    lease: Arc<Lease>,
    /// How long its record is kept at the most, if nobody settles it.
    kept: Retention,
    otherwise: Option<Work>,
    /// Who follows it in this process.
    lead: Option<Box<Lead>>,
}

impl Owned {
    /// A claim whose body was not polled: it goes back to what was found.
    pub(super) fn new(
        core: Arc<Core>,
        lease: Arc<Lease>,
        kept: Retention,
        superseded: Option<Superseded>,
        lead: Option<Box<Lead>>,
    ) -> Self {
        let enlisted = core.keeper.enlist(Arc::clone(&lease));
        if let Some(lead) = &lead {
            lead.claimed(&lease);
        }
        Self { core, enlisted: Some(enlisted), lease, kept, otherwise: Some(Work::PutBack(superseded)), lead }
    }

    pub(super) fn lease(&self) -> &Arc<Lease> {
        &self.lease
    }

    /// Has the lease renewed at once.
    pub(super) fn hurry(&self) {
        if let Some(enlisted) = &self.enlisted {
            enlisted.hurry();
        }
    }

    /// From now on, a claim that is dropped has `work` done.
    pub(super) fn otherwise(&mut self, work: Work) {
        self.otherwise = Some(work);
    }

    /// What is to be done, for the one who does it now.
    pub(super) fn work(&self) -> Option<&Work> {
        self.otherwise.as_ref()
    }

    /// The store has this record: it is the answer of all who follow.
    pub(super) fn completed(mut self, completed: impl FnOnce() -> Completed) {
        if let Some(lead) = self.lead.take() {
            lead.completed(completed());
        }
        self.ended();
    }

    /// The store has answered, or the claim is another's: nothing is left to do.
    pub(super) fn ended(mut self) {
        self.otherwise = None;
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let Some(work) = self.otherwise.take() else { return };
        // A claim that is given up or put back must not be renewed any more: its token is dead. A completion or a
        // release keeps it until the store has answered.
        let enlisted = self.enlisted.take().filter(|_| matches!(work, Work::Complete(..) | Work::Fail(_)));
        self.core.keeper.send(Errand::acquired(&self.lease, work, self.kept, enlisted));
    }
}
