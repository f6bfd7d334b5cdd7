//! The rules that a header of PBFT obeys, judged from its parent and what waits there to change the validators.

use super::{
    CertificateError, Council, EvidenceError, Payload, PbftConfig, PbftError, Seal, Succession,
    certificate::verify_proposal,
};
use crate::{
    chain::{Ancestors, Block, HeaderRules, RuleError},
    consensus::{
        Authenticator, BlockId, ValidatorSet,
        header_rules::{Lineage, Parent, Remembered},
    },
    primitives::{Address, B64, B256, Bytes, Header, Height, Timestamp, U256},
    system::{SystemCall, SystemContext, ValidatorUpdates, staking},
};

/// Which rule a header breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// It extends another block than the one it was judged on.
    #[error("parent is {got} at height {got_height}; expected {want}")]
    Parent {
        /// The parent hash in the header.
        got: B256,
        /// The header's own height.
        got_height: Height,
        /// The block it was to extend.
        want: BlockId,
    },
    /// Before the parent's time plus the period.
    #[error("timestamp is {got}; expected at least {want}")]
    Timestamp {
        /// The header's.
        got: Timestamp,
        /// The earliest allowed.
        want: Timestamp,
    },
    /// A field that PBFT has no use for is not empty or zero.
    #[error("{field} is not zero or empty; pbft has no use for it")]
    NotZero {
        /// Which field.
        field: &'static str,
    },
    /// `extraData` is not the keccak of the payload, or not empty without one.
    #[error("extraData is {got}; expected the keccak of the payload, or nothing without one")]
    ExtraData {
        /// The header's.
        got: Bytes,
    },
    /// The payload names no set of validators in its canonical form.
    #[error("payload of {bytes} bytes names no set of validators")]
    Payload {
        /// Its length.
        bytes: usize,
    },
    /// The payload does not name the validators who take over with this block.
    #[error("payload names {got} validators who take over; expected {want} others")]
    Successor {
        /// How many it names; 0 for nobody.
        got: usize,
        /// How many there are; 0 when nobody takes over.
        want: usize,
    },
    /// The payload's evidence proves nothing.
    #[error(transparent)]
    Evidence(#[from] EvidenceError),
    /// The payload names an impossible set of validators.
    #[error(transparent)]
    Council(#[from] PbftError),
    /// The fees go to somebody who proposes no blocks.
    #[error("beneficiary {got} is no validator, or not the one that proposed the block")]
    Beneficiary {
        /// The header's.
        got: Address,
    },
    /// The seal proves nothing.
    #[error(transparent)]
    Seal(#[from] CertificateError),
}

/// What a chain's headers are judged by. Remembers what it judged; replicas of a process may share one.
#[derive(Debug)]
pub struct PbftRules {
    config: PbftConfig,
    authenticator: Authenticator,
    genesis: Succession,
    judged: Remembered<Succession>,
}

impl PbftRules {
    /// Rules of a chain that starts with these validators.
    ///
    /// # Errors
    /// [`PbftError`] for parameters or a number of validators that PBFT refuses.
    pub fn new(config: PbftConfig, validators: ValidatorSet, authenticator: Authenticator) -> Result<Self, PbftError> {
        let genesis = Succession::new(Council::new(&config, validators)?);
        Ok(Self { config, authenticator, genesis, judged: Remembered::default() })
    }

    /// Takes what was judged before this process began, such as a stored head and the succession after it.
    pub fn remember(&self, hash: B256, succession: Succession) {
        self.judged.insert_stored(hash, succession);
    }
}

/// Judges everything but payload and seal.
///
/// # Errors
/// [`HeaderError`]: the first rule that the header breaks.
pub(super) fn check_fields(
    config: &PbftConfig,
    council: &Council,
    header: &Header,
    has_right_extra_data: bool,
    parent: &Header,
) -> Result<(), HeaderError> {
    let (got, want) =
        (Timestamp::from_secs(header.timestamp), config.earliest_after(Timestamp::from_secs(parent.timestamp)));
    if got < want {
        return Err(HeaderError::Timestamp { got, want });
    }
    let zero = [
        ("difficulty", header.difficulty == U256::ZERO),
        ("nonce", header.nonce == B64::ZERO),
        ("mixHash", header.mix_hash == B256::ZERO),
    ];
    if let Some((field, _)) = zero.iter().find(|(_, is_zero)| !is_zero) {
        return Err(HeaderError::NotZero { field });
    }
    if !has_right_extra_data {
        return Err(HeaderError::ExtraData { got: header.extra_data.clone() });
    }
    let got = header.beneficiary;
    if council.contains(&got) { Ok(()) } else { Err(HeaderError::Beneficiary { got }) }
}

/// Judges the seal: a certificate of the block, or the word of the primary that made it.
///
/// # Errors
/// [`HeaderError::Seal`], and [`HeaderError::Beneficiary`] when a proposal pays another than its primary.
fn check_seal(
    council: &Council,
    authenticator: &Authenticator,
    block: BlockId,
    header: &Header,
    seal: &[u8],
) -> Result<(), HeaderError> {
    match Seal::decode(seal)? {
        Seal::Certificate(certificate) => Ok(certificate.verify(block, council, authenticator)?),
        Seal::Proposal { view, signature } => {
            let primary = verify_proposal(view, &signature, block, council, authenticator)?;
            let got = header.beneficiary;
            if primary == got { Ok(()) } else { Err(HeaderError::Beneficiary { got }) }
        }
    }
}

impl Lineage for PbftRules {
    type Link = Succession;

    fn remembered(&self) -> &Remembered<Succession> {
        &self.judged
    }

    fn genesis(&self, _hash: B256, _header: &Header) -> Succession {
        self.genesis.clone()
    }

    fn judge(&self, parent: &Parent<'_, Succession>, block: &Block) -> Result<Succession, RuleError> {
        let before = parent.link;
        let has_right_extra_data =
            if block.payload().is_empty() { block.header().extra_data.is_empty() } else { block.commits_to_payload() };
        let judge = || {
            check_fields(&self.config, before.council(), block.header(), has_right_extra_data, parent.header)?;
            let after = before.after(&self.config, block.height(), block.payload(), &self.authenticator)?;
            check_seal(before.council(), &self.authenticator, BlockId::of(block), block.header(), block.seal())?;
            Ok(after)
        };
        judge().map_err(|error: HeaderError| rule_error(&error))
    }

    fn executed(succession: Succession, updates: &ValidatorUpdates) -> Succession {
        succession.with(updates)
    }
}

impl HeaderRules for PbftRules {
    fn verify(&self, block: &Block, parent: &Header, ancestors: &dyn Ancestors) -> Result<(), RuleError> {
        self.judge_once(block, parent, ancestors)
    }

    /// The proposer, then everybody whom the block's evidence convicts. Nobody counts as absent: a certificate has exactly a
    /// quorum's signatures, so that honest validators are always missing from it.
    fn system_calls(&self, context: &SystemContext<'_>) -> Result<Vec<SystemCall>, RuleError> {
        if !context.has_stake {
            return Ok(Vec::new());
        }
        let payload = Payload::decode(context.payload).map_err(|error| rule_error(&error))?;
        let time = Timestamp::from_secs(context.header.timestamp);
        let mut calls = vec![staking::begin_block(context.header.beneficiary, &[])];
        for proof in &payload.evidence {
            let offender = proof.offender(&self.authenticator).map_err(|error| rule_error(&error.into()))?;
            calls.push(staking::slash(offender, staking::Offence::DoubleSign, proof.height(), time));
        }
        Ok(calls)
    }
}

fn rule_error(error: &HeaderError) -> RuleError {
    let field = |field, got: &dyn ToString, want: String| RuleError::Field { field, got: got.to_string(), want };
    match error {
        HeaderError::Timestamp { got, want } => field("timestamp", got, format!("at least {want}")),
        HeaderError::NotZero { field: name } => field(name, &"something", "nothing".to_owned()),
        HeaderError::Beneficiary { got } => field("miner", got, "the proposing validator".to_owned()),
        HeaderError::ExtraData { got } => field("extraData", got, "the keccak of the payload, or nothing".to_owned()),
        other => RuleError::Seal { reason: other.to_string() },
    }
}
