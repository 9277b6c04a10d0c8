//! First calls on a Cluster.

use servers::{Cluster, RedisBinary};

use super::by_hand::ByHand;
use super::guarded::Guarded;
use super::turns::{self, Contender, Length};
use super::{GUARDED, IN_FLIGHT, NODELAY, compare, forget, runtime, version};
use crate::figures::{Bed, ByInFlight, Figures};

/// Measures first calls on six nodes, which share one core; the client has the other.
pub(crate) fn cluster(figures: &mut Figures, quick: bool) -> anyhow::Result<()> {
    let cluster = Cluster::start(RedisBinary::System)?;
    let client = servers::pin(std::process::id(), 1).is_ok();
    let pinned = cluster.nodes().iter().all(|node| node.pin_to(0).is_ok()) && client;
    let runtime = runtime()?;
    let length = if quick { Length::QUICK } else { Length::FULL };
    // The first three have the slots.
    let forget_all = || cluster.nodes()[..3].iter().try_for_each(forget);
    let mut first = ByInFlight::new();
    for in_flight in IN_FLIGHT {
        let contenders = runtime.block_on(async {
            anyhow::Ok(vec![
                Contender::first_calls(NODELAY, ByHand::connect_to_cluster(cluster.nodes()).await?),
                Contender::first_calls(GUARDED, Guarded::connect(&cluster.url()).await?),
            ])
        })?;
        first.insert(in_flight, turns::measure(&runtime, &forget_all, &contenders, in_flight, length)?);
    }
    let (ratios, spreads, rates) = compare(first, GUARDED, &[NODELAY]);
    (figures.cluster, figures.spreads.cluster, figures.calls_per_second.cluster) = (Some(ratios), spreads, rates);
    figures.redis = Some(Bed { server: version(&cluster.nodes()[0])?, pinned });
    Ok(())
}
