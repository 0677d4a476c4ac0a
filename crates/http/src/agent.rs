//! The agent: one request, and what its answer means.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use http::{Method, Request, Uri};
use http_body_util::Full;
use hyper::body::Bytes;
use serde_json::Value;
use steadfast_resilience::clock::Clock;
use steadfast_runtime::{CallbackId, Fault};

use crate::answer::{self, Answer};
use crate::error::{Code, Error};
use crate::fault::{MOST_NAME, no_answer, not_sent, shortened};
use crate::header::headers_of;
use crate::path::url_of;
use crate::secret::{MIN_SECRET, REFERENCE, Scrub, Secret, Secrets, Vault};
use crate::target::{Lost, Ready, Target, Targets};
use steadfast_flow::{Agent, Call, Calling, Reply};

/// How long after its attempt's time a request ends by itself. The pipeline around it ends it at that time; this is for those
/// who call without one, and must not be first: at its complete-by an agent falls silent.
const BEHIND: Duration = Duration::from_millis(500);
/// How long a request may take whose attempt has no limit.
const UNTIMED: Duration = Duration::from_secs(10 * 60);

/// The methods that steps may use. `CONNECT` and `TRACE` are for proxies.
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

/// Gives the headers of the trace that a call belongs to, such as `traceparent` and `tracestate`.
pub type Trace = Arc<dyn Fn(&Call) -> Vec<(String, String)> + Send + Sync>;

/// Calls services over HTTP.
///
/// ```
/// use steadfast_http::{EnvSecrets, FolderSecrets, HttpAgent, Target};
///
/// # fn main() -> Result<(), steadfast_http::Error> {
/// let agent = HttpAgent::builder()
///     .secrets(EnvSecrets)
///     .secrets(FolderSecrets::new("/run/secrets"))
///     .target("payments", Target::new("http://payments:8080/v2").header("X-Api-Key", "secret://payments-key"))
///     .target("stock", Target::new("http://stock:8080"))
///     .build()?;
///
/// // Later, with other settings: all at once, and calls under way end as they began.
/// agent.set([("payments".to_owned(), Target::new("http://payments-2:8080/v2"))])?;
/// assert_eq!(agent.services(), ["payments"]);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct HttpAgent {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    targets: ArcSwap<Targets>,
    secrets: Vec<Arc<dyn Secrets>>,
    trace: Option<Trace>,
    clock: Clock,
    /// What URLs begin with at which services may answer later.
    callbacks: ArcSwapOption<String>,
}

impl HttpAgent {
    /// An agent without any service.
    pub fn builder() -> Builder {
        let (targets, secrets) = (Vec::new(), Vec::new());
        Builder { targets, secrets, trace: None, clock: Clock::system(), callbacks: None }
    }

    /// Takes these services in place of all that it had, at once; a call that is under way ends with what it began with. A
    /// service whose connections are made as before keeps them.
    ///
    /// # Errors
    /// All that is wrong with them. Then nothing has changed.
    pub fn set(&self, targets: impl IntoIterator<Item = (String, Target)>) -> Result<(), Error> {
        let ready = Targets::ready(targets, &self.inner.targets.load())?;
        self.inner.targets.store(Arc::new(ready));
        Ok(())
    }

    pub(crate) fn targets(&self) -> Arc<Targets> {
        self.inner.targets.load_full()
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }

    /// What URLs begin with at which services may answer later, such as `https://me/callbacks/`; without one, no step can be
    /// answered later. Whoever listens there hands what comes to the engine.
    pub fn set_callbacks(&self, prefix: Option<String>) {
        self.inner.callbacks.store(prefix.map(Arc::new));
    }

    /// What a service has sent by itself, such as with a callback, without any secret that the services here are sent.
    #[must_use]
    pub fn without_secrets(&self, value: Value) -> Value {
        let targets = self.inner.targets.load_full();
        let of = |target: &Ready| {
            Vault::new(target.name(), &self.inner.secrets, target.secrets()).all(target.headers())
        };
        let secrets: Vec<_> = targets.all().flat_map(of).collect();
        Scrub::of(secrets.iter().map(Secret::expose)).value(value)
    }

