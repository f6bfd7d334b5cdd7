//! Recording of a history while a network runs.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use super::{Action, Client, Field, History, Operation};
use crate::{
    chain::GenesisSpec,
    consensus::{BlockId, ReplicaId},
    primitives::{Address, B256, Height, Transaction, U256},
    sim::{
        campaign::workload::Workload,
        check::invariant::promised,
        engine::{
            clock::SimTime,
            rng::{SimRng, Streams},
        },
        network::{
            Network,
            error::NetworkError,
            replica::{Replica, process::ProcessState},
            step::SimStep,
        },
    },
};

/// Virtual time between two reads of a replica.
const READ_EVERY: Duration = Duration::from_millis(500);

/// What clients do in a recorded run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryOptions {
    /// Seed of the clients' times and of the replicas that they choose.
    pub seed: u64,
    /// Number of transfers.
    pub transactions: u32,
    /// Virtual duration in which they are sent.
    pub span: Duration,
    /// Virtual time that the network runs on after it, so that transfers become final.
    pub rest: Duration,
}

impl Default for HistoryOptions {
    /// Twenty-four transfers in twenty seconds, and ten more seconds.
    fn default() -> Self {
        Self { seed: 0, transactions: 24, span: Duration::from_secs(20), rest: Duration::from_secs(10) }
    }
}

/// Returns a genesis specification in which the clients have funds.
pub fn genesis() -> GenesisSpec {
    Workload::genesis()
}

/// Runs a network with clients that send transfers and read, and returns what they did and were answered, and how the run ended: an
/// error of [`Network::step`], such as a violated invariant, ends it early. Its genesis is [`genesis`], and it has made no step yet.
///
/// ```
/// use chainbox::{
///     consensus::{ConsensusConfig, PbftConfig},
///     sim::{Network, history::{self, HistoryOptions}},
/// };
/// let pbft = ConsensusConfig::Pbft(PbftConfig::default());
/// let builder = Network::builder().with_consensus(pbft).with_validators(4).with_genesis(history::genesis());
/// let (history, run) = history::record(&mut builder.build()?, &HistoryOptions::default());
/// run?;
/// let checked = history.check().expect("linearizable");
/// assert_eq!(checked.acknowledged, 24);
/// # Ok::<(), chainbox::sim::NetworkError>(())
/// ```
pub fn record(network: &mut Network, options: &HistoryOptions) -> (History, Result<(), NetworkError>) {
    let mut recorder = HistoryRecorder::new(options.seed, network);
    let run = run(network, options, &mut recorder);
    (recorder.into_history(), run)
}

