//! The values that are there, each once.

use super::launch::{Compaction, Writes};
use super::result::Unique;
use super::tile::Keep;
use super::{CompactOptions, NonZero, check_index, checked};
use crate::check;
use crate::sort::{self, Carried, SortOptions, SortPath};
use cubecl::client::Client;
use cubecl::std::tensor::TensorHandle;
use girih::Result;

/// What [`unique`] gives beside the values.
///
/// ```
/// use girih_kernels::UniqueOptions;
///
/// let values = UniqueOptions::default();
/// let all = UniqueOptions { counts: true, inverse: true, ..values };
/// assert!(!values.counts && all.inverse);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UniqueOptions {
    /// Whether it gives how often each value is there.
    pub counts: bool,
    /// Whether it gives for each element the place of its value among the values.
    pub inverse: bool,
    /// The type of both, and the path of the compaction.
    pub compact: CompactOptions,
    /// The path of the sort; the sort's own choice, if none is named.
    pub sort: Option<SortPath>,
}

/// The values of `input`, each once, in ascending order: that of [`sort`](crate::sort()).
///
/// `input` has any shape and strides; integers of 8 to 64 bits, f16, bf16, f32 or f64, where the device stores them. 0 and -0 are
/// one value, which is -0 where there is one; a NaN is equal to none, so that each is a value of its own, behind all numbers.
///
/// How many values there are stays on the device until [`Compacted::count`](crate::Compacted::count) asks for it: the result has
/// room for as many as there are elements. It is the sort and a [compaction](crate::select) of it, which also writes the
/// inverse; counts are one launch more. Beside the result it takes the memory of the sort, and with an inverse that of the
/// elements' places.
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Result, UniqueOptions, unique};
///
/// fn values(client: &Client) -> Result<()> {
///     let input = client.create_from_slice(i32::as_bytes(&[7, -1, 7, 3]));
///     let input = TensorHandle::new_contiguous(vec![4], input, i32::elem_type_native());
///     let options = UniqueOptions { counts: true, inverse: true, ..UniqueOptions::default() };
///     let found = unique(client, &input, options)?;
///     assert_eq!(found.values.count(client)?, 3);
///     let read = |tensor: TensorHandle| -> Result<Vec<i32>> {
///         let bytes = client.read_one(tensor.handle)?;
///         Ok(i32::from_bytes(&bytes).to_vec())
///     };
///     assert_eq!(read(found.values.read(client)?)?[..3], [-1, 3, 7]);
///     assert_eq!(read(found.counts.expect("asked for").read(client)?)?[..3], [1, 1, 2]);
///     assert_eq!(read(found.inverse.expect("asked for"))?[..4], [2, 0, 2, 1]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # values(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// [`Error::Element`], [`Error::Strides`]; [`Error::Size`] where the type of indices cannot count the elements;
/// [`Error::Device`] where the device does not store a type, or cannot take the path; [`Error::Argument`] of a path that is none of
/// compactions.
///
/// [`Error::Element`]: crate::Error::Element
/// [`Error::Strides`]: crate::Error::Strides
/// [`Error::Size`]: crate::Error::Size
/// [`Error::Device`]: crate::Error::Device
/// [`Error::Argument`]: crate::Error::Argument
pub fn unique(client: &Client, input: &TensorHandle, options: UniqueOptions) -> Result<Unique> {
    const CALL: &str = "unique";
    let UniqueOptions {
        counts,
        inverse,
        compact,
        sort: path,
    } = options;
    let (shape, _) = check::dims(input);
    let list = checked(CALL, client, input)?;
    check_index(CALL, client, &list, compact.index)?;
    let carried = match inverse {
        true => Carried::Places {
            index: compact.index,
            keeps_keys: true,
        },
        false => Carried::Nothing,
    };
    let by = SortOptions {
        path,
        ..SortOptions::default()
    };
    let sorted = sort::run(CALL, client, &list, carried, 0, &by)?;
    let keys = sorted.keys.expect("keys are sorted");
    let writes = Writes {
        values: true,
        places: counts,
        inverse,
        ..Writes::default()
    };
    let mut compaction = Compaction::new(CALL, client, &keys, None, Keep::Change, compact, writes);
    compaction.order = sorted.payload.as_ref();
    let mut unique = compaction.run::<NonZero>()?.unique(counts);
    unique.inverse = unique
        .inverse
        .map(|inverse| TensorHandle::new_contiguous(shape, inverse.handle, inverse.dtype));
    Ok(unique)
}
