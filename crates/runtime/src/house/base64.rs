//! Bytes that are no text, as text.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// With padding, as RFC 4648 has it.
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0_u32, |bits, at| bits << 8 | u32::from(group.get(at).copied().unwrap_or(0)));
        for place in 0..4 {
            let letter = usize::try_from(bits >> (18 - 6 * place) & 63).unwrap_or(0);
            text.push(if place > group.len() { '=' } else { char::from(LETTERS[letter]) });
        }
    }
    text
}

/// `None` for a text that is none of these.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let bare = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - bare.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(bare.len() * 3 / 4);
    for group in bare.as_bytes().chunks(4) {
        let value =
            |letter: &u8| LETTERS.iter().position(|one| one == letter).and_then(|at| u32::try_from(at).ok());
        let bits = group.iter().try_fold(0_u32, |bits, letter| Some(bits << 6 | value(letter)?))?;
        let bits = bits << (6 * (4 - group.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    // One text for the same bytes: what is behind their end must be nothing.
    (encode(&bytes) == text).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_what_is_no_such_text_is_refused() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg=="),
            (b"fo", "Zm8="),
            (b"foo", "Zm9v"),
            (b"foob", "Zm9vYg=="),
            (&[0, 255, 16, 128], "AP8QgA=="),
        ] {
            assert_eq!(encode(bytes), text);
            assert_eq!(decode(text).as_deref(), Some(bytes));
        }
        for bad in ["Z", "Zg=", "Zh==", "Zm9v=", "Zm9v====", "Z$==", "===="] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }
}
