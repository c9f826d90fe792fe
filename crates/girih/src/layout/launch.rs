//! Layouts as arguments of a launch.

use super::number::Number;
use super::tuple::Tree;
use super::{ComposedLayout, Integer, KernelLayout, KernelLayoutExpand, Profile, Swizzle};
use cubecl::prelude::*;

/// What a kernel is compiled for of a layout that it is launched with: all but the values of dynamic integers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KernelLayoutCompilationArg {
    swizzle: Swizzle,
    /// `None` where it is dynamic.
    offset: Option<u64>,
    profile: Profile,
    /// The layout, where the kernel's addresses are too narrow for it.
    refused: Option<String>,
}

impl KernelLayoutCompilationArg {
    /// What a kernel of those addresses is compiled for.
    pub fn new(layout: &ComposedLayout, addresses: AddressType) -> Self {
        let offset = layout.offset();
        Self {
            swizzle: layout.swizzle(),
            offset: offset.is_static().then_some(offset.value()),
            profile: layout.layout().profile(),
            refused: (addresses < address_type(layout)).then(|| layout.to_string()),
        }
    }
}

impl LaunchArg for KernelLayout {
    type RuntimeArg = ComposedLayout;
    type CompilationArg = KernelLayoutCompilationArg;

    fn register(layout: ComposedLayout, launcher: &mut KernelLauncher) -> Self::CompilationArg {
        let arg = KernelLayoutCompilationArg::new(&layout, launcher.settings.address_type);
        let offset = Some(layout.offset()).filter(|offset| !offset.is_static());
        let values = layout.layout().dynamics();
        for value in values.chain(offset.map(Integer::value)) {
            // The kernel refuses to be compiled where the addresses do not hold the values.
            let value = if arg.refused.is_some() { 0 } else { value };
            <usize as LaunchArg>::register(value as usize, launcher);
        }
        arg
    }

    fn expand(arg: &Self::CompilationArg, builder: &mut KernelBuilder) -> KernelLayoutExpand {
        if let Some(layout) = &arg.refused {
            refuse(layout);
        }
        let mut scalar = || Number::Wide(<usize as LaunchArg>::expand(&(), builder));
        let values: Vec<_> = (0..arg.profile.dynamic_count()).map(|_| scalar()).collect();
        let start = arg.offset.map_or_else(scalar, Number::Known);
        let mut number = |leaf| match leaf {
            Integer::Static(value) => Number::Known(value),
            Integer::Dynamic(place) => values[place as usize],
        };
        KernelLayoutExpand {
            swizzle: arg.swizzle,
            start,
            shape: Tree::of(arg.profile.shape(), &mut number),
            stride: Tree::of(arg.profile.stride(), &mut number),
        }
    }
}

/// The narrowest addresses that hold every integer, the size and every offset of the layout.
pub(super) fn address_type(layout: &ComposedLayout) -> AddressType {
    let (inner, swizzle) = (layout.layout(), layout.swizzle());
    let narrow = |value: u64| value <= u32::MAX.into();
    // `ComposedLayout::new` has made sure that the sum fits.
    let end = layout.offset().value() + inner.cosize().value();
    let mut leaves = inner.shape().leaves().chain(inner.stride().leaves());
    let fits = narrow(end.saturating_sub(1))
        && narrow(inner.size().value())
        && leaves.all(|leaf| narrow(leaf.value()))
        && (swizzle.is_identity() || swizzle.block_bits() <= u32::BITS);
    match fits {
        true => AddressType::U32,
        false => AddressType::U64,
    }
}

/// Fails unless the addresses of the kernel hold the layout.
pub(super) fn require_addresses(scope: &Scope, layout: &ComposedLayout) {
    if usize::__expand_size(scope) < address_type(layout).size() {
        refuse(&layout.to_string());
    }
}

fn refuse(layout: &str) {
    panic!(
        "girih: KernelLayout: {layout} in a kernel of 32-bit addresses; 64-bit ones are needed, \
         `#[cube(launch, address_type = \"u64\")]` or \"dynamic\" with `KernelLayout::address_type`"
    );
}
