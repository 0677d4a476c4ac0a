//! The audit log: what operators have done.

use axum::Json;
use axum::extract::State as Has;
use steadfast::{AuditId, Audited, TaskId};
use steadfast_client::wire::audit::Audits;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::filter::PageParams;
use super::task::{MOST, SOME};
use crate::cursor::List;
use crate::extract::Params;
use crate::map;
use crate::problem::Refusal;
use crate::state::State;

/// How many entries are read at a time.
const READ: usize = 1_000;
/// The most entries that one request looks through: the next one goes on from there.
const LOOKED_THROUGH: usize = 20_000;

pub(crate) fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new().routes(routes!(audit))
}

/// What operators have done, newest first.
///
/// A page may be short, or empty, and have a cursor all the same: a request looks through so many entries and no more.
#[utoipa::path(
    get, path = "/audit", tag = "operators",
    params(
        ("task" = Option<String>, Query, format = "uuid", description = "About this task"),
        ("by" = Option<String>, Query, description = "By this person"),
        ("action" = Option<String>, Query, description = "Of this action, such as `retry`"),
        PageParams,
    ),
    responses((status = 200, description = "Some of it", body = Audits))
)]
async fn audit(Has(state): Has<State>, mut params: Params) -> Result<Json<Audits>, Refusal> {
    let (task, by, action) = (params.one("task")?, params.one("by")?, params.one("action")?);
    let list = List::new("audit", &format!("{task:?}{by:?}{action:?}"));
    let limit = params.limit(1..=MOST, SOME)?;
    let before = params.one("cursor")?.map(|cursor| list.take(&cursor)).transpose()?;
    params.done()?;
    let bad = |error: steadfast::BadId| Refusal::query("task", error.to_string());
    let task: Option<TaskId> = task.map(|id| id.parse().map_err(bad)).transpose()?;
    let is = |wanted: &Option<String>, own: &str| wanted.as_ref().is_none_or(|wanted| wanted == own);
    let wanted = |entry: &Audited| is(&by, &entry.audit.by) && is(&action, &entry.audit.action);
    let mut before = before.map(AuditId::from_u128);
    let (mut audits, mut looked, mut more) = (Vec::new(), 0, true);
    let operator = state.engine().operator("");
    while more && audits.len() < limit && looked < LOOKED_THROUGH {
        let read = operator.audits(task, before, READ).await?;
        more = read.len() >= READ;
        for entry in &read {
            if audits.len() >= limit {
                more = true;
                break;
            }
            (before, looked) = (Some(entry.audit.id), looked + 1);
            if wanted(entry) {
                audits.push(map::audit::audit(entry));
            }
        }
    }
    let cursor = before.filter(|_| more).map(|last| list.give(last.as_u128()));
    Ok(Json(Audits { audits, cursor }))
}
