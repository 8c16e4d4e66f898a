use std::fs::{self, OpenOptions};
use std::io::{Read, Write};

use super::{Follower, Read1, open};

fn drain(follower: &mut Follower) -> (String, usize) {
    let (mut text, mut n_rotations, mut n_quiet, mut buffer) = (Vec::new(), 0, 0, [0; 7]);
    while n_quiet < 3 {
        match follower.read(&mut buffer).unwrap() {
            Read1::Data(n_read) => text.extend_from_slice(&buffer[..n_read]),
            Read1::Rotated => n_rotations += 1,
            Read1::Nothing => n_quiet += 1,
        }
    }
    (String::from_utf8(text).unwrap(), n_rotations)
}

#[test]
fn packed_files_are_known_by_their_first_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(b"a\nb\n").unwrap();
    let packed = packed.finish().unwrap();
    // Two members in a row, as rotation tools append them.
    for content in [b"a\nb\na\nb\n".to_vec(), [packed.clone(), packed].concat()] {
        fs::write(&path, content).unwrap();
        let mut text = String::new();
        open(&path).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "a\nb\na\nb\n");
    }
    fs::write(&path, b"x").unwrap();
    let mut text = String::new();
    open(&path).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "x");
}

#[test]
fn rotation_by_renaming_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut follower = Follower::new(path.clone(), 0);
    assert_eq!(drain(&mut follower), (String::new(), 0));
    fs::write(&path, "one\n").unwrap();
    let mut old = OpenOptions::new().append(true).open(&path).unwrap();
    assert_eq!(drain(&mut follower).0, "one\n");
    fs::rename(&path, folder.path().join("log.1")).unwrap();
    old.write_all(b"late\n").unwrap();
    fs::write(&path, "two\n").unwrap();
    assert_eq!(drain(&mut follower), ("late\ntwo\n".to_owned(), 1));
}

#[test]
fn a_file_cut_short_is_read_again_from_its_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    fs::write(&path, "one two three\n").unwrap();
    let mut follower = Follower::new(path.clone(), 4);
    assert_eq!(drain(&mut follower).0, "two three\n");
    fs::write(&path, "new\n").unwrap();
    assert_eq!(drain(&mut follower), ("new\n".to_owned(), 1));
    assert_eq!(follower.place().1, 4);
}
