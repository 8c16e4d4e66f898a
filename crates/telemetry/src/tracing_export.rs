//! Spans for an OTLP collector, when one is configured.
//!
//! Plain HTTP/protobuf to `<endpoint>/v1/traces`. Sending happens on a thread of the SDK's batch
//! processor, so a collector that is away costs a full queue and nothing else.

use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{
    ExporterBuildError, Protocol, SpanExporter, WithExportConfig, WithHttpConfig,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider};
use tokio::runtime::Handle;
use tracing::Subscriber;
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::registry::LookupSpan;

/// How long the collector may take to answer one batch.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// Where spans go.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// What collectors file the spans under.
    pub service: &'static str,
    /// Base address of the collector, such as `http://localhost:4318`.
    pub endpoint: String,
    /// Share of traces that are kept, 0 to 1.
    pub sampling_ratio: f64,
}

/// Why spans cannot be exported.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The endpoint is no http address.
    #[error(
        "invalid OTLP endpoint {endpoint:?}, expected an address such as http://localhost:4318"
    )]
    Endpoint {
        /// What was configured.
        endpoint: String,
    },
    /// The exporter refused its settings.
    #[error("cannot export traces to {endpoint}")]
    Exporter {
        /// What was configured.
        endpoint: String,
        /// The exporter's reason.
        #[source]
        source: ExporterBuildError,
    },
}

/// Sends on a tokio runtime although the batch processor calls from a thread without one.
#[derive(Debug)]
struct OnRuntime {
    runtime: Handle,
    client: std::sync::Arc<HyperClient>,
}

#[async_trait::async_trait]
impl HttpClient for OnRuntime {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = std::sync::Arc::clone(&self.client);
        self.runtime
            .spawn(async move { client.send_bytes(request).await })
            .await?
    }
}

/// Starts the exporter on the tokio runtime of the caller. Call `shutdown` on the provider before the process ends, so that the last
/// spans leave.
///
/// # Errors
/// When the endpoint is not an `http://` address.
///
/// # Panics
/// Outside a tokio runtime.
pub fn provider(settings: &Settings, version: &'static str) -> Result<SdkTracerProvider, Error> {
    let endpoint = settings.endpoint.trim_end_matches('/').to_owned();
    if !endpoint.starts_with("http://") {
        return Err(Error::Endpoint {
            endpoint: settings.endpoint.clone(),
        });
    }
    let exporter = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(format!("{endpoint}/v1/traces"))
        .with_http_client(OnRuntime {
            runtime: Handle::current(),
            client: std::sync::Arc::new(HyperClient::with_default_connector(SEND_TIMEOUT, None)),
        })
        .build()
        .map_err(|source| Error::Exporter { endpoint, source })?;
    let resource = Resource::builder()
        .with_service_name(settings.service)
        .with_attribute(opentelemetry::KeyValue::new("service.version", version))
        .build();
    Ok(SdkTracerProvider::builder()
        .with_batch_exporter(exporter)
        .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(
            settings.sampling_ratio.clamp(0.0, 1.0),
        ))))
        .with_resource(resource)
        .build())
}

/// The subscriber layer that turns `tracing` spans into exported ones.
pub fn layer<S>(provider: &SdkTracerProvider) -> OpenTelemetryLayer<S, SdkTracer>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    tracing_opentelemetry::layer().with_tracer(provider.tracer("flotilla"))
}

#[cfg(test)]
mod tests;
