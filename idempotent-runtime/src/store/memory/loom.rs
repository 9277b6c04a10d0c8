//! Claim, complete, release, lapse and wake from three threads, in every order that loom finds.
//!
//! `cargo xtask loom` builds and runs it.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use ::loom::model::Builder;
use ::loom::thread;

use super::MemoryStore;
use crate::record::{NoResult, Recorded};
use crate::store::{Acquired, Answer, ClaimAnswer, ClaimRequest, CompleteAnswer, OnLapse, Release, Retention, Store};
use crate::{Key, Token};

const LEASE: Duration = Duration::from_secs(1);
const KEPT: Retention = Retention::For(Duration::from_secs(100));
const A: Token = Token::from_u128(1);
const B: Token = Token::from_u128(2);
const C: Token = Token::from_u128(3);

fn now<T>(answer: impl Future<Output = Result<T, crate::StoreError>>) -> T {
    match pin!(answer).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer.expect("memory answers"),
        Poll::Pending => panic!("the answer was not there at the first poll"),
    }
}

fn key() -> Key {
    Key::from_text("p:1")
}

fn claim(store: &MemoryStore, token: Token) -> ClaimAnswer {
    let request = ClaimRequest {
        token,
        owner: "worker",
        fingerprint: None,
        lease: LEASE,
        retention: KEPT,
        held: KEPT,
        on_lapse: OnLapse::TakeOver,
        max_attempts: None,
        supersede: None,
        begun: true,
        fenced: true,
    };
    now(store.claim(&key(), &request))
}

fn complete(store: &MemoryStore, token: Token) -> CompleteAnswer {
    now(store.complete(&key(), token, &Recorded::Nothing(NoResult::NotWanted), KEPT))
}

fn release(store: &MemoryStore, token: Token) -> Answer {
    now(store.release(&key(), token, Release::Failed("burnt"), LEASE))
}

/// Watches first and looks second, and waits while a run is in progress.
fn wait_for_the_end(store: &MemoryStore) -> ClaimAnswer {
    loop {
        let watch = store.watch(&key());
        match claim(store, C) {
            ClaimAnswer::InProgress { .. } => ::loom::future::block_on(watch.ended()),
            other => return other,
        }
    }
}

fn check(test: impl Fn() + Sync + Send + 'static) {
    let mut model = Builder::new();
    model.preemption_bound = Some(3);
    model.check(test);
}

#[test]
fn one_of_three_claims_is_acquired() {
    check(|| {
        let store = MemoryStore::new();
        let threads = [A, B].map(|token| {
            let store = store.clone();
            thread::spawn(move || claim(&store, token))
        });
        let mut answers = vec![claim(&store, C)];
        answers.extend(threads.map(|thread| thread.join().unwrap()));
        let acquired = answers.iter().filter(|answer| matches!(answer, ClaimAnswer::Acquired(_))).count();
        assert_eq!(acquired, 1, "{answers:?}");
    });
}

#[test]
fn a_waiter_is_woken_by_whatever_ends_the_run() {
    check(|| {
        let store = MemoryStore::new();
        claim(&store, A);
        let completing = {
            let store = store.clone();
            thread::spawn(move || complete(&store, A))
        };
        let other_waiter = {
            let store = store.clone();
            thread::spawn(move || drop(store.watch(&key())))
        };
        assert!(matches!(wait_for_the_end(&store), ClaimAnswer::Completed(_)));
        assert_eq!(completing.join().unwrap(), CompleteAnswer::Held);
        other_waiter.join().unwrap();
        assert_eq!(store.part(&key()).watchers.len(), 0, "nothing is left of the watches");
    });
}

#[test]
fn a_lapse_a_takeover_and_a_late_completion_agree_and_the_waiter_gets_an_end() {
    check(|| {
        let store = MemoryStore::new();
        claim(&store, A);
        let slow_owner = {
            let store = store.clone();
            thread::spawn(move || complete(&store, A))
        };
        let next_delivery = {
            let store = store.clone();
            thread::spawn(move || {
                store.0.clock.pass(1);
                let answer = claim(&store, B);
                if let ClaimAnswer::Acquired(Acquired { attempt, .. }) = answer {
                    // Second, or third after the waiter, which is a caller like any other.
                    assert!(attempt == 2 || attempt == 3, "{answer:?}");
                    assert_eq!(release(&store, B), Answer::Held);
                }
                answer
            })
        };
        let waited = wait_for_the_end(&store);
        let completed = slow_owner.join().unwrap();
        let claimed = next_delivery.join().unwrap();
        match completed {
            // The first run stands: the others were told of it, or had not got beyond it.
            CompleteAnswer::Held => {
                assert!(matches!(claimed, ClaimAnswer::Completed(_)), "{claimed:?}");
                assert!(matches!(waited, ClaimAnswer::Completed(_)), "{waited:?}");
            }
            // It was taken over, by the next delivery or by the waiter.
            CompleteAnswer::Lost(None) => {
                assert!(matches!(waited, ClaimAnswer::Acquired(_)), "{waited:?}");
            }
            other => panic!("{other:?}"),
        }
    });
}
