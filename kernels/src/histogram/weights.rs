//! What values weigh.

use crate::scan::Determinism;
use cubecl::std::tensor::TensorHandle;

/// Weights of the values that [`bincount`](crate::bincount) and [`histogram`](crate::histogram) count: a tensor, or `None`, of values
/// that count once each; and what is promised of their sums.
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Determinism, Result, Weights, bincount};
///
/// fn sums(client: &Client) -> Result<()> {
///     let values = client.create_from_slice(u32::as_bytes(&[1, 0, 1]));
///     let values = TensorHandle::new_contiguous(vec![3], values, u32::elem_type_native());
///     let weights = client.create_from_slice(f32::as_bytes(&[0.5, 2.0, 0.25]));
///     let weights = TensorHandle::new_contiguous(vec![3], weights, f32::elem_type_native());
///     let weights = Weights::from(&weights).determinism(Determinism::RunToRun);
///     let sums = bincount(client, &values, weights, 2)?;
///     assert_eq!(f32::from_bytes(&client.read_one(sums.handle)?)[..2], [2.0, 0.75]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # sums(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Weights<'a> {
    pub(super) tensor: Option<&'a TensorHandle>,
    pub(super) determinism: Determinism,
}

impl Weights<'_> {
    /// The same, with a promise on their sums. Counts keep it in any case.
    pub fn determinism(self, determinism: Determinism) -> Self {
        Self {
            determinism,
            ..self
        }
    }
}

impl<'a> From<Option<&'a TensorHandle>> for Weights<'a> {
    fn from(tensor: Option<&'a TensorHandle>) -> Self {
        Self {
            tensor,
            determinism: Determinism::Any,
        }
    }
}

impl<'a> From<&'a TensorHandle> for Weights<'a> {
    fn from(tensor: &'a TensorHandle) -> Self {
        Some(tensor).into()
    }
}
