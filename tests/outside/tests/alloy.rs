//! alloy's provider, signer and contract bindings against the real binary. `CHAINBOX_BIN` names it.

// The generated functions take as many arguments as the ABI has.
#![allow(clippy::too_many_arguments)]

mod node;

use alloy_network::{EthereumWallet, TransactionBuilder};
use alloy_primitives::{Address, B256, Bytes, U256, address, keccak256, uint};
use alloy_provider::{DynProvider, Provider, ProviderBuilder, WsConnect, ext::AnvilApi as _};
use alloy_rpc_types_eth::{BlockNumberOrTag, Filter, TransactionRequest};
use alloy_signer::{Signer, SignerSync};
use alloy_signer_local::PrivateKeySigner;
use alloy_sol_types::{SolConstructor, SolEvent, eip712_domain, sol};
use futures_util::StreamExt;
use node::DevNode;

const UNIT: U256 = uint!(1_000_000_000_000_000_000_U256);
const SUPPLY: U256 = uint!(1_000_000_000_000_000_000_000_000_U256);
const NOBODY: Address = address!("00000000000000000000000000000000000c0ffe");

sol! {
    #[sol(rpc)]
    contract Erc20 {
        struct Features {
            bool mintable;
            bool burnable;
            bool pausable;
            bool votes;
            bool flashMint;
        }
        struct VestingAllocation {
            address beneficiary;
            uint256 amount;
            uint64 start;
            uint64 duration;
            uint64 cliff;
            bool revocable;
        }
        constructor(string name, string symbol, uint8 decimals, uint256 totalSupply, uint256 cap, address owner, Features features, VestingAllocation[] vesting);
        function name() external view returns (string);
        function decimals() external view returns (uint8);
        function totalSupply() external view returns (uint256);
        function balanceOf(address account) external view returns (uint256);
        function allowance(address owner, address spender) external view returns (uint256);
        function nonces(address owner) external view returns (uint256);
        function transfer(address to, uint256 value) external returns (bool);
        function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s) external;
        event Transfer(address indexed from, address indexed to, uint256 value);
        error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed);
    }

    struct Permit {
        address owner;
        address spender;
        uint256 value;
        uint256 nonce;
        uint256 deadline;
    }
}

/// A fresh node with two signers, alice and bob, who own its first two accounts.
struct Setting {
    node: DevNode,
    alice: PrivateKeySigner,
    bob: PrivateKeySigner,
    provider: DynProvider,
}

impl Setting {
    async fn start() -> Self {
        let node = DevNode::start();
        let signer = |index: usize| {
            let key: PrivateKeySigner = node.private_keys[index].parse().expect("private key");
            key.with_chain_id(Some(node.chain_id))
        };
        let (alice, bob) = (signer(0), signer(1));
        let mut wallet = EthereumWallet::from(alice.clone());
        wallet.register_signer(bob.clone());
        let provider = ProviderBuilder::new().wallet(wallet).connect_http(node.http.parse().expect("URL")).erased();
        provider.client().set_poll_interval(std::time::Duration::from_millis(50));
        Self { node, alice, bob, provider }
    }

    async fn deploy(&self) -> Erc20::Erc20Instance<DynProvider> {
        let arguments = Erc20::constructorCall {
            name: "Gold".into(),
            symbol: "GLD".into(),
            decimals: 18,
            totalSupply: SUPPLY,
            cap: U256::MAX,
            owner: self.alice.address(),
            features: Erc20::Features { mintable: true, burnable: true, pausable: true, votes: true, flashMint: true },
            vesting: Vec::new(),
        };
        let code: Bytes = [node::ERC20_MARKER.as_slice(), &arguments.abi_encode()].concat().into();
        let creation = TransactionRequest::default().with_from(self.alice.address()).with_deploy_code(code);
        let receipt = self.provider.send_transaction(creation).await.unwrap().get_receipt().await.unwrap();
        assert!(receipt.status());
        Erc20::new(receipt.contract_address.expect("a creation names its contract"), self.provider.clone())
    }
}

#[tokio::test]
async fn connects_and_sends() {
    let it = Setting::start().await;
    assert_eq!(it.provider.get_chain_id().await.unwrap(), it.node.chain_id);
    assert_eq!(it.provider.get_accounts().await.unwrap(), it.node.accounts);
    assert_eq!(it.node.accounts[0], it.alice.address());

    let before = it.provider.get_balance(NOBODY).await.unwrap();
    let payment = TransactionRequest::default().with_from(it.alice.address()).with_to(NOBODY).with_value(UNIT);
    let receipt = it.provider.send_transaction(payment).await.unwrap().get_receipt().await.unwrap();
    assert!(receipt.status());
    assert_eq!(receipt.gas_used, 21_000);
    assert_eq!(it.provider.get_balance(NOBODY).await.unwrap(), before + UNIT);
    assert_eq!(it.provider.get_transaction_count(it.alice.address()).await.unwrap(), 1);

    // alloy computes the hash of a header from its fields: ours must be a standard header.
    let block = it.provider.get_block_by_hash(receipt.block_hash.unwrap()).full().await.unwrap().expect("mined block");
    assert_eq!(block.header.inner.hash_slow(), block.header.hash);
    assert_eq!(block.transactions.hashes().collect::<Vec<_>>(), [receipt.transaction_hash]);

    let history = it.provider.get_fee_history(2, BlockNumberOrTag::Latest, &[50.0]).await.unwrap();
    assert_eq!(history.base_fee_per_gas.len(), history.gas_used_ratio.len() + 1);
    let fees = it.provider.estimate_eip1559_fees().await.unwrap();
    assert!(fees.max_fee_per_gas >= fees.max_priority_fee_per_gas);
}

