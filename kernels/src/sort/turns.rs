//! What passes read and write in turn.

use super::carry::Moved;
use super::write::Payload;
use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;

/// What goes with the keys.
#[derive(Clone, Copy)]
pub(crate) enum Carried<'a> {
    Nothing,
    Payload(&'a TensorHandle),
    Places { index: ElemType, keeps_keys: bool },
}

impl Carried<'_> {
    /// The type of what goes with each key.
    pub(crate) fn element(&self) -> Option<ElemType> {
        match self {
            Self::Nothing => None,
            Self::Payload(payload) => Some(payload.dtype),
            Self::Places { index, .. } => Some(*index),
        }
    }

    /// What goes with the keys of a pass.
    pub(super) fn of_pass(&self, is_first: bool) -> Payload {
        match self {
            Self::Nothing => Payload::None,
            Self::Places { .. } if is_first => Payload::Place,
            _ => Payload::Given,
        }
    }

    /// The same, of a sort by sweeps.
    pub(super) fn moved(&self) -> Moved {
        match self {
            Self::Nothing => Moved::Nothing,
            Self::Payload(_) => Moved::Payload,
            Self::Places { .. } => Moved::Places,
        }
    }

    /// Whether the sorted keys are wanted.
    pub(super) fn keeps_keys(&self) -> bool {
        !matches!(
            self,
            Self::Places {
                keeps_keys: false,
                ..
            }
        )
    }
}

/// A buffer, and how many elements a kernel finds in it.
#[derive(Clone)]
pub(super) struct Buffer {
    pub handle: Handle,
    pub len: usize,
}

impl Buffer {
    /// One that nobody reads or writes.
    pub(super) fn unused(client: &Client) -> Self {
        Self {
            handle: client.empty(16),
            len: 1,
        }
    }

    pub(super) fn arg(&self) -> BufferArg {
        // SAFETY: the buffer was made for so many elements, or checked to hold them.
        unsafe { BufferArg::from_raw_parts(self.handle.clone(), self.len) }
    }
}

/// Two buffers that passes write in turn, so that the last one writes the first buffer.
pub(super) struct Turns {
    pub input: Buffer,
    output: Buffer,
    between: Option<Buffer>,
    passes: u32,
}

impl Turns {
    /// For passes over `len` elements of a type, of which the first reads `input`.
    pub(super) fn new(
        client: &Client,
        input: Handle,
        len: usize,
        element: ElemType,
        passes: u32,
    ) -> Self {
        let buffer = || Buffer {
            handle: client.empty(len * element.size()),
            len,
        };
        Self {
            input: Buffer { handle: input, len },
            output: buffer(),
            between: (passes > 1).then(buffer),
            passes,
        }
    }

    /// What a pass reads, and what it writes.
    pub(super) fn of(&self, pass: u32) -> [Buffer; 2] {
        let written = |pass: u32| match (&self.between, (self.passes - 1 - pass) % 2) {
            (Some(between), 1) => between.clone(),
            _ => self.output.clone(),
        };
        let read = match pass {
            0 => self.input.clone(),
            _ => written(pass - 1),
        };
        [read, written(pass)]
    }

    /// What the first pass reads, what passes write between, and what the last writes.
    pub(super) fn all(&self, unused: &Buffer) -> [Buffer; 3] {
        let between = self.between.as_ref().unwrap_or(unused);
        [self.input.clone(), between.clone(), self.output.clone()]
    }

    /// In the place of what there is not. Each buffer is a message to the device's thread: so it is the output, where that has room
    /// for an element of any type.
    pub(super) fn unused(&self, client: &Client, element: ElemType) -> Buffer {
        match self.output.len * element.size() < 8 {
            true => Buffer::unused(client),
            false => Buffer {
                handle: self.output.handle.clone(),
                len: 1,
            },
        }
    }

    /// What the last pass wrote.
    pub(super) fn into_output(self) -> Handle {
        self.output.handle
    }
}

/// At least so many cubes.
pub(super) fn cubes(device: &Device, total: usize) -> CubeCount {
    let (max_x, max_y, _) = device.client().properties().hardware.max_cube_count;
    let rows = total.div_ceil(max_x as usize);
    let (y, z) = (rows.min(max_y as usize), rows.div_ceil(max_y as usize));
    CubeCount::new_3d(total.div_ceil(y * z) as u32, y as u32, z as u32)
}
