//! Messages that are posted to somebody's webhook: with an id, the time, and a signature, as Standard Webhooks has it
//! (<https://www.standardwebhooks.com>), so that receivers find a library for it in their language. One try; nothing of the answer is kept.

use std::fmt;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use http_body_util::Full;
use hyper::body::Bytes;
use sha2::Sha256;
use steadfast_runtime::Fault;

use crate::agent::{HttpAgent, Inner};
use crate::error::Code;
use crate::fault::{REDIRECTED, UNEXPECTED, no_answer, no_use, not_sent};
use crate::header::{WHO, written};
use crate::secret::{Author, REFERENCE, Vault};
use crate::target::{Lost, Ready};

/// The same each time that a message is posted: one that comes twice is recognised by it.
const ID: HeaderName = HeaderName::from_static("webhook-id");
/// When it was posted, in seconds since 1970: what is old was recorded and is played back.
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
/// `v1,` and the HMAC-SHA256 of `id.timestamp.body`, in base64.
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");
/// What services that repeat nothing look at.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// How keys begin that are bytes in base64, as generators of Standard Webhooks print them.
const KEY_PREFIX: &str = "whsec_";

/// A message that is to be posted.
#[derive(Clone)]
pub struct Post {
    /// To which target: to its address as it stands, with its headers.
    pub target: String,
    /// Its id: the same each time that it is posted. It has no dot and nothing that no header may have.
    pub id: String,
    /// What it says, in JSON. It goes out byte for byte.
    pub body: Vec<u8>,
    /// The secret that it is signed with, by its name.
    pub sign_with: Option<String>,
    /// How long the answer may take.
    pub within: Duration,
}

impl HttpAgent {
    /// Posts a message, once. Any status from 200 to 299 says that it was taken.
    ///
    /// # Errors
    /// It was not sent, not taken, or nobody knows. No secret is in the words.
    pub async fn post(&self, post: Post) -> Result<(), Fault> {
        let targets = self.targets();
        match targets.get(&post.target) {
            Some(target) => self.inner().post(target, post, wall()).await,
            None => Err(not_sent(Code::UnknownService, format_args!("there is no target `{}`", post.target))),
        }
    }
}

impl Inner {
    async fn post(&self, target: &Ready, post: Post, at: SystemTime) -> Result<(), Fault> {
        let mut vault = Vault::new(target.name(), self.secrets(), target.secrets());
        let within = post.within;
        let request = request(target, post, at, &mut vault)?;
        let scrub = vault.scrub(&[]);
        let answered = tokio::select! {
            biased;
            answered = target.client().send(request) => answered,
            () = self.clock().sleep(within) => Err(Lost::Late),
        };
        let taken = answered.map_err(|lost| no_answer(target, &lost)).and_then(|response| {
            let status = response.status();
            match status.as_u16() {
                200..=299 => Ok(()),
                code @ 300..=399 => Err(no_use(
                    REDIRECTED,
                    code,
                    Code::Redirected,
                    format_args!(
                        "`{}` answered {status}, and no redirect is followed: use the new address",
                        target.name()
                    ),
                )),
                code => Err(no_use(
                    UNEXPECTED,
                    code,
                    Code::Failed,
                    format_args!("`{}` answered {status}", target.name()),
                )),
            }
        });
        taken.map_err(|fault| Fault { message: scrub.text(fault.message).into_owned(), ..fault })
    }
}

fn request(
    target: &Ready,
    post: Post,
    at: SystemTime,
    vault: &mut Vault<'_>,
) -> Result<Request<Full<Bytes>>, Fault> {
    let Post { id, body, sign_with, .. } = post;
    let seconds = at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs().to_string();
    let mut headers: HeaderMap = written(target.headers(), Author::Target, vault)?.into_iter().collect();
    let mut ours = vec![(ID, id.clone()), (KEY, id.clone()), (TIMESTAMP, seconds.clone())];
    if let Some(name) = sign_with {
        let key = vault.in_text(&format!("{REFERENCE}{name}"), Author::Target)?.into_owned();
        let signature = signature(&key_of(&name, &key)?, &id, &seconds, &body);
        ours.push((SIGNATURE, signature));
    }
    for (name, value) in ours {
        let bad =
            |_| not_sent(Code::BadHeader, format_args!("what goes into `{name}` cannot be sent in a header"));
        headers.insert(name.clone(), HeaderValue::try_from(value).map_err(bad)?);
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.entry(USER_AGENT).or_insert(WHO);
    headers.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
    let uri = Uri::try_from(target.base().as_str()).map_err(|why| {
        not_sent(Code::BadRequest, format_args!("the address of `{}`: {why}", target.name()))
    })?;
    let mut request = Request::new(Full::from(body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    Ok(request)
}

/// The bytes of a key: those that the text stands for if it says so, otherwise its own.
fn key_of(name: &str, text: &str) -> Result<Vec<u8>, Fault> {
    match text.strip_prefix(KEY_PREFIX) {
        None => Ok(text.as_bytes().to_vec()),
        Some(coded) => BASE64.decode(coded).map_err(|_| {
            // Without the value.
            let words = format!("secret `{name}` begins with `{KEY_PREFIX}`, and what follows is no base64");
            not_sent(Code::NoSecret, words)
        }),
    }
}

fn signature(key: &[u8], id: &str, seconds: &str, body: &[u8]) -> String {
    // A key of any length is one for HMAC.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return String::new() };
    for part in [id.as_bytes(), b".", seconds.as_bytes(), b".", body] {
        mac.update(part);
    }
    format!("v1,{}", BASE64.encode(mac.finalize().into_bytes()))
}

/// The date and time of day, which a receiver compares with its own.
fn wall() -> SystemTime {
    #[expect(clippy::disallowed_methods, reason = "what is posted says when, by the clock on the wall")]
    SystemTime::now()
}

/// Without what it says: alerts have the words of services in them.
impl fmt::Debug for Post {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Post").field("target", &self.target).field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's reference libraries.
    #[test]
    fn a_signature_is_that_of_standard_webhooks() {
        let key = key_of("key", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let (id, seconds) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330");
        let made = signature(&key, id, seconds, br#"{"test": 2432232314}"#);
        assert_eq!(made, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_key_that_is_a_text_is_its_bytes_and_one_that_is_no_base64_is_refused() {
        assert_eq!(key_of("key", "plain text").unwrap(), b"plain text");
        let refused = key_of("pager-key", "whsec_***").unwrap_err().message;
        assert!(refused.contains("`pager-key`") && !refused.contains("***"), "{refused}");
    }

    #[test]
    fn each_part_of_a_message_is_signed() {
        let made = |key: &[u8], id, seconds, body: &[u8]| signature(key, id, seconds, body);
        let own = made(b"key", "id", "7", b"body");
        for other in [
            made(b"kez", "id", "7", b"body"),
            made(b"key", "ie", "7", b"body"),
            made(b"key", "id", "8", b"body"),
            made(b"key", "id", "7", b"bodz"),
        ] {
            assert_ne!(other, own);
        }
    }
}
