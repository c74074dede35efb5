//! Daemon that keeps a shaper at the rate of a line that nobody knows, for routers without Python.
//!
//! `vermilion-line FILE` runs until SIGTERM or SIGINT, and then puts the rates back that it found. `--undo FILE`
//! puts them back where it was killed.

#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod daemon;
#[cfg(target_os = "linux")]
mod guardian;
#[cfg(target_os = "linux")]
mod netlink;
#[cfg(target_os = "linux")]
mod probes;
#[cfg(target_os = "linux")]
mod settings;
#[cfg(target_os = "linux")]
mod shaper;
#[cfg(target_os = "linux")]
mod sockets;

use std::process::ExitCode;

#[cfg(target_os = "linux")]
const USAGE: &str = "usage: vermilion-line FILE          keep the rates as FILE says
       vermilion-line --undo FILE   put back the rates that were found
       vermilion-line --example     print a file to begin with
       vermilion-line --version";

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["--version"] => {
            println!("vermilion-line {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
        ["--help"] => {
            println!("{USAGE}");
            Ok(())
        }
        ["--example"] => {
            print!("{}", settings::EXAMPLE);
            Ok(())
        }
        ["--undo", file] => settings::read(file).and_then(|set| daemon::undo(&set)),
        [guardian::WORD, address] => guardian::guard(address),
        [file] if !file.starts_with('-') => settings::read(file).and_then(|set| daemon::run(&set)),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("vermilion-line: {reason}");
            ExitCode::from(2)
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    eprintln!("vermilion-line: needs Linux");
    ExitCode::from(2)
}
