//! How wide rows can be moved, kept from launch to launch: the algebra of layouts takes longer than a launch does.

use std::cell::RefCell;
use std::collections::HashMap;

/// What decides how many elements of a tensor's rows can be moved at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Rows {
    /// Outer, outer, indexed, inner, inner.
    pub extents: [usize; 5],
    /// Strides along those, in elements.
    pub strides: [usize; 5],
    /// The tensor's own extent along the indexed axis.
    pub indexed: usize,
    /// The element of the memory that the tensor starts at.
    pub start: u64,
}

/// Kinds of rows that a thread remembers; a program has few, one that has more works them out anew.
const MOST: usize = 1024;

thread_local! {
    static KNOWN: RefCell<HashMap<Rows, u64>> = RefCell::default();
}

/// What `compute` gives for such rows, from an earlier call of this thread where there was one.
pub(crate) fn known(rows: Rows, compute: impl FnOnce() -> u64) -> u64 {
    if let Some(width) = KNOWN.with_borrow(|known| known.get(&rows).copied()) {
        return width;
    }
    let width = compute();
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(rows, width);
    });
    width
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(start: u64) -> Rows {
        Rows {
            extents: [1, 1, 6, 1, 12],
            strides: [0, 0, 12, 0, 1],
            indexed: 6,
            start,
        }
    }

    #[test]
    fn a_width_is_worked_out_once_for_each_kind_of_rows() {
        assert_eq!(known(rows(0), || 4), 4);
        assert_eq!(known(rows(0), || unreachable!("it is known")), 4);
        assert_eq!(known(rows(1), || 1), 1);
    }

    #[test]
    fn few_are_kept() {
        for start in 0..3 * MOST as u64 {
            known(rows(start), || start);
        }
        assert!(KNOWN.with_borrow(|known| known.len()) <= MOST);
        assert_eq!(known(rows(7), || 7), 7);
    }
}
