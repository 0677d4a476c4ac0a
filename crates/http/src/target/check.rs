//! Whether a service can be called as it was set up.

use std::sync::Arc;
use std::time::Duration;

use url::Url;

use super::{MAX_BODY, Ready, Target};
use crate::error::{Code, Problem};
use crate::header::check_header;
use crate::secret::{is_secret_name, names_in};

/// The most that times can be set to: longer than any connection is worth waiting for or keeping.
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// The most unused connections: more than that many a machine has ports for beside others.
const MOST_IDLE: usize = 10_000;

/// A target that can be called, or all that is wrong with it. `before` is what this one takes the place of.
pub(super) fn check(
    name: &str,
    mut target: Target,
    before: Option<&Arc<Ready>>,
) -> Result<Ready, Vec<Problem>> {
    let mut found = Found { service: name, problems: Vec::new() };
    let base = found.base(&target.base_url);
    target.wire.tls = base.as_ref().is_some_and(|base| base.scheme() == "https");
    found.headers(&target);
    found.limits(&target);
    found.certificates(&target, base.as_ref());
    let Some(base) = base.filter(|_| found.problems.is_empty()) else { return Err(found.problems) };
    let client = match before.and_then(|before| before.client_for(&target)) {
        Some(client) => client,
        None => target.wire.client().map_err(|why| {
            found.add("base_url", why);
            std::mem::take(&mut found.problems)
        })?,
    };
    Ok(Ready { name: Arc::from(name), base, target, client })
}

/// One name for two services.
pub(super) fn twice(name: &str) -> Problem {
    let message = "there are two services of this name: take one out".to_owned();
    Problem { code: Code::BadTarget, service: name.to_owned(), setting: "name", message }
}

struct Found<'a> {
    service: &'a str,
    problems: Vec<Problem>,
}

