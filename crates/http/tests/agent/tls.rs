//! `https://`: with certificates that are trusted, and without.

use std::sync::Arc;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{CertificateParams, KeyPair};
use serde_json::json;
use steadfast_http::{Agent as _, Target};
use steadfast_resilience::{Effect, Kind};
use tokio::sync::Barrier;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::connection::together;
use crate::support::{Raw, agent, call, why};

/// A service that speaks HTTP/2 over TLS, with a certificate that only it has, and that certificate.
async fn service() -> (Raw, String) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    let pem = certificate.pem();
    let private = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let service = Raw::start(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let alone = Arc::new(Barrier::new(1));
            let answers = service_fn(move |request| together(Arc::clone(&alone), request));
            let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            let _ = server.serve_connection(TokioIo::new(stream), answers).await;
        }
    })
    .await;
    (service, pem)
}

fn url(service: &Raw) -> String {
    service.url().replace("http://127.0.0.1", "https://localhost")
}

#[tokio::test]
async fn a_certificate_that_is_trusted_is_enough_for_http_2() {
    let (service, pem) = service().await;
    let agent = agent(Target::new(url(&service)).root_certificates(pem));
    for _ in 0..3 {
        let reply = agent.call(call("POST", "/charges")).await.unwrap();
        assert_eq!(reply.body, json!({ "version": "HTTP/2.0", "key": true }));
    }
    assert_eq!(service.connections(), 1);
}

#[tokio::test]
async fn a_certificate_that_nobody_trusts_is_refused_and_had_no_effect() {
    let (service, _) = service().await;
    let (_, other) = self::service().await;
    for target in [Target::new(url(&service)), Target::new(url(&service)).root_certificates(other)] {
        let (kind, effect, words) = why(agent(target).call(call("POST", "/charges")).await);
        assert_eq!((kind, effect), (Kind::UNREACHABLE, Effect::None), "{words}");
        assert!(words.contains("certificate"), "{words}");
    }
}

#[test]
fn certificates_that_are_none_are_told() {
    let target = Target::new("https://localhost").root_certificates("no PEM at all");
    let error = steadfast_http::HttpAgent::builder().target("pay", target).build().unwrap_err();
    assert!(error.to_string().contains("the certificates cannot be read"), "{error}");
}
