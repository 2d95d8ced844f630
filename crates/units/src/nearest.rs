//! The nearest known names for an unknown one.

/// Maximum number of suggestions.
const MOST_NEAR: usize = 3;

/// The name in `known` that is nearest to `name`, if any is near enough.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    nearest_few(name, known).into_iter().next()
}

/// The names in `known` that are nearest to `name`, if any are near enough.
pub fn nearest_few<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    // Names without a common letter are not near, however short they are.
    let has_common =
        |d: usize, k: &str| d < name.len().max(k.len()) || name.eq_ignore_ascii_case(k);
    let mut near: Vec<(usize, &str)> = known
        .map(|k| (mistakes(&name.to_lowercase(), &k.to_lowercase()), k))
        .filter(|(d, k)| *d <= 1 + k.len() / 4 && has_common(*d, k))
        .collect();
    near.sort_unstable();
    near.dedup();
    near.truncate(MOST_NEAR);
    near.into_iter().map(|(_, k)| k.to_string()).collect()
}

/// The number of mistakes; an omission after a hyphen of the name counts as none.
fn mistakes(name: &str, known: &str) -> usize {
    let rest = known.strip_prefix(name).filter(|_| !name.is_empty());
    if rest.is_some_and(|rest| rest.starts_with('-')) {
        0
    } else {
        distance(name, known)
    }
}

/// Levenshtein's distance, with an exchange of two neighbours as one mistake.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, cb) in b.iter().enumerate() {
            let substituted = last[j] + usize::from(ca != cb);
            let mut mistakes = substituted.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *ca == b[j - 1] && a[i - 1] == *cb {
                mistakes = mistakes.min(before[j - 1] + 1);
            }
            row.push(mistakes);
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_finds_its_name_and_nonsense_does_not() {
        let known = ["sack", "enhanced", "enhanced-a5", "rlci"];
        assert_eq!(
            nearest("enhaced", known.into_iter()),
            Some("enhanced".into())
        );
        assert_eq!(nearest("quantum", known.into_iter()), None);
        assert_eq!(
            nearest("gpa", ["at", "to", "gap"].into_iter()),
            Some("gap".into())
        );
        assert_eq!(
            nearest_few("a", ["a1", "a2", "a3", "a4"].into_iter()),
            ["a1", "a2", "a3"]
        );
        assert_eq!(nearest("c", ["a", "b"].into_iter()), None);
        assert_eq!(nearest("A", ["a", "b"].into_iter()), Some("a".into()));
        assert_eq!(nearest("ab", ["a"].into_iter()), Some("a".into()));
        assert_eq!(
            nearest("5G", ["3g", "5g-nsa", "lte"].into_iter()),
            Some("5g-nsa".into())
        );
        assert_eq!(
            nearest("CSV", ["csv", "pensieve"].into_iter()),
            Some("csv".into())
        );
        let schemes = ["bbr-linux", "bbr3", "cubic"].into_iter();
        assert_eq!(nearest_few("bbr", schemes), ["bbr-linux", "bbr3"]);
    }

    #[test]
    fn distances_count_mistakes() {
        for (a, b, mistakes) in [
            ("gap", "gap", 0),
            ("gpa", "gap", 1),
            ("", "gap", 3),
            ("sak", "sack", 1),
            ("kitten", "sitting", 3),
            ("ca", "abc", 3),
        ] {
            assert_eq!(distance(a, b), mistakes, "{a} {b}");
            assert_eq!(distance(b, a), mistakes, "{b} {a}");
        }
    }
}
