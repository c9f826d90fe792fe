//! How far results are from the right ones, as one number.

/// The errors of some results together: the root of their squares' sum, over that of the right results' squares.
///
/// It says of roundings what a largest error would not: how large they are for the most part, whatever was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RelativeError {
    errors: f64,
    right: f64,
}

impl RelativeError {
    /// Counts a result in.
    pub(crate) fn add(&mut self, found: f64, right: f64) {
        self.errors += (found - right) * (found - right);
        self.right += right * right;
    }

    /// The error: 0 of no results, and of those that are all right.
    pub(crate) fn value(self) -> f64 {
        match self.errors == 0.0 {
            true => 0.0,
            false => (self.errors / self.right).sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roundings_are_as_large_as_what_they_round_to() {
        let mut error = RelativeError::default();
        assert_eq!(error.value(), 0.0);
        for at in 1..1000 {
            let right = f64::from(at) * 0.123;
            error.add(right * 1.01, right);
        }
        assert!((error.value() - 0.01).abs() < 1e-12, "{error:?}");
    }

    #[test]
    fn what_should_be_nothing_and_is_not_has_no_bound() {
        let mut error = RelativeError::default();
        error.add(1.0, 0.0);
        assert_eq!(error.value(), f64::INFINITY);
        error.add(f64::NAN, 1.0);
        assert!(error.value().is_nan());
    }
}
