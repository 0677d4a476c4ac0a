//! Circuit breakers: how they stand, what happened to them, and setting them by hand.

use std::time::Duration;

use axum::Json as Answer;
use axum::extract::State as Has;
use http::StatusCode;
use steadfast::{Deed, Operator, resilience};
use steadfast_client::wire::breaker::{Breaker, Breakers, Force, ForceOpen};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::operate::said;
use super::service::unknown;
use crate::code::Code;
use crate::extract::{Json, Params, Part};
use crate::map;
use crate::problem::Refusal;
use crate::state::State;

/// The longest time for which a breaker is held open with an end: a year. Who means longer means without an end.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3_600);

/// What is answered to something that is asked of a breaker.
type Told = Result<Answer<Breaker>, Refusal>;

pub(crate) fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new()
        .routes(routes!(breakers))
        .routes(routes!(breaker))
        .routes(routes!(open_breaker))
        .routes(routes!(close_breaker))
        .routes(routes!(half_open_breaker))
        .routes(routes!(reset_breaker))
        .routes(routes!(probe_breaker))
}

/// All breakers, without their histories.
#[utoipa::path(
    get, path = "/breakers", tag = "breakers",
    responses((status = 200, description = "They, by service", body = Breakers))
)]
async fn breakers(Has(state): Has<State>, params: Params) -> Result<Answer<Breakers>, Refusal> {
    params.done()?;
    let stored = state.engine().circuits().await?;
    let mut breakers = Vec::new();
    for service in state.house().services() {
        let own = state.house().pipeline(&service.name).and_then(|pipeline| pipeline.breaker());
        let Some(own) = own else { continue };
        let stored = stored.iter().find(|record| *record.service == *service.name);
        let mut told = map::breaker::breaker(&service.name, &own, stored);
        told.history.clear();
        breakers.push(told);
    }
    Ok(Answer(Breakers { breakers }))
}

/// The breaker of a service, with its history.
#[utoipa::path(
    get, path = "/breakers/{service}", tag = "breakers",
    params(("service" = String, Path, description = "The name of the service")),
    responses((status = 200, description = "The breaker", body = Breaker))
)]
async fn breaker(Has(state): Has<State>, Part(service): Part, params: Params) -> Told {
    params.done()?;
    let own = find(&state, &service)?;
    told(&state, &service, &own).await
}

/// Holds a breaker open.
///
/// Every call is refused, and work for the service is parked: for a while, or until somebody ends it.
#[utoipa::path(
    post, path = "/breakers/{service}/open", tag = "breakers",
    params(("service" = String, Path, description = "The name of the service")),
    request_body = ForceOpen,
    responses((status = 200, description = "It is held open", body = Breaker))
)]
async fn open_breaker(
    Has(state): Has<State>,
    Part(service): Part,
    params: Params,
    Json(body): Json<ForceOpen>,
) -> Told {
    params.done()?;
    let hand = Hand::of(&state, service, body.by, body.because)?;
    let time = body.for_ms.map(Duration::from_millis);
    if time.is_some_and(|time| time.is_zero() || time > LONGEST) {
        let message = format!("expected from 1 to {}, or nothing for no end", LONGEST.as_millis());
        return Err(Refusal::body("for_ms", message));
    }
    let deed = hand.deed("open").with("for_ms", body.for_ms);
    hand.set(deed, |own, by, because| own.force_open(time, by, because)).await
}

/// Holds a breaker closed: every call goes through and nothing trips it.
#[utoipa::path(
    post, path = "/breakers/{service}/close", tag = "breakers",
    params(("service" = String, Path, description = "The name of the service")),
    request_body = Force,
    responses((status = 200, description = "It is held closed", body = Breaker))
)]
async fn close_breaker(
    Has(state): Has<State>,
    Part(service): Part,
    params: Params,
    Json(body): Json<Force>,
) -> Told {
    params.done()?;
    let hand = Hand::of(&state, service, body.by, body.because)?;
    hand.set(hand.deed("close"), resilience::Breaker::force_closed).await
}

