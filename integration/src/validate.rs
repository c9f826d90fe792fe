//! What a call has to hold before anything is queued or launched.
//!
//! Under fusion a kernel is launched later, on another thread, where nobody is left to return an error to.
//! So each op checks here all that its launcher would refuse.

mod known;
mod lookups;
mod products;
mod segments;

use burn::backend::DispatchDevice;
use burn::backend::cubecl::dtype_to_storage_type;
use burn::tensor::{AsIndex, DType, Device, Int, Shape, Tensor, kind::Basic};
use burn_cubecl::CubeDevice;
use cubecl::ir::ElemType;
use girih::Bounds;
use girih_kernels::{
    Determinism, Duplicates, GatherOptions, ScatterMode, ScatterOptions, SortOptions, sort_path,
    supports_gather_backward, supports_scatter, supports_scatter_options,
};

use crate::Error;
use crate::cube::with_extent;
use crate::scan::{count_dtype, place_dtype};
use known::{Asked, Question};

/// A call of an op, described by its first tensor.
pub(crate) struct Call {
    name: &'static str,
    first: Argument,
    axis: usize,
    device: Device,
    client: Asked,
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
    pub(crate) fn new(
        name: &'static str,
        first: Argument,
        axis: impl AsIndex,
    ) -> Result<Self, Error> {
        let axis = counted(name, &first, axis.as_index())?;
        let device = first.device.clone();
        let client = cube(device.as_dispatch()).ok_or_else(|| Error::Backend {
            call: name,
            given: format!("{device:?}"),
            allowed: runtimes(),
        })?;
        let client = Asked::new(client);
        Ok(Self {
            name,
            first,
            axis,
            device,
            client,
        })
    }

    /// The axis, counted from the first one.
    pub(crate) fn axis(&self) -> usize {
        self.axis
    }

    /// The first tensor's extent along the axis.
    pub(crate) fn extent(&self) -> usize {
        self.first.shape[self.axis]
    }

    /// A result of the first tensor's shape, but for one extent, has elements that can be counted.
    pub(crate) fn makes(&self, axis: usize, extent: usize) -> Result<(), Error> {
        let shape = with_extent(&self.first.shape, axis, extent);
        Ok(girih_kernels::supports_shape(self.name, &shape)?)
    }

    /// The device gathers from the first tensor with these indices, and where gradients are asked for
    /// sums those of the copies.
    pub(crate) fn gathers(
        &self,
        index: &Tensor<1, Int>,
        options: &GatherOptions,
    ) -> Result<(), Error> {
        let index = self.beside(Argument::new("index", index))?;
        let types = self.elements(&index)?;
        let sums = self
            .is_tracked()
            .then_some((self.axis, options.determinism));
        self.client.once(Question::Gathers(types, sums), |client| {
            let [element, by] = types;
            girih_kernels::supports_gather(client, element, by)?;
            if let Some((axis, determinism)) = sums {
                supports_gather_backward(client, element, by, axis, determinism)?;
            }
            Ok(())
        })?;
        if sums.is_some_and(|(axis, by)| axis > 0 && by == Determinism::RunToRun) {
            let extents = [self.extent(), index.shape[0]];
            let deterministic = Duplicates::Deterministic.into();
            self.scatters_slices(types, extents, ScatterMode::Add, &deterministic)?;
        }
        self.pads(options.padding, self.extent())?;
        self.reports(options.bounds)
    }

    /// The device scatters so many slices, as the first tensor has along the axis, to so many.
    fn scatters_slices(
        &self,
        types: [ElemType; 2],
        [extent, count]: [usize; 2],
        mode: ScatterMode,
        options: &ScatterOptions,
    ) -> Result<(), Error> {
        let shape = self.first.shape.iter().enumerate();
        let others = shape.filter(|(axis, _)| *axis != self.axis);
        let slice = others.map(|(_, extent)| extent).product();
        let slices = [extent, count];
        let question = Question::Scatters {
            types,
            mode,
            slices,
            slice,
            options: *options,
        };
        self.client.once(question, |client| {
            let [element, by] = types;
            supports_scatter(client, element, by, mode, 1)?;
            supports_scatter_options(client, element, mode, slices, slice, options)?;
            Ok(())
        })
    }

    /// Whether gradients may be asked for.
    fn is_tracked(&self) -> bool {
        self.device.is_autodiff() && self.first.dtype.is_float()
    }

    /// The launcher writes `updates` at these indices of a target of the first tensor's shape and type.
    pub(crate) fn scatters(
        &self,
        index: &Tensor<1, Int>,
        updates: Argument,
        extent: usize,
        mode: ScatterMode,
        options: &ScatterOptions,
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
        self.scatters_slices([element, by], [extent, index.shape[0]], mode, options)?;
        self.reports(options.bounds)
    }

