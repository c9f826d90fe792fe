//! [`Cell`]: one atomic of memory, with the order and the scope of each access as values.

use super::access::{AtomicAccess, Operation, Path, bits_of};
use super::combine::by_compare_exchange;
use super::emit::{self, Site};
use super::order::MemoryOrder;
use super::scope::MemoryScope;
use crate::handle::comptime_handle;
use core::marker::PhantomData;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use pliron::value::Value;

/// An order at a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Strength {
    pub order: MemoryOrder,
    pub scope: MemoryScope,
}

/// One atomic of memory. What a device cannot do is refused by name while the kernel is expanded.
pub(crate) struct Cell<T: CubePrimitive>(PhantomData<T>);

/// What a [`Cell`] is while the kernel is expanded.
pub(crate) struct CellExpand<T: CubePrimitive> {
    ptr: Value,
    /// What the memory is declared to hold.
    stored: ElemType,
    _element: PhantomData<T>,
}

impl<T: CubePrimitive> Clone for CellExpand<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: CubePrimitive> Copy for CellExpand<T> {}
impl<T: CubePrimitive> CubeType for Cell<T> {
    type ExpandType = CellExpand<T>;
}
comptime_handle!([T: CubePrimitive] CellExpand<T>);

/// Runs a body with the unsigned integer as wide as the element.
macro_rules! with_bits {
    ($element:expr, $bits:ident => $body:expr) => {
        match $element.size() {
            1 => {
                type $bits = u8;
                $body
            }
            2 => {
                type $bits = u16;
                $body
            }
            4 => {
                type $bits = u32;
                $body
            }
            _ => {
                type $bits = u64;
                $body
            }
        }
    };
}

impl<T: CubePrimitive> CellExpand<T> {
    /// The atomic of a buffer or of shared memory.
    pub(crate) fn of(scope: &Scope, atomic: &NativeExpand<Atomic<T>>) -> Self {
        Self {
            ptr: atomic.value(scope),
            stored: T::Scalar::elem_type(scope),
            _element: PhantomData,
        }
    }

    /// The same memory, its bits read as another scalar of the same size.
    pub(super) fn reinterpret<F: Scalar>(&self, scope: &Scope) -> CellExpand<F> {
        let (from, to) = (T::Scalar::elem_type(scope), F::elem_type(scope));
        assert!(
            T::__expand_vector_size(scope) == 1 && from.size() == to.size(),
            "girih: AtomicRef::reinterpret: {from} as {to}; a scalar of the same size"
        );
        CellExpand {
            ptr: self.ptr,
            stored: self.stored,
            _element: PhantomData,
        }
    }

    /// What the memory holds.
    pub(crate) fn load(&self, scope: &Scope, with: Strength) -> NativeExpand<T> {
        let site = self.site(with);
        match self.path(scope, Operation::Load, with) {
            None => self.nothing(scope),
            Some(Path::Native) => emit::load(scope, site, T::__expand_as_type(scope)).into(),
            Some(Path::Bits) => with_bits!(self.element(scope), U => {
                let held = emit::load(scope, site, U::__expand_as_type(scope));
                from_bits::<T, U>(scope, held)
            }),
        }
    }

    /// Replaces what the memory holds.
    pub(crate) fn store(&self, scope: &Scope, value: NativeExpand<T>, with: Strength) {
        let site = self.site(with);
        let value = value.read_value(scope);
        match self.path(scope, Operation::Store, with) {
            None => {}
            Some(Path::Native) => emit::store(scope, site, value),
            Some(Path::Bits) => with_bits!(self.element(scope), U => {
                emit::store(scope, site, to_bits::<T, U>(scope, value));
            }),
        }
    }

    /// Replaces what the memory holds if it is as expected, and gives what it held.
    pub(super) fn compare_exchange(
        &self,
        scope: &Scope,
        expected: NativeExpand<T>,
        value: NativeExpand<T>,
        with: Strength,
    ) -> NativeExpand<T> {
        let site = self.site(with);
        let (expected, value) = (expected.read_value(scope), value.read_value(scope));
        match self.path(scope, Operation::CompareExchange, with) {
            None => self.nothing(scope),
            Some(Path::Native) => emit::compare_exchange(scope, site, expected, value).into(),
            Some(Path::Bits) => with_bits!(self.element(scope), U => {
                let expected = to_bits::<T, U>(scope, expected);
                let value = to_bits::<T, U>(scope, value);
                let held = emit::compare_exchange(scope, site, expected, value);
                from_bits::<T, U>(scope, held)
            }),
        }
    }

