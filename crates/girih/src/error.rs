//! Everything that girih refuses before it runs anything, and what comes back from a device.

use crate::view::Offence;
use cubecl::ir::ElemType;
use cubecl::server::ServerError;

/// The result of a launcher.
pub type Result<T> = core::result::Result<T, Error>;

/// Why a call was refused, or what it found.
///
/// Every refusal names the argument, what was given and what is allowed, and comes before any work is done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The tensor has another rank than the call needs.
    #[error("{argument} has rank {given}; {call} needs rank {allowed}")]
    Rank {
        /// The call.
        call: &'static str,
        /// The argument.
        argument: &'static str,
        /// Its rank.
        given: usize,
        /// The rank, or ranks, allowed.
        allowed: String,
    },
    /// The axis is not one of the tensor's.
    #[error("axis {axis} of {argument}, which has rank {rank}; {call} needs an axis in 0..{rank}")]
    Axis {
        /// The call.
        call: &'static str,
        /// The argument.
        argument: &'static str,
        /// The axis given.
        axis: usize,
        /// The argument's rank.
        rank: usize,
    },
    /// The tensor has another shape than the other arguments ask for.
    #[error("{argument} has shape {given:?}; {call} needs {allowed:?}")]
    Shape {
        /// The call.
        call: &'static str,
        /// The argument.
        argument: &'static str,
        /// Its shape.
        given: Vec<usize>,
        /// The shape needed.
        allowed: Vec<usize>,
    },
    /// The strides reach past the end of the tensor's buffer.
    #[error(
        "{argument} of shape {shape:?} and strides {strides:?} reaches element {needed} of a buffer of {given}; {call} needs strides within it"
    )]
    Strides {
        /// The call.
        call: &'static str,
        /// The argument.
        argument: &'static str,
        /// Its shape.
        shape: Vec<usize>,
        /// Its strides.
        strides: Vec<usize>,
        /// Elements of the buffer that the strides need.
        needed: usize,
        /// Elements that it has.
        given: usize,
    },
    /// Several elements of a tensor that is written share one place.
    #[error(
        "{argument} of shape {shape:?} and strides {strides:?} has elements that overlap; {call} writes only where they do not"
    )]
    Overlap {
        /// The call.
        call: &'static str,
        /// The argument.
        argument: &'static str,
        /// Its shape.
        shape: Vec<usize>,
        /// Its strides.
        strides: Vec<usize>,
    },
    /// The tensor has another element type than the other arguments ask for, or than the call takes.
    #[error("{argument} has elements of type {given}; {call} needs {allowed}")]
    Element {
        /// The call.
        call: &'static str,
        /// The argument.
        argument: &'static str,
        /// Its element type.
        given: ElemType,
        /// The types allowed.
        allowed: String,
    },
    /// The device cannot do what the call needs.
    #[error("{device} has no {feature}; {call} needs it")]
    Device {
        /// The call.
        call: &'static str,
        /// The device.
        device: String,
        /// What it lacks.
        feature: String,
    },
    /// The work is larger than the call can do at once.
    #[error("{argument} counts {given}; {call} takes up to {allowed}")]
    Size {
        /// The call.
        call: &'static str,
        /// What is counted.
        argument: &'static str,
        /// How many there are.
        given: u64,
        /// How many are allowed.
        allowed: u64,
    },
    /// An argument has a value that the call, or another of its arguments, rules out.
    #[error("{argument} is {given}; {call} needs {allowed}")]
    Argument {
        /// The call.
        call: &'static str,
        /// The argument.
        argument: &'static str,
        /// Its value.
        given: String,
        /// The values allowed.
        allowed: String,
    },
    /// A mapping of groups cannot be applied.
    #[error("{mapping}: {given}; {}", rule.allowed())]
    Mapping {
        /// The condition that does not hold.
        rule: Precondition,
        /// The mapping.
        mapping: String,
        /// What it was given.
        given: String,
    },
    /// An index was out of range ([`Bounds::Report`](crate::view::Bounds::Report)).
    #[error(
        "index {} at position {} is out of range of axis {}, which has extent {}; 0..{} is allowed",
        .0.index, .0.position, .0.axis, .0.extent, .0.extent
    )]
    OutOfRange(Offence),
    /// The device reported a failure: a kernel that did not compile or run shows here, at the first read.
    #[error("the device failed: {0}")]
    Server(#[from] ServerError),
}

/// What a mapping needs of the groups that it is applied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Precondition {
    /// Counts of units are above 0.
    ZeroCount,
    /// Without the non-exhaustive tag every unit is in a group.
    NotExhaustive,
    /// No more units are asked for than a group has.
    TooManyUnits,
    /// The groups are equal in size.
    UnequalGroups,
    /// The groups are of units, and each is within one plane.
    AcrossPlanes,
}

impl Precondition {
    fn allowed(self) -> &'static str {
        match self {
            Self::ZeroCount => "counts above 0 are allowed",
            Self::NotExhaustive => {
                "counts that take up every unit are allowed, or others with `partition_non_exhaustive`"
            }
            Self::TooManyUnits => "no more units than a group has are allowed",
            Self::UnequalGroups => "groups of one size are allowed",
            Self::AcrossPlanes => {
                "groups of units that are each known to be within one plane are allowed"
            }
        }
    }
}
