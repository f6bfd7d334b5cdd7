//! The token against OpenZeppelin's behaviour.

use alloy_primitives::keccak256;

use super::*;

#[test]
fn immutables_lie_where_the_documentation_says() {
    assert_eq!(U256::from_be_bytes(keccak256("chainbox.erc20.immutables").0), IMMUTABLES);
}
