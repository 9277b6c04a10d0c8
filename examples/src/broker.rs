//! The queues of a consumer on RabbitMQ, and what each [`Disposition`] does with a delivery.
//!
//! ```text
//!                    ┌───── after 250 ms … 64 s, by the dead-letter exchange ─────┐
//!                    ▼                                                            │
//! publisher ─▶ [ orders ] ─▶ consumer ─┬─ Ack                                     │
//!                                      ├─ RetryAfter ─▶ [ orders.retry.250ms … 64000ms ]
//!                                      └─ DeadLetter ─▶ [ orders.dead ] ─▶ a person
//! ```
//!
//! A plain requeue (`nack`) comes back at once, and a message that must wait would spin between broker and consumer. So
//! it is parked in a queue that nobody consumes, where it expires and is dead-lettered back to where it came from.
//! RabbitMQ expires messages at the head of a queue only: with a ttl of each message's own, one that waits for a second
//! would be stuck behind one that waits for a minute. Hence a ladder of queues with one ttl each, doubled from rung to
//! rung; a delay is rounded up to the next.
//!
//! A copy is published, confirmed by the broker, and only then is the original acknowledged. A crash in between leaves
//! two messages where there was one, which the guard makes harmless; the other order could leave none.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use idempotent_runtime::Disposition;
use lapin::message::Delivery;
use lapin::options::{
    BasicAckOptions, BasicCancelOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions,
    ConfirmSelectOptions, QueueDeclareOptions, QueueDeleteOptions,
};
use lapin::types::{AMQPValue, FieldTable, LongString, ShortString};
use lapin::{BasicProperties, Channel, Connection, Consumer, PublisherConfirm, Queue};

const FIRST_RUNG: Duration = Duration::from_millis(250);
const RUNGS: u32 = 9;
const PERSISTENT: u8 = 2;

/// A channel of one's own, and the queues that belong together.
#[derive(Clone, Debug)]
pub struct Broker {
    channel: Channel,
    queue: String,
}

impl Broker {
    /// Opens a channel and declares the queues.
    ///
    /// # Errors
    ///
    /// The broker's refusal, or a lost connection; as for everything here.
    pub async fn open(connection: &Connection, queue: &str) -> Result<Self> {
        let channel = connection.create_channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        let broker = Self { channel, queue: queue.to_owned() };
        broker.declare(queue, FieldTable::default()).await?;
        broker.declare(&broker.dead(), FieldTable::default()).await?;
        for ttl in ladder() {
            let mut arguments = FieldTable::default();
            arguments.insert("x-message-ttl".into(), AMQPValue::LongLongInt(i64::try_from(ttl.as_millis())?));
            arguments.insert("x-dead-letter-exchange".into(), long("")); // the default one: to a queue by its name
            arguments.insert("x-dead-letter-routing-key".into(), long(queue));
            broker.declare(&broker.rung(ttl), arguments).await?;
        }
        Ok(broker)
    }

    /// Starts to take deliveries, of which at most `prefetch` are unsettled at a time.
    pub async fn deliveries(&self, prefetch: u16) -> Result<Consumer> {
        self.channel.basic_qos(prefetch, BasicQosOptions::default()).await?;
        let arguments = FieldTable::default();
        let options = BasicConsumeOptions::default(); // acknowledged by hand
        Ok(self.channel.basic_consume(short(&self.queue), "".into(), options, arguments).await?)
    }

    /// Takes no more deliveries.
    pub async fn cancel(&self, deliveries: &Consumer) -> Result<()> {
        Ok(self.channel.basic_cancel(deliveries.tag(), BasicCancelOptions::default()).await?)
    }

    /// Closes the channel. What is not settled goes back to the queue.
    pub async fn close(self) -> Result<()> {
        Ok(self.channel.close(200, "done".into()).await?)
    }

    /// Hands a message over. The broker has it once the returned future says so: see [`confirmed`].
    pub async fn publish(&self, message: &[u8], message_id: &str) -> Result<PublisherConfirm> {
        let properties = BasicProperties::default().with_message_id(short(message_id));
        self.publish_to(&self.queue, message, properties).await
    }

