//! The OpenAPI document, made of what the routes say and of what is so for all of them.

use std::sync::OnceLock;

use axum::body::Bytes;
use steadfast_client::wire::problem::{MEDIA_TYPE, Problem};
use utoipa::openapi::path::Operation;
use utoipa::openapi::{
    ContentBuilder, HeaderBuilder, InfoBuilder, LicenseBuilder, ObjectBuilder, OpenApi, OpenApiBuilder, Ref,
    Response, ResponseBuilder, Type, tag::TagBuilder,
};
use utoipa::{PartialSchema as _, ToSchema as _};

use crate::{api, link};

/// What the document says of itself.
pub(crate) fn head() -> OpenApi {
    let info = InfoBuilder::new().title("Steadfast").version("1").description(Some(ABOUT)).license(Some(
        LicenseBuilder::new().name("Apache-2.0 OR MIT").identifier(Some("Apache-2.0 OR MIT")).build(),
    ));
    let tags = TAGS.map(|(name, about)| TagBuilder::new().name(name).description(Some(about)).build());
    OpenApiBuilder::new().info(info).tags(Some(tags)).build()
}

const ABOUT: &str = "Durable multi-step work across services that fail.\n\n\
    Times are text as in RFC 3339; a number that is a time span ends in `_ms`. A request with a field or a query that nobody knows is \
    refused. Every error is a problem (`application/problem+json`, RFC 9457) with a `code` that has a page, and says whether it is \
    `transient` and after how long the same may work (`retry_after_ms`, and the header `Retry-After`).";

const TAGS: [(&str, &str); 10] = [
    ("tasks", "Submitting tasks, finding them, and seeing how they stand."),
    ("callbacks", "Where services answer later that have taken work on."),
    ("operators", "Repairing what could not be healed. All of it is in the audit log."),
    ("bulks", "The same asked of many tasks: prepared, looked at, begun."),
    ("workflows", "Which workflows there are, and taking new ones in."),
    ("services", "Services that steps call, and the policies of their calls."),
    ("breakers", "Circuit breakers: how they stand, and setting them by hand."),
    ("schedules", "Recurring work."),
    ("store", "Copies of the store, and whether it is sound."),
    ("health", "Whether the server lives and takes work, and this document."),
];

/// The OpenAPI 3.1 document of the API.
#[must_use]
pub fn openapi() -> OpenApi {
    let mut document = api::routes().into_openapi();
    for (path, item) in &mut document.paths.paths {
        let inside = path.starts_with("/api/");
        let has_name = path.contains('{');
        let reads = [(&mut item.get, false)];
        let writes = [(&mut item.post, true), (&mut item.put, true), (&mut item.delete, true)];
        for (operation, writes) in reads.into_iter().chain(writes) {
            if let Some(operation) = operation {
                link::lead_on(operation);
                let (is_ready, is_metrics) = (path == "/readyz", path == "/metrics");
                finish(operation, At { inside, has_name, writes, is_ready, is_metrics });
            }
        }
    }
    let schemas = &mut document.components.get_or_insert_default().schemas;
    let mut needed = vec![(Problem::name().into_owned(), Problem::schema())];
    Problem::schemas(&mut needed);
    schemas.extend(needed);
    document
}

/// The document as text, as it is served and checked in.
pub(crate) fn text() -> Bytes {
    static TEXT: OnceLock<Bytes> = OnceLock::new();
    // Writing into memory fails for no value of these types.
    TEXT.get_or_init(|| Bytes::from(openapi().to_pretty_json().unwrap_or_default() + "\n")).clone()
}

/// Where an operation is, and what it does.
#[derive(Clone, Copy)]
struct At {
    inside: bool,
    has_name: bool,
    writes: bool,
    is_ready: bool,
    is_metrics: bool,
}

/// Adds what can be answered wherever such a thing is asked.
fn finish(operation: &mut Operation, at: At) {
    let has_body = operation.request_body.is_some();
    let all = [
        (at.inside, "400", "What stands in the address makes no sense, or the body is no JSON"),
        (at.inside || at.is_metrics, "403", "A page of another site asks"),
        (at.inside && (at.has_name || has_body), "404", "There is no such thing"),
        (has_body, "408", "The body came too slowly"),
        (at.inside && at.writes, "409", "It was refused as things are, with the reason"),
        (has_body || at.inside && at.writes, "413", "The body, or what it is said for, is too large"),
        (has_body, "415", "The body is in a language that is not read here"),
        (at.inside || at.is_metrics, "421", "The server does not go by this name"),
        (has_body, "422", "The body does not say what it should: `errors` has each place"),
        (at.inside, "429", "Too much at a time: nothing was done, ask again after `Retry-After`"),
        (true, "500", "A fault of the server"),
        (at.inside || at.is_ready, "503", "The store does not answer, or the server shuts down"),
        (at.inside, "504", "It took too long"),
        (at.inside && at.writes, "507", "The disk is full"),
    ];
    for (can, status, about) in all {
        if can {
            let passing = matches!(status, "408" | "429" | "503" | "504");
            operation
                .responses
                .responses
                .entry(status.to_owned())
                .or_insert_with(|| problem(about, passing).into());
        }
    }
}

fn problem(about: &str, passing: bool) -> Response {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name(Problem::name())));
    let response = ResponseBuilder::new().description(about).content(MEDIA_TYPE, content.build());
    if !passing {
        return response.build();
    }
    let seconds = HeaderBuilder::new()
        .schema(Some(ObjectBuilder::new().schema_type(Type::Integer)))
        .description(Some("When to come again, in whole seconds"));
    response.header("Retry-After", seconds.build()).build()
}
