//! The guide: pages for people who use, choose and operate it. Each example runs as a test.

#[doc = include_str!("what_happens_when.md")]
pub mod what_happens_when {}

#[cfg(feature = "http")]
#[doc = include_str!("http.md")]
pub mod http {}
#[doc = include_str!("operating.md")]
pub mod operating {}
#[cfg(feature = "redis")]
#[doc = include_str!("redis.md")]
pub mod redis {}
#[doc = include_str!("signals.md")]
pub mod signals {}
#[doc = include_str!("sql.md")]
pub mod sql {}
