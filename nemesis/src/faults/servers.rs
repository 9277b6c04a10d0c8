//! Harm to the servers: one trouble at a time, until the deployment is whole again.
//!
//! Around each failover, what the servers hold is written down: of the replica before it takes over, when nobody writes
//! to it any more; and of the one in charge, again and again until all others follow it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use servers::Cluster;

use super::Tally;
use super::bag::Bag;
use crate::deployment::{Deployment, is_in_charge};
use crate::desk::Desk;
use crate::dump;
use crate::history::{Event, Held, Log, Moment, now};

/// Between two looks at the server in charge, as long as another may think that it is.
const BETWEEN_DUMPS: Duration = Duration::from_millis(250);

/// The last so many keys are looked at around a failover; in the end all are.
const RECENT: u64 = 1500;

/// How many slots are moved at once.
const SLOTS: usize = 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trouble {
    /// The server in charge is killed, and comes back when another has taken over, or at once.
    Kill,
    /// It stands still, for a moment or until another has taken over.
    Stop,
    /// Another takes over although nothing is wrong.
    FailOver,
    /// A replica is killed, and comes back.
    KillReplica,
    /// A Sentinel is killed, and comes back.
    KillSentinel,
    /// Slots move to another node.
    Migrate,
}

impl Trouble {
    fn of(deployment: &Deployment) -> &'static [Self] {
        match deployment {
            Deployment::One { .. } => &[Self::Kill, Self::Stop],
            Deployment::Sentinel(_) => &[Self::Kill, Self::Stop, Self::FailOver, Self::KillReplica, Self::KillSentinel],
            Deployment::Cluster(_) => &[Self::Kill, Self::Stop, Self::FailOver, Self::KillReplica, Self::Migrate],
        }
    }
}

/// What a replica held before it may have taken over.
type Before = Vec<(usize, Moment, BTreeMap<u64, Held>)>;

pub(crate) struct Servers<'a> {
    deployment: &'a Deployment,
    desk: Arc<Desk>,
    rng: StdRng,
    log: Arc<Log>,
    tally: Tally,
    troubles: Bag<Trouble>,
    /// Who was in charge of each shard at the last look.
    in_charge: Vec<Option<usize>>,
    whole_since: Moment,
}

impl<'a> Servers<'a> {
    pub(crate) fn new(deployment: &'a Deployment, desk: Arc<Desk>, seed: u64, log: Arc<Log>, tally: Tally) -> Self {
        let rng = StdRng::seed_from_u64(seed);
        let in_charge = deployment.shards().iter().map(|shard| deployment.primary(shard)).collect();
        Self {
            deployment,
            desk,
            rng,
            log,
            tally,
            troubles: Bag::of(Trouble::of(deployment)),
            in_charge,
            whole_since: now(),
        }
    }

    /// Does one harm, and waits until the deployment is whole again.
    pub(crate) fn harm(&mut self) -> Result<()> {
        let trouble = self.troubles.draw(&mut self.rng);
        let shards = self.deployment.shards();
        let shard = shards.choose(&mut self.rng).expect("there is one").clone();
        // One that came late, after a trouble that seemed to be over.
        self.note_failover(self.whole_since);
        let began = now();
        let Some(primary) = self.deployment.primary(&shard) else { return Ok(()) };
        match trouble {
            Trouble::Kill => self.kill(&shard, primary),
            Trouble::Stop => self.stop(&shard, primary),
            Trouble::FailOver => self.fail_over(&shard, primary),
            Trouble::KillReplica => self.kill_replica(&shard, primary),
            Trouble::KillSentinel => self.kill_sentinel(),
            Trouble::Migrate => self.migrate(primary),
        }?;
        self.until_whole()?;
        self.note_failover(began);
        self.whole_since = now();
        Ok(())
    }

