//! YAML that somebody else wrote: what is wrong with it is told on one line.

use serde_json::Value;

/// One document; the error says where it is wrong and why, without the text around it.
pub fn read_yaml(text: &str) -> Result<Value, String> {
    serde_saphyr::from_str(text).map_err(|error| {
        let told = error.to_string();
        let line = told.lines().next().unwrap_or_default();
        let line = line.trim_start_matches("error: ");
        match line.split_once(": budget breached") {
            Some((place, _)) => format!("{place}: its aliases unfold into too much"),
            None => line.to_owned(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_told_on_one_line() {
        assert_eq!(read_yaml("a: [1]").unwrap()["a"][0], 1);
        let mut bomb = "a0: &a0 [x, x, x]\n".to_owned();
        for level in 1..20 {
            let all = vec![format!("*a{}", level - 1); 9].join(", ");
            let line = format!("a{level}: &a{level} [{all}]\n");
            bomb.push_str(&line);
        }
        for (text, expected) in [(bomb.as_str(), "unfold into too much"), ("a: [1", "line 1")] {
            let why = read_yaml(text).unwrap_err();
            assert!(why.contains(expected) && !why.contains('\n'), "{why}");
            assert!(!why.contains("error:") && !why.contains("-->"), "{why}");
        }
    }
}
