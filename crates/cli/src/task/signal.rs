//! `steadfast task signal`.

use anyhow::Result;
use serde_json::json;
use steadfast_client::wire::submit::Signal;
use uuid::Uuid;

use crate::payload::Payload;
use crate::session::Session;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Its id, or the beginning or the end of it
    id: String,
    /// The name of the signal: a step waits for one of this name, or will
    name: String,
    /// What it says: JSON, @FILE, or - for stdin [default: null]
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    says: Option<Payload>,
    /// Whatever tells it from other signals: sent twice under one id, it counts once [default: a new one]
    #[arg(long = "id", value_name = "ID")]
    signal: Option<String>,
}

pub(crate) async fn run(args: &Args, session: &Session) -> Result<()> {
    let id = session.task_id(&args.id).await?;
    let says = Payload::read_or_null(args.says.as_ref()).await?;
    // With an id of its own it can be sent again when an answer is lost.
    let signal_id = args.signal.clone().unwrap_or_else(|| Uuid::now_v7().to_string());
    let signal = Signal { name: args.name.clone(), says, id: Some(signal_id.clone()) };
    session.answer(session.client.signal(&id, &signal)).await?;
    let told = json!({ "task": id, "name": args.name, "id": signal_id });
    session.out.show(&told, || format!("signal `{}` is stored for task {id}", args.name))
}
