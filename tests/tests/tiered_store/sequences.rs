//! Random sequences of operations and clock steps on both, and on the plain reference: they agree on every answer, and on
//! the record after every step.

use std::sync::Arc;
use std::time::Duration;

use servers::{Redis, RedisBinary};

use crate::sequence::{Chance, Clock, all_agree};
use crate::support::{Tiers, Truth};

/// Long against what the operations take; its quarters are what the sequences count in.
const TICK: Duration = Duration::from_millis(400);

#[tokio::test]
async fn redis_in_front_of_postgres_agrees_with_the_reference() {
    let Some((front, truth)) = servers::needed(Redis::start(RedisBinary::System)).zip(Truth::postgres()) else {
        return;
    };
    let harness = Tiers::new(&front, Arc::new(truth), TICK).await;
    for chance in [Chance::Same, Chance::New] {
        all_agree(&harness, Clock::Still, chance, 20, 60).await;
        all_agree(&harness, Clock::Rough, chance, 20, 14).await;
    }
}
