//! Where indices lead, on the host.

use girih::Bounds;

/// The place in `0..extent` that an index is given under these bounds, if any.
pub fn place(index: i128, extent: usize, bounds: Bounds) -> Option<usize> {
    let extent = extent as i128;
    let place = match bounds {
        Bounds::Assume | Bounds::Mask | Bounds::Report => index,
        Bounds::Clamp => index.min(extent - 1).max(0),
        Bounds::Wrap if index < 0 => index + extent,
        Bounds::Wrap => index,
    };
    (0..extent).contains(&place).then_some(place as usize)
}

/// Every rule that a masked call can have, without a reporter.
pub const MASKED: [Bounds; 3] = [Bounds::Mask, Bounds::Clamp, Bounds::Wrap];

/// Row-major coordinates of a tile of these extents.
pub fn coordinates(dims: &[usize]) -> Vec<Vec<usize>> {
    dims.iter().fold(vec![vec![]], |all, &extent| {
        all.iter()
            .flat_map(|at: &Vec<usize>| {
                (0..extent).map(move |next| at.iter().copied().chain([next]).collect())
            })
            .collect()
    })
}

/// Row-major position of the element at these places.
pub fn position(places: &[usize], extents: &[usize]) -> usize {
    places
        .iter()
        .zip(extents)
        .fold(0, |position, (place, extent)| position * extent + place)
}

/// The element of each coordinate of a tile: `places` gives where it leads along each axis of a tensor of these extents.
pub fn load<T: Copy>(
    values: &[T],
    extents: &[usize],
    tile: &[usize],
    padding: T,
    places: impl Fn(&[usize]) -> Vec<Option<usize>>,
) -> Vec<T> {
    let element = |at: Vec<usize>| {
        let places: Option<Vec<_>> = places(&at).into_iter().collect();
        places.map_or(padding, |places| values[position(&places, extents)])
    };
    coordinates(tile).into_iter().map(element).collect()
}
