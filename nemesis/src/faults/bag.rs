//! Kinds of harm, in random order: every one comes once before one comes again.

use rand::rngs::StdRng;
use rand::seq::SliceRandom as _;

#[derive(Debug)]
pub(super) struct Bag<T: 'static> {
    kinds: &'static [T],
    left: Vec<T>,
}

impl<T: Copy> Bag<T> {
    /// Of at least one kind.
    pub(super) fn of(kinds: &'static [T]) -> Self {
        Self { kinds, left: Vec::new() }
    }

    pub(super) fn draw(&mut self, rng: &mut StdRng) -> T {
        if self.left.is_empty() {
            self.left = self.kinds.to_vec();
            self.left.shuffle(rng);
        }
        self.left.pop().expect("there is at least one kind")
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::*;

    #[test]
    fn every_kind_comes_once_before_one_comes_again() {
        let (mut bag, mut rng) = (Bag::of(&[1, 2, 3]), StdRng::seed_from_u64(1));
        for _ in 0..10 {
            let mut drawn = [0; 3].map(|_| bag.draw(&mut rng));
            drawn.sort_unstable();
            assert_eq!(drawn, [1, 2, 3]);
        }
    }
}
