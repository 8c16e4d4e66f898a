use proptest::prelude::*;

use super::*;

const TEXTS: [&str; 8] = [
    "a in (b,,c), !d, e!=f,g>1",
    r"metadata.name=a\,b,status.phase!=x",
    "-1.50e-3",
    "1.5Gi",
    ".items[?(@.a==\"b\")]..c[-1:]\n{\"items\":[{\"a\":\"b\",\"d\":{\"c\":[1]}}]}",
    "{\"spec\":{\"containers\":[{\"name\":\"a\",\"image\":\"x\"}]}}\n{\"spec\":{\"containers\":[{\"name\":\
     \"a\",\"$patch\":\"delete\"},{\"name\":\"b\"}],\"$setElementOrder/containers\":[{\"name\":\"b\"}]}}",
    "{\"metadata\":{\"labels\":{\"a\":\"1\"}}}\n{\"metadata\":{\"labels\":{\"b\":\"2\"}},\"spec\":{}}",
    "{\"a\":[1]}\n[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/-\"}]",
];

fn all(data: &[u8]) {
    selectors(data);
    quantities(data);
    json_paths(data);
    patches(data);
    applies(data);
    mistakes(data);
    protobufs(data);
}

#[test]
fn the_corpus_breaks_no_law() {
    TEXTS.iter().for_each(|text| all(text.as_bytes()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damaged_texts_break_no_law(
        which in 0..TEXTS.len(), cuts in prop::collection::vec((any::<usize>(), any::<u8>()), 0..6),
    ) {
        let mut data = TEXTS[which].as_bytes().to_vec();
        for (at, byte) in cuts {
            let at = at % data.len();
            data[at] = byte;
        }
        all(&data);
    }
}
