//! What a call has to hold before anything is queued or launched.
//!
//! Under fusion a kernel is launched later, on another thread, where nobody is left to return an error to.
//! So each op checks here all that its launcher would refuse.

use burn::backend::DispatchDevice;
use burn::backend::cubecl::dtype_to_storage_type;
use burn::tensor::{DType, Device, Int, Shape, Tensor, kind::Basic};
use cubecl::{client::Client, ir::ElemType};
use girih::Bounds;
use girih_kernels::{ScatterMode, SortOptions, sort_path, supports_scatter};

use crate::Error;
use crate::cube::{sums, with_extent};
use crate::scan::{count_dtype, place_dtype};

/// A call of an op, described by its first tensor.
pub(crate) struct Call {
    name: &'static str,
    first: Argument,
    axis: usize,
    device: Device,
    client: Client,
}

/// A tensor that a call is given.
pub(crate) struct Argument {
    name: &'static str,
    shape: Shape,
    dtype: DType,
    device: Device,
}

impl Argument {
    pub(crate) fn new<const D: usize, K: Basic>(name: &'static str, tensor: &Tensor<D, K>) -> Self {
        Self {
            name,
            shape: tensor.shape(),
            dtype: tensor.dtype(),
            device: tensor.device(),
        }
    }

    /// The type of elements by CubeCL's name.
    fn element(&self, call: &'static str) -> Result<ElemType, Error> {
        match self.dtype {
            DType::QFloat(_) => Err(Error::Quantized {
                call,
                argument: self.name,
                given: self.dtype,
            }),
            dtype => Ok(dtype_to_storage_type(dtype)),
        }
    }
}

impl Call {
    /// A call with its first tensor, which has `axis` and is on a device with CubeCL.
    pub(crate) fn new(name: &'static str, first: Argument, axis: usize) -> Result<Self, Error> {
        let rank = first.shape.num_dims();
        if axis >= rank {
            return Err(Error::Kernel(girih::Error::Axis {
                call: name,
                argument: first.name,
                axis,
                rank,
            }));
        }
        let device = first.device.clone();
        let client = client(device.as_dispatch()).ok_or_else(|| Error::Backend {
            call: name,
            given: format!("{device:?}"),
            allowed: runtimes(),
        })?;
        Ok(Self {
            name,
            first,
            axis,
            device,
            client,
        })
    }

    /// The first tensor's extent along the axis.
    pub(crate) fn extent(&self) -> usize {
        self.first.shape[self.axis]
    }

    /// The device gathers from the first tensor with these indices, and where gradients are asked for
    /// sums those of the copies.
    pub(crate) fn gathers(&self, index: &Tensor<1, Int>, bounds: Bounds) -> Result<(), Error> {
        let index = self.beside(Argument::new("index", index))?;
        let [element, by] = self.elements(&index)?;
        girih_kernels::supports_gather(&self.client, element, by)?;
        if self.device.is_autodiff() && self.first.dtype.is_float() {
            sums(&self.client, element, by)?;
        }
        self.reports(bounds)
    }

    /// The launcher writes `updates` at these indices of a target of the first tensor's shape and type.
    pub(crate) fn scatters(
        &self,
        index: &Tensor<1, Int>,
        updates: Argument,
        mode: ScatterMode,
        bounds: Bounds,
    ) -> Result<(), Error> {
        let index = self.beside(Argument::new("index", index))?;
        let updates = self.beside(updates)?;
        let allowed = with_extent(&self.first.shape, self.axis, index.shape[0]);
        if updates.shape != allowed {
            return Err(Error::Kernel(girih::Error::Shape {
                call: self.name,
                argument: updates.name,
                given: updates.shape.to_vec(),
                allowed: allowed.to_vec(),
            }));
        }
        let [element, by] = self.elements(&index)?;
        let given = updates.element(self.name)?;
        if given != element {
            return Err(Error::Kernel(girih::Error::Element {
                call: self.name,
                argument: updates.name,
                given,
                allowed: format!("{element}, as {} has", self.first.name),
            }));
        }
        match mode {
            ScatterMode::Set => supports_scatter(&self.client, element, by, mode, 1)?,
            ScatterMode::Add => sums(&self.client, element, by).map(|_| ())?,
        }
        self.reports(bounds)
    }

    /// The device scans the first tensor.
    pub(crate) fn scans(&self) -> Result<(), Error> {
        let element = self.first.element(self.name)?;
        Ok(girih_kernels::supports_scan(&self.client, element)?)
    }

    /// The device selects from the first tensor by a mask of its shape.
    pub(crate) fn selects(&self, mask: Argument) -> Result<(), Error> {
        let mask = self.beside(mask)?;
        if mask.shape != self.first.shape {
            return Err(Error::Kernel(girih::Error::Shape {
                call: self.name,
                argument: mask.name,
                given: mask.shape.to_vec(),
                allowed: self.first.shape.to_vec(),
            }));
        }
        self.finds()
    }

