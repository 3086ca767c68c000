//! Reads drawings back, for tests.

/// `(x, y)` in thousandths of the drawing.
pub(crate) type Corner = (f64, f64);

/// Every corner of a path of upright and level lines.
pub(crate) fn corners(path: &str) -> Vec<Corner> {
    let mut at = (0.0, 0.0);
    let mut corners = Vec::new();
    let mut rest = path;
    while let Some(command) = rest.chars().next() {
        let next = rest.char_indices().skip(1).find(|(_, c)| c.is_ascii_alphabetic());
        let end = next.map_or(rest.len(), |(end, _)| end);
        let numbers: Vec<f64> =
            rest[1..end].split_whitespace().map(|n| n.parse().expect("a number")).collect();
        match command {
            'M' => at = (numbers[0], numbers[1]),
            'H' => at.0 = numbers[0],
            'V' => at.1 = numbers[0],
            other => panic!("stairs have no {other}: {path}"),
        }
        corners.push(at);
        rest = &rest[end..];
    }
    corners
}

/// Numbers that follow from a seed (SplitMix64).
pub(crate) fn draws(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
