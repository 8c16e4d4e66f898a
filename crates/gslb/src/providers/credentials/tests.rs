use super::{Source, profile, source};

fn check(settings: &[(&str, &str)]) -> Result<Source, String> {
    source(&|name| {
        let found = settings.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn the_environment_comes_before_a_web_identity_and_that_before_a_file() {
    let keys = [
        ("AWS_ACCESS_KEY_ID", "id"),
        ("AWS_SECRET_ACCESS_KEY", "hush"),
    ];
    let identity = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/t"),
        ("AWS_ROLE_ARN", "arn"),
    ];
    let home = [("HOME", "/home/x"), ("AWS_PROFILE", "dns")];
    let all = [&keys[..], &identity[..], &home[..]].concat();
    assert!(matches!(check(&all), Ok(Source::Given(keys)) if keys.access_key_id == "id"));
    let two = [&identity[..], &home[..]].concat();
    assert!(matches!(check(&two), Ok(Source::WebIdentity { role_arn, .. }) if role_arn == "arn"));
    let Ok(Source::File { path, profile }) = check(&home) else {
        panic!("the file is left");
    };
    assert_eq!(
        (path.to_str(), profile.as_str()),
        (Some("/home/x/.aws/credentials"), "dns")
    );
    for half in [&keys[..1], &keys[1..], &identity[..1], &identity[1..]] {
        assert!(check(half).unwrap_err().contains("set both"));
    }
    assert!(
        check(&[])
            .unwrap_err()
            .contains("AWS_SHARED_CREDENTIALS_FILE")
    );
}

#[test]
fn a_secret_is_shown_by_nothing() {
    let keys = [
        ("AWS_ACCESS_KEY_ID", "id"),
        ("AWS_SECRET_ACCESS_KEY", "hush"),
        ("AWS_SESSION_TOKEN", "hush"),
    ];
    let shown = format!("{:?}", check(&keys));
    assert!(shown.contains("id") && !shown.contains("hush"), "{shown}");
}

#[test]
fn a_profile_is_read_from_a_shared_file() {
    let file = "# ours\n[default]\naws_access_key_id = A\naws_secret_access_key=B\n\n[dns]\n; c\n\
        aws_access_key_id=C\naws_secret_access_key = D=\naws_session_token = E\nregion = x\n[half]\naws_access_key_id=F\n";
    let one = profile(file, "default").unwrap();
    assert_eq!(
        (one.access_key_id.as_str(), one.secret_access_key.0.as_str()),
        ("A", "B")
    );
    let two = profile(file, "dns").unwrap();
    assert_eq!(
        (
            two.secret_access_key.0.as_str(),
            two.session_token.unwrap().0.as_str()
        ),
        ("D=", "E")
    );
    assert_eq!(profile(file, "half"), None);
    assert_eq!(profile(file, "absent"), None);
}
