//! From the description to a network: checks, keys, genesis, replicas.

use std::{collections::BTreeMap, sync::Arc};

use super::{DEFAULT_CHAIN_ID, NetworkBuilder};
use crate::{
    chain::{Block, Chain, GenesisSpec, OpenError, Pool, PoolConfig, ReadError},
    consensus::{Authenticator, BlockId, ConsensusConfig, ReplicaId, SealScheme, Signer, ValidatorSet, poa::Payload},
    primitives::KeyPair,
    sim::{
        engine::{
            clock::{BlockClock, SimTime},
            digest::RunDigest,
            rng::Streams,
            scheduler::Scheduler,
        },
        network::{
            Network, NetworkStart,
            chain_options::ChainOptionsError,
            consensus_setup::ConsensusSetup,
            dev_accounts::{NetworkKeys, dev_account_balance, dev_keys},
            environment::{Buffers, Environment},
            error::{NetworkError, NetworkOptionsError, StoredRecordsError},
            genesis_stakes,
            links::{Links, PER_MILLE_MAX},
            production::Production,
            records::RecordStore,
            replica::Replica,
            sleeps::Sleeps,
        },
        trace::{Participant, Recorder, TRACE_VERSION, TraceHeader},
    },
    state::{MemoryState, StateStore},
    store::{KeyValue, MemoryStore},
};

impl NetworkBuilder {
    /// Builds the network at its genesis, or at the head that the stores hold.
    ///
    /// # Errors
    /// [`NetworkError::Options`] for options that contradict each other, [`NetworkError::Consensus`] for parameters
    /// that the protocol refuses, [`NetworkError::Chain`] for an unusable genesis or stores.
    pub fn build(mut self) -> Result<Network, NetworkError> {
        let accounts = dev_keys(self.dev_accounts)?;
        let funded = accounts.iter().map(|key| (key.address(), dev_account_balance()));
        self.chain.balances.extend(funded);
        let mut genesis = self.chain.take_genesis(GenesisSpec::new(DEFAULT_CHAIN_ID));
        let (keys, candidates) = self.chain.keys();
        let addresses: Vec<_> = keys.iter().map(KeyPair::address).collect();
        let followers = self.chain.candidates.saturating_add(self.observers);
        let observers = (0..followers).map(|place| ReplicaId::new(count_of(&keys).saturating_add(place)));
        let newcomers: Vec<_> = candidates.iter().map(KeyPair::address).collect();
        let config = self.consensus(&genesis)?.with_roster(&addresses, observers.collect()).with_candidates(&newcomers);
        self.check_production(&config)?;
        self.check_losses()?;
        genesis.staking = self.chain.staking.or(genesis.staking);
        let stakes = self.chain.stakes.as_deref();
        fill_registry(&mut genesis, &config)?;
        let validators = genesis_stakes::complete(&mut genesis, &config, &addresses, &newcomers, stakes)?;
        commit_to(&mut genesis, &validators);
        fill_block_time(&mut genesis, &config)?;
        if genesis.consensus.is_null() {
            genesis.consensus = config.section();
        }
        let config = match (&genesis.staking, &genesis.validator_registry) {
            (Some(params), _) => config.with_staking(params),
            (None, Some(_)) => config.with_validator_registry(),
            (None, None) => config,
        };
        let keys = [keys, candidates].concat();
        let primary = self.checked_primary(count_of(&keys))?;

        let (state, store) = self.stores.take().unwrap_or_else(|| {
            (Arc::new(MemoryState::new()) as Arc<dyn StateStore>, Arc::new(MemoryStore::new()) as Arc<dyn KeyValue>)
        });
        check_protocol(&*store, &config, primary)?;
        let durable = match (store.is_durable(), config.kind()) {
            (false, _) => None,
            (true, Some(kind)) => Some(Arc::new(RecordStore::of_chain(genesis.chain_id, kind, store.clone(), primary))),
            (true, None) => return Err(NetworkOptionsError::OwnProtocolStored { protocol: config.name() }.into()),
        };
        let mut records = durable.as_ref().map_or_else(|| Ok(BTreeMap::new()), |durable| durable.load())?;
        let of_primary = records.get(&primary).cloned().unwrap_or_default();
        let pool = Pool::new(self.chain.pool.take().unwrap_or_else(|| pool_config(&genesis, self.production)));
        let opened = Chain::builder(genesis, state, store).with_cache(self.cache.clone());
        let opened = match &durable {
            Some(durable) => opened.with_hook(durable.clone()),
            None => opened,
        };
        let opening = self.chain.apply_to(opened)?.with_genesis().map_err(|error| chain_error(primary, error))?;
        let authenticator = Authenticator::new(self.seals, self.chain.seed).for_chain(opening.genesis_hash());
        let head_record = of_primary.get(config.info().record_keys.head).map(|record| record.as_ref());
        let rules = config.header_rules(validators.clone(), authenticator.clone(), head_record);
        let rules = rules.map_err(|source| match head_record {
            Some(_) => StoredRecordsError::Refused { replica: primary, source }.into(),
            None => NetworkError::from(source),
        })?;
        let chain = opening.with_rules(rules).open().map_err(|error| chain_error(primary, error))?;

        let head = BlockId::of(chain.head().block());
        let signers = keys.iter().map(|key| Some(authenticator.signer(key)));
        let signers: Vec<_> = signers.chain((0..self.observers).map(|_| None)).collect();
        let setup = ConsensusSetup { config, validators, authenticator, signers };
        let mut replicas = Vec::new();
        if let Some(durable) = &durable {
            durable.written(chain.finalized().height());
        }
        for (number, signer) in (0..).map(ReplicaId::new).zip(&setup.signers) {
            let address = signer.as_ref().map(Signer::address);
            let own = records.remove(&number).unwrap_or_default();
            let (protocol, kept) = setup.recovered_at(&chain, head, number, (&own, &of_primary))?;
            if let Some(durable) = durable.as_ref().filter(|_| kept != own) {
                durable.replace(number, kept.iter())?;
            }
            let chain = if number == primary { chain.clone() } else { chain.detached() };
            let replica = Replica::new(number, address, protocol, chain, pool.clone(), durable.clone());
            replicas.push(replica.with_records(&kept));
        }
        let mut env = self.env(&replicas, &chain);
        env.recorder = self.trace_header(&setup, &keys, &chain).map(Recorder::new);
        let keys = NetworkKeys { accounts, validators: self.chain.numbered_keys(), seed: self.chain.seed };
        let start = NetworkStart { replicas, primary, env, setup, keys };
        Network::start(start, self.invariants, self.faults)
    }

