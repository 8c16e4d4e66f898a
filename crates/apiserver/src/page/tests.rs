use super::*;

#[test]
fn tokens_name_the_smallest_key_after_the_page() {
    for (namespace, key) in [
        (None, ("a", "b")),
        (Some("a"), ("a", "b")),
        (None, ("", "node-1")),
    ] {
        let last = ObjectKey::new(key.0, key.1);
        let token = decode(&encode(Some(7), &last, namespace), namespace).unwrap();
        assert_eq!(token.rev, Some(7));
        assert!(token.start > last);
        assert!(token.start < ObjectKey::new(key.0, &format!("{}-", key.1)));
    }
    let newest = encode(None, &ObjectKey::new("a", "b"), None);
    assert_eq!(decode(&newest, None).unwrap().rev, None);
}

#[test]
fn forged_tokens_are_refused() {
    // Source: apiserver pkg/storage/continue_test.go.
    let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
    for (token, namespace) in [
        ("%%%".to_owned(), None),
        (encode("{}"), None),
        (
            encode(r#"{"v":"meta.k8s.io/v2","rv":1,"start":"a/b"}"#),
            None,
        ),
        (encode(r#"{"v":"meta.k8s.io/v1","start":"a/b"}"#), None),
        (encode(r#"{"v":"meta.k8s.io/v1","rv":1}"#), None),
        (
            encode(r#"{"v":"meta.k8s.io/v1","rv":1,"start":"../b"}"#),
            None,
        ),
        (
            encode(r#"{"v":"meta.k8s.io/v1","rv":1,"start":"x/b"}"#),
            Some("a"),
        ),
    ] {
        assert_eq!(
            decode(&token, namespace).unwrap_err().code(),
            400,
            "{token}"
        );
    }
}
