//! A pipeline as a `tower::Layer`: a view of the same breaker and budget. It refuses in `call`, never in `poll_ready`,
//! because an error there would end a `Buffer` for good.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::attempt::Attempt;
use super::call::Call;
use super::run::{Execution, Operation};
use super::{Inner, Pipeline};
use crate::classify::{Classifier, ErrorsOnly, Judged};
use crate::error::Error;

/// Prepares a request for an attempt, such as putting the idempotency key into a header.
type Prepare<R> = Arc<dyn Fn(&mut R, &Attempt) + Send + Sync>;

/// What one request does differently.
type PerRequest<R> = Arc<dyn for<'p> Fn(&R, Call<'p>) -> Call<'p> + Send + Sync>;

/// Puts a pipeline around a `tower` service.
///
/// Requests are cloned for each attempt, and so is the service. Errors classify themselves; with
/// [`judge_responses`](Self::judge_responses) responses do too. A fallback is a layer of its own, around this one.
pub struct Layer<R, C = ErrorsOnly> {
    pipeline: Pipeline,
    classifier: C,
    prepare: Option<Prepare<R>>,
    per_request: Option<PerRequest<R>>,
}

impl Pipeline {
    /// This pipeline as a layer.
    #[must_use]
    pub fn layer<R>(&self) -> Layer<R> {
        Layer { pipeline: self.clone(), classifier: ErrorsOnly, prepare: None, per_request: None }
    }
}

impl<R, C> Layer<R, C> {
    /// Judges responses too: one that classifies as a failure is retried and counted.
    #[must_use]
    pub fn judge_responses(self) -> Layer<R, Judged> {
        self.classify_with(Judged)
    }

    /// Classifies outcomes with a classifier of your own.
    #[must_use]
    pub fn classify_with<D>(self, classifier: D) -> Layer<R, D> {
        Layer { pipeline: self.pipeline, classifier, prepare: self.prepare, per_request: self.per_request }
    }

    /// Settings for each request, as of [`Call`]: the breaker of its host, a deadline, whether it may be repeated.
    ///
    /// ```
    /// use steadfast_resilience::{Pipeline, pipeline::Layer};
    ///
    /// struct Request { method: &'static str }
    ///
    /// let layer: Layer<Request> = Pipeline::standard("stock").layer().per_request(|request: &Request, call| {
    ///     let call = call.named(request.method);
    ///     if request.method == "POST" { call.not_idempotent() } else { call }
    /// });
    /// ```
    #[must_use]
    pub fn per_request(
        mut self,
        settings: impl for<'p> Fn(&R, Call<'p>) -> Call<'p> + Send + Sync + 'static,
    ) -> Self {
        self.per_request = Some(Arc::new(settings));
        self
    }

    /// Prepares the request for each attempt, such as putting [`Attempt::key`] into a header.
    #[must_use]
    pub fn prepare(mut self, prepare: impl Fn(&mut R, &Attempt) + Send + Sync + 'static) -> Self {
        self.prepare = Some(Arc::new(prepare));
        self
    }
}

/// The bounds are those of the service that comes out, so that what is missing is named here and not far away.
impl<S, R, C> tower_layer::Layer<S> for Layer<R, C>
where
    S: tower_service::Service<R> + Clone,
    R: Clone,
    C: Classifier<S::Response, S::Error> + Clone,
{
    type Service = Service<S, R, C>;

    fn layer(&self, service: S) -> Self::Service {
        Service {
            service,
            pipeline: self.pipeline.clone(),
            classifier: self.classifier.clone(),
            prepare: self.prepare.clone(),
            per_request: self.per_request.clone(),
        }
    }
}

impl<R, C: Clone> Clone for Layer<R, C> {
    fn clone(&self) -> Self {
        Self {
            pipeline: self.pipeline.clone(),
            classifier: self.classifier.clone(),
            prepare: self.prepare.clone(),
            per_request: self.per_request.clone(),
        }
    }
}

