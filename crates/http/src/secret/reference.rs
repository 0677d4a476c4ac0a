//! References in headers and bodies, and the values that come in their place.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use steadfast_runtime::Fault;

use super::{MAX_SECRET, MIN_SECRET, REFERENCE, Scrub, Secret, Secrets, is_name_letter, is_secret_name};
use crate::error::Code;
use crate::fault::{MOST_NAME, not_sent, shortened};

/// The most secrets of one call: more than any service asks for, and each is searched for in the answer in a dozen forms.
const MOST_SECRETS: usize = 16;

/// Who wrote a reference.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Author {
    /// Whoever set the service up: any secret.
    Target,
    /// A step. Its text may come from a task's data, so it may only name what the service is allowed.
    Step,
}

/// The secrets of one call.
pub(crate) struct Vault<'a> {
    service: &'a str,
    sources: &'a [Arc<dyn Secrets>],
    allowed: &'a BTreeSet<String>,
    used: Vec<(String, Secret)>,
}

impl<'a> Vault<'a> {
    pub(crate) fn new(
        service: &'a str,
        sources: &'a [Arc<dyn Secrets>],
        allowed: &'a BTreeSet<String>,
    ) -> Self {
        Self { service, sources, allowed, used: Vec::new() }
    }

    /// What takes the secrets of this call out of texts, and these beside them.
    pub(crate) fn scrub(&self, beside: &[&str]) -> Scrub {
        Scrub::of(self.exposed().chain(beside.iter().copied()))
    }

    fn exposed(&self) -> impl Iterator<Item = &str> {
        self.used.iter().map(|(_, secret)| secret.expose())
    }

    /// All secrets that the service may ever be sent, as far as they are there.
    pub(crate) fn all(&self, headers: &[(String, String)]) -> Vec<Secret> {
        let in_headers = headers.iter().flat_map(|(_, value)| names_in(value));
        let names: BTreeSet<_> = in_headers.chain(self.allowed.iter().map(String::as_str)).collect();
        // One that is not there cannot come back.
        names.into_iter().filter_map(|name| self.fetch(name).ok()).collect()
    }

