//! Tiles that are computed once: in registers, or in memory that a group shares.

use super::kept::Kept;
use super::spread::{Place, Spread};
use super::{Held, Packet, Tile, TileExpand, TileShape};
use crate::coop::{Group, GroupExpand};
use cubecl::prelude::*;
use std::cell::RefCell;

/// Computing once what is used several times.
///
/// | | `hold` | `share` |
/// |---|---|---|
/// | where | in registers: each unit holds its own elements, those that it stores | in the cube's shared memory |
/// | costs | registers; on a GPU at most 16 packets a unit | shared memory for every element, and waiting twice |
/// | may then be | combined element by element with other tiles, and stored, by the same group | anything: also broadcast, permuted, reduced, a list of indices |
///
/// Hold what is stored several times, or combined from several loads; share what is reduced, or read in another order. What
/// is used once needs neither.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::prelude::*;
///
/// /// Two results of one expensive load.
/// #[cube(launch_unchecked)]
/// fn split(x: &[f32], whole: &mut [f32], rest: &mut [f32]) {
///     let cube = this_cube();
///     let x = TileView::<f32, shape![256]>::of(x).load(&cube, CUBE_POS).hold(&cube);
///     let floor = x.floor();
///     TileViewMut::<f32, shape![256]>::of(rest).store(&cube, &x - &floor, CUBE_POS);
///     TileViewMut::<f32, shape![256]>::of(whole).store(&cube, floor, CUBE_POS);
/// }
/// # fn main() {}
/// ```
impl<E: Scalar, S: TileShape> Tile<'_, E, S> {
    /// The same elements, in the registers of the units of the group.
    ///
    /// All units of the group call it, and the group's size is known while the kernel is expanded.
    #[allow(unused_variables)]
    pub fn hold(&self, group: &Group) -> Tile<'static, E, S> {
        cubecl::unexpanded!()
    }

    /// The same elements, in memory that the units of the group share, where each of them may ask for any.
    ///
    /// All units of the group call it, and wait for each other: see [`Group::sync`](crate::coop::Group::sync) for the groups
    /// that can. Groups that go on from plane to plane and are not the whole cube wait as those of
    /// [collectives](crate::coop::Group#impl-Group-1) do: all units of the cube then call it. Each group of the cube has a
    /// part of the memory, which is as large as the tile, and has it to the end of the kernel; what does not fit fails the
    /// kernel by name. One unit alone keeps the elements in memory of its own, which on a GPU is local memory.
    #[allow(unused_variables)]
    pub fn share(&self, group: &Group) -> Tile<'static, E, S> {
        cubecl::unexpanded!()
    }
}

impl<E: Scalar, S: TileShape> TileExpand<E, S> {
    /// Expansion of [`Tile::hold`].
    pub fn __expand_hold_method(&self, scope: &Scope, group: &GroupExpand) -> Self {
        if E::elem_type(scope).is_bool() {
            return self.converted::<u32>().held_by(scope, group).converted();
        }
        self.held_by(scope, group)
    }

    fn held_by(&self, scope: &Scope, group: &GroupExpand) -> Self {
        let (_, spread) = self.spread_over(scope, "Tile::hold", group);
        let held = Held::new(scope, "Tile::hold", &spread, group);
        self.kept_in(scope, group, &spread, held)
    }

    /// The tile in these registers, for which it is spread so.
    pub(super) fn kept_in(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        spread: &Spread,
        held: Held<E>,
    ) -> Self {
        let held = RefCell::new(held);
        if !spread.dims().contains(&0) {
            spread.walk(
                scope,
                group,
                Held::<E>::unroll(scope),
                &|scope, place| self.packet(scope, place, spread.width()),
                &|scope, place, value| held.borrow_mut().set(scope, place, value),
            );
        }
        Self::held(held.into_inner())
    }

    /// Expansion of [`Tile::share`].
    pub fn __expand_share_method(&self, scope: &Scope, group: &GroupExpand) -> Self {
        self.shared(scope, "Tile::share", group)
    }

    pub(super) fn shared(&self, scope: &Scope, call: &'static str, group: &GroupExpand) -> Self {
        if E::elem_type(scope).is_bool() {
            let words = self.converted::<u32>();
            return words.shared_by(scope, call, group).converted();
        }
        self.shared_by(scope, call, group)
    }

    fn shared_by(&self, scope: &Scope, call: &'static str, group: &GroupExpand) -> Self {
        let (dims, spread) = self.spread_over(scope, call, group);
        let kept = Kept::new(scope, call, group, &dims);
        if dims.contains(&0) {
            return kept.tile();
        }
        kept.wait(scope);
        let store = |scope: &Scope, place: &Place<'_>, packet: Packet<E>| {
            kept.put(scope, place.at, packet);
        };
        spread.walk(
            scope,
            group,
            self.unroll(scope),
            &|scope, place| self.packet(scope, place, spread.width()),
            &store,
        );
        kept.wait(scope);
        kept.tile()
    }

    /// The tile's extents, and how it is told apart among the units of a group in the widest packets that are parts of rows.
    pub(super) fn spread_over(
        &self,
        scope: &Scope,
        call: &str,
        group: &GroupExpand,
    ) -> (Vec<usize>, Spread) {
        let dims = S::__expand_dims(scope);
        let units = group.holders(call) as usize;
        let row = dims[dims.len() - 1];
        let width = match self.is_held() || row.is_multiple_of(self.width()) {
            true => self.width(),
            false => 1,
        };
        let spread = Spread::of(&dims, units, width, self.grain().turns());
        (dims, spread)
    }
}
