/// What a packet is, or what else is due at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    #[default]
    Data,
    Acknowledgement,
    Notification,
    Pause,
    Resume,
    /// A transfer's end may have something to do.
    Wake,
    /// A transfer's end may have to go back.
    Timeout,
    /// Links may wait for each other in a circle.
    Check,
}

/// A packet, or a timer in its place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Packet {
    /// Its transfer's place among those under way.
    pub flow: u32,
    /// Its number; of an acknowledgement that of the packet that is expected.
    pub number: u32,
    /// Port that sent it last.
    pub link: u32,
    pub size: u16,
    pub kind: Kind,
    /// Links behind it, without the one that it is on.
    pub hop: u8,
    pub marked: bool,
    /// The last of its transfer; of an acknowledgement: the sender is to go back.
    pub flag: bool,
    /// It is dropped where others are marked.
    pub unmarkable: bool,
}
