//! The template that answers as `Receiver.sol` does, which the other suites' templates send and lend to.

use alloy_primitives::{Address, U256};
use alloy_sol_types::{SolCall, SolInterface, SolValue, sol};
use chainbox::{templates::Erc20Params, vm::Marker};
use proptest::{collection::vec, prelude::*, sample::select};

use super::erc20::{OWN_SLOTS, WITHOUT_VOTES};
use crate::{
    differential::Differential,
    engine::Call,
    layout::Keys,
    parties::{ADMIN, Answer, contract, person},
    receiver::RECEIVER,
    suite::{Creation, Scene, Suite},
    values,
};

sol! {
    #[sol(extra_derives(Debug))]
    interface Receiver {
        function onERC721Received(address operator, address from, uint256 id, bytes data);
        function onERC1155Received(address operator, address from, uint256 id, uint256 amount, bytes data);
        function onERC1155BatchReceived(address operator, address from, uint256[] ids, uint256[] amounts, bytes data);
        function onFlashLoan(address initiator, address token, uint256 amount, uint256 fee, bytes data);
    }

    function transfer(address to, uint256 value);
}

use Receiver::*;

const TOKEN: usize = 0;
const TESTED: usize = 1;

#[derive(Clone, Debug)]
pub struct Receiving;

#[derive(Clone, Debug)]
pub enum Operation {
    /// A call by a person, or by the token.
    Ask { from: Address, call: ReceiverCalls },
    /// Ether, in wei.
    Pay { from: Address, value: u64 },
}

impl Suite for Receiving {
    type Setup = Answer;
    type Operation = Operation;

    const CONTRACT: &'static str = "Receiver";
    const INDEX: usize = TESTED;

    fn setups() -> BoxedStrategy<Answer> {
        select(&Answer::ALL[..]).boxed()
    }

    fn operations() -> BoxedStrategy<Operation> {
        use ReceiverCalls as Calls;
        use values::{account, amount, data, id};
        let list = || vec(amount(), 0..3);
        let token = prop_oneof![3 => Just(contract(TOKEN)), 1 => account()];
        let call = prop_oneof![
            (account(), account(), id(), data()).prop_map(|(operator, from, id, data)| {
                Calls::onERC721Received(onERC721ReceivedCall { operator, from, id, data })
            }),
            (account(), account(), id(), amount(), data()).prop_map(|(operator, from, id, amount, data)| {
                Calls::onERC1155Received(onERC1155ReceivedCall { operator, from, id, amount, data })
            }),
            (account(), account(), list(), list(), data()).prop_map(|(operator, from, ids, amounts, data)| {
                Calls::onERC1155BatchReceived(onERC1155BatchReceivedCall { operator, from, ids, amounts, data })
            }),
            (account(), token, amount(), amount(), data()).prop_map(|(initiator, token, amount, fee, data)| {
                Calls::onFlashLoan(onFlashLoanCall { initiator, token, amount, fee, data })
            }),
        ];
        let by = prop_oneof![values::a_person(), Just(contract(TOKEN))];
        let ask = (by, call).prop_map(|(from, call)| Operation::Ask { from, call });
        let pay = (values::a_person(), 0u64..100).prop_map(|(from, value)| Operation::Pay { from, value });
        prop_oneof![6 => ask, 1 => pay].boxed()
    }

    fn reference(answer: &Answer) -> Vec<Creation> {
        let receiver = Creation::reference(Self::CONTRACT, &U256::from(*answer as u8).abi_encode());
        vec![Creation::reference("Erc20WithoutVotes", &token().encode()), receiver]
    }

    fn call(_: &Answer, operation: &Operation, _: &mut Scene<'_>) -> Call {
        let (from, value, input) = match operation {
            Operation::Ask { from, call } => (*from, 0, call.abi_encode()),
            Operation::Pay { from, value } => (*from, *value, Vec::new()),
        };
        Call { from, to: contract(TESTED), value: U256::from(value), input: input.into() }
    }

    fn preparation(_: &Answer) -> Vec<Call> {
        let input = transferCall { to: contract(TESTED), value: U256::from(500) }.abi_encode();
        vec![Call { from: person(ADMIN), to: contract(TOKEN), value: U256::ZERO, input: input.into() }]
    }

    fn keys(_: &Answer) -> Keys {
        Keys::default()
    }
}

fn token() -> Erc20Params {
    Erc20Params { features: WITHOUT_VOTES, ..Erc20Params::new("Token", "TKN", U256::from(100_000), person(ADMIN)) }
}

#[test]
fn the_template_does_what_the_contract_does() {
    let template = Differential::<Receiving> {
        creations: |answer| {
            let receiver = Marker(RECEIVER).init_code(&U256::from(*answer as u8).abi_encode());
            vec![Creation::new(token().init_code()), Creation::new(receiver)]
        },
        own_slots: &OWN_SLOTS,
        regressions: "tests/openzeppelin/regressions/receiver.txt",
    };
    template.run();
}
