//! The labelled suite: forms of secrets in context, and lines that hold none.
//!
//! A form's secret stands between guillemets. `{w36}` stands for 36 random characters, by the
//! letter: `w` letters and digits, `d` digits, `h` and `H` hexadecimal, `l` small letters, `U` and
//! `V` capitals and digits, `v` small letters and digits, `b` Base64, `u` its form for addresses,
//! `p` a password with a digit and a sign. So no secret, and nothing that a scanner takes for one,
//! is in the files.

use crate::rules::Rules;

/// Opens the secret of a form.
const OPEN: char = '\u{ab}';
const CLOSE: char = '\u{bb}';

/// A form with its random parts filled in.
#[derive(Debug, Clone)]
pub struct Labelled {
    /// The text with the secrets.
    pub text: String,
    /// The secrets to be redacted.
    pub secrets: Vec<String>,
}

/// Forms written before the rules, and forms written with them.
#[must_use]
pub fn forms() -> [Vec<&'static str>; 2] {
    let read = |page: &'static str| {
        let lines = page.lines();
        lines
            .filter(|line| !line.is_empty() && !line.starts_with("# "))
            .collect()
    };
    [
        read(include_str!("testing/held-out.txt")),
        read(include_str!("testing/forms.txt")),
    ]
}

/// Lines without secrets: from this repository's code, pages, lock file and history, and generated
/// ones with hashes, UUIDs, digests, public keys and logs.
#[must_use]
pub fn innocent() -> Vec<&'static str> {
    include_str!("testing/innocent.txt").lines().collect()
}

/// A form with its random parts filled in from `seed`.
#[must_use]
pub fn drawn(form: &str, seed: u64) -> Labelled {
    let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
    let mut next = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 16) as usize % below
    };
    let form = form
        .replace("\\\\n", "\u{1}")
        .replace("\\n", "\n")
        .replace('\u{1}', "\\n");
    let mut text = String::new();
    let mut rest = form.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let part = after.split_once('}').and_then(|(part, after)| {
            let letter = part.chars().next().filter(|c| "wdhHlUVvbup".contains(*c))?;
            Some((letter, part.get(1..)?.parse::<usize>().ok()?, after))
        });
        if let Some((letter, count, after)) = part {
            text.push_str(&random(letter, count, &mut next));
            rest = after;
        } else {
            text.push('{');
            rest = after;
        }
    }
    text.push_str(rest);
    let secrets = text
        .split(OPEN)
        .skip(1)
        .filter_map(|part| part.split(CLOSE).next());
    let secrets = secrets.map(str::to_owned).collect();
    Labelled {
        text: text.replace([OPEN, CLOSE], ""),
        secrets,
    }
}

fn random(letter: char, count: usize, next: &mut dyn FnMut(usize) -> usize) -> String {
    let (upper, lower, digits) = (
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        "abcdefghijklmnopqrstuvwxyz",
        "0123456789",
    );
    let set: String = match letter {
        'd' => digits.to_owned(),
        'h' => "0123456789abcdef".to_owned(),
        'H' => "0123456789ABCDEF".to_owned(),
        'l' => lower.to_owned(),
        'U' | 'V' => [upper, digits].concat(),
        'v' => [lower, digits].concat(),
        'b' => [upper, lower, digits, "+/"].concat(),
        'u' => [upper, lower, digits, "-_"].concat(),
        'p' => [upper, lower, digits, "!#%*+^~?"].concat(),
        _ => [upper, lower, digits].concat(),
    };
    let set: Vec<char> = set.chars().collect();
    let drawn = (0..count).map(|place| {
        let any = set.get(next(set.len())).copied().unwrap_or('x');
        // A password has a digit and a sign, and begins with a letter.
        match place {
            0 if letter == 'p' => 'K',
            place if letter == 'p' && place == count / 2 => '7',
            place if letter == 'p' && place + 2 == count => '!',
            _ => any,
        }
    });
    drawn.collect()
}

/// Whether no part of a secret is left: no run of eight characters, and no shorter secret.
#[must_use]
pub fn is_clean(rules: &Rules, labelled: &Labelled) -> bool {
    let text = rules.redact(&labelled.text).text;
    labelled.secrets.iter().all(|secret| {
        let parts = secret.split_whitespace().filter(|part| part.len() >= 4);
        !text.contains(secret.as_str())
            && parts.into_iter().all(|part| {
                let chars: Vec<char> = part.chars().collect();
                let mut runs = chars.windows(chars.len().min(8));
                !runs.any(|run| text.contains(&run.iter().collect::<String>()))
            })
    })
}
