//! The store: copies of it, and whether it is sound.

use axum::Extension;
use axum::Json as Answer;
use axum::extract::State as Has;
use steadfast_client::wire::store::{Backup, Finding, NewBackup, Verified};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::deed::{MaySayParams, Said};
use crate::extract::{Json, Params};
use crate::guard::Slot;
use crate::problem::Refusal;
use crate::state::State;

pub(crate) fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new().routes(routes!(back_up)).routes(routes!(verify))
}

/// Copies the store to a new file on the server's machine, while work goes on.
#[utoipa::path(
    post, path = "/store/backup", tag = "store", params(MaySayParams), request_body = NewBackup,
    responses(
        (status = 200, description = "It is copied", body = Backup),
        (status = 501, description = "A store in memory has no copies", body = steadfast_client::wire::problem::Problem, content_type = "application/problem+json"),
    )
)]
async fn back_up(
    Has(state): Has<State>,
    Extension(slot): Extension<Slot>,
    mut params: Params,
    Json(body): Json<NewBackup>,
) -> Result<Answer<Backup>, Refusal> {
    let said = Said::if_any(&mut params)?;
    params.done()?;
    if !std::path::Path::new(&body.to).is_absolute() {
        return Err(Refusal::body("to", "expected a whole path, such as `/var/backups/steadfast.db`"));
    }
    // It takes long, and keeps nobody else from working.
    slot.leave();
    let (operator, deed) = said.deed(&state, "store backup", "store");
    let done = operator.does(deed.with("to", body.to.as_str()), state.engine().backup(&body.to)).await?;
    let took_ms = u64::try_from(done.took.as_millis()).unwrap_or(u64::MAX);
    Ok(Answer(Backup { to: body.to, bytes: done.bytes, took_ms }))
}

/// Looks through the store for what contradicts itself. What is found is no error; nothing is changed.
#[utoipa::path(
    post, path = "/store/verify", tag = "store",
    responses((status = 200, description = "What was found", body = Verified))
)]
async fn verify(
    Has(state): Has<State>,
    Extension(slot): Extension<Slot>,
    params: Params,
) -> Result<Answer<Verified>, Refusal> {
    params.done()?;
    slot.leave();
    let report = state.engine().verify().await?;
    let finding = |finding: steadfast::Finding| Finding {
        task: finding.task.map(|task| task.to_string()),
        kind: format!("{:?}", finding.kind).to_lowercase(),
        words: finding.words,
    };
    Ok(Answer(Verified {
        looked_at: report.looked_at,
        findings: report.findings.into_iter().map(finding).collect(),
    }))
}
