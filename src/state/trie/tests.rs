//! The trie against published cases and the naive model.

use std::collections::BTreeMap;

use alloy_primitives::{B256, hex, keccak256};
use proptest::prelude::*;

use super::*;
use crate::state::{
    EMPTY_ROOT,
    memory::{MemoryArchive, Pointer, PointerSink},
    model::naive_root,
};

/// Any bytes under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Raw(Vec<u8>);

impl LeafValue for Raw {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn inherit(&self, old: &Self) -> Self {
        Self([&old.0[..], &self.0].concat())
    }
}

#[derive(Default)]
struct Trie {
    source: MemoryArchive,
    root: Option<Pointer<Raw>>,
}

impl Trie {
    fn apply(&mut self, changes: &[(B256, Option<Vec<u8>>)]) {
        let sorted: BTreeMap<_, _> = changes.iter().cloned().collect();
        let change = |(key, value): (B256, Option<Vec<u8>>)| KeyChange { key, value: value.map(Raw), inherit: false };
        let changes: Vec<_> = sorted.into_iter().map(change).collect();
        let mut encoder = NodeEncoder::default();
        self.root =
            update(&self.source, &mut PointerSink::default(), &mut encoder, self.root.as_ref(), &changes).unwrap();
    }

    fn root(&self) -> B256 {
        self.root.as_ref().map_or(EMPTY_ROOT, |root| root.reference().root_hash())
    }

    fn pairs(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut pairs = Vec::new();
        if let Some(root) = &self.root {
            let _ = for_each(&self.source, root, &mut |key, value: &Raw| {
                pairs.push((key.to_vec(), value.0.clone()));
                core::ops::ControlFlow::Continue(())
            })
            .unwrap();
        }
        assert!(pairs.is_sorted(), "visited by rising key");
        pairs.into_iter().collect()
    }
}

#[derive(serde::Deserialize)]
struct Vectors {
    plain: Vec<Case>,
    secure: Vec<Case>,
}

#[derive(serde::Deserialize)]
struct Case {
    name: String,
    steps: Vec<(String, Option<String>)>,
    root: B256,
}

impl Case {
    fn steps(&self) -> impl Iterator<Item = (Vec<u8>, Option<Vec<u8>>)> {
        let bytes = |text: &String| match text.strip_prefix("0x") {
            Some(digits) => hex::decode(digits).unwrap(),
            None => text.clone().into_bytes(),
        };
        self.steps.iter().map(move |(key, value)| (bytes(key), value.as_ref().map(bytes)))
    }
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("../../../tests/vectors/trie.json")).unwrap()
}

#[test]
fn the_model_agrees_with_the_published_cases() {
    let vectors = vectors();
    for (case, secure) in
        vectors.plain.iter().map(|case| (case, false)).chain(vectors.secure.iter().map(|case| (case, true)))
    {
        let mut pairs = BTreeMap::new();
        for (key, value) in case.steps() {
            let key = if secure { keccak256(key).to_vec() } else { key };
            match value {
                Some(value) => pairs.insert(key, value),
                None => pairs.remove(&key),
            };
        }
        assert_eq!(naive_root(&pairs), case.root, "{}, secure: {secure}", case.name);
    }
}

#[test]
fn the_trie_agrees_with_the_published_cases() {
    for case in vectors().secure {
        let mut one_by_one = Trie::default();
        let mut all = Vec::new();
        for (key, value) in case.steps() {
            all.push((keccak256(key), value));
            one_by_one.apply(&all[all.len() - 1..]);
        }
        let mut at_once = Trie::default();
        at_once.apply(&all);
        assert_eq!(one_by_one.root(), case.root, "{}", case.name);
        assert_eq!(at_once.root(), case.root, "{}, at once", case.name);
    }
}

