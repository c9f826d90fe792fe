//! Segments, bags, and gradients with few rows.

use burn::tensor::{Int, Tensor};
use girih::Bounds;
use girih_kernels::{
    Reduction, supports_embedding_bag, supports_embedding_bag_backward, supports_segment_reduce,
};

use super::{Argument, Call};
use crate::Error;
use crate::bag::Listed;
use crate::cube::with_extent;

impl Call {
    /// The device combines rows of the first tensor.
    pub(crate) fn reduces(&self, reduction: Reduction) -> Result<(), Error> {
        let element = self.first.element(self.name)?;
        Ok(supports_segment_reduce(&self.client, element, reduction)?)
    }

    /// The device combines rows of the first tensor, bag by bag, and where gradients are asked for has theirs.
    pub(crate) fn bags(
        &self,
        index: &Tensor<1, Int>,
        weights: Option<&Tensor<1>>,
        reduction: Reduction,
        padding: Option<usize>,
        bounds: Bounds,
    ) -> Result<(), Error> {
        let index = self.beside(Argument::new("index", index))?;
        let [element, by] = self.elements(&index)?;
        match self.device.is_autodiff() {
            true => supports_embedding_bag_backward(&self.client, element, by, reduction)?,
            false => supports_embedding_bag(&self.client, element, by, reduction)?,
        }
        if let Some(weights) = weights {
            let weights = self.beside(Argument::new("weights", weights))?;
            if weights.shape != index.shape {
                return Err(Error::Kernel(girih::Error::Shape {
                    call: self.name,
                    argument: weights.name,
                    given: weights.shape.to_vec(),
                    allowed: index.shape.to_vec(),
                }));
            }
            let given = weights.element(self.name)?;
            if given != element {
                return Err(Error::Kernel(girih::Error::Element {
                    call: self.name,
                    argument: weights.name,
                    given,
                    allowed: format!("{element}, as {} has", self.first.name),
                }));
            }
        }
        self.pads(padding, self.extent())?;
        self.reports(bounds)
    }

    /// The padding is a row of the table.
    pub(crate) fn pads(&self, padding: Option<usize>, extent: usize) -> Result<(), Error> {
        match padding.filter(|&padding| padding >= extent) {
            None => Ok(()),
            Some(padding) => Err(Error::Kernel(girih::Error::Argument {
                call: self.name,
                argument: "padding",
                given: padding.to_string(),
                allowed: format!("a row of the table, in 0..{extent}"),
            })),
        }
    }

    /// So many entries are grouped by a list that says this.
    pub(crate) fn segments(
        &self,
        list: Option<&Tensor<1, Int>>,
        listed: Listed,
        entries: usize,
    ) -> Result<(), Error> {
        let segments = match listed {
            Listed::SortedIds(segments) | Listed::Ids(segments) => segments,
            Listed::Offsets | Listed::Length(_) => 0,
        };
        for (argument, given) in [
            ("the number of entries", entries),
            ("the number of segments", segments),
        ] {
            if given > i32::MAX as usize {
                return Err(Error::Kernel(girih::Error::Size {
                    call: self.name,
                    argument,
                    given: given as u64,
                    allowed: i32::MAX as u64,
                }));
            }
        }
        self.makes(0, segments)?;
        let name = match listed {
            Listed::Offsets => "offsets",
            Listed::Length(length) => {
                let fits = length > 0 && entries.is_multiple_of(length);
                return match fits {
                    true => Ok(()),
                    false => Err(Error::Kernel(girih::Error::Argument {
                        call: self.name,
                        argument: "the length of segments",
                        given: length.to_string(),
                        allowed: format!("a divisor of the number of entries, {entries}"),
                    })),
                };
            }
            Listed::SortedIds(_) | Listed::Ids(_) => "ids",
        };
        let Some(list) = list else {
            return Ok(());
        };
        let list = self.beside(Argument::new(name, list))?;
        let (fits, allowed) = match listed {
            Listed::Offsets => (list.shape[0] > 0, 1),
            _ => (list.shape[0] == entries, entries),
        };
        match fits {
            true => Ok(()),
            false => Err(Error::Kernel(girih::Error::Shape {
                call: self.name,
                argument: list.name,
                given: list.shape.to_vec(),
                allowed: vec![allowed],
            })),
        }
    }

    /// The device makes steps of optimisers on rows of the first tensor.
    pub(crate) fn steps(&self) -> Result<(), Error> {
        let element = self.first.element(self.name)?;
        Ok(girih_kernels::supports_sparse(&self.client, element)?)
    }

    /// The first tensor has a row for each index, of a table of so many rows.
    pub(crate) fn combines(
        &self,
        index: &Tensor<1, Int>,
        extent: usize,
        padding: Option<usize>,
    ) -> Result<(), Error> {
        self.steps()?;
        let index = self.beside(Argument::new("index", index))?;
        let allowed = with_extent(&self.first.shape, 0, index.shape[0]);
        if self.first.shape != allowed {
            return Err(Error::Kernel(girih::Error::Shape {
                call: self.name,
                argument: self.first.name,
                given: self.first.shape.to_vec(),
                allowed: allowed.to_vec(),
            }));
        }
        for (argument, given) in [
            ("the number of rows of the table", extent),
            ("index", index.shape[0]),
        ] {
            if given > i32::MAX as usize {
                return Err(Error::Kernel(girih::Error::Size {
                    call: self.name,
                    argument,
                    given: given as u64,
                    allowed: i32::MAX as u64,
                }));
            }
        }
        self.pads(padding, extent)
    }

    /// The other tensor has the first one's type, and is beside it.
    pub(crate) fn fits(&self, other: Argument) -> Result<(), Error> {
        let other = self.beside(other)?;
        let (element, given) = (self.first.element(self.name)?, other.element(self.name)?);
        match element == given {
            true => Ok(()),
            false => Err(Error::Kernel(girih::Error::Element {
                call: self.name,
                argument: other.name,
                given,
                allowed: format!("{element}, as {} has", self.first.name),
            })),
        }
    }
}
