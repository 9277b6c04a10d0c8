//! What holds on both databases alike.

/// The same tests, once a database.
macro_rules! on {
    ($module:ident, $place:path) => {
        mod $module {
            use std::time::Duration;

            use idempotent_runtime::{
                ErrorKind, Idempotency, OnError, OutcomeKind, Replies, current, idempotent, with_outcome,
            };
            use sqlx::Transaction;
            use tokio::sync::Notify;
            use $place::{Db, SAYS, Shop};

            use crate::error::Failed;

            async fn write(tx: &mut Transaction<'_, Db>, name: &str) -> Result<(), Failed> {
                sqlx::query("INSERT INTO effects (name) VALUES ($1)").bind(name).execute(&mut **tx).await?;
                Ok(())
            }

            #[idempotent(prefix = "pay", keys = [name], ttl = 1h, fingerprint = amount, within = tx, via = idempotency)]
            async fn pay(
                idempotency: &Idempotency,
                tx: &mut Transaction<'_, Db>,
                name: &str,
                amount: u32,
            ) -> Result<u32, Failed> {
                write(tx, name).await?;
                if amount == 0 { Err(Failed::Declined) } else { Ok(amount + 1) }
            }

            #[idempotent(prefix = "refuse", keys = [name], ttl = 1h, on_error = record, within = tx, via = idempotency)]
            async fn refuse(
                idempotency: &Idempotency,
                tx: &mut Transaction<'_, Db>,
                name: &str,
            ) -> Result<u32, Failed> {
                write(tx, name).await?;
                Err(Failed::Declined)
            }

            #[tokio::test]
            async fn claim_writes_and_result_are_committed_together_or_vanish_together() {
                let Some(shop) = Shop::open().await else { return };
                let mut tx = shop.begin().await;
                assert_eq!(pay(&shop.idempotency, &mut tx, "rolled back", 1).await, Ok(2));
                tx.rollback().await.unwrap();
                assert_eq!(shop.effects("rolled back").await, 0);
                for expected in [OutcomeKind::Executed, OutcomeKind::Replayed, OutcomeKind::Replayed] {
                    let mut tx = shop.begin().await;
                    let (result, outcome) = with_outcome(pay(&shop.idempotency, &mut tx, "rolled back", 1)).await;
                    assert_eq!((result, outcome.kind(), outcome.attempt()), (Ok(2), expected, Some(1)));
                    tx.commit().await.unwrap();
                    assert_eq!(shop.effects("rolled back").await, 1);
                }
            }

            #[tokio::test]
            async fn the_functional_form_does_the_same() {
                let Some(shop) = Shop::open().await else { return };
                let call = || shop.idempotency.call("pay").key("form").ttl(Duration::from_mins(10));
                for _ in 0..2 {
                    let mut tx = shop.begin().await;
                    let paid = call().within(&mut tx, async |mut tx| {
                        write(&mut tx, "form").await?;
                        Ok::<_, Failed>(current().and_then(|claim| claim.fence()).is_some())
                    });
                    assert_eq!(paid.await, Ok(true));
                    tx.commit().await.unwrap();
                }
                assert_eq!(shop.effects("form").await, 1);

                let replies = Replies::<u32, Failed>::recorded().errors_judged(|_| OnError::Reject("no money".into()));
                let call = || shop.idempotency.call("pay").key("final").ttl(Duration::from_mins(10));
                let mut tx = shop.begin().await;
                let failed = call().within_with(replies, &mut tx, async |mut tx| {
                    write(&mut tx, "final").await?;
                    Err(Failed::Declined)
                });
                assert_eq!(failed.await, Err(Failed::Declined));
                let again = call().within_with(replies, &mut tx, async |_| Ok(1)).await.unwrap_err();
                assert_eq!(again.kind(), Some(ErrorKind::Failed));
                tx.commit().await.unwrap();
                assert_eq!(shop.effects("final").await, 0);

                let mut tx = shop.begin().await;
                let leased = call().lease(Duration::from_secs(5)).within(&mut tx, async |_| Ok::<u32, Failed>(1));
                assert_eq!(leased.await.unwrap_err().kind(), Some(ErrorKind::Configuration));
            }

            #[tokio::test]
            async fn point_6_an_error_undoes_the_claim_and_the_writes_and_leaves_the_transaction_usable() {
                let Some(shop) = Shop::open().await else { return };
                let mut tx = shop.begin().await;
                write(&mut tx, "before").await.unwrap();
                let (result, outcome) = with_outcome(pay(&shop.idempotency, &mut tx, "released", 0)).await;
                assert_eq!((result, outcome.kind()), (Err(Failed::Declined), OutcomeKind::Failed));
                write(&mut tx, "after").await.unwrap();
                tx.commit().await.unwrap();
                let there = [shop.effects("before").await, shop.effects("released").await, shop.effects("after").await];
                assert_eq!(there, [1, 0, 1]);
                let mut tx = shop.begin().await;
                assert_eq!(pay(&shop.idempotency, &mut tx, "released", 4).await, Ok(5), "a retry may run");
                tx.commit().await.unwrap();
                assert_eq!(shop.effects("released").await, 1);
            }

            #[tokio::test]
            async fn point_6_a_recorded_error_is_kept_if_the_owner_commits_without_what_was_written() {
                let Some(shop) = Shop::open().await else { return };
                for ending in ["roll back", "commit"] {
                    let mut tx = shop.begin().await;
                    let (result, outcome) = with_outcome(refuse(&shop.idempotency, &mut tx, "refused")).await;
                    assert_eq!((result, outcome.kind()), (Err(Failed::Declined), OutcomeKind::FailedForGood));
                    assert_eq!(outcome.attempt(), Some(1), "what was rolled back is forgotten");
                    write(&mut tx, ending).await.unwrap();
                    if ending == "commit" { tx.commit().await.unwrap() } else { tx.rollback().await.unwrap() }
                }
                assert_eq!([shop.effects("refused").await, shop.effects("commit").await], [0, 1]);
                let mut tx = shop.begin().await;
                let (result, outcome) = with_outcome(refuse(&shop.idempotency, &mut tx, "refused")).await;
                assert_eq!((result, outcome.kind()), (Err(Failed::Declined), OutcomeKind::FailedForGood));
                assert_eq!(shop.effects("refused").await, 0, "nothing ran");
            }

            #[tokio::test]
            async fn point_8_another_fingerprint_is_a_mismatch_and_a_retry_gets_the_recorded_value() {
                let Some(shop) = Shop::open().await else { return };
                let mut tx = shop.begin().await;
                assert_eq!(pay(&shop.idempotency, &mut tx, "asked twice", 9).await, Ok(10));
                let again = pay(&shop.idempotency, &mut tx, "asked twice", 9).await;
                assert_eq!(again, Ok(10), "in the same transaction too");
                tx.commit().await.unwrap();
                // The answer was lost: the same call in a new transaction.
                let mut tx = shop.begin().await;
                assert_eq!(pay(&shop.idempotency, &mut tx, "asked twice", 9).await, Ok(10));
                let other = pay(&shop.idempotency, &mut tx, "asked twice", 8).await.unwrap_err();
                assert_eq!(other.kind(), Some(ErrorKind::Mismatch));
                write(&mut tx, "still usable").await.unwrap();
                tx.commit().await.unwrap();
                assert_eq!([shop.effects("asked twice").await, shop.effects("still usable").await], [1, 1]);
            }

            #[tokio::test]
            async fn point_9_a_call_that_was_dropped_half_way_cannot_be_committed() {
                let Some(shop) = Shop::open().await else { return };
                let written = Notify::new();
                let mut tx = shop.begin().await;
                let call = shop.idempotency.call("pay").key("dropped").ttl(Duration::from_mins(10));
                let call = call.within(&mut tx, async |mut tx| {
                    write(&mut tx, "dropped").await?;
                    written.notify_one();
                    std::future::pending::<Result<u32, Failed>>().await
                });
                tokio::select! {
                    _ = call => unreachable!("it never returns"),
                    () = written.notified() => {}
                }
                let refused = tx.commit().await.unwrap_err().to_string();
                assert!(refused.contains(SAYS), "{refused}");
                assert_eq!(shop.effects("dropped").await, 0);
                let mut tx = shop.begin().await;
                assert_eq!(pay(&shop.idempotency, &mut tx, "dropped", 2).await, Ok(3), "the key is free");
                tx.commit().await.unwrap();
            }

            #[tokio::test]
            async fn point_9_nor_can_one_that_panicked() {
                let Some(shop) = Shop::open().await else { return };
                let call = shop.idempotency.call("pay").key("panicked").ttl(Duration::from_mins(10));
                let mut tx = shop.begin().await;
                let panicked = tokio::spawn(async move {
                    let call = call.within(&mut tx, async |mut tx| {
                        write(&mut tx, "panicked").await?;
                        if current().is_some() {
                            panic!("burnt");
                        }
                        Ok::<u32, Failed>(0)
                    });
                    let caught = futures_util::FutureExt::catch_unwind(std::panic::AssertUnwindSafe(call)).await;
                    (caught.is_err(), tx.commit().await.is_err())
                });
                assert_eq!(panicked.await.unwrap(), (true, true));
                assert_eq!(shop.effects("panicked").await, 0);
            }

            #[tokio::test]
            async fn a_run_that_takes_too_long_is_undone() {
                #[idempotent(prefix = "slow", keys = [name], ttl = 1h, timeout = 50ms, within = tx, via = idempotency)]
                async fn slow(
                    idempotency: &Idempotency,
                    tx: &mut Transaction<'_, Db>,
                    name: &str,
                ) -> Result<u32, Failed> {
                    write(tx, name).await?;
                    std::future::pending().await
                }

                let Some(shop) = Shop::open().await else { return };
                let mut tx = shop.begin().await;
                let late = slow(&shop.idempotency, &mut tx, "late").await.unwrap_err();
                assert_eq!(late.kind(), Some(ErrorKind::TimedOut));
                write(&mut tx, "still usable").await.unwrap();
                tx.commit().await.unwrap();
                assert_eq!([shop.effects("late").await, shop.effects("still usable").await], [0, 1]);
            }

            #[tokio::test]
            async fn existing_and_verify_ask_in_the_same_transaction() {
                async fn find(tx: &mut Transaction<'_, Db>, name: &str) -> Result<Option<u32>, Failed> {
                    let found = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM effects WHERE name = $1");
                    let found = found.bind(name).fetch_one(&mut **tx).await?;
                    Ok((found > 0).then_some(77))
                }

                async fn is_there(tx: &mut Transaction<'_, Db>, name: &str) -> Result<bool, Failed> {
                    Ok(find(tx, name).await?.is_some())
                }

                #[idempotent(
                                            prefix = "make", keys = [name], ttl = 1h, within = tx, via = idempotency,
                                            existing = find(&mut *tx, name), verify = is_there(&mut *tx, name),
                                        )]
                async fn make(
                    idempotency: &Idempotency,
                    tx: &mut Transaction<'_, Db>,
                    name: &str,
                ) -> Result<u32, Failed> {
                    write(tx, name).await?;
                    Ok(1)
                }

                let Some(shop) = Shop::open().await else { return };
                let mut tx = shop.begin().await;
                write(&mut tx, "found").await.unwrap();
                let (found, outcome) = with_outcome(make(&shop.idempotency, &mut tx, "found")).await;
                assert_eq!((found, outcome.kind()), (Ok(77), OutcomeKind::Existing));
                assert_eq!(make(&shop.idempotency, &mut tx, "made").await, Ok(1));
                let (again, outcome) = with_outcome(make(&shop.idempotency, &mut tx, "made")).await;
                assert_eq!((again, outcome.kind()), (Ok(1), OutcomeKind::Replayed));
                sqlx::query("DELETE FROM effects WHERE name = 'made'").execute(&mut *tx).await.unwrap();
                let (anew, outcome) = with_outcome(make(&shop.idempotency, &mut tx, "made")).await;
                assert_eq!((anew, outcome.kind(), outcome.attempt()), (Ok(1), OutcomeKind::Executed, Some(2)));
                tx.commit().await.unwrap();
                assert_eq!(shop.effects("made").await, 1);
            }

            #[tokio::test]
            async fn a_call_inside_a_call_has_a_claim_of_its_own() {
                #[idempotent(prefix = "outer", keys = [name], ttl = 1h, within = tx, via = idempotency)]
                async fn outer(
                    idempotency: &Idempotency,
                    tx: &mut Transaction<'_, Db>,
                    name: &str,
                ) -> Result<u32, Failed> {
                    assert_eq!(pay(idempotency, tx, "inner declined", 0).await, Err(Failed::Declined));
                    let inner = pay(idempotency, tx, "inner", 1).await?;
                    write(tx, name).await?;
                    Ok(inner + 10)
                }

                let Some(shop) = Shop::open().await else { return };
                for _ in 0..2 {
                    let mut tx = shop.begin().await;
                    assert_eq!(outer(&shop.idempotency, &mut tx, "outer").await, Ok(12));
                    assert_eq!(pay(&shop.idempotency, &mut tx, "inner", 1).await, Ok(2));
                    tx.commit().await.unwrap();
                }
                let there = [shop.effects("outer").await, shop.effects("inner").await];
                assert_eq!((there, shop.effects("inner declined").await), ([1, 1], 0));
            }

            #[tokio::test]
            async fn a_body_that_keeps_the_transaction_is_not_completed() {
                let Some(shop) = Shop::open().await else { return };
                let mut tx = shop.begin().await;
                let (keep, kept) = std::sync::mpsc::channel();
                let call = shop.idempotency.call("keep").key(1).forever().within(&mut tx, async |tx| {
                    keep.send(tx).expect("it is received below");
                    Ok::<u32, Failed>(1)
                });
                assert_eq!(call.await.unwrap_err().kind(), Some(ErrorKind::TransactionFailed));
                drop((keep, kept));
                assert!(tx.commit().await.unwrap_err().to_string().contains(SAYS));
            }

            #[tokio::test]
            async fn nothing_is_guarded_where_the_handle_is_disabled() {
                let Some(shop) = Shop::open().await else { return };
                let disabled = Idempotency::disabled();
                let mut tx = shop.begin().await;
                for _ in 0..2 {
                    let (paid, outcome) = with_outcome(pay(&disabled, &mut tx, "unguarded", 1)).await;
                    assert_eq!((paid, outcome.kind()), (Ok(2), OutcomeKind::Unguarded { ok: true }));
                }
                tx.commit().await.unwrap();
                assert_eq!(shop.effects("unguarded").await, 2);
            }

            #[tokio::test]
            async fn point_20_its_fence_grows_with_every_commit_and_a_lease_finds_its_record() {
                let Some(shop) = Shop::open().await else { return };
                let mut last = None;
                for name in ["a", "b", "c"] {
                    let mut tx = shop.begin().await;
                    let call = shop.idempotency.call("fenced").key(name).forever();
                    let fence =
                        call.within(&mut tx, async |_| Ok::<_, Failed>(current().and_then(|claim| claim.fence())));
                    let fence = fence.await.unwrap();
                    assert!(fence > last, "{fence:?} after {last:?}");
                    // SQLite takes the number of a claim that never was back, and gives it again.
                    if name == "b" {
                        tx.rollback().await.unwrap();
                    } else {
                        tx.commit().await.unwrap();
                        last = fence;
                    }
                }
                let call = shop.idempotency.call("fenced").key("c").forever();
                assert_eq!(call.run(async { Ok::<_, Failed>(None) }).await, Ok(last), "replayed outside too");
            }
        }
    };
}

on!(postgres, crate::pg);
on!(sqlite, crate::lite);
