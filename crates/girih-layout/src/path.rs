//! Paths into nested tuples.

/// A way down a nested tuple: one mode index, or one for each level. `[1, 0]` is mode 0 of mode 1, CuTe's `<1,0>`; the
/// empty path is the whole.
pub trait Path {
    /// The mode index at each level, outermost first.
    fn indices(&self) -> &[usize];
}

impl Path for usize {
    fn indices(&self) -> &[usize] {
        core::slice::from_ref(self)
    }
}

impl<const N: usize> Path for [usize; N] {
    fn indices(&self) -> &[usize] {
        self
    }
}

impl Path for [usize] {
    fn indices(&self) -> &[usize] {
        self
    }
}

impl<P: Path + ?Sized> Path for &P {
    fn indices(&self) -> &[usize] {
        (**self).indices()
    }
}