    /// Does with a delivery what its outcome asks for. `reason` is for the person who reads the dead letters.
    pub async fn carry_out(&self, disposition: Disposition, delivery: &Delivery, reason: &str) -> Result<()> {
        let properties = delivery.properties.clone();
        match disposition {
            Disposition::Ack => {}
            Disposition::RetryAfter(delay) => {
                let queue = self.rung(rung_for(delay));
                confirmed(self.publish_to(&queue, &delivery.data, properties).await?).await?;
            }
            Disposition::DeadLetter => {
                let mut headers = properties.headers().clone().unwrap_or_default();
                headers.insert("x-reason".into(), long(reason));
                let properties = properties.with_headers(headers);
                confirmed(self.publish_to(&self.dead(), &delivery.data, properties).await?).await?;
            }
        }
        let acked = delivery.ack(BasicAckOptions::default()).await?;
        ensure!(acked, "the channel was closed before an acknowledgement; the broker will deliver the message again");
        Ok(())
    }

    /// How many messages wait in all the queues, the dead letters aside; those that a consumer holds do not count.
    pub async fn waiting(&self) -> Result<u32> {
        let mut waiting = 0;
        for queue in self.ladder_and_queue() {
            waiting += self.look_at(&queue).await?.message_count();
        }
        Ok(waiting)
    }

    /// How many consumers the broker knows of; one that was killed counts until the broker has noticed.
    pub async fn consumers(&self) -> Result<u32> {
        Ok(self.look_at(&self.queue).await?.consumer_count())
    }

    /// Removes the queues, with what is in them.
    pub async fn delete(&self) -> Result<()> {
        for queue in self.ladder_and_queue().chain([self.dead()]) {
            self.channel.queue_delete(short(&queue), QueueDeleteOptions::default()).await?;
        }
        Ok(())
    }

    async fn declare(&self, queue: &str, arguments: FieldTable) -> Result<()> {
        let options = QueueDeclareOptions { durable: true, ..QueueDeclareOptions::default() };
        self.channel
            .queue_declare(short(queue), options, arguments)
            .await
            .with_context(|| format!("queue `{queue}`"))?;
        Ok(())
    }

    async fn look_at(&self, queue: &str) -> Result<Queue> {
        let options = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
        Ok(self.channel.queue_declare(short(queue), options, FieldTable::default()).await?)
    }

    async fn publish_to(&self, queue: &str, message: &[u8], properties: BasicProperties) -> Result<PublisherConfirm> {
        // Mandatory: a message for a queue that somebody has removed comes back, instead of being dropped.
        let options = BasicPublishOptions { mandatory: true, ..BasicPublishOptions::default() };
        let properties = properties.with_delivery_mode(PERSISTENT);
        Ok(self.channel.basic_publish("".into(), short(queue), options, message, properties).await?)
    }

    fn ladder_and_queue(&self) -> impl Iterator<Item = String> {
        ladder().map(|ttl| self.rung(ttl)).chain([self.queue.clone()])
    }

    fn rung(&self, ttl: Duration) -> String {
        format!("{}.retry.{}ms", self.queue, ttl.as_millis())
    }

    fn dead(&self) -> String {
        format!("{}.dead", self.queue)
    }
}

/// Waits until the broker has a message.
///
/// # Errors
///
/// Where it says that it has not, or has no queue for it.
pub async fn confirmed(publication: PublisherConfirm) -> Result<()> {
    let confirmation = publication.await?;
    ensure!(confirmation.is_ack(), "the broker did not take a message");
    ensure!(confirmation.take_message().is_none(), "the broker has no queue for a message");
    Ok(())
}

fn ladder() -> impl Iterator<Item = Duration> {
    (0..RUNGS).map(|rung| FIRST_RUNG * 2_u32.pow(rung))
}

/// The shortest wait that is not shorter than asked; a longer delay than the last rung's is cut.
fn rung_for(delay: Duration) -> Duration {
    ladder().find(|&rung| rung >= delay).unwrap_or(FIRST_RUNG * 2_u32.pow(RUNGS - 1))
}

fn short(text: &str) -> ShortString {
    text.into()
}

fn long(text: &str) -> AMQPValue {
    AMQPValue::LongString(LongString::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_rounded_up_to_the_next_rung() {
        let rung = |millis| rung_for(Duration::from_millis(millis)).as_millis();
        assert_eq!([0, 250, 251, 1000, 60_000, 64_001].map(rung), [250, 250, 500, 1000, 64_000, 64_000]);
    }
}
