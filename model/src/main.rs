//! x
use model::protocol::Protocol;
use model::setting::{Policy, Setting};
use std::num::NonZeroUsize;
fn main() {
    let n: usize = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(2);
    let ex = Policy { existing: true, ..Policy::RERUN };
    for (name, policy) in [
        ("rerun", Policy::RERUN),
        ("hold", Policy::HOLD),
        ("hold+existing", Policy::HOLD_EXISTING),
        ("existing", ex),
        ("max2", Policy::RERUN.at_most(2)),
        ("max1", Policy::RERUN.at_most(1)),
        ("verify", Policy { verify: true, ..Policy::RERUN }),
        ("wait", Policy { waits: true, ..Policy::RERUN }),
    ] {
        let report = Protocol::new(Setting::of(n, policy)).check(NonZeroUsize::MIN);
        println!("{name}: {} states {:?}\n{}", report.states, report.took, report.explain());
    }
}