    /// The device stores the first tensor, and compacts as many elements as it has.
    pub(crate) fn finds(&self) -> Result<(), Error> {
        let elements = self.first.shape.num_elements();
        let element = self.first.element(self.name)?;
        let device = girih::device::Device::of(&self.client);
        for element in [
            element,
            dtype_to_storage_type(count_dtype(elements)),
            dtype_to_storage_type(place_dtype(elements)),
        ] {
            let has = element == ElemType::Bool || device.stores(element);
            device.require(has, self.name, format!("buffers of {element}"))?;
        }
        Ok(())
    }

    /// The device sorts the first tensor, and stores places along its axis.
    pub(crate) fn sorts(&self) -> Result<(), Error> {
        let element = self.first.element(self.name)?;
        let index = dtype_to_storage_type(crate::sort::index_of(self.extent()));
        let others = self.first.shape.num_elements() / self.extent().max(1);
        let options = SortOptions::default();
        sort_path(
            &self.client,
            element,
            Some(index),
            [others, self.extent()],
            &options,
        )?;
        Ok(())
    }

    /// The device counts the first tensor's elements in so many bins.
    pub(crate) fn counts(&self, bins: usize) -> Result<(), Error> {
        let element = self.first.element(self.name)?;
        Ok(girih_kernels::supports_bincount(
            &self.client,
            element,
            bins,
        )?)
    }

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
        self.has_shape(&b, &allowed)
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
        self.has_shape(&matrices, &allowed)?;
        let ends = self.beside(Argument::new("ends", ends))?;
        self.has_shape(&ends, &Shape::from([groups]))?;
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
        self.has_shape(&Argument::new("index", index), &rows)?;
        let factors = self.beside(Argument::new("factors", factors))?;
        self.has_shape(&factors, &rows)?;
        self.matrices(&factors)
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

    fn has_shape(&self, argument: &Argument, allowed: &Shape) -> Result<(), Error> {
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

    /// Both tensors have the same type, and rows alike but for their lengths, which can be compared.
    pub(crate) fn searches(&self, values: Argument) -> Result<(), Error> {
        self.sorts()?;
        let values = self.beside(values)?;
        let last = values.shape[self.axis];
        let allowed = with_extent(&self.first.shape, self.axis, last);
        if values.shape != allowed {
            return Err(Error::Kernel(girih::Error::Shape {
                call: self.name,
                argument: values.name,
                given: values.shape.to_vec(),
                allowed: allowed.to_vec(),
            }));
        }
        let (element, given) = (self.first.element(self.name)?, values.element(self.name)?);
        match element == given {
            true => Ok(()),
            false => Err(Error::Kernel(girih::Error::Element {
                call: self.name,
                argument: values.name,
                given,
                allowed: format!("{element}, as {} has", self.first.name),
            })),
        }
    }

    /// The types of the first tensor's elements and of the indices.
    fn elements(&self, index: &Argument) -> Result<[ElemType; 2], Error> {
        Ok([self.first.element(self.name)?, index.element(self.name)?])
    }

    /// The device keeps a record, if one is asked for.
    fn reports(&self, bounds: Bounds) -> Result<(), Error> {
        let device = girih::device::Device::of(&self.client);
        let has = bounds != Bounds::Report || device.reports();
        Ok(device.require(has, self.name, "atomic minimum of u32 for Bounds::Report")?)
    }

    /// Another argument, if it is on the first one's device.
    fn beside(&self, argument: Argument) -> Result<Argument, Error> {
        if argument.device == self.device {
            return Ok(argument);
        }
        Err(Error::Device {
            call: self.name,
            argument: argument.name,
            given: format!("{:?}", argument.device),
            allowed: format!("{:?}", self.device),
        })
    }
}

/// The client of a device with CubeCL; an autodiff device has that of the device it wraps.
fn client(device: &DispatchDevice) -> Option<Client> {
    match device {
        #[cfg(any(
            feature = "cpu",
            feature = "cuda",
            feature = "vulkan",
            feature = "wgpu"
        ))]
        DispatchDevice::Cube(device) => Some(device.client()),
        DispatchDevice::Autodiff(device) => client(device),
        #[allow(unreachable_patterns, reason = "a build may have no other backend")]
        _ => None,
    }
}

/// The runtimes that the build has.
fn runtimes() -> String {
    let all = [
        ("cpu", cfg!(feature = "cpu")),
        ("cuda", cfg!(feature = "cuda")),
        ("vulkan", cfg!(feature = "vulkan")),
        ("wgpu", cfg!(feature = "wgpu")),
    ];
    let built: Vec<&str> = all
        .into_iter()
        .filter_map(|(name, built)| built.then_some(name))
        .collect();
    match built.is_empty() {
        true => "none; features cpu, cuda, vulkan and wgpu bring one each".to_owned(),
        false => built.join(", "),
    }
}
