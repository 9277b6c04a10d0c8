//! Trouble between two looks of a waiter.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_late_put_back_of_one_look_leaves_the_claim_of_the_next() {
    let (shop, first, second) = (Shop::new(), Gate::new("first"), Gate::new("second"));
    let owner = spawn(Shop::on(&shop.other).run(shop.gated(&first)));
    first.reached().await;
    // The answer to the first look is lost, so it is put back; that message is slow.
    shop.faults.next(Operation::Claim, Fault::LosesAnswer);
    shop.faults.always(Operation::PutBack, Fault::ArrivesLate);
    let waiter = spawn(shop.call().on_busy(OnBusy::Wait(LEASE)).run(shop.gated(&second)));
    shop.faults.called(Operation::PutBack, 1).await;
    owner.abort();
    second.reached().await;
    shop.faults.deliver_late().await.unwrap();
    assert_eq!(shop.duplicate().await.0, Err(ErrorKind::Busy), "the waiter's claim stands");
    second.open();
    assert_eq!(waiter.await.unwrap().unwrap(), 1);
}
