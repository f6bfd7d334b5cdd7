//! Who agrees: the validators in force, and how they change at checkpoints.
//!
//! What executed blocks change in the staking contracts is collected and takes effect with the next block whose height is
//! a multiple of K. That block is agreed upon by the validators before it, and its payload names those after it, so that
//! headers and certificates alone tell who may certify what. Without changes payloads are empty.

use std::{collections::BTreeMap, sync::Arc};

use alloy_rlp::{Decodable, RlpDecodable, RlpEncodable};

use super::{HeaderError, PbftConfig, PbftError, Quorums, View};
use crate::{
    consensus::{Encoder, Validator, ValidatorSet, encoding::Decoder},
    primitives::{Address, Bytes, Height},
    system::ValidatorUpdates,
};

/// The validators in force and the sizes of their quorums. Cloning is O(1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Council {
    validators: ValidatorSet,
    quorums: Quorums,
}

/// The council after a block, and what waits for the next checkpoint. Cloning is O(1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Succession {
    council: Council,
    /// New weights by address; 0 leaves.
    pending: Option<Arc<BTreeMap<Address, u64>>>,
}

#[derive(RlpEncodable, RlpDecodable)]
struct Member {
    address: Address,
    weight: u64,
}

impl Council {
    /// The council of these validators.
    ///
    /// # Errors
    /// [`PbftError`] when there are too few.
    pub fn new(config: &PbftConfig, validators: ValidatorSet) -> Result<Self, PbftError> {
        let quorums = config.quorums(&validators)?;
        Ok(Self { validators, quorums })
    }

    /// Its members.
    pub const fn validators(&self) -> &ValidatorSet {
        &self.validators
    }

    /// Its quorums; each member counts once, whatever it weighs.
    pub const fn quorums(&self) -> &Quorums {
        &self.quorums
    }

    /// Who leads `view`.
    pub fn primary(&self, view: View) -> Address {
        self.validators.members()[view.primary(self.validators.len())].address
    }

    /// Whether `address` may vote.
    pub fn contains(&self, address: &Address) -> bool {
        self.validators.contains(address)
    }

    /// What the header that puts it in force commits to: RLP of a list of `[address, weight]`, in ascending order.
    fn payload(&self) -> Bytes {
        let member = |member: &Validator| Member { address: member.address, weight: member.weight };
        alloy_rlp::encode(self.validators.members().iter().map(member).collect::<Vec<_>>()).into()
    }

    fn of_payload(config: &PbftConfig, payload: &Bytes) -> Result<Self, HeaderError> {
        let malformed = || HeaderError::Payload { bytes: payload.len() };
        let members = Vec::<Member>::decode(&mut payload.as_ref()).map_err(|_| malformed())?;
        let members = members.into_iter().map(|Member { address, weight }| Validator { address, weight });
        let council = ValidatorSet::new(members).ok().map(|set| Self::new(config, set)).ok_or_else(malformed)??;
        if council.payload() == *payload { Ok(council) } else { Err(malformed()) }
    }
}

impl Succession {
    /// A council at genesis.
    pub const fn new(council: Council) -> Self {
        Self { council, pending: None }
    }

    /// Who decides on the next block.
    pub const fn council(&self) -> &Council {
        &self.council
    }

    /// The same after what a block changed.
    #[must_use]
    pub fn with(&self, updates: &ValidatorUpdates) -> Self {
        if updates.is_empty() {
            return self.clone();
        }
        let mut pending = self.pending.as_deref().cloned().unwrap_or_default();
        pending.extend(updates.iter().map(|update| (update.address, update.weight)));
        Self { council: self.council.clone(), pending: Some(Arc::new(pending)) }
    }

    /// The council that a checkpoint would put in force now; `None` when nothing changes.
    ///
    /// # Errors
    /// [`PbftError::NoValidators`], [`PbftError::TooFewValidators`]: the change waits until others join.
    pub fn successor(&self, config: &PbftConfig) -> Result<Option<Council>, PbftError> {
        let Some(pending) = &self.pending else { return Ok(None) };
        let mut members: BTreeMap<_, _> =
            self.council.validators.members().iter().map(|member| (member.address, member.weight)).collect();
        members.extend(pending.iter().map(|(address, weight)| (*address, *weight)));
        let members = members.into_iter().filter(|(_, weight)| *weight > 0);
        let set = ValidatorSet::new(members.map(|(address, weight)| Validator { address, weight }));
        let set = set.map_err(|_| PbftError::NoValidators)?;
        if set == self.council.validators { Ok(None) } else { Council::new(config, set).map(Some) }
    }

    /// The payload of the block at `height`.
    pub fn payload(&self, config: &PbftConfig, height: Height) -> Bytes {
        let successor = self.successor_at(config, height);
        successor.map_or_else(Bytes::new, |council| council.payload())
    }

    /// After the block at `height` with this payload, but for what executing that block changes.
    ///
    /// # Errors
    /// [`HeaderError`] when another payload is due.
    pub fn after(&self, config: &PbftConfig, height: Height, payload: &Bytes) -> Result<Self, HeaderError> {
        let successor = self.successor_at(config, height);
        let want = successor.as_ref().map_or_else(Bytes::new, Council::payload);
        if *payload != want {
            return Err(HeaderError::Successor { bytes: payload.len(), want: want.len() });
        }
        Ok(successor.map_or_else(|| self.clone(), Self::new))
    }

