//! UniswapV2Pair, as a factory makes it, with its LP token.

use alloy_primitives::{Address, Bytes, U256};
use alloy_sol_types::{SolCall, SolInterface, sol};
use chainbox::templates::LiquidityFactoryParams;
use proptest::{prelude::*, sample::select};

use super::{pair_address, persons, reference_factory, sign_permit, subject, token};
use crate::{
    altered::notices_each_function,
    differential::Differential,
    engine::Call,
    exercise::exercise,
    layout::Keys,
    parties::{ADMIN, Answer, PERSONS, contract, person, receiver},
    signatures::Permit,
    suite::{Creation, Scene, Suite},
    suites::erc20::OWN_SLOTS,
    values,
};

sol! {
    #[sol(extra_derives(Debug))]
    interface Pair {
        function transfer(address to, uint256 value);
        function approve(address spender, uint256 value);
        function transferFrom(address from, address to, uint256 value);
        function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s);
        function mint(address to);
        function burn(address to);
        function swap(uint256 amount0Out, uint256 amount1Out, address to, bytes data);
        function skim(address to);
        function sync();
        function initialize(address token0, address token1);
        function balanceOf(address owner);
        function nonces(address owner);
        function createPair(address tokenA, address tokenB);
        function setFeeTo(address feeTo);
        function pause();
        function unpause();
    }
}

use Pair::*;

const FACTORY: usize = 2;

#[derive(Clone, Debug)]
struct PairSuite;

#[derive(Clone, Debug)]
enum Operation {
    /// A call of the pair.
    Call {
        from: Address,
        call: PairCalls,
    },
    /// A token is sent to the pair.
    Pay {
        from: Address,
        token: usize,
        value: U256,
    },
    /// A swap for what the pair has above its reserves, of the most that it gives and so much more.
    Swap {
        from: Address,
        to: Address,
        beyond: U256,
        data: Bytes,
    },
    /// LP tokens are sent to the pair.
    GiveBack {
        from: Address,
        value: U256,
    },
    Permit {
        signer: usize,
        other_owner: Option<Address>,
        spender: Address,
        value: U256,
        is_late: bool,
        is_used: bool,
    },
    /// By the factory itself, in either order of the tokens.
    Initialize {
        is_by_factory: bool,
        is_swapped: bool,
    },
    SetFeeTo {
        account: Address,
    },
    PauseToken {
        token: usize,
        is_on: bool,
    },
}

fn sorted() -> [Address; 2] {
    let mut tokens = [contract(0), contract(1)];
    tokens.sort_unstable();
    tokens
}

impl Suite for PairSuite {
    type Setup = ();
    type Operation = Operation;