    fn consensus(&self, genesis: &GenesisSpec) -> Result<ConsensusConfig, NetworkError> {
        match (&self.chain.consensus, &genesis.consensus) {
            (Some(config), _) => Ok(config.clone()),
            (None, serde_json::Value::Null) => Ok(ConsensusConfig::default()),
            (None, section) => ConsensusConfig::deserialize_section(section).map_err(|error| {
                NetworkError::ChainOptions(ChainOptionsError::GenesisConsensus { reason: error.to_string() })
            }),
        }
    }

    fn check_production(&self, config: &ConsensusConfig) -> Result<(), NetworkError> {
        if self.production == Production::Automatic && config.period().is_zero() {
            return Err(NetworkOptionsError::ZeroPeriod { protocol: config.name() }.into());
        }
        if self.production == Production::OnDemand && !config.period().is_zero() {
            let (protocol, period_secs) = (config.name(), config.period().as_secs());
            return Err(ChainOptionsError::OnDemandPeriod { protocol, period_secs }.into());
        }
        Ok(())
    }

    fn checked_primary(&self, keys: u32) -> Result<ReplicaId, NetworkOptionsError> {
        let count = keys.saturating_add(self.observers);
        if self.primary.get() < count {
            return Ok(self.primary);
        }
        Err(NetworkOptionsError::Primary { replica: self.primary, count })
    }

    fn check_losses(&self) -> Result<(), NetworkOptionsError> {
        let losses = self.link_losses.iter().map(|(_, _, loss)| *loss).chain([self.loss_per_mille]);
        match losses.max().filter(|loss| *loss > PER_MILLE_MAX) {
            Some(per_mille) => Err(NetworkOptionsError::Loss { per_mille, max: PER_MILLE_MAX }),
            None => Ok(()),
        }
    }

