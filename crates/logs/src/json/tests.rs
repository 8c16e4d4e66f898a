use proptest::prelude::*;

use super::{copy_escaped, escape, purity, unescape};

fn string(write: impl Fn(&[u8], &mut Vec<u8>), text: &[u8]) -> String {
    let mut out = vec![b'"'];
    write(text, &mut out);
    out.push(b'"');
    serde_json::from_slice(&out)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&out)))
}

proptest! {
    #[test]
    fn any_bytes_become_valid_json(text in proptest::collection::vec(0u8..=255, 0..80)) {
        string(escape, &text);
        string(copy_escaped, &text);
    }

    #[test]
    fn pure_text_is_its_own_escape(text in "[ -~]{0,40}[\\x00-\\x20\"\\\\é]?[ -~]{0,20}") {
        let (found, mut copied) = (purity(text.as_bytes()), Vec::new());
        let is_plain = |char: char| (' '..='\x7f').contains(&char) && char != '\\';
        prop_assert_eq!(found.is_plain, text.chars().all(is_plain));
        prop_assert_eq!(found.is_bare, found.is_plain && !text.contains('"'));
        escape(text.as_bytes(), &mut copied);
        prop_assert!(!found.is_bare || copied == text.as_bytes());
    }

    #[test]
    fn text_survives_escaping(text in "\\PC{0,40}[\n\t\"\\\\]{0,3}\\PC{0,40}") {
        prop_assert_eq!(string(escape, text.as_bytes()), text);
    }

    #[test]
    fn json_escapes_are_undone(text in "\\PC{0,40}[\n\t\"\\\\]{0,3}") {
        let quoted = serde_json::to_string(&text).unwrap();
        let mut out = Vec::new();
        unescape(&quoted.as_bytes()[1..quoted.len() - 1], &mut out);
        prop_assert_eq!(String::from_utf8(out).unwrap(), text);
    }
}

#[test]
fn escapes_of_go_and_broken_bytes_are_kept_readable() {
    assert_eq!(
        string(copy_escaped, br"a\x1b[31m\a\v\q\"),
        "a\u{1b}[31m\u{7}\u{b}\\q\\"
    );
    assert_eq!(string(escape, b"a\xffb\0"), "a\\xffb\0");
    let mut out = Vec::new();
    unescape(br"\ud83d\ude00 \u00e9 \ud83d x\", &mut out);
    assert_eq!(String::from_utf8(out).unwrap(), "😀 é \u{fffd} x\\");
}
