//! Explains a phone's storage with the flashlag on the phone.

use flashlag_android::{PhoneError, RunOnPhone, program_for, the_phone};
use flashlag_schema::finding::Explained;
use flashlag_spec::target::PhoneSpec;

use super::order::this_program;
use super::phone::about;
use crate::error::RunError;

/// Puts flashlag on a phone, has it examine the storage of a directory, and removes what was put
/// there. If a run is in progress on the phone, the program of that run is used. The subject of the
/// answer names the phone.
pub fn explain_phone(spec: &PhoneSpec) -> Result<Explained, RunError> {
    let refuse = |source: PhoneError| RunError::Phone { target: spec.to_string(), source };
    let (phone, way) = the_phone(&spec.choice).map_err(refuse)?;
    let on = RunOnPhone::new(way);
    let identity = on.place().identity().map_err(refuse)?;
    let mut explained = look(&on, identity.abi, spec.directory()).map_err(refuse)?;
    explained.subject = format!("{} on {}", spec.directory(), about(&phone, &identity));
    Ok(explained)
}

fn look(
    on: &RunOnPhone,
    abi: flashlag_android::Abi,
    directory: &str,
) -> Result<Explained, PhoneError> {
    if on.found()?.is_some() {
        return on.explain(directory);
    }
    let program = program_for(abi)?;
    let emptied = if on.claim()? { on.empty() } else { Ok(()) };
    let installed = emptied.and_then(|()| on.place().install(&program, &this_program()));
    let seen = installed.and_then(|()| on.explain(directory));
    // The removal may fail for the same reason, so the first error is reported.
    match (seen, on.remove()) {
        (Ok(_), Err(error)) => Err(error),
        (seen, _) => seen,
    }
}
