use std::convert::Infallible;

use super::*;

fn content(number: u32) -> Content {
    let mut content = Content::default();
    // All in one shard.
    content[4..8].copy_from_slice(&number.to_be_bytes());
    content
}

fn ask(cache: &Cache, number: u32) {
    let made = cache.get_or_make(&content(number), || {
        Ok::<_, Infallible>([number as u8; SIGNATURE_OCTETS])
    });
    assert_eq!(made, Ok([number as u8; SIGNATURE_OCTETS]));
}

#[test]
fn a_flood_drives_out_nothing_that_is_in_use_and_grows_no_memory() {
    let cache = Cache::default();
    for number in 0..100_000 {
        ask(&cache, 1_000_000);
        ask(&cache, number);
    }
    assert_eq!(cache.n_made(), 100_001, "the one in use was made once");
    let shard = cache.shards[0].lock().unwrap();
    assert!(shard.young.len() + shard.old.len() <= 2 * HALF_MAX);
}
