//! The command line as a whole: which nouns there are.

use clap::{Parser, Subcommand};

use crate::global::Global;
use crate::{
    audit, breaker, bulk, completions, config, demo, policy, schedule, serve, service, store, task, workflow,
};

/// Work across services that fail: every task completes as a whole, is undone as a whole, or waits for you with the reason.
#[derive(Parser)]
#[command(name = "steadfast", version, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  steadfast task submit place-order --input @order.json --wait
  steadfast task list --state failed --service payments
  steadfast task why 0192f3a0
  steadfast breaker open payments --for 10m --because \"provider maintenance\"

Results go to stdout, everything else to stderr.
Ends with 0 when all went well, 1 when it did not, 2 for a bad command line, 3 when a task was undone, 4 when it has
failed, 5 when it has not ended in time, 6 when the server cannot be reached, 130 after Ctrl-C.")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a server until it is told to stop
    ///
    /// Its settings are in steadfast.toml, and everything has a default: without a file it listens on
    /// 127.0.0.1:7171 and keeps its store in the folder steadfast-data. STEADFAST_* variables win over
    /// the file, and the options below over those. A changed file is taken over while it works.
    ///
    /// Examples:
    ///   steadfast serve
    ///   steadfast serve --config /etc/steadfast/steadfast.toml
    ///   steadfast serve --data /var/lib/steadfast --workflows ./workflows
    #[command(verbatim_doc_comment)]
    Serve(serve::Args),
    /// Look at a server's settings before they are used
    #[command(subcommand)]
    Config(config::Config),
    /// Submit tasks, find them, see why they do not move, and repair them
    #[command(subcommand)]
    Task(task::Task),
    /// Ask the same of many tasks: looked at first, then begun at a rate
    #[command(subcommand)]
    Bulk(bulk::Bulk),
    /// Check workflow files, hand them in, and see them drawn
    #[command(subcommand)]
    Workflow(workflow::Workflow),
    /// See the services that steps call
    #[command(subcommand)]
    Service(service::Service),
    /// See circuit breakers, and set them by hand
    #[command(subcommand)]
    Breaker(breaker::Breaker),
    /// Check policy files, see what they do in an outage, and which are in force
    #[command(subcommand)]
    Policy(policy::Policy),
    /// See what operators have done
    #[command(subcommand)]
    Audit(audit::Audit),
    /// See and set recurring work
    #[command(subcommand)]
    Schedule(schedule::Schedule),
    /// Copy the server's store, and check it
    #[command(subcommand)]
    Store(store::Store),
    /// Print the completions of a shell
    ///
    /// Examples:
    ///   steadfast completions bash > ~/.local/share/bash-completion/completions/steadfast
    ///   steadfast completions zsh > ~/.zfunc/_steadfast
    #[command(verbatim_doc_comment)]
    Completions(completions::Args),
    /// Open a shop on a server of its own, and tell a story of services that fail (about a minute)
    ///
    /// Starts everything in this process, with nothing to install: three web services that misbehave by
    /// a script, a server with the embedded store, a storefront to place orders on. Then traffic comes,
    /// a service is slow, payments is away and comes back, a card is declined, an order cannot be sent
    /// and is repaired by an operator. In the end the services' own books are compared with the orders.
    /// The story goes to stderr, the figures to stdout. It ends with 0 if all was as promised, with 1 if
    /// not. Without --for the shop then stays open until Ctrl-C.
    ///
    /// The storefront is on port 7180, the API on 7171, the services on any free ports of 127.0.0.1.
    ///
    /// Examples:
    ///   steadfast demo
    ///   steadfast demo --for 60s --json
    ///   steadfast demo --port 0 --api-port 0 --data ./shop
    #[command(verbatim_doc_comment)]
    Demo(demo::Args),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_makes_sense_to_clap() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_examples_in_its_help() {
        let mut without = Vec::new();
        let mut seen = 0;
        look(&mut Cli::command(), "", &mut |path, command| {
            seen += 1;
            let help = command.render_long_help().to_string();
            if !help.contains(&format!("Examples:\n  {path}")) {
                without.push(path.to_owned());
            }
        });
        assert!(seen > 50, "{seen}");
        assert_eq!(without, Vec::<String>::new());
    }

    /// Every command that is none of only nouns.
    fn look(command: &mut clap::Command, path: &str, see: &mut impl FnMut(&str, &mut clap::Command)) {
        let path = format!("{path} {}", command.get_name()).trim().to_owned();
        if command.get_subcommands().next().is_none() {
            see(&path, command);
        }
        command.get_subcommands_mut().for_each(|part| look(part, &path, see));
    }
}
