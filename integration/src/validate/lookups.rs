//! What lookups ask of their arguments.

use super::{Argument, Call, Question};
use crate::Error;
use crate::cube::with_extent;
use crate::lookup::adds;
use burn::tensor::{Int, Shape, Tensor};
use girih::Bounds;
use girih_kernels::{ScatterMode, supports_scatter};

impl Call {
    /// The device takes from the first tensor along the axis at these places, and where gradients are asked for adds those
    /// of the elements taken.
    pub(crate) fn takes<const D: usize>(
        &self,
        index: &Tensor<D, Int>,
        bounds: Bounds,
    ) -> Result<(), Error> {
        let index = self.beside(Argument::new("index", index))?;
        let along = index.shape[self.axis];
        self.has_shape(&index, with_extent(&self.first.shape, self.axis, along))?;
        let types = self.elements(&index)?;
        let tracked = self.is_tracked();
        self.client
            .once(Question::Takes(types, tracked), |client| {
                let [element, by] = types;
                girih_kernels::supports_gather(client, element, by)?;
                if tracked {
                    adds(client, element, by)?;
                }
                Ok(())
            })?;
        self.reports(bounds)
    }

    /// The device adds the first tensor's elements at these places.
    pub(crate) fn adds_along<const D: usize>(
        &self,
        index: &Tensor<D, Int>,
        bounds: Bounds,
    ) -> Result<(), Error> {
        let index = self.beside(Argument::new("index", index))?;
        self.has_shape(&index, self.first.shape.clone())?;
        let types = self.elements(&index)?;
        self.client.once(Question::AddsAlong(types), |client| {
            let [element, by] = types;
            adds(client, element, by)?;
            Ok(())
        })?;
        self.reports(bounds)
    }

    /// The first tensor has pages of at least one row, and the device gathers rows of rank `rank` of them by a table of
    /// pages and the offsets of sequences.
    pub(crate) fn gathers_pages(
        &self,
        table: &Tensor<2, Int>,
        offsets: &Tensor<1, Int>,
        rank: usize,
        bounds: Bounds,
    ) -> Result<(), Error> {
        let pages = self.first.shape.num_dims();
        if pages < 2 || rank + 1 != pages {
            return Err(Error::Kernel(girih::Error::Rank {
                call: self.name,
                argument: "the result",
                given: rank,
                allowed: "one less than pages has, which has 2 at least".into(),
            }));
        }
        if self.first.shape[1] == 0 {
            return Err(Error::Kernel(girih::Error::Size {
                call: self.name,
                argument: "rows of a page",
                given: 0,
                allowed: u64::from(u32::MAX),
            }));
        }
        let table = self.beside(Argument::new("table", table))?;
        let offsets = self.beside(Argument::new("offsets", offsets))?;
        self.has_shape(&offsets, Shape::from([table.shape[0] + 1]))?;
        let element = self.first.element(self.name)?;
        let [by, at] = [table.element(self.name)?, offsets.element(self.name)?];
        let count = self.first.shape[0] * self.first.shape[1];
        let rows = self
            .is_tracked()
            .then(|| girih_kernels::page_rows_type(count));
        let question = Question::Pages([element, by, at], rows);
        self.client.once(question, |client| {
            for list in [by, at] {
                girih_kernels::supports_gather(client, element, list)?;
            }
            if let Some(rows) = rows {
                supports_scatter(client, element, rows, ScatterMode::Add, 1)?;
            }
            Ok(())
        })?;
        self.reports(bounds)
    }

    fn has_shape(&self, argument: &Argument, allowed: Shape) -> Result<(), Error> {
        match argument.shape == allowed {
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