/// Runs a network with clients whose operations `recorder` records.
pub(in crate::sim) fn run(
    network: &mut Network,
    options: &HistoryOptions,
    recorder: &mut HistoryRecorder,
) -> Result<(), NetworkError> {
    let replicas = network.genesis_validators().len() as u32;
    let mut workload = Workload::new(options.seed, options.transactions, options.span, replicas);
    let run_to = |network: &mut Network, recorder: &mut HistoryRecorder, until: SimTime| {
        while network.next_at().is_some_and(|next| next <= until) {
            if let Some(step) = network.step()? {
                recorder.on_step(network, &step);
            }
        }
        network.run_to(until)
    };
    while let Some((at, transaction, replica)) = workload.next() {
        run_to(network, recorder, at)?;
        recorder.submitted(&transaction, replica, network.now());
        match network.submit(transaction, replica) {
            // Refused or not, it may still come in by what was sent before.
            Ok(_) | Err(NetworkError::Pool(_) | NetworkError::Down { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    run_to(network, recorder, SimTime::ZERO.plus(options.span).plus(options.rest))
}

/// The block that a read is served from, and the moment of an acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::sim) struct Service {
    /// Reads are served from the head, final or not: a bug, for tests of the check.
    #[cfg(test)]
    pub(in crate::sim) reads_head: bool,
    /// Transfers are acknowledged when one replica's head has them: a bug, for tests of the check.
    #[cfg(test)]
    pub(in crate::sim) acknowledges_head: bool,
}

impl Service {
    const fn reads_head(self) -> bool {
        #[cfg(test)]
        return self.reads_head;
        #[cfg(not(test))]
        false
    }

    const fn acknowledges_head(self) -> bool {
        #[cfg(test)]
        return self.acknowledges_head;
        #[cfg(not(test))]
        false
    }
}

/// Collects the operations of a running network's clients. It reads and changes nothing.
#[derive(Clone, Debug)]
pub(in crate::sim) struct HistoryRecorder {
    operations: Vec<Operation>,
    /// Places of unacknowledged transfers, with the replicas that hold them final.
    pending: BTreeMap<B256, (usize, BTreeSet<ReplicaId>)>,
    /// Life and newest final block of each replica, as last seen.
    seen: BTreeMap<ReplicaId, (u64, BlockId)>,
    /// Quorum reads that wait for their replica: the time of the call and the height to reach.
    waiting: Vec<(ReplicaId, SimTime, Height)>,
    accounts: Vec<(Address, Field)>,
    /// Replicas that acknowledge, which are the first ones, and how many must.
    validators: usize,
    quorum: usize,
    next_read: SimTime,
    rng: SimRng,
    service: Service,
}

impl HistoryRecorder {
    /// Creates a recorder of the clients of [`Workload`].
    pub(in crate::sim) fn new(seed: u64, network: &Network) -> Self {
        let validators = network.genesis_validators().len();
        let config = network.config();
        let count = u32::try_from(validators).unwrap_or(u32::MAX);
        let quorum = match config.liars_max(count) as usize {
            0 => validators / 2 + 1,
            liars => validators - liars,
        };
        let nonces = Workload::senders().into_iter().map(|sender| (sender, Field::Nonce));
        Self {
            operations: Vec::new(),
            pending: BTreeMap::new(),
            seen: BTreeMap::new(),
            waiting: Vec::new(),
            accounts: nonces.chain([(Workload::RECEIVER, Field::Balance)]).collect(),
            validators,
            quorum,
            next_read: SimTime::ZERO,
            rng: Streams::new(seed).stream("readers"),
            service: Service::default(),
        }
    }

    #[cfg(test)]
    pub(in crate::sim) fn with_service(self, service: Service) -> Self {
        Self { service, ..self }
    }

    /// Records a transfer that is about to be submitted.
    pub(in crate::sim) fn submitted(&mut self, transaction: &Transaction, replica: ReplicaId, now: SimTime) {
        let Some(to) = transaction.to() else { return };
        let (hash, from, amount) = (transaction.hash(), transaction.sender(), transaction.value());
        self.pending.entry(hash).or_insert((self.operations.len(), BTreeSet::new()));
        self.operations.push(Operation {
            client: Client::Owner(from),
            called: now,
            answered: None,
            action: Action::Transfer { transaction: hash, from, to, amount, replica },
        });
    }

    /// Takes in what a step made final, and lets clients read when it is time.
    pub(in crate::sim) fn on_step(&mut self, network: &Network, step: &SimStep) {
        let now = network.now();
        if let Some(replica) = honest(network, step.replica)
            && let Some(newest) = self.newest(replica)
        {
            let life = replica.counters().restarts;
            let before = self.seen.insert(replica.id(), (life, newest));
            if before != Some((life, newest)) {
                let known = before.filter(|(earlier, _)| *earlier == life).map_or(0, |(_, block)| block.height.get());
                self.acknowledge(replica, known.min(newest.height.get()) + 1, newest.height, now);
                self.answer_waiting(replica, newest, now);
            }
        }
        if now >= self.next_read {
            self.next_read = now.plus(READ_EVERY);
            self.read(network, now);
        }
    }

    pub(in crate::sim) fn into_history(self) -> History {
        History { operations: self.operations }
    }

    /// Returns the block that the replica answers from.
    fn newest(&self, replica: &Replica) -> Option<BlockId> {
        if self.service.reads_head() { Some(replica.head()) } else { promised(replica) }
    }

    fn acknowledge(&mut self, replica: &Replica, first: u64, last: Height, now: SimTime) {
        let last = if self.service.acknowledges_head() { replica.head().height } else { last };
        if self.pending.is_empty() || replica.id().index() >= self.validators {
            return;
        }
        let quorum = if self.service.acknowledges_head() { 1 } else { self.quorum };
        for height in first..=last.get() {
            let Ok(block) = replica.chain().block_at(Height::new(height)) else { continue };
            for transaction in block.block().transactions() {
                let hash = transaction.hash();
                let Some((place, holders)) = self.pending.get_mut(&hash) else { continue };
                holders.insert(replica.id());
                if holders.len() >= quorum {
                    if let Some(operation) = self.operations.get_mut(*place) {
                        operation.answered = Some(now);
                    }
                    self.pending.remove(&hash);
                }
            }
        }
    }

    fn answer_waiting(&mut self, replica: &Replica, newest: BlockId, now: SimTime) {
        let is_due = |(id, _, height): &(ReplicaId, SimTime, Height)| *id == replica.id() && newest.height >= *height;
        let due: Vec<_> = self.waiting.extract_if(.., |waiting| is_due(waiting)).collect();
        for (_, called, _) in due {
            self.read_at(Client::Quorum, replica, newest, called, now);
        }
    }

    /// Reads at every running honest replica, and once by a quorum.
    fn read(&mut self, network: &Network, now: SimTime) {
        let running =
            |replica: &&Replica| replica.process() == ProcessState::Running && network.is_honest(replica.id());
        let replicas: Vec<_> = network.replicas().iter().filter(running).collect();
        for replica in &replicas {
            let Some(newest) = self.newest(replica) else { continue };
            let life = replica.counters().restarts;
            self.read_at(Client::Reader { replica: replica.id(), life }, replica, newest, now, now);
        }
        let mut asked: Vec<_> = replicas.into_iter().filter(|replica| replica.id().index() < self.validators).collect();
        if asked.len() < self.quorum {
            return;
        }
        while asked.len() > self.quorum {
            let place = self.rng.below(asked.len() as u64) as usize;
            asked.swap_remove(place);
        }
        let highest = asked.iter().filter_map(|replica| self.newest(replica)).map(|block| block.height).max();
        let server = asked[self.rng.below(asked.len() as u64) as usize];
        let (Some(highest), Some(newest)) = (highest, self.newest(server)) else { return };
        if newest.height >= highest {
            self.read_at(Client::Quorum, server, newest, now, now);
        } else {
            self.waiting.push((server.id(), now, highest));
        }
    }

    fn read_at(&mut self, client: Client, replica: &Replica, block: BlockId, called: SimTime, now: SimTime) {
        let Ok(state) = replica.chain().state_of(block.hash) else { return };
        for (account, field) in &self.accounts {
            let Ok(found) = state.account(account) else { continue };
            let found = found.unwrap_or_default();
            let value = match field {
                Field::Balance => found.balance,
                Field::Nonce => U256::from(found.nonce),
            };
            let (account, field, replica) = (*account, *field, replica.id());
            let action = Action::Read { account, field, value, replica, block };
            self.operations.push(Operation { client, called, answered: Some(now), action });
        }
    }
}

fn honest(network: &Network, replica: ReplicaId) -> Option<&Replica> {
    network.replica(replica).ok().filter(|replica| network.is_honest(replica.id()))
}
