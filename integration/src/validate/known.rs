//! What a thread knows of its devices, so that it asks them once.

use std::cell::{OnceCell, RefCell};
use std::collections::HashSet;
use std::ops::Deref;

use burn_cubecl::CubeDevice;
use cubecl::{client::Client, ir::ElemType};
use girih_kernels::{Determinism, ScatterMode, ScatterOptions};

use crate::Error;

/// A question to a device, with all that its answer depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Question {
    /// Gathers elements of a type by indices of another; where there are gradients the axis, and how they are added up.
    Gathers([ElemType; 2], Option<(usize, Determinism)>),
    /// Scatters slices into others, under options.
    Scatters {
        types: [ElemType; 2],
        mode: ScatterMode,
        /// How many there are along the axis, in the target and in the updates.
        slices: [usize; 2],
        /// Elements of one.
        slice: usize,
        options: ScatterOptions,
    },
    /// Takes elements along an axis; with gradients or without.
    Takes([ElemType; 2], bool),
    /// Adds elements along an axis.
    AddsAlong([ElemType; 2]),
    /// Gathers rows of pages by a table and by offsets; the type of the rows' numbers, where there are gradients.
    Pages([ElemType; 3], Option<ElemType>),
    Scans(ElemType),
    /// Finds places among so many elements, and moves them.
    Finds(ElemType, usize),
    /// Sorts so many rows of so many elements.
    Sorts(ElemType, [usize; 2]),
    /// Counts in so many bins of a range, or adds up weights. Of the range's numbers there are the bits.
    Counts {
        call: &'static str,
        element: ElemType,
        weights: Option<ElemType>,
        bins: usize,
        range: Option<[u64; 2]>,
    },
    /// Keeps a record of an index out of range.
    Reports,
}

/// Answers that are kept: as many as calls of a few programs have different sizes.
const MOST: usize = 4096;

thread_local! {
    /// What devices have said yes to.
    static KNOWN: RefCell<HashSet<(CubeDevice, Question)>> = RefCell::default();
}

/// A device, and its client once somebody needs it: to load one takes a lock that all threads share.
pub(crate) struct Asked {
    device: CubeDevice,
    client: OnceCell<Client>,
}

impl Asked {
    pub(crate) fn new(device: &CubeDevice) -> Self {
        Self {
            device: device.clone(),
            client: OnceCell::new(),
        }
    }

    /// Asks what has not been answered with a yes before.
    pub(crate) fn once(
        &self,
        question: Question,
        ask: impl FnOnce(&Client) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let question = (self.device.clone(), question);
        if KNOWN.with_borrow(|known| known.contains(&question)) {
            return Ok(());
        }
        ask(self)?;
        KNOWN.with_borrow_mut(|known| {
            if known.len() >= MOST {
                known.clear();
            }
            known.insert(question);
        });
        Ok(())
    }
}

impl Deref for Asked {
    type Target = Client;

    fn deref(&self) -> &Client {
        self.client.get_or_init(|| self.device.client())
    }
}
