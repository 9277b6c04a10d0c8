//! The publisher: every order several times, shuffled.

use anyhow::Result;
use examples::broker::{Broker, confirmed};
use rand::seq::SliceRandom as _;

use crate::consumer::OrderMessage;
use crate::sink::Sink;

pub(crate) struct Publisher<'a> {
    pub(crate) broker: &'a Broker,
    pub(crate) sink: &'a Sink,
    /// How many orders are about at a time.
    pub(crate) orders: usize,
    pub(crate) copies: usize,
}

impl Publisher<'_> {
    /// Publishes all copies of so many new orders.
    pub(crate) async fn publish(&self, orders: usize) -> Result<()> {
        let mut messages: Vec<usize> = self.sink.ledger().publish(orders).collect();
        messages.shuffle(&mut rand::rng());
        let mut publications = Vec::with_capacity(messages.len());
        for message in messages {
            let order = OrderMessage { order_id: message / self.copies, message };
            publications.push(self.broker.publish(&serde_json::to_vec(&order)?, &format!("m-{message}")).await?);
        }
        for publication in publications {
            confirmed(publication).await?;
        }
        Ok(())
    }

    /// Publishes new orders for those that are settled, a tenth at a time.
    pub(crate) async fn publish_more(&self) -> Result<()> {
        let about = {
            let ledger = self.sink.ledger();
            (ledger.published() - ledger.counts.settled).div_ceil(self.copies)
        };
        let room = self.orders.saturating_sub(about);
        if room >= self.orders.div_ceil(10) {
            self.publish(room).await?;
        }
        Ok(())
    }
}
