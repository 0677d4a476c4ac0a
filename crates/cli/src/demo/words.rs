//! What the demo says to people, to be pasted where it is a command.

use super::folder::Folder;
use super::premises::Premises;

/// Where a server is that nobody has to be told of.
const USUAL: &str = "http://127.0.0.1:7171";

/// Where to look.
pub(super) fn welcome(premises: &Premises, folder: &Folder) -> String {
    let services = premises.world().town().services();
    let ledgers: Vec<_> = services
        .iter()
        .map(|service| format!("  {:<12} {}/ledger", service.kind().name(), service.url()))
        .collect();
    let kept = if folder.is_temporary() { ", removed in the end" } else { "" };
    let steadfast = command(premises);
    format!(
        "A shop on a Steadfast server, with three services that misbehave by a script.

  storefront   {page}   place orders, make services fail
  API          {api}/api/v1
{ledgers}
  data         {data}{kept}

Ask the server from another terminal, in this folder:

  {steadfast} task list --state waiting
  {steadfast} task list --state failed
  {steadfast} breaker list
  {steadfast} workflow show place-order

The story:
",
        page = premises.storefront(),
        api = premises.server(),
        ledgers = ledgers.join("\n"),
        data = folder.path().display(),
    )
}

/// What to try once the story is over.
pub(super) fn stays_open(premises: &Premises) -> String {
    let steadfast = command(premises);
    format!(
        "
The shop stays open at {page} until Ctrl-C. Try this:

  - Make payments `down` on the page and place some orders. They wait, and say for what:
      {steadfast} task list --state waiting
    Make it `well` again: they go on by themselves.
  - Order a cursed-lamp. Nobody carries it, so it is left to you:
      {steadfast} task list --state failed
      {steadfast} task skip ID ship --because \"the customer has fetched it\"",
        page = premises.storefront(),
    )
}

/// How this program was called, and where its server is if that is not where everybody looks.
fn command(premises: &Premises) -> String {
    let program = std::env::args().next().unwrap_or_else(|| "steadfast".to_owned());
    match premises.server() {
        usual if usual == USUAL => program,
        other => format!("{program} --server {other}"),
    }
}
