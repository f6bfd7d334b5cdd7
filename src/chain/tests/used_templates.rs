//! What a chain's contracts run: recorded with their code, and checked where the chain is opened or loaded.

use std::sync::Arc;

use alloy_json_abi::JsonAbi;
use alloy_primitives::{Address, Bytes, U256};

use super::fixture::*;
use crate::{
    chain::{Chain, ChainBuilder, DumpError, GenesisAccount, Intervention, LoadError, OpenDumpError, OpenError},
    primitives::{Gas, TransactionRequest},
    state::PagedState,
    store::{KeyValue, MemoryStore, testing::MemoryDisk},
    system::staking::{StakingParams, StakingTemplate},
    templates::{self, Erc20Params},
    vm::{Descriptor, Host, Marker, Stop, Template, TemplateId, TemplateMismatch, TemplateRegistry},
};

const ID: TemplateId = TemplateId::new(0x8000, 1);
const OTHER_ID: TemplateId = TemplateId::new(0x8001, 1);

/// A template with this gas table that does nothing.
#[derive(Debug)]
struct Idle(TemplateId, &'static str);

impl Template for Idle {
    fn id(&self) -> TemplateId {
        self.0
    }
    fn name(&self) -> &str {
        "idle"
    }
    fn abi(&self) -> JsonAbi {
        JsonAbi::new()
    }
    fn gas_table(&self) -> &str {
        self.1
    }
    fn construct(&self, _: &mut Host<'_>, _: &[u8]) -> Result<(), Stop> {
        Ok(())
    }
    fn call(&self, _: &mut Host<'_>, _: &[u8]) -> Result<Bytes, Stop> {
        Ok(Bytes::new())
    }
}

fn registry(own: &[(TemplateId, &'static str)]) -> TemplateRegistry {
    let mut registry = templates::builtin().clone();
    own.iter().for_each(|(id, gas)| registry.register(Arc::new(Idle(*id, gas))).unwrap());
    registry
}

fn on(store: Arc<dyn KeyValue>, registry: TemplateRegistry) -> ChainBuilder {
    let state = Arc::new(PagedState::open(store.clone()).unwrap());
    Chain::builder(spec(), state, store).with_registry(Arc::new(registry))
}

fn deploy(chain: &mut Chain, nonce: u64, init_code: Bytes) -> Address {
    let request = TransactionRequest {
        to: None,
        input: init_code,
        gas_limit: Gas::new(3_000_000),
        ..request(nonce, Address::ZERO, 0)
    };
    let transaction = request.sign(&key(0)).unwrap();
    let change = extend(chain, vec![Arc::new(transaction)]);
    change.new.receipts()[0].contract_address.unwrap()
}

fn mismatch(refused: Result<Chain, OpenError>) -> TemplateMismatch {
    match refused {
        Err(OpenError::Template(mismatch)) => mismatch,
        other => panic!("{other:?}"),
    }
}

/// Makes a chain that runs one of two templates of its program, and opens it with other sets of templates. `reopened` returns the store
/// after a restart of the process.
fn a_chain_needs_the_templates_that_it_runs(reopened: &mut dyn FnMut() -> Arc<dyn KeyValue>) {
    let (first, second) = ((ID, "call 7"), (OTHER_ID, "call 7"));
    let mut chain = on(reopened(), registry(&[first, second])).open().unwrap();
    let contract = deploy(&mut chain, 0, Marker(ID).init_code(&[]));
    deploy(&mut chain, 1, Erc20Params::new("Gold", "GLD", U256::from(5), contract).init_code());
    let head = chain.head().hash();
    drop(chain);

    let third = (TemplateId::new(0x8002, 1), "");
    let next_version = (TemplateId::new(0x8000, 2), "call 8");
    for own in [&[first, second][..], &[first, second, third], &[first], &[first, next_version]] {
        let chain = on(reopened(), registry(own)).open().unwrap();
        assert_eq!(chain.head().hash(), head, "{own:?}");
    }
    let without = mismatch(on(reopened(), registry(&[second])).open());
    assert!(matches!(&without, TemplateMismatch::Missing { chain, .. } if chain.id == ID), "{without}");
    let without = mismatch(on(reopened(), registry(&[next_version])).open());
    let has_the_next = |ids: &[TemplateId]| *ids == [next_version.0];
    assert!(matches!(&without, TemplateMismatch::Missing { registered, .. } if has_the_next(registered)), "{without}");
    let changed = mismatch(on(reopened(), registry(&[(ID, "call 8")])).open());
    let TemplateMismatch::Changed { chain, program } = &changed else { panic!("{changed}") };
    assert_eq!((chain.id, program.id), (ID, ID));
    assert_ne!(chain.digest, program.digest);
    let mut bare = TemplateRegistry::new();
    bare.register(Arc::new(Idle(ID, "call 7"))).unwrap();
    let without = mismatch(on(reopened(), bare).open());
    assert!(without.to_string().contains("erc20-token 1.2 with digest 0x"), "{without}");
}

#[test]
fn in_memory_a_chain_needs_the_templates_that_it_runs() {
    let disk = Arc::new(MemoryDisk::new());
    a_chain_needs_the_templates_that_it_runs(&mut || disk.clone());
}

#[cfg(feature = "rocksdb")]
#[test]
fn on_rocksdb_a_chain_needs_the_templates_that_it_runs() {
    use crate::store::{RocksOptions, RocksStore};
    let directory = tempfile::tempdir().unwrap();
    a_chain_needs_the_templates_that_it_runs(&mut || {
        Arc::new(RocksStore::open(directory.path(), RocksOptions::default()).unwrap())
    });
}

#[test]
fn genesis_does_not_depend_on_the_templates() {
    let hash = |own: &[_]| on(Arc::new(MemoryDisk::new()), registry(own)).open().unwrap().genesis().hash();
    assert_eq!(hash(&[]), hash(&[(ID, ""), (OTHER_ID, "call 7")]));
}

#[test]
fn a_code_without_a_template_binds_nobody_until_one_is_there() {
    let disk = Arc::new(MemoryDisk::new());
    let mut chain = on(disk.clone(), registry(&[])).open().unwrap();
    let code = Intervention::Code { address: Address::repeat_byte(1), code: Marker(ID).to_bytes().into() };
    chain.intervene(code).unwrap();
    extend(&mut chain, vec![]);
    drop(chain);
    on(disk.clone(), registry(&[])).open().unwrap();
    on(disk.clone(), registry(&[(ID, "call 7")])).open().unwrap();
    mismatch(on(disk.clone(), registry(&[])).open());
    mismatch(on(disk.clone(), registry(&[(ID, "call 8")])).open());
    on(disk, registry(&[(ID, "call 7")])).open().unwrap();
}

#[test]
fn an_intervention_and_genesis_count_as_deployments() {
    let disk = Arc::new(MemoryDisk::new());
    let mut chain = on(disk.clone(), registry(&[(ID, "")])).open().unwrap();
    let code = Intervention::Code { address: Address::repeat_byte(1), code: Marker(ID).to_bytes().into() };
    chain.intervene(code).unwrap();
    drop(chain);
    mismatch(on(disk, registry(&[])).open());

    let disk = Arc::new(MemoryDisk::new());
    let account = GenesisAccount { code: Marker(ID).to_bytes().into(), ..GenesisAccount::default() };
    let mut named = spec();
    named.accounts.insert(Address::repeat_byte(1), account);
    named.staking = Some(StakingParams::default());
    let with = |registry| on(disk.clone(), registry).with_spec(named.clone()).open();
    let refused = with(registry(&[(OTHER_ID, "")])).unwrap_err();
    assert!(matches!(refused, OpenError::GenesisCode { id, .. } if id == ID), "{refused}");
    with(registry(&[(ID, "")])).unwrap();
    with(registry(&[(ID, "")])).unwrap();
    mismatch(with(registry(&[])));
    let recorded = crate::chain::persist::templates(&*disk).unwrap();
    let staking = Descriptor::of(&StakingTemplate).identity();
    assert_eq!(recorded.iter().map(|template| template.id).collect::<Vec<_>>(), [StakingTemplate::ID, ID]);
    assert_eq!(recorded[0], staking);
}

#[test]
fn a_dump_names_the_templates_that_it_runs() {
    let in_memory = |own: &[_]| {
        let state = Arc::new(crate::state::MemoryState::new());
        Chain::builder(spec(), state, Arc::new(MemoryStore::new())).with_registry(Arc::new(registry(own)))
    };
    let mut chain = in_memory(&[(ID, "call 7"), (OTHER_ID, "")]).open().unwrap();
    deploy(&mut chain, 0, Marker(ID).init_code(&[]));
    let dump = chain.dump().unwrap();
    assert_eq!(dump.templates, [Descriptor::of(&Idle(ID, "call 7")).identity()]);
    in_memory(&[(ID, "call 7")]).open_dump(&dump).unwrap();
    for own in [&[][..], &[(ID, "call 8")]] {
        let refused = in_memory(own).open_dump(&dump).unwrap_err();
        assert!(matches!(refused, OpenDumpError::Load(LoadError::Dump(DumpError::Template(_)))), "{refused}");
        let mut other = in_memory(own).open().unwrap();
        let before = other.head().hash();
        assert!(matches!(other.load(&dump), Err(LoadError::Dump(DumpError::Template(_)))));
        assert_eq!(other.head().hash(), before);
    }
    let mut earlier: serde_json::Value = serde_json::from_slice(&dump.to_json()).unwrap();
    earlier.as_object_mut().unwrap().remove("templates");
    let earlier = crate::chain::ChainDump::from_json(earlier.to_string().as_bytes()).unwrap();
    in_memory(&[(ID, "call 8")]).open_dump(&earlier).unwrap();

    // A durable chain that loads it runs the template from then on.
    let disk = Arc::new(MemoryDisk::new());
    let mut durable = on(disk.clone(), registry(&[(ID, "call 7")])).open().unwrap();
    durable.load(&dump).unwrap();
    drop(durable);
    mismatch(on(disk, registry(&[])).open());
}
