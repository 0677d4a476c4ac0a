//! Takes secrets out of texts, in the forms that services send them back in.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;

/// What stands in the place of a secret.
const STARS: &str = "***";

/// What takes the secrets of one call out of every text that leaves the agent.
#[derive(Default)]
pub(crate) struct Scrub {
    /// The longest first, so that none leaves a rest of another.
    forms: Vec<String>,
}

impl Scrub {
    pub(crate) fn of<'s>(secrets: impl Iterator<Item = &'s str>) -> Self {
        let mut forms: Vec<String> = secrets.flat_map(forms_of).collect();
        forms.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        forms.dedup();
        Self { forms }
    }

    /// The text without secrets.
    pub(crate) fn text<'t>(&self, text: impl Into<Cow<'t, str>>) -> Cow<'t, str> {
        self.forms.iter().fold(text.into(), |text, form| match text.contains(form.as_str()) {
            true => Cow::Owned(text.replace(form.as_str(), STARS)),
            false => text,
        })
    }

    /// A text that was cut off at its end, without secrets and without the beginning of one that was cut through.
    pub(crate) fn cut_text(&self, text: &str) -> String {
        let mut text = self.text(text).into_owned();
        let begun = self.forms.iter().filter_map(|form| begun_at_end(&text, form)).max();
        if let Some(letters) = begun {
            text.truncate(text.len() - letters);
        }
        text
    }

    /// A value without secrets, in its strings, names and numbers. Its depth is bounded: it was read by `serde_json`, which
    /// stops at 128.
    pub(crate) fn value(&self, value: Value) -> Value {
        if self.forms.is_empty() {
            return value;
        }
        match value {
            Value::String(text) => Value::String(self.text(text).into_owned()),
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(fields) => {
                let clean =
                    |(name, field): (String, Value)| (self.text(name).into_owned(), self.value(field));
                Value::Object(fields.into_iter().map(clean).collect())
            }
            // A secret of digits alone.
            Value::Number(number) => match self.text(number.to_string()) {
                text if text.contains(STARS) => Value::String(text.into_owned()),
                _ => Value::Number(number),
            },
            Value::Null | Value::Bool(_) => value,
        }
    }
}

/// How many bytes at the end of a text are the beginning of this form, if any are.
fn begun_at_end(text: &str, form: &str) -> Option<usize> {
    (1..form.len()).rev().find(|end| form.is_char_boundary(*end) && text.ends_with(&form[..*end]))
}

/// A secret as it is, percent-encoded, escaped as in JSON and HTML, and as base64, wherever it stands in what was encoded.
fn forms_of(secret: &str) -> Vec<String> {
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let component = |byte: u8| unreserved(byte) || b"!'()*".contains(&byte);
    let percent = percent_encoded(secret, unreserved);
    let escaped = json_escaped(secret);
    let mut forms = vec![
        secret.to_owned(),
        lower_escapes(&percent),
        percent.replace("%20", "+"),
        percent_encoded(secret, component),
        percent,
        escaped.replace('/', "\\/"),
        ascii_escaped(&escaped),
        escaped,
        html_escaped(secret),
    ];
    for letters in [STANDARD, URL_SAFE] {
        forms.extend((0..3).map(|shift| base64_inside(secret.as_bytes(), shift, letters)));
    }
    forms
}

fn percent_encoded(text: &str, keeps: impl Fn(u8) -> bool) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if keeps(byte) {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}

/// With the digits behind each `%` in lower case.
fn lower_escapes(encoded: &str) -> String {
    let mut digits = 0;
    encoded
        .chars()
        .map(|letter| match letter {
            '%' => {
                digits = 2;
                letter
            }
            letter if digits > 0 => {
                digits -= 1;
                letter.to_ascii_lowercase()
            }
            letter => letter,
        })
        .collect()
}

fn json_escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// As writers of JSON do it that keep to ASCII.
fn ascii_escaped(escaped: &str) -> String {
    let mut ascii = String::new();
    for letter in escaped.chars() {
        if letter.is_ascii() {
            ascii.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = write!(ascii, "\\u{unit:04x}");
            }
        }
    }
    ascii
}

