//! The senders do what the scripts of `tests/packetdrill` say, and the player notices when they do not.

#[path = "../examples/packetdrill/player.rs"]
mod player;
#[path = "../examples/packetdrill/script.rs"]
mod script;

use std::path::PathBuf;

use player::{Verdict, play};

fn scripts() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/packetdrill");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the folder").map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
        .into_iter()
        .map(|path| (path.display().to_string(), std::fs::read_to_string(&path).unwrap()))
        .collect()
}

fn verdict(text: &str) -> Verdict {
    script::parse(text).map_or_else(Verdict::Refused, |script| play(&script))
}

#[test]
fn every_script_is_met() {
    let scripts = scripts();
    assert!(scripts.len() >= 10);
    let wrong: Vec<_> = scripts
        .iter()
        .map(|(name, text)| (name, verdict(text)))
        .filter(|(_, verdict)| *verdict != Verdict::Agrees)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

const OPENING: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 6>
+.1 < . 1:1(0) ack 1 win 257
";

#[test]
fn what_differs_is_named_with_its_line() {
    for (rest, expected) in [
        ("+0 write(4, ..., 2000) = 2000\n+0 > . 1:3001(3000) ack 1", "nothing left"),
        ("+0 write(4, ..., 2000) = 2000\n+0 > . 1001:2001(1000) ack 1", "1 left at 0.1 s"),
        ("+0 write(4, ..., 2000) = 2000\n+.1 > . 1:1001(1000) ack 1", "not in 0.196 .. 0.204"),
        (
            "+0 %{ assert tcpi_snd_cwnd == 10,\\\n tcpi_snd_cwnd }%\n+0 %{ assert tcpi_snd_cwnd == 9 }%",
            "tcpi_snd_cwnd is 10",
        ),
    ] {
        let found = verdict(&format!("{OPENING}{rest}"));
        let Verdict::Differs(what) = &found else { panic!("{rest}: {found:?}") };
        assert!(what.contains(expected), "{what}");
    }
}

#[test]
fn a_script_of_ours_names_everything_that_leaves_before_the_next_packet_and_before_its_end() {
    let written = "+0 write(4, ..., 12000) = 12000\n+0 > . 1:10001(10000) ack 1\n";
    let early = format!("{written}+.1 < . 1:1(0) ack 1001 win 257\n+0 < . 1:1(0) ack 1001 win 257");
    let late = format!("{written}+.1 < . 1:1(0) ack 1001 win 257");
    for (rest, line) in [(early, "line 9"), (late, "at the end")] {
        let found = verdict(&format!("//: sack option_set=linux\n{OPENING}{rest}"));
        let Verdict::Differs(what) = &found else { panic!("{rest}: {found:?}") };
        assert_eq!(*what, format!("{line}: 10001 left at 0.2 s, and no line says so"));
        // Other people's scripts may name it later.
        assert_eq!(verdict(&format!("{OPENING}{rest}")), Verdict::Agrees);
    }
}

#[test]
fn assignments_comments_a_short_end_and_a_close_are_played() {
    let rest = "+0 write(4, ..., 2500) = 2500\n+0 > P. 1:2501(2500) ack 1\n\
        +0 %{ cwnd = 9  # not; yet\ncwnd += 1; assert tcpi_snd_cwnd == cwnd, cwnd }%\n\
        +0 %{ assert tcpi_reordering == 0x3 and tcpi_retrans == 0 }%\n\
        +.1 < . 1:1(0) ack 1001 win 257 <sack 2001:2200,nop,nop>\n+0 %{ assert tcpi_sacked == 0 }%\n\
        +0 close(4) = 0\n+0 > F. 2501:2501(0) ack 1\n+.1 < F. 1:1(0) ack 2502 win 257";
    assert_eq!(verdict(&format!("{OPENING}{rest}")), Verdict::Agrees);
}

#[test]
fn what_is_acknowledged_and_has_not_left_differs() {
    let rest = "+0 write(4, ..., 2000) = 2000\n+.1 < . 1:1(0) ack 3001 win 257";
    let found = verdict(&format!("{OPENING}{rest}"));
    let what = "line 6: 3001 is acknowledged, but only up to 2001 has left".to_owned();
    assert_eq!(found, Verdict::Differs(what));
}

#[test]
fn what_is_not_modelled_is_refused() {
    for (rest, expected) in [
        ("+0 write(4, ..., 2000) = 2000\n+0 > . 1:1501(1500) ack 1", "whole number of segments"),
        ("+0 write(4, ..., 1500) = 1500\n+0 write(4, ..., 500) = 500", "last segment may be short"),
        ("+0 < P. 1:1001(1000) ack 1 win 257", "data towards the sender"),
        ("+0 < F. 1:1(0) ack 1 win 257", "the end of a connection"),
        ("+0 %{ import os }%", "not understood"),
        ("+0 %{ assert tcpi_rtt == 1 }%", "tcpi_rtt is not known"),
        ("+0 shutdown(4, SHUT_WR) = 0", "not understood"),
    ] {
        let found = verdict(&format!("{OPENING}{rest}"));
        let Verdict::Refused(why) = &found else { panic!("{rest}: {found:?}") };
        assert!(why.contains(expected), "{why}");
    }
}
