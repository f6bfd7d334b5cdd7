//! Time travel: advance the clock, set a block's timestamp, and revert to a snapshot.
//!
//! `cargo run --example time_travel`

use std::time::Duration;

use chainbox::{node::Node, primitives::Timestamp};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let node = Node::new();
    let start = node.mine(1)?.block().timestamp();
    let before = node.snapshot();

    let one_day = Duration::from_secs(86_400);
    node.increase_time(one_day);
    let later = node.mine(1)?.block().timestamp();
    assert_eq!(later.as_secs(), start.as_secs() + one_day.as_secs());

    let exact = Timestamp::from_secs(later.as_secs() + 17);
    node.set_next_block_timestamp(exact)?;
    assert_eq!(node.mine(1)?.block().timestamp(), exact);

    assert!(node.revert(before)?);
    assert_eq!(node.view().head().height().get(), 1);
    assert_eq!(node.mine(1)?.block().timestamp(), start.saturating_add_secs(1));
    println!("one day ahead and back, at block {}", node.view().head().height());
    Ok(())
}
