//! A governed chain under any calls of its four contracts, parameters, permissions, modules and governance, by validators, an administrator,
//! members and strangers. A block is made of them again and again, and the invariants of campaigns hold: proposals go by their table and
//! their votes, what they change changes once, headers go by the parameters in force, and nobody sends who is on no list.
#![no_main]

use std::sync::Arc;

use alloy_dyn_abi::{DynSolType, DynSolValue, JsonAbiExt as _};
use alloy_json_abi::Function;
use alloy_primitives::{Address, B256, U256};
use arbitrary::Unstructured;
use chainbox::{
    chain::GenesisSpec,
    consensus::{ConsensusKind, ReplicaId},
    primitives::{Gas, KeyPair, Timestamp, TransactionRequest, ether},
    sim::{BlockOrder, Network, Production, invariant},
    system::{
        governance::{GOVERNANCE_ADDRESS, GovernanceSpec, GovernanceTemplate},
        modules::{MODULES_ADDRESS, ModulesConfig, ModulesTemplate},
        parameters::{PARAMETERS_ADDRESS, ParametersSpec, ParametersTemplate},
        permissions::{PERMISSIONS_ADDRESS, PermissionsConfig, PermissionsTemplate},
    },
    vm::Template,
};
use libfuzzer_sys::fuzz_target;

const ACTS_MAX: usize = 40;
const CHAIN_ID: u64 = 31_337;
const GAS: Gas = Gas::new(1_500_000);
/// Seconds, so that votes end while others are cast.
const VOTING_SECS: u32 = 3;
/// Validators, the administrator, a member, a stranger.
const ACTORS: usize = 5;

/// The chain at genesis, its actors, and the contracts with their functions.
struct World {
    network: Network,
    keys: Vec<KeyPair>,
    contracts: Vec<(Address, Vec<Function>)>,
}

thread_local! {
    static WORLD: World = World::build();
}

fuzz_target!(|bytes: &[u8]| {
    WORLD.with(|world| {
        let mut network = world.network.fork();
        let mut nonces = [0; ACTORS];
        let mut u = Unstructured::new(bytes);
        for _ in 0..ACTS_MAX {
            if u.is_empty() || world.act(&mut network, &mut nonces, &mut u).is_err() {
                break;
            }
        }
        for _ in 0..=VOTING_SECS {
            produce(&mut network, 1);
        }
    });
});

impl World {
    /// One validator with most of the votes would decide alone: two of three have to.
    fn build() -> Self {
        let keys: Vec<KeyPair> = (0..ACTORS as u64).map(|number| KeyPair::from_seed(number, "actor")).collect();
        let address = |number: usize| keys[number].address();
        let listed = (0..ACTORS - 1).map(address);
        let genesis = keys.iter().fold(GenesisSpec::new(CHAIN_ID), |genesis: GenesisSpec, key: &KeyPair| {
            genesis.with_balance(key.address(), ether(1_000_000))
        });
        let genesis = genesis
            .with_parameters(ParametersSpec::new(GOVERNANCE_ADDRESS))
            .with_modules(ModulesConfig::new(GOVERNANCE_ADDRESS))
            .with_governance(GovernanceSpec::default().with_voting_period(VOTING_SECS))
            .with_permissions(PermissionsConfig::new(address(2)).with_accounts(listed).with_deployers([address(3)]));
        let network = Network::builder()
            .with_genesis(genesis)
            .with_consensus(ConsensusKind::Poa.on_demand())
            .with_production(Production::OnDemand)
            .with_validators(2)
            .with_validator_keys(keys[..2].to_vec())
            .with_invariants(invariant::generic())
            .build()
            .expect("a valid genesis");
        let functions = |template: &dyn Template| template.abi().functions().cloned().collect::<Vec<_>>();
        let contracts = vec![
            (GOVERNANCE_ADDRESS, functions(&GovernanceTemplate)),
            (PERMISSIONS_ADDRESS, functions(&PermissionsTemplate)),
            (PARAMETERS_ADDRESS, functions(&ParametersTemplate)),
            (MODULES_ADDRESS, functions(&ModulesTemplate)),
        ];
        Self { network, keys, contracts }
    }

