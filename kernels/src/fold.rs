//! Tensors of any rank as tensors of few axes, where their strides allow.

/// One axis that several tensors share: its extent, and its stride in each of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Axis<const T: usize> {
    pub extent: usize,
    pub strides: [usize; T],
}

/// The fewest axes that walk the same elements in the same order, in every tensor.
///
/// Axes of extent 1 vanish; two neighbours join where, in each tensor, the outer one steps over the whole inner one.
pub(crate) fn fold<const T: usize>(shape: &[usize], strides: [&[usize]; T]) -> Vec<Axis<T>> {
    let mut folded: Vec<Axis<T>> = vec![];
    for (at, &extent) in shape.iter().enumerate() {
        if extent == 1 {
            continue;
        }
        let strides = strides.map(|strides| strides[at]);
        match folded.last_mut() {
            Some(outer)
                if outer
                    .strides
                    .iter()
                    .zip(strides)
                    .all(|(&outer, inner)| outer == extent * inner) =>
            {
                outer.extent *= extent;
                outer.strides = strides;
            }
            _ => folded.push(Axis { extent, strides }),
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_axes_join() {
        assert_eq!(
            fold(&[2, 3, 4], [&[12, 4, 1]]),
            [Axis {
                extent: 24,
                strides: [1]
            }]
        );
    }

    #[test]
    fn axes_join_only_where_every_tensor_allows() {
        let folded = fold(&[2, 3, 4], [&[12, 4, 1], &[16, 5, 1]]);
        assert_eq!(folded.len(), 3);
    }

    #[test]
    fn axes_of_one_vanish() {
        assert_eq!(
            fold(&[1, 5, 1], [&[99, 7, 3]]),
            [Axis {
                extent: 5,
                strides: [7]
            }]
        );
        assert!(fold(&[1, 1], [&[3, 3]]).is_empty());
    }

    #[test]
    fn a_transposed_pair_stays_apart() {
        assert_eq!(fold(&[3, 4], [&[1, 3]]).len(), 2);
    }

    #[test]
    fn expanded_axes_join_with_each_other() {
        assert_eq!(
            fold(&[3, 4], [&[0, 0]]),
            [Axis {
                extent: 12,
                strides: [0]
            }]
        );
    }
}