    /// The same for somebody who knows headers alone, and believes those who certified them.
    ///
    /// # Errors
    /// [`HeaderError`] for a payload that is none, or not at a checkpoint.
    pub fn after_proven(&self, config: &PbftConfig, height: Height, payload: &Bytes) -> Result<Self, HeaderError> {
        if payload.is_empty() {
            return Ok(self.clone());
        }
        if !config.is_checkpoint_height(height) {
            return Err(HeaderError::Successor { bytes: payload.len(), want: 0 });
        }
        Council::of_payload(config, payload).map(Self::new)
    }

    fn successor_at(&self, config: &PbftConfig, height: Height) -> Option<Council> {
        if self.pending.is_none() || !config.is_checkpoint_height(height) {
            return None;
        }
        self.successor(config).ok().flatten()
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        out.list(self.council.validators.members().iter(), |out, member| {
            out.address(&member.address);
            out.u64(member.weight);
        });
        let pending = self.pending.as_deref();
        out.len(pending.map_or(0, BTreeMap::len));
        for (address, weight) in pending.into_iter().flatten() {
            out.address(address);
            out.u64(*weight);
        }
    }

    /// Reads [`Succession::encode`]'s form; the inner error is that of an impossible council.
    pub(super) fn decode(config: &PbftConfig, bytes: &mut Decoder<'_>) -> Option<Result<Self, PbftError>> {
        let members = bytes.list(|bytes| Some(Validator { address: bytes.address()?, weight: bytes.u64()? }))?;
        let pending: BTreeMap<_, _> = bytes.list(|bytes| Some((bytes.address()?, bytes.u64()?)))?.into_iter().collect();
        let pending = (!pending.is_empty()).then(|| Arc::new(pending));
        let set = ValidatorSet::new(members).ok()?;
        Some(Council::new(config, set).map(|council| Self { council, pending }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::ValidatorUpdate;

    fn address(byte: u8) -> Address {
        Address::repeat_byte(byte)
    }

    fn succession(count: u8) -> Succession {
        let set = ValidatorSet::equal((1..=count).map(address)).unwrap();
        Succession::new(Council::new(&config(), set).unwrap())
    }

    fn config() -> PbftConfig {
        PbftConfig::default().with_checkpoints(4, 8)
    }

    fn updates(list: &[(u8, u64)]) -> ValidatorUpdates {
        ValidatorUpdates::new(
            list.iter().map(|(byte, weight)| ValidatorUpdate { address: address(*byte), weight: *weight }),
        )
    }

    #[test]
    fn changes_wait_for_a_checkpoint_and_its_payload_names_the_new_set() {
        let before = succession(4).with(&updates(&[(9, 5)])).with(&updates(&[(1, 0), (8, 7)]));
        let (config, height) = (config(), Height::new(8));
        assert_eq!(before.payload(&config, Height::new(7)), Bytes::new());
        let after = before.after(&config, Height::new(7), &Bytes::new()).unwrap();
        assert_eq!(after, before);
        let payload = before.payload(&config, height);
        let after = before.after(&config, height, &payload).unwrap();
        assert_eq!(after.council().validators().addresses().collect::<Vec<_>>(), [2, 3, 4, 8, 9].map(address));
        assert_eq!(after.council().quorums().strong(), 4);
        assert_eq!(after.payload(&config, Height::new(12)), Bytes::new());
        assert_eq!(succession(4).after_proven(&config, height, &payload).unwrap(), after);
        for (height, payload) in [(8, Bytes::new()), (7, payload.clone()), (8, vec![0xc0].into())] {
            assert!(before.after(&config, Height::new(height), &payload).is_err());
        }
        for (height, payload) in [(7, payload.clone()), (8, vec![0xc0].into()), (8, payload.slice(1..))] {
            assert!(succession(4).after_proven(&config, Height::new(height), &payload).is_err());
        }
    }

    #[test]
    fn a_change_that_leaves_too_few_waits_for_others() {
        let config = config();
        let short = succession(4).with(&updates(&[(1, 0)]));
        let want = PbftError::TooFewValidators { validators: 3, faulty: 1, want: 4 };
        assert_eq!(short.successor(&config), Err(want));
        assert_eq!(short.after(&config, Height::new(4), &Bytes::new()).unwrap(), short);
        let nobody = succession(4).with(&updates(&[(1, 0), (2, 0), (3, 0), (4, 0)]));
        assert_eq!(nobody.successor(&config), Err(PbftError::NoValidators));
        let replaced = short.with(&updates(&[(5, 3)])).successor(&config).unwrap().unwrap();
        assert_eq!(replaced.validators().addresses().collect::<Vec<_>>(), [2, 3, 4, 5].map(address));
    }

    #[test]
    fn an_encoding_comes_back() {
        let succession = succession(4).with(&updates(&[(9, 5)]));
        let mut out = Encoder::new();
        succession.encode(&mut out);
        let decoded = Succession::decode(&config(), &mut Decoder::new(out.as_bytes())).unwrap();
        assert_eq!(decoded, Ok(succession));
    }
}