impl Found<'_> {
    fn add(&mut self, setting: &'static str, message: impl Into<String>) {
        self.add_as(Code::BadTarget, setting, message.into());
    }

    fn add_as(&mut self, code: Code, setting: &'static str, message: String) {
        self.problems.push(Problem { code, service: self.service.to_owned(), setting, message });
    }

    /// The address, without what does not belong there. The text itself is not shown: it may have a password in it.
    fn base(&mut self, text: &str) -> Option<Url> {
        let before = self.problems.len();
        let url = match Url::parse(text) {
            Ok(url) => url,
            Err(error) => {
                self.add(
                    "base_url",
                    format!("it is no URL ({error}): write one such as `http://payments:8080/v2`"),
                );
                return None;
            }
        };
        match url.scheme() {
            "http" => {}
            "https" => self.tls(cfg!(feature = "tls")),
            other => {
                self.add("base_url", format!("`{other}://` cannot be called: use `http://` or `https://`"));
            }
        }
        if !url.username().is_empty() || url.password().is_some() {
            let words = "it has a user or password in it, which would be logged: send them in a header, such as \
                         `Authorization: Basic secret://NAME`";
            self.add("base_url", words);
        }
        if url.query().is_some() || url.fragment().is_some() {
            self.add("base_url", "it has a `?` or `#` in it: steps give a query with each call");
        }
        (self.problems.len() == before).then_some(url)
    }

    fn headers(&mut self, target: &Target) {
        for (name, value) in &target.headers {
            if let Err(why) = check_header(name, value) {
                self.add_as(Code::BadHeader, "headers", why);
            }
            for secret in names_in(value).filter(|secret| !is_secret_name(secret)) {
                self.add("headers", format!("header `{name}`: `secret://{secret}` names no secret"));
            }
        }
        for name in target.secrets.iter().filter(|name| !is_secret_name(name)) {
            self.add(
                "secrets",
                format!("`{name}` is no name of a secret: use letters, digits, `-`, `_` and `.`"),
            );
        }
    }

    fn limits(&mut self, target: &Target) {
        for (setting, bytes) in [("max_response", target.max_response), ("max_request", target.max_request)] {
            if !(1..=MAX_BODY).contains(&bytes) {
                self.add(setting, format!("{bytes} bytes are out of range: give 1 to {MAX_BODY}"));
            }
        }
        let wire = &target.wire;
        for (setting, time) in [("connect_timeout", wire.connect_timeout), ("idle_for", wire.idle_for)] {
            if time.is_zero() || time > LONGEST {
                self.add(
                    setting,
                    format!("{time:?} is out of range: give more than 0 and at most {LONGEST:?}"),
                );
            }
        }
        if wire.idle_connections > MOST_IDLE {
            self.add(
                "idle_connections",
                format!("{} are too many: give at most {MOST_IDLE}", wire.idle_connections),
            );
        }
    }

    /// Whether this program can speak it.
    fn tls(&mut self, can: bool) {
        if !can {
            let words = "this program was built without TLS: build it with the feature `tls` of `steadfast-http`, or use `http://`";
            self.add_as(Code::NoTls, "base_url", words.to_owned());
        }
    }

    /// Certificates are of use where TLS is spoken, and must be some.
    fn certificates(&mut self, target: &Target, base: Option<&Url>) {
        let pem = &target.wire.root_certificates;
        let Some(base) = base.filter(|_| !pem.is_empty()) else { return };
        if base.scheme() == "http" {
            let words = "nothing is encrypted with `http://`, so there is nothing to trust: use `https://`, or take this out";
            self.add("root_certificates", words);
        }
        #[cfg(feature = "tls")]
        if let Err(why) = super::trust::certificates(pem) {
            self.add("root_certificates", why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(target: Target) -> Vec<String> {
        match check("pay", target, None) {
            Ok(_) => Vec::new(),
            Err(found) => found.iter().map(ToString::to_string).collect(),
        }
    }

    #[track_caller]
    fn one(target: Target, expected: &str) {
        let found = problems(target);
        assert!(found.len() == 1 && found[0].contains(expected), "{found:?}");
    }

    #[test]
    fn an_address_that_cannot_be_called_is_refused_with_what_to_do() {
        for (url, why) in [
            ("", "it is no URL"),
            ("payments", "it is no URL"),
            ("payments:8080", "`payments://` cannot be called"),
            ("http://", "it is no URL"),
            ("ftp://payments", "`ftp://` cannot be called"),
            ("file:///etc/passwd", "`file://` cannot be called"),
            ("http://payments?a=b", "it has a `?` or `#`"),
            ("http://payments#a", "it has a `?` or `#`"),
            ("http://me@payments", "a user or password"),
        ] {
            one(Target::new(url), why);
        }
        let shown = problems(Target::new("http://me:hunter22@payments")).concat();
        assert!(shown.contains("service `pay`: base_url: ") && shown.ends_with("[SF520]"), "{shown}");
        assert!(!shown.contains("hunter22"), "{shown}");
        assert_eq!(problems(Target::new("http://payments:8080/v2/")), Vec::<String>::new());
    }

    #[test]
    fn https_without_tls_is_refused_with_what_to_do() {
        let mut found = Found { service: "pay", problems: Vec::new() };
        found.tls(true);
        assert!(found.problems.is_empty());
        found.tls(false);
        let told = found.problems[0].to_string();
        assert!(
            told.ends_with("build it with the feature `tls` of `steadfast-http`, or use `http://` [SF521]"),
            "{told}"
        );
        let of = |url| problems(Target::new(url)).concat().contains("SF521");
        assert_eq!((of("https://payments"), of("http://payments")), (cfg!(not(feature = "tls")), false));
    }

    #[test]
    fn certificates_without_tls_are_refused() {
        let found = problems(Target::new("http://payments").root_certificates("x"));
        assert!(found[0].contains("root_certificates: nothing is encrypted with `http://`"), "{found:?}");
    }

    #[test]
    fn limits_headers_and_secrets_that_make_no_sense_are_all_told_at_once() {
        let target = Target::new("nowhere")
            .max_response(0)
            .max_request(MAX_BODY + 1)
            .connect_timeout(Duration::ZERO)
            .idle_for(LONGEST * 2)
            .idle_connections(MOST_IDLE + 1)
            .header("Host", "x")
            .header("X-A", "secret://../a")
            .allow_secret("a/b");
        let found = problems(target);
        let settings = [
            "base_url",
            "headers",
            "headers",
            "secrets",
            "max_response",
            "max_request",
            "connect_timeout",
            "idle_for",
            "idle_connections",
        ];
        assert_eq!(found.len(), settings.len(), "{found:?}");
        for (problem, setting) in found.iter().zip(settings) {
            assert!(problem.starts_with(&format!("service `pay`: {setting}: ")), "{problem}");
        }
    }

    #[test]
    fn what_is_shown_of_a_target_has_no_values_of_headers() {
        let shown =
            format!("{:?}", Target::new("http://payments").header("Authorization", "Bearer hunter22"));
        assert!(shown.contains("Authorization") && !shown.contains("hunter22"), "{shown}");
    }
}
