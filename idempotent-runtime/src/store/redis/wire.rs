//! One connection as its callers see it: a place to put commands, and the place where their answers appear.
//!
//! The commands of all callers are gathered in one buffer, which the driver writes in one go. The server answers in
//! the order of the commands, so a queue of who waits is all it takes to hand the answers out.

use std::collections::VecDeque;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use redis::{Cmd, Value};
use slab::Slab;

use super::error::{Ended, Failure};

/// What callers and driver share.
#[derive(Debug, Default)]
pub(super) struct Wire(Mutex<Queue>);

#[derive(Debug, Default)]
struct Queue {
    /// Commands that have not left yet.
    unsent: Vec<u8>,
    /// Whose answer comes next, in the order of the commands.
    order: VecDeque<usize>,
    places: Slab<Place>,
    /// The driver, while it waits for something to do.
    driver: Option<Waker>,
    /// Why there are no more answers.
    ended: Option<Ended>,
}

/// Where one answer goes.
#[derive(Debug)]
enum Place {
    Waiting(Option<Waker>),
    Answered(Value),
    /// The caller has gone away; the answer is still to come.
    Left,
}

impl Wire {
    /// Puts a command on its way. It leaves with the commands of all who are about to send one.
    pub(super) fn send(&self, command: &Cmd) -> Answer<'_> {
        self.put(|queue| queue.put(command, Place::Waiting(None)))
    }

    /// Puts two commands on their way, with nobody's in between. The answer is that to the second.
    pub(super) fn send_both(&self, first: &Cmd, second: &Cmd) -> Answer<'_> {
        self.put(|queue| {
            queue.put(first, Place::Left);
            queue.put(second, Place::Waiting(None))
        })
    }

    fn put(&self, put: impl FnOnce(&mut Queue) -> usize) -> Answer<'_> {
        let mut queue = self.lock();
        if queue.ended.is_some() {
            return Answer { wire: self, place: None };
        }
        let place = put(&mut queue);
        let driver = queue.driver.take();
        drop(queue);
        if let Some(driver) = driver {
            driver.wake();
        }
        Answer { wire: self, place: Some(place) }
    }

    /// Whether there will be no more answers.
    pub(super) fn has_ended(&self) -> bool {
        self.lock().ended.is_some()
    }

    /// Tells all who wait, and all who come, that there will be no more answers. The first reason stands.
    pub(super) fn end(&self, why: Ended) {
        let mut queue = self.lock();
        queue.ended.get_or_insert(why);
        let waiting = queue.places.iter_mut().filter_map(|(_, place)| match place {
            Place::Waiting(caller) => caller.take(),
            Place::Answered(_) | Place::Left => None,
        });
        let mut wakers: Vec<Waker> = waiting.collect();
        wakers.extend(queue.driver.take());
        drop(queue);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// How many answers the server owes.
    pub(super) fn owed(&self) -> usize {
        self.lock().order.len()
    }

    /// Swaps the gathered commands for an empty buffer.
    pub(super) fn take_unsent(&self, empty: &mut Vec<u8>) {
        mem::swap(&mut self.lock().unsent, empty);
    }

    /// Whether the driver may sleep until it is woken: not while there are commands to be written.
    pub(super) fn sleep(&self, driver: &Waker) -> bool {
        let mut queue = self.lock();
        if !queue.unsent.is_empty() {
            return false;
        }
        match &mut queue.driver {
            Some(known) => known.clone_from(driver),
            none => *none = Some(driver.clone()),
        }
        true
    }

    /// Hands answers out, in their order; `wakers` is room for those who are to be woken.
    ///
    /// # Errors
    ///
    /// An answer that nobody asked for.
    pub(super) fn answer(&self, answers: &mut Vec<Value>, wakers: &mut Vec<Waker>) -> Result<(), Ended> {
        let mut queue = self.lock();
        for answer in answers.drain(..) {
            let place = queue.order.pop_front().ok_or(Ended::Garbled("an answer to nothing"))?;
            match mem::replace(&mut queue.places[place], Place::Answered(answer)) {
                Place::Waiting(caller) => wakers.extend(caller),
                Place::Answered(_) | Place::Left => drop(queue.places.remove(place)),
            }
        }
        drop(queue);
        wakers.drain(..).for_each(Waker::wake);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn put(&mut self, command: &Cmd, place: Place) -> usize {
        command.write_packed_command(&mut self.unsent);
        let place = self.places.insert(place);
        self.order.push_back(place);
        place
    }
}

/// The answer to one command. Whoever drops it goes away; the command is carried out all the same.
#[derive(Debug)]
pub(super) struct Answer<'a> {
    wire: &'a Wire,
    /// `None` once the answer was taken, or if the command was never put on its way.
    place: Option<usize>,
}

impl Future for Answer<'_> {
    type Output = Result<Value, Failure>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut queue = self.wire.lock();
        let Queue { places, ended, .. } = &mut *queue;
        let answer = match (self.place, &*ended) {
            (Some(place), _) if matches!(places[place], Place::Answered(_)) => match places.remove(place) {
                Place::Answered(Value::ServerError(error)) => Err(Failure::of(error.into())),
                Place::Answered(value) => Ok(value),
                Place::Waiting(_) | Place::Left => return Poll::Pending,
            },
            (place, Some(why)) => {
                place.map(|place| places.remove(place));
                Err(why.failure())
            }
            (Some(place), None) => {
                places[place] = Place::Waiting(Some(cx.waker().clone()));
                return Poll::Pending;
            }
            // Polled after its end.
            (None, None) => return Poll::Pending,
        };
        drop(queue);
        self.place = None;
        Poll::Ready(answer)
    }
}

impl Drop for Answer<'_> {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        let mut queue = self.wire.lock();
        match queue.places[place] {
            Place::Waiting(_) if queue.ended.is_none() => queue.places[place] = Place::Left,
            _ => drop(queue.places.remove(place)),
        }
    }
}
