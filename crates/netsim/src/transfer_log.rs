/// A transfer. Times are in nanoseconds, by its sender's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransferRow {
    /// Number of its group.
    pub group: u32,
    /// When its first packet was sent, the one that opens the connection where there is one.
    pub began: u64,
    /// Bytes that it carries, without headers; of on-off traffic with them.
    pub bytes: u64,
    /// How long it took until all of it had arrived; `None` while some of it has not.
    pub took: Option<u64>,
    /// How long it would have taken in an empty network, had its sender no window.
    pub ideal: f64,
}

/// Every transfer by itself: when it began, how much it carries, how long it took, and how long it would take in an
/// empty network.
#[derive(Clone, Debug, Default)]
pub struct TransferLog {
    rows: Vec<TransferRow>,
    /// The row of the transfer in each place of the table of flows.
    open: Vec<usize>,
    most: usize,
    cut: bool,
}

impl TransferLog {
    /// Nothing yet, and never more than so many rows.
    pub fn new(most: u64) -> Self {
        Self { most: most as usize, ..Self::default() }
    }

    /// A transfer begins in place `place` of the table of flows.
    pub fn begin(&mut self, place: u32, row: TransferRow) {
        let place = place as usize;
        if self.open.len() <= place {
            self.open.resize(place + 1, usize::MAX);
        }
        self.open[place] = usize::MAX;
        if self.rows.len() < self.most {
            self.open[place] = self.rows.len();
            self.rows.push(row);
        } else {
            self.cut = true;
        }
    }

    /// The transfer in place `place` is complete.
    pub fn complete(&mut self, place: u32, took: u64) {
        let row = self.open.get(place as usize).and_then(|row| self.rows.get_mut(*row));
        if let Some(row) = row {
            row.took = Some(took);
        }
    }

    /// The transfers, with `others` among them, in the order in which they began; and whether some were left out because
    /// there may not be more.
    pub fn rows_with(
        &self,
        others: Vec<TransferRow>,
        others_cut: bool,
    ) -> (Vec<TransferRow>, bool) {
        let mut rows = self.rows.clone();
        rows.extend(others);
        rows.sort_by_key(|row| row.began);
        let cut = self.cut || others_cut || rows.len() > self.most;
        rows.truncate(self.most);
        (rows, cut)
    }
}
