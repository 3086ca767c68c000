//! The flashlag command: parse, plan, run, show.
#![forbid(unsafe_code)]

mod args;
mod command;
mod exit;
mod form;
mod limits;
mod observer;
#[cfg(any(feature = "parquet", feature = "sweep"))]
mod own;
mod results;
mod say;
mod signals;
mod simulator;
mod terminal;
mod typed;

use clap::{CommandFactory, FromArgMatches};

use args::{Cli, Command};
use exit::Exit;

fn main() -> std::process::ExitCode {
    limits::with_one_arena();
    limits::with_enough_stack(all)
}

fn all() -> std::process::ExitCode {
    // Set by build.rs. Must come before the branch of the lab's guest, which runs this program too.
    if let Some(commit) = option_env!("FLASHLAG_COMMIT") {
        flashlag_runner::set_commit(commit);
    }
    #[cfg(feature = "lab")]
    if let Some(ended) = flashlag_runner::lab::be_the_guest() {
        return ended;
    }
    if !flashlag_seccomp::programs_can_start() {
        flashlag_inspect::start_no_programs();
    }
    let cli = match typed_words() {
        Ok(cli) => cli,
        Err(error) => return not_a_command(error),
    };
    // If this fails, a file over the limit ends the program by a signal, as usual.
    let _ = signals::long_files_are_errors();
    let terminal = terminal::Terminal::detect(cli.quiet, cli.verbose);
    if cli.command.takes_memory()
        && let Some(reason) = limits::too_little_memory()
    {
        say::error(&reason, None);
        return Exit::CouldNotRun.into();
    }
    let done = carry_out(cli.command, &terminal);
    match done {
        Ok(exit) => exit.into(),
        Err(error) if exit::is_closed_pipe(&error) => Exit::Done.into(),
        Err(error) => {
            let command = error.downcast_ref::<typed::Suggestion>();
            let command = command.map(|suggestion| suggestion.command.as_str());
            say::error(&terminal::one_paragraph(&error), command);
            signals::exit_status().map_or_else(|| Exit::CouldNotRun.into(), Into::into)
        }
    }
}

fn carry_out(command: Command, terminal: &terminal::Terminal) -> anyhow::Result<Exit> {
    match command {
        Command::Run(args) => command::run::run(&args, terminal),
        Command::Compare(args) => command::compare::compare(&args, terminal),
        Command::Report(args) => command::report::report(&args, terminal),
        Command::Verify(args) => command::verify::verify(&args),
        Command::Share(args) => command::share::share(&args),
        Command::Bug(args) => command::bug::bug(&args),
        #[cfg(feature = "site")]
        Command::Site(args) => command::site::site(&args),
        #[cfg(feature = "site")]
        Command::Store(args) => command::store::store(&args, terminal),
        Command::Explain(args) => command::explain::explain(&args, terminal),
        Command::Trace(args) => command::trace::trace(&args, terminal),
        Command::Watch(args) => command::watch::watch(&args, terminal),
        Command::Predict(args) => command::predict::predict(&args, terminal),
        #[cfg(feature = "fit")]
        Command::Fit(args) => command::fit::fit(&args, terminal),
        #[cfg(feature = "sweep")]
        Command::Sweep(args) => command::sweep::sweep(&args, terminal),
        Command::Profiles(args) => command::profiles::profiles(&args, terminal),
        #[cfg(feature = "lab")]
        Command::Cuts(args) => command::cuts::cuts(&args, terminal),
        #[cfg(feature = "lab")]
        Command::Device(args) => command::device::device(&args, terminal),
        Command::Scenarios(args) => command::scenarios::scenarios(&args, terminal),
        Command::Schema => command::schema::schema(),
        Command::Clean(args) => command::clean::clean(&args),
        Command::Completions(args) => command::completions::completions(&args),
        #[cfg(feature = "man")]
        Command::ManPages(args) => command::man_pages::man_pages(&args),
        Command::OnPhone(args) => command::on_phone::on_phone(&args),
        #[cfg(feature = "sweep")]
        Command::SweepWorker => command::sweep::be_a_worker(),
        #[cfg(feature = "parquet")]
        Command::TableReader { table } => command::compare_with::be_a_reader(&table),
    }
}

/// The command line as typed.
fn typed_words() -> Result<Cli, clap::Error> {
    let mut command = args::grouped(Cli::command());
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Prints help or an error of the arguments, which may contain control characters of file names.
fn not_a_command(mut error: clap::Error) -> std::process::ExitCode {
    if let Some(reason) = args::no_number(&error) {
        say::error(&reason, None);
        return Exit::CouldNotRun.into();
    }
    if error.kind() == clap::error::ErrorKind::UnknownArgument {
        let words = std::env::args_os().skip(1);
        let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
        if let Some(reason) = args::option_of_others(&Cli::command(), &words, &error) {
            say::error(&reason, None);
            return Exit::CouldNotRun.into();
        }
        // No value here begins with a dash: `-- --option` is never what was meant.
        error.remove(clap::error::ContextKind::Suggested);
    }
    if let Some(name) = args::built_without(&error) {
        let reason = format!(
            "`{name}` is not in this program, which was built without it: a release has it, and so has \
             what this builds"
        );
        say::error(&reason, Some("make build"));
        return Exit::CouldNotRun.into();
    }
    let plain = |word: std::ffi::OsString| {
        word.to_str().is_some_and(|word| word.chars().all(flashlag_units::is_printable))
    };
    if error.use_stderr() && !std::env::args_os().all(plain) {
        // A line break may be part of a file name.
        let text = error.render().to_string();
        say::note(&text.split_whitespace().collect::<Vec<_>>().join(" "));
    } else {
        // An error here cannot be reported.
        let _ = error.print();
    }
    u8::try_from(error.exit_code()).unwrap_or(2).into()
}