    /// Writes down that another server is in charge than at the last look, also where that was not waited for: one that
    /// comes back soon may come too late.
    fn note_failover(&mut self, began: Moment) {
        let in_charge: Vec<_> = self.deployment.shards().iter().map(|shard| self.deployment.primary(shard)).collect();
        if in_charge != self.in_charge {
            self.tally.count("failover", format!("{in_charge:?}"));
            self.log.write(&Event::Failover { began });
            self.in_charge = in_charge;
        }
    }

    fn kill(&mut self, shard: &[usize], primary: usize) -> Result<()> {
        let server = &self.deployment.servers()[primary];
        self.tally.count("server_killed", server.port());
        server.kill()?;
        if shard.len() == 1 || self.rng.random_bool(0.3) {
            self.pause(0..1200);
            return self.deployment.restart(primary);
        }
        let before = self.before(shard, primary)?;
        self.replaced(shard, primary, before)?;
        self.deployment.restart(primary)
    }

    fn stop(&mut self, shard: &[usize], primary: usize) -> Result<()> {
        let server = &self.deployment.servers()[primary];
        self.tally.count("server_stopped", server.port());
        server.stop()?;
        if shard.len() == 1 || self.rng.random_bool(0.4) {
            self.pause(200..2500);
            return Ok(server.cont()?);
        }
        let before = self.before(shard, primary)?;
        self.replaced(shard, primary, before)?;
        self.pause(0..1500);
        Ok(server.cont()?)
    }

    fn fail_over(&mut self, shard: &[usize], primary: usize) -> Result<()> {
        self.tally.count("failover_asked", self.deployment.servers()[primary].port());
        let asked = if let Deployment::Sentinel(sentinels) = self.deployment {
            sentinels.fail_over()
        } else {
            let replica = shard.iter().find(|at| **at != primary).expect("each shard has a replica");
            self.deployment.servers()[*replica].cli(&["CLUSTER", "FAILOVER"]).map(drop)
        };
        // Right after another failover there is nobody who could.
        if asked.is_ok() {
            self.replaced(shard, primary, Vec::new())?;
        }
        Ok(())
    }

    fn kill_replica(&mut self, shard: &[usize], primary: usize) -> Result<()> {
        let replicas: Vec<_> = shard.iter().copied().filter(|at| *at != primary).collect();
        let replica = *replicas.choose(&mut self.rng).expect("each shard has a replica");
        self.tally.count("replica_killed", self.deployment.servers()[replica].port());
        self.deployment.servers()[replica].kill()?;
        self.pause(0..1500);
        self.deployment.restart(replica)
    }

    fn kill_sentinel(&mut self) -> Result<()> {
        let Deployment::Sentinel(sentinels) = self.deployment else { return Ok(()) };
        let at = self.rng.random_range(0..3);
        self.tally.count("sentinel_killed", at);
        sentinels.kill_sentinel(at)?;
        self.pause(500..2000);
        Ok(sentinels.restart_sentinel(at)?)
    }

    /// Moves slots that hold keys, with their keys.
    fn migrate(&mut self, from: usize) -> Result<()> {
        let Deployment::Cluster(cluster) = self.deployment else { return Ok(()) };
        let (keys, _) = self.desk.keys();
        let others: Vec<_> = self.deployment.shards().iter().filter(|shard| !shard.contains(&from)).cloned().collect();
        let Some(to) = others.choose(&mut self.rng).and_then(|shard| self.deployment.primary(shard)) else {
            return Ok(());
        };
        let (from, to) = (&cluster.nodes()[from], &cluster.nodes()[to]);
        let recent = (keys.saturating_sub(RECENT)..keys).map(|key| Cluster::slot(&format!("nemesis:{key}")));
        let theirs = |slot: &u16| cluster.primary_of(*slot).is_ok_and(|node| node.port() == from.port());
        let slots: Vec<_> = recent.filter(theirs).take(SLOTS).collect();
        self.tally.count("slots_moved", format!("{} from {} to {}", slots.len(), from.port(), to.port()));
        let (mut slots, mut moved) = (slots, Vec::new());
        while let Some(slot) = slots.pop() {
            if !moved.contains(&slot) {
                cluster.begin_migration(slot, from, to)?;
                self.pause(0..30);
                cluster.end_migration(slot, from, to)?;
                moved.push(slot);
            }
        }
        Ok(())
    }

