use crate::end::End;
use crate::engine::Engine;
use crate::port::Port;
use crate::results::{Columns, LinkResult, Results, SizeClass, SwitchResult, Victims};
use crate::slots::{NEVER, NONE};

impl<E: End> Engine<E> {
    /// What came of the run that ends here.
    pub(crate) fn summary(&mut self) -> (Results, Columns) {
        let now = self.now();
        let seconds = |time: u64| time as f64 / 1e9;
        for port in &self.ports {
            if port.watched != NONE {
                self.windows[port.watched as usize].end(now);
            }
        }
        let mut columns = Columns::default();
        let mut classes = vec![(Vec::new(), 0); self.size_classes.len() + 1];
        let (mut victims, mut of_victims, mut completions) = (0, 0.0, 0.0);
        for (number, transfer) in self.transfers[..self.begun].iter().enumerate() {
            if transfer.is_open_loop() {
                continue;
            }
            let finished = self.finished[number];
            let class = self.size_classes.partition_point(|&bound| bound <= transfer.bytes);
            let mut took = f64::NAN;
            if finished == NEVER {
                classes[class].1 += 1;
            } else {
                let time = finished - transfer.start;
                took = seconds(time);
                completions += took;
                let slowdown = (time as f64 / self.ideal[number] as f64).max(1.0);
                classes[class].0.push(slowdown);
                if self.is_victim[number] {
                    victims += 1;
                    of_victims += slowdown;
                }
            }
            columns.source.push(i64::from(transfer.source));
            columns.destination.push(i64::from(transfer.destination));
            columns.bytes.push(transfer.bytes as i64);
            columns.start_s.push(seconds(transfer.start));
            columns.completion_time_s.push(took);
            columns.ideal_time_s.push(seconds(self.ideal[number]));
        }
        let every = classes.iter().flat_map(|class| class.0.iter().copied()).collect::<Vec<_>>();
        let not_done = classes.iter().map(|class| class.1).sum::<usize>();
        let done = every.len();
        let bounds = std::iter::once(0).chain(self.size_classes.iter().copied());
        let links: Vec<LinkResult> = (0..self.lines)
            .map(|line| {
                let classes = || self.classes_of(line);
                let port = &self.ports[line as usize];
                let sum = |of: fn(&Port) -> u64| classes().map(|it| of(&self.ports[it])).sum();
                let bytes: u64 = sum(|port| port.bytes);
                let paused = classes().map(|it| self.obeying[it].paused(now)).sum();
                LinkResult {
                    from: self.topology.from[line as usize],
                    to: self.topology.to[line as usize],
                    packets: sum(|port| port.packets),
                    utilisation: bytes as f64 * 8e9 / port.rate / (now.max(1)) as f64,
                    marks: sum(|port| port.marks),
                    drops: sum(|port| port.drops),
                    pauses: classes().map(|it| self.obeying[it].pauses).sum(),
                    paused_s: seconds(paused),
                    deepest_bytes: classes()
                        .map(|it| self.ports[it].deepest)
                        .max()
                        .unwrap_or_default(),
                    queue_bytes: (port.watched != NONE)
                        .then(|| self.windows[port.watched as usize].summary())
                        .flatten(),
                }
            })
            .collect();
        let results = Results {
            seed: self.seed,
            ended_at_s: seconds(now),
            transfers: done + not_done,
            not_done,
            mean_completion_s: (done > 0).then(|| completions / done as f64),
            slowdown: SizeClass::of(0, every, not_done),
            slowdown_by_size: bounds
                .zip(classes)
                .map(|(from, (slowdowns, not_done))| SizeClass::of(from, slowdowns, not_done))
                .collect(),
            packet_hops: links.iter().map(|link| link.packets).sum(),
            control_hops: self.control_hops,
            marks: links.iter().map(|link| link.marks).sum(),
            drops: links.iter().map(|link| link.drops).sum(),
            retransmissions: self.end.retransmissions(),
            pauses: self.pause_count,
            paused_s: links.iter().map(|link| link.paused_s).sum(),
            paused_links: links.iter().filter(|link| link.pauses > 0).count(),
            victims: Victims {
                transfers: victims,
                mean_slowdown: (victims > 0).then(|| of_victims / f64::from(victims as u32)),
            },
            deadlock: self.deadlock.clone(),
            switches: self
                .buffers
                .iter()
                .enumerate()
                .map(|(number, buffer)| SwitchResult {
                    node: self.topology.hosts + number as u32,
                    shared_bytes: buffer.size(),
                    deepest_bytes: buffer.deepest(),
                })
                .collect(),
            links,
            open_loop: self.end.open_loop(now),
        };
        (results, columns)
    }
}