fn html_escaped(text: &str) -> String {
    let escapes = [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&quot;"), ("'", "&#39;")];
    escapes.iter().fold(text.to_owned(), |text, (letter, escape)| text.replace(letter, escape))
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The letters of base64 that these bytes alone decide when `shift` other bytes (of a multiple of three) are before them, as in
/// `user:password`.
fn base64_inside(bytes: &[u8], shift: usize, letters: &[u8; 64]) -> String {
    let whole: Vec<u8> = std::iter::repeat_n(0, shift).chain(bytes.iter().copied()).collect();
    let first = (shift * 8).div_ceil(6);
    let end = whole.len() * 8 / 6;
    (first..end).map(|place| char::from(letters[usize::from(six_bits(&whole, place))])).collect()
}

fn six_bits(bytes: &[u8], place: usize) -> u8 {
    let (byte, bit) = (place * 6 / 8, place * 6 % 8);
    let pair = u16::from_be_bytes([bytes[byte], bytes.get(byte + 1).copied().unwrap_or_default()]);
    ((pair >> (10 - bit)) & 0x3F) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// With all that is written in different ways.
    const SECRET: &str = "p a/s+s\"w\\<ö>&'d!";

    fn scrub() -> Scrub {
        Scrub::of([SECRET, "12345678"].into_iter())
    }

    #[test]
    fn a_secret_is_found_in_every_form_it_comes_back_in() {
        for (form, text) in [
            ("raw", SECRET),
            ("percent", "p%20a%2Fs%2Bs%22w%5C%3C%C3%B6%3E%26%27d%21"),
            ("percent, lower case", "p%20a%2fs%2bs%22w%5c%3c%c3%b6%3e%26%27d%21"),
            ("form", "p+a%2Fs%2Bs%22w%5C%3C%C3%B6%3E%26%27d%21"),
            ("encodeURIComponent", "p%20a%2Fs%2Bs%22w%5C%3C%C3%B6%3E%26'd!"),
            ("JSON", "p a/s+s\\\"w\\\\<ö>&'d!"),
            ("JSON, ASCII", "p a/s+s\\\"w\\\\<\\u00f6>&'d!"),
            ("JSON, slashes", "p a\\/s+s\\\"w\\\\<ö>&'d!"),
            ("HTML", "p a/s+s&quot;w\\&lt;ö&gt;&amp;&#39;d!"),
        ] {
            assert_eq!(scrub().text(format!("<<{text}>>")), "<<***>>", "{form}");
        }
    }

    #[test]
    fn base64_is_found_wherever_the_secret_stands() {
        // By the command `base64`, of "hunter22!?" alone, behind "a", "ab" and "abc", and with more behind it.
        let scrub = Scrub::of(["hunter22!?"].into_iter());
        for text in [
            "aHVudGVyMjIhPw==",
            "YWh1bnRlcjIyIT8=",
            "YWJodW50ZXIyMiE/",
            "YWJjaHVudGVyMjIhPw==",
            "YWh1bnRlcjIyIT86Og==",
        ] {
            let clean = scrub.text(text);
            assert!(clean.contains(STARS) && clean.len() <= text.len() - 8, "{text}: {clean}");
        }
        assert!(scrub.text("YWJodW50ZXIyMiE_").contains(STARS), "url-safe");
        assert_eq!(scrub.text("aHVudGVyMjMhPw=="), "aHVudGVyMjMhPw==", "another secret");
    }

    #[test]
    fn values_are_clean_in_strings_names_and_numbers() {
        let mut dirty = json!({ "list": [SECRET, { "deep": format!("a{SECRET}b") }], "n": 123456789, "ok": [1, true, null] });
        dirty[SECRET] = json!(1);
        let clean = scrub().value(dirty);
        let expected =
            json!({ "list": ["***", { "deep": "a***b" }], "n": "***9", "ok": [1, true, null], "***": 1 });
        assert_eq!(clean, expected);
    }

    #[test]
    fn a_secret_that_was_cut_through_is_gone_too() {
        assert_eq!(scrub().cut_text("see 12345678 and 12345"), "see *** and ");
        assert_eq!(scrub().cut_text("nothing at all"), "nothing at all");
        assert_eq!(scrub().cut_text("p a/s+s\"w\\<"), "");
    }

    #[test]
    fn of_two_secrets_the_longer_is_taken_out_whole() {
        let scrub = Scrub::of(["12345678", "12345678-and-more"].into_iter());
        assert_eq!(scrub.text("a 12345678-and-more b 12345678"), "a *** b ***");
    }

    #[test]
    fn without_secrets_everything_stays() {
        let nothing = Scrub::default();
        assert_eq!(nothing.text("a"), "a");
        assert_eq!(nothing.value(json!({ "a": 1.5 })), json!({ "a": 1.5 }));
        assert_eq!(nothing.cut_text("a"), "a");
    }
}
