//! Credentials for AWS, from what the environment says and from shared files.
//!
//! The order is that of AWS' own SDKs, as far as a controller needs it: keys in the environment, then a web identity
//! (a token file and a role, as EKS sets them), then the shared credentials file.

use std::{fmt, path::PathBuf};

/// A text that no log and no error message shows.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// Keys that sign requests.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Keys {
    /// `AWS_ACCESS_KEY_ID`.
    pub access_key_id: String,
    /// `AWS_SECRET_ACCESS_KEY`.
    pub secret_access_key: Secret,
    /// `AWS_SESSION_TOKEN`; only with keys that expire.
    pub session_token: Option<Secret>,
}

/// Where keys come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The environment.
    Given(Keys),
    /// A token that STS exchanges for keys.
    WebIdentity {
        /// `AWS_WEB_IDENTITY_TOKEN_FILE`; read again before every exchange, because it is renewed.
        token_file: PathBuf,
        /// `AWS_ROLE_ARN`.
        role_arn: String,
        /// `AWS_ROLE_SESSION_NAME`.
        session_name: String,
    },
    /// A profile of the shared credentials file.
    File {
        /// `AWS_SHARED_CREDENTIALS_FILE`, or `~/.aws/credentials`.
        path: PathBuf,
        /// `AWS_PROFILE`, or `default`.
        profile: String,
    },
}

/// Chooses the source, by the variables that `get` gives.
///
/// # Errors
/// What to set, when there is none, or only half of one.
pub fn source(get: &dyn Fn(&str) -> Option<String>) -> Result<Source, String> {
    let text = |name: &str| get(name).filter(|value| !value.is_empty());
    match (text("AWS_ACCESS_KEY_ID"), text("AWS_SECRET_ACCESS_KEY")) {
        (Some(id), Some(secret)) => {
            return Ok(Source::Given(Keys {
                access_key_id: id,
                secret_access_key: Secret(secret),
                session_token: text("AWS_SESSION_TOKEN").map(Secret),
            }));
        }
        (None, None) => {}
        _ => {
            return Err(
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY belong together; set both".into(),
            );
        }
    }
    match (text("AWS_WEB_IDENTITY_TOKEN_FILE"), text("AWS_ROLE_ARN")) {
        (Some(file), Some(role_arn)) => {
            return Ok(Source::WebIdentity {
                token_file: file.into(),
                role_arn,
                session_name: text("AWS_ROLE_SESSION_NAME").unwrap_or_else(|| "flotilla".into()),
            });
        }
        (None, None) => {}
        _ => {
            return Err(
                "AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN belong together; set both".into(),
            );
        }
    }
    let path = text("AWS_SHARED_CREDENTIALS_FILE")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(text("HOME")?).join(".aws/credentials")));
    match path {
        Some(path) => Ok(Source::File {
            path,
            profile: text("AWS_PROFILE").unwrap_or_else(|| "default".into()),
        }),
        None => Err("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, \
             AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, or AWS_SHARED_CREDENTIALS_FILE"
            .into()),
    }
}

/// The keys of a profile in a shared credentials file.
pub fn profile(file: &str, wanted: &str) -> Option<Keys> {
    let mut keys = Keys::default();
    let mut inside = false;
    for line in file.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') || line.starts_with(';') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            inside = name.trim() == wanted;
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| inside) else {
            continue;
        };
        let value = value.trim().to_owned();
        match key.trim() {
            "aws_access_key_id" => keys.access_key_id = value,
            "aws_secret_access_key" => keys.secret_access_key = Secret(value),
            "aws_session_token" => keys.session_token = Some(Secret(value)),
            _ => {}
        }
    }
    let complete = !keys.access_key_id.is_empty() && !keys.secret_access_key.0.is_empty();
    complete.then_some(keys)
}

#[cfg(test)]
mod tests;