    /// Returns the header of the trace; `None` when none is recorded.
    fn trace_header(&self, setup: &ConsensusSetup, keys: &[KeyPair], chain: &Chain) -> Option<TraceHeader> {
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
            seed: self.chain.seed,
            consensus: setup.config.section().to_string(),
            genesis: chain.genesis().block().encode_stored().into(),
            validators: setup.validators.members().iter().map(|member| (member.address, member.weight)).collect(),
            real_seals: self.seals == SealScheme::Secp256k1,
            seal_seed: self.chain.seed,
            replicas: validators.chain(observers).collect(),
        })
    }

    fn env(&self, replicas: &[Replica], chain: &Chain) -> Environment {
        let streams = Streams::new(self.chain.seed);
        let mut ties = streams.stream("ties");
        let mut links = Links::new(self.latency, streams.stream("links")).with_loss(self.loss_per_mille);
        for (from, to, latency) in &self.link_latencies {
            links.set(*from, *to, *latency);
        }
        for (from, to, per_mille) in &self.link_losses {
            links.set_loss(*from, *to, *per_mille);
        }
        // A reopened chain continues at its head's time.
        Environment {
            scheduler: Scheduler::new(ties.next_u64()),
            links,
            clock: BlockClock::starting_at(chain.head().block().timestamp()),
            draws: streams.stream("draws"),
            digest: self.digest.then(RunDigest::new),
            production: self.production,
            replica_count: u32::try_from(replicas.len()).unwrap_or(u32::MAX),
            steps: 0,
            sleeps: Sleeps::default(),
            transactions_travelling: 0,
            transactions_arrive_by: SimTime::ZERO,
            streams,
            faults: None,
            recorder: None,
            buffers: Buffers::default(),
        }
    }
}

/// Commits to the validators in genesis' header, unless its author fills `extraData` otherwise.
fn commit_to(genesis: &mut GenesisSpec, validators: &ValidatorSet) {
    if genesis.extra_data.is_empty() {
        let commitment = Block::extra_data_of(&Payload::checkpoint(validators).encoded());
        genesis.extra_data = commitment.unwrap_or_default();
    }
}

fn count_of(keys: &[KeyPair]) -> u32 {
    u32::try_from(keys.len()).unwrap_or(u32::MAX)
}

/// Returns the pool's default configuration for this chain.
///
/// Links reorder the transactions of a sender, and nobody sends them again. Where blocks are made automatically, a pool may
/// therefore queue as many as it may hold; on demand transactions arrive in order.
const fn pool_config(genesis: &GenesisSpec, production: Production) -> PoolConfig {
    let config = PoolConfig::new(genesis.chain_id).with_impersonated(genesis.allow_interventions);
    match production {
        Production::OnDemand => config,
        Production::Automatic => config.with_queue_limits(config.transactions_max, config.per_sender_max),
    }
}

/// Completes the parameters of the chain by the protocol's block time, where transactions may change it: not on demand, and not in a
/// protocol of one's own, which does not follow it.
fn fill_block_time(genesis: &mut GenesisSpec, config: &ConsensusConfig) -> Result<(), NetworkOptionsError> {
    let Some(section) = &mut genesis.parameters else { return Ok(()) };
    let secs = config.period().as_secs();
    let want = (config.kind().is_some() && secs > 0).then_some(secs);
    if section.block_time.is_some() && section.block_time != want {
        return Err(NetworkOptionsError::BlockTime { got: section.block_time, want });
    }
    section.block_time = want;
    Ok(())
}

/// Completes the section of the validators' contract by what the protocol asks of the set: how many validators a removal has to leave and,
/// where it counts them alone, that all weigh the same.
fn fill_registry(genesis: &mut GenesisSpec, config: &ConsensusConfig) -> Result<(), NetworkOptionsError> {
    let Some(section) = &mut genesis.validator_registry else { return Ok(()) };
    let (want, is_own) = (config.validators_min(), config.kind().is_none());
    let least = section.validators_min.unwrap_or(want);
    if least < want {
        return Err(NetworkOptionsError::ValidatorsMin { protocol: config.name(), got: least, want });
    }
    if !section.has_equal_weights() && !is_own {
        let got = section.heaviest();
        return Err(NetworkOptionsError::WeightMax { protocol: config.name(), got });
    }
    section.validators_min = Some(least);
    Ok(())
}

/// Checks that the store belongs to this protocol: another's records would be misread.
fn check_protocol(store: &dyn KeyValue, config: &ConsensusConfig, primary: ReplicaId) -> Result<(), NetworkError> {
    let Some(stored) =
        Chain::stored_spec(store).map_err(|error| chain_error(primary, ReadError::from(error).into()))?
    else {
        return Ok(());
    };
    let Ok(stored) = ConsensusConfig::deserialize_section(&stored.consensus) else { return Ok(()) };
    if stored.kind() == config.kind() {
        return Ok(());
    }
    Err(NetworkError::OtherProtocol { stored: stored.name(), asked: config.name() })
}

fn chain_error(replica: ReplicaId, source: OpenError) -> NetworkError {
    NetworkError::Chain { replica, source: source.into() }
}
