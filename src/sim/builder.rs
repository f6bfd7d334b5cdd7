//! Describing and building a network.

use core::fmt;
use std::{collections::BTreeMap, sync::Arc};

use super::{
    BlockClock, FaultPlan, Invariant, Latency, Links, Network, NetworkError, Replica, RunDigest, Scheduler, Streams,
    links::PER_MILLE_MAX,
    network::Shared,
    records::RecordStore,
    stakes,
    trace::{Participant, Recorder, TRACE_VERSION, TraceHeader},
    world::{Buffers, World},
};
use crate::{
    chain::{Block, Chain, ChainBuilder, ChainError, ExecutionCache, GenesisSpec, Pool, PoolConfig},
    consensus::{Authenticator, BlockId, ConsensusConfig, ReplicaId, SealScheme, Signer, ValidatorSet, poa::Payload},
    primitives::{KeyPair, U256},
    state::{MemoryState, StateStore},
    store::{KeyValue, MemoryStore},
    system::staking::StakingParams,
};

/// Chain id of a network whose genesis nobody gave.
const DEFAULT_CHAIN_ID: u64 = 1_337;

/// Who decides when a block is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Production {
    /// The protocol: a block is built as soon as it asks.
    #[default]
    Automatic,
    /// The driver, by [`Network::produce_block`].
    OnDemand,
}

type ChainSetup = Box<dyn FnOnce(ChainBuilder) -> ChainBuilder>;

/// Collects the description of a [`Network`]. Every option has a default: one validator, proof of authority, seed 0,
/// 10 ms latency, symbolic seals, everything in memory.
#[must_use = "nothing is built until `build` is called"]
pub struct NetworkBuilder {
    genesis: GenesisSpec,
    consensus: Option<ConsensusConfig>,
    validators: Validators,
    observers: u32,
    candidates: u32,
    stakes: Option<Vec<U256>>,
    staking: Option<StakingParams>,
    seed: u64,
    seals: SealScheme,
    latency: Latency,
    loss_per_mille: u16,
    link_latencies: Vec<(ReplicaId, ReplicaId, Latency)>,
    link_losses: Vec<(ReplicaId, ReplicaId, u16)>,
    production: Production,
    stores: Option<(Arc<dyn StateStore>, Arc<dyn KeyValue>)>,
    cache: ExecutionCache,
    paranoid: bool,
    digest: bool,
    trace: Option<String>,
    pool: Option<PoolConfig>,
    chain_setup: Option<ChainSetup>,
    invariants: Vec<Box<dyn Invariant>>,
    faults: FaultPlan,
}

#[derive(Clone, Debug)]
enum Validators {
    FromSeed(u32),
    Keys(Vec<KeyPair>),
}

impl Default for NetworkBuilder {
    fn default() -> Self {
        Self {
            genesis: GenesisSpec::new(DEFAULT_CHAIN_ID),
            consensus: None,
            validators: Validators::FromSeed(1),
            observers: 0,
            candidates: 0,
            stakes: None,
            staking: None,
            seed: 0,
            seals: SealScheme::Symbolic,
            latency: Latency::default(),
            loss_per_mille: 0,
            link_latencies: Vec::new(),
            link_losses: Vec::new(),
            production: Production::Automatic,
            stores: None,
            cache: ExecutionCache::default(),
            paranoid: false,
            digest: true,
            trace: None,
            pool: None,
            chain_setup: None,
            invariants: Vec::new(),
            faults: FaultPlan::default(),
        }
    }
}

/// Options.
impl NetworkBuilder {
    /// What the chain starts from. Its validators, if it lists any, must be the network's.
    pub fn with_genesis(mut self, genesis: GenesisSpec) -> Self {
        self.genesis = genesis;
        self
    }

    /// The protocol and its parameters; by default what genesis says, else proof of authority.
    pub fn with_consensus(mut self, consensus: ConsensusConfig) -> Self {
        self.consensus = Some(consensus);
        self
    }

    /// So many validators, each with a key drawn from the seed (see [`NetworkBuilder::validator_key`]).
    pub fn with_validators(mut self, count: u32) -> Self {
        self.validators = Validators::FromSeed(count);
        self
    }

    /// One validator for each key; replica numbers follow the order of the keys.
    pub fn with_validator_keys(mut self, keys: impl IntoIterator<Item = KeyPair>) -> Self {
        self.validators = Validators::Keys(keys.into_iter().collect());
        self
    }

    /// So many more replicas that follow and never seal.
    pub const fn with_observers(mut self, count: u32) -> Self {
        self.observers = count;
        self
    }

    /// The validators' stakes in genesis, in the smallest unit and the order of their keys; 32 tokens each without it, where the
    /// protocol has stake. Makes a chain of stake of a protocol that may do without.
    pub fn with_stakes(mut self, stakes: impl IntoIterator<Item = U256>) -> Self {
        self.stakes = Some(stakes.into_iter().collect());
        self
    }