/// Lets probes through, however the breaker stands.
#[utoipa::path(
    post, path = "/breakers/{service}/half-open", tag = "breakers",
    params(("service" = String, Path, description = "The name of the service")),
    request_body = Force,
    responses((status = 200, description = "It is half-open", body = Breaker))
)]
async fn half_open_breaker(
    Has(state): Has<State>,
    Part(service): Part,
    params: Params,
    Json(body): Json<Force>,
) -> Told {
    params.done()?;
    let hand = Hand::of(&state, service, body.by, body.because)?;
    hand.set(hand.deed("half-open"), resilience::Breaker::half_open).await
}

/// Closes a breaker with all counts at zero, and ends whatever was forced.
#[utoipa::path(
    post, path = "/breakers/{service}/reset", tag = "breakers",
    params(("service" = String, Path, description = "The name of the service")),
    request_body = Force,
    responses((status = 200, description = "It is closed", body = Breaker))
)]
async fn reset_breaker(
    Has(state): Has<State>,
    Part(service): Part,
    params: Params,
    Json(body): Json<Force>,
) -> Told {
    params.done()?;
    let hand = Hand::of(&state, service, body.by, body.because)?;
    hand.set(hand.deed("reset"), resilience::Breaker::reset).await
}

/// Lets a breaker that is open probe now instead of later.
///
/// The next piece of work that is parked is the probe. One that is not open is left as it is, and that is refused.
#[utoipa::path(
    post, path = "/breakers/{service}/probe", tag = "breakers",
    params(("service" = String, Path, description = "The name of the service")),
    request_body = Force,
    responses((status = 200, description = "It probes", body = Breaker))
)]
async fn probe_breaker(
    Has(state): Has<State>,
    Part(service): Part,
    params: Params,
    Json(body): Json<Force>,
) -> Told {
    use resilience::breaker::State as S;
    params.done()?;
    let hand = Hand::of(&state, service, body.by, body.because)?;
    let (own, service) = (&hand.own, &hand.service);
    if !matches!(own.state(), S::Open | S::ForcedOpen) {
        let detail = format!(
            "the breaker of `{service}` is {}, and only one that is open has something to find out",
            own.state()
        );
        hand.operator().note(hand.deed("probe").refused(&detail)).await?;
        return Err(Refusal::new(StatusCode::CONFLICT, Code::Conflict, detail));
    }
    hand.set(hand.deed("probe"), resilience::Breaker::half_open).await
}

/// Somebody's hand on a breaker.
struct Hand<'s> {
    state: &'s State,
    service: String,
    own: resilience::Breaker,
    by: String,
    because: String,
}

impl<'s> Hand<'s> {
    fn of(state: &'s State, service: String, by: String, because: String) -> Result<Self, Refusal> {
        said(&by, &because)?;
        let own = find(state, &service)?;
        Ok(Self { state, service, own, by, because })
    }

    fn operator(&self) -> Operator {
        self.state.engine().operator(&self.by)
    }

    /// What is about to be done, with how the breaker stands.
    fn deed(&self, verb: &str) -> Deed {
        let (action, about) = (format!("breaker {verb}"), format!("service {}", self.service));
        let deed = self.operator().deed(&action, &about, &self.because);
        deed.with("before", map::snake(self.own.state().as_str()))
    }

    /// Does it. It is in the audit log first: what a breaker is told, it acts on at once.
    async fn set(&self, deed: Deed, act: impl FnOnce(&resilience::Breaker, String, String)) -> Told {
        let act = async {
            act(&self.own, self.by.clone(), self.because.clone());
            Ok::<_, Refusal>(())
        };
        self.operator().does(deed, act).await?;
        told(self.state, &self.service, &self.own).await
    }
}

fn find(state: &State, service: &str) -> Result<resilience::Breaker, Refusal> {
    let pipeline = state.house().pipeline(service).ok_or_else(|| unknown(state, service))?;
    pipeline.breaker().ok_or_else(|| {
        let detail = format!("service `{service}` has no breaker: its policy says so");
        Refusal::new(StatusCode::CONFLICT, Code::Conflict, detail)
    })
}

async fn told(state: &State, service: &str, own: &resilience::Breaker) -> Told {
    let stored = state.engine().circuits().await?;
    let stored = stored.iter().find(|record| *record.service == *service);
    Ok(Answer(map::breaker::breaker(service, own, stored)))
}
