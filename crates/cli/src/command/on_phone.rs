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
    // A question ends with the cable, by the signals that end any program; a run is stopped by them.
    let stop = if args.question == "run" { stop_flag()? } else { Arc::default() };
    be_on_the_phone(&args.question, &args.folder, args.after, &stop, &mut line)?;
    Ok(Exit::Done)
}
