//! A user's crate whose one dependency is chainbox: its template and its calls work through `chainbox::alloy`.

use std::sync::Arc;

use chainbox::{
    node::{
        Node,
        testing::{expect_event, expect_revert},
    },
    primitives::U256,
    vm::Marker,
};
use chainbox_user::{Counter, CounterTemplate};

#[test]
fn a_template_of_a_crate_without_alloy_in_its_manifest_works() {
    let node = Node::builder().with_template(Arc::new(CounterTemplate)).build().unwrap();
    let alice = node.accounts()[0];
    let counter = node.deploy(alice, Marker(CounterTemplate::ID).init_code(&[])).unwrap();
    let counted: Counter::Counted = expect_event(&counter.send(Counter::countCall { step: U256::from(7) }).unwrap());
    assert_eq!((counted.by, counted.total), (alice, U256::from(7)));
    assert_eq!(counter.call(Counter::totalCall {}).unwrap(), U256::from(7));
    let refused: Counter::StepTooLarge = expect_revert(counter.send(Counter::countCall { step: U256::from(11) }));
    assert_eq!(refused.max, U256::from(10));
}
