//! Several classes of data at a port: each has a queue and pauses of its own, and they take turns at the transmitter.

use crate::end::End;
use crate::engine::Engine;
use crate::slots::NONE;

impl<E: End> Engine<E> {
    /// The port that has the transmitter of this one.
    #[inline]
    pub(crate) fn line(&self, port: u32) -> u32 {
        if !E::PLAIN && port >= self.lines { port % self.lines } else { port }
    }

    /// Ports of a link, one for each class.
    pub(crate) fn classes_of(&self, line: u32) -> impl Iterator<Item = usize> + use<E> {
        (line as usize..self.ports.len()).step_by(self.lines as usize)
    }

    /// The place of a class among those that there are.
    pub(crate) fn class_of(&self, class: u8) -> u32 {
        self.classes.iter().position(|&it| it == class).unwrap_or(0) as u32
    }

    /// Whether a port has something to send, and if so, whether it may.
    fn state(&self, port: usize) -> Option<bool> {
        let waits = self.ports[port].head != NONE || !self.ready[port].is_empty();
        waits.then(|| !self.ports[port].is_paused)
    }

    /// Something has come to wait at a port.
    #[inline]
    pub(crate) fn join(&mut self, port: u32) {
        if !E::PLAIN && !self.turns.is_empty() {
            let line = self.line(port);
            self.turns[line as usize].join((port / self.lines) as usize);
        }
    }

    /// A transmitter that is free sends the next packet, of the class whose turn it is.
    #[inline(never)]
    pub(crate) fn serve_classes(&mut self, line: u32) {
        while let Some(class) = self.next_class(line) {
            let port = line + class as u32 * self.lines;
            let is_host = self.ports[line as usize].switch == NONE;
            let size = if is_host { self.serve(port) } else { self.depart(port) };
            if let Some(turns) = self.turns.get_mut(line as usize) {
                turns.charge(class, size);
            }
            if size > 0 {
                break;
            }
        }
        if self.classes_of(line).any(|port| self.state(port) == Some(true)) {
            self.await_free(line);
        }
    }

    fn next_class(&mut self, line: u32) -> Option<usize> {
        let mut turns = std::mem::take(&mut self.turns);
        let state = |class| self.state(line as usize + class * self.lines as usize);
        let next = match turns.get_mut(line as usize) {
            Some(turns) => turns.next(state),
            None => (0..self.classes.len()).find(|&class| state(class) == Some(true)),
        };
        self.turns = turns;
        next
    }

    /// A queue that is watched has changed: that of all classes of its link.
    #[cold]
    pub(crate) fn watch(&mut self, port: u32) {
        let (_, queue) = self.books_of(port);
        let window = self.ports[port as usize].watched;
        self.windows[window as usize].change(self.slots.now, queue);
    }

    /// Bytes that a port's link has sent, and that wait for it.
    #[inline]
    pub(crate) fn books_of(&self, port: u32) -> (u64, u32) {
        if E::PLAIN {
            let port = &self.ports[port as usize];
            return (port.bytes, port.queue);
        }
        self.classes_of(self.line(port)).fold((0, 0), |(sent, queue), port| {
            (sent + self.ports[port].bytes, queue + self.ports[port].queue)
        })
    }
}
