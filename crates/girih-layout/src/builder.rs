//! Tuples written entry by entry.

use crate::tuple::{Node, Nodes, View};
use crate::{IntTuple, Integer};

/// Writes the entries of one tuple in order.
pub(crate) struct Builder {
    nodes: Nodes,
}

/// A tuple that was opened and not yet closed.
pub(crate) struct Head(usize);

impl Builder {
    #[inline]
    pub(crate) fn new() -> Self {
        Self {
            nodes: Nodes::new(),
        }
    }

    /// Begins a tuple: what is added up to [`close`](Self::close) are its modes.
    #[inline]
    pub(crate) fn open(&mut self) -> Head {
        let at = self.nodes.len();
        self.nodes.push(Node::tuple(0, 1));
        Head(at)
    }

    pub(crate) fn close(&mut self, Head(at): Head) {
        let entries = &self.nodes[at..];
        let (mut rank, mut span) = (0, 1);
        while let Some(mode) = entries.get(span) {
            span += mode.span();
            rank += 1;
        }
        self.nodes[at] = Node::tuple(rank, span);
    }

    #[inline]
    pub(crate) fn leaf(&mut self, leaf: Integer) {
        self.nodes.push(leaf.into());
    }

    #[inline]
    pub(crate) fn append(&mut self, part: View<'_>) {
        self.nodes.extend_from_slice(part.0);
    }

    #[inline]
    pub(crate) fn finish(self) -> IntTuple {
        IntTuple { nodes: self.nodes }
    }
}
