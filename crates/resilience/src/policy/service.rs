//! The policy of one service, as its file says.

use std::time::Duration;

use crate::breaker;
use crate::classify::Class;
use crate::limit;
use crate::pipeline::{Builder, OperationSettings, Pipeline};
use crate::problem::Findings;
use crate::retry::{self, BudgetBuilder, On};
use steadfast_form::Place;

/// How one service is called. `None` stands for the library's own default, but where it says otherwise.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) at: Place,
    /// Where its own keys stand.
    pub(super) places: Vec<(String, Place)>,
    pub(super) retry: Option<retry::Builder>,
    /// `None`: no breaker.
    pub(super) breaker: Option<breaker::Builder>,
    /// `None`: no budget.
    pub(super) budget: Option<BudgetBuilder>,
    /// `None`: no limit.
    pub(super) limit: Option<limit::Builder>,
    pub(super) attempt_timeout: Option<Duration>,
    pub(super) no_attempt_timeout: bool,
    pub(super) server_timeout: Option<Duration>,
    pub(super) complete_within: Option<Duration>,
    pub(super) idempotent: bool,
    pub(super) wait_for_breaker: bool,
    pub(super) sdk_retries: u32,
    pub(super) retry_despite_sdk: bool,
    pub(super) log_successes: bool,
    pub(super) reclassify: Vec<(On, Class)>,
    pub(super) facts: Facts,
}

/// A service and its operations.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) service: Service,
    pub(super) operations: Vec<(String, Operation)>,
}

impl Entry {
    /// The pipeline's settings.
    pub(super) fn builder(&self, name: &str) -> Builder {
        let operations = self.operations.iter().map(|(name, operation)| (name.clone(), operation.settings()));
        self.service.builder(name).operations(operations.collect())
    }
}

/// What one operation of a service does differently.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) at: Place,
    pub(super) places: Vec<(String, Place)>,
    pub(super) retry: Option<retry::Builder>,
    pub(super) attempt_timeout: Option<Duration>,
    pub(super) server_timeout: Option<Duration>,
    pub(super) complete_within: Option<Duration>,
    pub(super) idempotent: Option<bool>,
    pub(super) reclassify: Vec<(On, Class)>,
    pub(super) facts: Facts,
}

/// What is known about a service or operation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Facts {
    pub(super) calls_per_second: Option<f64>,
    pub(super) typical: Option<Duration>,
    pub(super) slowest_good: Option<Duration>,
    pub(super) restart: Option<Duration>,
    pub(super) callers_retry: u32,
}

impl Facts {
    /// These, and those behind where these say nothing.
    pub(super) fn or(self, behind: Self) -> Self {
        Self {
            calls_per_second: self.calls_per_second.or(behind.calls_per_second),
            typical: self.typical.or(behind.typical),
            slowest_good: self.slowest_good.or(behind.slowest_good),
            restart: self.restart.or(behind.restart),
            callers_retry: self.callers_retry.max(behind.callers_retry),
        }
    }
}

impl Service {
    /// Where a key stands; where the service does when it has the key from elsewhere.
    pub(super) fn place(&self, key: &str) -> Place {
        self.places.iter().find(|(known, _)| known == key).map_or(self.at, |(_, at)| *at)
    }

    /// The pipeline's settings without those of operations.
    pub(super) fn builder(&self, name: &str) -> Builder {
        let mut builder = Pipeline::builder(name);
        if let Some(retry) = &self.retry {
            builder = builder.retry(retry.clone());
        }
        builder = match &self.breaker {
            Some(breaker) => builder.breaker(breaker.clone()),
            None => builder.no_breaker(),
        };
        builder = match &self.budget {
            Some(budget) => builder.budget(budget.clone()),
            None => builder.no_budget(),
        };
        if let Some(limit) = &self.limit {
            builder = builder.limit(limit.clone());
        }
        builder = match self.attempt_timeout {
            Some(limit) => builder.attempt_timeout(limit),
            None if self.no_attempt_timeout => builder.no_attempt_timeout(),
            None => builder,
        };
        if let Some(limit) = self.server_timeout {
            builder = builder.server_timeout(limit);
        }
        if let Some(limit) = self.complete_within {
            builder = builder.complete_within(limit);
        }
        self.flags(builder)
    }

    fn flags(&self, mut builder: Builder) -> Builder {
        if !self.idempotent {
            builder = builder.not_idempotent();
        }
        if self.wait_for_breaker {
            builder = builder.wait_for_breaker();
        }
        if self.retry_despite_sdk {
            builder = builder.retry_despite_sdk();
        }
        if self.log_successes {
            builder = builder.log_successes();
        }
        builder.sdk_retries(self.sdk_retries).reclassify(self.reclassify.clone())
    }
}

impl Operation {
    /// The settings for a pipeline; they were checked when the file was read.
    fn settings(&self) -> OperationSettings {
        let retry = self.retry.clone().map(|retry| retry.build_within(true, &mut Findings::default()));
        OperationSettings {
            retry,
            attempt_timeout: self.attempt_timeout,
            server_timeout: self.server_timeout,
            complete_within: self.complete_within,
            idempotent: self.idempotent,
            reclassify: self.reclassify.clone(),
        }
    }

    /// The service as this operation finds it, to check the settings together.
    pub(super) fn as_service(&self, service: &Service) -> Service {
        Service {
            at: self.at,
            places: self.places.clone(),
            retry: self.retry.clone().or_else(|| service.retry.clone()),
            attempt_timeout: self.attempt_timeout.or(service.attempt_timeout),
            server_timeout: self.server_timeout.or(service.server_timeout),
            complete_within: self.complete_within.or(service.complete_within),
            idempotent: self.idempotent.unwrap_or(service.idempotent),
            facts: self.facts.or(service.facts),
            ..service.clone()
        }
    }
}
