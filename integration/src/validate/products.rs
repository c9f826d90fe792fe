//! What products of matrices have to hold.

use burn::backend::cubecl::dtype_to_storage_type;
use burn::tensor::{DType, Int, Shape, Tensor};
use girih_kernels::MOST_GROUPS;

use super::{Argument, Call};
use crate::Error;

impl Call {
    /// The product of the first tensor with another of its rank, type and batch.
    pub(crate) fn multiplies(&self, b: Argument) -> Result<(), Error> {
        let b = self.beside(b)?;
        self.matrices(&b)?;
        let rank = self.first.shape.num_dims();
        if rank < 2 {
            return Err(Error::Kernel(girih::Error::Rank {
                call: self.name,
                argument: self.first.name,
                given: rank,
                allowed: "2 or more".into(),
            }));
        }
        let mut allowed = self.first.shape.clone();
        allowed[rank - 2] = self.first.shape[rank - 1];
        allowed[rank - 1] = b.shape[rank - 1];
        self.shaped(&b, &allowed)
    }

    /// Rows of the first tensor, in groups, with a matrix for each; lists name rows.
    pub(crate) fn groups(
        &self,
        matrices: &Tensor<3>,
        ends: &Tensor<1, Int>,
        lists: &[(&'static str, &Tensor<1, Int>)],
    ) -> Result<(), Error> {
        let matrices = self.beside(Argument::new("matrices", matrices))?;
        self.matrices(&matrices)?;
        let [groups, columns] = [matrices.shape[0], matrices.shape[2]];
        let allowed = Shape::from([groups, self.first.shape[1], columns]);
        self.shaped(&matrices, &allowed)?;
        let ends = self.beside(Argument::new("ends", ends))?;
        self.shaped(&ends, &Shape::from([groups]))?;
        if groups > MOST_GROUPS {
            return Err(Error::Kernel(girih::Error::Size {
                call: self.name,
                argument: "ends",
                given: groups as u64,
                allowed: MOST_GROUPS as u64,
            }));
        }
        let device = girih::device::Device::of(&self.client);
        let stores = |argument: &Argument| {
            let element = argument.element(self.name)?;
            let feature = format!("buffers of {element}");
            Ok::<(), Error>(device.require(device.stores(element), self.name, feature)?)
        };
        stores(&ends)?;
        for (name, list) in lists {
            stores(&self.beside(Argument::new(name, list))?)?;
        }
        let adds =
            !lists.is_empty() && (self.device.is_autodiff() || self.name == "matmul_scatter");
        match adds {
            true => self.adds(),
            false => Ok(()),
        }
    }

    /// An index and a factor for each row of the first tensor.
    pub(crate) fn adds_up(&self, index: &Tensor<1, Int>, factors: &Tensor<1>) -> Result<(), Error> {
        let rows = Shape::from([self.first.shape[0]]);
        self.shaped(&Argument::new("index", index), &rows)?;
        let factors = self.beside(Argument::new("factors", factors))?;
        self.shaped(&factors, &rows)?;
        self.matrices(&factors)
    }

    /// Tokens, `[T, model]`, that go to `k` experts each, which a router scores.
    pub(crate) fn goes_to_experts(
        &self,
        router: &Tensor<2>,
        up: &Tensor<3>,
        down: &Tensor<3>,
        k: usize,
    ) -> Result<(), Error> {
        let model = self.first.shape[1];
        let [experts, _, hidden] = up.dims();
        let device = girih::device::Device::of(&self.client);
        for (argument, allowed) in [
            (
                Argument::new("router", router),
                Shape::from([model, experts]),
            ),
            (
                Argument::new("up", up),
                Shape::from([experts, model, hidden]),
            ),
            (
                Argument::new("down", down),
                Shape::from([experts, hidden, model]),
            ),
        ] {
            let argument = self.beside(argument)?;
            self.matrices(&argument)?;
            self.shaped(&argument, &allowed)?;
        }
        let sums = dtype_to_storage_type(crate::matmul::sum_type(self.first.dtype));
        for element in [dtype_to_storage_type(DType::I32), sums] {
            let feature = format!("buffers of {element}");
            device.require(device.stores(element), self.name, feature)?;
        }
        let tokens = self.first.shape[0];
        Ok(girih_kernels::supports_route_experts(
            self.name, tokens, experts, k,
        )?)
    }

    /// The device adds the sums of products of the first tensor's elements atomically.
    fn adds(&self) -> Result<(), Error> {
        let sum = dtype_to_storage_type(crate::matmul::sum_type(self.first.dtype));
        let device = girih::device::Device::of(&self.client);
        let has = device.adds_atomically(sum, 1);
        Ok(device.require(has, self.name, format!("atomic add of {sum}"))?)
    }

    /// Another argument has the first one's type, which the device multiplies.
    fn matrices(&self, other: &Argument) -> Result<(), Error> {
        let (element, given) = (self.first.element(self.name)?, other.element(self.name)?);
        if given != element {
            return Err(Error::Kernel(girih::Error::Element {
                call: self.name,
                argument: other.name,
                given,
                allowed: format!("{element}, as {} has", self.first.name),
            }));
        }
        Ok(girih_kernels::supports_matmul(&self.client, element)?)
    }

    fn shaped(&self, argument: &Argument, allowed: &Shape) -> Result<(), Error> {
        match argument.shape == *allowed {
            true => Ok(()),
            false => Err(Error::Kernel(girih::Error::Shape {
                call: self.name,
                argument: argument.name,
                given: argument.shape.to_vec(),
                allowed: allowed.to_vec(),
            })),
        }
    }
}
