//! Which line's packet comes first of those that arrive at one instant: that of the lower number.
//!
//! Lines are numbered as if every receiver that may wait had a line of its own for what it answers, and that of its
//! data ended there. Where both are one line ([`End::WaitingReceiverAndBack`]), it stands where the line of answers
//! would: with others whose answers would share it, in the order of their data's lines. So it makes no difference
//! which way the network is laid, nor which of two flows is served first.

use crate::delay_line::{DelayLine, End};
use crate::group::Group;
use crate::route::{Answers, Lines, Route};

/// Numbers `lines` and those that the routes of `groups` are on anew.
pub fn in_order(groups: &mut [Group], mut lines: Vec<DelayLine>) -> Vec<DelayLine> {
    let mut apart = Lines::default();
    // By line: the number of the line of its answers, or its own; and that of its data.
    let mut keys = vec![(0, 0); lines.len()];
    for group in &*groups {
        let mut parted = group.route.clone();
        parted.part(&lines, &mut apart);
        for (line, number) in lines_of(&group.route).zip(lines_of(&parted)) {
            let answers = parted.answers.line().filter(|_| waits(&lines[line as usize]));
            // What takes no time arrives when the data does.
            let answers = answers.filter(|_| group.route.after_receipt > 0);
            keys[line as usize] = (answers.unwrap_or(number), number);
        }
        if let (Some(line), Some(number)) = (group.route.answers.line(), parted.answers.line()) {
            keys[line as usize] = (number, 0);
        }
    }
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(|&line| keys[line]);
    let mut numbers = vec![0; lines.len()];
    let mut after = vec![0; lines.len()];
    for (number, &line) in order.iter().enumerate() {
        numbers[line] = number as u32;
    }
    for &line in order.iter().rev() {
        let next = order.get(numbers[line] as usize + 1).copied();
        let shares = |next: &usize| waits(&lines[line]) && keys[*next].0 == keys[line].0;
        after[line] = next.filter(shares).map_or(numbers[line], |next| after[next]);
    }
    for group in groups {
        let route = &mut group.route;
        let last = route.forward.last().map_or(0, |hop| hop.line);
        route.answers = match route.answers {
            Answers::OnLine(line) => Answers::OnLine(numbers[line as usize]),
            Answers::WithData { .. } => Answers::WithData { after: after[last as usize] },
        };
        for hop in route.forward.iter_mut().chain(&mut route.backward) {
            hop.line = numbers[hop.line as usize];
        }
        route.first = route.forward[0];
    }
    let mut places: Vec<_> = lines.drain(..).map(Some).collect();
    order.into_iter().filter_map(|line| places[line].take()).collect()
}

fn waits(line: &DelayLine) -> bool {
    line.end == End::WaitingReceiverAndBack
}

/// The lines behind the queues of a route.
fn lines_of(route: &Route) -> impl Iterator<Item = u32> {
    route.forward.iter().chain(&route.backward).map(|hop| hop.line)
}