    const CONTRACT: &'static str = "UniswapV2Pair";
    const INDEX: usize = FACTORY;
    const UNREACHABLE: &'static [&'static str] = &["approve(address,uint256)", "sync()"];

    fn address() -> Address {
        pair_address(contract(FACTORY), contract(0), contract(1))
    }

    fn setups() -> BoxedStrategy<()> {
        Just(()).boxed()
    }

    fn operations() -> BoxedStrategy<Operation> {
        use PairCalls as Calls;
        use values::{account, allowance, amount, sender};
        let small = || prop_oneof![6 => (0_u64..5_000).prop_map(U256::from), 1 => amount()];
        let to = || prop_oneof![12 => account(), 1 => select(sorted().to_vec())];
        let calls = prop_oneof![
            4 => (sender(), to()).prop_map(|(from, to)| (from, Calls::mint(mintCall { to }))),
            3 => (sender(), to()).prop_map(|(from, to)| (from, Calls::burn(burnCall { to }))),
            1 => (sender(), to()).prop_map(|(from, to)| (from, Calls::skim(skimCall { to }))),
            1 => sender().prop_map(|from| (from, Calls::sync(syncCall {}))),
            2 => (sender(), to(), small(), small(), values::data()).prop_map(|(from, to, amount0Out, amount1Out, data)| {
                (from, Calls::swap(swapCall { amount0Out, amount1Out, to, data }))
            }),
            2 => (sender(), account(), small()).prop_map(|(from, to, value)| (from, Calls::transfer(transferCall { to, value }))),
            2 => (sender(), account(), allowance())
                .prop_map(|(from, spender, value)| (from, Calls::approve(approveCall { spender, value }))),
            2 => (sender(), account(), values::from_and_amount())
                .prop_map(|(by, to, (from, value))| (by, Calls::transferFrom(transferFromCall { from, to, value }))),
        ]
        .boxed()
        .prop_map(|(from, call)| Operation::Call { from, call });
        let pay = (values::a_person(), 0_usize..2, small()).prop_map(|(from, token, value)| Operation::Pay {
            from,
            token,
            value,
        });
        let beyond = prop_oneof![3 => Just(U256::ZERO), 1 => Just(U256::ONE)];
        let data = prop_oneof![5 => Just(Bytes::new()), 1 => values::data()];
        let swap = (sender(), account(), beyond, data).prop_map(|(from, to, beyond, data)| Operation::Swap {
            from,
            to,
            beyond,
            data,
        });
        let give_back = (values::a_person(), small()).prop_map(|(from, value)| Operation::GiveBack { from, value });
        let flag = || proptest::bool::weighted(0.15);
        let permit = (0..PERSONS, proptest::option::weighted(0.1, account()), account(), amount(), flag(), flag())
            .prop_map(|(signer, other_owner, spender, value, is_late, is_used)| Operation::Permit {
                signer,
                other_owner,
                spender,
                value,
                is_late,
                is_used,
            });
        let initialize = (any::<bool>(), flag())
            .prop_map(|(is_by_factory, is_swapped)| Operation::Initialize { is_by_factory, is_swapped });
        let fee_to = prop_oneof![2 => Just(Address::ZERO), 3 => values::a_person()]
            .prop_map(|account| Operation::SetFeeTo { account });
        let pause = (0_usize..2, proptest::bool::weighted(0.2))
            .prop_map(|(token, is_on)| Operation::PauseToken { token, is_on });
        prop_oneof![20 => calls, 10 => pay, 8 => swap, 4 => give_back, 3 => permit, 1 => initialize, 2 => fee_to, 1 => pause]
            .boxed()
    }

    fn reference((): &()) -> Vec<Creation> {
        let token = || Creation::reference("Erc20WithoutVotes", &token().encode());
        vec![token(), token(), reference_factory()]
    }

    fn call((): &(), operation: &Operation, scene: &mut Scene<'_>) -> Call {
        let (pair, factory, [token0, token1]) = (Self::address(), contract(FACTORY), sorted());
        let (from, to, input) = match operation {
            Operation::Call { from, call } => (*from, pair, call.abi_encode()),
            Operation::Pay { from, token, value } => {
                (*from, contract(*token), transferCall { to: pair, value: *value }.abi_encode())
            }
            Operation::Swap { from, to, beyond, data } => {
                let word = scene.reference.storage(pair, U256::from(8));
                let mask = (U256::ONE << 112) - U256::ONE;
                let reserves = [word & mask, (word >> 112) & mask];
                let mut balance = |token| scene.read(token, &balanceOfCall { owner: pair });
                let balances = [balance(token0), balance(token1)];
                let [in0, in1] = [0, 1].map(|index| balances[index].saturating_sub(reserves[index]));
                let out = |amount: U256, reserve_in: U256, reserve_out: U256| {
                    let kept = amount * U256::from(997);
                    (kept * reserve_out).checked_div(reserve_in * U256::from(1_000) + kept).unwrap_or_default()
                };
                let (amount0Out, amount1Out) = if in0 >= in1 {
                    (U256::ZERO, out(in0, reserves[0], reserves[1]) + *beyond)
                } else {
                    (out(in1, reserves[1], reserves[0]) + *beyond, U256::ZERO)
                };
                (*from, pair, swapCall { amount0Out, amount1Out, to: *to, data: data.clone() }.abi_encode())
            }
            Operation::GiveBack { from, value } => (*from, pair, transferCall { to: pair, value: *value }.abi_encode()),
            Operation::Permit { signer, other_owner, spender, value, is_late, is_used } => {
                let owner = person(*signer);
                let nonce = scene.read(pair, &noncesCall { owner });
                let nonce = if *is_used { nonce.saturating_sub(U256::ONE) } else { nonce };
                let deadline = U256::from(scene.clock.timestamp - u64::from(*is_late));
                let signed = Permit { owner, spender: *spender, value: *value, nonce, deadline };
                let parts = sign_permit(*signer, &signed, (contract(0), contract(1)), factory);
                let (owner, v, r, s) = (other_owner.unwrap_or(owner), parts.v, parts.r, parts.s);
                let call = permitCall { owner, spender: *spender, value: *value, deadline, v, r, s };
                (submitter(*signer), pair, call.abi_encode())
            }
            Operation::Initialize { is_by_factory, is_swapped } => {
                let (token0, token1) = if *is_swapped { (token1, token0) } else { (token0, token1) };
                let from = if *is_by_factory { factory } else { person(ADMIN) };
                (from, pair, initializeCall { token0, token1 }.abi_encode())
            }
            Operation::SetFeeTo { account } => (person(ADMIN), factory, setFeeToCall { feeTo: *account }.abi_encode()),
            Operation::PauseToken { token, is_on } => {
                let input = if *is_on { pauseCall {}.abi_encode() } else { unpauseCall {}.abi_encode() };
                (person(ADMIN), contract(*token), input)
            }
        };
        Call { from, to, value: U256::ZERO, input: input.into() }
    }

    /// All persons have tokens, the pair has liquidity of two of them, and one may move LP tokens of the other.
    fn preparation((): &()) -> Vec<Call> {
        let pair = Self::address();
        let send = |from, to, input: Vec<u8>| Call { from, to, value: U256::ZERO, input: input.into() };
        let create = createPairCall { tokenA: contract(1), tokenB: contract(0) };
        let mut calls = vec![send(person(0), contract(FACTORY), create.abi_encode())];
        for token in [contract(0), contract(1)] {
            for to in persons() {
                calls.push(send(person(ADMIN), token, transferCall { to, value: U256::from(1_000_000) }.abi_encode()));
            }
        }
        for from in [person(0), person(1)] {
            for (token, value) in [(contract(0), 20_000), (contract(1), 50_000)] {
                calls.push(send(from, token, transferCall { to: pair, value: U256::from(value) }.abi_encode()));
            }
            calls.push(send(from, pair, mintCall { to: from }.abi_encode()));
        }
        calls.push(send(person(0), pair, approveCall { spender: person(1), value: U256::MAX }.abi_encode()));
        calls
    }

    fn keys((): &()) -> Keys {
        let addresses = values::accounts().into_iter().chain([Self::address()]).collect();
        Keys { addresses, numbers: values::numbers([]), words: Vec::new() }
    }
}

/// Anybody may submit a permit.
fn submitter(signer: usize) -> Address {
    if signer == 0 { receiver(Answer::Accept) } else { person(signer - 1) }
}

#[test]
fn operations_reach_all_of_the_reference() {
    exercise::<PairSuite>();
}

#[test]
fn each_function_is_noticed() {
    notices_each_function::<PairSuite>();
}

#[test]
fn the_template_does_what_the_reference_does() {
    let differential = Differential::<PairSuite> {
        creations: |()| {
            let token = || Creation::new(token().init_code());
            vec![token(), token(), Creation::new(LiquidityFactoryParams::new(person(ADMIN)).init_code())]
        },
        own_slots: &OWN_SLOTS,
        regressions: "tests/openzeppelin/regressions/uniswap_pair.txt",
    };
    differential.run_on(|| subject(contract(FACTORY)));
}