    /// The names of its services, in order.
    #[must_use]
    pub fn services(&self) -> Vec<String> {
        self.inner.targets.load().names().map(str::to_owned).collect()
    }
}

impl fmt::Debug for HttpAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpAgent").field("services", &self.services()).finish_non_exhaustive()
    }
}

/// Builds an [`HttpAgent`].
#[must_use = "nothing is built until `build` is called"]
pub struct Builder {
    targets: Vec<(String, Target)>,
    secrets: Vec<Arc<dyn Secrets>>,
    trace: Option<Trace>,
    clock: Clock,
    callbacks: Option<String>,
}

impl Builder {
    /// One more service.
    pub fn target(mut self, name: impl Into<String>, target: Target) -> Self {
        self.targets.push((name.into(), target));
        self
    }

    /// A place where secrets are. With several, each is asked until one has it.
    pub fn secrets(mut self, secrets: impl Secrets + 'static) -> Self {
        self.secrets.push(Arc::new(secrets));
        self
    }

    /// Gives the headers of the trace that a call belongs to, for programs that make spans of calls. Without it the trace that the task
    /// came with is passed on ([`Call::trace`]). What cannot be sent of them is left out.
    pub fn trace(mut self, trace: Trace) -> Self {
        self.trace = Some(trace);
        self
    }

    /// What URLs begin with at which services may answer later: see [`HttpAgent::set_callbacks`].
    pub fn callbacks(mut self, prefix: impl Into<String>) -> Self {
        self.callbacks = Some(prefix.into());
        self
    }

    /// Where the time comes from. Default: the machine's.
    pub fn clock(mut self, clock: impl Into<Clock>) -> Self {
        self.clock = clock.into();
        self
    }

    /// The agent.
    ///
    /// # Errors
    /// All that is wrong with its services.
    pub fn build(self) -> Result<HttpAgent, Error> {
        let Self { targets, secrets, trace, clock, callbacks } = self;
        let targets = Targets::ready(targets, &Targets::default())?;
        let callbacks = ArcSwapOption::from_pointee(callbacks);
        let inner = Inner { targets: ArcSwap::from_pointee(targets), secrets, trace, clock, callbacks };
        Ok(HttpAgent { inner: Arc::new(inner) })
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("targets", &self.targets).finish_non_exhaustive()
    }
}

impl Agent for HttpAgent {
    fn call(&self, call: Call) -> Calling {
        let (inner, targets) = (Arc::clone(&self.inner), self.inner.targets.load_full());
        Box::pin(async move {
            match targets.get(&call.service) {
                Some(target) => inner.one_try(target, call).await,
                None => Err(unknown(&call.service, &targets)),
            }
        })
    }

    fn callback_url(&self, end: &CallbackId) -> Option<String> {
        self.inner.callbacks.load().as_deref().map(|prefix| format!("{prefix}{end}"))
    }
}

impl Inner {
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(crate) fn secrets(&self) -> &[Arc<dyn Secrets>] {
        &self.secrets
    }

    async fn one_try(&self, target: &Ready, mut call: Call) -> Result<Reply, Fault> {
        let (request, scrub) = self.request(target, &mut call)?;
        let within = call.attempt.time_left().map_or(UNTIMED, |left| left.saturating_add(BEHIND));
        let mut late = pin!(self.clock.sleep(within));
        let sent = tokio::select! {
            biased;
            sent = target.client().send(request) => sent,
            () = late.as_mut() => Err(Lost::Late),
        };
        let answered = match sent.map(|response| Answer::new(response, late)) {
            Ok(answer) if call.expect.includes(answer.status().as_u16()) => {
                answer::expected(&call, answer, target.max_response(), &scrub).await
            }
            // Apart: the calls that succeed do not carry the room that this takes.
            Ok(answer) => Err(Box::pin(answer::unexpected(&call, answer, &scrub, &self.clock)).await),
            Err(lost) => Err(no_answer(target, &lost)),
        };
        // Once more over the whole: whatever is put into a message, no secret is.
        answered.map_err(|fault| Fault { message: scrub.text(fault.message).into_owned(), ..fault })
    }