    /// The staking contract's parameters, in place of the default ones or those of genesis.
    pub const fn with_staking(mut self, params: StakingParams) -> Self {
        self.staking = Some(params);
        self
    }

    /// So many more replicas after the validators, with keys of their own (see [`NetworkBuilder::validator_key`]), that are no
    /// validators at genesis and may become some.
    pub const fn with_candidates(mut self, count: u32) -> Self {
        self.candidates = count;
        self
    }

    /// Where all randomness of the run comes from.
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How blocks are signed; block hashes are the same under both schemes.
    pub const fn with_seals(mut self, seals: SealScheme) -> Self {
        self.seals = seals;
        self
    }

    /// How long messages take.
    pub const fn with_latency(mut self, latency: Latency) -> Self {
        self.latency = latency;
        self
    }

    /// How long messages take on the link from one replica to another.
    pub fn with_link_latency(mut self, from: ReplicaId, to: ReplicaId, latency: Latency) -> Self {
        self.link_latencies.push((from, to, latency));
        self
    }

    /// How many of a thousand messages are lost on every link, always: what the network is like, and no fault that heals.
    ///
    /// ```
    /// use chainbox::sim::{Latency, Network};
    /// use core::time::Duration;
    ///
    /// let latency = Latency::Exponential { floor: Duration::from_millis(5), mean: Duration::from_millis(20) };
    /// let mut network = Network::builder().with_validators(4).with_latency(latency).with_loss(50).build()?;
    /// network.run_to_height(10)?;
    /// # Ok::<(), chainbox::sim::NetworkError>(())
    /// ```
    pub const fn with_loss(mut self, per_mille: u16) -> Self {
        self.loss_per_mille = per_mille;
        self
    }

    /// How many of a thousand messages are lost on the link from one replica to another, always.
    pub fn with_link_loss(mut self, from: ReplicaId, to: ReplicaId, per_mille: u16) -> Self {
        self.link_losses.push((from, to, per_mille));
        self
    }

    /// Who decides when a block is made.
    pub const fn with_production(mut self, production: Production) -> Self {
        self.production = production;
        self
    }

    /// Where replica 0 keeps its chain, and all replicas their states.
    pub fn with_stores(mut self, state: Arc<dyn StateStore>, store: Arc<dyn KeyValue>) -> Self {
        self.stores = Some((state, store));
        self
    }

    /// An execution cache shared with other networks of the process.
    pub fn with_cache(mut self, cache: ExecutionCache) -> Self {
        self.cache = cache;
        self
    }

    /// Whether every replica executes every block alone and the results are compared.
    pub const fn with_paranoid(mut self, paranoid: bool) -> Self {
        self.paranoid = paranoid;
        self
    }

    /// Whether the run is fingerprinted; on by default.
    pub const fn with_digest(mut self, digest: bool) -> Self {
        self.digest = digest;
        self
    }

    /// Whether everything that happens is recorded, under a title for people; off by default. See [`Network::trace`].
    pub fn with_trace(mut self, title: impl Into<String>) -> Self {
        self.trace = Some(title.into());
        self
    }

    /// Bounds and rules of every replica's pool.
    pub const fn with_pool(mut self, pool: PoolConfig) -> Self {
        self.pool = Some(pool);
        self
    }

    /// Further options of the chain itself: hooks, retention, templates.
    pub fn with_chain(mut self, setup: impl FnOnce(ChainBuilder) -> ChainBuilder + 'static) -> Self {
        self.chain_setup = Some(Box::new(setup));
        self
    }

    /// What must hold after every step, besides what was given before; see [`of_protocol`](super::invariant::of_protocol).
    pub fn with_invariants(mut self, invariants: impl IntoIterator<Item = Box<dyn Invariant>>) -> Self {
        self.invariants.extend(invariants);
        self
    }

    /// What goes wrong, and when. A network without faults is the same as one with an empty plan.
    pub fn with_faults(mut self, plan: FaultPlan) -> Self {
        self.faults = plan;
        self
    }

    /// The key of validator `index` in a network of `seed` whose keys nobody gave.
    pub fn validator_key(seed: u64, index: u32) -> KeyPair {
        KeyPair::from_seed(seed, &format!("validator {index}"))
    }
}

