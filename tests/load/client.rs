//! The clients: each draws calls, sends them in its own way, and judges every response.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Mutex, RwLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use chainbox::primitives::KeyPair;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::{
    calls::{GROUPS, Group, NEW_CHAIN, ROUTES, Rate, Route, SERVICE, WRONG},
    draws::Draws,
    tally::Tally,
    wire::{Http, Message, Reply, Socket},
    world::World,
};

/// Clients at one time.
pub(crate) const CLIENTS: u64 = 64;
/// What the message of every injected error contains.
pub(crate) const MARK: &str = "on purpose";
/// What the message of every write that finds the injected full disk contains; a real one has some free bytes.
const FULL: &str = "the disk is full: 0 bytes are free";
/// JSON-RPC's code for a failure of the server itself: no call may cause it.
const INTERNAL_ERROR: i64 = -32603;
/// Chains that are created in a run.
const CHAINS_MAX: u64 = 8;
/// Problems that are kept; one is too many.
const PROBLEMS_MAX: usize = 30;
/// Time within which a response must begin.
const RESPONSE_LIMIT: Duration = Duration::from_secs(60);

/// What all clients of a run share.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) seed: u64,
    pub(crate) address: SocketAddr,
    pub(crate) api_key: RwLock<String>,
    pub(crate) world: World,
    pub(crate) is_over: AtomicBool,
    /// Odd while the server is down; it grows when that changes.
    pub(crate) outages: AtomicU64,
    pub(crate) chains: AtomicU64,
    pub(crate) tally: Mutex<Tally>,
    pub(crate) problems: Mutex<Vec<String>>,
}

impl Run {
    pub(crate) fn new(seed: u64, address: SocketAddr, api_key: &str, world: World) -> Self {
        Self {
            seed,
            address,
            api_key: RwLock::new(api_key.to_owned()),
            world,
            is_over: AtomicBool::new(false),
            outages: AtomicU64::new(0),
            chains: AtomicU64::new(0),
            tally: Mutex::default(),
            problems: Mutex::default(),
        }
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn outages(&self) -> u64 {
        self.outages.load(Ordering::Relaxed)
    }

    pub(crate) fn problem(&self, what: String) {
        let mut problems = self.problems.lock().unwrap();
        if problems.len() < PROBLEMS_MAX {
            problems.push(what);
        }
    }
}

/// The errors that a call may have.
#[derive(Clone, Copy, Debug)]
enum Allowed {
    Codes(&'static [i64]),
    /// An invalid call: every code but that of an internal error.
    Invalid,
}

#[derive(Clone, Debug)]
struct Call {
    method: String,
    params: Value,
    allowed: Allowed,
}

impl Call {
    fn text(&self, id: u64) -> String {
        json!({ "jsonrpc": "2.0", "id": id, "method": self.method, "params": self.params }).to_string()
    }
}

fn shorten(text: &str) -> String {
    text.chars().take(600).collect()
}

/// One client.
#[derive(Debug)]
pub(crate) struct Client<'a> {
    run: &'a Run,
    number: u64,
    draws: Draws,
    key: KeyPair,
    nonce: u64,
    next_id: u64,
    tally: Tally,
}

impl<'a> Client<'a> {
    pub(crate) fn new(run: &'a Run, number: u64, key: KeyPair) -> Self {
        Self { run, number, draws: Draws::new(run.seed, number), key, nonce: 0, next_id: 0, tally: Tally::default() }
    }

    /// Lives until the run is over.
    pub(crate) async fn live(mut self) {
        while !self.run.is_over() {
            let outages = self.run.outages();
            if !outages.is_multiple_of(2) {
                sleep(Duration::from_millis(20)).await;
                continue;
            }
            let session = async {
                match self.number {
                    0..=43 => self.call_over_http().await,
                    44..=53 => self.call_over_websocket().await,
                    54..=57 => self.use_service().await,
                    58..=60 => self.leave().await,
                    _ => self.read_slowly().await,
                }
            };
            if let Err(cause) = session.await {
                if outages == self.run.outages() {
                    self.run.problem(format!("client {}: its connection was lost: {cause}", self.number));
                }
                self.tally.event("connections lost in a kill");
            }
        }
        self.run.tally.lock().unwrap().merge(self.tally);
    }

