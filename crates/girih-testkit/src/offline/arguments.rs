//! Arguments of kernels, as their `new` takes them.

use cubecl::prelude::*;

/// The argument of a kernel for `&[T]` or `&mut [T]` of its own.
pub const fn buffer() -> BufferCompilationArg {
    BufferCompilationArg { inplace: None }
}

/// The argument of a kernel for `&Tensor<T>` or `&mut Tensor<T>` of its own.
pub const fn tensor() -> TensorCompilationArg {
    TensorCompilationArg {
        meta: TensorMetaCompilationArg { len: (), rank: () },
        buffer: buffer(),
    }
}

/// The argument of a kernel for a `ComptimeOption` of a buffer: one that is there, or is not.
pub fn optional<T>(is_there: bool) -> ComptimeOptionCompilationArg<T>
where
    T: LaunchArg<CompilationArg = BufferCompilationArg>,
{
    match is_there {
        true => ComptimeOptionCompilationArg::Some(buffer()),
        false => none(),
    }
}

/// The argument of a kernel for a `ComptimeOption` that is not there.
pub fn none<T: LaunchArg>() -> ComptimeOptionCompilationArg<T> {
    ComptimeOptionCompilationArg::None
}

/// The argument of a kernel for a `Sequence` of so many numbers that are set at launch.
///
/// ```
/// use cubecl::prelude::*;
/// use girih_testkit::offline;
///
/// /// The last extent of three.
/// #[cube(launch)]
/// fn last(extents: Sequence<u32>, out: &mut [u32]) {
///     out[0] = extents[2];
/// }
///
/// # fn main() {
/// let kernel = last::Last::new(
///     offline::settings(1), offline::hopper(), offline::target(), offline::scalars(3), offline::buffer(),
/// );
/// # }
/// ```
pub fn scalars<T: LaunchArg<CompilationArg = ()>>(count: usize) -> SequenceCompilationArg<T> {
    std::iter::repeat_n((), count).collect()
}
