//! What the file may look like.

use super::*;

#[test]
fn a_line_is_token_user_uid_and_optional_groups() {
    let file = TokenFile::parse(
        "# comment\n\nabc,alice,1,\"system:masters,devs\"\ndef, \"b\"\"ob, jr\",2\ng,carol,3,solo\nabc2,dave,,\n",
    )
    .unwrap();
    let cases = [
        (
            "abc",
            "alice",
            "1",
            vec!["system:masters", "devs", "system:authenticated"],
        ),
        ("def", "b\"ob, jr", "2", vec!["system:authenticated"]),
        ("g", "carol", "3", vec!["solo", "system:authenticated"]),
        ("abc2", "dave", "", vec!["system:authenticated"]),
    ];
    for (token, name, uid, groups) in cases {
        let found = file.identity(token).unwrap();
        assert_eq!((found.name.as_str(), found.uid.as_str()), (name, uid));
        assert_eq!(found.groups, groups);
    }
    assert!(file.identity("alice").is_none());
}

#[test]
fn errors_name_the_line_and_never_the_token() {
    let cases = [
        (
            "secret,user",
            "line 1 of the token file has fewer than three columns: token, user and uid",
        ),
        ("\n,user,uid", "line 2 of the token file has no token"),
        (
            "secret,\"user,uid",
            "line 1 of the token file has an unclosed quote",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(TokenFile::parse(text).unwrap_err().to_string(), expected);
    }
}
