//! erc20-token behind the host, with any calldata, caller and gas: it ends, keeps its supply equal to what its holders
//! have, and never panics.
#![no_main]

use alloy_primitives::{Address, B256, U256};
use arbitrary::Arbitrary;
use chainbox::{
    primitives::Gas,
    state::Journal,
    templates::{self, Erc20Features, Erc20Params},
    vm::{BlockContext, FrameOutcome, HaltReason, Message, execute},
};
use chainbox_fuzz::{Who, funded_state};
use libfuzzer_sys::fuzz_target;

const CALLS_MAX: usize = 30;
const SUPPLY: u64 = 1_000;

#[derive(Arbitrary, Debug)]
struct Call {
    from: Who,
    gas: u32,
    data: Data,
}

#[derive(Arbitrary, Debug)]
enum Data {
    Raw(Vec<u8>),
    Transfer(Who, u16),
    Approve(Who, u16),
    TransferFrom(Who, Who, u16),
    Mint(Who, u16),
    Burn(u16),
    Pause(bool),
}

impl Data {
    fn encode(self) -> Vec<u8> {
        let address = |who: Who| who.address().into_word();
        let amount = |value: u16| B256::from(U256::from(value));
        let (signature, words) = match self {
            Self::Raw(bytes) => return bytes,
            Self::Transfer(to, value) => ("transfer(address,uint256)", vec![address(to), amount(value)]),
            Self::Approve(spender, value) => ("approve(address,uint256)", vec![address(spender), amount(value)]),
            Self::TransferFrom(from, to, value) => {
                ("transferFrom(address,address,uint256)", vec![address(from), address(to), amount(value)])
            }
            Self::Mint(to, value) => ("mint(address,uint256)", vec![address(to), amount(value)]),
            Self::Burn(value) => ("burn(uint256)", vec![amount(value)]),
            Self::Pause(true) => ("pause()", vec![]),
            Self::Pause(false) => ("unpause()", vec![]),
        };
        let selector = &alloy_primitives::keccak256(signature)[..4];
        [selector, words.concat().as_slice()].concat()
    }
}

fuzz_target!(|calls: Vec<Call>| {
    let (block, registry) = (BlockContext { chain_id: 31_337, ..Default::default() }, templates::builtin());
    let mut journal = Journal::new(funded_state());
    let owner = Who::Alice.address();
    let features = Erc20Features::ALL;
    let params = Erc20Params { features, ..Erc20Params::new("Gold", "GLD", U256::from(SUPPLY), owner) };
    let init_code = params.init_code();
    let creation = Message::create(owner, 0, U256::ZERO, &init_code, Gas::new(10_000_000));
    let token = creation.to;
    assert!(execute(&mut journal, &block, registry, &creation).expect("readable").is_success());

    for call in calls.into_iter().take(CALLS_MAX) {
        journal.begin_transaction();
        let data = call.data.encode();
        let message = Message::call(call.from.address(), token, U256::ZERO, &data, Gas::new(u64::from(call.gas)));
        let result = execute(&mut journal, &block, registry, &message).expect("readable");
        assert!(result.gas_left <= message.gas);
        assert_ne!(result.outcome, FrameOutcome::Halt(HaltReason::TemplatePanic));
    }

    journal.begin_transaction();
    let mut read = |data: Vec<u8>| {
        let message = Message::call(owner, token, U256::ZERO, &data, Gas::new(1_000_000));
        let result = execute(&mut journal, &block, registry, &message).expect("readable");
        U256::from_be_slice(&result.output)
    };
    let mut balance = |holder: Address| {
        let selector = &alloy_primitives::keccak256("balanceOf(address)")[..4];
        read([selector, holder.into_word().as_slice()].concat())
    };
    let mut held: U256 = Who::ALL.iter().map(|who| balance(who.address())).sum();
    held += balance(token);
    let supply = read(alloy_primitives::keccak256("totalSupply()")[..4].to_vec());
    assert!(held <= supply, "{held} held, {supply} issued");
});