    /// A text with the values in place of its references, which may stand anywhere in it: `Bearer secret://token`.
    pub(crate) fn in_text<'t>(&mut self, text: &'t str, by: Author) -> Result<Cow<'t, str>, Fault> {
        if !text.contains(REFERENCE) {
            return Ok(Cow::Borrowed(text));
        }
        let mut parts = text.split(REFERENCE);
        let mut whole = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = name_at(part);
            whole.push_str(self.get(name, by)?.expose());
            whole.push_str(rest);
        }
        Ok(Cow::Owned(whole))
    }

    /// A JSON body with the values in place of strings that are references as a whole.
    pub(crate) fn in_body(&mut self, body: Vec<u8>) -> Result<Vec<u8>, Fault> {
        // Most bodies have none, and go out byte for byte as they came. A slash may be escaped.
        if !contains(&body, b"secret:") {
            return Ok(body);
        }
        let Ok(mut value) = serde_json::from_slice::<Value>(&body) else {
            return Err(not_sent(
                Code::BadRequest,
                format_args!("the body for `{}` is no JSON", self.service),
            ));
        };
        self.in_value(&mut value)?;
        serde_json::to_vec(&value).map_err(|error| not_sent(Code::BadRequest, error))
    }

    /// Its depth is bounded: the value was read by `serde_json`, which stops at 128.
    fn in_value(&mut self, value: &mut Value) -> Result<(), Fault> {
        match value {
            Value::String(text) => {
                if let Some(name) = text.strip_prefix(REFERENCE) {
                    let secret = self.get(name, Author::Step)?.expose().to_owned();
                    *text = secret;
                }
                Ok(())
            }
            Value::Array(items) => items.iter_mut().try_for_each(|item| self.in_value(item)),
            Value::Object(fields) => fields.values_mut().try_for_each(|field| self.in_value(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        }
    }

    fn get(&mut self, name: &str, by: Author) -> Result<&Secret, Fault> {
        self.check(name, by)?;
        let place = match self.used.iter().position(|(known, _)| known == name) {
            Some(place) => place,
            None if self.used.len() == MOST_SECRETS => {
                let why = format_args!("at most {MOST_SECRETS} secrets can be in one call");
                return Err(self.refused(name, &why));
            }
            None => {
                let secret = self.fetch(name)?;
                self.used.push((name.to_owned(), secret));
                self.used.len() - 1
            }
        };
        Ok(&self.used[place].1)
    }

    fn check(&self, name: &str, by: Author) -> Result<(), Fault> {
        if !is_secret_name(name) {
            return Err(not_sent(
                Code::NoSecret,
                format_args!(
                    "`{REFERENCE}{}` names no secret: a name has letters, digits, `-`, `_` and `.`, and begins with a \
                     letter or digit",
                    shortened(name, MOST_NAME)
                ),
            ));
        }
        if by == Author::Step && !self.allowed.contains(name) {
            return Err(not_sent(
                Code::NoSecret,
                format_args!(
                    "secret `{name}` may not be sent to `{0}` by a step: name it among the secrets of service `{0}`, or use \
                     it in the headers of the service itself",
                    self.service
                ),
            ));
        }
        Ok(())
    }

    fn refused(&self, name: &str, why: &dyn std::fmt::Display) -> Fault {
        not_sent(Code::NoSecret, format_args!("secret `{name}` for `{}`: {why}", self.service))
    }

    fn fetch(&self, name: &str) -> Result<Secret, Fault> {
        let refused = |why: &dyn std::fmt::Display| self.refused(name, why);
        let mut why = Vec::new();
        for source in self.sources {
            match source.get(name) {
                Ok(secret) => {
                    let size = secret.expose().len();
                    return match size {
                        MIN_SECRET..=MAX_SECRET => Ok(secret),
                        _ => Err(refused(&format_args!(
                            "it has {size} bytes, and must have {MIN_SECRET} to {MAX_SECRET}"
                        ))),
                    };
                }
                Err(missing) => why.push(missing.to_string()),
            }
        }
        match why.is_empty() {
            true => Err(refused(&"this program has no place for secrets: give it one")),
            false => Err(refused(&why.join(", and "))),
        }
    }
}

/// The secrets that a text refers to, by name.
pub(crate) fn names_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(REFERENCE).skip(1).map(|part| name_at(part).0)
}

/// The name that a text begins with, as long as it goes, and what follows.
fn name_at(text: &str) -> (&str, &str) {
    text.split_at(text.find(|letter| !is_name_letter(letter)).unwrap_or(text.len()))
}

