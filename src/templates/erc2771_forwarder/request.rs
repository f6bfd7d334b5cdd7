//! A request in call data, read member by member.

use alloy_primitives::{aliases::U48, b256};

use crate::{
    templates::common::{Domain, calldata::Tuple},
    vm::contract::*,
};

/// Words of a request's head.
pub(super) const WORDS: usize = 7;

/// Hash of the type that is signed: `ForwardRequest(address from,address to,uint256 value,uint256 gas,uint256 nonce,uint48 deadline,bytes
/// data)`.
pub(super) const TYPE: B256 = b256!("7f96328b83274ebc7c1cf4f7a3abda602b51a78b7fa1d86a2ce353d75e587cac");

/// `ForwardRequestData`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request<'a>(Tuple<'a>);

impl<'a> From<Tuple<'a>> for Request<'a> {
    fn from(tuple: Tuple<'a>) -> Self {
        Self(tuple)
    }
}

impl<'a> Request<'a> {
    pub(super) fn sender(self) -> Result<Address, Stop> {
        self.0.address(0)
    }

    pub(super) fn to(self) -> Result<Address, Stop> {
        self.0.address(1)
    }

    /// In wei.
    pub(super) fn value(self) -> U256 {
        self.0.word(2)
    }

    /// In gas units.
    pub(super) fn gas(self) -> U256 {
        self.0.word(3)
    }

    /// In seconds since the Unix epoch.
    pub(super) fn deadline(self) -> Result<U48, Stop> {
        let seconds = u64::try_from(self.0.word(4)).ok();
        seconds.and_then(|seconds| U48::try_from(seconds).ok()).ok_or_else(empty_revert)
    }

    pub(super) fn data(self) -> Result<&'a [u8], Stop> {
        self.0.bytes(5)
    }

    /// Returns who signed the request with this nonce; `None` for a signature that has no signer, or a second form of one.
    pub(super) fn signer(self, host: &mut Host<'_>, domain: &Domain, nonce: U256) -> Result<Option<Address>, Stop> {
        let (from, to, deadline) = (self.sender()?, self.to()?, U256::from(self.deadline()?));
        let data = host.keccak(self.data()?)?;
        let fields = (TYPE, from, to, self.value(), self.gas(), nonce, deadline, data);
        let hash = host.keccak(&fields.abi_encode())?;
        let hash = domain.hash_typed_data(host, hash)?;
        let Ok([rs @ .., v]) = <&[u8; 65]>::try_from(self.0.bytes(6)?) else { return Ok(None) };
        let (r, s) = rs.split_at(32);
        host.recover(hash, *v, U256::from_be_slice(r), U256::from_be_slice(s))
    }
}
