//! The objects of a history: what transfers add to, and reads read.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Action, Anomaly, Checked, Client, Consistency, Field, History, Operation,
    order::{CounterEffect, CounterOp, Explained, Order, explain},
};
use crate::primitives::{Address, U256};

/// Checks every object that was read.
pub(super) fn check(history: &History) -> Result<Checked, Box<Anomaly>> {
    let mut checked = Checked::default();
    let mut objects = BTreeSet::new();
    for operation in history.operations.iter().filter(|operation| operation.answered.is_some()) {
        match &operation.action {
            Action::Transfer { .. } => checked.acknowledged += 1,
            Action::Read { account, field, .. } => {
                checked.reads += 1;
                objects.insert((*account, *field));
            }
        }
    }
    for (account, field) in objects {
        for consistency in [Consistency::Linearizable, Consistency::Sequential] {
            let object = Object::of(history, account, field, consistency);
            match object.explain(object.ops.len()) {
                Explained::Yes => {}
                Explained::Undecided => checked.undecided.push((account, field)),
                Explained::No => return Err(Box::new(object.anomaly())),
            }
        }
    }
    checked.undecided.dedup();
    Ok(checked)
}

/// The operations on one object, in the order of their calls.
struct Object<'a> {
    account: Address,
    field: Field,
    consistency: Consistency,
    operations: Vec<&'a Operation>,
    ops: Vec<CounterOp>,
}

impl<'a> Object<'a> {
    fn of(history: &'a History, account: Address, field: Field, consistency: Consistency) -> Self {
        let mut sessions = BTreeMap::<Client, usize>::new();
        let mut object = Self { account, field, consistency, operations: Vec::new(), ops: Vec::new() };
        let mut operations: Vec<_> = history.operations.iter().collect();
        operations.sort_by_key(|operation| operation.called);
        for operation in operations {
            let Some(effect) = object.effect(operation) else { continue };
            let next = sessions.len();
            object.ops.push(CounterOp {
                session: *sessions.entry(operation.client).or_insert(next),
                called: operation.called.as_nanos(),
                answered: operation.answered.map(|answered| answered.as_nanos()),
                effect,
            });
            object.operations.push(operation);
        }
        object
    }

    /// Returns what an operation does to this object; nothing for others, and for reads of the other consistency.
    fn effect(&self, operation: &Operation) -> Option<CounterEffect> {
        match (&operation.action, self.field) {
            (Action::Transfer { to, amount, .. }, Field::Balance) if *to == self.account => {
                Some(CounterEffect::Add(*amount))
            }
            (Action::Transfer { from, .. }, Field::Nonce) if *from == self.account => {
                Some(CounterEffect::Add(U256::from(1)))
            }
            (Action::Read { account, field, value, .. }, _) if *account == self.account && *field == self.field => {
                let is_quorum = operation.client == Client::Quorum;
                (is_quorum == (self.consistency == Consistency::Linearizable)).then_some(CounterEffect::Read(*value))
            }
            _ => None,
        }
    }

    /// Searches an order of the first `count` operations by their answers; those without count as last.
    fn explain(&self, count: usize) -> Explained {
        let order = match self.consistency {
            Consistency::Linearizable => Order::RealTime,
            Consistency::Sequential => Order::Session,
        };
        let mut answers: Vec<_> = self.ops.iter().map(|op| op.answered.unwrap_or(u64::MAX)).collect();
        answers.sort_unstable();
        let last = answers.get(count.saturating_sub(1)).copied().unwrap_or(0);
        let before = self.ops.iter().filter(|op| op.called <= last);
        let ops = before.filter_map(|op| match op.answered {
            Some(answered) if answered <= last => Some(*op),
            // Not answered yet: a write may have had its effect, a read said nothing.
            _ => matches!(op.effect, CounterEffect::Add(_)).then_some(CounterOp { answered: None, ..*op }),
        });
        let ops: Vec<_> = ops.collect();
        explain(&ops, order)
    }

    /// Returns the read whose answer is the first that nothing explains.
    fn anomaly(&self) -> Anomaly {
        // The answers before it are explained: a search by halves.
        let (mut explained, mut unexplained) = (0, self.ops.len());
        while explained + 1 < unexplained {
            let middle = explained.midpoint(unexplained);
            match self.explain(middle) {
                Explained::No => unexplained = middle,
                _ => explained = middle,
            }
        }
        let mut answers: Vec<_> = self.ops.iter().map(|op| op.answered.unwrap_or(u64::MAX)).collect();
        answers.sort_unstable();
        let last = answers.get(unexplained.saturating_sub(1)).copied();
        let found = self.operations.iter().zip(&self.ops);
        let is_read = |op: &CounterOp| matches!(op.effect, CounterEffect::Read(_));
        let found =
            found.filter(|(_, op)| op.answered == last && is_read(op)).map(|(operation, _)| *operation).next_back();
        let any_read =
            || self.operations.iter().find(|operation| matches!(operation.action, Action::Read { .. })).copied();
        let (mut block, mut value, mut reader, mut called, mut answered) = Default::default();
        if let Some(operation) = found.or_else(any_read) {
            (reader, called, answered) =
                (Some(operation.client), operation.called, operation.answered.unwrap_or_default());
            if let Action::Read { block: at, value: read, .. } = &operation.action {
                (block, value) = (*at, *read);
            }
        }
        let sum = |is_such: &dyn Fn(&CounterOp) -> bool| {
            let such = self.ops.iter().filter(|op| is_such(op));
            such.fold(U256::ZERO, |sum, op| match op.effect {
                CounterEffect::Add(amount) => sum + amount,
                CounterEffect::Read(_) => sum,
            })
        };
        Anomaly {
            consistency: self.consistency,
            account: self.account,
            field: self.field,
            reader: reader.unwrap_or(Client::Quorum),
            block,
            called,
            value,
            acknowledged: sum(&|op| op.answered.is_some_and(|answered| answered < called.as_nanos())),
            submitted: sum(&|op| op.called <= answered.as_nanos()),
        }
    }
}
