//! What the document says of evidence: one object with the members of all protocols' proofs, closed. Which of them a proof has is its
//! protocol's rule.

use utoipa::{
    ToSchema,
    openapi::{ObjectBuilder, Schema, Type, schema::AnyOfBuilder},
};

use crate::server::rest::scalar::HexBytes;

/// Evidence of an offence. Of proof of stake it has `Votes` or `Proposals`; of delegated proof of stake two sealed headers, `first` and `second`;
/// of PBFT all but those two, with hashes for `first` and `second`.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes the proofs that the protocols read")]
pub(super) struct Evidence {
    /// Of proof of stake: two votes for one target, or one that surrounds the other.
    #[schema(rename = "Votes")]
    votes: Option<EvidenceVotes>,
    /// Of proof of stake: two blocks for one slot.
    #[schema(rename = "Proposals")]
    proposals: Option<EvidenceProposals>,
    /// Of PBFT: phase of the votes, 1 pre-prepare, 2 prepare, 3 commit.
    #[schema(minimum = 1, maximum = 3)]
    kind: Option<u8>,
    /// Of PBFT: view of the votes.
    view: Option<u64>,
    /// Of PBFT: height of the votes.
    height: Option<u64>,
    /// Of delegated proof of stake a sealed header, of PBFT the lesser hash.
    #[schema(schema_with = side)]
    first: Option<String>,
    /// Of PBFT: signature of the vote for the first.
    first_signature: Option<HexBytes>,
    /// Of delegated proof of stake the other header, of PBFT the greater hash.
    #[schema(schema_with = side)]
    second: Option<String>,
    /// Of PBFT: signature of the vote for the second.
    second_signature: Option<HexBytes>,
    /// `firstSignature`, as replicas write it.
    #[schema(rename = "first_signature")]
    written_first_signature: Option<HexBytes>,
    /// `secondSignature`, as replicas write it.
    #[schema(rename = "second_signature")]
    written_second_signature: Option<HexBytes>,
}

/// Two votes of one validator, the lesser first.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes the proofs that the protocols read")]
struct EvidenceVotes {
    /// The lesser vote.
    first: EvidenceVote,
    /// The greater vote.
    second: EvidenceVote,
}

/// A vote of proof of stake with its signature.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes the proofs that the protocols read")]
struct EvidenceVote {
    /// What is signed.
    data: EvidenceVoteData,
    /// The signature.
    signature: HexBytes,
}

/// What a vote says.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes the proofs that the protocols read")]
struct EvidenceVoteData {
    /// Slot of the vote.
    slot: u64,
    /// The head.
    head: EvidenceBlock,
    /// The checkpoint that it starts from.
    source: EvidenceCheckpoint,
    /// The checkpoint of its epoch.
    target: EvidenceCheckpoint,
}

/// A checkpoint.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes the proofs that the protocols read")]
struct EvidenceCheckpoint {
    /// Its epoch.
    epoch: u64,
    /// Its block.
    block: EvidenceBlock,
}

/// A block by its height and hash.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes the proofs that the protocols read")]
struct EvidenceBlock {
    /// Height of the block.
    height: u64,
    /// Hash of the block.
    #[schema(pattern = "^(0x)?[0-9a-fA-F]{64}$")]
    hash: String,
}

/// Two blocks of one validator for one slot, the lesser first.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes the proofs that the protocols read")]
struct EvidenceProposals {
    /// The lesser proposal.
    first: EvidenceProposal,
    /// The greater proposal.
    second: EvidenceProposal,
}

/// A block that was sealed for a slot.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes the proofs that the protocols read")]
struct EvidenceProposal {
    /// The slot.
    slot: u64,
    /// The block.
    block: EvidenceBlock,
    /// The signature.
    signature: HexBytes,
}

/// Schema of one of two that conflict: the hash of a block, or a sealed header.
fn side() -> Schema {
    let text = |pattern: &str| ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern));
    let bytes = || text("^(0x)?([0-9a-fA-F]{2})*$");
    let header = ObjectBuilder::new()
        .schema_type(Type::Object)
        .property("header", bytes().description(Some("The header in RLP.")))
        .property("seal", bytes().description(Some("Its seal.")))
        .required("header")
        .required("seal");
    let forms = AnyOfBuilder::new().item(text("^(0x)?[0-9a-fA-F]{64}$")).item(header);
    let forms = forms.item(ObjectBuilder::new().schema_type(Type::Null));
    forms.description(Some("Of delegated proof of stake a sealed header, of PBFT the hash of a block.")).into()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        consensus::{dpos::ConflictingBlocks, pbft::DoubleSigning, pos::SlashingEvidence},
        primitives::{Bytes, Header},
        server::rest::type_schema::TypeSchema,
    };

    /// What the protocols read fits the schema.
    #[test]
    fn the_schema_has_the_members_of_every_proof() {
        let validator = jsonschema::draft202012::new(&TypeSchema::of::<Evidence>().standalone()).unwrap();
        let fits = |proof: &Value| {
            let errors: Vec<String> = validator.iter_errors(proof).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{proof}: {errors:?}");
        };
        let hash = format!("0x{}", "11".repeat(32));
        let block = json!({ "height": 5, "hash": hash });
        let checkpoint = json!({ "epoch": 1, "block": block });
        let data = json!({ "slot": 9, "head": block, "source": checkpoint, "target": checkpoint });
        let vote = json!({ "data": data, "signature": "0x0102" });
        let proposal = json!({ "slot": 9, "block": block, "signature": "0x0102" });
        for stake in [
            json!({ "Votes": { "first": vote, "second": vote } }),
            json!({ "Proposals": { "first": proposal, "second": proposal } }),
        ] {
            let read: SlashingEvidence = serde_json::from_value(stake.clone()).unwrap();
            fits(&serde_json::to_value(read).unwrap());
            fits(&stake);
        }
        let phase = json!({
            "kind": 2, "view": 0, "height": 5, "first": hash, "firstSignature": "0x01", "second": hash, "secondSignature": "0x02",
        });
        let read: DoubleSigning = serde_json::from_value(phase.clone()).unwrap();
        fits(&serde_json::to_value(read).unwrap());
        fits(&phase);
        let sealed = |extra: &'static [u8]| {
            let header = Header { extra_data: Bytes::from_static(extra), ..Header::default() };
            (header, Bytes::from_static(b"seal"))
        };
        fits(&serde_json::to_value(ConflictingBlocks::new(sealed(b"one"), sealed(b"other"))).unwrap());
        for wrong in [json!({ "colour": 1 }), json!({ "Votes": 5 }), json!({ "first": { "header": "0x" } })] {
            assert!(!validator.is_valid(&wrong), "{wrong}");
        }
    }
}