    /// Reads what the replicas hold, now that the one in charge sends nothing any more.
    fn before(&mut self, shard: &[usize], primary: usize) -> Result<Before> {
        // What it had sent is on its way to them, through a proxy.
        thread::sleep(Duration::from_millis(100));
        let mut before = Vec::new();
        for at in shard.iter().copied().filter(|at| *at != primary) {
            before.push((at, now(), dump::read(&self.deployment.servers()[at])?));
        }
        Ok(before)
    }

    /// Waits for the next in charge, and writes down what it held before, and what it holds.
    fn replaced(&mut self, shard: &[usize], old: usize, before: Before) -> Result<()> {
        let new = self.deployment.wait_until_replaced(shard, old)?;
        if let Some((_, at, mut records)) = before.into_iter().find(|(replica, ..)| *replica == new) {
            for shard in self.deployment.shards().iter().filter(|shard| !shard.contains(&new)) {
                if let Some(other) = self.deployment.primary(shard) {
                    records.extend(dump::read(&self.deployment.servers()[other])?);
                }
            }
            self.write(at, self.recent(), records);
        }
        Ok(())
    }

    /// Waits until the deployment is whole, looking again and again at who is in charge meanwhile.
    fn until_whole(&mut self) -> Result<()> {
        // Of one server nothing can be lost.
        if let Deployment::One { .. } = self.deployment {
            return self.deployment.wait_until_whole();
        }
        let deployment = self.deployment;
        thread::scope(|scope| {
            let whole = scope.spawn(|| deployment.wait_until_whole());
            while !whole.is_finished() {
                self.dump_recent();
                let next = Instant::now() + BETWEEN_DUMPS;
                while !whole.is_finished() && Instant::now() < next {
                    thread::sleep(Duration::from_millis(10));
                }
            }
            whole.join().expect("it does not panic")
        })?;
        self.dump_recent();
        Ok(())
    }

    /// Writes down all records. Nothing may be wrong with the servers.
    pub(crate) fn dump_all(&mut self) -> Result<()> {
        self.note_failover(self.whole_since);
        let (at, records) = self.in_charge_hold()?.context("a shard has nobody in charge in the end")?;
        self.write(at, 0, records);
        Ok(())
    }

    /// Writes down what there is, if all who are in charge answer.
    fn dump_recent(&self) {
        if let Ok(Some((at, records))) = self.in_charge_hold() {
            self.write(at, self.recent(), records);
        }
    }

    /// Recent keys, and all after the first that is not settled.
    fn recent(&self) -> u64 {
        let (keys, _) = self.desk.keys();
        keys.saturating_sub(RECENT).min(self.desk.first_unsettled())
    }

    /// All records of all who are in charge. While one is missing there are none: what is not found would prove nothing.
    fn in_charge_hold(&self) -> Result<Option<(Moment, BTreeMap<u64, Held>)>> {
        let (at, mut records) = (now(), BTreeMap::new());
        for shard in self.deployment.shards() {
            let Some(primary) = self.deployment.primary(&shard) else { return Ok(None) };
            let server = &self.deployment.servers()[primary];
            if !is_in_charge(server) {
                return Ok(None);
            }
            records.extend(dump::read(server)?);
        }
        Ok(Some((at, records)))
    }

    fn write(&self, at: Moment, from: u64, mut records: BTreeMap<u64, Held>) {
        let records = records.split_off(&from);
        self.log.write_at(at, &Event::Dump { from, records });
    }

    fn pause(&mut self, millis: std::ops::Range<u64>) {
        thread::sleep(Duration::from_millis(self.rng.random_range(millis)));
    }
}
