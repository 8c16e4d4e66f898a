use std::fs;

use flotilla_gslb::config::PushKey;

use super::push_key;

#[test]
fn the_push_key_comes_from_one_place() {
    let folder = tempfile::tempdir().unwrap();
    let key = |name: &str| {
        format!(
            "key \"{name}\" {{ algorithm hmac-sha256; secret \"bm90IGEgc2VjcmV0IGF0IGFsbA==\"; }};\n"
        )
    };
    let setting = PushKey {
        name: "fleet".to_owned(),
        secret: b"not a secret at all".to_vec(),
    };
    let two = key("a") + &key("b");
    let table = [
        ("a file", Some(key("fleet")), None, Ok(Some("fleet"))),
        ("the settings", None, Some(&setting), Ok(Some("fleet"))),
        ("nowhere", None, None, Ok(None)),
        (
            "both",
            Some(key("fleet")),
            Some(&setting),
            Err("given twice"),
        ),
        ("two keys", Some(two), None, Err("it has 2 keys")),
        (
            "no key",
            Some(String::new()),
            None,
            Err("there is no key in it"),
        ),
    ];
    for (case, text, setting, expected) in table {
        let path = text.map(|text| {
            let path = folder.path().join("key");
            fs::write(&path, text).unwrap();
            path
        });
        let found = push_key(path.as_deref(), setting);
        match (found, expected) {
            (Ok(key), Ok(name)) => {
                let found = key.map(|key| key.name().to_string());
                assert_eq!(found.as_deref(), name, "{case}");
            }
            (Err(error), Err(words)) => {
                let error = format!("{error:#}");
                assert!(error.contains(words), "{case}: {error}");
            }
            (found, _) => panic!("{case}: {found:?}"),
        }
    }
    let missing = push_key(Some(&folder.path().join("missing")), None).unwrap_err();
    assert!(
        format!("{missing:#}").contains("--push-key-file"),
        "{missing:#}"
    );
}
