//! Networks in real time: a shared network whose virtual clock is paced by a clock outside, alone or with others on a pool of threads.
//!
//! [`PacedNetwork`] has no thread and reads no clock: who drives it tells it the time ([`PacedNetwork::advance`]). A [`NetworkPool`]
//! does so for any number of networks, by its clock; one that waits costs an entry in a heap.

pub(super) mod clock;
pub(super) mod pacing;
pub(super) mod pool;

use core::{fmt, num::NonZeroUsize, ops::Deref, time::Duration};
use std::{io, sync::Arc};

use self::{
    clock::{MachineClock, RealTimeClock},
    pacing::Pacing,
    pool::{Advanced, Hosted, HostedId, Pool, PoolCounters, ShutdownError},
};
use super::{EngineError, shared_network::SharedNetwork};
use crate::{
    consensus::{OffenceProof, ReplicaId, RoundStatus},
    primitives::Address,
    sim::{Network, OffenceError, PacerCounters, PacerError, ProcessState, StopError},
};

/// Longest time for which dropping a [`NetworkPool`] waits for its threads.
const DROP_WAIT: Duration = Duration::from_secs(5);

/// A [`SharedNetwork`] in real time; made by [`SharedNetwork::pace`] or [`NetworkPool::add`]. Clones share the network.
///
/// Its nodes read, and [`Node::send_request`](super::Node::send_request) sends, at any time. On a pool,
/// [`Node::transfer`](super::Node::transfer), [`Node::deploy`](super::Node::deploy) and a contract's transactions wait until the
/// replica has them in a block, for at most [`MINED_WITHIN_MAX`](super::MINED_WITHIN_MAX); without one nobody makes time pass
/// meanwhile, so that they end with [`ContractError::NotMined`](super::ContractError::NotMined).
/// [`Node::pass_time`](super::Node::pass_time) is refused with [`EngineError::PacedNetwork`].
///
/// A network that fails, by its store, an invariant or a panic, stands still: its nodes show what it had, and what would change it is
/// refused with [`EngineError::NetworkFailed`].
///
/// ```
/// use core::time::Duration;
/// use chainbox::{
///     consensus::{ConsensusConfig, PbftConfig, ReplicaId},
///     primitives::{Timestamp, U256},
///     sim::Network,
/// };
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let began = Duration::from_secs(1_750_000_000);
/// let network = Network::builder().with_consensus(ConsensusConfig::Pbft(PbftConfig::default())).with_validators(4);
/// let network = network.with_timestamp(Timestamp::from_secs(1_750_000_000)).with_dev_accounts(2).build()?;
/// let network = network.share()?.pace(began)?;
/// let node = network.node(ReplicaId::new(0))?;
///
/// // A driver with a clock of its own: here the readings are given.
/// network.advance(began + Duration::from_millis(2_500))?;
/// network.stop(ReplicaId::new(3))?;
/// let mut now = began + Duration::from_secs(3);
/// while now < began + Duration::from_secs(30) {
///     network.advance(now)?;
///     now = network.next_wake().ok_or("it waits for the next block")?;
/// }
/// assert!(node.view().head().height().get() > 20);
/// assert_eq!(network.nodes()[3].view().head().height().get(), 0);
/// network.start(ReplicaId::new(3))?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PacedNetwork {
    network: Arc<SharedNetwork>,
}

