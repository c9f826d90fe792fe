//! What every view can be told: rules for indices, and hints.

use super::bounds::Rules;
use super::duplicates::Winner;

/// What a view was told.
#[derive(Clone)]
pub(super) struct Options {
    pub rules: Rules,
    pub winner: Winner,
    pub hints: Hints,
}

impl Options {
    /// One rule for the view is a rule for every dimension.
    pub(super) fn of_partition() -> Self {
        Self::new(Rules::of_every_dimension())
    }

    /// One rule for the view is a rule for the dimensions that list their indices.
    pub(super) fn of_gather() -> Self {
        Self::new(Rules::of_lists())
    }

    fn new(rules: Rules) -> Self {
        Self {
            rules,
            winner: Winner::Any,
            hints: Hints::default(),
        }
    }

    /// The rules of a call that is masked, or promises that nothing is out of range.
    pub(super) fn rules(&self, masked: bool) -> Rules {
        match masked {
            true => self.rules.clone(),
            false => Rules::promise(),
        }
    }
}

/// Hints for the accesses of a view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hints {
    /// Packets that a unit keeps in flight.
    pub latency: Option<u32>,
    /// Whether bulk copies may be used.
    pub tma: Option<bool>,
}

/// How long an access of a view is expected to take, from 1 to 10: the longer, the more of them are in flight at a time.
///
/// A unit that holds more packets of a tile than that has so many in flight at a time, on every target, where the units
/// of the group share the tile evenly. A tile that is fetched where it is used follows the hint of the view that stores
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Latency(u32);

impl Latency {
    /// The hint, from 1 to 10.
    pub fn get(self) -> u32 {
        self.0
    }
}

macro_rules! latency_from {
    ($($number:ty),*) => {$(
        impl From<$number> for Latency {
            /// # Panics
            /// If the number is not one of 1 to 10.
            fn from(latency: $number) -> Self {
                match u32::try_from(latency) {
                    Ok(hint @ 1..=10) => Self(hint),
                    _ => panic!("girih: latency: {latency}; 1 to 10 are allowed"),
                }
            }
        }
    )*};
}
latency_from!(i32, u32, usize);

/// Gives views the methods that all of them have.
macro_rules! view_options {
    ($([$($generics:tt)*] $view:ty, $expand:ty, $shape:ident, $life:lifetime, $name:literal;)*) => {$(
        impl<$life, $($generics)*> $view {
            /// The same view with another rule for indices out of range, a comptime value: one for the view, or an array
            /// with one for each dimension of the tile. The default is [`Bounds::Mask`](crate::view::Bounds::Mask).
            ///
            /// One rule is that of every dimension of a partition. A gather or scatter follows it along the dimensions
            /// that list their indices, and masks the others, so that tiles are clipped where they hang over an edge.
            ///
            /// [`Bounds::Report`](crate::view::Bounds::Report) wants [`report`](Self::report) before it.
            #[allow(unused_variables)]
            pub fn bounds(self, bounds: impl crate::view::BoundsPack<$shape>) -> Self {
                cubecl::unexpanded!()
            }
            /// The same view under [`Bounds::Report`](crate::view::Bounds::Report), along those dimensions that one rule
            /// for [`bounds`](Self::bounds) is for: masked, and the first offence kept by the reporter.
            #[allow(unused_variables)]
            pub fn report(self, reporter: crate::view::Reporter<$life>) -> Self {
                cubecl::unexpanded!()
            }
            /// The same view with a hint how long memory takes, a comptime value from 1 to 10: see
            /// [`Latency`](crate::view::Latency).
            #[allow(unused_variables)]
            pub fn latency(self, latency: impl Into<crate::view::Latency>) -> Self {
                cubecl::unexpanded!()
            }
            /// The same view with leave, or none, to use bulk copies (NVIDIA's TMA), a comptime value.
            ///
            /// Views move packets through registers on every target, so that today it changes nothing.
            #[allow(unused_variables)]
            pub fn allow_tma(self, allow: bool) -> Self {
                cubecl::unexpanded!()
            }
        }
        impl<$($generics)*> $expand {
            /// Expansion of `bounds`.
            pub fn __expand_bounds_method(
                mut self,
                _scope: &Scope,
                bounds: crate::view::AxisBounds<$shape>,
            ) -> Self {
                self.options.rules = self.options.rules.with($name, bounds);
                self
            }
            /// Expansion of `report`.
            pub fn __expand_report_method(
                mut self,
                _scope: &Scope,
                reporter: crate::view::ReporterExpand,
            ) -> Self {
                self.options.rules = self.options.rules.report(reporter);
                self
            }
            /// Expansion of `latency`.
            pub fn __expand_latency_method(
                mut self,
                _scope: &Scope,
                latency: crate::view::Latency,
            ) -> Self {
                self.options.hints.latency = Some(latency.get());
                self
            }
            /// Expansion of `allow_tma`.
            pub fn __expand_allow_tma_method(mut self, _scope: &Scope, allow: bool) -> Self {
                self.options.hints.tma = Some(allow);
                self
            }
        }
    )*};
}
pub(super) use view_options;
