//! UniswapV2Factory.

use alloy_primitives::{Address, U256};
use alloy_sol_types::{SolInterface, sol};
use chainbox::templates::LiquidityFactoryParams;
use proptest::{prelude::*, sample::select};

use super::{reference_factory, subject, tokens};
use crate::{
    altered::notices_each_function,
    differential::Differential,
    engine::Call,
    exercise::exercise,
    layout::Keys,
    parties::{ADMIN, contract, person},
    suite::{Creation, Scene, Suite},
    values,
};

sol! {
    #[sol(extra_derives(Debug))]
    interface Factory {
        function createPair(address tokenA, address tokenB);
        function setFeeTo(address feeTo);
        function setFeeToSetter(address feeToSetter);
    }
}

use Factory::*;

const FACTORY: usize = 0;

#[derive(Clone, Debug)]
struct FactorySuite;

#[derive(Clone, Debug)]
struct Operation {
    from: Address,
    call: FactoryCalls,
}

impl Suite for FactorySuite {
    type Setup = ();
    type Operation = Operation;

    const CONTRACT: &'static str = "UniswapV2Factory";

    fn setups() -> BoxedStrategy<()> {
        Just(()).boxed()
    }

    fn operations() -> BoxedStrategy<Operation> {
        let token = || prop_oneof![20 => select(tokens()), 1 => Just(Address::ZERO)];
        let create = (values::sender(), token(), token()).prop_map(|(from, tokenA, tokenB)| Operation {
            from,
            call: FactoryCalls::createPair(createPairCall { tokenA, tokenB }),
        });
        let fee_to = (values::mostly_admin(), values::account())
            .prop_map(|(from, feeTo)| Operation { from, call: FactoryCalls::setFeeTo(setFeeToCall { feeTo }) });
        let setter = prop_oneof![3 => Just(person(ADMIN)), 1 => values::a_person()];
        let setter = (values::mostly_admin(), setter).prop_map(|(from, feeToSetter)| Operation {
            from,
            call: FactoryCalls::setFeeToSetter(setFeeToSetterCall { feeToSetter }),
        });
        prop_oneof![8 => create, 2 => fee_to, 1 => setter].boxed()
    }

    fn reference((): &()) -> Vec<Creation> {
        vec![reference_factory()]
    }

    fn call((): &(), operation: &Operation, _: &mut Scene<'_>) -> Call {
        let input = operation.call.abi_encode().into();
        Call { from: operation.from, to: contract(FACTORY), value: U256::ZERO, input }
    }

    fn keys((): &()) -> Keys {
        let addresses = values::accounts().into_iter().chain(tokens()).collect();
        Keys { addresses, numbers: values::numbers([]), words: Vec::new() }
    }
}

#[test]
fn operations_reach_all_of_the_reference() {
    exercise::<FactorySuite>();
}

#[test]
fn each_function_is_noticed() {
    notices_each_function::<FactorySuite>();
}

#[test]
fn the_template_does_what_the_reference_does() {
    let differential = Differential::<FactorySuite> {
        creations: |()| vec![Creation::new(LiquidityFactoryParams::new(person(ADMIN)).init_code())],
        own_slots: &[],
        regressions: "tests/openzeppelin/regressions/uniswap_factory.txt",
    };
    differential.run_on(|| subject(contract(FACTORY)));
}
