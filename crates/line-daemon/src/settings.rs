//! File of settings: a key and a value a line.

use std::net::Ipv4Addr;

/// A file to begin with.
pub const EXAMPLE: &str = "\
# Interface next to the line, where probes leave and answers come.
interface = eth0
# Shaper of what leaves: the cake or tbf at the root, or a class of htb as eth0/1:10. 'none': not shaped here.
up = eth0
# Shaper of what arrives, on the ifb to which it is redirected.
#down = ifb4eth0
# observe changes nothing and tells what it would do; control sets the rate.
mode = observe
# Wait in the line's own queue that is accepted while its rate varies.
excess = 10 ms
# Least rate that is ever set.
minimum = 300 kbit/s
# Hosts to probe.
reflectors = 1.1.1.1 8.8.8.8 9.9.9.9 208.67.222.222 94.140.14.14 1.0.0.1 8.8.4.4 9.9.9.10
# Where the rates found are kept for --undo.
undo = /tmp/vermilion-line.undo
# Time between two lines about the line.
report = 10 s
";

/// Settings of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Interface next to the line.
    pub interface: String,
    /// Address of the shaper of what leaves.
    pub up: Option<String>,
    /// Address of the shaper of what arrives.
    pub down: Option<String>,
    /// True if rates are set.
    pub controls: bool,
    /// Wait in the line's queue that is accepted, in seconds.
    pub excess: f64,
    /// Least rate, in bit/s.
    pub minimum: f64,
    /// Hosts to probe.
    pub reflectors: Vec<Ipv4Addr>,
    /// File of the rates found.
    pub undo: String,
    /// Time between two reports, in seconds.
    pub report: f64,
}

/// Reads the settings of a file.
///
/// # Errors
/// The file cannot be read, or the first line that is not accepted.
pub fn read(path: &str) -> Result<Settings, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("{path} cannot be read: {error}; --example prints one"))?;
    parse(&text).map_err(|reason| format!("{path}: {reason}"))
}

/// Reads settings; what is not said is as in the example.
///
/// # Errors
/// The first line that is not accepted.
pub fn parse(text: &str) -> Result<Settings, String> {
    let mut set = Settings {
        interface: String::new(),
        up: None,
        down: None,
        controls: false,
        excess: 0.01,
        minimum: 3e5,
        reflectors: Vec::new(),
        undo: "/tmp/vermilion-line.undo".to_owned(),
        report: 10.0,
    };
    let mut up = None;
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let (key, value) =
            line.split_once('=').ok_or_else(|| format!("\"{line}\"; expected KEY = VALUE"))?;
        let (key, value) = (key.trim(), value.trim());
        let refuse = |expected: &str| format!("{key}: \"{value}\"; expected {expected}");
        match key {
            "interface" => value.clone_into(&mut set.interface),
            "up" => up = Some(value),
            "down" => set.down = (value != "none").then(|| value.to_owned()),
            "mode" => {
                set.controls = match value {
                    "control" => true,
                    "observe" => false,
                    _ => return Err(refuse("observe or control")),
                }
            }
            "excess" => {
                set.excess = seconds(value)
                    .filter(|it| (0.001..=1.0).contains(it))
                    .ok_or_else(|| refuse("1 ms to 1 s"))?;
            }
            "report" => {
                set.report = seconds(value)
                    .filter(|it| (1.0..=86_400.0).contains(it))
                    .ok_or_else(|| refuse("1 s to 86400 s"))?;
            }
            "minimum" => {
                set.minimum = bit_per_second(value)
                    .filter(|it| (1e4..=1e12).contains(it))
                    .ok_or_else(|| refuse("10 kbit/s or more"))?;
            }
            "reflectors" => {
                for each in value.split_whitespace() {
                    let address = each.parse().map_err(|_| refuse("IPv4 addresses"))?;
                    set.reflectors.push(address);
                }
            }
            "undo" => value.clone_into(&mut set.undo),
            _ => {
                let known = "interface, up, down, mode, excess, minimum, reflectors, undo, report";
                return Err(format!("\"{key}\" is no setting; expected one of {known}"));
            }
        }
    }
    if set.interface.is_empty() {
        return Err("interface is missing; expected the one next to the line, like eth0".to_owned());
    }
    set.up = match up {
        Some("none") => None,
        Some(address) => Some(address.to_owned()),
        None => Some(set.interface.clone()),
    };
    if set.up.is_none() && set.down.is_none() {
        return Err("up and down are both none; expected a shaper".to_owned());
    }
    if set.reflectors.is_empty() {
        set.reflectors = parse(EXAMPLE)?.reflectors;
    }
    Ok(set)
}

fn number(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    units.iter().find_map(|&(unit, factor)| {
        let number = text.strip_suffix(unit)?.trim_end();
        Some(number.parse::<f64>().ok()? * factor)
    })
}

fn seconds(text: &str) -> Option<f64> {
    number(text, &[("ms", 1e-3), ("s", 1.0)])
}

fn bit_per_second(text: &str) -> Option<f64> {
    number(text, &[("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9), ("bit/s", 1.0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_accepted_and_observes() {
        let set = parse(EXAMPLE).unwrap();
        assert_eq!((set.interface.as_str(), set.up.as_deref()), ("eth0", Some("eth0")));
        assert!(!set.controls && set.down.is_none() && set.reflectors.len() == 8);
        assert_eq!((set.excess, set.minimum, set.report), (0.01, 3e5, 10.0));
    }

    #[test]
    fn what_is_not_accepted_is_told_with_what_would_be() {
        for (text, words) in [
            ("mode = on\ninterface = a", "mode: \"on\"; expected observe or control"),
            ("interface = a\nexcess = 5", "excess: \"5\"; expected 1 ms to 1 s"),
            ("interface = a\nminimum = 1 bit/s", "expected 10 kbit/s or more"),
            ("interface = a\nreflectors = 1.1.1", "expected IPv4 addresses"),
            ("interface = a\nup = none", "expected a shaper"),
            ("rate = 5", "\"rate\" is no setting"),
            ("", "interface is missing"),
            ("eth0", "expected KEY = VALUE"),
        ] {
            let reason = parse(text).unwrap_err();
            assert!(reason.contains(words), "{reason}");
        }
    }
}
