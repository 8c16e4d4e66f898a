//! Headers and what they need.

use super::*;

fn check(headers: &[(&str, &str)]) -> String {
    match read(headers.iter().copied()) {
        Ok(None) => "nobody".into(),
        Err(error) => error.to_string(),
        Ok(Some(found)) => {
            let Identity {
                name,
                uid,
                groups,
                extra,
            } = found.identity;
            let needs = found.needs.iter().map(|need| match need {
                Attributes::Resource(need) => {
                    let ResourceAttributes {
                        group,
                        resource,
                        subresource,
                        namespace,
                        name,
                        ..
                    } = need;
                    format!("{group}/{resource}/{subresource}:{namespace}/{name}")
                }
                Attributes::Path { .. } => unreachable!("only resources are needed"),
            });
            let needs: Vec<_> = needs.collect();
            format!(
                "{name} {uid:?} {groups:?} {extra:?} needs {}",
                needs.join(" ")
            )
        }
    }
}

#[test]
fn headers_say_who_to_be_and_what_that_needs() {
    let cases: [(&[(&str, &str)], &str); 8] = [
        (&[("accept", "x")], "nobody"),
        (
            &[("impersonate-user", "bob")],
            r#"bob "" ["system:authenticated"] {} needs /users/:/bob"#,
        ),
        (
            &[
                ("impersonate-user", "bob"),
                ("impersonate-group", "a"),
                ("impersonate-group", "b"),
                ("impersonate-uid", "7"),
            ],
            r#"bob "7" ["a", "b", "system:authenticated"] {} needs /users/:/bob /groups/:/a /groups/:/b authentication.k8s.io/uids/:/7"#,
        ),
        (
            &[
                ("impersonate-user", "bob"),
                ("impersonate-extra-a%2fb", "x"),
                ("impersonate-extra-a%2fb", "y"),
            ],
            r#"bob "" ["system:authenticated"] {"a/b": ["x", "y"]} needs /users/:/bob authentication.k8s.io/userextras/a/b:/x authentication.k8s.io/userextras/a/b:/y"#,
        ),
        (
            &[("impersonate-user", "system:serviceaccount:ns:sa")],
            r#"system:serviceaccount:ns:sa "" ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"] {} needs /serviceaccounts/:ns/sa"#,
        ),
        (
            &[("impersonate-user", "system:anonymous")],
            r#"system:anonymous "" ["system:unauthenticated"] {} needs /users/:/system:anonymous"#,
        ),
        (
            &[("impersonate-group", "a")],
            r#"requested [group "a"] without impersonating a user"#,
        ),
        (
            &[("impersonate-uid", "a")],
            r#"requested [uid "a"] without impersonating a user"#,
        ),
    ];
    for (headers, expected) in cases {
        assert_eq!(check(headers), expected);
    }
}

#[test]
fn keys_that_are_not_properly_encoded_stay_as_they_are() {
    for (key, expected) in [
        ("a%2", "a%2"),
        ("%zz", "%zz"),
        ("%ff", "%ff"),
        ("a%20b%", "a b%"),
    ] {
        assert_eq!(decode(key), expected);
    }
}
