//! `steadfast workflow apply`: files are handed to a server, which checks and stores them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use steadfast_client::wire::workflow::{Applied, Change, Format};
use steadfast_form::{Format as Language, Table as Keys};

use crate::exit;
use crate::session::Session;
use crate::show::{Table, plain};
use crate::talk;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Workflow files: .yaml, .yml or .json
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only ask what would be so, and store nothing
    #[arg(long)]
    dry_run: bool,
    /// Why, for the audit log
    #[arg(long, value_name = "WHY", default_value = "", hide_default_value = true)]
    because: String,
}

/// A file that is to be handed in.
struct Draft {
    name: String,
    text: String,
    format: Format,
}

pub(crate) async fn run(args: &Args, session: &Session) -> Result<ExitCode> {
    // All of them are read first, so that a slip of the pen in the last does not leave half of them applied.
    let drafts = args.files.iter().map(|path| read(path)).collect::<Result<Vec<_>>>()?;
    let client = session.client.saying(&session.by, &args.because);
    let (mut applied, mut code) = (Vec::new(), ExitCode::SUCCESS);
    for (path, draft) in args.files.iter().zip(&drafts) {
        let Draft { name, text, format } = draft;
        match session.answer(client.apply_workflow(name, text, *format, args.dry_run)).await {
            Ok(one) => applied.push(one),
            // One that is refused keeps nobody from knowing about the others.
            Err(error)
                if error
                    .downcast_ref::<steadfast_client::Error>()
                    .is_some_and(|error| error.problem().is_some()) =>
            {
                talk::line(&format!("{}:", path.display()));
                code = exit::tell(&error, session.out.json);
            }
            Err(error) => return Err(error),
        }
    }
    if !applied.is_empty() || session.out.json {
        session.out.show(&applied, || session.out.table(&table(&applied)))?;
    }
    for warning in applied.iter().flat_map(|one| &one.warnings) {
        talk::line(&format!("warning: {}", plain(warning)));
    }
    Ok(code)
}

/// A file with the name of its workflow, which is all that has to be known of it here.
fn read(path: &Path) -> Result<Draft> {
    let file = path.display();
    let format = match Language::of(path) {
        Some(Language::Yaml) => Format::Yaml,
        Some(Language::Json) => Format::Json,
        _ => bail!("{file}: a workflow file ends in .yaml, .yml or .json"),
    };
    let text = steadfast_form::read(path).map_err(|unread| match unread.at {
        Some(at) => anyhow!("{file}:{at}: {}", unread.message),
        None => anyhow!("{file}: {}", unread.message),
    })?;
    let language = if format == Format::Json { Language::Json } else { Language::Yaml };
    let tree = language.parse(&text).map_err(|wrong| anyhow!("{file}:{}: {}", wrong.at, wrong.message))?;
    let keys = Keys::of(&tree);
    let Some(name) = keys.word("workflow") else {
        bail!(
            "{file}:{}: workflow: missing: give the workflow a name, as in `workflow: place-order`",
            keys.place("workflow")
        )
    };
    Ok(Draft { name: name.to_owned(), text, format })
}

fn table(applied: &[Applied]) -> Table {
    let mut table = Table::new(["WORKFLOW", "VERSION", "CHANGE"]);
    for one in applied {
        let change = match (one.change, one.dry_run) {
            (Change::New, false) => "new",
            (Change::New, true) => "would be new",
            (Change::NewVersion, false) => "new version",
            (Change::NewVersion, true) => "would be a new version",
            (Change::Same, _) => "the same",
        };
        table.row([one.name.clone(), one.version.to_string(), change.to_owned()]);
    }
    table
}
