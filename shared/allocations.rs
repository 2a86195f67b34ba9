//! Counts what a test's thread allocates, to check a decoder's bound; for the integration tests of several crates.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts what this thread allocates at most at once.
struct Counting;

thread_local! {
    /// The bytes that this thread has allocated and not freed. Freeing another thread's bytes can make it negative.
    static NOW: Cell<isize> = const { Cell::new(0) };
    /// The greatest value of [`NOW`], in bytes, since [`peak_of`] last set it.
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

#[expect(
    unsafe_code,
    reason = "a counting allocator can only be written with the unsafe trait of the standard library"
)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = NOW.try_with(|now| {
            now.set(now.get() + layout.size() as isize);
            let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now.get())));
        });
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        let _ = NOW.try_with(|now| now.set(now.get() - layout.size() as isize));
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// The allocator of the test's program; it counts what each thread allocates.
#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What some work gives, and the most bytes that it held at once beyond what was held before.
pub(crate) fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = NOW.get();
    PEAK.set(before);
    let result = work();
    (result, usize::try_from(PEAK.get() - before).unwrap_or(0))
}
