//! ERC-20 with roles, votes and flash loans.

use alloy_primitives::{Address, B256, U256};
use alloy_sol_types::{SolCall, SolInterface, SolValue, sol};
use proptest::{prelude::*, sample::select};

use crate::{
    altered::notices_each_function,
    engine::{Call, FIRST_BLOCK},
    exercise::exercise,
    layout::Keys,
    parties::{ADMIN, MINTER, PERSONS, contract, person},
    signatures::{DelegationChoice, PermitChoice},
    suite::{Creation, Scene, Suite},
    values,
};

sol! {
    #[sol(extra_derives(Debug))]
    interface Erc20 {
        function transfer(address to, uint256 value);
        function approve(address spender, uint256 value);
        function transferFrom(address from, address to, uint256 value);
        function mint(address to, uint256 amount);
        function burn(uint256 value);
        function burnFrom(address account, uint256 value);
        function pause();
        function unpause();
        function grantRole(bytes32 role, address account);
        function revokeRole(bytes32 role, address account);
        function renounceRole(bytes32 role, address callerConfirmation);
        function delegate(address delegatee);
        function delegateBySig(address delegatee, uint256 nonce, uint256 expiry, uint8 v, bytes32 r, bytes32 s);
        function flashLoan(address receiver, address token, uint256 value, bytes data);
        function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s);
    }
}

use Erc20::*;

#[derive(Clone, Debug)]
pub struct WithRoles;

/// Constructor parameters of the reference.
#[derive(Clone, Debug)]
pub struct Setup {
    pub name: String,
    pub symbol: String,
    pub decimals: u8,
    /// Minted to the administrator, in the smallest unit.
    pub premint: U256,
    /// `U256::MAX` for none.
    pub cap: U256,
}

#[derive(Clone, Debug)]
pub enum Operation {
    Call { from: Address, call: Erc20Calls },
    Permit { from: Address, permit: PermitChoice },
    DelegateBySig { from: Address, delegation: DelegationChoice },
}

impl Suite for WithRoles {
    type Setup = Setup;
    type Operation = Operation;

