//! The only way to print to a terminal: every command uses these functions.
//!
//! The printed text contains file names, strings of run files and output of other programs. None of
//! them may move the cursor, set a title, change a colour or forge a line, so each function lets
//! through only what the text's own layout needs. A closed standard output is an error, which ends
//! the program quietly; standard error never fails.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use anyhow::Result;
use flashlag_schema::Run;
use flashlag_term::{Style, wrapped};
use flashlag_units::{is_printable, printable_line};

/// Prints the text of a view, with its lines and colours.
pub fn view(text: &str) -> Result<()> {
    write(&kept(text, Keeps { colors: true, tabs: false }))
}

/// Prints text of several lines.
pub fn text(text: &str) -> Result<()> {
    write(&kept(text, Keeps { colors: false, tabs: false }))
}

/// Prints one line; line breaks within it are replaced.
pub fn line(text: &str) -> Result<()> {
    write(&format!("{}\n", printable_line(text)))
}

/// Says on standard error of each run file that it was changed since it was written: its figures need no
/// longer be those that were measured.
pub fn changed<'a>(files: impl IntoIterator<Item = (&'a Path, &'a Run)>) {
    for (path, run) in files {
        let seal = &run.integrity.sha256;
        if !seal.is_empty() && *seal != run.checksum() {
            let name = path.display();
            sentence(&format!(
                "{name} was changed since it was written: `flashlag verify {name}` says whether its figures are \
                 still those that were measured"
            ));
        }
    }
}

/// Prints data for other programs: unchanged to a file or pipe, without control sequences to a
/// terminal.
pub fn data(text: &str) -> Result<()> {
    if io::stdout().is_terminal() {
        write(&kept(text, Keeps { colors: false, tabs: true }))
    } else {
        write(text)
    }
}

/// As [`data`], for text that is written piece by piece.
pub fn data_by(contents: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let stdout = io::stdout().lock();
    if stdout.is_terminal() {
        // Text for a terminal is not large.
        let mut text = Vec::new();
        contents(&mut text)?;
        drop(stdout);
        return data(&String::from_utf8_lossy(&text));
    }
    let mut to = BufWriter::with_capacity(1 << 16, stdout);
    contents(&mut to)?;
    to.flush()?;
    Ok(())
}

/// Standard output for messages between flashlag's own processes, which are not text. `command` starts them.
#[cfg(any(feature = "parquet", feature = "sweep"))]
pub fn pipe(command: &str) -> Result<io::StdoutLock<'static>> {
    let stdout = io::stdout();
    if stdout.is_terminal() {
        anyhow::bail!("flashlag itself starts this command: `flashlag {command}` does")
    } else {
        Ok(stdout.lock())
    }
}

/// Prints JSON. On a terminal, control characters within strings are escaped; the value is the same.
pub fn json(text: &str) -> Result<()> {
    if !io::stdout().is_terminal() {
        return write(text);
    }
    write(&escaped(text))
}

/// Prints one line on standard error.
pub fn note(text: &str) {
    notes(&printable_line(text));
}

/// Prints a message of flashlag on standard error: wrapped on a terminal, otherwise on one line.
pub fn sentence(text: &str) {
    let text = printable_line(&format!("flashlag: {text}"));
    if io::stderr().is_terminal() {
        notes(&flashlag_term::wrapped(&text, flashlag_term::Style::of_stderr().width))
    } else {
        notes(&text)
    }
}

/// Prints lines that are laid out already on standard error.
pub fn notes(text: &str) {
    let text = kept(text, Keeps { colors: false, tabs: false });
    // An error here cannot be reported: a full disk below a log must not end a run.
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Prints the text of a view on standard error, in addition to the output of a command.
pub fn view_beside(text: &str) {
    let text = kept(text, Keeps { colors: true, tabs: false });
    // As in [`note`], an error here cannot be reported.
    let _ = write!(io::stderr().lock(), "{text}");
}

/// The error that ends the program, as a wrapped paragraph. A suggested command follows on a line of
/// its own, unbroken, to be pasted.
pub fn error(paragraph: &str, command: Option<&str>) {
    let paragraph = format!("flashlag: {paragraph}");
    notes(&if io::stderr().is_terminal() {
        wrapped(&paragraph, Style::of_stderr().width)
    } else {
        printable_line(&paragraph)
    });
    if let Some(command) = command {
        note(&format!("  {command}"));
    }
}

/// Asks on standard error, without ending the line.
pub fn ask(question: &str) {
    let mut to = io::stderr().lock();
    let _ = write!(to, "{} ", printable_line(question)).and_then(|()| to.flush());
}

fn write(text: &str) -> Result<()> {
    let mut to = io::stdout().lock();
    to.write_all(text.as_bytes())?;
    to.flush()?;
    Ok(())
}

/// The control sequences that a text's layout may use besides line ends.
#[derive(Clone, Copy)]
struct Keeps {
    colors: bool,
    tabs: bool,
}

/// The text without control sequences other than those of its layout.
fn kept(text: &str, keeps: Keeps) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if let Some(length) = color(rest).filter(|_| keeps.colors) {
            clean.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        let stays =
            is_printable(character) || character == '\n' || (keeps.tabs && character == '\t');
        clean.push(if stays { character } else { ' ' });
        rest = &rest[character.len_utf8()..];
    }
    clean
}

/// The length of a colour's escape sequence (`ESC [ 1 ; 31 m`) that the text begins with.
fn color(text: &str) -> Option<usize> {
    let numbers = text.strip_prefix("\u{1b}[")?;
    let end = numbers.find(|letter: char| !letter.is_ascii_digit() && letter != ';')?;
    numbers[end..].starts_with('m').then_some(2 + end + 1)
}

/// JSON with each control character escaped. Outside of strings JSON has only those of its layout.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if is_printable(character) || character == '\n' {
            safe.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            safe.push_str(&format!("\\u{unit:04x}"));
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "a\u{1b}]0;x\u{7}\rb\u{9b}2J\u{202e}c\u{e0001}";

    #[test]
    fn a_views_colours_pass_and_nothing_else_does() {
        let colored = "\u{1b}[1;31mlags\u{1b}[0m\nnext";
        let with = Keeps { colors: true, tabs: false };
        assert_eq!(kept(colored, with), colored);
        assert_eq!(kept(HOSTILE, with), "a ]0;x  b 2J c ");
        assert_eq!(kept("\u{1b}[2J\u{1b}[31\u{1b}[", with), " [2J [31 [");
        let without = Keeps { colors: false, tabs: true };
        assert_eq!(kept(colored, without), " [1;31mlags [0m\nnext");
        assert_eq!(kept("a\tb", without), "a\tb");
    }

    #[test]
    fn json_for_a_terminal_means_the_same() {
        let value = serde_json::Value::String(HOSTILE.to_owned());
        let safe = escaped(&value.to_string());
        assert!(safe.chars().all(is_printable), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
    }
}
