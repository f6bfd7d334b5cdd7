//! Names that a misspelt one may stand for.

/// Most names that are suggested.
const NEAR_MAX: usize = 3;

/// Returns the names that `name` may be misspelt for, the most similar first: at most half of its letters are wrong, or it is part of them.
pub(crate) fn near_names<'n>(name: &str, all: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let letters = name.chars().count();
    let is_near = |(distance, other): &(usize, &str)| distance * 2 <= letters || (letters > 3 && other.contains(name));
    let mut near: Vec<_> = all.map(|other| (distance(name, other), other)).filter(is_near).collect();
    near.sort_unstable();
    near.into_iter().take(NEAR_MAX).map(|(_, other)| other).collect()
}

/// Returns the Levenshtein distance of two words.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (place, letter) in from.chars().enumerate() {
        let mut before = row[0];
        row[0] = place + 1;
        for (other, column) in to.iter().zip(1..) {
            let changed = before + usize::from(letter != *other);
            before = row[column];
            row[column] = changed.min(row[column] + 1).min(row[column - 1] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_come_by_their_distance() {
        let all = ["erc20-token", "erc721-nft", "multicall", "batch"];
        let near = |name| near_names(name, all.into_iter());
        assert_eq!(near("erc20-tokn"), ["erc20-token"]);
        assert_eq!(near("erc20"), ["erc20-token"]);
        assert_eq!(near("batsh"), ["batch"]);
        assert_eq!(near("erc7"), ["erc721-nft"]);
        assert!(near("zzzz").is_empty() && near("").is_empty());
        assert_eq!((distance("kitten", "sitting"), distance("", "abc"), distance("abc", "")), (3, 3, 3));
    }
}