    /// Changes what the memory holds, and gives what it held.
    pub(crate) fn update(
        &self,
        scope: &Scope,
        value: NativeExpand<T>,
        operation: Operation,
        with: Strength,
    ) -> NativeExpand<T>
    where
        T::Scalar: Numeric,
    {
        let element = self.element(scope);
        let value = value.read_value(scope);
        match self.path(scope, operation, with) {
            None => self.nothing(scope),
            Some(Path::Native) => {
                emit::update(scope, self.site(with), value, operation, element).into()
            }
            Some(Path::Bits) => with_bits!(element, U => {
                let bits = to_bits::<T, U>(scope, value);
                let held = self.update_bits::<U>(scope, bits, operation, with);
                from_bits::<T, U>(scope, held)
            }),
        }
    }

    fn update_bits<U: Int>(
        &self,
        scope: &Scope,
        bits: Value,
        operation: Operation,
        with: Strength,
    ) -> Value
    where
        T::Scalar: Numeric,
    {
        let exchanges = bits_of(self.element(scope)).is_some_and(|of| emit::exchanges(scope, of));
        if operation == Operation::Exchange && exchanges {
            return emit::update(scope, self.site(with), bits, operation, U::elem_type(scope));
        }
        let cell = CellExpand::<U> {
            ptr: self.ptr,
            stored: U::elem_type(scope),
            _element: PhantomData,
        };
        let bits = bits.into();
        by_compare_exchange::expand::<T::Scalar, U>(scope, cell, bits, operation, with)
            .read_value(scope)
    }

    fn element(&self, scope: &Scope) -> ElemType {
        T::Scalar::elem_type(scope)
    }

    fn site(&self, with: Strength) -> Site {
        Site {
            ptr: self.ptr,
            order: with.order,
            scope: with.scope,
        }
    }

    fn path(&self, scope: &Scope, operation: Operation, with: Strength) -> Option<Path> {
        let access = AtomicAccess::new(operation, self.element(scope))
            .in_bits_of(self.stored)
            .vectors(T::__expand_vector_size(scope))
            .ordered(with.order, with.scope);
        emit::checked(scope, &access)
    }

    /// A value for a kernel that is not going to run.
    fn nothing(&self, scope: &Scope) -> NativeExpand<T> {
        emit::poison(scope, T::__expand_as_type(scope)).into()
    }
}

fn to_bits<T: CubePrimitive, U: Int>(scope: &Scope, value: Value) -> Value {
    U::__expand_reinterpret::<T>(scope, value.into()).read_value(scope)
}

fn from_bits<T: CubePrimitive, U: Int>(scope: &Scope, bits: Value) -> NativeExpand<T> {
    let value = T::__expand_reinterpret::<U>(scope, bits.into());
    value.read_value(scope).into()
}

/// What [`by_compare_exchange`] is made of, where the device was found to have both.
impl<T: CubePrimitive> Cell<T> {
    /// A relaxed load.
    #[allow(unused_variables)]
    pub(super) fn peek(&self, with: Strength) -> T {
        cubecl::unexpanded!()
    }
    /// A compare-exchange of the memory's own bits.
    #[allow(unused_variables)]
    pub(super) fn swap(&self, expected: T, value: T, with: Strength) -> T {
        cubecl::unexpanded!()
    }
}

impl<T: CubePrimitive> CellExpand<T> {
    /// Expansion of [`Cell::peek`].
    pub(super) fn __expand_peek_method(&self, scope: &Scope, with: Strength) -> NativeExpand<T> {
        let relaxed = Strength {
            order: MemoryOrder::Relaxed,
            ..with
        };
        emit::load(scope, self.site(relaxed), T::__expand_as_type(scope)).into()
    }
    /// Expansion of [`Cell::swap`].
    pub(super) fn __expand_swap_method(
        &self,
        scope: &Scope,
        expected: NativeExpand<T>,
        value: NativeExpand<T>,
        with: Strength,
    ) -> NativeExpand<T> {
        let (expected, value) = (expected.read_value(scope), value.read_value(scope));
        emit::compare_exchange(scope, self.site(with), expected, value).into()
    }
}
