//! The variants: for each rule the setting in which it is seen to be needed, and the promise that breaks without it.

use crate::history::Broken;
use crate::properties as promise;
use crate::protocol::{Protocol, Report};
use crate::rules::{Rule, Without};
use crate::setting::{Earlier, Policy, Setting};

impl Rule {
    /// All rules that break a promise of [`properties`](crate::properties) when they are left out. One more,
    /// [`Rule::RenewalEnds`], is seen by [`liveness`](crate::liveness).
    pub const ALL: [Self; 28] = [
        Self::LeaseIsTheWriters,
        Self::FailedOwnTokenIsLost,
        Self::OwnClaimIsWritten,
        Self::TakeoverIsOneStep,
        Self::CompletedOwnTokenIsADuplicate,
        Self::RenewalCreatesNothing,
        Self::RenewalLeavesCompleted,
        Self::CompletionKeepsItsTtl,
        Self::ReleaseLeavesCompleted,
        Self::ReleaseCountsRunsOnly,
        Self::AbsentIsRemembered,
        Self::PutBackMarksFailed,
        Self::PutBackKeepsTheRun,
        Self::HiddenRunCounts,
        Self::RunBelowStaysOpen,
        Self::AttemptsAreRemembered,
        Self::GivenUpStaysSo,
        Self::BeginComesFirst,
        Self::DeadlineFromRequest,
        Self::ClockCountsSuspension,
        Self::OldAnswersAreNoWord,
        Self::NoPollInDoubt,
        Self::PutBackTokenIsDead,
        Self::NothingReleasesAfterReturn,
        Self::HoldReleasesNothingOnDrop,
        Self::PutBackOutlastsALease,
        Self::RewriteWithinTtl,
        Self::PutBackRestampsCompleted,
    ];

    /// The smallest setting in which leaving the rule out is seen.
    pub fn setting(self) -> Setting {
        let setting = match self {
            Self::LeaseIsTheWriters | Self::CompletionKeepsItsTtl => {
                let setting = Setting::of(2, Policy::RERUN).with(|faults| faults.age = true);
                setting.sparing(&[Broken::LiveRecordChanged])
            }
            Self::ClockCountsSuspension => Setting::of(2, Policy::RERUN).with(|faults| faults.suspend = true),
            // A deploy: one of three handlers asks whether the effect is there. Crashes are enough.
            Self::PutBackKeepsTheRun | Self::HiddenRunCounts => {
                let setting = Setting::each(&[Policy::HOLD, Policy::HOLD_EXISTING, Policy::HOLD]);
                setting.with(|faults| (faults.stray, faults.drop, faults.expire) = (false, false, false))
            }
            // A deploy too. What had happened before is where it begins, and calls that are dropped are enough.
            Self::RunBelowStaysOpen => {
                let setting = Setting::each(&[Policy::HOLD_EXISTING, Policy::HOLD_EXISTING, Policy::HOLD]);
                let setting = setting.after(Earlier::OpenRun);
                setting.with(|faults| (faults.stray, faults.crash, faults.expire) = (false, false, false))
            }
            Self::AttemptsAreRemembered => {
                let two = Policy::RERUN.at_most(2);
                let setting = Setting::each(&[two, two, Policy::RERUN.at_most(1)]).after(Earlier::FailedRun);
                setting.with(|faults| (faults.stray, faults.repeat, faults.crash) = (false, false, false))
            }
            Self::ReleaseCountsRunsOnly => Setting::of(2, Policy::RERUN.at_most(2)),
            Self::TakeoverIsOneStep => Setting::of(2, Policy::RERUN).sparing(&[Broken::LiveRecordChanged]),
            Self::GivenUpStaysSo
            | Self::BeginComesFirst
            | Self::NothingReleasesAfterReturn
            | Self::HoldReleasesNothingOnDrop
            | Self::PutBackOutlastsALease => Setting::of(2, Policy::HOLD),
            Self::PutBackRestampsCompleted => Setting::of(2, Policy { verify: true, ..Policy::RERUN }),
            _ => Setting::of(2, Policy::RERUN),
        };
        Setting { without: Without::rules(&[self]), ..setting }
    }

    /// What breaks without the rule.
    pub const fn breaks(self) -> &'static str {
        match self {
            Self::LeaseIsTheWriters
            | Self::OwnClaimIsWritten
            | Self::TakeoverIsOneStep
            | Self::DeadlineFromRequest
            | Self::ClockCountsSuspension
            | Self::OldAnswersAreNoWord
            | Self::NoPollInDoubt
            | Self::PutBackTokenIsDead => promise::ONE_BELIEVER,
            Self::FailedOwnTokenIsLost
            | Self::RenewalCreatesNothing
            | Self::AbsentIsRemembered
            | Self::PutBackMarksFailed
            | Self::GivenUpStaysSo
            | Self::PutBackRestampsCompleted => promise::NOTHING_REVIVED,
            Self::CompletedOwnTokenIsADuplicate | Self::ReleaseLeavesCompleted => promise::COMPLETION_STANDS,
            Self::RenewalLeavesCompleted => promise::NO_RUN_WITHIN_TTL,
            Self::CompletionKeepsItsTtl | Self::RewriteWithinTtl => promise::ONE_TTL,
            Self::PutBackKeepsTheRun
            | Self::HiddenRunCounts
            | Self::RunBelowStaysOpen
            | Self::HoldReleasesNothingOnDrop
            | Self::NothingReleasesAfterReturn => promise::HOLD_RUNS_ONCE,
            Self::AttemptsAreRemembered => promise::BOUNDED_RUNS,
            Self::ReleaseCountsRunsOnly => promise::EXHAUSTED_FOR_A_REASON,
            Self::BeginComesFirst | Self::PutBackOutlastsALease => promise::INDETERMINATE_FOR_A_REASON,
            Self::RenewalEnds => "a key is settled in the end",
        }
    }

    /// Looks for the shortest way in which the promise breaks without the rule.
    pub fn counterexample(self) -> Report {
        let setting = match self {
            // The rule is a second line: the guard sends no release once the body has returned.
            Self::ReleaseLeavesCompleted => self.setting().without(&[self, Self::NothingReleasesAfterReturn]),
            _ => self.setting(),
        };
        Protocol::new(setting).find(self.breaks())
    }
}
