//! What is compressed in the tests.

use crate::program::Directory;

/// A block of the default size.
pub(crate) const BLOCK: usize = 128 << 10;

/// Bytes that can't be compressed.
pub(crate) fn random(count: usize, seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut bytes = vec![0; count];
    random.fill(&mut bytes);
    bytes
}

/// Bytes that can, much like a text.
pub(crate) fn text(count: usize, seed: u64) -> Vec<u8> {
    const WORDS: [&str; 12] =
        ["fiber", "park", "the", "a", "worker", "of", "channel", "nursery", "and", "stack", "waits", "block"];
    let mut random = fastrand::Rng::with_seed(seed);
    let mut text = Vec::with_capacity(count + 16);
    while text.len() < count {
        let word = WORDS[random.usize(..WORDS.len())];
        text.extend(word.bytes());
        text.push(if random.u8(..) < 20 { b'\n' } else { b' ' });
        if random.u8(..) < 10 {
            text.extend(random.u32(..).to_string().bytes());
        }
    }
    text.truncate(count);
    text
}

/// Mostly zeros.
pub(crate) fn sparse(count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    bytes.iter_mut().step_by(300_007).for_each(|byte| *byte = 7);
    bytes
}

/// All kinds, with names.
pub(crate) fn corpus() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("nothing", Vec::new()),
        ("one byte", vec![b'x']),
        ("a line", b"a line\n".to_vec()),
        ("sparse", sparse(3_000_000)),
        ("random", random(1_000_000, 1)),
        ("text", text(2_000_000, 2)),
        ("almost a block", text(BLOCK - 1, 3)),
        ("a block", text(BLOCK, 4)),
        ("a block and a byte", text(BLOCK + 1, 5)),
        ("three blocks", random(3 * BLOCK, 6)),
        ("compressed already", Directory::new().gz(&["-n"]).input(&text(2_000_000, 7)).output()),
    ]
}