    fn draw_group(&mut self, groups: &'static [Group]) -> &'static Group {
        let is_destructive = self.run.world.is_destructive.load(Ordering::Relaxed) && self.draws.one_in(16);
        let weight = |group: &Group| {
            let each = match group.rate {
                Rate::Often => 24,
                Rate::Usual => 4,
                Rate::Seldom => 1,
                Rate::Destructive => u64::from(is_destructive),
            };
            each * group.methods.len() as u64
        };
        let mut place = self.draws.below(groups.iter().map(weight).sum());
        groups
            .iter()
            .find(|group| match place.checked_sub(weight(group)) {
                Some(rest) => {
                    place = rest;
                    false
                }
                None => true,
            })
            .expect("the draw is below the sum")
    }

    fn fill(&mut self, value: &mut Value) {
        match value {
            Value::String(name) if name.starts_with('$') => {
                *value = self.run.world.draw(name, &mut self.draws, &self.key, self.nonce);
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.fill(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.fill(field)),
            _ => {}
        }
    }

    /// Draws a call; one in eight is invalid.
    fn draw_call(&mut self, groups: &'static [Group]) -> Call {
        let group = self.draw_group(groups);
        let template = *self.draws.pick(group.templates);
        let mut params: Value = serde_json::from_str(&template.replace('\'', "\"")).expect("templates are JSON");
        self.fill(&mut params);
        if template.contains("$raw") {
            self.nonce += 1;
        }
        let mut call =
            Call { method: (*self.draws.pick(group.methods)).to_owned(), params, allowed: Allowed::Codes(group.codes) };
        if self.draws.one_in(8) {
            self.spoil(&mut call);
        }
        call
    }

    fn spoil(&mut self, call: &mut Call) {
        call.allowed = Allowed::Invalid;
        let wrong = self.draws.pick::<&str>(WRONG);
        let wrong: Value = serde_json::from_str(wrong).expect("JSON");
        let place = self.draws.bits() as usize;
        match &mut call.params {
            _ if self.draws.one_in(10) => call.method.push_str("Nothing"),
            Value::Array(params) => match self.draws.below(4) {
                0 => params.push(wrong),
                1 => drop(params.pop()),
                _ if params.is_empty() => params.push(wrong),
                _ => {
                    let place = place % params.len();
                    params[place] = wrong;
                }
            },
            Value::Object(params) => {
                let name = params.keys().nth(place % params.len()).cloned();
                name.into_iter().for_each(|name| drop(params.insert(name, wrong.clone())));
            }
            _ => {}
        }
    }

    /// Judges one response and counts it.
    fn judge(&mut self, call: &Call, id: u64, response: &Value) {
        let count = self.tally.method(&call.method);
        count.calls += 1;
        let (result, error) = (response.get("result"), response.get("error"));
        let is_formed = response["jsonrpc"] == "2.0" && response["id"] == id && result.is_some() != error.is_some();
        let code = error.and_then(|error| error["code"].as_i64());
        let is_expected = match (error, code, call.allowed) {
            (None, ..) => {
                count.results += 1;
                result.into_iter().for_each(|result| self.run.world.learn(&call.method, result));
                true
            }
            (Some(error), _, _) if is_injected(&error.to_string()) => {
                count.injected += 1;
                true
            }
            (_, Some(code), Allowed::Codes(codes)) => {
                count.refused += 1;
                codes.contains(&code)
            }
            (_, Some(code), Allowed::Invalid) => {
                count.wrong += 1;
                code != INTERNAL_ERROR
            }
            _ => false,
        };
        code.into_iter().for_each(|code| self.tally.code(code));
        if call.method == "eth_sendRawTransaction" && error.is_some() {
            // Another nonce than was asked for: the next call asks again.
            self.nonce = u64::MAX;
        }
        if !is_formed || !is_expected {
            let (params, response) = (shorten(&call.params.to_string()), shorten(&response.to_string()));
            let allowed = call.allowed;
            self.run.problem(format!(
                "client {}: {} {params} ({allowed:?}) is answered {response}",
                self.number, call.method
            ));
        }
    }

    fn parsed(&self, reply: &Reply, sent: &str) -> Value {
        serde_json::from_str(&reply.body).unwrap_or_else(|cause| {
            let (sent, body) = (shorten(sent), shorten(&reply.body));
            self.run.problem(format!("client {}: {sent}: {cause} in status {} {body:?}", self.number, reply.status));
            Value::Null
        })
    }

    fn id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    /// Returns the call by which a client learns its next nonce.
    fn nonce_call(&self) -> Call {
        let params = json!([self.key.address(), "pending"]);
        Call { method: "eth_getTransactionCount".to_owned(), params, allowed: Allowed::Codes(&[]) }
    }

    fn learn_nonce(&mut self, response: &Value) {
        let text = response["result"].as_str().unwrap_or("0x0");
        self.nonce = u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap_or_default();
    }

    fn needs_nonce(&mut self) -> bool {
        self.nonce == u64::MAX || self.draws.one_in(50)
    }

    async fn call_over_http(&mut self) -> io::Result<()> {
        let mut http = Http::connect(self.run.address).await?;
        self.nonce = u64::MAX;
        while !self.run.is_over() {
            if self.needs_nonce() {
                let (call, id) = (self.nonce_call(), self.id());
                let text = call.text(id);
                let response = self.parsed(&http.post(&text).await?, &text);
                self.judge(&call, id, &response);
                self.learn_nonce(&response);
            }
            match self.draws.below(40) {
                0 => self.send_garbage(&mut http).await?,
                1..=4 => self.send_batch(&mut http).await?,
                _ => {
                    let (call, id) = (self.draw_call(GROUPS), self.id());
                    let text = call.text(id);
                    let reply = in_time(http.post(&text)).await?;
                    let response = self.parsed(&reply, &text);
                    self.judge(&call, id, &response);
                }
            }
            if self.draws.one_in(200) {
                return Ok(());
            }
        }
        Ok(())
    }

    async fn send_batch(&mut self, http: &mut Http) -> io::Result<()> {
        let calls: Vec<(u64, Call)> = (0..=self.draws.below(12)).map(|_| (self.id(), self.draw_call(GROUPS))).collect();
        let texts: Vec<String> = calls.iter().map(|(id, call)| call.text(*id)).collect();
        let text = format!("[{}]", texts.join(","));
        let reply = in_time(http.post(&text)).await?;
        let responses = self.parsed(&reply, &text);
        let responses = responses.as_array().cloned().unwrap_or_default();
        if responses.len() != calls.len() {
            self.run.problem(format!("{} responses to a batch of {}: {}", responses.len(), calls.len(), reply.body));
        }
        for (id, call) in calls {
            let response = responses.iter().find(|response| response["id"] == id).cloned().unwrap_or_default();
            self.judge(&call, id, &response);
        }
        Ok(())
    }

    async fn send_garbage(&mut self, http: &mut Http) -> io::Result<()> {
        let garbage = *self.draws.pick(&["{", "[]", "[1, {}]", "\u{0}", "{\"jsonrpc\": \"2.0\", \"id\": 1}"]);
        let reply = http.post(garbage).await?;
        self.tally.event("bodies that are no calls");
        if !["-32700", "-32600"].iter().any(|code| reply.body.contains(code)) {
            self.run.problem(format!("{garbage:?} is answered {} {}", reply.status, shorten(&reply.body)));
        }
        Ok(())
    }

    async fn call_over_websocket(&mut self) -> io::Result<()> {
        let mut socket = Socket::connect(self.run.address).await?;
        self.nonce = u64::MAX;
        let mut subscriptions: Vec<Value> = Vec::new();
        while !self.run.is_over() {
            let call = match self.draws.below(40) {
                _ if self.needs_nonce() => self.nonce_call(),
                0 if subscriptions.len() < 20 => {
                    let kind = *self.draws.pick(&["newHeads", "logs", "newPendingTransactions"]);
                    let params = json!([kind]);
                    Call { method: "eth_subscribe".to_owned(), params, allowed: Allowed::Codes(&[]) }
                }
                1 if !subscriptions.is_empty() => {
                    let params = json!([subscriptions.remove(0)]);
                    Call { method: "eth_unsubscribe".to_owned(), params, allowed: Allowed::Codes(&[]) }
                }
                _ => self.draw_call(GROUPS),
            };
            let id = self.id();
            socket.send(&call.text(id)).await?;
            let Some(response) = self.response(&mut socket, id).await? else { return Ok(()) };
            self.judge(&call, id, &response);
            match call.method.as_str() {
                "eth_subscribe" => subscriptions.push(response["result"].clone()),
                "eth_getTransactionCount" if call.params == self.nonce_call().params => self.learn_nonce(&response),
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads up to the response with this id; `None` when the session is closed because its place in the chain is lost.
    async fn response(&mut self, socket: &mut Socket, id: u64) -> io::Result<Option<Value>> {
        loop {
            match in_time(socket.receive()).await? {
                Message::Closed(1013) => {
                    self.tally.event("sessions closed with 1013");
                    return Ok(None);
                }
                Message::Closed(code) => {
                    return Err(io::Error::other(format!("closed with {code}")));
                }
                Message::Text(text) => {
                    let message: Value = serde_json::from_str(&text).map_err(io::Error::other)?;
                    if message["id"] == id {
                        return Ok(Some(message));
                    }
                    if message["method"] != "eth_subscription" {
                        self.run.problem(format!("client {} waits for {id}: {}", self.number, shorten(&text)));
                    }
                    self.tally.event("notifications");
                }
            }
        }
    }

    async fn use_service(&mut self) -> io::Result<()> {
        let mut http = Http::connect(self.run.address).await?;
        let api_key = self.run.api_key.read().unwrap().clone();
        while !self.run.is_over() {
            if self.draws.one_in(3) {
                let is_first = self.draws.one_in(30) && self.run.chains.fetch_add(1, Ordering::Relaxed) < CHAINS_MAX;
                let route = if is_first { NEW_CHAIN } else { *self.draws.pick(ROUTES) };
                self.request(&mut http, &api_key, route).await?;
                continue;
            }
            let (call, id) = (self.draw_call(SERVICE), self.id());
            let text = call.text(id);
            let reply = in_time(http.request("POST", "/v1/rpc", &api_key, &text)).await?;
            let response = self.parsed(&reply, &text);
            self.judge(&call, id, &response);
        }
        Ok(())
    }

    async fn request(&mut self, http: &mut Http, api_key: &str, route: Route) -> io::Result<()> {
        let Route { method, path, body, statuses } = route;
        let path = path.replace("$token", &self.run.world.token.to_string());
        let reply = in_time(http.request(method, &path, api_key, &body.replace('\'', "\""))).await?;
        let count = self.tally.method(&format!("REST {method} {}", route.path));
        count.calls += 1;
        let is_expected = statuses.contains(&reply.status);
        match reply.status {
            200..=299 => count.results += 1,
            _ if !is_expected && is_injected(&reply.body) => count.injected += 1,
            _ if statuses.len() > 1 => count.refused += 1,
            _ => count.wrong += 1,
        }
        if reply.status >= 300 {
            self.tally.code(reply.status);
        }
        if !is_expected && !is_injected(&reply.body) {
            self.run.problem(format!("{method} {path} {body}: {} {}", reply.status, shorten(&reply.body)));
        }
        Ok(())
    }

    /// Sends a call, or a part of it, and leaves without the response.
    async fn leave(&mut self) -> io::Result<()> {
        let call = self.draw_call(GROUPS);
        let text = call.text(1);
        let mut http = Http::connect(self.run.address).await?;
        if self.draws.one_in(2) {
            http.begin("POST", "/", "", &text).await?;
        } else {
            let half: String = text.chars().take(text.chars().count() / 2).collect();
            http.begin_and_stop(&half, text.len()).await?;
        }
        sleep(Duration::from_millis(self.draws.below(20))).await;
        self.tally.event("clients that left in the middle of a call");
        Ok(())
    }

    /// Asks for much and reads little of it.
    async fn read_slowly(&mut self) -> io::Result<()> {
        if self.draws.one_in(2) {
            let mut http = Http::connect(self.run.address).await?;
            let long = self.draws.pick(&[
                r#"{"jsonrpc":"2.0","id":1,"method":"anvil_dumpState"}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"fromBlock":"earliest"}]}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"txpool_content"}"#,
            ]);
            http.begin("POST", "/", "", long).await?;
            let mut bytes = [0; 4096];
            for _ in 0..50 {
                match timeout(Duration::from_secs(1), http.read_some(&mut bytes)).await {
                    Ok(Ok(0)) | Err(_) => break,
                    Ok(read) => drop(read?),
                }
                sleep(Duration::from_millis(10)).await;
            }
            self.tally.event("responses that were read slowly");
            return Ok(());
        }
        let mut socket = Socket::connect(self.run.address).await?;
        for (id, kind) in ["newHeads", "logs", "newPendingTransactions"].into_iter().enumerate() {
            let params = json!([kind]);
            socket
                .send(&json!({ "jsonrpc": "2.0", "id": id, "method": "eth_subscribe", "params": params }).to_string())
                .await?;
        }
        let mut bytes = [0; 4096];
        for _ in 0..self.draws.below(40) {
            sleep(Duration::from_millis(self.draws.below(150))).await;
            match timeout(Duration::from_millis(20), socket.read_some(&mut bytes)).await {
                Ok(Ok(0)) => break,
                Ok(read) => drop(read?),
                Err(_) => {}
            }
        }
        self.tally.event("sessions that were read slowly");
        Ok(())
    }
}

/// Fails when a response does not come.
async fn in_time<T>(response: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    timeout(RESPONSE_LIMIT, response).await.unwrap_or_else(|_| Err(io::Error::other("no response within a minute")))
}

/// Returns whether an error was caused by an injected fault.
fn is_injected(text: &str) -> bool {
    text.contains(MARK) || text.contains(FULL)
}