    /// The request as it is sent, and what takes its secrets out of texts.
    fn request(&self, target: &Ready, call: &mut Call) -> Result<(Request<Full<Bytes>>, Scrub), Fault> {
        let method = method_of(&call.method)?;
        if let Some((name, _)) = call.query.iter().find(|(_, value)| value.starts_with(REFERENCE)) {
            let name = shortened(name, MOST_NAME);
            let words = format!(
                "query `{name}` refers to a secret, and URLs are logged everywhere: send it in a header"
            );
            return Err(not_sent(Code::NoSecret, words));
        }
        let bad = |why: &dyn fmt::Display| {
            not_sent(Code::BadRequest, format_args!("for `{}`: {why}", call.service))
        };
        let url = url_of(target.base(), &call.path, &call.query).map_err(|why| bad(&why))?;
        let uri = Uri::try_from(String::from(url)).map_err(|why| bad(&why))?;
        let mut vault = Vault::new(target.name(), &self.secrets, target.secrets());
        let trace = self.trace.as_ref().map_or_else(|| trace_headers(call), |trace| trace(call));
        let headers = headers_of(call, target, trace, &mut vault)?;
        let body = match call.body.take() {
            Some(body) => body_of(target, body, &mut vault)?,
            None => Vec::new(),
        };
        let mut request = Request::new(Full::from(body));
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        // Whoever knows the end of this URL may answer for the step.
        let end = call.callback.as_deref().and_then(|url| url.rsplit('/').next());
        let scrub = match end.filter(|end| end.len() >= MIN_SECRET) {
            Some(end) => vault.scrub(&[end, &end.to_ascii_uppercase()]),
            None => vault.scrub(&[]),
        };
        Ok((request, scrub))
    }
}

/// The headers of the trace that a call belongs to, where nobody makes spans of calls: the same trace, and a span for each try. Its id is
/// made of the try's key and numbers, so that it is another one for each.
#[must_use]
pub fn trace_headers(call: &Call) -> Vec<(String, String)> {
    let Some(trace) = &call.trace else { return Vec::new() };
    let key = call.key.member(&format!("span {}.{}", call.number, call.attempt.number()));
    #[expect(clippy::cast_possible_truncation, reason = "half of the key is enough")]
    let span = (key.as_u128() as u64).max(1);
    let state = trace.state().map(|state| ("tracestate".to_owned(), state.to_owned()));
    [("traceparent".to_owned(), trace.traceparent(span))].into_iter().chain(state).collect()
}

fn method_of(method: &str) -> Result<Method, Fault> {
    let known = METHODS.contains(&method).then(|| Method::from_bytes(method.as_bytes()).ok()).flatten();
    known.ok_or_else(|| {
        let method = shortened(method, MOST_NAME);
        not_sent(
            Code::BadRequest,
            format_args!("`{method}` is no method for a step: use one of {}", METHODS.join(", ")),
        )
    })
}

/// The body as it is sent, with secrets in it, if it is not too large.
fn body_of(target: &Ready, body: Vec<u8>, vault: &mut Vault<'_>) -> Result<Vec<u8>, Fault> {
    let (most, service) = (target.max_request(), target.name());
    let check = |body: &[u8]| match body.len() {
        size if size > most => {
            let words = format!(
                "the body for `{service}` has {size} bytes, at most {most} are allowed: send less, or raise `max_request` \
                 of the service"
            );
            Err(not_sent(Code::RequestTooLarge, words))
        }
        _ => Ok(()),
    };
    check(&body)?;
    let body = vault.in_body(body)?;
    check(&body)?;
    Ok(body)
}

fn unknown(service: &str, targets: &Targets) -> Fault {
    let known: Vec<_> = targets.names().collect();
    let known = match known.is_empty() {
        true => "there are none".to_owned(),
        false => format!("there are {}", shortened(&known.join(", "), MOST_NAME * 2)),
    };
    let service = shortened(service, MOST_NAME);
    not_sent(Code::UnknownService, format_args!("there is no service `{service}`: {known}"))
}
