use std::io::Write;
use std::sync::Arc;

use anyhow::Result;
use flashlag_runner::android::be_on_the_phone;

use crate::args::OnPhoneArgs;
use crate::exit::Exit;
use crate::signals::stop_flag;

/// The phone's end of a run on a phone.
pub fn on_phone(args: &OnPhoneArgs) -> Result<Exit> {
    let mut line = |text: &str| {
        let mut output = std::io::stdout().lock();
        writeln!(output, "{text}")?;
        output.flush()
    };
    // A question ends with the cable, by the signals that end any program; a run is stopped by them.
    let stop = if args.question == "run" { stop_flag()? } else { Arc::default() };
    be_on_the_phone(&args.question, &args.folder, args.after, &stop, &mut line)?;
    Ok(Exit::Done)
}
