//! How rows are combined, as kernels know it.

use super::Reduction;
use girih::Bounds;

/// A [`Reduction`] as kernels know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Elements added up.
    Sum,
    /// The same, divided by the number of rows.
    Mean,
    /// Elements multiplied.
    Product,
    /// The elements that are not 0 multiplied, and the others counted: what the gradient of a product needs.
    Nonzero,
    /// The largest element.
    Max,
    /// The smallest element.
    Min,
}

impl Kind {
    /// Whether there is an integer beside each element.
    pub(crate) const fn has_args(self) -> bool {
        matches!(self, Self::Nonzero | Self::Max | Self::Min)
    }

    /// That integer where there are no rows.
    pub(crate) const fn arg_of_none(self) -> i32 {
        match self {
            Self::Nonzero => 0,
            _ => -1,
        }
    }
}

impl From<Reduction> for Kind {
    fn from(reduction: Reduction) -> Self {
        match reduction {
            Reduction::Sum => Self::Sum,
            Reduction::Mean => Self::Mean,
            Reduction::Max => Self::Max,
            Reduction::Min => Self::Min,
            Reduction::Prod => Self::Product,
        }
    }
}

/// How rows are combined, which of them count, and what is kept beside the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// How they are combined.
    pub kind: Kind,
    /// What an index out of range does.
    pub bounds: Bounds,
    /// Whether one row does not count.
    pub has_padding: bool,
    /// Whether a segment without rows is 0.
    pub zero_of_none: bool,
    /// Whether the entry that each element came from is kept.
    pub keeps_args: bool,
    /// Whether the number of rows is kept.
    pub keeps_counts: bool,
}

impl Rules {
    /// Of rows that all count, with their own result for a segment without rows.
    pub(crate) fn of_segments(kind: Kind) -> Self {
        Self {
            kind,
            bounds: Bounds::Assume,
            has_padding: false,
            zero_of_none: false,
            keeps_args: false,
            keeps_counts: false,
        }
    }
}
