//! "Did you mean …?": the nearest name by edit distance.

/// The candidate nearest to `name`, if it is near enough to be meant.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (distance(name, candidate), candidate))
        .filter(|&(distance, candidate)| distance <= name.len().max(candidate.len()).div_ceil(3).min(3))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// `a`, `b` and `c`, each in backquotes.
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>, last: &str) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    match names.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [firsts @ .., final_one] => format!("{} {last} {final_one}", firsts.join(", ")),
    }
}

/// Edits from one to the other: insertion, deletion, replacement, and two neighbours swapped.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut before_last = Vec::new();
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for i in 1..=from.len() {
        let mut row = vec![i];
        for j in 1..=to.len() {
            let replaced = last[j - 1] + usize::from(from[i - 1] != to[j - 1]);
            let mut best = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                best = best.min(before_last[j - 2] + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_edits() {
        assert_eq!(distance("", ""), 0);
        assert_eq!(distance("lease", "lease"), 0);
        assert_eq!(distance("leas", "lease"), 1);
        assert_eq!(distance("laese", "lease"), 1);
        assert_eq!(distance("key", "keys"), 1);
        assert_eq!(distance("", "ttl"), 3);
    }

    #[test]
    fn suggests_only_what_is_near() {
        let names = ["prefix", "keys", "ttl", "lease"];
        assert_eq!(nearest("perfix", names), Some("prefix"));
        assert_eq!(nearest("key", names), Some("keys"));
        assert_eq!(nearest("tll", names), Some("ttl"));
        assert_eq!(nearest("timeout", names), None);
        assert_eq!(nearest("x", names), None);
    }

    #[test]
    fn lists_names() {
        assert_eq!(list([], "and"), "");
        assert_eq!(list(["a"], "and"), "`a`");
        assert_eq!(list(["a", "b", "c"], "or"), "`a`, `b` or `c`");
    }
}