    const CONTRACT: &'static str = "Erc20";
    const UNREACHABLE: &'static [&'static str] = &[
        // The zero address has nothing, and is asked first what it allows.
        "ERC20InvalidSender(address)",
        // Signatures come in three parts.
        "ECDSAInvalidSignatureLength(uint256)",
        "InvalidShortString()",
        // Blocks and values far below 2^48 and 2^208.
        "SafeCastOverflowedUintDowncast(uint8,uint256)",
        "CheckpointUnorderedInsertion()",
        // Asked by views alone.
        "ERC5805FutureLookup(uint256,uint48)",
        "ERC6372InconsistentClock()",
        // Nothing stands against it.
        "delegate(address)",
        // Places that OpenZeppelin 5.7.0 no longer uses.
        "_nameFallback",
        "_versionFallback",
    ];

    fn setups() -> BoxedStrategy<Setup> {
        let premint = prop_oneof![6 => Just(1_000u64), 1 => Just(0), 1 => Just(2_001)].prop_map(U256::from);
        let cap = prop_oneof![6 => Just(U256::from(2_000)), 4 => Just(U256::MAX), 1 => Just(U256::ZERO)];
        (prop_oneof![9 => values::short_text(), 1 => values::text()], values::text(), any::<u8>(), premint, cap)
            .prop_map(|(name, symbol, decimals, premint, cap)| Setup { name, symbol, decimals, premint, cap })
            .boxed()
    }

    fn operations() -> BoxedStrategy<Operation> {
        use Erc20Calls as Calls;
        use values::{account, allowance, amount, from_and_amount, mostly_admin, mostly_minter, sender};
        let transfers = prop_oneof![
            6 => (sender(), account(), amount())
                .prop_map(|(from, to, value)| (from, Calls::transfer(transferCall { to, value }))),
            3 => (sender(), account(), allowance())
                .prop_map(|(from, spender, value)| (from, Calls::approve(approveCall { spender, value }))),
            4 => (sender(), account(), from_and_amount())
                .prop_map(|(by, to, (from, value))| (by, Calls::transferFrom(transferFromCall { from, to, value }))),
            4 => (mostly_minter(), account(), amount())
                .prop_map(|(from, to, amount)| (from, Calls::mint(mintCall { to, amount }))),
            2 => (sender(), amount()).prop_map(|(from, value)| (from, Calls::burn(burnCall { value }))),
            2 => (sender(), account(), amount())
                .prop_map(|(from, account, value)| (from, Calls::burnFrom(burnFromCall { account, value }))),
        ]
        .boxed();
        let loans = (sender(), lent_to(), a_loan(), values::data())
            .prop_map(|(from, receiver, (token, value), data)| {
                (from, Calls::flashLoan(flashLoanCall { receiver, token, value, data }))
            })
            .boxed();
        let administration = prop_oneof![
            1 => mostly_minter().prop_map(|from| (from, Calls::pause(pauseCall {}))),
            3 => mostly_minter().prop_map(|from| (from, Calls::unpause(unpauseCall {}))),
            2 => (mostly_admin(), values::a_role(), account())
                .prop_map(|(from, role, account)| (from, Calls::grantRole(grantRoleCall { role, account }))),
            1 => (mostly_admin(), values::a_role(), account())
                .prop_map(|(from, role, account)| (from, Calls::revokeRole(revokeRoleCall { role, account }))),
            1 => renounced().prop_map(|(from, role, account)| {
                (from, Calls::renounceRole(renounceRoleCall { role, callerConfirmation: account }))
            }),
        ]
        .boxed();
        let votes = (sender(), account())
            .prop_map(|(from, delegatee)| (from, Calls::delegate(delegateCall { delegatee })))
            .boxed();
        let call = prop_oneof![10 => transfers, 3 => loans, 3 => administration, 3 => votes]
            .prop_map(|(from, call)| Operation::Call { from, call })
            .boxed();
        let permit =
            (sender(), PermitChoice::strategy()).prop_map(|(from, permit)| Operation::Permit { from, permit }).boxed();
        let delegation = (sender(), DelegationChoice::strategy())
            .prop_map(|(from, delegation)| Operation::DelegateBySig { from, delegation })
            .boxed();
        prop_oneof![16 => call, 1 => permit, 1 => delegation].boxed()
    }

    fn reference(setup: &Setup) -> Vec<Creation> {
        let Setup { name, symbol, decimals, premint, cap } = setup;
        let (admin, minter) = (person(ADMIN), person(MINTER));
        let params = (name, symbol, U256::from(*decimals), premint, cap, admin, admin, minter, minter);
        vec![Creation::reference(Self::CONTRACT, &params.abi_encode_params())]
    }

    fn call(setup: &Setup, operation: &Operation, scene: &mut Scene<'_>) -> Call {
        let to = contract(0);
        let (from, input) = match operation {
            Operation::Call { from, call } => (*from, call.abi_encode()),
            Operation::Permit { from, permit } => {
                let (permit, parts) = permit.sign(&setup.name, to, scene);
                let call = permitCall {
                    owner: permit.owner,
                    spender: permit.spender,
                    value: permit.value,
                    deadline: permit.deadline,
                    v: parts.v,
                    r: parts.r,
                    s: parts.s,
                };
                (*from, call.abi_encode())
            }
            Operation::DelegateBySig { from, delegation } => {
                let (delegation, parts) = delegation.sign(&setup.name, to, scene);
                let call = delegateBySigCall {
                    delegatee: delegation.delegatee,
                    nonce: delegation.nonce,
                    expiry: delegation.expiry,
                    v: parts.v,
                    r: parts.r,
                    s: parts.s,
                };
                (*from, call.abi_encode())
            }
        };
        Call { from, to, value: U256::ZERO, input: input.into() }
    }

    fn preparation(_: &Setup) -> Vec<Call> {
        let send = |from, input: Vec<u8>| Call { from, to: contract(0), value: U256::ZERO, input: input.into() };
        let spread = |index| {
            let value = U256::from(200);
            send(person(ADMIN), transferCall { to: person(index), value }.abi_encode())
        };
        let allow = |index| {
            let spender = person((index + 1) % PERSONS);
            send(person(index), approveCall { spender, value: U256::MAX }.abi_encode())
        };
        (1..PERSONS).map(spread).chain((0..PERSONS).map(allow)).collect()
    }

    fn keys(_: &Setup) -> Keys {
        let moments = FIRST_BLOCK..FIRST_BLOCK + 8;
        Keys { addresses: values::accounts(), numbers: values::numbers(moments), words: values::roles() }
    }
}

/// Returns the strategy of borrowers: half of them repay.
fn lent_to() -> impl Strategy<Value = Address> {
    prop_oneof![6 => values::a_receiver(), 1 => values::account()]
}

/// Returns the strategy of a loan's token, mostly the right one, and amount.
fn a_loan() -> impl Strategy<Value = (Address, U256)> {
    prop_oneof![
        12 => (Just(contract(0)), values::amount()),
        1 => (values::account(), values::amount()),
        1 => (values::account(), Just(U256::ZERO)),
    ]
}

/// Returns the strategy of a sender who renounces a role, mostly his own.
fn renounced() -> impl Strategy<Value = (Address, B256, Address)> {
    let by_whom = select((0..PERSONS).map(person).collect::<Vec<_>>());
    (by_whom, values::a_role(), values::account(), proptest::bool::weighted(0.2))
        .prop_map(|(from, role, other, is_other)| (from, role, if is_other { other } else { from }))
}

#[test]
fn operations_reach_all_of_the_reference() {
    exercise::<WithRoles>();
}

#[test]
fn each_function_is_noticed() {
    notices_each_function::<WithRoles>();
}
