//! What readings in a row show.

use flashlag_schema::{Look, Looks, Surroundings};
use flashlag_units::{Bytes, Nanos};
use flashlag_watch::glance::{Glance, Recent};

#[test]
fn what_lies_around_a_time_is_what_readings_in_a_list_would_show() {
    let (mut recent, mut looks) = (Recent::default(), Looks::default());
    // Five readings without a byte, then five with one each.
    for index in 0..300u64 {
        let bytes = index / 10 * 5 + (index % 10).saturating_sub(5);
        let counts = Surroundings { disk_bytes: Some(Bytes(bytes)), ..Surroundings::default() };
        let look = Look { at: Nanos(index * 250), counts };
        recent.push(Glance { look, ..Glance::default() });
        looks.push(look);
    }
    for from in (0..76_000).step_by(125) {
        for length in [0, 1, 250, 800, 5000] {
            let (from, to) = (Nanos(from), Nanos(from + length));
            assert_eq!(recent.around(from, to), looks.around(from, to), "{from} {to}");
        }
    }
    assert_eq!(Recent::default().around(Nanos(1), Nanos(2)), None);
}
