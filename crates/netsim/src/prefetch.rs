//! Memory that will be asked for soon.
//!
//! The state of very many flows does not fit the caches of a processor, and each packet asks for that of
//! another flow. Which flow comes soon is known: its packet is on its way. A processor that is told brings the
//! flow's memory while it works on others. That changes no result, and less time is spent waiting.
//!
//! This is the only module of the workspace with `unsafe` code: the library has no safe form of the one
//! instruction yet (`core::hint::prefetch_read` is not stable). Where a processor has no such instruction
//! that stable Rust knows, nothing happens.

#![expect(unsafe_code, reason = "see the head")]

/// Bytes that a processor brings at once.
const LINE: usize = 64;

/// `thing` will be read soon.
#[inline(always)]
pub fn prefetch<T: ?Sized>(thing: &T) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..size_of_val(thing)).step_by(LINE) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = std::ptr::from_ref(thing).cast::<i8>().wrapping_add(offset);
        // SAFETY: the instruction is part of every x86-64. It reads nothing that a program could see, writes
        // nothing, and does not fault, whatever the address; this one lies within `thing`.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (thing, LINE);
}
