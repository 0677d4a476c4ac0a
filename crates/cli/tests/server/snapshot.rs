//! Texts that are compared with files. `STEADFAST_BLESS=1` writes the files anew.

use std::path::Path;

/// Compares what was printed with the file of this name, but for ids, times and the width of columns.
pub(crate) fn check(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/server/snapshots/{name}.txt"));
    let text = settled(text);
    if std::env::var_os("STEADFAST_BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, kept, "{name} differs; if it is as it should be: STEADFAST_BLESS=1");
}

/// The forms of what is another each time, and what takes its place. `9` is a digit, `x` one of a hexadecimal number.
const FORMS: [(&str, &str); 4] = [
    ("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", "ID"),
    ("9999-99-99 99:99:99", "DATE"),
    ("9999-99-99T99:99:99", "DATE"),
    ("99:99:99", "TIME"),
];

/// A text in which ids are numbered, times are a word, and columns are two spaces apart.
pub(crate) fn settled(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let (mut out, mut ids, mut at) = (String::new(), Vec::<String>::new(), 0);
    while at < letters.len() {
        if let Some((form, word)) = FORMS.iter().find(|(form, _)| fits(&letters[at..], form)) {
            let found: String = letters[at..at + form.len()].iter().collect();
            if *word == "ID" {
                let place = ids.iter().position(|id| *id == found).unwrap_or_else(|| {
                    ids.push(found);
                    ids.len() - 1
                });
                out.push_str(&format!("ID{}", place + 1));
            } else {
                out.push_str(word);
            }
            at += form.len();
        } else if let Some((length, word)) = span(&letters[at..], out.chars().last()) {
            out.push_str(word);
            at += length;
        } else {
            out.push(letters[at]);
            at += 1;
        }
    }
    out.lines().map(narrow).collect::<Vec<_>>().join("\n") + "\n"
}

fn fits(letters: &[char], form: &str) -> bool {
    let fits = |(letter, form): (&char, char)| match form {
        '9' => letter.is_ascii_digit(),
        'x' => letter.is_ascii_hexdigit(),
        other => *letter == other,
    };
    letters.len() >= form.len() && letters.iter().zip(form.chars()).all(fits)
}

/// A number with a unit of time, such as `12ms`, `1.5s`, `3m` or `2 s`, which stands alone.
fn span(letters: &[char], before: Option<char>) -> Option<(usize, &'static str)> {
    if before.is_some_and(|before| before.is_alphanumeric() || before == '.') {
        return None;
    }
    let digits = letters.iter().take_while(|letter| letter.is_ascii_digit() || **letter == '.').count();
    let space = usize::from(letters[digits..].starts_with(&[' ', 's', ' ']));
    let unit =
        letters[digits + space..].iter().take_while(|letter| letter.is_alphabetic()).collect::<String>();
    let is_one = digits > 0 && ["ms", "s", "m", "h", "d"].contains(&&*unit);
    is_one.then_some((digits + space + unit.len(), "SPAN"))
}

/// A line of a table with two spaces between its columns. Drawings are left as they are.
fn narrow(line: &str) -> String {
    if line.contains(['│', '─', '▼']) {
        return line.to_owned();
    }
    let start = line.len() - line.trim_start().len();
    let words: Vec<_> = line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect();
    format!("{}{}", &line[..start.min(2)], words.join("  "))
}

#[test]
fn what_is_another_each_time_is_taken_out() {
    let text = "ID      AT\n0192f3a0-5b1c-7d2e-8f00-0123456789ab      2026-11-17 14:00:00 (3s ago)   took 12ms of v2 for 2 s so far\n";
    assert_eq!(settled(text), "ID  AT\nID1  DATE (SPAN ago)  took SPAN of v2 for SPAN so far\n");
}
