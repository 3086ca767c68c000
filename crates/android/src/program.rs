use std::path::PathBuf;

use crate::error::PhoneError;
use crate::identity::Abi;

/// Environment variable with the folder of the programs for phones.
pub const PROGRAMS_VARIABLE: &str = "FLASHLAG_PHONE_PROGRAMS";

/// The program for a phone's instruction set: in the folder of [`PROGRAMS_VARIABLE`], beside this
/// program, or in `dist/` of the source that this program was built from.
pub fn program_for(abi: Abi) -> Result<PathBuf, PhoneError> {
    let named = std::env::var_os(PROGRAMS_VARIABLE).map(PathBuf::from);
    let looked = match named {
        Some(folder) => vec![folder],
        None => beside_this_program(),
    };
    let found = looked.iter().map(|folder| folder.join(abi.program())).find(|file| file.is_file());
    found.ok_or_else(|| PhoneError::NoProgram { name: abi.program().to_owned(), looked })
}

fn beside_this_program() -> Vec<PathBuf> {
    let Ok(program) = std::env::current_exe() else { return Vec::new() };
    let mut folders: Vec<PathBuf> = program.parent().map(PathBuf::from).into_iter().collect();
    // target/release/flashlag
    folders.extend(program.ancestors().nth(3).map(|source| source.join("dist")));
    folders
}
