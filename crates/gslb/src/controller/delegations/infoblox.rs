//! Asking and changing an Infoblox grid.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use serde_json::Value;
use tokio::time::Instant;

use super::{ATTEMPTS, Error, pause};
use crate::{
    config::Infoblox as Settings,
    controller::http::Http,
    delegate::Records,
    metrics::Metrics,
    providers::{
        infoblox::{self, Call, FIELDS, Zone},
        sigv4::query,
    },
};

/// A client of one grid.
pub(super) struct Grid {
    http: Http,
    settings: Settings,
    metrics: Metrics,
}

impl Grid {
    pub(super) fn new(settings: Settings, metrics: Metrics) -> Result<Grid, Error> {
        let trusted = settings.ca_file.as_ref().map(std::fs::read).transpose();
        let trusted = trusted.map_err(crate::controller::http::Error::from)?;
        let n_connections = usize::try_from(settings.n_connections).unwrap_or(usize::MAX);
        Ok(Grid {
            http: Http::new(trusted.as_deref(), settings.request_timeout, n_connections)?,
            settings,
            metrics,
        })
    }

    /// Makes the grid say what it should about us; tells whether it had to be changed.
    pub(super) async fn put(&self, records: &Records) -> Result<bool, Error> {
        let mut changed = false;
        for attempt in 1..=ATTEMPTS {
            let before = self.read(&records.zone).await?;
            let Some(call) = infoblox::plan(before.as_ref(), records, &self.settings.view) else {
                return Ok(changed);
            };
            changed = true;
            self.change(call).await?;
            let after = self.read(&records.zone).await?;
            if infoblox::took(before.as_ref(), after.as_ref(), records) {
                return Ok(true);
            }
            pause(attempt).await;
        }
        Err(Error::Contended)
    }

    async fn read(&self, zone: &str) -> Result<Option<Zone>, Error> {
        let query = query(&[
            ("fqdn", zone),
            ("view", &self.settings.view),
            ("_return_fields", FIELDS),
        ]);
        let path = format!("zone_delegated?{query}");
        let answer = self.call("ZoneRead", "GET", &path, None).await?;
        infoblox::found(&answer).map_err(Error::Infoblox)
    }

    async fn change(&self, call: Call) -> Result<(), Error> {
        let (request, method, path, body) = match call {
            Call::Create(body) => (
                "ZoneCreate",
                "POST",
                "zone_delegated".to_owned(),
                Some(body),
            ),
            Call::Update(reference, body) => ("ZoneUpdate", "PUT", reference, Some(body)),
            Call::Delete(reference) => ("ZoneDelete", "DELETE", reference, None),
        };
        let outcome = self.call(request, method, &path, body).await;
        self.metrics.infoblox_zone(outcome.is_ok());
        outcome.map(drop)
    }

    async fn call(
        &self,
        name: &'static str,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, Error> {
        let begin = Instant::now();
        let outcome = self.exchange(method, path, body).await;
        self.metrics
            .infoblox_request(name, outcome.is_ok(), begin.elapsed().as_secs_f64());
        outcome
    }

    async fn exchange(
        &self,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, Error> {
        let Settings {
            grid_host,
            port,
            version,
            ..
        } = &self.settings;
        // Both spellings of the chart are understood: 2.3.1 and v2.3.1.
        let version = version.trim_start_matches('v');
        let uri = format!("https://{grid_host}:{port}/wapi/v{version}/{path}");
        let login = format!("{}:{}", self.settings.username, self.settings.password);
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(uri)
            .header("authorization", format!("Basic {}", STANDARD.encode(login)))
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body)))
            .map_err(crate::controller::http::Error::from)?;
        let reply = self.http.send(request).await?;
        let answer: Result<Value, _> = serde_json::from_str(&reply.body);
        match (reply.status, answer) {
            (200 | 201, Ok(answer)) => Ok(answer),
            (status, answer) => {
                let answer = answer.unwrap_or_default();
                let text = answer["text"].as_str().or_else(|| answer["Error"].as_str());
                let text = text.unwrap_or("the reply is no JSON of WAPI");
                Err(Error::Infoblox(format!("HTTP {status}: {text}")))
            }
        }
    }
}
