//! Dead man's rule: a process of its own that leaves a safe rate behind.
//!
//! It is told the safe rate as a line of text each second. Where the lines end without the word "end", or none comes
//! for some seconds, whoever kept the rate is dead or hangs, and the last safe rate is set.

use std::io::{Write, stdin};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::shaper::Place;

/// Word that starts it.
pub const WORD: &str = "--guard";
const PATIENCE_MS: u16 = 5_000;

/// Guardian of one shaper.
#[derive(Debug)]
pub struct Guardian(Child);

impl Guardian {
    /// Starts it.
    ///
    /// # Errors
    /// No process can be started.
    pub fn new(address: &str) -> Result<Self, String> {
        Command::new("/proc/self/exe")
            .args([WORD, address])
            .stdin(Stdio::piped())
            .process_group(0) // Ctrl-C is for whoever has started it
            .spawn()
            .map(Self)
            .map_err(|error| format!("no guardian can be started: {error}"))
    }

    /// Tells it the safe rate, or that there is none.
    pub fn tell(&mut self, safe: Option<f64>) {
        self.say(&safe.map_or("hold\n".to_owned(), |rate| format!("{rate:.0}\n")));
    }

    /// Says a whole line at once, which nobody can read in parts.
    fn say(&mut self, line: &str) {
        if let Some(pipe) = &mut self.0.stdin {
            let _ = pipe.write_all(line.as_bytes());
        }
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.say("end\n");
        self.0.stdin = None;
        let _ = self.0.wait();
    }
}

/// Guards the shaper of an address, as told on the standard input.
///
/// # Errors
/// The address is none, or the safe rate cannot be set.
pub fn guard(address: &str) -> Result<(), String> {
    let place = Place::new(address)?;
    let input = stdin();
    let (mut safe, mut text) = (None::<f64>, [0; 4096]);
    loop {
        let mut waits = [PollFd::new(input.as_fd(), PollFlags::POLLIN)];
        let is_heard = poll(&mut waits, PollTimeout::from(PATIENCE_MS)).unwrap_or(0) > 0;
        let count =
            if is_heard { nix::unistd::read(input.as_fd(), &mut text).unwrap_or(0) } else { 0 };
        let words = String::from_utf8_lossy(&text[..count]).into_owned();
        match words.split_whitespace().last() {
            Some("end") => return Ok(()),
            Some(word) => safe = word.parse().ok(),
            None if count > 0 => {}
            None => {
                if let Some(rate) = safe.take() {
                    place.read().and_then(|shaper| place.set(&shaper, rate))?;
                }
                if is_heard {
                    return Ok(());
                }
            }
        }
    }
}
