//! Which tasks are looked for: read from an address, and given to the engine.

use std::time::Duration;

use steadfast::{Engine, Summary, TaskId, Tasks};
use steadfast_client::wire::filter::Filter;

use crate::extract::Params;
use crate::map::state::of_task;
use crate::problem::Refusal;
use crate::span::time;

/// What may stand behind the `?` of a list of tasks.
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it describes what is read by name")]
pub(crate) struct FilterParams {
    /// In this state; said more than once: in any of these.
    state: Option<Vec<steadfast_client::wire::state::TaskState>>,
    /// Of this workflow.
    workflow: Option<String>,
    /// Of this namespace.
    namespace: Option<String>,
    /// Submitted under this key.
    key: Option<String>,
    /// With a step at this service that has not ended, or has failed.
    service: Option<String>,
    /// Parked while the circuit of this service is open.
    parked_on: Option<String>,
    /// With this in the reason why they do not complete.
    reason: Option<String>,
    /// With this in the id, the key, the reason or the input.
    text: Option<String>,
    /// Submitted longer ago than this, such as `30m`.
    #[param(pattern = "^[0-9]+(ms|s|m|h|d)$", example = "30m")]
    older_than: Option<String>,
    /// Submitted at this time or later.
    #[param(format = DateTime)]
    from: Option<String>,
    /// With this label, as `name=value`; said more than once: with all of these.
    label: Option<Vec<String>>,
    /// Asked for by this task.
    #[param(format = "uuid")]
    parent: Option<String>,
}

/// What may stand behind the `?` of every list.
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it describes what is read by name")]
pub(crate) struct PageParams {
    /// At most so many; 100 where nothing is said.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// Where to go on: what the page before has said.
    cursor: Option<String>,
}

/// Takes what says which tasks are looked for.
pub(crate) fn read(params: &mut Params) -> Result<Filter, Refusal> {
    let mut filter = Filter::default();
    for state in params.all("state") {
        filter.states.push(state.parse().map_err(|error| Refusal::query("state", format!("{error}")))?);
    }
    for label in params.all("label") {
        let bad = || Refusal::query("label", "expected `name=value`");
        let (name, value) = label.split_once('=').ok_or_else(bad)?;
        let before = filter.labels.insert(name.to_owned(), value.to_owned());
        if before.is_some_and(|before| before != value) {
            return Err(Refusal::query("label", format!("no task has two values of `{name}`")));
        }
    }
    let age = params.span("older_than")?;
    filter.older_than_ms = age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
    filter.workflow = params.one("workflow")?;
    filter.namespace = params.one("namespace")?;
    filter.key = params.one("key")?;
    filter.service = params.one("service")?;
    filter.parked_on = params.one("parked_on")?;
    filter.reason = params.one("reason")?;
    filter.text = params.one("text")?;
    filter.from = params.one("from")?;
    filter.parent = params.one("parent")?;
    Ok(filter)
}

/// A slip in a filter: by its name, and what was expected.
type Slip = (&'static str, String);
/// Leaves out all tasks that do not have a text somewhere.
type Narrow = fn(Tasks, &str) -> Tasks;

/// The tasks that a filter stands for.
pub(crate) fn tasks(engine: &Engine, filter: &Filter) -> Result<Tasks, Slip> {
    let mut tasks = engine.tasks();
    for state in &filter.states {
        tasks = tasks.state(of_task(*state));
    }
    for (name, value) in &filter.labels {
        tasks = tasks.label(name, value);
    }
    let texts: [(&Option<String>, Narrow); 7] = [
        (&filter.workflow, Tasks::workflow),
        (&filter.namespace, Tasks::namespace),
        (&filter.key, |tasks, key| tasks.key(key)),
        (&filter.service, Tasks::service),
        (&filter.parked_on, Tasks::parked_on),
        (&filter.reason, Tasks::reason),
        (&filter.text, Tasks::text),
    ];
    for (text, narrow) in texts {
        if let Some(text) = text {
            tasks = narrow(tasks, text);
        }
    }
    if let Some(age) = filter.older_than_ms {
        tasks = tasks.older_than(Duration::from_millis(age));
    }
    if let Some(from) = &filter.from {
        tasks = tasks.from(time(from).map_err(|why| ("from", why))?);
    }
    if let Some(parent) = &filter.parent {
        tasks =
            tasks.parent(parent.parse().map_err(|error: steadfast::BadId| ("parent", error.to_string()))?);
    }
    Ok(tasks)
}

/// What a list says of one task. The engine finds tasks behind a place: this one is the first behind the place in front of it.
pub(crate) async fn look_up(engine: &Engine, id: TaskId) -> Result<Summary, Refusal> {
    let all = engine.tasks().most(1);
    let all = match id.as_u128().checked_add(1) {
        Some(next) => all.behind(TaskId::from_u128(next)),
        None => all,
    };
    let found = all.await?.tasks.into_iter().next().filter(|task| task.id == id);
    match found {
        Some(task) => Ok(task),
        // The engine says it in its own words.
        None => match engine.any_task(id).await {
            Err(error) => Err(error.into()),
            Ok(_) => Err(Refusal::overloaded("the task is just being stored")),
        },
    }
}
