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

/// A latency that a view can be told of: 1 to 10.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a latency that a view can be told of",
    note = "a latency is `Latency<1>` to `Latency<10>`: `latency::<5>()`"
)]
pub trait KnownLatency {}

/// The latency `N`, as a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency<const N: u32>;

macro_rules! latencies {
    ($($latency:literal)*) => {$(
        impl KnownLatency for Latency<$latency> {}
    )*};
}
latencies!(1 2 3 4 5 6 7 8 9 10);

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
            /// The same view with a hint how long memory takes, 1 to 10: a unit that holds more packets of a tile loads so
            /// many before it stores the first of them, where the group shares the tile evenly. That is so on every
            /// target, as far as the target's compiler keeps the order.
            ///
            /// A tile that is fetched where it is used follows the hint of the view that stores it.
            pub fn latency<const N: u32>(self) -> Self
            where
                crate::view::Latency<N>: crate::view::KnownLatency,
            {
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
            pub fn __expand_latency_method<const N: u32>(mut self, _scope: &Scope) -> Self {
                self.options.hints.latency = Some(N);
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