#[tokio::test]
async fn deploys_transfers_and_decodes() {
    let it = Setting::start().await;
    let token = it.deploy().await;
    let code = it.provider.get_code_at(*token.address()).await.unwrap();
    assert_eq!(code[..2], [0xEF, 0xCB]);
    assert_eq!(token.name().call().await.unwrap(), "Gold");
    assert_eq!(token.decimals().call().await.unwrap(), 18);
    assert_eq!(token.balanceOf(it.alice.address()).call().await.unwrap(), SUPPLY);

    let amount = UNIT * U256::from(25);
    let transfer = token.transfer(it.bob.address(), amount).from(it.alice.address());
    let receipt = transfer.send().await.unwrap().get_receipt().await.unwrap();
    let event = receipt.decoded_log::<Erc20::Transfer>().expect("a Transfer event");
    assert_eq!((event.from, event.to, event.value), (it.alice.address(), it.bob.address(), amount));
    let filter = Filter::new().address(*token.address()).event_signature(Erc20::Transfer::SIGNATURE_HASH).from_block(0);
    let logs = it.provider.get_logs(&filter).await.unwrap();
    assert_eq!(logs.last().and_then(|log| log.transaction_hash), Some(receipt.transaction_hash));

    let error = token.transfer(NOBODY, SUPPLY).from(it.bob.address()).call().await.unwrap_err();
    let decoded = error.as_decoded_error::<Erc20::ERC20InsufficientBalance>().expect("the custom error");
    assert_eq!((decoded.sender, decoded.balance, decoded.needed), (it.bob.address(), amount, SUPPLY));
    let failing = token.transfer(NOBODY, SUPPLY).from(it.bob.address()).gas(200_000);
    assert!(!failing.send().await.unwrap().get_receipt().await.unwrap().status());
}

#[tokio::test]
async fn submits_a_permit() {
    let it = Setting::start().await;
    let token = it.deploy().await;
    let latest = it.provider.get_block_by_number(BlockNumberOrTag::Latest).await.unwrap().expect("a head");
    let permit = Permit {
        owner: it.bob.address(),
        spender: it.alice.address(),
        value: UNIT,
        nonce: token.nonces(it.bob.address()).call().await.unwrap(),
        deadline: U256::from(latest.header.timestamp + 100_000),
    };
    let domain = eip712_domain! {
        name: "Gold",
        version: "1",
        chain_id: it.node.chain_id,
        verifying_contract: *token.address(),
    };
    let signature = it.bob.sign_typed_data_sync(&permit, &domain).unwrap();
    let (r, s) = (B256::from(signature.r()), B256::from(signature.s()));
    let call =
        token.permit(permit.owner, permit.spender, permit.value, permit.deadline, 27 + u8::from(signature.v()), r, s);
    assert!(call.from(it.alice.address()).send().await.unwrap().get_receipt().await.unwrap().status());
    assert_eq!(token.allowance(permit.owner, permit.spender).call().await.unwrap(), UNIT);
}

#[tokio::test]
async fn subscribes_over_websocket() {
    let it = Setting::start().await;
    let token = it.deploy().await;
    let live = ProviderBuilder::new().connect_ws(WsConnect::new(&it.node.ws)).await.unwrap();
    let mut heads = live.subscribe_blocks().await.unwrap().into_stream();
    let mut logs = live.subscribe_logs(&Filter::new().address(*token.address())).await.unwrap().into_stream();
    let transfer = token.transfer(it.bob.address(), UNIT).from(it.alice.address());
    let receipt = transfer.send().await.unwrap().get_receipt().await.unwrap();
    let head = heads.next().await.expect("a head");
    assert_eq!(Some(head.hash), receipt.block_hash);
    assert_eq!(head.inner.hash_slow(), head.hash);
    assert_eq!(logs.next().await.expect("a log").transaction_hash, Some(receipt.transaction_hash));
}

#[tokio::test]
async fn proves_accounts_and_travels() {
    let it = Setting::start().await;
    let token = it.deploy().await;
    let block = it.provider.get_block_by_number(BlockNumberOrTag::Latest).await.unwrap().expect("a head");
    let proof = it.provider.get_proof(*token.address(), vec![B256::with_last_byte(2)]).await.unwrap();
    assert_eq!(keccak256(&proof.account_proof[0]), block.header.state_root);
    assert_eq!(keccak256(&proof.storage_proof[0].proof[0]), proof.storage_hash);

    let id = it.provider.anvil_snapshot().await.unwrap();
    it.provider.anvil_set_balance(NOBODY, UNIT).await.unwrap();
    assert_eq!(it.provider.get_balance(NOBODY).await.unwrap(), UNIT);
    assert!(it.provider.anvil_revert(id).await.unwrap());
    assert_eq!(it.provider.get_balance(NOBODY).await.unwrap(), U256::ZERO);

    it.provider.anvil_increase_time(3600).await.unwrap();
    it.provider.anvil_mine(Some(1), None).await.unwrap();
    let later = it.provider.get_block_by_number(BlockNumberOrTag::Latest).await.unwrap().expect("a head");
    assert!(later.header.timestamp >= block.header.timestamp + 3600);

    it.provider.anvil_set_balance(NOBODY, UNIT).await.unwrap();
    it.provider.anvil_impersonate_account(NOBODY).await.unwrap();
    let bare = ProviderBuilder::new().disable_recommended_fillers().connect_http(it.node.http.parse().expect("URL"));
    let payment = TransactionRequest::default().with_from(NOBODY).with_to(it.bob.address()).with_value(U256::ONE);
    let receipt = bare.send_transaction(payment).await.unwrap().get_receipt().await.unwrap();
    assert_eq!(receipt.from, NOBODY);
}
