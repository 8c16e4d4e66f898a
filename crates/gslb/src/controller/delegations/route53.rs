//! Asking and changing Route 53.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use jiff::{SignedDuration, Timestamp};

use super::{ATTEMPTS, Error, pause};
use crate::{
    config::Route53 as Settings,
    controller::{
        http::{Http, Reply},
        now,
    },
    delegate::Records,
    providers::{
        credentials::{self, Keys, Secret, Source},
        route53::{self, After, RecordSet},
        sigv4,
    },
};

/// Time limit of one request.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Connections kept open.
const CONNECTIONS: usize = 2;
/// Pages of one list that are read; a name has few sets.
const PAGES_MAX: usize = 20;
/// How long before their end keys are renewed.
const RENEW: SignedDuration = SignedDuration::from_secs(300);

/// A client of one account.
pub(super) struct Route53 {
    http: Http,
    settings: Settings,
    zones: Mutex<HashMap<String, String>>,
    /// Keys that STS gave, and when they end.
    assumed: Mutex<Option<(Keys, Timestamp)>>,
}

impl Route53 {
    pub(super) fn new(settings: Settings) -> Result<Route53, Error> {
        Ok(Route53 {
            http: Http::new(None, TIMEOUT, CONNECTIONS)?,
            settings,
            zones: Mutex::default(),
            assumed: Mutex::default(),
        })
    }

    /// Makes the parent zone say what it should about us; tells whether it had to be changed.
    pub(super) async fn put(&self, records: &Records) -> Result<bool, Error> {
        let zone = self.hosted_zone(&records.parent).await?;
        let path = format!("/2013-04-01/hostedzone/{zone}/rrset");
        for attempt in 1..=ATTEMPTS {
            let mut found = self.sets(&path, &records.zone, "NS").await?;
            found.extend(self.sets(&path, &records.own_name, "A").await?);
            let changes = route53::plan(&found, records)?;
            if changes.is_empty() {
                return Ok(false);
            }
            let body = route53::batch(&changes);
            let reply = self.call("POST", &format!("{path}/"), &[], body).await?;
            if reply.status == 200 {
                return Ok(true);
            }
            let refusal = route53::refusal(reply.status, &reply.body);
            match route53::after(reply.status, &refusal) {
                After::ReadAgain => pause(attempt).await,
                After::Wait | After::GiveUp => return Err(refusal.into()),
            }
        }
        Err(Error::Contended)
    }

    /// The sets of a name, from the type `from` on.
    async fn sets(&self, path: &str, name: &str, from: &str) -> Result<Vec<RecordSet>, Error> {
        let mut found = Vec::new();
        let (mut next_name, mut next_type) = (name.to_owned(), from.to_owned());
        for _ in 0..PAGES_MAX {
            let query = [("name", next_name.as_str()), ("type", next_type.as_str())];
            let reply = self.call("GET", path, &query, String::new()).await?;
            let page = match (reply.status, route53::page(&reply.body)) {
                (200, Some(page)) => page,
                _ => return Err(route53::refusal(reply.status, &reply.body).into()),
            };
            let same = |other: &str| other.trim_end_matches('.').eq_ignore_ascii_case(name);
            found.extend(page.sets.into_iter().filter(|set| same(&set.name)));
            match page.next {
                // Names are in order: what follows another name is not ours.
                Some((name, kind)) if same(&name) => (next_name, next_type) = (name, kind),
                _ => break,
            }
        }
        Ok(found)
    }

    async fn hosted_zone(&self, parent: &str) -> Result<String, Error> {
        if let Some(id) = &self.settings.hosted_zone_id {
            return Ok(id.clone());
        }
        let known = lock(&self.zones).get(parent).cloned();
        if let Some(id) = known {
            return Ok(id);
        }
        let query = [("dnsname", parent)];
        let path = "/2013-04-01/hostedzonesbyname";
        let reply = self.call("GET", path, &query, String::new()).await?;
        if reply.status != 200 {
            return Err(route53::refusal(reply.status, &reply.body).into());
        }
        let id = route53::hosted_zone(&reply.body, parent)
            .ok_or_else(|| Error::NoHostedZone(parent.to_owned()))?;
        lock(&self.zones).insert(parent.to_owned(), id.clone());
        Ok(id)
    }

    async fn call(
        &self,
        method: &str,
        path: &str,
        query: &[(&str, &str)],
        body: String,
    ) -> Result<Reply, Error> {
        let keys = self.keys().await?;
        let endpoint = self.settings.endpoint.trim_end_matches('/');
        let host = endpoint
            .split_once("://")
            .map_or(endpoint, |(_, host)| host);
        let request = sigv4::Request {
            method,
            host,
            path,
            query,
            body: body.as_bytes(),
            region: "us-east-1",
            service: "route53",
        };
        let headers = sigv4::sign(&request, &keys, now());
        let separator = if query.is_empty() { "" } else { "?" };
        let uri = format!("{endpoint}{path}{separator}{}", sigv4::query(query));
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request
            .header("content-type", "application/xml")
            .body(Full::new(Bytes::from(body)))
            .map_err(crate::controller::http::Error::from)?;
        Ok(self.http.send(request).await?)
    }

    async fn keys(&self) -> Result<Keys, Error> {
        let odd = |what: String| Error::Credentials(what);
        match &self.settings.credentials {
            Source::Given(keys) => Ok(keys.clone()),
            Source::File { path, profile } => {
                let shown = path.display();
                let text = tokio::fs::read_to_string(path).await;
                let text = text.map_err(|error| odd(format!("{shown}: {error}")))?;
                credentials::profile(&text, profile)
                    .ok_or_else(|| odd(format!("{shown} has no complete profile {profile:?}")))
            }
            Source::WebIdentity {
                token_file,
                role_arn,
                session_name,
            } => {
                let held = lock(&self.assumed).clone();
                if let Some((keys, until)) = held
                    && until.duration_since(now()) > RENEW
                {
                    return Ok(keys);
                }
                let token = tokio::fs::read_to_string(token_file).await;
                let token =
                    token.map_err(|error| odd(format!("{}: {error}", token_file.display())))?;
                let form = sigv4::query(&[
                    ("Action", "AssumeRoleWithWebIdentity"),
                    ("Version", "2011-06-15"),
                    ("RoleArn", role_arn),
                    ("RoleSessionName", session_name),
                    ("WebIdentityToken", token.trim()),
                ]);
                let (keys, until) = self.assume(form).await?;
                *lock(&self.assumed) = Some((keys.clone(), until));
                Ok(keys)
            }
        }
    }

    async fn assume(&self, form: String) -> Result<(Keys, Timestamp), Error> {
        let request = Request::builder()
            .method("POST")
            .uri(&self.settings.sts_endpoint)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Full::new(Bytes::from(form)))
            .map_err(crate::controller::http::Error::from)?;
        let reply = self.http.send(request).await?;
        let read = || {
            let (id, secret, token, until) = route53::assumed(&reply.body)?;
            let keys = Keys {
                access_key_id: id,
                secret_access_key: Secret(secret),
                session_token: Some(Secret(token)),
            };
            Some((keys, until.parse().ok()?))
        };
        read().ok_or_else(|| {
            let refusal = route53::refusal(reply.status, &reply.body);
            Error::Credentials(format!("STS gave no keys: {refusal}"))
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // What is kept is whole at any time.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