fn contains(body: &[u8], wanted: &[u8]) -> bool {
    body.windows(wanted.len()).any(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::NoSecret;

    struct Drawer;

    impl Secrets for Drawer {
        fn get(&self, name: &str) -> Result<Secret, NoSecret> {
            match name {
                "token" => Ok(Secret::new("s3cret-token")),
                "key" => Ok(Secret::new("k3y\"\\/é and more")),
                "tiny" => Ok(Secret::new("1234567")),
                "huge" => Ok(Secret::new("x".repeat(MAX_SECRET + 1))),
                _ => Err(NoSecret::new("the drawer is empty")),
            }
        }
    }

    fn with<T>(look: impl FnOnce(&mut Vault<'_>) -> T) -> T {
        let sources: [Arc<dyn Secrets>; 1] = [Arc::new(Drawer)];
        let allowed = ["token", "key", "tiny", "huge", "lost"].map(str::to_owned).into();
        look(&mut Vault::new("pay", &sources, &allowed))
    }

    fn text(text: &str) -> Result<String, String> {
        with(|vault| vault.in_text(text, Author::Step).map(Cow::into_owned).map_err(|fault| fault.message))
    }

    fn body(body: &str) -> Result<String, String> {
        let replaced = with(|vault| vault.in_body(body.as_bytes().to_vec()));
        replaced.map(|body| String::from_utf8(body).unwrap()).map_err(|fault| fault.message)
    }

    #[test]
    fn a_reference_stands_anywhere_in_a_header() {
        assert_eq!(text("plain").as_deref(), Ok("plain"));
        assert_eq!(text("Bearer secret://token").as_deref(), Ok("Bearer s3cret-token"));
        assert_eq!(text("a=secret://token;b=secret://token").as_deref(), Ok("a=s3cret-token;b=s3cret-token"));
    }

    #[test]
    fn in_a_body_whole_strings_are_replaced_and_nothing_else() {
        let plain = r#"{"b" : 1e3,  "a":"my secret"}"#;
        assert_eq!(body(plain).as_deref(), Ok(plain));
        assert_eq!(
            body(r#"{"a":["secret://token",{"b":"secret:\/\/token"}],"c":"not secret://token"}"#).as_deref(),
            Ok(r#"{"a":["s3cret-token",{"b":"s3cret-token"}],"c":"not secret://token"}"#)
        );
        assert_eq!(body(r#"["secret://key"]"#).as_deref(), Ok(r#"["k3y\"\\/é and more"]"#));
    }

    #[test]
    fn what_is_no_secret_is_said_and_nothing_is_sent() {
        for (header, why) in [
            ("secret://lost", "secret `lost` for `pay`: the drawer is empty"),
            ("secret://tiny", "it has 7 bytes, and must have 8 to 65536"),
            ("secret://huge", "it has 65537 bytes"),
            ("secret://other", "secret `other` may not be sent to `pay` by a step"),
            ("secret://", "`secret://` names no secret"),
            ("secret://../etc/passwd", "names no secret"),
        ] {
            let refused = text(header).unwrap_err();
            assert!(refused.contains(why) && refused.ends_with("[SF523]"), "{header}: {refused}");
        }
        assert!(body(r#"["secret://a b"]"#).unwrap_err().contains("`secret://a b` names no secret"));
        assert!(body(r#"["secret://lost"]"#).unwrap_err().contains("the drawer is empty"));
        assert!(body("secret: no JSON").unwrap_err().contains("is no JSON"));
    }

    #[test]
    fn the_service_itself_may_use_any_secret() {
        let allowed = BTreeSet::new();
        let sources: [Arc<dyn Secrets>; 1] = [Arc::new(Drawer)];
        let mut vault = Vault::new("pay", &sources, &allowed);
        assert_eq!(vault.in_text("secret://token", Author::Target).unwrap(), "s3cret-token");
        assert!(vault.in_text("secret://token", Author::Step).is_err());
        let mut nowhere = Vault::new("pay", &[], &allowed);
        let refused = nowhere.in_text("secret://token", Author::Target).unwrap_err();
        assert!(refused.message.contains("no place for secrets"));
    }

    #[test]
    fn a_call_has_a_bounded_number_of_secrets() {
        struct Any;
        impl Secrets for Any {
            fn get(&self, name: &str) -> Result<Secret, NoSecret> {
                Ok(Secret::new(format!("value-of-{name}")))
            }
        }
        let sources: [Arc<dyn Secrets>; 1] = [Arc::new(Any)];
        let allowed = BTreeSet::new();
        let mut vault = Vault::new("pay", &sources, &allowed);
        for number in 0..MOST_SECRETS {
            vault.in_text(&format!("secret://s{number}"), Author::Target).unwrap();
        }
        assert!(vault.in_text("secret://s0", Author::Target).is_ok());
        let refused = vault.in_text("secret://more", Author::Target).unwrap_err();
        assert!(refused.message.contains("at most 16 secrets"));
    }

    #[test]
    fn the_names_in_a_text_are_found() {
        assert_eq!(names_in("a secret://b, secret://c.d!").collect::<Vec<_>>(), ["b", "c.d"]);
        assert_eq!(names_in("none").count(), 0);
    }
}