#[test]
fn a_change_to_the_same_value_keeps_the_node() {
    let mut trie = Trie::default();
    let pairs: Vec<_> = (0..20_u8).map(|number| (keccak256([number]), Some(vec![number; 40]))).collect();
    trie.apply(&pairs);
    let before = trie.root.clone().unwrap();
    trie.apply(&pairs);
    trie.apply(&[(keccak256([99]), None)]);
    let after = trie.root.clone().unwrap();
    assert!(core::ptr::eq(trie.source.load(&before).unwrap(), trie.source.load(&after).unwrap()));
}

#[test]
fn parts_left_open_by_a_change_are_inherited() {
    let mut trie = Trie::default();
    let keys = [keccak256(b"a"), keccak256(b"b")];
    trie.apply(&[(keys[0], Some(b"old".to_vec()))]);
    for (key, want) in [(keys[0], &b"old new"[..]), (keys[1], b" new")] {
        let change = KeyChange { key, value: Some(Raw(b" new".to_vec())), inherit: true };
        let mut encoder = NodeEncoder::default();
        let root =
            update(&trie.source, &mut PointerSink::default(), &mut encoder, trie.root.as_ref(), &[change]).unwrap();
        assert_eq!(get(&trie.source, root.as_ref(), &key).unwrap(), Some(Raw(want.to_vec())));
    }
}

/// Keys that share long prefixes and fork late, so that extensions, deep branches and inline nodes occur.
fn key() -> impl Strategy<Value = B256> {
    let byte = prop_oneof![Just(0x00_u8), Just(0x01), Just(0x10), Just(0x11), Just(0xff)];
    (0..32_usize, byte.clone(), byte.clone(), byte).prop_map(|(at, first, middle, last)| {
        let mut key = B256::ZERO;
        (key.0[0], key.0[at], key.0[31]) = (first, middle, last);
        key
    })
}

fn changes() -> impl Strategy<Value = Vec<(B256, Option<Vec<u8>>)>> {
    let value = prop_oneof![
        2 => proptest::collection::vec(any::<u8>(), 1..3).prop_map(Some),
        2 => proptest::collection::vec(any::<u8>(), 30..60).prop_map(Some),
        2 => Just(None),
    ];
    proptest::collection::vec((key(), value), 0..24)
}

proptest! {
    #[test]
    fn the_trie_agrees_with_the_model(batches in proptest::collection::vec(changes(), 1..8)) {
        let mut trie = Trie::default();
        let mut model = BTreeMap::new();
        let mut versions = Vec::new();
        for batch in &batches {
            trie.apply(batch);
            for (key, value) in batch {
                match value {
                    Some(value) => model.insert(key.to_vec(), value.clone()),
                    None => model.remove(&key.to_vec()),
                };
            }
            prop_assert_eq!(trie.root(), naive_root(&model));
            prop_assert_eq!(&trie.pairs(), &model);
            for (key, _) in batch {
                let found = get::<Raw, _>(&trie.source, trie.root.as_ref(), key).unwrap();
                prop_assert_eq!(found.map(|value| value.0), model.get(&key.to_vec()).cloned());
            }
            versions.push((trie.root.clone(), model.clone()));
        }
        // Older versions are as they were.
        for (root, model) in versions {
            trie.root = root;
            prop_assert_eq!(trie.root(), naive_root(&model));
            prop_assert_eq!(trie.pairs(), model);
        }
    }

    #[test]
    fn the_order_of_batches_leaves_no_trace(changes in changes(), cut in 0..24_usize) {
        let distinct: BTreeMap<_, _> = changes.into_iter().collect();
        let changes: Vec<_> = distinct.into_iter().collect();
        let (first, second) = changes.split_at(cut.min(changes.len()));
        let (mut one, mut other) = (Trie::default(), Trie::default());
        one.apply(first);
        one.apply(second);
        other.apply(second);
        other.apply(first);
        prop_assert_eq!(one.root(), other.root());
        let removals: Vec<_> = changes.iter().map(|(key, _)| (*key, None)).collect();
        one.apply(&removals);
        prop_assert_eq!(one.root(), EMPTY_ROOT);
    }
}
