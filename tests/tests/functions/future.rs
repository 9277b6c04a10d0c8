//! The future of an annotated function: no more and no less than that of the plain one.

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use idempotent_runtime::{Error, ErrorKind, Idempotency, idempotent};

use crate::futures::impl_future;
use crate::generics::generic;
use crate::methods::Kitchen;
use crate::results::factorial;
use crate::{OrderError, free, order, ran, runs_once};

/// The names that the expansion uses are the user's too.
#[idempotent(prefix = "names", keys = [call, error], ttl = 1h, map_err = |error| error.to_string())]
async fn names_of_the_expansion(call: u64, error: u64) -> Result<u64, String> {
    ran().await;
    Ok(call + error)
}

#[tokio::test]
async fn names_do_not_collide() {
    assert_eq!(runs_once(|| names_of_the_expansion(3, 4)).await, 7);
}

#[tokio::test]
async fn the_future_is_send_where_the_body_is() {
    const fn is_send<T: Send>(_: &T) {}
    let kitchen = Kitchen::new();
    is_send(&free(order()));
    is_send(&kitchen.by_reference(1));
    is_send(&impl_future(&order()));
    is_send(&generic::<_, 1>(1, &[0_u8]));
    is_send(&factorial(3));
    let spawned = tokio::spawn(free(order())).await.expect("it does not panic");
    assert!(matches!(spawned, Err(OrderError::Idempotency(ErrorKind::NotInstalled))));
}

#[tokio::test]
async fn the_future_holds_no_more_than_the_plain_one() {
    const fn is_static<T: 'static>(_: &T) {}

    // The key borrows `name` only while it is built: it can be moved into the body, and out of it.
    #[idempotent(prefix = "moves", keys = [name], ttl = 1h, fingerprint = [name, lines])]
    async fn moves(name: String, lines: Vec<u32>) -> Result<(String, Vec<u32>), Error> {
        ran().await;
        drop(lines.clone());
        Ok((name, lines))
    }
    assert_eq!(runs_once(|| moves("four".to_owned(), vec![1])).await, ("four".to_owned(), vec![1]));
    is_static(&moves(String::new(), Vec::new()));
}

struct Shared {
    id: u64,
    ttl: Duration,
    idempotency: Idempotency,
}

/// A key that locks or borrows does so while it is built.
#[idempotent(prefix = "locks", keys = [lock(shared).id], ttl = 1h)]
async fn locks(shared: &Mutex<Shared>) -> Result<bool, Error> {
    ran().await;
    Ok(shared.try_lock().is_ok())
}

fn lock(shared: &Mutex<Shared>) -> std::sync::MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// So do all other options that are evaluated in each call.
#[idempotent(
    prefix = "borrows",
    keys = [shared.borrow().id],
    ttl = shared.borrow().ttl,
    fingerprint = shared.borrow().ttl,
    via = shared.borrow().idempotency,
)]
async fn borrows(shared: &RefCell<Shared>) -> Result<bool, Error> {
    ran().await;
    Ok(shared.try_borrow_mut().is_ok())
}

fn shared() -> Shared {
    Shared { id: 7, ttl: Duration::from_hours(1), idempotency: Idempotency::memory() }
}

#[tokio::test]
async fn what_a_key_borrows_is_free_in_the_body() {
    const fn is_send<T: Send>(_: &T) {}
    let mutex = Mutex::new(shared());
    assert!(runs_once(|| locks(&mutex)).await);
    // A guard of a lock that was still there would make the future stay on its thread.
    is_send(&locks(&mutex));
    let cell = RefCell::new(shared());
    assert!(runs_once(|| borrows(&cell)).await);
}

#[tokio::test]
async fn arguments_can_be_moved_into_the_body_and_lent_out_of_it() {
    // `name` is borrowed mutably by the plain function for as long as its future lives, and no longer.
    #[idempotent(prefix = "lends", keys = [name.as_str()], ttl = 1h)]
    async fn lends(name: &mut String) -> Result<usize, Error> {
        ran().await;
        name.push('!');
        Ok(name.len())
    }

    let mut name = "four".to_owned();
    Idempotency::memory()
        .scope(async {
            let future = lends(&mut name);
            drop(future);
            assert_eq!(lends(&mut name).await.expect("it runs"), 5);
        })
        .await;
    assert_eq!(name, "four!");
}

/// Holds 1 KiB while it waits.
#[idempotent(prefix = "large", keys = [id], ttl = 1h)]
async fn large(id: u8) -> Result<u8, Error> {
    let held = [id; 1024];
    tokio::task::yield_now().await;
    Ok(std::hint::black_box(&held)[0])
}

/// The same without the attribute.
async fn large_and_plain(id: u8) -> Result<u8, Error> {
    let held = [id; 1024];
    tokio::task::yield_now().await;
    Ok(std::hint::black_box(&held)[0])
}

#[tokio::test]
async fn a_body_is_stored_once_and_little_beside_it() {
    let (plain, annotated) = (size_of_val(&large_and_plain(7)), size_of_val(&large(7)));
    assert!(plain >= 1024, "the local is not held: {plain} bytes");
    assert!(annotated <= plain + 512, "{annotated} bytes, where the plain future has {plain}");
    assert_eq!(large_and_plain(7).await.expect("it runs"), 7);
}
