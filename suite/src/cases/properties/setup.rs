//! Kernel configurations: what is part of a kernel's type, and so compiled anew. They are the same in every run.

use super::element::{Pad, element_types, index_types};
use super::memory::coordinates;
use super::model::Rule;
use cubecl::ir::ElemType;
use girih::device::Device;
use girih_testkit::Rt;

/// Extents of tiles: 1, powers of two, and others.
const EXTENTS: [usize; 10] = [4, 3, 1, 8, 5, 12, 2, 7, 16, 100];

/// What a kernel does with the elements that its tile covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Load,
    Store,
    Add,
}

/// A configuration of any view.
#[derive(Clone, Debug)]
pub struct Setup {
    pub action: Action,
    pub element: ElemType,
    pub index: ElemType,
    pub rule: Rule,
    pub padding: Pad,
    /// Extents of the tile.
    pub shape: Vec<usize>,
    /// Elements of a vector of memory.
    pub width: usize,
}

/// What a device has to choose from.
pub struct Choice<'a> {
    rt: &'a Rt,
    elements: Vec<ElemType>,
    indices: Vec<ElemType>,
    rules: Vec<Rule>,
    /// The element type of the first configuration, and the padding of the first of floats.
    first: usize,
}

impl<'a> Choice<'a> {
    pub fn new(rt: &'a Rt, first: usize) -> Self {
        let reports = Device::of(&rt.client).reports();
        let reports = |rule: &Rule| reports || *rule != Rule::Under(girih::Bounds::Report);
        Self {
            rt,
            elements: element_types(rt),
            indices: index_types(rt),
            rules: Rule::ALL.into_iter().filter(reports).collect(),
            first,
        }
    }

    /// The rules that the device has.
    pub fn rules(&self) -> Vec<Rule> {
        self.rules.clone()
    }

    /// With elements of other types.
    pub fn of_elements(self, elements: Vec<ElemType>) -> Self {
        Self { elements, ..self }
    }

    /// The configuration of that number, for tiles of that rank and at most so many elements.
    pub fn setup(&self, action: Action, number: usize, rank: usize, most: usize) -> Setup {
        let turn = |len: usize, step: usize| (number * step + number / len) % len;
        let element = self.element(number);
        let paddings = Pad::of(element);
        // Each configuration that has so many paddings has the next one.
        let alike = |before: &usize| Pad::of(self.element(*before)).len() == paddings.len();
        let alike = self.first + (0..number).filter(alike).count();
        Setup {
            action,
            element,
            index: self.indices[turn(self.indices.len(), 3)],
            rule: self.rules[turn(self.rules.len(), 1)],
            padding: paddings[alike % paddings.len()],
            shape: shape(number, rank, most),
            width: 1,
        }
    }

    fn element(&self, number: usize) -> ElemType {
        self.elements[(number + self.first) % self.elements.len()]
    }

    /// The same with memory of vectors, where the device has them for the element.
    pub fn in_vectors(&self, setup: Setup) -> Setup {
        let widths = Device::of(&self.rt.client).vector_widths(setup.element.size());
        let width = widths.into_iter().find(|&width| width <= 4).unwrap_or(1);
        Setup { width, ..setup }
    }
}

/// Extents from the list in turn, with those that would make the tile too large left out.
fn shape(number: usize, rank: usize, most: usize) -> Vec<usize> {
    let mut size = 1;
    let extents = (0..rank).map(|axis| {
        let turn = (number * 7 + axis * 3) % EXTENTS.len();
        let from_here = EXTENTS.iter().cycle().skip(turn);
        let extent = *from_here
            .take(EXTENTS.len())
            .find(|&&extent| size * extent <= most)
            .expect("an extent of 1 always fits");
        size *= extent;
        extent
    });
    extents.collect()
}

impl Setup {
    /// Every coordinate of the tile, in row-major order.
    pub fn coordinates(&self) -> Vec<Vec<usize>> {
        coordinates(&self.shape)
    }

    /// How many elements the tile has.
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// The types of elements and indices, as kernels take them.
    pub fn types(&self) -> [ElemType; 2] {
        [self.element, self.index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn tiles_have_every_extent_and_are_small() {
        let shapes: Vec<_> = (0..40)
            .map(|number| shape(number, 1 + number % 5, 200))
            .collect();
        let extents: BTreeSet<_> = shapes.iter().flatten().copied().collect();
        assert_eq!(extents, EXTENTS.into_iter().collect());
        assert!(
            shapes
                .iter()
                .all(|shape| shape.iter().product::<usize>() <= 200)
        );
    }
}
