//! Random sequences of operations and clock steps on two stores as one, and on the plain reference: they agree on every
//! answer, and on the record after every step.

use proptest::prelude::*;

use crate::front::{Harm, tiers};
use crate::sequence::{Clock, Sequence, agrees};

fn on_tiers(harm: Harm, every: usize, clock: Clock, sequence: &Sequence) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a tokio runtime starts");
    runtime.block_on(async { agrees(&tiers(harm, every), clock, sequence).await.map(drop) })
}

fn harm() -> impl Strategy<Value = Harm> {
    prop_oneof![Just(Harm::Emptied), Just(Harm::Fails), Just(Harm::LosesAnswers)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, max_shrink_iters: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn they_agree_with_the_reference(sequence in Clock::Rough.sequence(60)) {
        on_tiers(Harm::Nothing, 1, Clock::Rough, &sequence)?;
    }

    #[test]
    fn they_agree_while_time_stands_still(sequence in Clock::Still.sequence(60)) {
        on_tiers(Harm::Nothing, 1, Clock::Still, &sequence)?;
    }

    #[test]
    fn they_agree_with_a_front_that_is_harmed(harm in harm(), every in 1..12_usize, sequence in Clock::Rough.sequence(60)) {
        on_tiers(harm, every, Clock::Rough, &sequence)?;
    }

    #[test]
    fn they_agree_with_a_front_that_is_harmed_while_time_stands_still(
        harm in harm(),
        every in 1..12_usize,
        sequence in Clock::Still.sequence(60),
    ) {
        on_tiers(harm, every, Clock::Still, &sequence)?;
    }
}
