use std::sync::Arc;

use anyhow::Result;
use flashlag_runner::android::be_on_the_phone;

use crate::args::OnPhoneArgs;
use crate::exit::Exit;
use crate::say;
use crate::signals::stop_flag;

/// The phone's end of a run on a phone.
pub fn on_phone(args: &OnPhoneArgs) -> Result<Exit> {
    let mut line = |text: &str| say::data(&format!("{text}\n")).map_err(std::io::Error::other);
    // A query ends when the cable is pulled, by the signals that end any program; the same signals
    // stop a run.
    let stop = if args.question == "run" { stop_flag()? } else { Arc::default() };
    be_on_the_phone(&args.question, &args.folder, args.after, &stop, &mut line)?;
    Ok(Exit::Done)
}
