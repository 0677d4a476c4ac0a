//! Where a request goes: the service's base URL, and behind it the step's path. A path may come from a task's data, so it can
//! never change the host or scheme, nor climb out of the base URL's own path.

use url::Url;

use crate::fault::{MOST_NAME, shortened};

/// The longest URL that is sent: what RFC 9110 (4.1) asks every service to take at least.
pub const MAX_URL: usize = 8_000;

/// The URL of a request, or why there is none.
///
/// `path` must be what it becomes on the wire, letter by letter: nothing is repaired, because what one reader repairs another
/// reads otherwise.
pub(crate) fn url_of(base: &Url, path: &str, query: &[(String, String)]) -> Result<Url, String> {
    check(path)?;
    let whole = format!("{}{path}", base.path().trim_end_matches('/'));
    let mut url = base.clone();
    url.set_path(&whole);
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    // The rules above should see to it; this looks at what they came to.
    if url.path() != whole || url.origin() != base.origin() || url.scheme() != base.scheme() {
        return Err(format!("path `{}` would lead elsewhere", shortened(path, MOST_NAME)));
    }
    if url.as_str().len() > MAX_URL {
        let size = url.as_str().len();
        return Err(format!(
            "its URL has {size} bytes, at most {MAX_URL} are allowed: send large values in the body"
        ));
    }
    Ok(url)
}

fn check(path: &str) -> Result<(), String> {
    let shown = || shortened(path, MOST_NAME);
    let Some(rest) = path.strip_prefix('/') else {
        return Err(format!("path `{}` does not begin with `/`", shown()));
    };
    if rest.starts_with('/') {
        return Err(format!("path `{}` begins with `//`, which names another host", shown()));
    }
    if let Some(bad) = path.chars().find(|letter| !is_allowed(*letter)) {
        return Err(format!(
            "path `{}` has `{}` in it: percent-encode it, or give a query as `query`",
            shown(),
            bad.escape_debug()
        ));
    }
    let decoded = decode(path).ok_or_else(|| format!("path `{}` has a `%` without two digits", shown()))?;
    if decoded.split(|byte| matches!(byte, b'/' | b'\\')).any(climbs) {
        return Err(format!("path `{}` has a part `.` or `..`, which leads to another place", shown()));
    }
    Ok(())
}

/// What RFC 3986 allows in a path, `%` included.
fn is_allowed(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "/%-._~!$&'()*+,;=:@".contains(letter)
}

/// The bytes that a path stands for; `None` for a `%` that stands for nothing.
fn decode(path: &str) -> Option<Vec<u8>> {
    let mut bytes = path.bytes();
    let mut decoded = Vec::with_capacity(path.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        decoded.push(u8::try_from(high * 16 + low).ok()?);
    }
    Some(decoded)
}