    /// Submits a transaction, which the pool may refuse, or makes a block.
    fn act(
        &self,
        network: &mut Network,
        nonces: &mut [u64; ACTORS],
        u: &mut Unstructured<'_>,
    ) -> arbitrary::Result<()> {
        let kind = u.int_in_range(0..=7)?;
        if kind < 2 {
            produce(network, u.int_in_range(1..=u64::from(VOTING_SECS))?);
            return Ok(());
        }
        let actor = u.choose_index(ACTORS)?;
        // Most calls are of the governance.
        let index = if kind < 6 { 0 } else { u.choose_index(self.contracts.len())? };
        let (to, functions) = &self.contracts[index];
        let (to, input) = match u.int_in_range(0..=15)? {
            0 => (None, u.arbitrary::<Vec<u8>>()?),
            1 => (Some(*to), u.arbitrary::<Vec<u8>>()?),
            _ => (Some(*to), self.call(u.choose(functions)?, u)?),
        };
        let request = TransactionRequest {
            chain_id: Some(CHAIN_ID),
            nonce: nonces[actor],
            to,
            value: if u.ratio(1, 16)? { U256::ONE } else { U256::ZERO },
            gas_limit: GAS,
            max_fee_per_gas: 1_000_000_000_000,
            input: input.into(),
            ..TransactionRequest::default()
        };
        let transaction = request.sign(&self.keys[actor]).expect("a key signs");
        let replica = ReplicaId::new(0);
        nonces[actor] += u64::from(network.submit(Arc::new(transaction), replica).is_ok());
        Ok(())
    }

    /// Draws call data of a function, with arguments that it often takes.
    fn call(&self, function: &Function, u: &mut Unstructured<'_>) -> arbitrary::Result<Vec<u8>> {
        let types = function.inputs.iter().map(|input| input.selector_type().parse().expect("a type of an ABI"));
        let arguments = types.map(|ty: DynSolType| self.argument(&ty, u)).collect::<Result<Vec<_>, _>>()?;
        Ok(function.abi_encode_input(&arguments).expect("arguments of its types"))
    }

    fn argument(&self, ty: &DynSolType, u: &mut Unstructured<'_>) -> arbitrary::Result<DynSolValue> {
        Ok(match ty {
            DynSolType::Bool => DynSolValue::Bool(u.arbitrary()?),
            DynSolType::Address => {
                let actors = self.keys.iter().map(KeyPair::address);
                let known: Vec<Address> = actors.chain([GOVERNANCE_ADDRESS, MODULES_ADDRESS, Address::ZERO]).collect();
                DynSolValue::Address(*u.choose(&known)?)
            }
            DynSolType::Uint(bits) => {
                let number = match u.int_in_range(0..=9)? {
                    0 => U256::MAX,
                    // In range for most parameters.
                    1 | 2 => U256::from(1_000_000 + u64::from(u.arbitrary::<u16>()?)),
                    _ => U256::from(u.int_in_range(0..=12_u8)?),
                };
                DynSolValue::Uint(number & (U256::MAX >> (256 - *bits)), *bits)
            }
            DynSolType::FixedBytes(len) => DynSolValue::FixedBytes(B256::repeat_byte(u.int_in_range(0..=2)?), *len),
            DynSolType::Bytes => DynSolValue::Bytes(u.arbitrary()?),
            DynSolType::String => DynSolValue::String((*u.choose(&["module", "module-2", "", "No name!"])?).to_owned()),
            DynSolType::Array(element) => {
                let len = u.int_in_range(0..=3_usize)?;
                DynSolValue::Array((0..len).map(|_| self.argument(element, u)).collect::<Result<_, _>>()?)
            }
            DynSolType::Tuple(members) => {
                DynSolValue::Tuple(members.iter().map(|member| self.argument(member, u)).collect::<Result<_, _>>()?)
            }
            other => panic!("values of type {other} are missing here"),
        })
    }
}

fn produce(network: &mut Network, secs: u64) {
    let head = network.primary().chain().head().block().timestamp().as_secs();
    let order = BlockOrder::new().with_timestamp(Timestamp::from_secs(head + secs));
    network.produce_block(&order).unwrap_or_else(|error| panic!("{error}: {:?}", std::error::Error::source(&error)));
}
