//! Plays scripts in packetdrill's language against the senders.
//!
//!     cargo run -p vermilion-tcp --example packetdrill -- FILE_OR_FOLDER...
//!
//! Prints a line for each script: whether the sender does what it says, what it does otherwise, or why
//! it cannot be played. Ends with 1 if any script differs. The scripts of this repository are in
//! `crates/tcp/tests/packetdrill`; others, Google's for one, are used where they lie.

mod player;
mod script;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use player::{Verdict, play};

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    match std::fs::read_dir(path) {
        Ok(entries) => {
            let mut inside: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
            inside.sort();
            inside
                .iter()
                .filter(|it| it.is_dir() || it.extension().is_some_and(|it| it == "pkt"))
                .for_each(|it| collect(it, files));
        }
        Err(_) => files.push(path.to_owned()),
    }
}

fn main() -> ExitCode {
    let mut files = Vec::new();
    for argument in std::env::args_os().skip(1) {
        collect(Path::new(&argument), &mut files);
    }
    if files.is_empty() {
        eprintln!("which scripts? Give files, or folders with files that end in .pkt");
        return ExitCode::from(2);
    }
    let mut counts = [0; 3];
    for file in files {
        let verdict = match std::fs::read_to_string(&file) {
            Ok(text) => match script::parse(&text) {
                Ok(script) => play(&script),
                Err(reason) => Verdict::Refused(reason),
            },
            Err(error) => Verdict::Refused(error.to_string()),
        };
        let name = file.display();
        match verdict {
            Verdict::Agrees => {
                counts[0] += 1;
                println!("agrees   {name}");
            }
            Verdict::Differs(what) => {
                counts[1] += 1;
                println!("differs  {name}: {what}");
            }
            Verdict::Refused(why) => {
                counts[2] += 1;
                println!("refused  {name}: {why}");
            }
        }
    }
    println!("{} agree, {} differ, {} cannot be played", counts[0], counts[1], counts[2]);
    if counts[1] > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