impl NetworkBuilder {
    /// Builds the network at its genesis, or at the head that the stores hold.
    ///
    /// # Errors
    /// [`NetworkError::Options`] for options that contradict each other, [`NetworkError::Consensus`] for parameters
    /// that the protocol refuses, [`NetworkError::Chain`] for an unusable genesis or stores.
    pub fn build(mut self) -> Result<Network, NetworkError> {
        let keys = self.keys();
        let addresses: Vec<_> = keys.iter().map(KeyPair::address).collect();
        let candidates = self.candidate_keys(&keys);
        let followers = self.candidates.saturating_add(self.observers);
        let observers = (0..followers).map(|place| ReplicaId::new(count_of(&keys).saturating_add(place)));
        let config = self.consensus()?.with_roster(&addresses, observers.collect());
        self.check_production(&config)?;
        self.check_losses()?;
        self.genesis.staking = self.staking.or(self.genesis.staking);
        let newcomers: Vec<_> = candidates.iter().map(KeyPair::address).collect();
        let validators = stakes::complete(&mut self.genesis, &config, &addresses, &newcomers, self.stakes.as_deref())?;
        self.commit_to(&validators);
        if self.genesis.consensus.is_null() {
            self.genesis.consensus = config.section();
        }
        let keys = [keys, candidates].concat();

        let (state, store) = self.stores.take().unwrap_or_else(|| {
            (Arc::new(MemoryState::new()) as Arc<dyn StateStore>, Arc::new(MemoryStore::new()) as Arc<dyn KeyValue>)
        });
        check_protocol(&*store, &config)?;
        let durable =
            store.is_durable().then(|| RecordStore::of_chain(self.genesis.chain_id, config.kind(), store.clone()));
        let durable = durable.map(Arc::new);
        let mut records = durable.as_ref().map_or_else(|| Ok(BTreeMap::new()), |durable| durable.load())?;
        let of_primary = records.get(&ReplicaId::default()).cloned().unwrap_or_default();
        let authenticator = Authenticator::new(self.seals, self.seed);
        let head_record = of_primary.get(config.kind().head_key()).map(Vec::as_slice);
        let rules = config.header_rules(validators.clone(), authenticator.clone(), head_record);
        let rules = rules.map_err(|source| match head_record {
            Some(_) => NetworkError::StoredRecords { replica: ReplicaId::default(), source },
            None => source.into(),
        })?;
        let opened = Chain::builder(self.genesis.clone(), state, store)
            .with_rules(rules)
            .with_cache(self.cache.clone())
            .with_paranoid(self.paranoid);
        let opened = match &durable {
            Some(durable) => opened.with_hook(durable.clone()),
            None => opened,
        };
        let opened = match self.chain_setup.take() {
            Some(setup) => setup(opened),
            None => opened,
        };
        let chain = opened.open().map_err(primary_error)?;

        let head = BlockId::of(chain.head().block());
        let signers = keys.iter().map(|key| Some(authenticator.signer(key)));
        let signers: Vec<_> = signers.chain((0..self.observers).map(|_| None)).collect();
        let shared = Shared { config, validators, authenticator, signers };
        let pool = Pool::new(self.pool.unwrap_or_else(|| pool_config(&self.genesis)));
        let mut replicas = Vec::new();
        if let Some(durable) = &durable {
            durable.written(chain.finalized().height());
        }
        for (number, signer) in (0..).map(ReplicaId::new).zip(&shared.signers) {
            let address = signer.as_ref().map(Signer::address);
            let own = records.remove(&number).unwrap_or_default();
            let (machine, kept) = shared.recovered_at(&chain, head, number, (&own, &of_primary))?;
            if let Some(durable) = durable.as_ref().filter(|_| kept != own) {
                durable.replace(number, kept.iter())?;
            }
            let chain = if number == ReplicaId::default() { chain.clone() } else { chain.replica() };
            let replica = Replica::new(number, address, machine, chain, pool.clone(), durable.clone());
            replicas.push(replica.with_records(&kept));
        }
        let mut world = self.world(&replicas, &chain);
        world.recorder = self.trace_header(&shared, &keys, &chain).map(Recorder::new);
        Network::start(replicas, world, shared, self.invariants, self.faults)
    }

    /// Keys of the candidates, after those of the validators.
    fn candidate_keys(&self, validators: &[KeyPair]) -> Vec<KeyPair> {
        let first = count_of(validators);
        (0..self.candidates).map(|place| Self::validator_key(self.seed, first.saturating_add(place))).collect()
    }

    fn keys(&self) -> Vec<KeyPair> {
        match &self.validators {
            Validators::Keys(keys) => keys.clone(),
            Validators::FromSeed(count) => (0..*count).map(|index| Self::validator_key(self.seed, index)).collect(),
        }
    }

    fn consensus(&self) -> Result<ConsensusConfig, NetworkError> {
        match (&self.consensus, &self.genesis.consensus) {
            (Some(config), _) => Ok(config.clone()),
            (None, serde_json::Value::Null) => Ok(ConsensusConfig::default()),
            (None, section) => ConsensusConfig::deserialize_section(section)
                .map_err(|error| NetworkError::Options { reason: format!("genesis field `consensus`: {error}") }),
        }
    }

