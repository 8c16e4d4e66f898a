//! The conversion webhook of one definition.

use std::time::Instant;

use bytes::Bytes;
use flotilla_machinery::status::{Reason, Status};
use serde_json::Value;

use super::conversion::{Review, describe, review_version};
use crate::engine::Engine;
use crate::webhook::Webhook;

/// Translates objects of one definition between its versions.
pub struct Converter {
    webhook: Webhook,
    /// Version of ConversionReview; `None` when the definition offers none that is known.
    review: Option<Box<str>>,
    /// Revision of the definition; what another revision's webhook answered is not used.
    pub(crate) rev: u64,
}

impl Converter {
    /// The webhook of a definition, if its strategy is `Webhook`.
    pub fn of(definition: &Value, rev: u64) -> Option<Self> {
        let conversion = &definition["spec"]["conversion"];
        if conversion["strategy"] != "Webhook" {
            return None;
        }
        Some(Self {
            webhook: Webhook::new(&conversion["webhook"]["clientConfig"]),
            review: review_version(definition).map(Into::into),
            rev,
        })
    }

    /// These objects, which are not empty, in version `desired`; in the same order.
    ///
    /// # Errors
    /// 500 with upstream's text.
    pub(crate) async fn convert(
        &self,
        engine: &Engine,
        objects: &[Value],
        desired: &str,
    ) -> Result<Vec<Value>, Status> {
        #[expect(clippy::disallowed_methods, reason = "durations for the metrics")]
        let start = Instant::now();
        let converted = self.call(engine, objects, desired).await;
        engine
            .metrics
            .observe_conversion(converted.is_ok(), start.elapsed());
        // Upstream gives no reason either: it is not the client's fault and not the server's.
        converted.map_err(|why| Status::new(500, Reason::None, why))
    }

    async fn call(
        &self,
        engine: &Engine,
        objects: &[Value],
        desired: &str,
    ) -> Result<Vec<Value>, String> {
        let uid = uuid::Uuid::new_v4().to_string();
        let version = self
            .review
            .as_deref()
            .ok_or("no supported conversion review versions")?;
        let review = Review {
            version,
            uid: &uid,
            desired,
        };
        let body = Bytes::from(review.request(objects).to_string());
        let deadline = engine.limits.webhook_deadline;
        let answer = self.webhook.post(&engine.store, body, deadline).await;
        let answer = answer.map_err(|why| {
            let what = objects.first().map(describe).unwrap_or_default();
            format!("conversion webhook for {what} failed: {why}")
        })?;
        review.accept(objects, &answer)
    }
}
