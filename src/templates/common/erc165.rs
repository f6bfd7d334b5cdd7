//! ERC-165: which interfaces a contract supports.

/// `supportsInterface(bytes4)`, alone in its interface.
pub const SUPPORTS_INTERFACE: [u8; 4] = [0x01, 0xff, 0xc9, 0xa7];

/// Returns the id of an interface: the exclusive or of its functions' selectors.
pub const fn interface_id(selectors: &[[u8; 4]]) -> [u8; 4] {
    let (mut id, mut index) = (0, 0);
    while index < selectors.len() {
        id ^= u32::from_be_bytes(selectors[index]);
        index += 1;
    }
    u32::to_be_bytes(id)
}

/// Returns whether `id` is one of a contract's interfaces, or ERC-165 itself.
pub fn supports(id: [u8; 4], interfaces: &[[u8; 4]]) -> bool {
    id == SUPPORTS_INTERFACE || interfaces.contains(&id)
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;

    use super::*;

    #[test]
    fn an_id_is_the_exclusive_or_of_selectors() {
        let selector = |text: &str| *keccak256(text).first_chunk::<4>().unwrap();
        assert_eq!(selector("supportsInterface(bytes4)"), SUPPORTS_INTERFACE);
        // ERC-20: the document of the standard does not name it, OpenZeppelin's tests do.
        let erc20 = [
            "totalSupply()",
            "balanceOf(address)",
            "transfer(address,uint256)",
            "allowance(address,address)",
            "approve(address,uint256)",
            "transferFrom(address,address,uint256)",
        ];
        assert_eq!(interface_id(&erc20.map(selector)), [0x36, 0x37, 0x2b, 0x07]);
        let receiver = selector("onERC721Received(address,address,uint256,bytes)");
        assert!(supports([0x15, 0x0b, 0x7a, 0x02], &[interface_id(&[receiver])]));
        assert!(supports(SUPPORTS_INTERFACE, &[]));
        assert!(!supports([0xff; 4], &[interface_id(&[receiver])]));
    }
}