/// Why a paced network did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PacedError {
    /// The replica can't be stopped or started.
    #[error(transparent)]
    Stop(#[from] StopError),
    /// The protocol does not take the evidence.
    #[error(transparent)]
    Offence(#[from] OffenceError),
    /// The network has failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl SharedNetwork {
    /// Paces the network from the time `now` on, a reading of the driver's clock since 1970; see [`Pacer::new`](crate::sim::Pacer::new).
    ///
    /// # Errors
    /// [`PacerError`].
    pub fn pace(self, now: Duration) -> Result<PacedNetwork, PacerError> {
        self.start_pacing(now, None)?;
        Ok(PacedNetwork { network: Arc::new(self) })
    }

    fn start_pacing(&self, now: Duration, host: Option<pool::Host>) -> Result<(), PacerError> {
        let mut writer = self.writer().lock();
        let pacing = Pacing::new(&writer.network, now, host)?;
        writer.pacing = Some(pacing);
        Ok(())
    }
}

impl PacedNetwork {
    /// Tells the time, a reading since 1970, and lets the network run up to it; see [`Pacer::advance`](crate::sim::Pacer::advance).
    ///
    /// # Errors
    /// [`EngineError::NetworkFailed`], now and from now on, when the network fails.
    pub fn advance(&self, now: Duration) -> Result<(), EngineError> {
        let mut writer = self.network.writer().lock();
        let advanced = writer.advance_to(now);
        writer.wake_host();
        advanced
    }

    /// Returns the reading at which the network wants to be told the time next; `None` once it has failed.
    pub fn next_wake(&self) -> Option<Duration> {
        self.network.writer().lock().next_wake()
    }

    /// Stops a replica: its memory is lost, its durable records stay.
    ///
    /// # Errors
    /// [`StopError`] for a replica that does not exist or is stopped; [`EngineError::NetworkFailed`].
    pub fn stop(&self, replica: ReplicaId) -> Result<(), PacedError> {
        self.command(|network| network.stop_replica(replica))
    }

    /// Starts a stopped replica from its durable records.
    ///
    /// # Errors
    /// [`StopError`] for a replica that does not exist or is not stopped; [`EngineError::NetworkFailed`].
    pub fn start(&self, replica: ReplicaId) -> Result<(), PacedError> {
        self.command(|network| network.start_replica(replica))
    }

    /// Starts a stopped replica that has never sealed at the primary's head; see
    /// [`Network::start_replica_at_primary`](crate::sim::Network::start_replica_at_primary).
    ///
    /// # Errors
    /// As [`PacedNetwork::start`].
    pub fn start_at_primary(&self, replica: ReplicaId) -> Result<(), PacedError> {
        self.command(|network| network.start_replica_at_primary(replica))
    }

    /// Passes evidence of an offence to the replicas; see [`Network::report_offence`](crate::sim::Network::report_offence).
    ///
    /// # Errors
    /// [`PacedError::Offence`] for evidence that the protocol does not take; [`EngineError::NetworkFailed`].
    pub fn report_offence(&self, offender: Address, proof: &OffenceProof) -> Result<(), PacedError> {
        let Some(node) = self.nodes().first() else { return Ok(()) };
        let mut writer = node.write();
        writer.shared_command(&node.inner, |writer| {
            Ok::<_, PacedError>(writer.network.report_offence(offender, proof)?)
        })?;
        writer.publish_nodes();
        Ok(())
    }

    /// Returns whether a replica is stopped; a number that no replica has is none's.
    pub fn is_stopped(&self, replica: ReplicaId) -> bool {
        let writer = self.network.writer().lock();
        writer.network.replica(replica).is_ok_and(|replica| replica.process() == ProcessState::Down)
    }

    /// Returns whether a replica is stopped, and the round that one is in which is not: a term of Raft, a view of PBFT or an epoch of proof of
    /// stake, and its role in it; `None` of protocols without rounds.
    pub fn process_and_round(&self, replica: ReplicaId) -> (bool, Option<RoundStatus>) {
        let writer = self.network.writer().lock();
        let is_stopped = writer.network.replica(replica).is_ok_and(|replica| replica.process() == ProcessState::Down);
        (is_stopped, writer.network.round_status(replica).filter(|_| !is_stopped))
    }

    /// Changes the network at the present, whole or not at all.
    fn command(&self, change: impl FnOnce(&mut Network) -> Result<(), StopError>) -> Result<(), PacedError> {
        let Some(node) = self.nodes().first() else { return Ok(()) };
        let mut writer = node.write();
        writer.shared_command(&node.inner, |writer| Ok::<_, PacedError>(change(&mut writer.network)?))?;
        writer.publish_nodes();
        Ok(())
    }

    /// Returns why the network has failed; `None` while it goes on.
    pub fn failure(&self) -> Option<String> {
        let writer = self.network.writer().lock();
        writer.pacing.as_ref().and_then(Pacing::failure).map(ToString::to_string)
    }

    /// Returns how often it ran, and what it skipped.
    pub fn counters(&self) -> PacerCounters {
        let writer = self.network.writer().lock();
        writer.pacing.as_ref().map(Pacing::counters).unwrap_or_default()
    }
}

impl Deref for PacedNetwork {
    type Target = SharedNetwork;

    fn deref(&self) -> &SharedNetwork {
        &self.network
    }
}

impl fmt::Debug for PacedNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PacedNetwork").field("nodes", &self.nodes()).finish_non_exhaustive()
    }
}

/// A network as the pool's threads see it.
struct OnPool(Arc<SharedNetwork>);

impl Hosted for OnPool {
    fn advance(&self, now: Duration) -> Advanced {
        // A thread of the pool waits for nobody who has locked a network.
        let Some(mut writer) = self.0.writer().try_lock() else { return Advanced::Busy };
        match writer.advance_to(now) {
            Ok(()) => Advanced::Until(writer.next_wake()),
            Err(_) => Advanced::Failed,
        }
    }
}

