//! Waking those who wait for the end of a run.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

/// Wakes when a run of the watched key ends.
///
/// It may wake without an end, so look afterwards. Dropped, it is given up.
pub struct Watch(Kind);

type Soon<T> = Pin<Box<dyn Future<Output = T> + Send>>;

enum Kind {
    Never,
    Surely(Soon<()>),
    Usually {
        /// `None` once it was awaited.
        ready: Option<Soon<bool>>,
        ended: Soon<()>,
    },
}

impl Watch {
    /// A watch that is ready at once, and that a store wakes by completing `ended`, without fail.
    pub fn on(ended: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(Kind::Surely(Box::pin(ended)))
    }

    /// A watch of a store behind a network: it wakes from when `ready` has said `true`, and what would wake it may get
    /// lost. So who waits looks by itself too, if more seldom.
    pub fn usually(
        ready: impl Future<Output = bool> + Send + 'static,
        ended: impl Future<Output = ()> + Send + 'static,
    ) -> Self {
        Self(Kind::Usually { ready: Some(Box::pin(ready)), ended: Box::pin(ended) })
    }

    /// A watch that never wakes: the waiter polls.
    #[must_use]
    pub const fn never() -> Self {
        Self(Kind::Never)
    }

    /// Whether the store can wake the waiter at all.
    #[must_use]
    pub const fn wakes(&self) -> bool {
        !matches!(self.0, Kind::Never)
    }

    /// Whether no end is missed.
    pub(crate) const fn is_sure(&self) -> bool {
        matches!(self.0, Kind::Surely(_))
    }

    /// The same watch, where an end may be missed.
    pub(crate) fn unsure(self) -> Self {
        match self.0 {
            Kind::Surely(ended) => Self(Kind::Usually { ready: None, ended }),
            kind => Self(kind),
        }
    }

    /// Waits until an end would wake the watch; `false` if none will. What ended before that is seen by a look after it.
    pub async fn ready(&mut self) -> bool {
        match &mut self.0 {
            Kind::Never => false,
            Kind::Surely(_) | Kind::Usually { ready: None, .. } => true,
            Kind::Usually { ready: waiting @ Some(_), .. } => {
                let will_wake = match waiting {
                    Some(ready) => ready.await,
                    None => true,
                };
                *waiting = None;
                if !will_wake {
                    self.0 = Kind::Never;
                }
                will_wake
            }
        }
    }

    /// Waits until a run has ended, for ever if the store cannot tell.
    pub async fn ended(&mut self) {
        match &mut self.0 {
            Kind::Never => std::future::pending().await,
            Kind::Surely(ended) | Kind::Usually { ended, .. } => ended.await,
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Never => "Watch(never)",
            Kind::Surely(_) => "Watch(surely)",
            Kind::Usually { .. } => "Watch(usually)",
        })
    }
}
