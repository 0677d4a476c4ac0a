//! What is looked for: a secret as it is, and as it is written in JSON, in addresses and in base64.

use super::search::Place;

pub(super) struct Needle {
    secret: String,
    forms: Vec<(&'static str, Vec<u8>)>,
}

impl Needle {
    pub(super) fn new(secret: &str) -> Self {
        let json = serde_json::to_string(secret).unwrap();
        let json = json.trim_matches('"');
        let percent = |keep: &[u8]| -> String {
            let byte = |byte: u8| match byte.is_ascii_alphanumeric() || keep.contains(&byte) {
                true => char::from(byte).to_string(),
                false => format!("%{byte:02X}"),
            };
            secret.bytes().map(byte).collect()
        };
        let mut forms = vec![
            ("as it is", secret.as_bytes().to_vec()),
            ("in JSON", json.as_bytes().to_vec()),
            ("in JSON in JSON", json.replace('\\', "\\\\").replace('"', "\\\"").into_bytes()),
            ("in an address", percent(b"-._~").into_bytes()),
            ("in an address, small", percent(b"-._~").to_lowercase().into_bytes()),
            ("in a path", percent(b"-._~/").into_bytes()),
            ("in a form", percent(b"-._~").replace("%20", "+").into_bytes()),
            ("in hex", secret.bytes().map(|byte| format!("{byte:02x}")).collect::<String>().into_bytes()),
        ];
        // Wherever it begins in what was encoded: what its neighbours have a part in is left out.
        for before in 0..3 {
            let padded = [vec![0; before], secret.as_bytes().to_vec()].concat();
            let text = base64(&padded);
            let (first, last) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
            forms.push(("in base64", text.as_bytes()[first..last].to_vec()));
        }
        Self { secret: secret.to_owned(), forms }
    }

    /// Where it is shown, if it is.
    pub(super) fn shown_in(&self, place: &Place) -> Option<String> {
        let (form, at) =
            self.forms.iter().find_map(|(form, bytes)| Some((form, find(&place.bytes, bytes)?)))?;
        let around = &place.bytes[at.saturating_sub(60)..(at + 60).min(place.bytes.len())];
        Some(format!("{} has `{}` {form}: ..{}..", place.name, self.secret, String::from_utf8_lossy(around)))
    }
}

/// Where bytes stand among others.
pub(super) fn find(all: &[u8], wanted: &[u8]) -> Option<usize> {
    all.windows(wanted.len()).position(|window| window == wanted)
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |group: &[u8]| {
        let byte = |place: usize| u32::from(group.get(place).copied().unwrap_or(0));
        let bits = (byte(0) << 16) | (byte(1) << 8) | byte(2);
        [18, 12, 6, 0].map(|shift| char::from(LETTERS[((bits >> shift) & 63) as usize]))
    };
    bytes.chunks(3).flat_map(group).collect()
}

#[test]
fn a_secret_is_found_in_every_form() {
    let needle = Needle::new("a \"b\"/c&d-secret");
    for text in [
        "x a \"b\"/c&d-secret y",
        "{\"v\":\"a \\\"b\\\"/c&d-secret\"}",
        "/x?t=a%20%22b%22%2Fc%26d-secret",
        "t=a+%22b%22%2Fc%26d-secret",
        &base64(b"user:a \"b\"/c&d-secret"),
        &base64(b"user1:a \"b\"/c&d-secret!"),
        &base64(b"us:a \"b\"/c&d-secret, and more"),
    ] {
        assert!(needle.shown_in(&Place::new("it", text)).is_some(), "{text}");
    }
    assert!(needle.shown_in(&Place::new("it", "a b c d secret ***")).is_none());
    assert_eq!(base64(b"Man"), "TWFu");
}
