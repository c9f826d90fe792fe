//! A list that keeps few elements in place and allocates only past that.

use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::{Deref, DerefMut};

/// Up to `N` elements in place, any number on the heap.
#[derive(Clone)]
pub(crate) enum List<T, const N: usize> {
    Inline { len: u8, items: [T; N] },
    Heap(Vec<T>),
}

impl<T: Copy + Default, const N: usize> List<T, N> {
    #[inline]
    pub(crate) fn new() -> Self {
        const { assert!(N <= u8::MAX as usize) };
        Self::Inline {
            len: 0,
            items: [T::default(); N],
        }
    }

    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        if let Self::Inline { len, items } = self
            && let Some(free) = items.get_mut(usize::from(*len))
        {
            *free = item;
            *len += 1;
            return;
        }
        self.spilled().push(item);
    }

    /// The elements on the heap, where they go if they are not there yet.
    #[cold]
    fn spilled(&mut self) -> &mut Vec<T> {
        if let Self::Inline { len, items } = self {
            let mut heap = Vec::with_capacity(2 * N);
            heap.extend_from_slice(&items[..usize::from(*len)]);
            *self = Self::Heap(heap);
        }
        match self {
            Self::Heap(heap) => heap,
            Self::Inline { .. } => unreachable!("the elements have just been moved"),
        }
    }

    pub(crate) fn extend_from_slice(&mut self, new: &[T]) {
        if let Self::Inline { len, items } = self {
            let (from, to) = (usize::from(*len), usize::from(*len) + new.len());
            if to <= N {
                items[from..to].copy_from_slice(new);
                *len = to as u8;
                return;
            }
        }
        for item in new {
            self.push(*item);
        }
    }
}

impl<T, const N: usize> Deref for List<T, N> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::Inline { len, items } => &items[..usize::from(*len)],
            Self::Heap(heap) => heap,
        }
    }
}

impl<T, const N: usize> DerefMut for List<T, N> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::Inline { len, items } => &mut items[..usize::from(*len)],
            Self::Heap(heap) => heap,
        }
    }
}

impl<T: Copy + Default, const N: usize> FromIterator<T> for List<T, N> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut list = Self::new();
        for item in items {
            list.push(item);
        }
        list
    }
}

// Equality, hash and text are those of the elements, wherever they are kept.
impl<T: PartialEq, const N: usize> PartialEq for List<T, N> {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl<T: Eq, const N: usize> Eq for List<T, N> {}

impl<T: Hash, const N: usize> Hash for List<T, N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self[..].hash(state);
    }
}

impl<T: fmt::Debug, const N: usize> fmt::Debug for List<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::List;

    #[test]
    fn elements_survive_the_move_to_the_heap() {
        let mut list = List::<u32, 2>::new();
        for i in 0..5 {
            list.push(i);
            assert_eq!(list[..], [0, 1, 2, 3, 4][..=i as usize]);
        }
        assert!(matches!(list, List::Heap(_)));
    }

    #[test]
    fn equality_does_not_see_where_elements_are() {
        let inline = List::<u32, 4>::from_iter([1, 2]);
        let heap = List::<u32, 4>::Heap(alloc::vec![1, 2]);
        assert_eq!(inline, heap);
    }
}
