use crate::end::End;
use crate::engine::Engine;
use crate::results::Deadlock;
use crate::slots::NONE;

impl<E: End> Engine<E> {
    /// Looks for paused links that wait for each other in a circle and have sent nothing since the last look.
    ///
    /// A paused link into a switch waits for another out of it that is paused as well, and where a packet waits that
    /// came by the first: it counts there until that one may send.
    pub(crate) fn find_deadlock(&mut self) {
        let mut stuck: Vec<u32> = Vec::new();
        for (number, port) in self.ports.iter().enumerate() {
            let has_sent = self.sent_at_check[number] != port.packets;
            self.sent_at_check[number] = port.packets;
            if port.is_paused && !has_sent {
                stuck.push(number as u32);
            }
        }
        let waits_for: Vec<Vec<usize>> = stuck
            .iter()
            .map(|&port| {
                let at = self.topology.to[port as usize];
                let others = stuck.iter().enumerate().filter(|&(_, &other)| {
                    self.topology.from[other as usize] == at && self.holds(other, port)
                });
                others.map(|(place, _)| place).collect()
            })
            .collect();
        let Some(circle) = circle(&waits_for) else { return };
        let link = |place: usize| {
            let port = stuck[place] as usize;
            (self.topology.from[port], self.topology.to[port])
        };
        let links = circle.into_iter().map(link).collect();
        self.deadlock = Some(Deadlock { at_s: self.now() as f64 / 1e9, links });
    }

    /// Whether a packet that came by one link waits for another.
    fn holds(&self, waiting_for: u32, came_by: u32) -> bool {
        let mut packet = self.ports[waiting_for as usize].head;
        while packet != NONE {
            if self.packets[packet as usize].link == came_by {
                return true;
            }
            packet = self.next[packet as usize];
        }
        false
    }
}

/// A circle of a directed graph, if there is one.
fn circle(edges: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut left: Vec<usize> = vec![0; edges.len()];
    let mut is_done = vec![false; edges.len()];
    for start in 0..edges.len() {
        let mut way = vec![start];
        while let Some(&here) = way.last() {
            match edges[here].get(left[here]) {
                _ if is_done[here] => {
                    way.pop();
                }
                None => {
                    is_done[here] = true;
                    way.pop();
                }
                Some(&there) => {
                    left[here] += 1;
                    if let Some(place) = way.iter().position(|&node| node == there) {
                        return Some(way.split_off(place));
                    }
                    if !is_done[there] {
                        way.push(there);
                    }
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::circle;

    #[test]
    fn a_circle_is_found_and_a_tree_has_none() {
        assert_eq!(circle(&[vec![1, 2], vec![3], vec![3], vec![]]), None);
        let found = circle(&[vec![1], vec![2], vec![3], vec![1]]);
        assert_eq!(found, Some(vec![1, 2, 3]));
        assert_eq!(circle(&[vec![0]]), Some(vec![0]));
    }
}