    /// The device scans the first tensor.
    pub(crate) fn scans(&self) -> Result<(), Error> {
        let element = self.first.element(self.name)?;
        self.client.once(Question::Scans(element), |client| {
            Ok(girih_kernels::supports_scan(client, element)?)
        })
    }

    /// The device selects from the first tensor by a mask of its shape.
    pub(crate) fn selects(&self, mask: Argument) -> Result<(), Error> {
        self.alike(mask)?;
        self.finds()
    }

    /// Another argument, if it is on the first one's device and has its shape.
    fn alike(&self, argument: Argument) -> Result<Argument, Error> {
        let argument = self.beside(argument)?;
        match argument.shape == self.first.shape {
            true => Ok(argument),
            false => Err(Error::Kernel(girih::Error::Shape {
                call: self.name,
                argument: argument.name,
                given: argument.shape.to_vec(),
                allowed: self.first.shape.to_vec(),
            })),
        }
    }

    /// The device stores the first tensor, and compacts as many elements as it has.
    pub(crate) fn finds(&self) -> Result<(), Error> {
        let elements = self.first.shape.num_elements();
        let element = self.first.element(self.name)?;
        let question = Question::Finds(element, elements);
        self.client.once(question, |client| {
            let device = girih::device::Device::of(client);
            for element in [
                element,
                dtype_to_storage_type(count_dtype(elements)),
                dtype_to_storage_type(place_dtype(elements)),
            ] {
                let has = element == ElemType::Bool || device.stores(element);
                device.require(has, self.name, format!("buffers of {element}"))?;
            }
            Ok(())
        })
    }

    /// The device sorts the first tensor, and stores places along its axis.
    pub(crate) fn sorts(&self) -> Result<(), Error> {
        let others = self.first.shape.num_elements() / self.extent().max(1);
        self.sorts_rows([others, self.extent()])
    }

    /// The device sorts all elements of the first tensor, and stores how many there are.
    pub(crate) fn sorts_all(&self) -> Result<(), Error> {
        self.sorts_rows([1, self.first.shape.num_elements()])?;
        self.finds()
    }

    fn sorts_rows(&self, [rows, len]: [usize; 2]) -> Result<(), Error> {
        let element = self.first.element(self.name)?;
        let question = Question::Sorts(element, [rows, len]);
        self.client.once(question, |client| {
            let index = dtype_to_storage_type(crate::sort::index_of(len));
            let options = SortOptions::default();
            sort_path(client, element, Some(index), [rows, len], &options)?;
            Ok(())
        })
    }

    /// The device counts the first tensor's elements in so many bins, of numbers or of a range, or adds up their weights.
    pub(crate) fn counts(
        &self,
        weights: Option<Argument>,
        bins: usize,
        range: Option<[f64; 2]>,
    ) -> Result<(), Error> {
        let element = self.first.element(self.name)?;
        let weights = match weights {
            None => None,
            Some(weights) => Some(self.alike(weights)?.element(self.name)?),
        };
        let call = self.name;
        let question = Question::Counts {
            call,
            element,
            weights,
            bins,
            range: range.map(|range| range.map(f64::to_bits)),
        };
        self.client.once(question, |client| {
            Ok(girih_kernels::supports_histogram(
                call, client, element, weights, bins, range,
            )?)
        })
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
        if bounds != Bounds::Report {
            return Ok(());
        }
        self.client.once(Question::Reports, |client| {
            let device = girih::device::Device::of(client);
            let lacks = "atomic minimum of u32 for Bounds::Report";
            Ok(device.require(device.reports(), self.name, lacks)?)
        })
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

/// An axis of a tensor, counted from the first one; one below 0 is counted from the end.
fn counted(call: &'static str, of: &Argument, axis: isize) -> Result<usize, Error> {
    let rank = of.shape.num_dims();
    let place = if axis < 0 { axis + rank as isize } else { axis };
    match usize::try_from(place) {
        Ok(place) if place < rank => Ok(place),
        Ok(axis) => Err(Error::Kernel(girih::Error::Axis {
            call,
            argument: of.name,
            axis,
            rank,
        })),
        Err(_) => Err(Error::Kernel(girih::Error::Argument {
            call,
            argument: "axis",
            given: axis.to_string(),
            allowed: format!("an axis of {}, in -{rank}..{rank}", of.name),
        })),
    }
}

/// A device with CubeCL; an autodiff device is the one that it wraps.
fn cube(device: &DispatchDevice) -> Option<&CubeDevice> {
    match device {
        #[cfg(any(
            feature = "cpu",
            feature = "cuda",
            feature = "vulkan",
            feature = "wgpu"
        ))]
        DispatchDevice::Cube(device) => Some(device),
        DispatchDevice::Autodiff(device) => cube(device),
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
