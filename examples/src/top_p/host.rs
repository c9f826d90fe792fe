//! Nucleus sampling in plain Rust and f64: what the device is held to.

/// The bytes of the nucleus with their weights, the most likely first: the fewest whose part of all weight is `p` or more, of equal
/// ones those with small numbers first.
pub fn nucleus(logits: &[f32], p: f64, temperature: f64) -> Vec<(u8, f64)> {
    let mut order: Vec<u8> = (0..=u8::MAX).take(logits.len()).collect();
    let logit = |byte: u8| logits[usize::from(byte)];
    order.sort_by(|&a, &b| logit(b).total_cmp(&logit(a)));
    let largest = f64::from(logit(order[0]));
    let weight = |byte: u8| ((f64::from(logit(byte)) - largest) / temperature).exp();
    let all: f64 = order.iter().map(|&byte| weight(byte)).sum();
    let mut sum = 0.0;
    let mut nucleus = vec![];
    for byte in order {
        nucleus.push((byte, weight(byte)));
        sum += weight(byte);
        if sum >= p * all {
            break;
        }
    }
    nucleus
}

/// The byte of a nucleus that a number from 0 to before 1 draws.
pub fn draw(nucleus: &[(u8, f64)], uniform: f64) -> u8 {
    let mass: f64 = nucleus.iter().map(|(_, weight)| weight).sum();
    let mut sum = 0.0;
    for &(byte, weight) in nucleus {
        sum += weight;
        if sum > uniform * mass {
            return byte;
        }
    }
    nucleus[nucleus.len() - 1].0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nucleus_has_the_mass_that_is_asked_for() {
        let logits = [1f32, 4.0, 2.0, 3.0].map(f32::ln);
        let bytes = |p| -> Vec<u8> {
            let nucleus = nucleus(&logits, p, 1.0);
            nucleus.into_iter().map(|(byte, _)| byte).collect()
        };
        assert_eq!(bytes(0.0), [1]);
        assert_eq!(bytes(0.39), [1]);
        assert_eq!(bytes(0.5), [1, 3]);
        assert_eq!(bytes(0.85), [1, 3, 2]);
        assert_eq!(bytes(0.95), [1, 3, 2, 0]);
        // The colder, the fewer.
        assert_eq!(nucleus(&logits, 0.5, 0.25).len(), 1);
    }

    #[test]
    fn draws_by_weight() {
        let nucleus = [(7, 3.0), (9, 1.0)];
        assert_eq!(draw(&nucleus, 0.0), 7);
        assert_eq!(draw(&nucleus, 0.74), 7);
        assert_eq!(draw(&nucleus, 0.76), 9);
    }
}
