//! The settings that are gone through.

use crate::history::Broken;
use crate::setting::{Earlier, Faults, Policy, Setting};

/// A setting with a name for people.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// Its name, as the command line takes it.
    pub name: &'static str,
    /// It.
    pub setting: Setting,
}

const EXISTING: Policy = Policy { existing: true, ..Policy::RERUN };
const VERIFY: Policy = Policy { verify: true, ..Policy::RERUN };

/// The policies, each alone.
const POLICIES: [(&str, Policy); 10] = [
    ("rerun", Policy::RERUN),
    ("wait", Policy { waits: true, ..Policy::RERUN }),
    ("existing", EXISTING),
    ("verify", VERIFY),
    ("verify-existing", Policy { verify: true, ..EXISTING }),
    ("hold", Policy::HOLD),
    ("hold-existing", Policy::HOLD_EXISTING),
    ("one-attempt", Policy::RERUN.at_most(1)),
    ("two-attempts", Policy::RERUN.at_most(2)),
    ("hold-two-attempts", Policy::HOLD.at_most(2)),
];

/// What is not promised where messages are about for ever: only a late claim *and* another late message of the same
/// call, both older than a lease, break these.
const WHERE_MESSAGES_ARE_ANCIENT: &[Broken] = &[
    Broken::Revived,
    Broken::IndeterminateForNothing,
    Broken::ExhaustedForNothing,
    Broken::TtlStartedAgain,
    Broken::EffectTwice,
];

/// What is not promised where the store forgets what it has acknowledged.
const WHERE_THE_STORE_IS_EMPTIED: &[Broken] =
    &[Broken::RanTwiceUnderHold, Broken::EffectTwice, Broken::IndeterminateForNothing];

/// Every policy with the usual faults, `calls` calls of each.
pub fn policies(calls: usize) -> Vec<Named> {
    let named = |(name, policy)| Named { name, setting: Setting::of(calls, policy) };
    POLICIES.into_iter().map(named).collect()
}

/// Different handlers of one key, as in a deploy, and calls that differ in their arguments.
pub fn mixtures() -> Vec<Named> {
    let other = Policy { fingerprint: 1, ..Policy::RERUN };
    // `existing` sees an effect also after the ttl, `hold` does not: they are compared within it.
    let holds = Setting::each(&[Policy::HOLD, Policy::HOLD_EXISTING]).with(|faults| faults.expire = false);
    let over_an_open_run = Setting { earlier: Earlier::OpenRun, ..holds };
    let attempts = Setting::each(&[Policy::RERUN.at_most(2), Policy::RERUN.at_most(1)]);
    vec![
        Named { name: "hold-with-and-without-existing-over-an-open-run", setting: over_an_open_run },
        Named { name: "two-attempts-and-one", setting: attempts },
        Named { name: "two-attempts-and-one-after-a-failure", setting: attempts.after(Earlier::FailedRun) },
        Named { name: "two-fingerprints", setting: Setting::each(&[Policy::RERUN, other]) },
        Named { name: "hold-with-and-without-existing", setting: holds },
        Named { name: "rerun-with-and-without-existing", setting: Setting::each(&[Policy::RERUN, EXISTING]) },
    ]
}

/// The unusual faults, with the policies that they bear on.
pub fn troubles(calls: usize) -> Vec<Named> {
    let of = |policy, change: fn(&mut Faults)| Setting::of(calls, policy).with(change);
    let mut all = Vec::new();
    for (at, policy) in [Policy::RERUN, Policy::HOLD, Policy::RERUN.at_most(2)].into_iter().enumerate() {
        let name = |names: [&'static str; 3]| names[at];
        let ancient = of(policy, |faults| faults.ancient = true).sparing(WHERE_MESSAGES_ARE_ANCIENT);
        let emptied = of(policy, |faults| faults.restart = true).sparing(WHERE_THE_STORE_IS_EMPTIED);
        // No record is written by a run that has ended: that would be counted as a second one.
        let once = of(policy, |faults| (faults.repeat, faults.expire) = (false, false));
        all.extend([
            Named { name: name(["rerun-ancient", "hold-ancient", "two-attempts-ancient"]), setting: ancient },
            Named { name: name(["rerun-emptied", "hold-emptied", "two-attempts-emptied"]), setting: emptied },
            Named { name: name(["rerun-once", "hold-once", "two-attempts-once"]), setting: once },
        ]);
    }
    all.extend([
        Named { name: "rerun-stopped", setting: of(Policy::RERUN, |faults| faults.suspend = true) },
        Named { name: "hold-stopped", setting: of(Policy::HOLD, |faults| faults.suspend = true) },
        Named { name: "rerun-ageing", setting: of(Policy::RERUN, |faults| faults.age = true) },
    ]);
    all
}

/// With fewer faults, for more calls: crashes, failures, suspensions and lapses; every message is applied, no more
/// than once after it is answered, and no call is dropped.
#[must_use]
pub fn narrow(named: Named) -> Named {
    let narrow = |faults: &mut Faults| (faults.stray, faults.drop, faults.expire) = (false, false, false);
    Named { setting: named.setting.with(narrow), ..named }
}
