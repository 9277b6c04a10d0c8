//! Checks the history of a sink, and knows nothing of how the sink decides: a sink that is broken is seen.

use std::collections::HashMap;

use super::{Answer, Presented};

/// What a history comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Effects that took place.
    pub accepted: usize,
    /// Effects that did not.
    pub refused: usize,
    /// Accepted although a higher fence of that order had come before.
    pub accepted_below_fence: usize,
    /// Refused although no higher fence of that order had come before.
    pub refused_wrongly: usize,
}

/// Goes through a history, in the order in which it came.
pub fn check(history: &[Presented]) -> Checked {
    let mut orders: HashMap<usize, Vec<Presented>> = HashMap::new();
    for &presented in history {
        orders.entry(presented.order).or_default().push(presented);
    }
    let mut checked = Checked::default();
    for effects in orders.values() {
        for (at, effect) in effects.iter().enumerate() {
            let is_below = effects[..at].iter().any(|earlier| earlier.fence > effect.fence);
            match effect.answer {
                Answer::Accepted => {
                    checked.accepted += 1;
                    checked.accepted_below_fence += usize::from(is_below);
                }
                Answer::Refused => {
                    checked.refused += 1;
                    checked.refused_wrongly += usize::from(!is_below);
                }
            }
        }
    }
    checked
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{RngExt as _, SeedableRng as _};

    use super::*;
    use crate::fence::Fences;

    /// Effects of ten orders: runs that follow each other, and here and there a late effect of one before.
    fn effects() -> Vec<(usize, u64)> {
        let mut rng = StdRng::seed_from_u64(1);
        let mut last = [0; 10];
        let mut effect = || {
            let order = rng.random_range(0..10);
            last[order] += u64::from(rng.random_bool(0.5));
            let late = if rng.random_bool(0.3) { rng.random_range(0..=last[order]) } else { 0 };
            (order, last[order] - late)
        };
        std::iter::repeat_with(&mut effect).take(1000).collect()
    }

    /// What the check says of a sink that decides like this.
    fn judged(mut decides: impl FnMut(usize, u64) -> Answer) -> Checked {
        let presented = |(order, fence)| Presented { order, fence, answer: decides(order, fence) };
        check(&effects().into_iter().map(presented).collect::<Vec<_>>())
    }

    fn accepted_if(accepted: bool) -> Answer {
        if accepted { Answer::Accepted } else { Answer::Refused }
    }

    #[test]
    fn the_sink_makes_no_mistake_and_both_answers_occur() {
        let mut fences = Fences::default();
        for (order, fence) in effects() {
            fences.present(order, fence);
        }
        let checked = check(fences.history());
        assert_eq!((checked.accepted_below_fence, checked.refused_wrongly), (0, 0));
        assert_eq!(checked.accepted + checked.refused, 1000);
        assert!(checked.accepted > 100 && checked.refused > 100, "{checked:?}");
    }

    #[test]
    fn a_sink_that_accepts_everything_is_seen() {
        let checked = judged(|_, _| Answer::Accepted);
        assert!(checked.accepted_below_fence > 0 && checked.refused == 0, "{checked:?}");
    }

    #[test]
    fn a_sink_that_compares_with_the_last_instead_of_the_highest_is_seen() {
        let mut last = HashMap::new();
        let checked = judged(|order, fence| accepted_if(last.insert(order, fence).is_none_or(|last| fence >= last)));
        assert!(checked.accepted_below_fence > 0, "{checked:?}");
    }

    #[test]
    fn a_sink_that_refuses_the_second_effect_of_a_run_is_seen() {
        let mut highest = HashMap::new();
        let checked = judged(|order, fence| {
            let highest = highest.entry(order).or_insert(0);
            let accepted = fence > *highest;
            *highest = fence.max(*highest);
            accepted_if(accepted)
        });
        assert!(checked.refused_wrongly > 0 && checked.accepted_below_fence == 0, "{checked:?}");
    }

    #[test]
    fn a_sink_that_confuses_orders_is_seen() {
        let mut highest = 0;
        let checked = judged(|_, fence| {
            let accepted = fence >= highest;
            highest = fence.max(highest);
            accepted_if(accepted)
        });
        assert!(checked.refused_wrongly > 0, "{checked:?}");
    }

    #[test]
    fn one_late_effect_among_many_is_found() {
        let effect = |order, fence| Presented { order, fence, answer: Answer::Accepted };
        let fine = [effect(1, 1), effect(2, 7), effect(1, 2), effect(1, 2), effect(2, 7)];
        assert_eq!(check(&fine), Checked { accepted: 5, ..Checked::default() });
        let mut planted = fine.to_vec();
        planted.push(effect(1, 1));
        assert_eq!(check(&planted), Checked { accepted: 6, accepted_below_fence: 1, ..Checked::default() });
    }
}
