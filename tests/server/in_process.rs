//! The `alloy` transport over a node, without a socket.

use alloy_json_rpc::{Id, Request, RequestPacket, ResponsePacket, ResponsePayload, SerializedRequest};
use chainbox::{node::Node, server::InProcess};
use serde_json::{Value, json};
use tower::Service;

fn request(id: u64, method: &'static str, params: Value) -> SerializedRequest {
    Request::new(method, Id::Number(id), params).serialize().unwrap()
}

fn result(payload: &ResponsePayload) -> Value {
    match payload {
        ResponsePayload::Success(result) => serde_json::from_str(result.get()).unwrap(),
        ResponsePayload::Failure(error) => json!({ "code": error.code, "message": error.message }),
    }
}

#[tokio::test]
async fn single_calls_and_batches_have_responses() {
    let node = Node::new();
    let mut transport = InProcess::new(node.clone());
    let single = transport.call(RequestPacket::Single(request(1, "eth_chainId", json!([])))).await.unwrap();
    let ResponsePacket::Single(response) = single else { panic!("one response to one call") };
    assert_eq!((response.id, result(&response.payload)), (Id::Number(1), json!("0x7a69")));
    let send = json!([{ "from": node.accounts()[0], "to": node.accounts()[1], "value": "0x1" }]);
    let batch = vec![
        request(1, "eth_sendTransaction", send.clone()),
        request(2, "eth_sendTransaction", send),
        request(3, "eth_nothing", json!([])),
    ];
    let ResponsePacket::Batch(responses) = transport.call(RequestPacket::Batch(batch)).await.unwrap() else {
        panic!("a batch of responses to a batch")
    };
    assert_eq!(responses.len(), 3);
    assert_eq!(result(&responses[2].payload)["code"], -32601);
    assert_eq!(node.view().head().height().get(), 1, "two sends of a batch share a block");
    assert_eq!(node.view().head().block().transactions().len(), 2);
}