impl<R, C> fmt::Debug for Layer<R, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layer").field("pipeline", &self.pipeline).finish_non_exhaustive()
    }
}

/// A `tower` service behind a pipeline.
pub struct Service<S, R, C = ErrorsOnly> {
    service: S,
    pipeline: Pipeline,
    classifier: C,
    prepare: Option<Prepare<R>>,
    per_request: Option<PerRequest<R>>,
}

impl<S, R, C> tower_service::Service<R> for Service<S, R, C>
where
    S: tower_service::Service<R> + Clone,
    R: Clone,
    C: Classifier<S::Response, S::Error> + Clone,
{
    type Response = S::Response;
    type Error = Error<S::Error>;
    type Future = ResponseFuture<S, R, C>;

    /// Always ready: the inner service is asked for each attempt, within its time limit.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: R) -> Self::Future {
        let options =
            self.per_request.as_ref().map(|settings| settings(&request, self.pipeline.call()).options);
        let attempts = Attempts { service: self.service.clone(), request, prepare: self.prepare.clone() };
        let pipeline = self.pipeline.source.share();
        ResponseFuture { execution: Execution::new(pipeline, options, attempts, self.classifier.clone()) }
    }
}

impl<S: Clone, R, C: Clone> Clone for Service<S, R, C> {
    fn clone(&self) -> Self {
        Self {
            service: self.service.clone(),
            pipeline: self.pipeline.clone(),
            classifier: self.classifier.clone(),
            prepare: self.prepare.clone(),
            per_request: self.per_request.clone(),
        }
    }
}

impl<S, R, C> fmt::Debug for Service<S, R, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("pipeline", &self.pipeline.name()).finish_non_exhaustive()
    }
}

/// Makes attempts of one request.
struct Attempts<S, R> {
    service: S,
    request: R,
    prepare: Option<Prepare<R>>,
}

impl<S, R> Operation<S::Response, S::Error> for Attempts<S, R>
where
    S: tower_service::Service<R> + Clone,
    R: Clone,
{
    type Future = ReadyThenCall<S, R>;

    fn attempt(&mut self, attempt: Attempt) -> Self::Future {
        let mut request = self.request.clone();
        if let Some(prepare) = &self.prepare {
            prepare(&mut request, &attempt);
        }
        ReadyThenCall { service: self.service.clone(), request: Some(request), response: None }
    }
}

pin_project! {
    /// Waits until the service is ready, then calls it: both within the attempt's time limit.
    struct ReadyThenCall<S, R>
    where
        S: tower_service::Service<R>,
    {
        service: S,
        request: Option<R>,
        #[pin]
        response: Option<S::Future>,
    }
}

impl<S, R> Future for ReadyThenCall<S, R>
where
    S: tower_service::Service<R>,
{
    type Output = Result<S::Response, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if this.request.is_some() {
            ready!(this.service.poll_ready(cx))?;
            if let Some(request) = this.request.take() {
                let response = this.service.call(request);
                this.response.set(Some(response));
            }
        }
        match this.response.as_pin_mut() {
            Some(response) => response.poll(cx),
            None => Poll::Pending,
        }
    }
}

pin_project! {
    /// A call through a [`Service`].
    #[must_use = "futures do nothing unless awaited"]
    pub struct ResponseFuture<S, R, C>
    where
        S: tower_service::Service<R>,
        S: Clone,
        R: Clone,
    {
        #[pin]
        execution: Execution<Arc<Inner>, S::Response, S::Error, Attempts<S, R>, C>,
    }
}

impl<S, R, C> Future for ResponseFuture<S, R, C>
where
    S: tower_service::Service<R> + Clone,
    R: Clone,
    C: Classifier<S::Response, S::Error>,
{
    type Output = Result<S::Response, Error<S::Error>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().execution.poll(cx)
    }
}

impl<S, R, C> fmt::Debug for ResponseFuture<S, R, C>
where
    S: tower_service::Service<R> + Clone,
    R: Clone,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseFuture")
    }
}