    fn check_production(&self, config: &ConsensusConfig) -> Result<(), NetworkError> {
        if self.production == Production::Automatic && config.period() == 0 {
            let reason = "a protocol with period 0 makes blocks on demand only: \
                          choose a period of at least 1 second, or `Production::OnDemand`";
            return Err(NetworkError::Options { reason: reason.to_owned() });
        }
        Ok(())
    }

    fn check_losses(&self) -> Result<(), NetworkError> {
        let losses = self.link_losses.iter().map(|(_, _, loss)| *loss).chain([self.loss_per_mille]);
        match losses.max().filter(|loss| *loss > PER_MILLE_MAX) {
            Some(loss) => {
                let reason = format!("{loss} of a thousand messages can't be lost; expected at most {PER_MILLE_MAX}");
                Err(NetworkError::Options { reason })
            }
            None => Ok(()),
        }
    }

    /// Commits to the validators in genesis' header, unless its author fills `extraData` otherwise.
    fn commit_to(&mut self, validators: &ValidatorSet) {
        if self.genesis.extra_data.is_empty() {
            let commitment = Block::extra_data_of(&Payload::checkpoint(validators).encoded());
            self.genesis.extra_data = commitment.unwrap_or_default();
        }
    }

    /// What a trace has to say so that it can be replayed; `None` when none is wanted.
    fn trace_header(&self, shared: &Shared, keys: &[KeyPair], chain: &Chain) -> Option<TraceHeader> {
        let title = self.trace.clone()?;
        let validators = keys.iter().zip(0_u32..).map(|(key, number)| Participant {
            name: format!("validator {number}"),
            key: Some(key.secret_bytes()),
            address: Some(key.address()),
        });
        let observers = (0..self.observers).map(|number| Participant {
            name: format!("observer {}", count_of(keys).saturating_add(number)),
            ..Participant::default()
        });
        Some(TraceHeader {
            version: TRACE_VERSION,
            title,
            seed: self.seed,
            consensus: shared.config.section().to_string(),
            genesis: chain.genesis().block().encode_stored().into(),
            validators: shared.validators.members().iter().map(|member| (member.address, member.weight)).collect(),
            real_seals: self.seals == SealScheme::Secp256k1,
            seal_seed: self.seed,
            replicas: validators.chain(observers).collect(),
        })
    }

    fn world(&self, replicas: &[Replica], chain: &Chain) -> World {
        let streams = Streams::new(self.seed);
        let mut ties = streams.stream("ties");
        let mut links = Links::new(self.latency, streams.stream("links")).with_loss(self.loss_per_mille);
        for (from, to, latency) in &self.link_latencies {
            links.set(*from, *to, *latency);
        }
        for (from, to, per_mille) in &self.link_losses {
            links.set_loss(*from, *to, *per_mille);
        }
        // A reopened chain goes on at its head's time.
        World {
            scheduler: Scheduler::new(ties.next_u64()),
            links,
            clock: BlockClock::starting_at(chain.head().block().timestamp()),
            draws: streams.stream("draws"),
            digest: self.digest.then(RunDigest::new),
            production: self.production,
            replica_count: u32::try_from(replicas.len()).unwrap_or(u32::MAX),
            steps: 0,
            transactions_travelling: 0,
            streams,
            trouble: None,
            recorder: None,
            buffers: Buffers::default(),
        }
    }
}

fn count_of(keys: &[KeyPair]) -> u32 {
    u32::try_from(keys.len()).unwrap_or(u32::MAX)
}

/// A pool that takes what this chain takes.
const fn pool_config(genesis: &GenesisSpec) -> PoolConfig {
    let mut config = PoolConfig::new(genesis.chain_id);
    config.allow_impersonated = genesis.allow_interventions;
    config
}

/// A store belongs to one protocol: the records of another would be misread.
fn check_protocol(store: &dyn KeyValue, config: &ConsensusConfig) -> Result<(), NetworkError> {
    let Some(stored) = Chain::stored_spec(store).map_err(primary_error)? else { return Ok(()) };
    let Ok(stored) = ConsensusConfig::deserialize_section(&stored.consensus) else { return Ok(()) };
    if stored.kind() == config.kind() {
        return Ok(());
    }
    Err(NetworkError::OtherProtocol { stored: stored.kind().name(), asked: config.kind().name() })
}

const fn primary_error(source: ChainError) -> NetworkError {
    NetworkError::Chain { replica: ReplicaId::new(0), source }
}

impl fmt::Debug for NetworkBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NetworkBuilder")
            .field("consensus", &self.consensus)
            .field("validators", &self.validators)
            .field("observers", &self.observers)
            .field("seed", &self.seed)
            .field("seals", &self.seals)
            .field("latency", &self.latency)
            .field("loss_per_mille", &self.loss_per_mille)
            .field("production", &self.production)
            .field("paranoid", &self.paranoid)
            .finish_non_exhaustive()
    }
}
