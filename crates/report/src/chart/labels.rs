use flashlag_units::InOrder;

/// Moves heights in pixels apart until neighbours are at least `gap` apart, within `0..=height`,
/// in the order given; each stays as near to where it was as the others allow.
pub(super) fn spread(wanted: &[f64], gap: f64, height: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.order_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut placed = vec![0.0; wanted.len()];
    let mut least = f64::NEG_INFINITY;
    for &index in &order {
        placed[index] = wanted[index].max(least);
        least = placed[index] + gap;
    }
    // Names that ran over the lower edge push the others back up.
    let mut most = height;
    for &index in order.iter().rev() {
        placed[index] = placed[index].min(most);
        most = placed[index] - gap;
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn labels_that_would_touch_are_moved_apart_and_others_stay() {
        assert_eq!(spread(&[10.0, 12.0, 100.0], 15.0, 200.0), [10.0, 25.0, 100.0]);
        assert_eq!(spread(&[198.0, 199.0], 15.0, 200.0), [185.0, 200.0]);
        assert_eq!(spread(&[], 15.0, 200.0), [0.0; 0]);
    }
}
