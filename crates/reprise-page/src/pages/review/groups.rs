//! Contradictions grouped into questions: memories of which each contradicts each other are one
//! question with one choice.

use std::collections::HashSet;

use reprise_operations::DoubtfulPair;

/// Most texts of one question.
const SIDES_MAX: usize = 6;

/// Pairs that one choice settles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::pages) struct ReviewQuestion<'a> {
    /// What to choose from, of which each pair has two: texts without case and punctuation, or the
    /// names of memories.
    sides: Vec<String>,
    pub(in crate::pages) pairs: Vec<&'a DoubtfulPair>,
}

/// Returns what tells the texts of a pair from others.
pub(super) fn text_keys(pair: &DoubtfulPair) -> [String; 2] {
    [0, 1].map(|side| {
        let text = pair.texts.as_ref().map_or("", |texts| &texts[side]);
        let words = text.split(|c: char| !c.is_alphanumeric());
        let words: Vec<String> = words
            .filter(|word| !word.is_empty())
            .map(str::to_lowercase)
            .collect();
        if words.is_empty() {
            pair.pair[side].clone()
        } else {
            words.join(" ")
        }
    })
}

impl<'a> ReviewQuestion<'a> {
    /// A question about one pair alone.
    pub(in crate::pages) fn about(pair: &'a DoubtfulPair) -> Self {
        Self {
            sides: text_keys(pair).into(),
            pairs: vec![pair],
        }
    }

    fn has(&self, side: &String) -> bool {
        self.sides.contains(side)
    }

    /// Takes a pair in if each of its sides is in a pair with all others of the question.
    fn take(
        &mut self,
        pair: &'a DoubtfulPair,
        sides: &[String; 2],
        edges: &HashSet<[String; 2]>,
    ) -> bool {
        let new: Vec<&String> = sides.iter().filter(|side| !self.has(side)).collect();
        let fits = |new: &String| {
            let all = self.sides.iter();
            let mut pairs = all.map(|own| ordered([own.clone(), new.clone()]));
            pairs.all(|pair| edges.contains(&pair))
        };
        let is_taken = match new.as_slice() {
            [] => true,
            [new] => self.sides.len() < SIDES_MAX && fits(new),
            _ => false,
        };
        if is_taken {
            let new: Vec<String> = new.into_iter().cloned().collect();
            self.sides.extend(new);
            self.pairs.push(pair);
        }
        is_taken
    }
}

fn ordered([one, other]: [String; 2]) -> [String; 2] {
    if one <= other {
        [one, other]
    } else {
        [other, one]
    }
}

/// Groups contradictions into as few questions as can be answered by one choice each, in the order
/// of their first pairs.
pub(in crate::pages) fn group_pairs(pairs: &[DoubtfulPair]) -> Vec<ReviewQuestion<'_>> {
    group_by_sides(pairs, text_keys)
}

/// Groups possible duplicates: memories of which each may say what each other says are one
/// question. Two memories are two sides, though their texts are equal.
pub(in crate::pages) fn group_duplicates(pairs: &[DoubtfulPair]) -> Vec<ReviewQuestion<'_>> {
    group_by_sides(pairs, |pair| pair.pair.clone())
}

fn group_by_sides(
    pairs: &[DoubtfulPair],
    sides_of: impl Fn(&DoubtfulPair) -> [String; 2],
) -> Vec<ReviewQuestion<'_>> {
    let edges: HashSet<[String; 2]> = pairs.iter().map(|one| ordered(sides_of(one))).collect();
    let mut questions: Vec<ReviewQuestion<'_>> = Vec::new();
    for pair in pairs {
        let (sides, mut all) = (sides_of(pair), questions.iter_mut());
        if !all.any(|question| question.take(pair, &sides, &edges)) {
            questions.push(ReviewQuestion {
                sides: sides.into(),
                pairs: vec![pair],
            });
        }
    }
    // A question that grew later may have all texts of an earlier one.
    let mut kept: Vec<ReviewQuestion<'_>> = Vec::new();
    for question in questions {
        let within = kept
            .iter_mut()
            .find(|one| question.sides.iter().all(|side| one.has(side)));
        match within {
            Some(one) => one.pairs.extend(question.pairs),
            None => kept.push(question),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(one: &str, other: &str) -> DoubtfulPair {
        DoubtfulPair {
            pair: [one, other].map(|name| format!("id of {name}")),
            newest: String::new(),
            why: String::new(),
            texts: Some([one, other].map(|text| format!("It takes {text} s."))),
        }
    }

    #[test]
    fn what_contradicts_each_other_is_one_question() {
        let pairs = [
            pair("30", "60"),
            pair("30", "90"),
            pair("1", "2"),
            pair("60", "90"),
        ];
        let questions = group_pairs(&pairs);
        let counts: Vec<_> = questions
            .iter()
            .map(|one| (one.sides.len(), one.pairs.len()))
            .collect();
        assert_eq!(counts, [(3, 3), (2, 1)]);
    }

    #[test]
    fn duplicates_of_each_other_are_one_question_and_equal_texts_stay_two_sides() {
        let copy = |names: [&str; 2]| DoubtfulPair {
            pair: names.map(str::to_owned),
            ..pair("30", "30")
        };
        let all = ["ab", "ac", "ad", "bc", "bd", "cd", "ex"];
        let pairs = all.map(|pair| copy([&pair[..1], &pair[1..]]));
        let questions = group_duplicates(&pairs);
        let counts: Vec<_> = questions
            .iter()
            .map(|one| (one.sides.len(), one.pairs.len()))
            .collect();
        assert_eq!(counts, [(4, 6), (2, 1)]);
    }

    #[test]
    fn memories_that_do_not_contradict_each_other_stay_two_questions() {
        let pairs = [pair("30", "60"), pair("60", "90")];
        assert_eq!(group_pairs(&pairs).len(), 2);
    }

    #[test]
    fn a_text_that_two_memories_have_is_one_side_and_no_pair_is_lost() {
        let mut twice = pair("30", "90");
        twice.pair[0] = "a copy".to_owned();
        let pairs = [
            pair("30", "90"),
            twice,
            pair("1", "2"),
            pair("30", "1"),
            pair("30", "2"),
            pair("90", "1"),
            pair("90", "2"),
        ];
        let questions = group_pairs(&pairs);
        assert_eq!(questions.len(), 1);
        assert_eq!(questions[0].pairs.len(), pairs.len());
        assert_eq!(questions[0].sides.len(), 4);
    }
}