/// Whether a part of a path is `.` or `..`; some servers also look away from what follows a `;`.
fn climbs(part: &[u8]) -> bool {
    let name = part.split(|byte| *byte == b';').next().unwrap_or_default();
    matches!(name, b"." | b"..")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BASES: [&str; 4] =
        ["http://127.0.0.1:8080", "http://payments/api/v2/", "http://[::1]:9/a", "https://pay.example/x"];

    fn base(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn sent(path: &str) -> Result<String, String> {
        url_of(&base("http://payments:81/api"), path, &[]).map(String::from)
    }

    #[test]
    fn a_path_goes_behind_the_base() {
        for (path, expected) in [
            ("/", "http://payments:81/api/"),
            ("/charges/7", "http://payments:81/api/charges/7"),
            ("/a%2Fb%20c/%C3%A9", "http://payments:81/api/a%2Fb%20c/%C3%A9"),
            ("/a/@b:c", "http://payments:81/api/a/@b:c"),
            ("/..a/b../...", "http://payments:81/api/..a/b../..."),
            ("/a//b", "http://payments:81/api/a//b"),
            ("/%252e%252e", "http://payments:81/api/%252e%252e"),
        ] {
            assert_eq!(sent(path).as_deref(), Ok(expected));
        }
        let query = [("q".to_owned(), "a&b=c#d é".to_owned()), ("q".to_owned(), String::new())];
        let url = url_of(&base("http://payments"), "/find", &query).unwrap();
        assert_eq!(url.as_str(), "http://payments/find?q=a%26b%3Dc%23d+%C3%A9&q=");
    }

    #[test]
    fn a_path_that_leads_elsewhere_is_refused_with_the_reason() {
        for (path, why) in [
            ("", "does not begin with `/`"),
            ("charges", "does not begin with `/`"),
            ("http://evil/", "does not begin with `/`"),
            ("@evil/", "does not begin with `/`"),
            (":80@evil/", "does not begin with `/`"),
            ("//evil/x", "names another host"),
            ("/\\evil/x", "`\\\\`"),
            ("/a\\..\\b", "`\\\\`"),
            ("/a?b=c", "`?`"),
            ("/a#b", "`#`"),
            ("/a b", "` `"),
            ("/a\r\nHost: evil", "`\\r`"),
            ("/a\tb", "`\\t`"),
            ("/a\0", "`\\0`"),
            ("/é", "`é`"),
            ("/\u{ff0e}\u{ff0e}/x", "in it: percent-encode it"),
            ("/\u{2215}evil", "in it: percent-encode it"),
            ("/..", "`.` or `..`"),
            ("/a/../b", "`.` or `..`"),
            ("/a/./b", "`.` or `..`"),
            ("/%2e%2e/b", "`.` or `..`"),
            ("/.%2E/b", "`.` or `..`"),
            ("/a%2f..%2fb", "`.` or `..`"),
            ("/a%5c..%5cb", "`.` or `..`"),
            ("/..;x=1/b", "`.` or `..`"),
            ("/a%", "`%` without two digits"),
            ("/a%g0", "`%` without two digits"),
            ("/a%4", "`%` without two digits"),
            ("/a%+4", "`%` without two digits"),
        ] {
            let refused = sent(path).unwrap_err();
            assert!(refused.contains(why), "{path:?}: {refused}");
        }
        assert!(sent(&format!("/{}", "a".repeat(MAX_URL))).unwrap_err().contains("at most 8000"));
    }

    /// Texts that are likely to matter: pieces that parsers of URLs stumble over, and anything at all.
    fn path() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("/"),
            Just("//"),
            Just("\\"),
            Just(".."),
            Just("."),
            Just("%2e"),
            Just("%2E"),
            Just("%2f"),
            Just("%5c"),
            Just("@"),
            Just(":"),
            Just(":80"),
            Just("evil"),
            Just("?"),
            Just("#"),
            Just("http:"),
            Just("\t"),
            Just("\n"),
            Just("\r"),
            Just(" "),
            Just("\u{ff0f}"),
            Just("\u{ff0e}"),
            Just("%00"),
            Just("[::1]"),
            Just("%"),
            Just(";"),
            Just("é"),
            Just("\u{202e}"),
            Just("\u{ad}"),
            Just("a"),
        ];
        let pieces = proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat());
        prop_oneof![pieces.clone(), pieces.prop_map(|rest| format!("/{rest}")), any::<String>()]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn no_path_leads_to_another_host_or_out_of_the_base(path in path(), at in 0..BASES.len(), query: String) {
            let base = base(BASES[at]);
            let query = [(query.clone(), query)];
            if let Ok(url) = url_of(&base, &path, &query) {
                // Read anew, as the service's side does.
                let read = Url::parse(url.as_str()).unwrap();
                prop_assert_eq!((read.scheme(), read.host_str(), read.port()), (base.scheme(), base.host_str(), base.port()));
                prop_assert_eq!((read.username(), read.password()), ("", None));
                let expected = format!("{}{path}", base.path().trim_end_matches('/'));
                prop_assert_eq!(read.path(), expected);
                prop_assert!(read.fragment().is_none());
                // Also when a server decodes it and takes back slashes for slashes.
                let decoded = decode(read.path()).unwrap();
                prop_assert!(!decoded.split(|byte| b"/\\".contains(byte)).any(|part| part == b".." || part == b"."));
            }
        }

        #[test]
        fn any_text_can_be_a_part_of_a_path_once_it_is_encoded(text: String) {
            let encoded: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
            let fits = encoded.len() < MAX_URL / 2 && !text.split(['/', '\\']).any(|part| climbs(part.as_bytes()));
            prop_assert_eq!(sent(&format!("/things/{encoded}")).is_ok(), fits, "{:?}", text);
        }
    }
}
