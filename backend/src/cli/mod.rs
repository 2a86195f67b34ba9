//! The commands. Each combines parts of the backend, and ends with an exit code.

mod args;
mod audit;
mod begin;
mod browser;
mod complete;
mod completion;
mod exit;
mod explain;
mod export;
mod file;
mod judged;
mod judging;
mod kubectl;
mod lessons;
mod man;
mod open;
mod out;
mod page;
mod plugin;
mod pods;
mod record;
mod recorded;
mod replay;
mod serve;
mod signals;
mod simulate;
mod terminal;
mod threads;
mod version;
mod watch;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use tracing_subscriber::EnvFilter;

use self::args::{Command, TokenArgs};
use self::exit::Failure;
use self::file::Refused;
use self::threads::Threads;
use crate::control::{Folders, TokenRequest, token};
use crate::web::EmbeddedPage;

/// Runs the command line of this process, with the page in its binary and the commit that it was built from, if that is
/// known. Must be called outside of a Tokio runtime, because it makes one.
#[must_use]
pub fn run(page: EmbeddedPage, commit: Option<&'static str>) -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // Its words are an unfinished command line, which clap would refuse.
    if let [_, command, words @ ..] = arguments.as_slice()
        && command == complete::COMMAND
    {
        let completed = threads::block_on(Threads::One, complete::complete(words));
        return completed.map_or_else(
            |error| Failure::failed(error).report(),
            |()| ExitCode::SUCCESS,
        );
    }
    let cli = match file::parse(&arguments) {
        Ok(cli) => cli,
        Err(Refused::File(error)) => return Failure::usage(error).report(),
        Err(Refused::Clap(error)) => {
            // Help and version go to standard output and are no failure. A closed standard output is none either.
            let _ = error.print();
            let is_asked_for = matches!(
                error.kind(),
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
            );
            return if is_asked_for {
                ExitCode::SUCCESS
            } else {
                ExitCode::from(2)
            };
        }
    };
    log_to_stderr();
    let command = cli.command.unwrap_or(Command::Serve(cli.serve));
    let ended = threads::block_on(Threads::of(&command), execute(command, page, commit));
    match ended.unwrap_or_else(|error| Err(Failure::failed(error))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

async fn execute(
    command: Command,
    page: EmbeddedPage,
    commit: Option<&'static str>,
) -> Result<(), Failure> {
    match command {
        Command::Serve(args) => serve::serve(args, page).await,
        Command::Demo(args) => serve::demo(args, page).await,
        Command::Watch(args) => watch::watch(args).await,
        Command::Record(args) => record::record(args).await,
        Command::Replay(args) => replay::replay(args, page).await,
        Command::Export(args) => export::export(&args, page),
        Command::Audit(args) => audit::audit(args).await,
        Command::Simulate(args) => simulate::simulate(args).await,
        Command::Lessons(args) => lessons::lessons(&args),
        Command::Open(args) => open::open(args).await,
        Command::Token(args) => print_token(args).await,
        Command::Explain(args) => explain::explain(&args),
        Command::Version(args) => version::version(&args, commit),
        Command::Completion(args) => completion::completion(&args),
        Command::Man(args) => man::man(&args),
    }
}

/// Logs errors of watchscope itself to standard error. `RUST_LOG` sets the level.
fn log_to_stderr() {
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("watchscope=info"));
    let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let has_colours =
        is_terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let builder = tracing_subscriber::fmt()
        // The subscriber would report its own errors on standard error, and panic if that cannot be written. A full disk
        // must not end a task.
        .log_internal_errors(false)
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_ansi(has_colours);
    // A second initialisation in one process (tests) keeps the first.
    let _ = if is_terminal {
        builder.without_time().try_init()
    } else {
        builder.try_init()
    };
}

async fn print_token(args: TokenArgs) -> Result<(), Failure> {
    let base = match &args.url {
        None => None,
        Some(url) => Some(url.parse().map_err(Failure::usage)?),
    };
    let request = TokenRequest {
        revokes: args.revoke,
        port: args.listen,
        base,
    };
    let link = token(&Folders::of_this_user(), &request)
        .await
        .map_err(|error| Failure::new(error.exit_code(), error))?;
    out::print(&format!("{link}\n"))
}
