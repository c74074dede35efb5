use vermilion_netsim::results::{LinkMetrics, Spans};
use vermilion_netsim::{LinkWindow, Span};

/// One stretch.
#[derive(Debug)]
struct Stretch {
    span: Span,
    window: LinkWindow,
    /// Packets that waited at its beginning and at its end.
    queued: (u64, u64),
}

impl Stretch {
    fn new(span: Span) -> Self {
        Self { span, window: LinkWindow::default(), queued: (0, 0) }
    }

    fn covers(&self, now: u64) -> bool {
        self.span.begin < now && now <= self.span.end
    }

    /// Its metrics, as far as it has come by `now`, when `queued` packets wait; `None` if it has not
    /// begun.
    fn metrics(&self, now: u64, queued: u64) -> Option<LinkMetrics> {
        let span = Span { begin: self.span.begin, end: self.span.end.min(now) };
        let at_end = if self.span.end <= now { self.queued.1 } else { queued };
        (span.begin <= now).then(|| LinkMetrics::of(&self.window, span, (self.queued.0, at_end)))
    }
}

/// Measurements of a way, over the stretches of time that were asked for: everything from the beginning, unless told
/// otherwise.
#[derive(Debug)]
pub struct Measured {
    total: Stretch,
    phases: Vec<Stretch>,
}

impl Measured {
    /// A whole and its phases.
    pub fn new(total: Span, phases: &[Span]) -> Self {
        Self {
            total: Stretch::new(total),
            phases: phases.iter().map(|&span| Stretch::new(span)).collect(),
        }
    }

    /// Everything from `begin` on.
    pub fn from(begin: u64, queued: u64) -> Self {
        let mut all = Self::new(Span { begin, end: u64::MAX }, &[]);
        all.total.queued.0 = queued;
        all
    }

    /// When something begins or ends, ascending.
    pub fn boundaries(&self) -> Vec<u64> {
        let mut instants: Vec<u64> = self
            .phases
            .iter()
            .chain([&self.total])
            .flat_map(|stretch| [stretch.span.begin, stretch.span.end])
            .filter(|&instant| instant < u64::MAX)
            .collect();
        instants.sort_unstable();
        instants.dedup();
        instants
    }

    /// The windows to which a stretch belongs that ends at `now`.
    pub fn covering(&mut self, now: u64) -> Vec<&mut LinkWindow> {
        self.phases
            .iter_mut()
            .chain([&mut self.total])
            .filter(|stretch| stretch.covers(now))
            .map(|stretch| &mut stretch.window)
            .collect()
    }

    /// At `now`, a boundary, so many packets wait.
    pub fn note_queue(&mut self, now: u64, queued: u64) {
        for stretch in self.phases.iter_mut().chain([&mut self.total]) {
            if stretch.span.begin == now {
                stretch.queued.0 = queued;
            }
            if stretch.span.end == now {
                stretch.queued.1 = queued;
            }
        }
    }

    /// Measurements by `now`, when so many packets wait: the whole, and each phase that has begun.
    pub fn spans(&self, now: u64, queued: u64) -> Spans<LinkMetrics> {
        let total = self.total.metrics(now, queued).unwrap_or_else(|| {
            let nothing = Span { begin: now, end: now };
            LinkMetrics::of(&LinkWindow::default(), nothing, (queued, queued))
        });
        let phases: Vec<_> =
            self.phases.iter().filter_map(|phase| phase.metrics(now, queued)).collect();
        let phases = if self.phases.is_empty() { vec![total.clone()] } else { phases };
        Spans { total, phases }
    }

    /// Bits per second whose transmission began, over as much of the whole as has passed by `now`.
    pub fn throughput(&self, now: u64) -> Option<f64> {
        let end = self.total.span.end.min(now);
        let seconds = end.saturating_sub(self.total.span.begin) as f64 / 1e9;
        (seconds > 0.0).then(|| self.total.window.bits / seconds)
    }
}
