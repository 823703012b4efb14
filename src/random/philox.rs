//! Philox2x64-10: a random function of a counter and a key.
//!
//! A counter-based generator has no state to carry: the same key and counter give the same block,
//! in whatever order blocks are asked for. That is what lets two variants of a scenario meet the
//! same luck, request by request, after their histories have parted.
//!
//! Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011;
//! multiplier, key schedule and known answers as published with it (Random123).

/// The multiplier of the 2×64-bit variant.
const MULTIPLIER: u64 = 0xD2B7_4407_B1CE_6E93;
/// What the key grows by between rounds: the golden ratio.
const WEYL: u64 = 0x9E37_79B9_7F4A_7C15;
/// The number of rounds: six pass every test known to the authors, ten leave a margin.
const ROUNDS: u32 = 10;

/// The block of `key` at `counter`.
#[inline]
pub(super) const fn philox2x64(key: u64, counter: [u64; 2]) -> [u64; 2] {
    let [mut left, mut right] = counter;
    let mut key = key;
    let mut round = 0;
    while round < ROUNDS {
        let product = left as u128 * MULTIPLIER as u128;
        left = (product >> 64) as u64 ^ key ^ right;
        right = product as u64;
        key = key.wrapping_add(WEYL);
        round += 1;
    }
    [left, right]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers_of_the_authors() {
        #[track_caller]
        fn check(counter: [u64; 2], key: u64, expected: [u64; 2]) {
            assert_eq!(philox2x64(key, counter), expected);
        }
        check([0, 0], 0, [0xca00_a045_9843_d731, 0x66c2_4222_c9a8_45b5]);
        check([u64::MAX, u64::MAX], u64::MAX, [0x65b0_21d6_0cd8_310f, 0x4d02_f322_2f86_df20]);
        check(
            [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344],
            0xa409_3822_299f_31d0,
            [0x0a5e_742c_2997_341c, 0xb0f8_83d3_8000_de5d],
        );
    }
}
