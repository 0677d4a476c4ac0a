//! A4, O1: the binary as it is built calls services and webhooks with `https://`, trusts whom it is told to trust, and needs no
//! certificates of the system where nothing is behind TLS.

use std::fs;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use steadfast_testkit::http::Server;
use steadfast_testkit::{Answer, Ending, Ledger, Script};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::serving::{BINARY, Premises, program};

const FLOW: (&str, &str) = (
    "pay.yaml",
    "workflow: pay\nsteps:\n  charge:\n    service: bank\n    request: { method: POST, path: /charges }\n    \
     nothing_to_undo: true\n    on_failure: error\n",
);

/// What ends TLS in front of a service, with a certificate that only it has. It is gone when it is dropped.
struct Door {
    url: String,
    pem: String,
    _open: JoinSet<()>,
}

impl Door {
    async fn before(service: &Server) -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
        let private = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
        let behind = service.url().trim_start_matches("http://").to_owned();
        let mut open = JoinSet::new();
        open.spawn(async move {
            let mut passing = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, behind) = (acceptor.clone(), behind.clone());
                passing.spawn(async move {
                    let Ok(mut outer) = acceptor.accept(stream).await else { return };
                    let mut inner = TcpStream::connect(&*behind).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut outer, &mut inner).await;
                });
            }
        });
        Self { url, pem: certificate.pem(), _open: open }
    }
}

fn answering(status: u16) -> Server {
    let answer = Answer::new().status(status).header("content-type", "application/json").body("{\"id\":7}");
    Server::start(Script::answer(answer).unwrap()).unwrap()
}

/// What `config check` says of it, on a machine that has no certificates; whether it is fit.
fn checked(premises: &Premises) -> (bool, String) {
    let mut command = program(BINARY);
    command.args(["config", "check"]).arg(premises.path("steadfast.toml"));
    command
        .env("SSL_CERT_FILE", premises.path("no-such-file"))
        .env("SSL_CERT_DIR", premises.path("no-such-folder"));
    let output = command.output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_and_a_webhook_behind_tls_are_called_with_certificates_of_ones_own() {
    let (bank, pager) = (answering(402), answering(200));
    let (to_bank, to_pager) = (Door::before(&bank).await, Door::before(&pager).await);
    let settings = format!(
        "[service.bank]\nurl = \"{}\"\nroot_certificates = \"bank.pem\"\n\
         [alerts.webhook.pager]\nurl = \"{}\"\nroot_certificates = \"pager.pem\"\nkinds = [\"task-failed\"]\n",
        to_bank.url, to_pager.url
    );
    let premises = Premises::new(&settings, &[FLOW]);
    fs::write(premises.path("bank.pem"), &to_bank.pem).unwrap();
    fs::write(premises.path("pager.pem"), &to_pager.pem).unwrap();
    assert!(checked(&premises).0, "its own are enough");
    let serving = premises.open();
    let failed = serving.ask(&["task", "submit", "pay", "--wait", "--input", "{}"]);
    let said = String::from_utf8_lossy(&failed.stdout).into_owned();
    assert!(said.contains("402"), "the bank has answered: {said}");
    let is_told = |ledger: &Ledger| ledger.endings().ends_with(&[Ending::Answered(200)]);
    let told = pager.ledger_when(is_told).await;
    assert!(String::from_utf8_lossy(told.entries()[0].request().body()).contains("task-failed"));

    bank.follow(Script::answer(Answer::new().status(200)).unwrap());
    let paid = serving.ask(&["task", "submit", "pay", "--wait", "--input", "{}"]);
    assert!(paid.status.success(), "{paid:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_nobody_trusts_is_not_called_and_the_task_says_why() {
    let bank = answering(200);
    let (door, other) = (Door::before(&bank).await, Door::before(&bank).await);
    let settings = format!(
        "[default]\nretry = {{ strategy = \"none\" }}\n[service.bank]\nurl = \"{}\"\nroot_certificates = \"other.pem\"\n",
        door.url
    );
    let premises = Premises::new(&settings, &[FLOW]);
    fs::write(premises.path("other.pem"), &other.pem).unwrap();
    let serving = premises.open();
    let failed = serving.ask(&["task", "submit", "pay", "--wait", "--input", "{}"]);
    let said = String::from_utf8_lossy(&failed.stdout).into_owned();
    assert!(!failed.status.success() && said.contains("certificate"), "{said}");
    bank.ledger().assert_attempts(0);
}

#[test]
fn certificates_are_asked_for_where_they_are_needed_and_told_by_name() {
    let premises = Premises::new("[service.bank]\nurl = \"http://127.0.0.1:1\"\n", &[]);
    assert_eq!(checked(&premises), (true, String::new()), "a system without any serves without TLS");
    for (settings, parts) in [
        (
            "url = \"https://localhost\"",
            ["service `bank`: base_url: the system's certificates cannot be read", "`ca-certificates`"],
        ),
        (
            "url = \"https://localhost\"\nroot_certificates = \"gone.pem\"",
            ["steadfast.toml:5:1: service.bank.root_certificates: ", "gone.pem: there is no such file"],
        ),
        (
            "url = \"https://localhost\"\nroot_certificates = \"steadfast.toml\"",
            ["root_certificates: the certificates cannot be read", "give them as PEM"],
        ),
        (
            "url = \"http://localhost\"\nroot_certificates = \"steadfast.toml\"",
            ["root_certificates: nothing is encrypted with `http://`", "use `https://`"],
        ),
    ] {
        premises.settle(&format!("[service.bank]\n{settings}\n"));
        let (is_fit, said) = checked(&premises);
        assert!(!is_fit && parts.iter().all(|part| said.contains(part)), "{settings}: {said}");
    }
}

/// W3: what could not be sent has had no effect, also where an attempt has less time than a connection.
#[tokio::test(flavor = "multi_thread")]
async fn an_agreement_that_does_not_come_has_no_effect() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let settings = format!(
        "[default]\nretry = {{ strategy = \"none\" }}\nattempt_timeout = \"800ms\"\n[service.bank]\nurl = \"https://localhost:{}\"\n\
         root_certificates = \"ca.pem\"\n",
        silent.local_addr().unwrap().port()
    );
    let careful = FLOW.1.replace("    on_failure: error\n", "    on_failure: error\n    idempotent: false\n");
    let premises = Premises::new(&settings, &[(FLOW.0, &careful)]);
    let any = Door::before(&answering(200)).await;
    fs::write(premises.path("ca.pem"), &any.pem).unwrap();
    let serving = premises.open();
    let failed = serving.ask(&["task", "submit", "pay", "--wait", "--input", "{}"]);
    let said = String::from_utf8_lossy(&failed.stdout).into_owned();
    assert!(!failed.status.success() && said.contains("timed out") && said.contains("[SF532]"), "{said}");
    assert!(!said.contains("nobody knows"), "{said}");
}