/// Threads that let any number of networks run in real time.
///
/// A network that waits has no thread and no timer of its own, only an entry in the pool's heap. One network runs on at most one thread
/// at a time. A network that fails or panics is marked ([`PacedNetwork::failure`]); the others go on.
///
/// ```
/// use core::{num::NonZeroUsize, time::Duration};
/// use chainbox::{
///     consensus::{ConsensusConfig, PbftConfig, ReplicaId},
///     node::NetworkPool,
///     primitives::{Timestamp, U256},
///     sim::Network,
/// };
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let pool = NetworkPool::new(NonZeroUsize::MIN)?;
/// let network = Network::builder().with_consensus(ConsensusConfig::Pbft(PbftConfig::default())).with_validators(4);
/// let network = network.with_timestamp(Timestamp::from_secs(pool.now().as_secs())).with_dev_accounts(2).build()?;
/// let network = pool.add(network.share()?)?;
///
/// let node = network.node(ReplicaId::new(0))?;
/// let mined = node.transfer(node.accounts()[0], node.accounts()[1], U256::from(5))?; // In a second or two.
/// assert!(mined.block().height().get() <= 3);
/// pool.shutdown(Duration::from_secs(5))?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct NetworkPool {
    pool: Pool,
    is_shut_down: bool,
}

impl NetworkPool {
    /// Starts a pool of so many threads by the machine's clock: its monotonic clock, which starts at the wall's time. A wall clock
    /// that is set back changes nothing; one that gets more than two seconds ahead, such as after the machine slept, takes the pool along.
    ///
    /// # Errors
    /// When a thread can't be started.
    pub fn new(threads: NonZeroUsize) -> io::Result<Self> {
        Self::with_clock(threads, Arc::new(MachineClock::default()))
    }

    /// Starts a pool by a clock of one's own. The threads sleep by the machine's, for at most a second, after which they look again.
    ///
    /// # Errors
    /// As [`NetworkPool::new`].
    pub fn with_clock(threads: NonZeroUsize, clock: Arc<dyn RealTimeClock>) -> io::Result<Self> {
        Ok(Self { pool: Pool::start(threads, clock)?, is_shut_down: false })
    }

    /// Returns the clock's time, since 1970.
    pub fn now(&self) -> Duration {
        self.pool.now()
    }

    /// Lets a network run from now on.
    ///
    /// # Errors
    /// [`PacerError`].
    pub fn add(&self, network: SharedNetwork) -> Result<PacedNetwork, PacerError> {
        let network = Arc::new(network);
        self.host(&network)?;
        Ok(PacedNetwork { network })
    }

    /// Lets a network that stands still run again: one that was [removed](NetworkPool::remove), or was paced without a pool. For it the
    /// time between was a gap, of which nothing is made up for. One that failed is not to be put back: build it again from its store.
    ///
    /// # Errors
    /// [`PacerError`]; it stands still then.
    pub fn put_back(&self, network: &PacedNetwork) -> Result<(), PacerError> {
        self.remove(network);
        self.host(&network.network)
    }

    fn host(&self, network: &Arc<SharedNetwork>) -> Result<(), PacerError> {
        let host = self.pool.host();
        let id = host.id();
        network.start_pacing(self.pool.now(), Some(host))?;
        self.pool.insert(id, Arc::new(OnPool(Arc::clone(network))));
        Ok(())
    }

    /// Returns the clock of the pool.
    pub fn clock(&self) -> Arc<dyn RealTimeClock> {
        self.pool.clock()
    }

    /// Takes a network from the pool: it stands still, and can still be read. A step under way is ended first. Has no effect on one that
    /// the pool does not have.
    pub fn remove(&self, network: &PacedNetwork) {
        let id: Option<HostedId> = {
            let mut writer = network.network.writer().lock();
            writer.pacing.as_mut().and_then(Pacing::leave_host)
        };
        if let Some(id) = id {
            self.pool.remove(id);
        }
    }

    /// Returns what the pool has and did.
    pub fn counters(&self) -> PoolCounters {
        self.pool.counters()
    }

    /// Stops the threads, each after the step that it is at, of which none is longer than
    /// [`STEPS_PER_ADVANCE_MAX`](crate::sim::STEPS_PER_ADVANCE_MAX) events. The networks stand still and can be read. Dropping the
    /// pool does the same, within five seconds.
    ///
    /// # Errors
    /// [`ShutdownError`] when some are still at it after `within`; they end by themselves.
    pub fn shutdown(mut self, within: Duration) -> Result<(), ShutdownError> {
        self.is_shut_down = true;
        self.pool.shutdown(within)
    }
}

impl Drop for NetworkPool {
    fn drop(&mut self) {
        if !self.is_shut_down {
            // The threads that are late end by themselves.
            let _ = self.pool.shutdown(DROP_WAIT);
        }
    }
}
